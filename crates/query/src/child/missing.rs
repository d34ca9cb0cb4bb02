//! Finds the first step of a path that a document does not contain.

use std::collections::HashSet;

use sonic_rs::{JsonType, JsonValueTrait, LazyValue};

use super::lazy::{document, element, member, name_of};
use super::plan::{Step, StepKind, step_text};
use crate::MissingPath;

/// Maximum number of keys that are named.
const NAMED: usize = 8;

/// Maximum number of keys that are compared. For a larger object, an outline is more useful.
const COMPARED: usize = 10_000;

/// Maximum number of values that are examined for an iteration (`.[]`).
pub(crate) const LOOKED_AT: usize = 1_000;

/// Maximum length of a named key, in characters. A longer key is not named: part of a key cannot be
/// typed.
const LONGEST_KEY: usize = 200;

/// Maximum length of all keys that are named together, in characters, so that a note has room for
/// them. The first key is always named.
const LONGEST_KEYS: usize = 240;

/// Returns the first step of the path that the document does not contain; `None` if it contains all
/// steps. For an iteration, only the first values are examined.
pub(crate) fn missing(json: &[u8], steps: &[Step]) -> Option<MissingPath> {
    missing_in(vec![document(json)?], String::new(), steps)
}

/// Returns the first step of the path that none of the values contains. `found` is the path that
/// leads to the values.
pub(crate) fn missing_in(
    mut values: Vec<LazyValue<'_>>,
    mut found: String,
    steps: &[Step],
) -> Option<MissingPath> {
    if values.is_empty() {
        return None;
    }
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
            // Iterating over an empty value has no results, which is not an error.
            let is_empty = step.kind == StepKind::Each
                && values
                    .iter()
                    .any(|value| matches!(value.get_type(), JsonType::Array | JsonType::Object));
            return (!is_empty).then(|| at(found, &values, step));
        }
        let written = step_text(&step.kind);
        if found.is_empty() && !written.starts_with('.') {
            found.push('.');
        }
        found.push_str(&written);
        values = next;
    }
    None
}

/// Returns the first elements or members of a value.
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

/// Describes the place at which a path ends, because none of the `values` there contains the next
/// step.
fn at(found: String, values: &[LazyValue<'_>], step: &Step) -> MissingPath {
    let is_object = |value: &&LazyValue<'_>| value.get_type() == JsonType::Object;
    // If the values have different types, an object is most informative.
    let value = values.iter().find(is_object).unwrap_or(&values[0]);
    let length = match value.get_type() {
        JsonType::Array => {
            let elements = value.clone().into_array_iter();
            elements.map(|elements| elements.count() as u64)
        }
        _ => None,
    };
    let mut keys = keys(values.iter().filter(is_object));
    // The path goes through the elements of an array if they have the key. If none has it, their keys
    // are named.
    if let (Some(_), StepKind::Key(key)) = (length, &step.kind) {
        let elements = inner(value.clone());
        let of_elements = self::keys(elements.iter().filter(is_object));
        keys = match of_elements.contains(key) {
            true => Vec::new(),
            false => of_elements,
        };
    }
    MissingPath {
        kind: name_of(value).to_owned(),
        length,
        ..nearest(found, &step.kind, keys)
    }
}

/// Describes the place of an object that lacks the key of `step`. `keys` are the object's keys.
pub(crate) fn nearest(found: String, step: &StepKind, mut keys: Vec<String>) -> MissingPath {
    let all = keys.len();
    if let StepKind::Key(key) = step {
        let key: String = key.to_lowercase().chars().take(LONGEST_KEY).collect();
        keys.sort_by_cached_key(|name| {
            let name: String = name.to_lowercase().chars().take(LONGEST_KEY).collect();
            strsim::osa_distance(&name, &key)
        });
    }
    let mut left = LONGEST_KEYS;
    let mut near = Vec::new();
    for name in keys {
        let length = name.chars().count();
        if length > LONGEST_KEY || (length > left && !near.is_empty()) {
            continue;
        }
        left = left.saturating_sub(length);
        near.push(name);
        if near.len() == NAMED {
            break;
        }
    }
    MissingPath {
        found: if found.is_empty() {
            ".".to_owned()
        } else {
            found
        },
        kind: "object".to_owned(),
        key: step_text(step),
        more: (all - near.len()) as u64,
        near,
        length: None,
    }
}

/// Returns the keys of the objects, each of them once.
fn keys<'a>(objects: impl Iterator<Item = &'a LazyValue<'a>>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut keys = Vec::new();
    let members =
        objects.flat_map(|object| object.clone().into_object_iter().into_iter().flatten());
    for (name, _) in members.map_while(Result::ok) {
        if !seen.contains(&*name) {
            seen.insert(name.to_string());
            keys.push(name.to_string());
        }
        if keys.len() == COMPARED {
            break;
        }
    }
    keys
}
