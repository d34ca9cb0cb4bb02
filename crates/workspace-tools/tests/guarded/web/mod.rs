//! Tests for `web_fetch` and `web_search` against a local server.

mod fetch;
mod save;
mod search;
pub(crate) mod server;

use std::path::Path;

use serde_json::Value;
use spillgate_web::{FetchSettings, Fetcher};
use spillgate_workspace_tools::{Body, Rules, ToolResult, Workspace, WorkspaceTools};

use server::Server;

/// Rules that allow fetching from the server.
pub(crate) fn rules(server: &Server) -> Rules {
    let settings = FetchSettings {
        allowed: vec![server.address.to_string()],
        ..FetchSettings::default()
    };
    Rules {
        web: Some(Fetcher::new(settings)),
        ..Rules::default()
    }
}

fn tools(root: &Path, rules: Rules) -> WorkspaceTools {
    WorkspaceTools::new(Workspace::open(root).unwrap(), rules)
}

async fn answer(tools: &WorkspaceTools, name: &str, arguments: &Value) -> ToolResult {
    tools
        .call(name, arguments.as_object().unwrap().clone())
        .await
}

/// Returns the text of a call's answer.
async fn call(tools: &WorkspaceTools, name: &str, arguments: &Value) -> String {
    let answer = answer(tools, name, arguments).await;
    let Body::Text(text) = answer.body else {
        panic!("{name} gave more than the limit");
    };
    assert!(text.len() as u64 / 4 <= spillgate_workspace_tools::MAX_TOKENS);
    assert_eq!(text.starts_with("Error: "), answer.is_error, "{text}");
    text
}
