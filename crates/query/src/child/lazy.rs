//! Finds the values at a path without parsing the rest of the document.
//!
//! The path is followed in the bytes of a valid document, and everything that is not on the path is
//! skipped. The results are the same as jaq's: if a key is repeated, the last value is used; `null`
//! has every key; and a step that a value does not support is an error.

use std::ops::ControlFlow;

use sonic_rs::{JsonType, JsonValueTrait, LazyValue};

use super::plan::{Step, StepKind};

/// Why a walk ended early.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The visitor has seen enough.
    Enough,
    /// The path cannot be followed. Contains jq's message.
    Error(String),
}

/// A function that is called with the text of each value at the path.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(&str) -> ControlFlow<Stop>;

/// Returns the value of a document; `None` if the text is not one JSON document in UTF-8.
pub(crate) fn document(json: &[u8]) -> Option<LazyValue<'_>> {
    sonic_rs::from_slice(json).ok()
}

/// Returns the value at which a walk along `steps` begins, and the remaining steps; `None` if the
/// text is not one JSON document in UTF-8.
///
/// If the first step selects one member of an object, the members are searched while the document
/// is validated, which takes one pass over the bytes instead of two.
pub(crate) fn start<'a, 's>(
    json: &'a [u8],
    steps: &'s [Step],
) -> Option<(LazyValue<'a>, &'s [Step])> {
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Some((document(json)?, steps));
    }
    let Some((StepKind::Key(key), rest)) =
        steps.split_first().map(|(step, rest)| (&step.kind, rest))
    else {
        return Some((document(json)?, steps));
    };
    let mut found = None;
    let mut end = 0;
    for member in sonic_rs::to_object_iter(json) {
        let (name, value) = member.ok()?;
        let text = value.as_raw_str();
        end = text.as_ptr() as usize + text.len() - json.as_ptr() as usize;
        if name == key.as_str() {
            found = Some(value);
        }
    }
    // Without a member, nothing of the text has been validated yet.
    let after = trimmed(&json[end..]).strip_prefix(b"}");
    let ends = end > 0 && after.is_some_and(|after| trimmed(after).is_empty());
    match (ends, found) {
        (false, _) => Some((document(json)?, steps)),
        (true, Some(found)) => Some((found, rest)),
        (true, None) => Some((document(b"null")?, rest)),
    }
}

/// Returns a text without the white space of JSON at its start. Unlike for [`slice::trim_ascii_start`],
/// a form feed is no white space.
pub(crate) fn trimmed(text: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = text.iter().position(|byte| !is_space(byte));
    &text[start.unwrap_or(text.len())..]
}

/// Visits the values that `steps` lead to from `value`.
pub(crate) fn walk(value: LazyValue<'_>, steps: &[Step], visit: Visit<'_>) -> ControlFlow<Stop> {
    let Some((step, rest)) = steps.split_first() else {
        return visit(value.as_raw_str());
    };
    let kind = value.get_type();
    match (&step.kind, kind) {
        (StepKind::Key(key), JsonType::Object) => match member(value, key) {
            Some(found) => walk(found, rest, visit),
            None => absent(rest, visit),
        },
        (StepKind::Index(at), JsonType::Array) => match element(value, *at) {
            Some(found) => walk(found, rest, visit),
            None => absent(rest, visit),
        },
        (StepKind::Key(_) | StepKind::Index(_), JsonType::Null)
        | (StepKind::Index(_), JsonType::Object) => absent(rest, visit),
        (StepKind::Each, JsonType::Array) => {
            for element in value.into_array_iter().into_iter().flatten() {
                let Ok(element) = element else { break };
                walk(element, rest, visit)?;
            }
            ControlFlow::Continue(())
        }
        (StepKind::Each, JsonType::Object) => {
            for value in members(value) {
                walk(value, rest, visit)?;
            }
            ControlFlow::Continue(())
        }
        _ if step.optional => ControlFlow::Continue(()),
        (step, _) => ControlFlow::Break(Stop::Error(refusal(&value, step))),
    }
}

/// Continues with `null` in place of a missing value.
fn absent(rest: &[Step], visit: Visit<'_>) -> ControlFlow<Stop> {
    walk(
        document(b"null").expect("invariant: null is JSON"),
        rest,
        visit,
    )
}

/// Returns the last member with this key.
pub(crate) fn member<'a>(object: LazyValue<'a>, key: &str) -> Option<LazyValue<'a>> {
    let members = object.into_object_iter()?.map_while(Result::ok);
    members
        .filter(|(name, _)| name == key)
        .last()
        .map(|(_, value)| value)
}

/// Returns the element with the index `at`. A negative index counts from the end.
pub(crate) fn element(array: LazyValue<'_>, at: i64) -> Option<LazyValue<'_>> {
    let from_start = if let Ok(at) = usize::try_from(at) {
        at
    } else {
        let length = array.clone().into_array_iter()?.count();
        length.checked_sub(usize::try_from(at.unsigned_abs()).ok()?)?
    };
    array.into_array_iter()?.nth(from_start)?.ok()
}

/// Returns the members of an object in order. A repeated key keeps its first position and its last
/// value.
fn members(object: LazyValue<'_>) -> Vec<LazyValue<'_>> {
    let mut places = std::collections::HashMap::new();
    let mut values = Vec::new();
    let members = object.into_object_iter().into_iter().flatten();
    for (name, value) in members.map_while(Result::ok) {
        let place = *places.entry(name).or_insert(values.len());
        match values.get_mut(place) {
            Some(earlier) => *earlier = value,
            None => values.push(value),
        }
    }
    values
}

/// Returns jq's word for the type of a value.
pub(crate) fn name_of(value: &LazyValue<'_>) -> &'static str {
    match value.get_type() {
        JsonType::Null => "null",
        JsonType::Boolean => "boolean",
        JsonType::Number => "number",
        JsonType::String => "string",
        JsonType::Array => "array",
        JsonType::Object => "object",
    }
}

/// Returns jq's message for a step that a value does not support.
fn refusal(value: &LazyValue<'_>, step: &StepKind) -> String {
    let name = name_of(value);
    match step {
        StepKind::Key(key) => format!("cannot index {name} with {key:?}"),
        StepKind::Index(_) => format!("cannot index {name} with number"),
        StepKind::Each => format!("cannot iterate over {name}"),
    }
}
