//! The parameters of a query string, read by the schema that also documents them.

use form_urlencoded::parse;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Parameters of a query string: a struct whose members are numbers, flags and texts.
pub(crate) trait Parameters: JsonSchema + Serialize {}

impl<T: JsonSchema + Serialize> Parameters for T {}

/// Maximum characters of a parameter that an error quotes.
const LONGEST_QUOTED: usize = 60;

/// A request without parameters.
#[derive(Debug, Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParameters {}

/// Parses a query string. The errors name the parameter.
pub(crate) fn parsed<T: Parameters + DeserializeOwned>(query: &str) -> Result<T, Problem> {
    let schema = SchemaGenerator::default().root_schema_for::<T>();
    let mut members = Map::new();
    for (name, text) in parse(query.as_bytes()) {
        let Some(kinds) = kinds(&schema, &name) else {
            return Err(unknown(&schema, &name));
        };
        let value = value(&kinds, &text).ok_or_else(|| {
            let kind = kinds.first().map_or("text", String::as_str);
            let kind = match kind {
                "integer" => "a whole number from 0 on",
                "boolean" => "true or false",
                other => other,
            };
            Problem::bad(format!("`{name}` must be {kind}, not `{}`", quoted(&text)))
        })?;
        if members.insert(name.to_string(), value).is_some() {
            return Err(Problem::bad(format!("`{name}` is there twice")));
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !members.contains_key(*name)) {
        return Err(Problem::bad(format!("`{missing}` is missing")));
    }
    serde_json::from_value(Value::Object(members))
        .map_err(|error| Problem::bad(format!("a parameter is wrong: {error}")))
}

/// Returns the types that a parameter can have; `None` if there is no such parameter.
fn kinds(schema: &Schema, name: &str) -> Option<Vec<String>> {
    let kind = schema.get("properties")?.get(name)?.get("type")?;
    Some(match kind {
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .filter(|kind| *kind != "null")
            .map(str::to_owned)
            .collect(),
        kind => vec![kind.as_str()?.to_owned()],
    })
}

fn value(kinds: &[String], text: &str) -> Option<Value> {
    let is = |kind: &str| kinds.iter().any(|one| one == kind);
    if is("integer") {
        return text.parse::<u64>().ok().map(Value::from);
    }
    if is("boolean") {
        return match text {
            "true" | "1" | "" => Some(true.into()),
            "false" | "0" => Some(false.into()),
            _ => None,
        };
    }
    Some(text.into())
}

fn unknown(schema: &Schema, name: &str) -> Problem {
    let known = schema.get("properties").and_then(Value::as_object);
    let known: Vec<String> = known
        .into_iter()
        .flatten()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let problem = Problem::bad(format!("there is no parameter `{}`", quoted(name)));
    match known.is_empty() {
        true => problem.hint("this path takes no parameters"),
        false => problem.hint(format!("there are {}", known.join(", "))),
    }
}

/// Returns a caller's text, shortened for an error.
fn quoted(given: &str) -> String {
    given.chars().take(LONGEST_QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use insta::assert_snapshot;

    use super::*;
    use crate::lookups::ReadParameters;

    #[tokio::test]
    async fn parameters_are_read_by_their_schema() {
        let mut all = Vec::new();
        for query in [
            "",
            "start=3&lines=40&tail=true",
            "path=.a%5B0%5D+b&bytes=0..9",
            "start=-1",
            "start=x",
            "tail=maybe",
            "start=1&start=2",
            "strat=1",
        ] {
            all.push(match parsed::<ReadParameters>(query) {
                Ok(read) => serde_json::to_string(&read).unwrap(),
                Err(problem) => {
                    let body = problem.into_response().into_body();
                    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                    let problem: Value = serde_json::from_slice(&body).unwrap();
                    format!("{} {}", problem["detail"], problem["hint"])
                }
            });
        }
        assert_snapshot!(all.join("\n"), @r#"
        {}
        {"start":3,"lines":40,"tail":true}
        {"path":".a[0] b","bytes":"0..9"}
        "`start` must be a whole number from 0 on, not `-1`" null
        "`start` must be a whole number from 0 on, not `x`" null
        "`tail` must be true or false, not `maybe`" null
        "`start` is there twice" null
        "there is no parameter `strat`" "there are `bytes`, `lines`, `max_tokens`, `path`, `start`, `tail`"
        "#);
    }
}
