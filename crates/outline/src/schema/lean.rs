//! Parses a JSON document and keeps only the members that an outline may show.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Maximum number of values that are kept. A document with more values is outlined like any other
/// JSON.
const VALUES: usize = 300_000;
/// Maximum number of elements that are kept of an array.
const ELEMENTS: usize = 256;
/// Maximum number of bytes that are kept of a text.
const TEXT: usize = 120;
/// Members that are left out: they are long and not shown.
const LEFT_OUT: [&str; 12] = [
    "description",
    "example",
    "examples",
    "responses",
    "requestBody",
    "parameters",
    "callbacks",
    "default",
    "externalDocs",
    "security",
    "headers",
    "contact",
];
/// Members that are maps: the author of the document chooses the names of their members.
const NAMES: [&str; 5] = ["paths", "properties", "schemas", "$defs", "definitions"];

/// A JSON value.
#[derive(Debug)]
pub(super) enum Lean {
    /// A text, a number or a truth value, as text.
    Text(String),
    List(Vec<Lean>),
    Map(Vec<(String, Lean)>),
    Null,
}

impl Lean {
    pub(super) fn members(&self) -> &[(String, Lean)] {
        match self {
            Self::Map(members) => members,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let members = self.members().iter();
        let mut members = members.filter(|(name, _)| name == key);
        members.next().map(|(_, value)| value)
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null => Some("null"),
            _ => None,
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Self::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns whether a schema requires a field.
    pub(super) fn requires(&self, field: &str) -> bool {
        let Some(Self::List(all)) = self.get("required") else {
            return false;
        };
        all.iter().any(|one| one.as_text() == Some(field))
    }
}

/// Deserializes a value.
#[derive(Debug, Default, Clone)]
pub(super) struct Seed<'c> {
    /// Number of values so far.
    count: Option<&'c Cell<usize>>,
    /// Whether the value is a map whose member names the author of the document chose.
    has_names: bool,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Lean;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Lean, D::Error> {
        let all = Cell::new(0);
        let count = self.count.unwrap_or(&all);
        count.set(count.get() + 1);
        if count.get() > VALUES {
            return Err(D::Error::custom("too many values"));
        }
        let has_names = self.has_names;
        deserializer.deserialize_any(Reading { count, has_names })
    }
}

struct Reading<'c> {
    count: &'c Cell<usize>,
    has_names: bool,
}

impl Reading<'_> {
    fn seed(&self, has_names: bool) -> Seed<'_> {
        Seed {
            count: Some(self.count),
            has_names,
        }
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Lean;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Lean, E> {
        Ok(Lean::Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Lean, E> {
        Ok(Lean::Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Lean, E> {
        Ok(Lean::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Lean, E> {
        Ok(Lean::Text(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Lean, E> {
        let cut = &value[..value.floor_char_boundary(TEXT)];
        Ok(Lean::Text(cut.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Lean, E> {
        Ok(Lean::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Lean, A::Error> {
        let mut all = Vec::new();
        while all.len() < ELEMENTS {
            match from.next_element_seed(self.seed(false))? {
                Some(one) => all.push(one),
                None => return Ok(Lean::List(all)),
            }
        }
        while from.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Lean::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Lean, A::Error> {
        let mut all = Vec::new();
        while let Some(key) = from.next_key::<String>()? {
            let is_left_out = LEFT_OUT.contains(&&*key) || key.starts_with("x-");
            if is_left_out && !self.has_names {
                from.next_value::<IgnoredAny>()?;
                continue;
            }
            let has_names = !self.has_names && NAMES.contains(&&*key);
            let value = from.next_value_seed(self.seed(has_names))?;
            all.push((key, value));
        }
        Ok(Lean::Map(all))
    }
}
