//! Does what is put in fit the tool's schema?
//!
//! A text where the schema wants something else becomes the JSON that it is, if
//! it is any; JSON where it wants a string becomes its text. What does not fit
//! then is an error that names the place.

use std::ops::Range;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};
use spillgate_mcp::ByteEdits;
use spillgate_text::clip;
use spillgate_untrusted::line;

/// Characters of a message about a schema, which a stranger wrote.
const LONGEST: usize = 200;

/// Problems that an error tells.
const MOST_TOLD: usize = 3;

/// A value for a place in the arguments.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) span: Range<usize>,
    /// As a JSON pointer.
    pub(super) path: String,
    /// JSON.
    pub(super) value: String,
}

/// The arguments with the values in their places, as the schema wants them.
pub(super) fn fitted(
    arguments: &str,
    mut given: Vec<Given>,
    schema: Option<&str>,
) -> Result<Vec<u8>, String> {
    let spliced = |given: &[Given]| {
        let mut splice = ByteEdits::default();
        for one in given {
            splice.replace(one.span.clone(), one.value.as_bytes());
        }
        splice.apply(arguments.as_bytes())
    };
    let plain = spliced(&given);
    let Some(validator) = schema.and_then(validator) else {
        return Ok(plain);
    };
    let problems = problems(&validator, &plain);
    if problems.is_empty() {
        return Ok(plain);
    }
    for one in &mut given {
        let is_meant = problems.iter().any(|(path, _)| *path == one.path);
        if let Some(other) = is_meant.then(|| otherwise(&one.value)).flatten() {
            one.value = other;
        }
    }
    let other = spliced(&given);
    // What is told is what is wrong with the plain value.
    match self::problems(&validator, &other).is_empty() {
        true => Ok(other),
        false => Err(wrong(&problems)),
    }
}

/// The same value in the other form.
fn otherwise(value: &str) -> Option<String> {
    match serde_json::from_str(value).ok()? {
        Value::String(text) => {
            let text = text.trim();
            serde_json::from_str::<Value>(text).ok()?;
            Some(text.to_owned())
        }
        _ => Some(json!(value).to_string()),
    }
}

/// What is compiled from a stranger's schema: nothing is fetched, and patterns
/// run in linear time. `None` for one that is no schema; the server will judge.
fn validator(schema: &str) -> Option<Validator> {
    let schema: Value = serde_json::from_str(schema).ok()?;
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    let built = options.build(&schema);
    if let Err(error) = &built {
        let error = clip(&error.masked().to_string(), LONGEST);
        tracing::debug!(error, "a tool's schema cannot be checked against");
    }
    built.ok()
}

/// The place of each problem and what it is, without the value itself.
fn problems(validator: &Validator, arguments: &[u8]) -> Vec<(String, String)> {
    let Ok(arguments) = serde_json::from_slice::<Value>(arguments) else {
        return vec![(String::new(), "it is nested too deeply".to_owned())];
    };
    let errors = validator.iter_errors(&arguments);
    let told = errors.map(|error| {
        let what = error.masked().to_string();
        let what = line(&what, 2 * LONGEST);
        (error.instance_path().to_string(), clip(&what, LONGEST))
    });
    told.take(100).collect()
}

fn wrong(problems: &[(String, String)]) -> String {
    let told = problems.iter().take(MOST_TOLD);
    let told: Vec<String> = told
        .map(|(path, what)| match path.as_str() {
            "" => what.clone(),
            path => format!("`{}`: {what}", clip(path, LONGEST)),
        })
        .collect();
    let more = match problems.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    format!(
        "the arguments with the references put in do not fit the tool's inputSchema: {}{more}",
        told.join("; ")
    )
}
