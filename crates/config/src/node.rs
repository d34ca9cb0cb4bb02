//! The tree of a configuration file in any syntax.
//!
//! A text also keeps its form before the expansion of variables, so that messages can show it
//! without the values of variables.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum size of a file in bytes. A prompt of this size would take about 250,000 tokens, which is
/// more than most context windows hold.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Maximum nesting of a tree; deeper configurations do not occur.
pub(crate) const DEEPEST: usize = 64;

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl Position {
    /// The start of a file.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// The error for a text that is not well-formed or that exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {what}", at.line, at.column)]
pub struct Malformed {
    /// The position of the error.
    pub at: Position,
    /// The message.
    pub what: String,
}

impl Position {
    /// Returns an error at this position.
    pub(crate) fn wrong<T>(self, what: impl Into<String>) -> Result<T, Malformed> {
        let (at, what) = (self, what.into());
        Err(Malformed { at, what })
    }
}

/// A value and its position.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// The position of the value's first character.
    pub at: Position,
    /// The value.
    pub kind: NodeKind,
    /// The layer that the value comes from, for [`crate::Layers`].
    pub(crate) layer: usize,
}

/// The kinds of values.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Text),
    /// Values in order.
    List(Vec<Node>),
    /// Keys and values in file order.
    Table(Vec<Member>),
}

/// A number. Whether it is signed depends on the syntax of the file, and messages show it
/// accordingly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A negative whole number, or any whole number of TOML.
    Signed(i64),
    /// A floating-point number.
    Float(f64),
}

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Self::Unsigned(number),
            (None, Some(number)) => Self::Signed(number),
            (None, None) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }
}

/// A text, with its form before variables were expanded.
#[derive(Clone, PartialEq)]
pub struct Text {
    /// The text, with variables expanded.
    pub text: String,
    /// The text as written, if variables were expanded.
    pub written: Option<String>,
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self {
            text,
            written: None,
        }
    }
}

/// A key of a table and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key.
    pub key: String,
    /// The position of the key.
    pub at: Position,
    /// The value.
    pub node: Node,
}

impl Member {
    /// Creates a member with the position of its key.
    pub fn new(key: impl Into<String>, at: Position, node: Node) -> Self {
        let key = key.into();
        Self { key, at, node }
    }
}

impl Node {
    /// Creates a value at a position.
    pub fn new(at: Position, kind: NodeKind) -> Self {
        Self { at, kind, layer: 0 }
    }

    /// Creates an empty table.
    pub fn empty() -> Self {
        Self::new(Position::START, NodeKind::Table(Vec::new()))
    }

    /// Returns the members; empty if this is not a table.
    pub fn members(&self) -> &[Member] {
        match &self.kind {
            NodeKind::Table(members) => members,
            _ => &[],
        }
    }

