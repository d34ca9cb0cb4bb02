//! Provides a model whose replies come from a script, for tests.

use std::fmt;
use std::time::Duration;

use crate::{
    ChatModel, LlmError, ModelLimits, OnDelta, Reply, ReplyFuture, Request, Stop, Target, ToolCall,
    Usage,
};
use parking_lot::Mutex;

/// A request as a scripted model received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedRequest {
    /// The request.
    pub request: Request,
    /// The number of requests before this one.
    pub number: usize,
}

type Script = dyn Fn(&ScriptedRequest) -> Result<Reply, LlmError> + Send + Sync;

/// A model whose replies come from a function. It is for tests, evaluations and benchmarks, and
/// records its requests.
pub struct Scripted {
    script: Box<Script>,
    limits: ModelLimits,
    latency: Duration,
    seen: Mutex<Vec<Request>>,
}

impl Scripted {
    /// Creates a model that answers each request with the result of `script`.
    pub fn new(
        script: impl Fn(&ScriptedRequest) -> Result<Reply, LlmError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            script: Box::new(script),
            limits: ModelLimits {
                window: 131_072,
                max_output: 8192,
            },
            latency: Duration::ZERO,
            seen: Mutex::default(),
        }
    }

    /// Returns the model with these limits.
    #[must_use]
    pub fn with_limits(self, window: u64, max_output: u64) -> Self {
        let limits = ModelLimits { window, max_output };
        Self { limits, ..self }
    }

    /// Returns the model with a delay before each reply.
    #[must_use]
    pub fn with_latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Returns the requests received so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Request> {
        let seen = self.seen.lock();
        seen.clone()
    }

    /// Returns the target of all scripted models.
    #[must_use]
    pub fn name() -> Target {
        Target::new("scripted", "model")
    }

    /// Returns a reply with a text.
    #[must_use]
    pub fn says(text: impl Into<String>) -> Reply {
        let text = text.into();
        Reply {
            usage: Usage {
                output: (text.len() as u64).div_ceil(4),
                ..Usage::default()
            },
            text,
            calls: Vec::new(),
            stop: Stop::End,
            target: Self::name(),
            request_id: None,
        }
    }

    /// Returns a reply that calls tools, given by name and arguments.
    #[must_use]
    pub fn calls(calls: &[(&str, serde_json::Value)]) -> Reply {
        let calls = calls
            .iter()
            .enumerate()
            .map(|(i, (name, arguments))| ToolCall {
                id: format!("call_{i}"),
                name: (*name).to_owned(),
                arguments: arguments.to_string(),
            });
        Reply {
            calls: calls.collect(),
            stop: Stop::ToolCalls,
            ..Self::says("")
        }
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").finish_non_exhaustive()
    }
}

impl ChatModel for Scripted {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        let number = {
            let mut seen = self.seen.lock();
            seen.push(request.clone());
            seen.len() - 1
        };
        Box::pin(async move {
            if !self.latency.is_zero() {
                tokio::time::sleep(self.latency).await;
            }
            let seen = ScriptedRequest {
                request: request.clone(),
                number,
            };
            let mut reply = (self.script)(&seen)?;
            if reply.usage.input == 0 {
                reply.usage.input = request.bytes().div_ceil(4);
            }
            deltas.text(&reply.text);
            Ok(reply)
        })
    }

    fn target(&self) -> Target {
        Self::name()
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }
}
