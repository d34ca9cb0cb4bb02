//! The MCP server of the tools that read stored outputs.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use serde_json::value::to_raw_value;
use spillgate_artifact::Interrupt;
use spillgate_extract::NoWatch;
use spillgate_retrieval::{Extraction, RetrievalTools, TOOL_OUTPUT, definitions};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, interval_at};

use crate::{ToolsError, stdio};

/// How often a client that asked for progress is notified that a call is still running.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// Maximum number of look-ups into stored outputs that run at the same time.
const LOOKUPS_AT_ONCE: usize = 4;

/// Where oversized outputs are stored, and the tools that look into them.
#[derive(Debug, Clone)]
pub struct LookupTools {
    /// Stores outputs, and answers calls of the look-up tools.
    pub tools: RetrievalTools,
    /// The names of the look-up tools that are listed.
    pub listed: Vec<&'static str>,
    /// Limits the number of look-ups that run at the same time.
    permits: Arc<Semaphore>,
}

impl LookupTools {
    /// Returns look-up tools that store outputs in the store of `tools`. `listed` names the look-up
    /// tools to list.
    #[must_use]
    pub fn new(tools: RetrievalTools, listed: Vec<&'static str>) -> Self {
        Self {
            tools,
            listed,
            permits: Arc::new(Semaphore::new(LOOKUPS_AT_ONCE)),
        }
    }
}

/// Serves the look-up tools on standard input and output until the client disconnects.
pub async fn serve_lookups(lookups: LookupTools) -> Result<(), ToolsError> {
    Box::pin(stdio::serve(Server { lookups })).await
}

/// The MCP handler of the tools.
#[derive(Debug, Clone)]
struct Server {
    lookups: LookupTools,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("spillgate", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = definitions(&self.lookups.listed, Extraction::Ours);
        Ok(ListToolsResult::with_all_items(
            all.into_iter().map(looking).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = &*request.name;
        if !self.lookups.listed.contains(&name) {
            let known = self.lookups.listed.join(", ");
            let what = format!("no tool is called {name:?}; there are {known}");
            return Err(ErrorData::invalid_params(what, None));
        }
        let answer = tokio::select! {
            answer = self.lookups.look(name, request.arguments.unwrap_or_default()) => answer,
            () = progress(&context) => unreachable!("invariant: progress has no end"),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        };
        answer.map(Into::into)
    }
}

impl LookupTools {
    /// Answers a call of a look-up tool. After the future is dropped, the call reads no further
    /// block and asks no model.
    pub(crate) async fn look(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, ErrorData> {
        let arguments = to_raw_value(&arguments).ok();
        let (tools, name) = (self.tools.clone(), name.to_owned());
        let runtime = Handle::current();
        let (_waits, gone) = oneshot::channel::<()>();
        let wait = Interrupt::default();
        let _ends = wait.on_drop();
        let _permit = self.permits.acquire().await;
        let look = move || match &*name {
            // This tool not only reads files, it also waits for a model.
            TOOL_OUTPUT => runtime.block_on(async {
                tokio::select! {
                    answer = tools.tool_output(arguments.as_deref(), &NoWatch) => answer,
                    _ = gone => String::new(), // the client no longer waits for the text
                }
            }),
            name => tools.call(name, arguments.as_deref(), &wait),
        };
        let result = spawn_blocking(look).await.unwrap_or_default();
        serde_json::from_str(&result).map_err(|_| {
            ErrorData::internal_error("the look-up broke down; this is our fault", None)
        })
    }
}

/// Converts a tool definition of `spillgate-retrieval` into rmcp's type.
pub(crate) fn looking(tool: Value) -> Tool {
    serde_json::from_value(tool).expect("invariant: our definitions are tools")
}

/// Notifies a client that asked for progress that the call is still running. Never returns.
pub(crate) async fn progress(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let begun = Instant::now();
    let mut ticks = interval_at(begun + PROGRESS_EVERY, PROGRESS_EVERY);
    loop {
        ticks.tick().await;
        let seconds = begun.elapsed().as_secs();
        let told = ProgressNotificationParam::new(token.clone(), seconds as f64)
            .with_message(format!("running for {seconds} s"));
        // An error means that the client is gone.
        drop(context.peer.notify_progress(told).await);
    }
}
