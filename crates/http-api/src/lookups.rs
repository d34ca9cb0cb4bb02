//! Look-ups in a stored result: the parameters and the texts are those of the look-up tools.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use spillgate_artifact::TokenBudget;
use spillgate_outline::DEFAULT_TOKENS;
use spillgate_retrieval::{GREP, QUERY, READ, SEARCH};

use crate::answer::{Text, json};
use crate::call::Call;
use crate::parameters::Parameters;
use crate::problem::Problem;

/// The parameters of a read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadParameters {
    /// The path of a string in a JSON document, whose text is read; the default is the whole result.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The first line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    /// The number of lines; the default is as many as the budget allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    /// Whether to read the last lines instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    tail: Option<bool>,
    /// A range of bytes `A..B` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    /// Maximum tokens of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
}

/// The parameters of a search by pattern.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrepParameters {
    /// A regular expression.
    pattern: String,
    /// The path of a string in a JSON document, whose text is searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_case: Option<bool>,
    /// Lines to show before each matching line.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    /// Lines to show after each matching line.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    /// The line at which to begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    /// Maximum number of matching lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_matches: Option<u64>,
    /// Maximum tokens of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
}

/// The parameters of a filter.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryParameters {
    /// A jq filter, for JSON, JSON lines, CSV and TSV.
    filter: String,
    /// The first result to show, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    /// The byte at which to begin within that result.
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    /// Whether strings are shown without quotes and escapes.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<bool>,
    /// Maximum tokens of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
}

/// The parameters of a search by words.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchParameters {
    /// Words, or a question.
    words: String,
    /// The path of a string in a JSON document, whose text is searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Maximum tokens of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
}

/// The parameters of an outline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutlineParameters {
    /// Maximum tokens of the outline.
    max_tokens: Option<u64>,
}

/// The shape of a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutlineAnswer {
    /// The stored result.
    handle: String,
    /// The kind of its content.
    kind: String,
    /// The lines of the outline; empty if no shape was recognized.
    lines: Vec<String>,
}

pub(crate) async fn read(call: Call) -> Result<Response<Body>, Problem> {
    looked_up::<ReadParameters>(call, READ).await
}

pub(crate) async fn grep(call: Call) -> Result<Response<Body>, Problem> {
    looked_up::<GrepParameters>(call, GREP).await
}

pub(crate) async fn query(call: Call) -> Result<Response<Body>, Problem> {
    looked_up::<QueryParameters>(call, QUERY).await
}

pub(crate) async fn search(call: Call) -> Result<Response<Body>, Problem> {
    looked_up::<SearchParameters>(call, SEARCH).await
}

/// Calls a look-up tool with the parameters as its arguments.
async fn looked_up<T: Parameters + DeserializeOwned>(
    call: Call,
    tool: &'static str,
) -> Result<Response<Body>, Problem> {
    let handle = call.handle()?;
    let parameters: T = call.parameters()?;
    let mut arguments = serde_json::to_value(&parameters).unwrap_or_default();
    arguments["handle"] = handle.to_string().into();
    let arguments = RawValue::from_string(arguments.to_string());
    let arguments = arguments.map_err(|error| Problem::ours("internal", error.to_string()))?;
    let work = call.api.clone().work(move |api, wait| {
        let shown = api.tools.answer(tool, Some(&arguments), wait)?;
        Ok(Text::of(handle, &shown))
    });
    Ok(work.await?.respond(&call))
}

pub(crate) async fn outline(call: Call) -> Result<Response<Body>, Problem> {
    let handle = call.handle()?;
    let asked: OutlineParameters = call.parameters()?;
    let asked = asked.max_tokens.filter(|&tokens| tokens > 0);
    let page = call.api.tools.page.get();
    let budget = TokenBudget::new(asked.unwrap_or(DEFAULT_TOKENS).min(page));
    let work = call.api.clone().work(move |api, wait| {
        let offloader = api.tools.offloader.within(wait);
        let lines = offloader.outline(handle, budget)?;
        let kind = offloader.store().manifest(handle)?.facts.stats.kind;
        Ok(OutlineAnswer {
            handle: handle.to_string(),
            kind: kind.to_string(),
            lines,
        })
    });
    Ok(json(StatusCode::OK, &work.await?))
}
