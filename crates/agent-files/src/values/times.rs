//! Types of settings whose values are durations, or times for which results are cached.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration above 0: a text such as `30s` or `5m`, or a number of milliseconds as in ai-agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(Duration);

impl Time {
    /// Returns the duration, which is never 0.
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

/// How long results are kept for repeated calls: a duration, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheFor {
    /// Results are not kept.
    Off,
    /// Results are kept for this duration.
    For(Time),
}

impl CacheFor {
    /// Returns the duration; `None` if results are not kept.
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
                    // `true` is refused, because it does not say how long results are kept.
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
            "description": "A time such as \"10m\", a number of milliseconds, or \"off\".",
            "anyOf": [
                { "type": "string", "pattern": "[0-9]|off" },
                { "type": "integer", "minimum": 0 },
                { "const": false },
            ],
        })
    }
}
