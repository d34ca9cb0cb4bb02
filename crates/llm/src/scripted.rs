//! A model that says what it is told to say.

use std::fmt;
use std::time::Duration;

use crate::{
    ChatModel, LlmError, ModelLimits, OnDelta, Reply, ReplyFuture, Request, Stop, Target, ToolCall,
    Usage,
};
use parking_lot::Mutex;

/// A request as a scripted model saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedRequest {
    /// The request.
    pub request: Request,
    /// How many came before it.
    pub number: usize,
}

type Script = dyn Fn(&ScriptedRequest) -> Result<Reply, LlmError> + Send + Sync;

/// A model whose replies a function makes: for tests, evaluations and benchmarks
/// of everything around a model. It keeps what it was asked.
pub struct Scripted {
    script: Box<Script>,
    limits: ModelLimits,
    latency: Duration,
    seen: Mutex<Vec<Request>>,
}

impl Scripted {
    /// A model that answers each request with what `script` says to it.
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

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, window: u64, max_output: u64) -> Self {
        let limits = ModelLimits { window, max_output };
        Self { limits, ..self }
    }

    /// The same, taking so long for each reply.
    #[must_use]
    pub fn with_latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// What it was asked so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Request> {
        let seen = self.seen.lock();
        seen.clone()
    }

    /// The name that scripted models go by.
    #[must_use]
    pub fn name() -> Target {
        Target::new("scripted", "model")
    }

    /// A reply of a text.
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

    /// A reply that calls tools: name and arguments of each.
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
