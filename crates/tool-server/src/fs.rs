//! The MCP server of `Read` and `Grep`.
//!
//! It supports both generations of the protocol: `initialize` (2025-11-25) and `server/discover`
//! (2026-07-28). If a call cannot be answered, the result has `isError`, so that the model learns
//! why.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use spillgate_artifact::{Interrupt, TokenBudget};
use spillgate_files::{FileToolResult, FileTools, Root};
use spillgate_text::TokenCounter;

use crate::ToolsError;
use crate::stdio::serve;
use tokio::sync::Semaphore;

/// Maximum number of calls that run at the same time.
const LOOKUPS_AT_ONCE: usize = 4;

/// Serves `Read` and `Grep` over `root` on standard input and output until the client
/// disconnects. An answer costs at most `budget` tokens, as `counter` counts them, and takes at
/// most `limit`.
pub async fn serve_files(
    root: Root,
    budget: TokenBudget,
    counter: Arc<dyn TokenCounter>,
    limit: Duration,
) -> Result<(), ToolsError> {
    let server = Server {
        permits: Arc::new(Semaphore::new(LOOKUPS_AT_ONCE)),
        limit,
        tools: FileTools {
            files: Arc::new(root),
            budget,
            counter,
        },
    };
    serve(server).await
}

/// The MCP handler of the two tools.
#[derive(Debug, Clone)]
struct Server {
    tools: FileTools,
    /// Limits the number of calls that run at the same time.
    permits: Arc<Semaphore>,
    /// The time limit of a call.
    limit: Duration,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("spillgate-fs", version))
            .with_instructions("Read and Grep files below one directory. Names are relative to it.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(listed()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tokio::select! {
            answer = self.answer(request) => answer,
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }
}

impl Server {
    /// Answers a call. Dropping the future stops the call at the next block of the file.
    async fn answer(&self, request: CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
        let wait = Interrupt::default();
        let _ends = wait.on_drop();
        let _permit = self.permits.acquire().await;
        let wait = wait.until_after(self.limit);
        let tools = self.tools.clone();
        let arguments = Value::Object(request.arguments.unwrap_or_default()).to_string();
        let look = move || tools.call(&request.name, &arguments, &wait);
        let called = tokio::task::spawn_blocking(look).await;
        let FileToolResult { text, is_error } = called.map_err(|error| {
            ErrorData::internal_error(format!("the call failed: {error}"), None)
        })?;
        let content = vec![ContentBlock::text(text)];
        let result = match is_error {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        };
        Ok(result.into())
    }
}

/// Returns the tools as listed to a client: read-only, and without access to anything outside the
/// root.
fn listed() -> Vec<Tool> {
    let definitions = FileTools::definitions().into_iter();
    definitions
        .map(|tool| {
            let schema = tool.schema.as_object().cloned().unwrap_or_default();
            let reads = ToolAnnotations::new().read_only(true).open_world(false);
            Tool::new(tool.name, tool.description, schema).with_annotations(reads)
        })
        .collect()
}
