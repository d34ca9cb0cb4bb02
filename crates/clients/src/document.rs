//! Edits single values in a file and leaves the rest of the file unchanged.
//!
//! Each syntax has its own editor. This module keeps the byte order mark and the line ends, and
//! verifies that the edited text parses to exactly the intended values.

use std::path::Path;

use serde_json::{Map, Value};
use similar::ChangeTag;

use crate::{ClientsError, LineDiff};

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON with comments and trailing commas.
    Json,
    Toml,
    Yaml,
}

impl Syntax {
    /// Returns the syntax for the file's extension.
    pub(crate) fn of(file: &Path) -> Self {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

/// The error for a text that cannot be parsed or edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The text does not parse.
    Malformed { line: usize, message: String },
    /// The text parses, but cannot be edited in place.
    Form(String),
}

impl Trouble {
    pub(crate) fn form(what: impl Into<String>) -> Self {
        Self::Form(what.into())
    }

    pub(crate) fn of(self, file: &Path) -> ClientsError {
        let file = file.to_owned();
        match self {
            Self::Malformed { line, message } => ClientsError::Malformed {
                file,
                line,
                message,
            },
            Self::Form(what) => ClientsError::Form { file, what },
        }
    }
}

/// The change of one field of a table; the value `None` removes the field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) field: String,
    pub(crate) to: Option<Value>,
}

/// Changes to the table at the keys `at`. A new field is inserted after the field of the previous
/// change, or at the position of the first removed field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edit {
    pub(crate) at: Vec<String>,
    pub(crate) changes: Vec<Change>,
}

const MARK: char = '\u{feff}';

/// Parses the values of a text.
pub(crate) fn parse(syntax: Syntax, text: &str) -> Result<Value, Trouble> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match syntax {
        Syntax::Json => crate::json::parse(text),
        Syntax::Toml => crate::toml::parse(text),
        Syntax::Yaml => crate::yaml::parse(text),
    }
}

/// Returns the text with these edits applied and everything else unchanged.
pub(crate) fn edit(syntax: Syntax, text: &str, edits: &[Edit]) -> Result<String, Trouble> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let plain = body.replace("\r\n", "\n");
    let mut meant = parse(syntax, &plain)?;
    let edited = match syntax {
        Syntax::Json => crate::json::edit(&plain, edits)?,
        Syntax::Toml => crate::toml::edit(&plain, edits)?,
        Syntax::Yaml => crate::yaml_edit::edit(&plain, edits)?,
    };
    for edit in edits {
        apply(&mut meant, edit);
    }
    if parse(syntax, &edited).as_ref() != Ok(&meant) {
        return Err(Trouble::form("its form is unusual"));
    }
    let mark = &text[..text.len() - body.len()];
    Ok(format!("{mark}{}", with_line_ends_of(body, &plain, edited)))
}

/// Applies the edit to the values.
fn apply(to: &mut Value, edit: &Edit) {
    let table = edit.at.iter().try_fold(to, |value, key| value.get_mut(key));
    let Some(Value::Object(table)) = table else {
        return;
    };
    for change in &edit.changes {
        match &change.to {
            Some(value) => drop(table.insert(change.field.clone(), value.clone())),
            None => drop(table.remove(&change.field)),
        }
    }
}

/// Restores the line ends of unchanged lines. Each new line gets the more frequent line end of the
/// original text.
fn with_line_ends_of(body: &str, plain: &str, edited: String) -> String {
    let windows = body.matches("\r\n").count();
    if windows == 0 {
        return edited;
    }
    let usual_is_windows = windows * 2 > plain.matches('\n').count();
    let had: Vec<&str> = body.split_inclusive('\n').collect();
    let lines = LineDiff::new(plain, &edited, None);
    let mut text = String::with_capacity(body.len() + edited.len());
    for line in lines.changes() {
        match (line.tag(), line.old_index()) {
            (ChangeTag::Delete, _) => {}
            (ChangeTag::Equal, Some(index)) => text.push_str(had[index]),
            _ => match line.value().strip_suffix('\n') {
                Some(line) if usual_is_windows => {
                    text.push_str(line);
                    text.push_str("\r\n");
                }
                _ => text.push_str(line.value()),
            },
        }
    }
    text
}

