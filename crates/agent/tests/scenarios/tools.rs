//! The tools of the scenarios.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use spillgate_agent::{Given, Host, Scope};
use spillgate_llm::{ToolCall, ToolSpec};
use tokio_util::sync::CancellationToken;

/// A host whose tools return as many bytes as the call asks for.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// Calls so far.
    pub(crate) called: AtomicUsize,
    /// The token that is cancelled when `hang` is called, which ends the session.
    pub(crate) cancels: Mutex<Option<CancellationToken>>,
}

pub(crate) fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "gives that many bytes".into(),
        schema: json!({"type": "object"}),
    }
}

impl Host for Tools {
    fn name(&self) -> &'static str {
        "test"
    }

    fn tools(&self) -> Vec<ToolSpec> {
        vec![
            spec("give"),
            spec("hang"),
            spec("quotes"),
            spec("tool_output"),
        ]
    }

    /// `hang` never returns. `give` returns numbered lines. `quotes` returns characters that take
    /// twice as much room when they are encoded as JSON.
    fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
        async move {
            self.called.fetch_add(1, Ordering::Relaxed);
            if call.name == "hang" {
                if let Some(cancels) = self.cancels.lock().unwrap().take() {
                    cancels.cancel();
                }
                std::future::pending::<()>().await;
            }
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            let bytes = usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap();
            let text = match call.name.as_str() {
                "quotes" => "\"\n".repeat(bytes / 2),
                _ => lines(bytes),
            };
            match arguments["fails"].as_bool() {
                Some(true) => Given::error(text),
                _ => Given::text(text),
            }
        }
        .boxed()
    }
}

/// Returns `bytes` bytes of numbered lines.
pub(crate) fn lines(bytes: usize) -> String {
    let mut text = String::new();
    let mut number = 1;
    while text.len() < bytes {
        text.push_str(&format!("line {number} of what the tool gives\n"));
        number += 1;
    }
    text.truncate(bytes);
    text
}
