//! Lists, describes and removes stored results.

use std::ops::ControlFlow;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spillgate_artifact::Handle;
use spillgate_store::{Gone, Listed, StoreError};

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
    let store = api.tools.offloader.store();
    let mut before = match &asked.before {
        None => None,
        Some(before) => Some(
            before
                .parse::<Handle>()
                .map_err(|_| Problem::bad("`before` is no handle"))?,
        ),
    };
    if let Some(handle) = before
        && matches!(store.manifest(handle), Err(StoreError::Absent { .. }))
    {
        return Err(gone(handle));
    }
    let most = asked.limit.filter(|&limit| limit > 0).unwrap_or(PAGE);
    let most = usize::try_from(most.min(MOST)).unwrap_or(usize::MAX);
    let mut page: Vec<Listed> = Vec::new();
    let mut has_more = false;
    store.newest(&mut |one| {
        let tool = &one.manifest.facts.origin.tool;
        if let Some(handle) = before {
            if one.manifest.handle == handle {
                before = None;
            }
        } else if asked.tool.as_ref().is_none_or(|part| tool.contains(part)) {
            has_more = page.len() == most;
            if has_more {
                return ControlFlow::Break(());
            }
            page.push(one);
        }
        ControlFlow::Continue(())
    })?;
    if let Some(handle) = before {
        return Err(gone(handle));
    }
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
    let described = |one: &Listed| {
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

/// The answer if the result where a page begins is gone.
fn gone(handle: Handle) -> Problem {
    let detail = format!("the result {handle}, where the page begins, is gone");
    Problem::callers(StatusCode::GONE, "not_found", detail).hint("begin again without `before`")
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