/// Returns the edits that turn the table at the keys `at` into `to`. The fields named in `order`
/// come first, in this order. Nested tables are compared field by field.
pub(crate) fn difference(
    at: &[String],
    from: &Map<String, Value>,
    to: &Map<String, Value>,
    order: &[&str],
) -> Vec<Edit> {
    let mut fields: Vec<&String> = to.keys().collect();
    fields.extend(from.keys().filter(|key| !to.contains_key(*key)));
    let place = |key: &String| order.iter().position(|known| known == key);
    fields.sort_by_key(|key| place(key).unwrap_or(order.len()));
    let mut changes = Vec::new();
    let mut deeper = Vec::new();
    for field in fields {
        match (from.get(field), to.get(field)) {
            (had, Some(new)) if had == Some(new) => {}
            (Some(Value::Object(had)), Some(Value::Object(new)))
                if !had.is_empty() && !new.is_empty() =>
            {
                let at = [at, std::slice::from_ref(field)].concat();
                deeper.extend(difference(&at, had, new, order));
            }
            (_, new) => changes.push(Change {
                field: field.clone(),
                to: new.cloned(),
            }),
        }
    }
    if !changes.is_empty() {
        let at = at.to_vec();
        deeper.push(Edit { at, changes });
    }
    deeper
}

/// A change of a list that affects only its first elements, so that comments on the other elements
/// are kept.
#[derive(Debug, PartialEq)]
pub(crate) enum Front<'a> {
    /// Elements inserted at the front.
    Added(&'a [Value]),
    /// Number of elements removed from the front.
    Gone(usize),
}

impl<'a> Front<'a> {
    pub(crate) fn of(had: &[Value], new: &'a [Value]) -> Option<Self> {
        if had.is_empty() || new.is_empty() {
            return None;
        }
        match new.strip_suffix(had) {
            Some(added) => Some(Self::Added(added)),
            None => had.strip_suffix(new).map(|gone| Self::Gone(gone.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_ends_and_marks_stay() {
        let change = Change {
            field: "a".into(),
            to: Some(json!(["x", "z"])),
        };
        let edits = [Edit {
            at: vec!["s".into()],
            changes: vec![change],
        }];
        for (before, after) in [
            (
                "\u{feff}{\r\n  // one\r\n  \"s\": {\"a\": 1}\r\n}",
                "\u{feff}{\r\n  // one\r\n  \"s\": {\"a\": [\"x\", \"z\"]}\r\n}",
            ),
            (
                "{\r\n  \"s\": {\n\"a\": 1}\r\n}\r\n",
                "{\r\n  \"s\": {\n\"a\": [\"x\", \"z\"]}\r\n}\r\n",
            ),
        ] {
            assert_eq!(edit(Syntax::Json, before, &edits).unwrap(), after);
        }
        let toml = edit(Syntax::Toml, "[s]\r\n# one\r\na = 1 # two\r\n", &edits);
        assert_eq!(
            toml.unwrap(),
            "[s]\r\n# one\r\na = [\"x\", \"z\"] # two\r\n"
        );
        let yaml = edit(Syntax::Yaml, "s:\r\n  # one\r\n  a: 1 # two\r\n", &edits);
        assert_eq!(yaml.unwrap(), "s:\r\n  # one\r\n  a: [x, z] # two\r\n");
    }

    #[test]
    fn what_stands_twice_is_not_edited() {
        let change = Change {
            field: "a".into(),
            to: None,
        };
        let edits = [Edit {
            at: vec!["s".into()],
            changes: vec![change],
        }];
        let twice = edit(Syntax::Json, r#"{"s": {"a": 1, "a": 2}}"#, &edits);
        assert_eq!(twice, Err(Trouble::form("its form is unusual")));
    }
}
