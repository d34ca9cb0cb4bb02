//! The problems of a tree that does not fit a type.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::node::{NodeKind, Number, Position};

/// One problem, as data. The crate that defines the file formats the message.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The position of the key, or of the value if it has no key.
    pub at: Position,
    /// The path of the value.
    pub key: Vec<Step>,
    /// The kind of the problem.
    pub kind: ProblemKind,
    /// Whether the last key of the path is wrong, rather than its value.
    pub is_of_key: bool,
    /// Whether the value contains an expanded variable and must not be shown.
    pub is_from_variable: bool,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A step into a member of a table.
    Key(String),
    /// A step into an element of a list.
    Index(usize),
}

/// The kinds of problems.
#[derive(Debug, Clone, PartialEq)]
pub enum ProblemKind {
    /// The value has another type.
    Type {
        /// The value; lists and tables are empty here.
        actual: NodeKind,
        /// What the type expects, as its deserializer describes it.
        expected: String,
    },
    /// The value has the right type, but the type does not accept it.
    Value {
        /// The value.
        actual: NodeKind,
        /// What the type expects, as its deserializer describes it.
        expected: String,
    },
    /// The text is not one of the known names.
    Name {
        /// The text.
        actual: String,
        /// The names.
        known: &'static [&'static str],
    },
    /// There is no such key.
    Key {
        /// The key.
        name: String,
        /// The known keys.
        known: &'static [&'static str],
    },
    /// A key is missing.
    Missing(&'static str),
    /// A key is set twice, for example as `max_turns` and as `maxTurns`.
    Twice {
        /// The key.
        name: &'static str,
        /// The key as written the first time and its line, if they are known.
        other: Option<(String, usize)>,
    },
    /// Any other problem, as the type's deserializer describes it.
    Other(String),
}

/// Converts serde's description of an unexpected value to a value. If no configuration file can
/// contain such a value, returns a text that describes it.
fn kind_of(unexpected: Unexpected<'_>) -> NodeKind {
    match unexpected {
        Unexpected::Bool(value) => NodeKind::Bool(value),
        Unexpected::Unsigned(number) => NodeKind::Number(Number::Unsigned(number)),
        Unexpected::Signed(number) => NodeKind::Number(Number::Signed(number)),
        Unexpected::Float(number) => NodeKind::Number(Number::Float(number)),
        Unexpected::Str(text) => NodeKind::Text(text.to_owned().into()),
        Unexpected::Unit | Unexpected::Option => NodeKind::Null,
        Unexpected::Seq => NodeKind::List(Vec::new()),
        Unexpected::Map => NodeKind::Table(Vec::new()),
        other => NodeKind::Text(other.to_string().into()),
    }
}

/// The error that is returned to serde while it reads a tree; `None` if the problem is already
/// recorded.
#[derive(Debug, thiserror::Error)]
#[error("{0:?}")]
pub(crate) struct Wrong(pub(crate) Option<ProblemKind>);

impl From<ProblemKind> for Wrong {
    fn from(kind: ProblemKind) -> Self {
        Self(Some(kind))
    }
}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(what: T) -> Self {
        ProblemKind::Other(what.to_string()).into()
    }

    fn invalid_type(actual: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (actual, expected) = (kind_of(actual), expected.to_string());
        ProblemKind::Type { actual, expected }.into()
    }

    fn invalid_value(actual: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (actual, expected) = (kind_of(actual), expected.to_string());
        ProblemKind::Value { actual, expected }.into()
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        let actual = variant.to_owned();
        ProblemKind::Name { actual, known }.into()
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        let name = field.to_owned();
        ProblemKind::Key { name, known }.into()
    }

    fn missing_field(field: &'static str) -> Self {
        ProblemKind::Missing(field).into()
    }

    fn duplicate_field(field: &'static str) -> Self {
        let (name, other) = (field, None);
        ProblemKind::Twice { name, other }.into()
    }
}
