//! Finds the references in a call's arguments and parses them.

use std::ops::Range;

use serde_json::json;
use serde_json::value::RawValue;
use spillgate_artifact::{ByteRange, Handle};
use spillgate_mcp::{ObjectView, span_in};
use spillgate_offload::whole_number;

/// The member that makes an object a reference.
pub(super) const KEY: &str = "$spill";

/// Maximum depth at which arguments are searched for references.
const DEEPEST: usize = 64;

/// Maximum number of references in one call. Each may need a child process.
const MOST: usize = 16;

/// A reference and its place in the arguments.
#[derive(Debug)]
pub(super) struct Place {
    /// The range in the text of the arguments.
    pub(super) span: Range<usize>,
    /// The place as a JSON pointer.
    pub(super) path: String,
    pub(super) reference: Reference,
}

/// A reference that stands in place of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) handle: Handle,
    pub(super) part: Part,
}

/// The part of a stored result that a reference selects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole text as it was received.
    All,
    /// From the first to the last line of the view (the readable form of the text), counted from 1.
    /// `None` stands for the last line of the view.
    Lines(u64, Option<u64>),
    /// A byte range of the view.
    Bytes(ByteRange),
    /// The results of a jq filter.
    Query(String),
}

/// Returns the references in `arguments`, in order. The error says what is wrong with a reference.
pub(super) fn places(arguments: &RawValue) -> Result<Vec<Place>, String> {
    let mut found = Vec::new();
    let whole = arguments.get().as_bytes();
    look(whole, arguments, &mut String::new(), 0, &mut found)?;
    Ok(found)
}

fn look(
    whole: &[u8],
    value: &RawValue,
    path: &mut String,
    depth: usize,
    found: &mut Vec<Place>,
) -> Result<(), String> {
    if depth > DEEPEST || !value.get().contains(KEY) {
        return Ok(());
    }
    let reference = reference(value).map_err(|wrong| format!("`{path}`: {wrong}"))?;
    if let Some(reference) = reference {
        if found.len() == MOST {
            return Err(format!(
                "a call may have {MOST} references, this one has more"
            ));
        }
        found.push(Place {
            span: span_in(whole, value.get()),
            path: path.clone(),
            reference,
        });
        return Ok(());
    }
    let length = path.len();
    if let Some(members) = ObjectView::of(value) {
        for (name, inner) in members.iter() {
            // Escaped as in RFC 6901.
            path.push('/');
            path.push_str(&name.replace('~', "~0").replace('/', "~1"));
            look(whole, inner, path, depth + 1, found)?;
            path.truncate(length);
        }
    } else if value.get().starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
        for (at, inner) in elements.into_iter().enumerate() {
            path.push_str(&format!("/{at}"));
            look(whole, inner, path, depth + 1, found)?;
            path.truncate(length);
        }
    }
    Ok(())
}

/// Parses a value as a reference. A reference is an object with the key and with no unknown
/// members, or a string that contains such an object. Models write the string if the schema
/// requires a string. All other values are data.
fn reference(value: &RawValue) -> Result<Option<Reference>, String> {
    if value.get().starts_with('"') {
        let text: String = serde_json::from_str(value.get()).unwrap_or_default();
        let is_object = text.trim_start().starts_with('{');
        let inner: Option<&RawValue> = serde_json::from_str(&text).ok().filter(|_| is_object);
        return inner.map_or(Ok(None), of_object);
    }
    of_object(value)
}

fn of_object(value: &RawValue) -> Result<Option<Reference>, String> {
    let known = [KEY, "lines", "bytes", "query"];
    let members =
        ObjectView::of(value).filter(|members| members.names().all(|name| known.contains(&&*name)));
    let Some(members) = members else {
        return Ok(None);
    };
    let Some(handle) = members.text(KEY) else {
        return Ok(None);
    };
    let handle: Handle = handle
        .parse()
        .map_err(|error: spillgate_artifact::HandleError| error.to_string())?;
    let selectors: Vec<_> = members.names().filter(|name| name != KEY).collect();
    let part = match &*selectors {
        [] => Part::All,
        [name] => part(name, &members)?,
        _ => {
            return Err(format!(
                "a reference has one of `lines`, `bytes` and `query`, not {}",
                selectors.join(" and ")
            ));
        }
    };
    Ok(Some(Reference { handle, part }))
}

fn part(name: &str, members: &ObjectView<'_>) -> Result<Part, String> {
    // Models confuse numbers with strings, so accept both.
    let given = members.text(name).or_else(|| {
        let number = members.get(name).map(|raw| raw.get().to_owned());
        number.filter(|number| whole_number(number).is_some())
    });
    let Some(given) = given else {
        return Err(format!("`{name}` must be a string"));
    };
    let shown = || json!(given.chars().take(40).collect::<String>());
    match name {
        "query" => Ok(Part::Query(given)),
        "bytes" => {
            let range = given.parse::<ByteRange>();
            range.map(Part::Bytes).map_err(|error| error.to_string())
        }
        _ => {
            let wrong = || {
                let shown = shown();
                format!(
                    "`lines` is \"FIRST-LAST\", counted from 1, for example \"10-20\", not {shown}"
                )
            };
            if let Some(line) = whole_number(&given) {
                return match line {
                    0 => Err(wrong()),
                    line => Ok(Part::Lines(line, Some(line))),
                };
            }
            let range: ByteRange = given.parse().map_err(|_| wrong())?;
            match range.end {
                Some(0) => Err(wrong()),
                last => Ok(Part::Lines(range.start.max(1), last)),
            }
        }
    }
}
