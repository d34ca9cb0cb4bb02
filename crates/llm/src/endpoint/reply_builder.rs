//! Builds a reply from the parts that arrive.

use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use crate::{OnDelta, Stop, ToolCall, Usage};

/// A reply, before it is known for which target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawReply {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) stop: Stop,
    pub(super) usage: Usage,
}

/// Puts a reply together from the events of a stream, or from a whole answer,
/// which is as good as one event.
pub(super) trait ReplyBuilder: Send {
    /// One more event; whether it was the last one.
    fn event(&mut self, data: &str, deltas: &dyn OnDelta) -> Result<bool, Fault>;

    /// A whole answer.
    fn whole(&mut self, body: &str, deltas: &dyn OnDelta) -> Result<(), Fault>;

    /// The reply; `numbered` makes an id for the call of that place, for servers
    /// that give none.
    fn end(self: Box<Self>, numbered: &dyn Fn(usize) -> String) -> Result<RawReply, Fault>;
}

/// A call of a tool that may still grow.
#[derive(Debug, Default)]
pub(super) struct PartialCall {
    pub(super) index: u64,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl PartialCall {
    /// The call, once nothing more comes; `place` among the calls of its reply.
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

/// Reads JSON of a provider's.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        // Only the beginning is shown; a copy of megabytes is for nothing. It is longer
        // than what is shown in the end, so that no key in it is cut before it is known.
        let start: String = text.trim_start().chars().take(4000).collect();
        Fault::bad_reply(match start.is_empty() {
            true => "the answer is empty".to_owned(),
            false => format!("the answer is not what the protocol says ({error}): {start}"),
        })
    })
}

/// The arguments of an earlier call as the object that servers parse them to:
/// what a model wrote need not be one, and a server would refuse the whole
/// conversation for it.
pub(super) fn arguments_object(arguments: &str) -> Value {
    match serde_json::from_str::<Value>(arguments) {
        Ok(object @ Value::Object(_)) => object,
        _ if arguments.trim().is_empty() => Value::Object(serde_json::Map::new()),
        _ => serde_json::json!({ "not_an_object": arguments }),
    }
}
