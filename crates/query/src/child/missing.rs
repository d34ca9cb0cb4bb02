//! Where does a path leave a document?

use std::ops::ControlFlow;

use sonic_rs::{JsonType, JsonValueTrait, LazyValue};

use super::lazy::{document, element, member, name_of};
use super::plan::{Part, Step};
use crate::MissingPath;

/// Keys that are named.
const NAMED: usize = 8;

/// Keys that are compared; the shape of a larger object is better outlined.
const COMPARED: usize = 10_000;

/// Characters of a key that is named.
const LONGEST_KEY: usize = 80;

/// The first step of the path that leads nowhere in the document; of what is
/// iterated, the first value is looked at.
pub(crate) fn missing(json: &[u8], steps: &[Step]) -> Option<MissingPath> {
    let mut value = document(json)?;
    let mut found = String::new();
    for step in steps {
        let next = match &step.part {
            Part::Key(key) => member(value.clone(), key),
            Part::Index(at) => element(value.clone(), *at),
            Part::Each => match first(value.clone()) {
                ControlFlow::Break(first) => first,
                ControlFlow::Continue(()) => return None,
            },
        };
        let Some(next) = next else {
            return Some(at(found, &value, step));
        };
        let written = written(&step.part);
        if found.is_empty() && !written.starts_with('.') {
            found.push('.');
        }
        found.push_str(&written);
        value = next;
    }
    None
}

/// The first value in a value; none in an empty one, and that is no error.
fn first(value: LazyValue<'_>) -> ControlFlow<Option<LazyValue<'_>>> {
    let first = match value.get_type() {
        JsonType::Array => value.into_array_iter().and_then(|mut all| all.next()?.ok()),
        JsonType::Object => value
            .into_object_iter()
            .and_then(|mut all| all.next()?.ok())
            .map(|(_, value)| value),
        _ => return ControlFlow::Break(None),
    };
    match first {
        Some(first) => ControlFlow::Break(Some(first)),
        None => ControlFlow::Continue(()),
    }
}

fn at(found: String, value: &LazyValue<'_>, step: &Step) -> MissingPath {
    let kind = name_of(value);
    let mut near = Vec::new();
    let mut length = None;
    match value.get_type() {
        JsonType::Object => near = keys(value.clone()),
        JsonType::Array => {
            let elements = value.clone().into_array_iter();
            length = elements.map(|elements| elements.count() as u64);
        }
        _ => {}
    }
    if let Part::Key(key) = &step.part {
        let key: String = key.to_lowercase().chars().take(LONGEST_KEY).collect();
        near.sort_by_cached_key(|name| strsim::osa_distance(&name.to_lowercase(), &key));
    }
    near.truncate(NAMED);
    MissingPath {
        found: if found.is_empty() {
            ".".to_owned()
        } else {
            found
        },
        kind: kind.to_owned(),
        key: written(&step.part),
        near,
        length,
    }
}

fn keys(object: LazyValue<'_>) -> Vec<String> {
    let members = object.into_object_iter().into_iter().flatten();
    let names = members.map_while(Result::ok).map(|(name, _)| name);
    let mut keys: Vec<String> = Vec::new();
    for name in names.take(COMPARED) {
        keys.push(name.chars().take(LONGEST_KEY).collect());
    }
    let mut seen = std::collections::HashSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    keys
}

/// A step as one writes it.
fn written(part: &Part) -> String {
    let plain = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match part {
        Part::Key(key) if plain(key) => format!(".{key}"),
        Part::Key(key) => format!("[{key:?}]"),
        Part::Index(at) => format!("[{at}]"),
        Part::Each => "[]".to_owned(),
    }
}
