//! The report of a session, and how the session ended.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillgate_llm::{ToolCall, Usage};

use crate::schema::{clipped, faults};
use crate::settings::Format;

/// Where a report comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The model called `agent__final_report`.
    Tool,
    /// The model wrote the report between the tags of the wrapper
    /// ([`spillgate_conversation::Slot`]).
    Wrapper,
    /// The model wrote no report. This report says what is known about the session.
    Synthetic,
}

/// The report of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// `text`, `markdown` or `json`.
    pub format: Cow<'static, str>,
    /// The text of the report.
    pub content: String,
    /// The source of the report.
    pub source: Source,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "status", content = "why")]
pub enum Ending {
    /// The model delivered a report.
    Success,
    /// The model delivered no report: it wrote none within its turns, refused, or could not be
    /// asked.
    Failed(String),
    /// The session was cancelled.
    Cancelled,
    /// The session exceeded its time limit.
    TimedOut,
    /// A limit of the whole run was reached: requests, tokens or cost.
    UsedUp(String),
}

/// The result of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// How the session ended.
    pub ending: Ending,
    /// The report of the session. It is synthetic unless the model wrote one.
    pub report: Report,
    /// Total tokens and cost of all replies of the model.
    pub usage: Usage,
    /// How often the model was asked.
    pub turns: u32,
}

impl Report {
    /// Reads the report in a call of `agent__final_report`. The error is written for the model.
    pub(crate) fn called(call: &ToolCall, format: &Format) -> Result<Self, String> {
        let arguments: Value = serde_json::from_str(&call.arguments)
            .map_err(|error| format!("The arguments are not JSON: {error}."))?;
        // Models use the name from the schema or a shorter one.
        let given = ["content_json", "report_content", "content", "report"];
        let given = given.iter().find_map(|key| arguments.get(*key));
        let Some(given) = given.filter(|given| !is_blank(given)) else {
            return Err("The report is empty.".to_owned());
        };
        let content = match (format, given) {
            (Format::Json(_), Value::String(text)) => text.clone(),
            (_, Value::String(text)) => text.trim().to_owned(),
            (_, value) => value.to_string(),
        };
        Self::checked(content, format, Source::Tool)
    }

    /// Reads the report that the model wrote into the wrapper. The error is written for the model.
    pub(crate) fn written(content: String, format: &Format) -> Result<Self, String> {
        Self::checked(content, format, Source::Wrapper)
    }

    /// Creates a report from what is known when the model wrote none. `said` is the model's last
    /// text.
    pub(crate) fn synthetic(why: &str, said: Option<&str>, format: &Format) -> Self {
        let said = said.filter(|said| !said.trim().is_empty());
        let why = why.trim_end_matches('.');
        let content = match format {
            Format::Json(_) => {
                serde_json::json!({"status": "failure", "why": why, "said": said}).to_string()
            }
            Format::Text | Format::Markdown => match said {
                Some(said) => format!("No final report: {why}. The model's last words:\n\n{said}"),
                None => format!("No final report: {why}."),
            },
        };
        Self {
            format: format.name().into(),
            content,
            source: Source::Synthetic,
        }
    }

    fn checked(content: String, format: &Format, source: Source) -> Result<Self, String> {
        let content = match format {
            Format::Text | Format::Markdown => content,
            Format::Json(schema) => json(&content, schema.as_ref())?,
        };
        Ok(Self {
            format: format.name().into(),
            content,
            source,
        })
    }
}

fn is_blank(given: &Value) -> bool {
    match given {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

/// Parses and checks the JSON value in `content`, which may be enclosed in a code fence.
fn json(content: &str, schema: Option<&Value>) -> Result<String, String> {
    let text = content.trim();
    let fenced = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|text| text.strip_suffix("```"));
    let value: Value = serde_json::from_str(fenced.unwrap_or(text))
        .map_err(|error| format!("The report is not JSON: {error}."))?;
    if let Some(schema) = schema {
        let validator = jsonschema::validator_for(schema)
            .map_err(|error| clipped(&error.to_string()))
            .map_err(|error| format!("The schema of the report is broken: {error}."))?;
        if let Some(faults) = faults(&validator, &value) {
            return Err(format!("The report is not of its schema: {faults}."));
        }
    }
    Ok(value.to_string())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_are_taken_as_meant_and_checked() {
        let schema =
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let cases = [
            (
                Format::Text,
                r#"{"report_format":"text","report_content":" all well \n"}"#,
            ),
            (Format::Text, r#"{"content":{"a":1}}"#),
            (Format::Markdown, r#"{"report_content":""}"#),
            (Format::Markdown, r#"{"report_content": "A"#),
            (Format::Json(None), r#"{"content_json":[1,2]}"#),
            (
                Format::Json(None),
                r#"{"report_content":"```json\n{\"a\":1}\n```"}"#,
            ),
            (
                Format::Json(Some(schema.clone())),
                r#"{"content_json":{"n":1.5}}"#,
            ),
            (Format::Json(Some(schema)), r#"{"content_json":{"n":1}}"#),
        ];
        let told = cases.map(|(format, arguments)| {
            let call = ToolCall {
                id: String::new(),
                name: String::new(),
                arguments: arguments.to_owned(),
            };
            match Report::called(&call, &format) {
                Ok(report) => format!("{}: {}", report.format, report.content),
                Err(error) => error,
            }
        });
        assert_snapshot!(told.join("\n"), @r#"
        text: all well
        text: {"a":1}
        The report is empty.
        The arguments are not JSON: EOF while parsing a string at line 1 column 21.
        json: [1,2]
        json: {"a":1}
        The report is not of its schema: 1.5 is not of type "integer" at '/n'.
        json: {"n":1}
        "#);
    }
}
