//! Finds where a path leaves a document.

use std::collections::HashSet;

use sonic_rs::{JsonType, JsonValueTrait, LazyValue};
use spillgate_text::is_plain_key;

use super::lazy::{document, element, member, name_of};
use super::plan::{Step, StepKind};
use crate::MissingPath;

/// Most keys that are named.
const NAMED: usize = 8;

/// Most keys that are compared; for a larger object an outline is more useful.
const COMPARED: usize = 10_000;

/// Most values that are examined for an iteration.
const LOOKED_AT: usize = 1_000;

/// Most characters of a named key.
const LONGEST_KEY: usize = 80;

/// Returns the first step of the path that the document does not have; `None` if it has all. For an
/// iteration only the first values are examined.
pub(crate) fn missing(json: &[u8], steps: &[Step]) -> Option<MissingPath> {
    let mut values = vec![document(json)?];
    let mut found = String::new();
    for step in steps {
        let next: Vec<_> = match &step.kind {
            StepKind::Key(key) => {
                let members = values.iter().filter_map(|value| member(value.clone(), key));
                members.collect()
            }
            StepKind::Index(index) => {
                let elements = values
                    .iter()
                    .filter_map(|value| element(value.clone(), *index));
                elements.collect()
            }
            StepKind::Each => {
                let inner = values.iter().flat_map(|value| inner(value.clone()));
                inner.take(LOOKED_AT).collect()
            }
        };
        if next.is_empty() {
            // Iterating an empty value gives nothing, which is not an error.
            let is_empty = step.kind == StepKind::Each
                && values
                    .iter()
                    .any(|value| matches!(value.get_type(), JsonType::Array | JsonType::Object));
            return (!is_empty).then(|| at(found, &values, step));
        }
        let written = written(&step.kind);
        if found.is_empty() && !written.starts_with('.') {
            found.push('.');
        }
        found.push_str(&written);
        values = next;
    }
    None
}

/// Returns the first values in a value.
fn inner(value: LazyValue<'_>) -> Vec<LazyValue<'_>> {
    match value.get_type() {
        JsonType::Array => {
            let all = value.into_array_iter().into_iter().flatten();
            all.map_while(Result::ok).take(LOOKED_AT).collect()
        }
        JsonType::Object => {
            let all = value.into_object_iter().into_iter().flatten();
            let all = all.map_while(Result::ok).map(|(_, value)| value);
            all.take(LOOKED_AT).collect()
        }
        _ => Vec::new(),
    }
}

/// Describes `values`, none of which has the step.
fn at(found: String, values: &[LazyValue<'_>], step: &Step) -> MissingPath {
    let is_object = |value: &&LazyValue<'_>| value.get_type() == JsonType::Object;
    // Among mixed values an object is most informative.
    let value = values.iter().find(is_object).unwrap_or(&values[0]);
    let mut near = keys(values.iter().filter(is_object));
    let length = match value.get_type() {
        JsonType::Array => {
            let elements = value.clone().into_array_iter();
            elements.map(|elements| elements.count() as u64)
        }
        _ => None,
    };
    if let StepKind::Key(key) = &step.kind {
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
        kind: name_of(value).to_owned(),
        key: written(&step.kind),
        near,
        length,
    }
}

/// Returns the keys of objects, each once.
fn keys<'a>(objects: impl Iterator<Item = &'a LazyValue<'a>>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut keys = Vec::new();
    let members =
        objects.flat_map(|object| object.clone().into_object_iter().into_iter().flatten());
    for (name, _) in members.map_while(Result::ok) {
        let key: String = name.chars().take(LONGEST_KEY).collect();
        if seen.insert(key.clone()) {
            keys.push(key);
        }
        if keys.len() == COMPARED {
            break;
        }
    }
    keys
}

/// Returns a step in jq's syntax.
fn written(kind: &StepKind) -> String {
    match kind {
        StepKind::Key(key) if is_plain_key(key) => format!(".{key}"),
        StepKind::Key(key) => format!("[{key:?}]"),
        StepKind::Index(at) => format!("[{at}]"),
        StepKind::Each => "[]".to_owned(),
    }
}
