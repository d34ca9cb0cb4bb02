//! An MCP server that implements every feature of the protocol.
//!
//! The official conformance suite asks a server for fixtures by name (`test_simple_text`,
//! `test://static-text`, …). This server offers all of them and is built on the official Rust SDK.
//! Conformance is compared with and without the gateway for two servers: this one, and one built on
//! the Python SDK. With its tools `echo`, `big` and `slow` it also serves the load test.
//!
//! ```text
//! everything           speaks on stdin and stdout
//! everything --http    serves http://127.0.0.1:<free port>/mcp, says so on stdout, ends with stdin
//! ```

mod handler;
mod prompts;
mod resources;
mod rounds;
mod tasks;
mod tools;

use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use axum::serve::ListenerExt;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::handler::Everything;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let transport = rmcp::transport::stdio();
            Everything::new().serve(transport).await?.waiting().await?;
            Ok(())
        }
        ["--http"] => http().await,
        _ => bail!("usage: everything [--http]"),
    }
}

async fn http() -> Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_sse_retry(Some(Duration::from_millis(100)))
        // By-reference arguments can make requests large.
        .with_max_request_body_bytes(64 << 20);
    // One instance for all sessions: a change in one session notifies subscribers in every other.
    let everything = Everything::new();
    let service = StreamableHttpService::new(
        move || Ok(everything.clone()),
        LocalSessionManager::default().into(),
        config,
    );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // Without TCP_NODELAY, a response written in two parts would wait 40 ms for the client's kernel
    // to confirm the first part.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "listening on http://{address}/mcp")?;
    stdout.flush()?;
    drop(stdout);
    let router = axum::Router::new().nest_service("/mcp", service);
    tokio::select! {
        served = axum::serve(listener, router) => Ok(served?),
        () = parent_is_gone() => Ok(()),
    }
}

/// Waits for the end of stdin. The parent process holds the other end, which is closed however the
/// parent ends.
async fn parent_is_gone() {
    let mut stdin = tokio::io::stdin();
    let mut ignored = [0; 64];
    while let Ok(1..) = stdin.read(&mut ignored).await {}
}
