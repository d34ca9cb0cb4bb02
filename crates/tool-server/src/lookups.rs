//! The MCP server of the tools that read stored outputs.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use spillgate_retrieval::{Extraction, definitions};

use crate::guarded::{LookupTools, looking, progress};
use crate::{ToolsError, stdio};

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
