//! Edits YAML in place.
//!
//! The editor cuts and inserts text at the positions that the parser reports. It refuses edits that
//! cannot be made this way.

use std::ops::Range;

use serde_json::Value;

use crate::document::{Change, Edit, Front, Trouble};
use crate::yaml::{Member, Node, What, read};

pub(crate) fn edit(text: &str, edits: &[Edit]) -> Result<String, Trouble> {
    let mut text = text.to_owned();
    // Parses again after each change, because positions move.
    for edit in edits {
        let mut behind: Option<String> = None;
        let first_gone = first_gone(&text, edit)?;
        for change in &edit.changes {
            let Some(value) = &change.to else { continue };
            text = with_members(&text, edit, |text, members| {
                let find = |name: &str| members.iter().find(|member| member.is(name));
                if let Some(member) = find(&change.field) {
                    return set(text, member, value);
                }
                let behind = behind.as_deref().and_then(find);
                let before = first_gone.as_deref().and_then(find);
                insert(text, members, behind, before, &change.field, value)
            })?;
            behind = Some(change.field.clone());
        }
        for change in edit.changes.iter().filter(|change| change.to.is_none()) {
            text = with_members(&text, edit, |text, members| remove(text, members, change))?;
        }
    }
    Ok(text)
}

fn first_gone(text: &str, edit: &Edit) -> Result<Option<String>, Trouble> {
    let mut first = None;
    with_members(text, edit, |_, members| {
        let gone = edit.changes.iter().filter(|change| change.to.is_none());
        first = gone
            .map(|change| &change.field)
            .find(|field| members.iter().any(|member| member.is(field)))
            .cloned();
        String::new()
    })?;
    Ok(first)
}

fn with_members(
    text: &str,
    edit: &Edit,
    work: impl FnOnce(&str, &[Member]) -> String,
) -> Result<String, Trouble> {
    let root = read(text)?;
    let top = root.as_ref();
    let table = edit
        .at
        .iter()
        .try_fold(top, |node, key| Some(node?.get(key)));
    match table.flatten().map(|node| &node.what) {
        Some(What::Table(members)) if !members.is_empty() => Ok(work(text, members)),
        _ => Err(Trouble::form(format!("{:?} is no table", edit.at))),
    }
}

fn spliced(text: &str, at: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..at.start], &text[at.end..])
}

fn set(text: &str, member: &Member, value: &Value) -> String {
    if let (What::List(elements), Value::Array(new)) = (&member.node.what, value) {
        let had: Vec<Value> = elements.iter().map(Node::value).collect();
        match Front::of(&had, new) {
            Some(Front::Added(added)) => return add_front(text, &member.node, elements, added),
            Some(Front::Gone(count)) => {
                let place = |node: &Node| match in_brackets(text, &member.node) {
                    true => node.at.start,
                    false => item_start(text, node),
                };
                let gone = place(&elements[0])..place(&elements[count]);
                return spliced(text, gone, "");
            }
            None => {}
        }
    }
    let key = &text[member.key.at.clone()];
    spliced(
        text,
        trimmed(text, member),
        &format!("{key}: {}", inline(value)),
    )
}

/// Returns the range from the key to the last character of the value.
fn trimmed(text: &str, member: &Member) -> Range<usize> {
    let start = member.key.at.start;
    let end = member.node.at.end.max(member.key.at.end);
    let mut end = start + text[start..end].trim_end().len();
    // A key without a value is still followed by its colon.
    if member.node.at.is_empty() {
        end += text[end..].find(':').map_or(0, |colon| colon + 1);
    }
    start..end
}

fn in_brackets(text: &str, list: &Node) -> bool {
    text[list.at.start..].starts_with('[')
}

/// Returns the position of the dash before a list item.
fn item_start(text: &str, item: &Node) -> usize {
    text[..item.at.start].rfind('-').unwrap_or(item.at.start)
}

fn add_front(text: &str, list: &Node, elements: &[Node], added: &[Value]) -> String {
    if in_brackets(text, list) {
        let at = elements[0].at.start;
        let new: String = added
            .iter()
            .map(|one| format!("{}, ", inline(one)))
            .collect();
        return spliced(text, at..at, &new);
    }
    let at = item_start(text, &elements[0]);
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &text[line..at];
    let new: String = added
        .iter()
        .map(|one| format!("- {}\n{indent}", inline(one)))
        .collect();
    spliced(text, at..at, &new)
}

fn insert(
    text: &str,
    members: &[Member],
    behind: Option<&Member>,
    before: Option<&Member>,
    field: &str,
    value: &Value,
) -> String {
    let new = format!("{}: {}", scalar(field), inline(value));
    let first = &members[0];
    let line = text[..first.key.at.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let indent = &text[line..first.key.at.start];
    let of_lines = indent.chars().all(|c| c == ' ');
    match (behind, before) {
        (None, Some(before)) => {
            let at = before.key.at.start;
            let between = if of_lines {
                format!("\n{indent}")
            } else {
                ", ".into()
            };
            spliced(text, at..at, &format!("{new}{between}"))
        }
        (behind, _) => {
            let behind = behind
                .or(members.last())
                .expect("invariant: it has members");
            let end = trimmed(text, behind).end;
            if !of_lines {
                return spliced(text, end..end, &format!(", {new}"));
            }
            let end = text[end..].find('\n').map_or(text.len(), |line| end + line);
            spliced(text, end..end, &format!("\n{indent}{new}"))
        }
    }
}

fn remove(text: &str, members: &[Member], change: &Change) -> String {
    let Some(index) = members.iter().position(|member| member.is(&change.field)) else {
        return text.to_owned();
    };
    let at = trimmed(text, &members[index]);
    let line = text[..at.start]
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    if text[line..at.start].trim().is_empty() {
        let end = text[at.end..]
            .find('\n')
            .map_or(text.len(), |end| at.end + end + 1);
        return spliced(text, line..end, "");
    }
    let at = match (index, members.get(index + 1)) {
        (_, Some(next)) => at.start..next.key.at.start,
        (0, None) => at,
        (_, None) => trimmed(text, &members[index - 1]).end..at.end,
    };
    spliced(text, at, "")
}

/// Formats a value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(inline).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{}: {}", scalar(key), inline(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        value => value.to_string(),
    }
}

/// Formats a string: without quotes if it cannot be misread, otherwise in double quotes, in which
/// YAML accepts all escapes of JSON.
fn scalar(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_./@-".contains(c);
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_');
    // YAML 1.1 treats some words as booleans, and some readers still do.
    let taken = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_taken = taken.iter().any(|word| text.eq_ignore_ascii_case(word));
    match starts_well && text.chars().all(is_word) && !is_taken {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}
