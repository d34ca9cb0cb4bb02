//! A call of a tool by its name, rewritten to a direct call.

use std::ops::Range;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_mcp::{ByteEdits, ObjectView, span_in};

use super::{CALL, FIND};
use crate::session::in_flight::CallParams;

/// A direct call.
#[derive(Debug)]
pub(crate) struct Direct {
    /// The client's name for the tool.
    pub(crate) name: String,
    /// An object in JSON.
    pub(crate) arguments: String,
    /// Where the name and the arguments stand in the frame of the call by name.
    spans: [Range<usize>; 2],
}

impl Direct {
    /// Returns the frame of the direct call, given that of the call by name.
    pub(crate) fn frame(&self, frame: &Bytes) -> Bytes {
        let [name, arguments] = self.spans.clone();
        let mut splice = ByteEdits::default();
        splice.replace(name, Value::from(&*self.name).to_string());
        splice.replace(arguments, self.arguments.clone());
        splice.apply(frame).into()
    }
}

/// Returns the direct call that a call by name stands for. `named` is the name in the request. All other members of the request stay.
/// The error is meant for the model.
pub(crate) fn direct(
    frame: &Bytes,
    named: &RawValue,
    call: &CallParams<'_>,
) -> Result<Direct, String> {
    let missing = || format!("`name` is missing: give a name that {FIND} found");
    let outer = call.arguments.ok_or_else(missing)?;
    let members = ObjectView::of(outer).ok_or_else(missing)?;
    let name = members.text("name").ok_or_else(missing)?;
    if name == CALL {
        return Err(format!(
            "{CALL} cannot call itself: give the name of another tool"
        ));
    }
    let arguments = match members.get("arguments").map(|raw| (raw.get(), raw)) {
        // Some models put the tool's arguments beside its name.
        None => members.without(&["name"]),
        Some(("null", _)) => "{}".to_owned(),
        Some((text, _)) if text.starts_with('{') => text.to_owned(),
        // Some write the object as a string.
        Some((text, _)) => {
            let inner: Option<String> = serde_json::from_str(text).ok();
            let inner = inner.filter(|inner| {
                inner.trim().is_empty() || ObjectView::of_text(inner.trim()).is_some()
            });
            let inner = inner.ok_or("`arguments` must be an object: the arguments of the tool")?;
            match inner.trim() {
                "" => "{}".to_owned(),
                inner => inner.to_owned(),
            }
        }
    };
    let spans = [named, outer].map(|raw| span_in(frame, raw.get()));
    Ok(Direct {
        name,
        arguments,
        spans,
    })
}
