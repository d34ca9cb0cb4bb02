//! Checks `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` against the body (SEP-2243).

use std::borrow::Cow;

use axum::http::HeaderMap;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::post_body::{Params, text};

const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
/// The prefix of headers that repeat a tool's argument.
pub(crate) const PARAM: &str = "mcp-param-";

/// Returns the only value of a header. Fails if there are several values, because an intermediary
/// may have used another one.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(format!("there are several {name} headers"));
    }
    let text = value.to_str();
    text.map(Some)
        .map_err(|_| format!("the {name} header has characters that it cannot have"))
}

/// Decodes the value of a header: plain text, or Base64 between `=?base64?` and `?=`.
fn decoded<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, String> {
    let inner = value
        .strip_prefix("=?base64?")
        .and_then(|value| value.strip_suffix("?="));
    let Some(inner) = inner else {
        return Ok(value.into());
    };
    let bytes = BASE64_STANDARD.decode(inner).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Cow::Owned)
        .ok_or_else(|| format!("the {name} header is no Base64 of a text"))
}

pub(crate) fn check_method(headers: &HeaderMap, method: &str) -> Result<(), String> {
    match header(headers, METHOD)? {
        None => Err("missing required Mcp-Method header".to_owned()),
        Some(named) if named != method => Err(format!(
            "Mcp-Method header `{named}` does not match the body's method"
        )),
        Some(_) => Ok(()),
    }
}

pub(crate) fn check_name(
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
) -> Result<(), String> {
    let member = match method {
        "tools/call" | "prompts/get" => params.name,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => params.uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.task,
        _ => None,
    };
    let Some(expected) = text(member) else {
        return Ok(());
    };
    match header(headers, NAME)? {
        None => Err(format!("missing required Mcp-Name header for `{method}`")),
        Some(raw) if decoded("Mcp-Name", raw)? != expected => Err(format!(
            "Mcp-Name header `{raw}` does not match what the body names"
        )),
        Some(_) => Ok(()),
    }
}

/// Checks the arguments that `schema` marks with `x-mcp-header`: each must have a header with the
/// same value.
pub(crate) fn check_params(
    headers: &HeaderMap,
    schema: Option<&Value>,
    arguments: Option<&RawValue>,
) -> Result<(), String> {
    for name in headers.keys().map(axum::http::HeaderName::as_str) {
        if name.starts_with(PARAM)
            && let Some(value) = header(headers, name)?
        {
            decoded(name, value)?;
        }
    }
    let Some(schema) = schema else {
        return Ok(());
    };
    let arguments = arguments.and_then(|json| serde_json::from_str(json.get()).ok());
    check_properties(headers, schema, arguments.as_ref())
}

fn check_properties(
    headers: &HeaderMap,
    schema: &Value,
    arguments: Option<&Value>,
) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (property, schema) in properties.into_iter().flatten() {
        let argument = arguments.and_then(|arguments| arguments.get(property));
        let marked = schema.get("x-mcp-header").and_then(Value::as_str);
        if let Some(marked) = marked.filter(|marked| !marked.is_empty()) {
            check_argument(headers, marked, argument)?;
        }
        check_properties(headers, schema, argument)?;
    }
    Ok(())
}

fn check_argument(
    headers: &HeaderMap,
    marked: &str,
    argument: Option<&Value>,
) -> Result<(), String> {
    let name = format!("{PARAM}{marked}");
    let expected = match argument {
        Some(Value::String(text)) => Some(text.clone()),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => Some(value.to_string()),
        _ => None,
    };
    match (header(headers, &name)?, expected) {
        (Some(_), None) => Err(format!("unexpected {name} header: its argument is absent")),
        (None, Some(_)) => Err(format!("missing required {name} header")),
        (Some(raw), Some(expected)) if decoded(&name, raw)? != expected => {
            Err(format!("{name} header does not match its argument"))
        }
        _ => Ok(()),
    }
}
