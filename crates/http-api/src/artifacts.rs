//! Lists, describes and removes stored results.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spillgate_artifact::Handle;
use spillgate_store::{Gone, Listed};

use crate::answer::with_type;
use crate::call::Call;
use crate::offload::in_path;
use crate::parameters::NoParameters;
use crate::problem::Problem;
use crate::{Api, PREFIX};

/// Number of results on a page of the list, if the caller gives no number.
const PAGE: u64 = 100;

/// Maximum number of results on a page of the list.
const MOST: u64 = 1000;

/// The parameters of the list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParameters {
    /// Maximum number of results: 100 unless set, at most 1000.
    limit: Option<u64>,
    /// Only results that are older than the one with this handle; `next` of a page gives it.
    before: Option<String>,
    /// Only results of tools whose name contains this text.
    tool: Option<String>,
}

/// A page of the list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListAnswer {
    /// The results, newest first: the manifest of each, when it was last used, and the bytes that it
    /// takes.
    artifacts: Vec<Value>,
    /// The path of the next page; missing on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(crate) async fn list(call: Call) -> Result<Response<Body>, Problem> {
    let asked: ListParameters = call.parameters()?;
    call.api.work(move |api, _| listed(api, &asked)).await
}

fn listed(api: &Api, asked: &ListParameters) -> Result<Response<Body>, Problem> {
    let mut all = api.tools.offloader.store().survey()?.listed;
    if let Some(before) = &asked.before {
        let handle: Handle = before
            .parse()
            .map_err(|_| Problem::bad("`before` is no handle"))?;
        let at = all.iter().position(|one| one.manifest.handle == handle);
        let at = at.ok_or_else(|| {
            let detail = format!("the result {handle}, where the page begins, is gone");
            Problem::callers(StatusCode::GONE, "not_found", detail)
                .hint("begin again without `before`")
        })?;
        all.truncate(at);
    }
    if let Some(part) = &asked.tool {
        all.retain(|one| one.manifest.facts.origin.tool.contains(part));
    }
    let most = asked.limit.filter(|&limit| limit > 0).unwrap_or(PAGE);
    let most = usize::try_from(most.min(MOST)).unwrap_or(usize::MAX);
    let page: Vec<&Listed> = all.iter().rev().take(most).collect();
    let has_more = all.len() > page.len();
    let last = page.last().filter(|_| has_more);
    let next = last.map(|last| {
        let tool = asked.tool.as_ref().map(|tool| {
            let tool: String = form_urlencoded::byte_serialize(tool.as_bytes()).collect();
            format!("&tool={tool}")
        });
        let before = in_path(last.manifest.handle);
        let tool = tool.unwrap_or_default();
        format!("{PREFIX}/artifacts?before={before}&limit={most}{tool}")
    });
    let described = |one: &&Listed| {
        let mut object = serde_json::to_value(&one.manifest).unwrap_or_default();
        object["used"] = json!(one.used);
        object["stored_bytes"] = json!(one.bytes);
        object
    };
    let answer = ListAnswer {
        artifacts: page.iter().map(described).collect(),
        next,
    };
    Ok(marked(api, &json!(answer)))
}

pub(crate) async fn manifest(call: Call) -> Result<Response<Body>, Problem> {
    let handle = call.handle()?;
    let NoParameters {} = call.parameters()?;
    let work = call.api.work(move |api, _| {
        let manifest = api.tools.offloader.store().manifest(handle)?;
        Ok(marked(api, &json!(manifest)))
    });
    work.await
}

pub(crate) async fn remove(call: Call) -> Result<Response<Body>, Problem> {
    let handle = call.handle()?;
    let NoParameters {} = call.parameters()?;
    let work = call.api.work(move |api, _| {
        let (store, clock) = (api.tools.offloader.store(), api.tools.offloader.clock());
        store.remove(handle, Gone::Removed, clock.now())?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    });
    work.await
}

/// Returns a response in JSON with marks in place of secrets, which the arguments of a call can
/// contain.
fn marked(api: &Api, value: &Value) -> Response<Body> {
    let text = value.to_string();
    let text = api.tools.offloader.redacted(&text).into_owned();
    with_type("application/json", text.into_bytes())
}
