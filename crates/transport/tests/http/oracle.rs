//! Tests that the official SDK's server understands our requests in both generations.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use spillgate_transport::{Connection, HttpConnection, HttpOptions};

use crate::server::{ServerEvents, open, send, serve};

#[derive(Debug, Clone)]
struct Server;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, _: &str) -> Option<Tool> {
        Some(tool())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![tool()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(CallToolResult::success(vec![ContentBlock::text(arguments.to_string())]).into())
    }
}

fn tool() -> Tool {
    let schema = json!({"type": "object", "properties": {
        "where": {"type": "string", "x-mcp-header": "Region"}}});
    Tool::new("t", "echoes", schema.as_object().unwrap().clone())
}

/// Starts a server with or without sessions, which answers with JSON or with events.
async fn rmcp_server(sessions: bool, with_json: bool) -> (HttpConnection, ServerEvents) {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(sessions)
        .with_json_response(with_json);
    let manager = std::sync::Arc::new(
        rmcp::transport::streamable_http_server::session::local::LocalSessionManager::default(),
    );
    let service = StreamableHttpService::new(|| Ok(Server), manager, config);
    let url = serve(axum::Router::new().nest_service("/mcp", service)).await;
    open(&url, HttpOptions::default())
}

/// Returns the next message for this request. Skips marks and notifications.
async fn answer(server_events: &mut ServerEvents, of: &str) -> Value {
    loop {
        let said = server_events.said().await;
        let (_, item) = said.split_once(' ').unwrap();
        let (_, item) = item.split_once(' ').unwrap();
        let Ok(value) = serde_json::from_str::<Value>(item) else {
            assert!(item.starts_with("mark"), "{said}");
            continue;
        };
        if value.get("result").is_some() || value.get("error").is_some() {
            assert!(said.starts_with(&format!("{of} ")), "{said}");
            return value;
        }
    }
}

#[tokio::test]
async fn the_generation_with_sessions() {
    for with_json in [false, true] {
        let (link, mut server_events) = rmcp_server(true, with_json).await;
        send(&link, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#).await;
        let initialized = answer(&mut server_events, "0").await;
        assert_eq!(initialized["result"]["protocolVersion"], "2025-11-25");
        send(
            &link,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        )
        .await;
        link.listen(None).await.unwrap();
        send(&link, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
        assert_eq!(
            answer(&mut server_events, "1").await["result"]["tools"][0]["name"],
            "t"
        );
        send(&link, r#"{"jsonrpc":"2.0","id":"ä","method":"tools/call","params":{"name":"t","arguments":{"where":"Köln"}}}"#).await;
        let called = answer(&mut server_events, "\"ä\"").await;
        assert_eq!(
            called["result"]["content"][0]["text"],
            r#"{"where":"Köln"}"#
        );
        link.close(false).await;
    }
}

#[tokio::test]
async fn the_generation_without() {
    for (sessions, with_json) in [(false, true), (false, false), (true, false)] {
        let (link, mut server_events) = rmcp_server(sessions, with_json).await;
        let request = |id: u32, method: &str, params: Value| {
            let mut params = params;
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
        };
        send(&link, &request(1, "server/discover", json!({}))).await;
        let discovered = answer(&mut server_events, "1").await;
        assert!(
            discovered["result"]["supportedVersions"].is_array(),
            "{discovered}"
        );
        send(&link, &request(2, "tools/list", json!({}))).await;
        assert_eq!(
            answer(&mut server_events, "2").await["result"]["tools"][0]["name"],
            "t"
        );
        let call = json!({"name": "t", "arguments": {"where": "Köln"}});
        send(&link, &request(3, "tools/call", call)).await;
        let called = answer(&mut server_events, "3").await;
        assert_eq!(
            called["result"]["content"][0]["text"], r#"{"where":"Köln"}"#,
            "{called}"
        );
        link.close(false).await;
    }
}
