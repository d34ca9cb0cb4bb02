//! The tree of a configuration file, whatever its syntax.
//!
//! A text keeps its original form, so that the values of variables need never be shown.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// Bytes that a file may have: a prompt of this size fills no context but a
/// window of some 250,000 tokens.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Levels that a tree may have: deeper than this nobody writes a configuration.
pub(crate) const DEEPEST: usize = 64;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
}

impl Position {
    /// Where a file begins.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// A text that is not well-formed, or exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {what}", at.line, at.column)]
pub struct Malformed {
    /// Where it is wrong.
    pub at: Position,
    /// What is wrong.
    pub what: String,
}

impl Position {
    /// The error of a text that is malformed here.
    pub(crate) fn wrong<T>(self, what: impl Into<String>) -> Result<T, Malformed> {
        let (at, what) = (self, what.into());
        Err(Malformed { at, what })
    }
}

/// A value and where it stands.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub kind: NodeKind,
    /// Its layer ([`crate::Layers`]).
    pub(crate) layer: usize,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Text),
    /// Values in their order.
    List(Vec<Node>),
    /// Keys and values in the order in which they stand.
    Table(Vec<Member>),
}

/// A number. Messages show its sign as the syntax has it.
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

/// A text, with what its variables stand for.
#[derive(Clone, PartialEq)]
pub struct Text {
    /// What it says.
    pub text: String,
    /// As it is written, where variables were put in.
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

/// A key of a table, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub at: Position,
    /// The value.
    pub node: Node,
}

impl Member {
    /// A key at a place, and its value.
    pub fn new(key: impl Into<String>, at: Position, node: Node) -> Self {
        let key = key.into();
        Self { key, at, node }
    }
}

impl Node {
    /// A value at a place.
    pub fn new(at: Position, kind: NodeKind) -> Self {
        Self { at, kind, layer: 0 }
    }

    /// A table without members.
    pub fn empty() -> Self {
        Self::new(Position::START, NodeKind::Table(Vec::new()))
    }

    /// Its members; none if it is no table.
    pub fn members(&self) -> &[Member] {
        match &self.kind {
            NodeKind::Table(members) => members,
            _ => &[],
        }
    }

    /// The same, to be changed; `None` if it is no table.
    pub fn members_mut(&mut self) -> Option<&mut Vec<Member>> {
        match &mut self.kind {
            NodeKind::Table(members) => Some(members),
            _ => None,
        }
    }

    /// The member of this key, as it is spelled.
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The members of the table at the end of a path of keys, as they are spelled.
    pub(crate) fn table_mut(&mut self, path: &[&str]) -> Option<&mut Vec<Member>> {
        let table = path.iter().try_fold(self, |node, key| {
            let mut members = node.members_mut()?.iter_mut();
            let member = members.find(|member| member.key == *key);
            member.map(|member| &mut member.node)
        });
        table?.members_mut()
    }

    /// The member of this key, in either spelling.
    pub fn get(&self, key: &str) -> Option<&Member> {
        let other = || {
            let mut members = self.members().iter();
            members.find(|member| camel(&member.key) == key)
        };
        self.member(key).or_else(other)
    }

    /// The member at the end of a path of keys, each in either spelling.
    pub fn find(&self, path: &[&str]) -> Option<&Member> {
        let (first, rest) = path.split_first()?;
        let member = self.get(first)?;
        match rest {
            [] => Some(member),
            rest => member.node.find(rest),
        }
    }

    /// Whether a variable was put in, here or below.
    pub fn is_from_variable(&self) -> bool {
        match &self.kind {
            NodeKind::Text(text) => text.written.is_some(),
            NodeKind::List(elements) => elements.iter().any(Self::is_from_variable),
            NodeKind::Table(members) => members.iter().any(|one| one.node.is_from_variable()),
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => false,
        }
    }

    /// The value, variables put in.
    pub fn value(&self) -> Value {
        self.value_by(&|text| text.text.clone())
    }

    /// The value as it is written: what variables stand for is not in it.
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
    /// Nothing of it: what it says may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text")
    }
}

impl fmt::Debug for Node {
    /// Where it stands: what it says may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node at {}:{}", self.at.line, self.at.column)
    }
}

/// `max_turns` as `maxTurns`.
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

/// `maxTurns` as `max_turns`.
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

    /// Any JSON that a person would write.
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
