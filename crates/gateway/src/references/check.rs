//! Checks inserted values against the tool's schema and converts them where possible.
//!
//! If the schema does not accept a text, the text is replaced by the JSON that it contains, if any.
//! If the schema requires a string, JSON is replaced by its text. If the arguments are still
//! invalid, the error names the place.

use std::ops::Range;

#[cfg(feature = "references")]
use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};
use spillgate_mcp::ByteEdits;
use spillgate_text::clip;
#[cfg(feature = "references")]
use spillgate_untrusted::line;

/// Maximum length of an error message about an untrusted schema, in characters.
const LONGEST: usize = 200;

/// Maximum number of problems that an error reports.
const MOST_TOLD: usize = 3;

/// A value that is inserted into the arguments.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) span: Range<usize>,
    /// The place of the value in the arguments, as a JSON pointer.
    pub(super) path: String,
    /// The value, as JSON.
    pub(super) value: String,
}

/// Returns the arguments with the values inserted, converted where the schema requires it.
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
    // The converted values have problems, too, so report the problems of the unconverted values.
    match self::problems(&validator, &other).is_empty() {
        true => Ok(other),
        false => Err(wrong(&problems)),
    }
}

/// Converts a value to the other form: a text to the JSON that it contains, or JSON to its text.
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

/// A build without the feature `references` compiles no schema.
#[cfg(not(feature = "references"))]
enum Validator {}

#[cfg(not(feature = "references"))]
fn validator(_: &str) -> Option<Validator> {
    None
}

#[cfg(not(feature = "references"))]
fn problems(validator: &Validator, _: &[u8]) -> Vec<(String, String)> {
    match *validator {}
}

/// Compiles an untrusted schema. Nothing is fetched, and patterns run in linear time. `None` if the
/// schema is not valid; the server must then check the arguments.
#[cfg(feature = "references")]
fn validator(schema: &str) -> Option<Validator> {
    let schema: Value = serde_json::from_str(schema).ok()?;
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    let built = options.build(&schema);
    if let Err(error) = &built {
        let error = clip(&error.masked().to_string(), LONGEST);
        tracing::debug!(
            error,
            "a tool's input schema cannot be compiled: arguments with references are not checked against it"
        );
    }
    built.ok()
}

/// Returns the place and the description of each problem, without the value itself.
#[cfg(feature = "references")]
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
