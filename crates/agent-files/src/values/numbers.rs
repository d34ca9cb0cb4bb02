//! Types of settings whose values are numbers with bounds, sizes in bytes, or costs.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Whole<const MIN: u64, const MAX: u64>(u64);

/// A positive whole number.
pub type Count = Whole<1, { u64::MAX }>;

/// A whole number, 0 included.
pub type CountOrNone = Whole<0, { u64::MAX }>;

/// A value that is out of range or not a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be {range}, is {given}")]
pub struct NumberError {
    /// The expected range.
    range: String,
    /// The given value.
    given: String,
}

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// Creates the number; fails if it is out of range.
    pub fn new(number: u64) -> Result<Self, NumberError> {
        match (MIN..=MAX).contains(&number) {
            true => Ok(Self(number)),
            false => Err(Self::error(number.to_string())),
        }
    }

    fn error(given: String) -> NumberError {
        let range = Self::range();
        NumberError { range, given }
    }

    /// Returns the number.
    pub fn get(self) -> u64 {
        self.0
    }

    fn range() -> String {
        match MAX {
            u64::MAX => format!("a whole number, at least {MIN}"),
            most => format!("a whole number from {MIN} to {most}"),
        }
    }
}

impl<const MIN: u64, const MAX: u64> FromStr for Whole<MIN, MAX> {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        let number = text.trim().parse();
        let number = number.map_err(|_| Self::error(format!("{text:?}")))?;
        Self::new(number)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Number<const MIN: u64, const MAX: u64>;
        impl<const MIN: u64, const MAX: u64> Visitor<'_> for Number<MIN, MAX> {
            type Value = Whole<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&Whole::<MIN, MAX>::range())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                Whole::new(number)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }
        from.deserialize_u64(Number::<MIN, MAX>)
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Whole<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Whole{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        match MAX {
            u64::MAX => json_schema!({ "type": "integer", "minimum": MIN }),
            most => json_schema!({ "type": "integer", "minimum": MIN, "maximum": most }),
        }
    }
}

/// A number of bytes: `10 MiB`, or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Bytes(pub u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Sizes;
        impl Visitor<'_> for Sizes {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes such as \"10 MiB\" or 1000000")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Bytes, E> {
                Ok(Bytes(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
                let size: Result<bytesize::ByteSize, _> = text.parse();
                size.map(|size| Bytes(size.as_u64()))
                    .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        from.deserialize_any(Sizes)
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size: a number of bytes, or a text such as \"10 MiB\".",
            "anyOf": [{ "type": "string", "pattern": "[0-9]" }, { "type": "integer", "minimum": 0 }],
        })
    }
}

/// US dollars: more than 0.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Cost(f64);

const COST: &str = "a number of US dollars, more than 0";

impl Cost {
    /// Returns the amount in US dollars.
    pub fn get(self) -> f64 {
        self.0
    }

    fn some(dollars: f64) -> Option<Self> {
        (dollars.is_finite() && dollars > 0.0).then_some(Self(dollars))
    }
}

impl FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let dollars = text.trim().trim_start_matches('$').parse().ok();
        let cost = dollars.and_then(Self::some);
        cost.ok_or_else(|| format!("must be {COST}, is {text:?}"))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Costs;
        impl Visitor<'_> for Costs {
            type Value = Cost;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(COST)
            }

            fn visit_f64<E: Error>(self, dollars: f64) -> Result<Cost, E> {
                Cost::some(dollars)
                    .ok_or_else(|| E::invalid_value(Unexpected::Float(dollars), &self))
            }

            fn visit_u64<E: Error>(self, dollars: u64) -> Result<Cost, E> {
                let cost = u32::try_from(dollars).ok().map(f64::from);
                cost.and_then(Cost::some)
                    .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(dollars), &self))
            }
        }
        from.deserialize_any(Costs)
    }
}

impl JsonSchema for Cost {
    fn schema_name() -> Cow<'static, str> {
        "Cost".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}
