//! What becomes of a call that takes too long?

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_agent::{Given, Host, Scope};
use spillgate_llm::{ToolCall, ToolSpec};

/// A host whose calls are given up after a while (`toolTimeout`).
#[derive(Debug)]
pub(super) struct Timed {
    host: Arc<dyn Host>,
    patience: Duration,
}

impl Timed {
    pub(super) fn new(host: Arc<dyn Host>, patience: Duration) -> Self {
        Self { host, patience }
    }
}

impl Host for Timed {
    fn name(&self) -> &str {
        self.host.name()
    }

    fn tools(&self) -> Vec<ToolSpec> {
        self.host.tools()
    }

    fn call<'a>(&'a self, call: &'a ToolCall, scope: &'a Scope) -> BoxFuture<'a, Given> {
        async move {
            let calling = tokio::time::timeout(self.patience, self.host.call(call, scope));
            calling.await.unwrap_or_else(|_| {
                let time = humantime::format_duration(self.patience);
                Given::error(format!(
                    "The tool '{}' did not answer within {time}; it was given up.",
                    call.name
                ))
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use spillgate_agent::{OpKind, Span};

    use super::*;

    /// Answers at once, or never.
    #[derive(Debug)]
    struct Moody;

    impl Host for Moody {
        fn name(&self) -> &'static str {
            "moody"
        }

        fn tools(&self) -> Vec<ToolSpec> {
            Vec::new()
        }

        fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Scope) -> BoxFuture<'a, Given> {
            match call.name.as_str() {
                "never" => std::future::pending().boxed(),
                _ => async { Given::text("here") }.boxed(),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_never_comes_back_is_given_up() {
        let host = Timed::new(Arc::new(Moody), Duration::from_secs(90));
        let span = Span::root(OpKind::Agent, "agent");
        let mut told = Vec::new();
        for name in ["at once", "never"] {
            let call = ToolCall {
                id: "1".into(),
                name: name.into(),
                arguments: "{}".into(),
            };
            let mut given = host.call(&call, span.scope()).await;
            let mut text = String::new();
            given.body.read_to_string(&mut text).unwrap();
            told.push((text, given.is_error));
        }
        let given_up = "The tool 'never' did not answer within 1m 30s; it was given up.";
        assert_eq!(
            told,
            [("here".to_owned(), false), (given_up.to_owned(), true)]
        );
    }
}
