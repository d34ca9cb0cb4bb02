//! What is wrong with a tree that is read as a type.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::node::Position;

/// One thing that is wrong. Who wrote the file is told in the words of its reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where its key stands; where it has none, where the value begins.
    pub at: Position,
    /// The way to it.
    pub key: Vec<Step>,
    /// What is wrong.
    pub kind: ProblemKind,
    /// Whether the last key is wrong, not what it is set to.
    pub is_of_key: bool,
    /// Whether a variable was put into the value, which must not be shown then.
    pub is_from_variable: bool,
}

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum ProblemKind {
    /// The value is of another type.
    Type {
        /// What it is.
        actual: Actual,
        /// What it must be, in the words of the type.
        expected: String,
    },
    /// The value is of the type, but none of those that it takes.
    Value {
        /// What it is.
        actual: Actual,
        /// What it must be, in the words of the type.
        expected: String,
    },
    /// The text is none of some names.
    Name {
        /// What it is.
        actual: String,
        /// The names.
        known: &'static [&'static str],
    },
    /// There is no such key.
    Key {
        /// The key.
        name: String,
        /// The keys that there are.
        known: &'static [&'static str],
    },
    /// A key is missing.
    Missing(&'static str),
    /// A key is set by two of its names.
    Twice {
        /// The key.
        name: &'static str,
        /// What it is called elsewhere, and on which line, where that is known.
        other: Option<(String, usize)>,
    },
    /// Something else, in the words of the type.
    Other(String),
}

/// What a value is that is not what it must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Actual {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Unsigned(u64),
    /// A whole number with a sign.
    Signed(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(String),
    /// Nothing.
    Null,
    /// A list.
    List,
    /// A table.
    Table,
    /// Something else, in serde's words.
    Other(String),
}

impl From<Unexpected<'_>> for Actual {
    fn from(unexpected: Unexpected<'_>) -> Self {
        match unexpected {
            Unexpected::Bool(value) => Self::Bool(value),
            Unexpected::Unsigned(number) => Self::Unsigned(number),
            Unexpected::Signed(number) => Self::Signed(number),
            Unexpected::Float(number) => Self::Float(number),
            Unexpected::Str(text) => Self::Text(text.to_owned()),
            Unexpected::Unit | Unexpected::Option => Self::Null,
            Unexpected::Seq => Self::List,
            Unexpected::Map => Self::Table,
            other => Self::Other(other.to_string()),
        }
    }
}

/// Serde's error while a tree is read; `None`: it is noted already, with its place.
#[derive(Debug)]
pub(crate) struct Wrong(pub(crate) Option<ProblemKind>);

impl From<ProblemKind> for Wrong {
    fn from(kind: ProblemKind) -> Self {
        Self(Some(kind))
    }
}

impl std::error::Error for Wrong {}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(what: T) -> Self {
        ProblemKind::Other(what.to_string()).into()
    }

    fn invalid_type(actual: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (actual, expected) = (actual.into(), expected.to_string());
        ProblemKind::Type { actual, expected }.into()
    }

    fn invalid_value(actual: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (actual, expected) = (actual.into(), expected.to_string());
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
