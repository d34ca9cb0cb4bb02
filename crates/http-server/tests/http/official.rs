//! Tests that the official Rust SDK's client understands the server, in both generations.

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::json;

use crate::fake::Event;
use crate::running::{Running, http};

async fn speak(front: &Running, lifecycle: ClientLifecycleMode) {
    let config = StreamableHttpClientTransportConfig::with_uri(front.url());
    let transport = StreamableHttpClientTransport::with_client(http(), config);
    let client = ().serve_with_lifecycle(transport, lifecycle).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, "echo");
    for tool in ["echo", "noisy", "lines"] {
        let arguments = json!({"text": tool}).as_object().unwrap().clone();
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = client.call_tool(call).await.unwrap();
        if tool != "lines" {
            assert_eq!(result.content[0].as_text().unwrap().text, tool);
        }
    }
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn with_sessions() {
    let front = Running::usual().await;
    speak(&front, ClientLifecycleMode::Initialize).await;
    front
        .log
        .until(|event| *event == Event::Listened(0, None))
        .await;
    front
        .log
        .until(|event| *event == Event::Closed(0, false))
        .await;
    assert!(!front.log.events().contains(&Event::Session(1)));
}

#[tokio::test]
async fn without_sessions() {
    let front = Running::usual().await;
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    speak(&front, ClientLifecycleMode::Discover { preferred_versions }).await;
    let events = front.log.events();
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Session(_))),
        "{events:?}"
    );
}
