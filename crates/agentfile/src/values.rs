//! What can a value be, beside text, truth and table?
//!
//! Each type says once what it takes: its errors and its JSON Schema come from the
//! same figures.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use spillgate_llm::Target;

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Whole<const MIN: u64, const MAX: u64>(u64);

/// A whole number of things, at least one.
pub type Count = Whole<1, { u64::MAX }>;

/// A whole number of things, or 0.
pub type CountOrNone = Whole<0, { u64::MAX }>;

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The number, if it is in range; or else what it must be.
    pub fn new(number: u64) -> Result<Self, String> {
        match (MIN..=MAX).contains(&number) {
            true => Ok(Self(number)),
            false => Err(format!("must be {}, is {number}", Self::range())),
        }
    }

    /// The number.
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().parse();
        let number = number.map_err(|_| format!("must be {}, is {text:?}", Self::range()))?;
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

/// A time: a text such as `30s` or `5m`, or a number of milliseconds (ai-agent).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(Duration);

impl Time {
    /// The time, which is never 0.
    pub fn get(self) -> Duration {
        self.0
    }

    fn some(time: Duration) -> Option<Self> {
        Some(Self(time)).filter(|time| !time.0.is_zero())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

const TIME: &str = "a time over 0 such as \"30s\" or \"5m\", or a number of milliseconds";

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("must be {TIME}, is {text:?}");
        let time = humantime::parse_duration(text.trim()).map_err(|_| wrong())?;
        Self::some(time).ok_or_else(wrong)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Times;
        impl Visitor<'_> for Times {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(TIME)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Time, E> {
                Time::some(Duration::from_millis(number))
                    .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                text.parse()
                    .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        from.deserialize_any(Times)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time such as \"30s\", \"5m\" or \"1h 30m\", or a number of milliseconds.",
            "anyOf": [{ "type": "string", "pattern": "[0-9]" }, { "type": "integer", "minimum": 1 }],
        })
    }
}

/// How long results are kept for another call: a time, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheFor {
    /// Not at all.
    Off,
    /// So long.
    For(Time),
}

impl CacheFor {
    /// The time; none if nothing is kept.
    pub fn time(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::For(time) => Some(time.get()),
        }
    }
}

impl fmt::Display for CacheFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::For(time) => time.fmt(f),
        }
    }
}

const CACHE_FOR: &str = "a time such as \"10m\", a number of milliseconds, or off";

impl FromStr for CacheFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" | "0" => Ok(Self::Off),
            time => {
                let time = time.parse().map(Self::For);
                time.map_err(|_| format!("must be {CACHE_FOR}, is {text:?}"))
            }
        }
    }
}

impl Serialize for CacheFor {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CacheFor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Times;
        impl Visitor<'_> for Times {
            type Value = CacheFor;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(CACHE_FOR)
            }

            fn visit_bool<E: Error>(self, is_on: bool) -> Result<CacheFor, E> {
                match is_on {
                    // How long, it does not say.
                    true => Err(E::invalid_value(Unexpected::Bool(true), &self)),
                    false => Ok(CacheFor::Off),
                }
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<CacheFor, E> {
                let time = Time::some(Duration::from_millis(number));
                Ok(time.map_or(CacheFor::Off, CacheFor::For))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<CacheFor, E> {
                text.parse()
                    .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        from.deserialize_any(Times)
    }
}

impl JsonSchema for CacheFor {
    fn schema_name() -> Cow<'static, str> {
        "CacheFor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How long: a time such as \"10m\", a number of milliseconds, or \"off\".",
            "anyOf": [
                { "type": "string", "pattern": "[0-9]|off" },
                { "type": "integer", "minimum": 0 },
                { "const": false },
            ],
        })
    }
}

/// Names: a list, or a text with commas between them (ai-agent).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Names(pub Vec<String>);

/// Models in the order in which they are asked: `provider/model` pairs in a list,
/// or in a text with commas between them (ai-agent).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Models(pub Vec<Target>);

fn parts(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(',').map(str::trim);
    parts.filter(|part| !part.is_empty())
}

impl FromStr for Names {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(parts(text).map(str::to_owned).collect()))
    }
}

impl FromStr for Models {
    type Err = spillgate_llm::TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parts(text)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// What both are read by.
struct List<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de> + FromStr<Err: fmt::Display>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list, or a text with commas")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        let parsed: Result<Vec<T>, T::Err> = parts(text).map(str::parse).collect();
        parsed.map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(all)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(List(std::marker::PhantomData))
            .map(Self)
    }
}

impl<'de> Deserialize<'de> for Models {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(List(std::marker::PhantomData))
            .map(Self)
    }
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A list, or a text with commas.",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}

impl JsonSchema for Models {
    fn schema_name() -> Cow<'static, str> {
        "Models".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`provider/model`, a list of them, or a text with commas; the next one answers where one fails.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string", "pattern": "[^/]/." } },
            ],
        })
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
            "description": "A number of bytes: a number, or a text such as \"10 MiB\".",
            "anyOf": [{ "type": "string", "pattern": "[0-9]" }, { "type": "integer", "minimum": 0 }],
        })
    }
}
