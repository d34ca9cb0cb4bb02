//! Tests that call the workspace tools as a client does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod escapes;
mod execute_shell;
mod glob_files;
mod grep_content;
mod grep_pages;
mod read_file;
mod recovery;
mod tree;
mod web;

use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;
use spillgate_workspace_tools::{Body, MAX_TOKENS, Rules, Workspace, WorkspaceTools};
use tokio::runtime::Runtime;

/// Creates the tools below `root` with the default rules.
fn tools(root: &Path) -> WorkspaceTools {
    WorkspaceTools::new(Workspace::open(root).unwrap(), Rules::default())
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Makes a call. Returns its text, which must be within the limit, and whether it is an error.
fn call(tools: &WorkspaceTools, name: &str, arguments: &Value) -> (String, bool) {
    let arguments = arguments.as_object().unwrap().clone();
    let answer = RUNTIME.block_on(tools.call(name, arguments));
    let Body::Text(text) = answer.body else {
        panic!("{name} gave more than the limit");
    };
    assert!(text.len() as u64 / 4 <= MAX_TOKENS);
    assert_eq!(text.starts_with("Error: "), answer.is_error, "{text}");
    (text, answer.is_error)
}
