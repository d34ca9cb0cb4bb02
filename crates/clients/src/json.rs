//! JSON with comments: parsing, and editing in place.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::Value;
use spillgate_config::json::OPTIONS;

use crate::document::{Change, Edit, Front, Trouble};

pub(crate) fn parse(text: &str) -> Result<Value, Trouble> {
    let root = read(text)?;
    root.to_serde_value()
        .ok_or_else(|| Trouble::form("a value in it cannot be written in JSON"))
}

/// Parses a client's JSON and drops comments and trailing commas. The error consists of the line
/// number, from 1, and the message.
pub fn json_values(text: &str) -> Result<Value, (usize, String)> {
    parse(text).map_err(|trouble| match trouble {
        Trouble::Malformed { line, message } => (line, message),
        Trouble::Form(what) => (1, what),
    })
}

fn read(text: &str) -> Result<CstRootNode, Trouble> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error: ParseError| Trouble::Malformed {
        line: error.line_display(),
        message: error.kind().to_string(),
    })
}

pub(crate) fn edit(text: &str, edits: &[Edit]) -> Result<String, Trouble> {
    let root = read(text)?;
    for edit in edits {
        let top = root.object_value();
        let table = edit
            .at
            .iter()
            .try_fold(top, |table, key| Some(table?.object_value(key)));
        let Some(Some(table)) = table else {
            return Err(Trouble::form(format!("{:?} is no object", edit.at)));
        };
        edit_table(&table, &edit.changes);
    }
    Ok(root.to_string())
}

fn edit_table(table: &CstObject, changes: &[Change]) {
    let goes = |change: &&Change| change.to.is_none();
    let mut next = changes
        .iter()
        .filter(goes)
        .find_map(|change| Some(table.get(&change.field)?.property_index()))
        .unwrap_or(table.properties().len());
    for change in changes {
        let Some(value) = &change.to else { continue };
        if let Some(member) = table.get(&change.field) {
            match (member.array_value(), value) {
                (Some(array), Value::Array(new)) if edit_front(&array, new) => {}
                _ => member.set_value(input(value)),
            }
            next = member.property_index() + 1;
        } else {
            table.insert(next, &change.field, input(value));
            next += 1;
        }
    }
    for change in changes.iter().filter(goes) {
        if let Some(member) = table.get(&change.field) {
            member.remove();
        }
    }
}

/// Edits the first elements of the list. Returns `false` if the change affects other elements, too.
fn edit_front(array: &CstArray, new: &[Value]) -> bool {
    let elements = array.elements();
    let had: Option<Vec<Value>> = elements.iter().map(CstNode::to_serde_value).collect();
    let one_line = !array.children().iter().any(CstNode::is_newline);
    let space = |element: Option<&CstNode>| element?.previous_sibling()?.as_whitespace();
    let before_first = space(elements.first()).map(|space| space.value());
    match had.as_ref().and_then(|had| Front::of(had, new)) {
        Some(Front::Added(added)) => {
            for (index, value) in added.iter().enumerate() {
                array.insert(index, input(value));
            }
            // The insertion has put the indentation of a new line before the former first element.
            if let Some(space) = space(elements.first()).filter(|_| one_line) {
                space.set_value(" ".to_owned());
            }
            true
        }
        Some(Front::Gone(count)) => {
            for element in elements.into_iter().take(count) {
                element.remove();
            }
            if let Some(space) = space(array.elements().first()).filter(|_| one_line) {
                space.set_value(before_first.unwrap_or_default());
            }
            true
        }
        None => false,
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(elements) => CstInputValue::Array(elements.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
    }
}