    /// Returns the members for editing; `None` if this is not a table.
    pub fn members_mut(&mut self) -> Option<&mut Vec<Member>> {
        match &mut self.kind {
            NodeKind::Table(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the member with exactly this key.
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// Returns the members of the table at this path, whose keys must match exactly.
    pub(crate) fn table_mut(&mut self, path: &[&str]) -> Option<&mut Vec<Member>> {
        let table = path.iter().try_fold(self, |node, key| {
            let mut members = node.members_mut()?.iter_mut();
            let member = members.find(|member| member.key == *key);
            member.map(|member| &mut member.node)
        });
        table?.members_mut()
    }

    /// Returns the member whose key is `key`, in camel case or in snake case. `key` itself is in
    /// camel case.
    pub fn get(&self, key: &str) -> Option<&Member> {
        let other = || {
            let mut members = self.members().iter();
            members.find(|member| camel(&member.key) == key)
        };
        self.member(key).or_else(other)
    }

    /// Returns the member at a path of keys, each of which may be in camel case or in snake case.
    pub fn find(&self, path: &[&str]) -> Option<&Member> {
        let (first, rest) = path.split_first()?;
        let member = self.get(first)?;
        match rest {
            [] => Some(member),
            rest => member.node.find(rest),
        }
    }

    /// Returns whether the value or a nested one contains expanded variables.
    pub fn is_from_variable(&self) -> bool {
        match &self.kind {
            NodeKind::Text(text) => text.written.is_some(),
            NodeKind::List(elements) => elements.iter().any(Self::is_from_variable),
            NodeKind::Table(members) => members.iter().any(|one| one.node.is_from_variable()),
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => false,
        }
    }

    /// Returns the value with variables expanded.
    pub fn value(&self) -> Value {
        self.value_by(&|text| text.text.clone())
    }

    /// Returns the value as written, without the values of variables.
    pub fn written(&self) -> Value {
        self.value_by(&|text| text.written.as_ref().unwrap_or(&text.text).clone())
    }

    fn value_by(&self, of_text: &dyn Fn(&Text) -> String) -> Value {
        match &self.kind {
            NodeKind::Null => Value::Null,
            NodeKind::Bool(value) => Value::Bool(*value),
            NodeKind::Number(Number::Unsigned(number)) => Value::from(*number),
            NodeKind::Number(Number::Signed(number)) => Value::from(*number),
            NodeKind::Number(Number::Float(number)) => Value::from(*number),
            NodeKind::Text(text) => Value::String(of_text(text)),
            NodeKind::List(elements) => elements.iter().map(|one| one.value_by(of_text)).collect(),
            NodeKind::Table(members) => {
                let members = members
                    .iter()
                    .map(|member| (member.key.clone(), member.node.value_by(of_text)));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

impl fmt::Debug for Text {
    /// Shows nothing of the text, because it may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text")
    }
}

impl fmt::Debug for Node {
    /// Shows only the position, because the value may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node at {}:{}", self.at.line, self.at.column)
    }
}

/// Converts `max_turns` to `maxTurns`.
pub fn camel(name: &str) -> String {
    let mut upper = false;
    let mut camel = String::with_capacity(name.len());
    for (index, c) in name.char_indices() {
        match c {
            '_' if index > 0 => upper = true,
            c if upper => {
                camel.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => camel.push(c),
        }
    }
    camel
}

/// Converts `maxTurns` to `max_turns`.
pub fn snake(name: &str) -> String {
    let words = name.chars().map(|c| match c.is_ascii_uppercase() {
        true => format!("_{}", c.to_ascii_lowercase()),
        false => c.to_string(),
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_have_two_spellings() {
        for (snaked, cameled) in [
            ("max_turns", "maxTurns"),
            ("tools", "tools"),
            ("timeout_s", "timeoutS"),
            ("avg_line_bytes_threshold", "avgLineBytesThreshold"),
        ] {
            assert_eq!(camel(snaked), cameled);
            assert_eq!(snake(cameled), snaked);
            assert_eq!(camel(cameled), cameled);
        }
        assert_eq!(camel("_x"), "_x");
    }

    #[test]
    fn what_a_node_says_is_not_in_its_debug() {
        let text = Text::from("s3cret".to_owned());
        let node = Node::new(Position { line: 3, column: 7 }, NodeKind::Text(text));
        assert_eq!(format!("{node:?}"), "Node at 3:7");
    }

    /// Generates JSON like that in configuration files.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~é→🦀\\n\\t]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[ -~é]{0,10}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_says_the_same_to_both_readers(value in any_json()) {
            for text in [value.to_string(), format!("{value:#}")] {
                prop_assert_eq!(&crate::json::parse(&text).unwrap().value(), &value);
                prop_assert_eq!(&crate::yaml::parse(&text, 1).unwrap().value(), &value);
            }
        }

        #[test]
        fn no_text_is_too_much(text in "(?s).{0,200}", yaml in "[-\\[\\]{}:,&*!|>'\"#a \\n]{0,60}") {
            for text in [&text, &yaml] {
                let _ = crate::json::parse(text);
                let _ = crate::yaml::parse(text, 1);
                let _ = crate::toml::parse(text);
            }
        }
    }
}
