//! Builds a model's reply from the events of a stream, or from a complete response body.

use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use crate::{OnDelta, Stop, ToolCall, Usage};

/// A reply to which the target has not been added yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawReply {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) stop: Stop,
    pub(super) usage: Usage,
}

/// Builds a reply from the events of a stream, or from a complete answer.
pub(super) trait ReplyBuilder: Send {
    /// Processes the next event. Returns whether it was the last one.
    fn event(&mut self, data: &str, deltas: &dyn OnDelta) -> Result<bool, Fault>;

    /// Processes a complete answer.
    fn whole(&mut self, body: &str, deltas: &dyn OnDelta) -> Result<(), Fault>;

    /// Returns the reply. Some servers give calls no ids; `numbered` then creates an id from the
    /// index of the call.
    fn end(self: Box<Self>, numbered: &dyn Fn(usize) -> String) -> Result<RawReply, Fault>;
}

/// A tool call that may still be incomplete.
#[derive(Debug, Default)]
pub(super) struct PartialCall {
    pub(super) index: u64,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl PartialCall {
    /// Returns the finished call; `place` is its index among the calls of the reply.
    pub(super) fn end(self, place: usize, numbered: &dyn Fn(usize) -> String) -> ToolCall {
        ToolCall {
            id: match self.id.is_empty() {
                true => numbered(place),
                false => self.id,
            },
            name: self.name,
            arguments: match self.arguments.trim().is_empty() {
                true => "{}".to_owned(),
                false => self.arguments,
            },
        }
    }
}

/// Parses JSON from a provider.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        // Only the beginning is copied, because the text may have megabytes. The copy is longer
        // than the text that is finally shown, so that no key in it is cut before the redactor
        // recognises the key.
        let start: String = text.trim_start().chars().take(4000).collect();
        Fault::bad_reply(match start.is_empty() {
            true => "the answer is empty".to_owned(),
            false => format!("the answer is not what the protocol says ({error}): {start}"),
        })
    })
}

/// Returns the arguments of an earlier call as the object that servers expect. If the model's
/// arguments are no object, they are wrapped in one, because a server would otherwise reject the
/// whole conversation.
pub(super) fn arguments_object(arguments: &str) -> Value {
    match serde_json::from_str::<Value>(arguments) {
        Ok(object @ Value::Object(_)) => object,
        _ if arguments.trim().is_empty() => Value::Object(serde_json::Map::new()),
        _ => serde_json::json!({ "not_an_object": arguments }),
    }
}
