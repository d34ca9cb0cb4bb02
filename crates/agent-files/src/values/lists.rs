//! Types of settings whose values are lists of names or of models.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use spillgate_llm::Target;

/// Names: a list, or a text with commas as in ai-agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Names(pub Vec<String>);

/// Models in order of preference: a list of `provider/model`, or a text with commas as in ai-agent.
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

/// The visitor that deserializes [`Names`] and [`Models`].
struct List<T>(PhantomData<T>);

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
        from.deserialize_any(List(PhantomData)).map(Self)
    }
}

impl<'de> Deserialize<'de> for Models {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(List(PhantomData)).map(Self)
    }
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A list, or a text in which commas separate the names.",
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
            "description": "`provider/model`, a list of them, or a text in which commas separate them. If a model fails, the next one is asked.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string", "pattern": "[^/]/." } },
            ],
        })
    }
}
