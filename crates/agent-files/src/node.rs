//! What does a file say, and where, whatever it is written in?
//!
//! YAML and JSON are read into the same tree. A text knows how it was written, so
//! that what was put in for a variable need never be shown.

use std::fmt;

use serde_json::{Map, Number, Value};

use crate::problem::Position;

/// Bytes that a file may have: a prompt of this size fills no context but a
/// window of some 250,000 tokens.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Deeper than this nobody writes a configuration.
pub(crate) const DEEPEST: usize = 64;

/// A value and where it stands.
#[derive(Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) what: What,
}

#[derive(Clone, PartialEq)]
pub(crate) enum What {
    Null,
    Bool(bool),
    Number(Number),
    Text(Text),
    List(Vec<Node>),
    Table(Vec<Member>),
}

/// A text, with what its variables stand for.
#[derive(Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// As it is written, where variables were put in.
    pub(crate) written: Option<String>,
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
#[derive(Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn new(at: Position, what: What) -> Self {
        Self { at, what }
    }

    /// A table without members.
    pub(crate) fn empty() -> Self {
        Self::new(Position::START, What::Table(Vec::new()))
    }

    pub(crate) fn members(&self) -> &[Member] {
        match &self.what {
            What::Table(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn members_mut(&mut self) -> Option<&mut Vec<Member>> {
        match &mut self.what {
            What::Table(members) => Some(members),
            _ => None,
        }
    }

    /// The member of this key, in either spelling.
    pub(crate) fn get(&self, key: &str) -> Option<&Member> {
        let members = self.members();
        let exact = members.iter().find(|member| member.key == key);
        exact.or_else(|| members.iter().find(|member| camel(&member.key) == key))
    }

    /// The member at the end of a path of keys.
    pub(crate) fn find(&self, path: &[&str]) -> Option<&Member> {
        let (first, rest) = path.split_first()?;
        let member = self.get(first)?;
        match rest {
            [] => Some(member),
            rest => member.node.find(rest),
        }
    }

    /// Whether a variable was put in, here or below.
    pub(crate) fn is_from_variable(&self) -> bool {
        match &self.what {
            What::Text(text) => text.written.is_some(),
            What::List(elements) => elements.iter().any(Self::is_from_variable),
            What::Table(members) => members.iter().any(|one| one.node.is_from_variable()),
            What::Null | What::Bool(_) | What::Number(_) => false,
        }
    }

    /// The value, variables put in.
    pub(crate) fn value(&self) -> Value {
        self.value_by(&|text| text.text.clone())
    }

    /// The value as it is written: what variables stand for is not in it.
    pub(crate) fn written(&self) -> Value {
        self.value_by(&|text| text.written.as_ref().unwrap_or(&text.text).clone())
    }

    fn value_by(&self, of_text: &dyn Fn(&Text) -> String) -> Value {
        match &self.what {
            What::Null => Value::Null,
            What::Bool(value) => Value::Bool(*value),
            What::Number(number) => Value::Number(number.clone()),
            What::Text(text) => Value::String(of_text(text)),
            What::List(elements) => elements.iter().map(|one| one.value_by(of_text)).collect(),
            What::Table(members) => {
                let members = members
                    .iter()
                    .map(|member| (member.key.clone(), member.node.value_by(of_text)));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

impl fmt::Debug for Node {
    /// Where it stands: what it says may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node at {}:{}", self.at.line, self.at.column)
    }
}

/// `max_turns` as `maxTurns`.
pub(crate) fn camel(name: &str) -> String {
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
pub(crate) fn snake(name: &str) -> String {
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
        let node = Node::new(Position { line: 3, column: 7 }, What::Text(text));
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
                let path = std::path::Path::new("a");
                let front = format!("---\n{text}\n---\nDo it.");
                let _ = crate::PromptFile::parse(&front, path);
                let _ = crate::ConfigFile::parse(text, path, &|_| None);
            }
        }
    }
}
