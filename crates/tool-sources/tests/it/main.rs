//! Tests an agent's tools with real processes and real HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod mcp;
mod openapi;
mod rest;
mod web;

use std::io::Read;

use spillgate_agent::{Given, Host, OpKind, Span};
use spillgate_llm::ToolCall;
use tokio::task::spawn_blocking;

/// Returns the result of a call, with the prefix `ERROR` if the call failed.
async fn told(host: &dyn Host, tool: &str, arguments: &str) -> String {
    read(called(host, tool, arguments).await).await
}

async fn called(host: &dyn Host, tool: &str, arguments: &str) -> Given {
    let span = Span::root(OpKind::Agent, "test");
    host.call(&call(tool, arguments), span.scope()).await
}

fn call(tool: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: "1".to_owned(),
        name: tool.to_owned(),
        arguments: arguments.to_owned(),
    }
}

async fn read(mut given: Given) -> String {
    let read = spawn_blocking(move || {
        let mut text = if given.is_error { "ERROR " } else { "" }.to_owned();
        match given.body.read_to_string(&mut text) {
            Ok(_) => text,
            Err(error) => format!("{text}…broken: {error}"),
        }
    });
    read.await.unwrap()
}
