//! Sends a request to a provider and reads its reply.

mod anthropic;
mod fault;
mod http;
mod openai;
mod redactor;
mod reply_builder;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::StreamExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};
use tracing::{Instrument, Span, field};

use self::fault::Fault;
use self::http::OpenResponse;
use self::redactor::Redactor;
use self::reply_builder::{RawReply, ReplyBuilder};
use crate::{
    ChatModel, Key, LlmError, ModelLimits, OnDelta, Reply, ReplyFuture, Request, Stop, Target,
    ToolCall,
};

pub use http::Timeouts;

/// How long to wait for a stream to close after its last event, because a connection can be reused
/// only after its stream has closed.
const CLOSING: Duration = Duration::from_millis(50);

/// The API that a provider offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `POST BASE/chat/completions`, with the key as a bearer token: OpenAI and most others.
    #[serde(
        alias = "open_ai",
        alias = "openai-compatible",
        alias = "openai_compatible"
    )]
    OpenAi,
    /// `POST BASE/v1/messages`, with the key in `x-api-key`.
    Anthropic,
}

impl Dialect {
    /// Returns the name of the provider whose API this is, in OpenTelemetry's conventions for generative AI.
    fn provider(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// The name of the request field with which an OpenAI-compatible server limits the length of the
/// reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`, which all servers except OpenAI's own accept.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models require.
    MaxCompletionTokens,
}

/// The configuration of a provider.
#[derive(Debug, Clone)]
pub struct EndpointConfig {
    /// The API that the provider offers.
    pub dialect: Dialect,
    /// The base URL, which precedes `/chat/completions` or `/v1/messages`.
    pub base_url: Url,
    /// The key that authenticates us to the provider.
    pub key: Option<Key>,
    /// Additional headers. They replace our own headers of the same name.
    pub headers: BTreeMap<String, Key>,
    /// Whether to request a streamed reply.
    pub stream: bool,
    /// The name of the field that limits the reply.
    pub max_tokens_field: MaxTokensField,
    /// The time limits.
    pub timeouts: Timeouts,
}

/// Why a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// A header or the key contains characters that are not allowed in a header.
    #[error("the header {name:?} cannot be sent: {why}")]
    Header {
        /// Name of the header.
        name: String,
        /// What is wrong with the header.
        why: &'static str,
    },
    /// The base URL cannot be extended by a path.
    #[error("the base URL cannot be extended by a path")]
    BaseUrl,
    /// The HTTP client could not be created.
    #[error("the HTTP client could not be created: {0}")]
    Client(String),
}

/// A provider. Its models share one HTTP client.
#[derive(Clone)]
pub struct Endpoint {
    dialect: Dialect,
    url: Url,
    headers: HeaderMap,
    stream: bool,
    max_tokens_field: MaxTokensField,
    timeouts: Timeouts,
    redactor: Redactor,
    client: Client,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("dialect", &self.dialect)
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Creates an endpoint from `config`.
    pub fn new(config: &EndpointConfig) -> Result<Self, EndpointError> {
        let secrets = config.headers.values().cloned().chain(keys(config));
        Ok(Self {
            dialect: config.dialect,
            url: url(config)?,
            headers: headers(config)?,
            stream: config.stream,
            max_tokens_field: config.max_tokens_field,
            timeouts: config.timeouts,
            redactor: Redactor::without(secrets).and_keys(keys(config)),
            client: http::client(&config.base_url, &config.timeouts)
                .map_err(EndpointError::Client)?,
        })
    }

    /// Checks that an endpoint can be created from `config`, without creating one.
    pub(crate) fn check(config: &EndpointConfig) -> Result<(), EndpointError> {
        url(config)?;
        headers(config).map(drop)
    }

    /// Returns the model of `target`.
    #[must_use]
    pub fn model(&self, target: Target, limits: ModelLimits) -> EndpointModel {
        EndpointModel {
            endpoint: self.clone(),
            target,
            limits,
        }
    }

    fn body(&self, request: &Request, model: &str) -> serde_json::Value {
        match self.dialect {
            Dialect::OpenAi => {
                let field = match self.max_tokens_field {
                    MaxTokensField::MaxTokens => "max_tokens",
                    MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
                };
                let mut body = openai::body(request, model, field);
                if self.stream {
                    body["stream"] = true.into();
                }
                // Mistral sends token counts without this option, and rejects unknown fields.
                if self.stream && self.url.host_str() != Some("api.mistral.ai") {
                    body["stream_options"] = serde_json::json!({ "include_usage": true });
                }
                body
            }
            Dialect::Anthropic => anthropic::body(request, model, self.stream),
        }
    }

    fn reply_builder(&self) -> Box<dyn ReplyBuilder> {
        match self.dialect {
            Dialect::OpenAi => Box::<openai::CompletionBuilder>::default(),
            Dialect::Anthropic => Box::<anthropic::MessageBuilder>::default(),
        }
    }

    async fn ask(&self, body: Vec<u8>) -> Result<OpenResponse, Fault> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .body(body);
        http::send(request, self.timeouts, self.stream).await
    }
}

fn url(config: &EndpointConfig) -> Result<Url, EndpointError> {
    let mut url = config.base_url.clone();
    let path: &[&str] = match config.dialect {
        Dialect::OpenAi => &["chat", "completions"],
        Dialect::Anthropic if url.path().trim_end_matches('/').ends_with("/v1") => &["messages"],
        Dialect::Anthropic => &["v1", "messages"],
    };
    url.path_segments_mut()
        .map_err(|()| EndpointError::BaseUrl)?
        .pop_if_empty()
        .extend(path);
    Ok(url)
}

fn headers(config: &EndpointConfig) -> Result<HeaderMap, EndpointError> {
    let mut headers = HeaderMap::new();
    let mut set = |name: &str, text: &str| {
        let wrong = |why| EndpointError::Header {
            name: name.to_owned(),
            why,
        };
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| wrong("its name has characters that no header may have"))?;
        let mut value = HeaderValue::from_str(text)
            .map_err(|_| wrong("its value has characters that no header may have"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
        Ok(())
    };
    set("content-type", "application/json")?;
    if config.dialect == Dialect::Anthropic {
        set("anthropic-version", "2023-06-01")?;
    }
    if let Some(key) = &config.key {
        match config.dialect {
            Dialect::OpenAi => set("authorization", &format!("Bearer {}", key.reveal()))?,
            Dialect::Anthropic => set("x-api-key", key.reveal())?,
        }
    }
    for (name, value) in &config.headers {
        set(name, value.reveal())?;
    }
    Ok(headers)
}

/// Returns the key, and the values of headers whose names suggest that they are keys.
fn keys(config: &EndpointConfig) -> impl Iterator<Item = Key> {
    let is_key = |name: &str| {
        let name = name.to_lowercase();
        ["auth", "key", "token", "secret"]
            .iter()
            .any(|word| name.contains(word))
    };
    let headers = config.headers.iter();
    let named = headers.filter(move |(name, _)| is_key(name));
    let keys = config.key.iter().chain(named.map(|(_, key)| key));
    // A server may repeat only the second word of a key such as `Bearer abc`.
    keys.flat_map(|key| {
        let last = key.reveal().split_whitespace().last();
        [Some(key.clone()), last.map(Key::new)]
    })
    .flatten()
}

/// A model of a provider.
#[derive(Debug, Clone)]
pub struct EndpointModel {
    endpoint: Endpoint,
    target: Target,
    limits: ModelLimits,
}

/// Records in the span of a request how it ended.
fn report(span: &Span, result: &Result<Reply, LlmError>) {
    match result {
        Ok(reply) => {
            span.record("gen_ai.usage.input_tokens", reply.usage.input);
            span.record("gen_ai.usage.output_tokens", reply.usage.output);
        }
        Err(error) => {
            span.record("error.type", error.kind.as_str());
            span.record("otel.status_code", "ERROR");
        }
    }
}

impl EndpointModel {
    /// Returns the span of a request, by OpenTelemetry's conventions for generative AI.
    fn span(&self) -> Span {
        let model = &self.target.model;
        tracing::info_span!(
            "chat",
            otel.kind = "client",
            otel.name = format!("chat {model}"),
            otel.status_code = field::Empty,
            "error.type" = field::Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = self.endpoint.dialect.provider(),
            gen_ai.request.model = model,
            gen_ai.usage.input_tokens = field::Empty,
            gen_ai.usage.output_tokens = field::Empty,
            server.address = self.endpoint.url.host_str(),
        )
    }

    async fn exchange(&self, request: &Request, deltas: &dyn OnDelta) -> Result<Reply, LlmError> {
        let body = self.endpoint.body(request, &self.target.model);
        let body = serde_json::to_vec(&body).expect("invariant: a JSON value can be written");
        let answer = self.endpoint.ask(body).await;
        let answer = answer.map_err(|fault| self.error(&fault, None))?;
        let id = self.request_id(answer.response.headers());
        let wrong = |fault: &Fault| self.error(fault, id.clone());
        let status = answer.response.status();
        if !status.is_success() {
            let headers = answer.response.headers().clone();
            let body = answer.error().await;
            return Err(wrong(&Fault::of_status(status.as_u16(), &headers, &body)));
        }
        let mut builder = self.endpoint.reply_builder();
        let reply = match self.is_stream(answer.response.headers()) {
            true => build_from_events(answer, builder.as_mut(), deltas).await,
            false => match answer.whole().await {
                Ok(body) => builder.whole(&body, deltas),
                Err(fault) => Err(fault),
            },
        };
        // A call without an id gets an id that is unique in the conversation.
        let numbered = |place| format!("call_{}_{place}", request.messages.len());
        let reply = reply.and_then(|()| builder.end(&numbered));
        Ok(self.reply(reply.map_err(|fault| wrong(&fault))?, id.clone()))
    }

    /// Returns whether the answer is a stream. Some servers stream although it was not requested,
    /// and some do not although it was.
    fn is_stream(&self, headers: &HeaderMap) -> bool {
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        match kind {
            Some(kind) if kind.starts_with(b"text/event-stream") => true,
            Some(kind) if kind.starts_with(b"application/json") => false,
            _ => self.endpoint.stream,
        }
    }

    fn reply(&self, reply: RawReply, request_id: Option<String>) -> Reply {
        let RawReply {
            text,
            calls,
            stop,
            usage,
        } = reply;
        let without_keys = |text| self.endpoint.redactor.without_keys(text);
        let call = |call: ToolCall| ToolCall {
            id: without_keys(call.id),
            name: without_keys(call.name),
            arguments: without_keys(call.arguments),
        };
        Reply {
            text: without_keys(text),
            calls: calls.into_iter().map(call).collect(),
            stop: match stop {
                Stop::Other(word) => {
                    Stop::Other(self.endpoint.redactor.id(&word).unwrap_or_default())
                }
                stop => stop,
            },
            usage,
            target: self.target.clone(),
            request_id,
        }
    }

    /// Creates an error. All errors of an endpoint are created here, so that no text from a
    /// provider bypasses the redactor.
    fn error(&self, fault: &Fault, request_id: Option<String>) -> LlmError {
        LlmError {
            kind: fault.kind,
            target: self.target.clone(),
            message: self.endpoint.redactor.message(&fault.message),
            request_id,
            retry_after: fault.retry_after,
        }
    }

    fn request_id(&self, headers: &HeaderMap) -> Option<String> {
        let id = ["x-request-id", "request-id"]
            .iter()
            .find_map(|name| headers.get(*name))?;
        self.endpoint
            .redactor
            .id(&String::from_utf8_lossy(id.as_bytes()))
    }
}

async fn build_from_events(
    answer: OpenResponse,
    builder: &mut dyn ReplyBuilder,
    deltas: &dyn OnDelta,
) -> Result<(), Fault> {
    let mut events = pin!(answer.stream().eventsource());
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| match error {
            EventStreamError::Transport(fault) => fault,
            EventStreamError::Utf8(_) => Fault::bad_reply("the answer is not UTF-8"),
            EventStreamError::Parser(_) => Fault::bad_reply("the answer is not a stream of events"),
        })?;
        // Empty events only keep the connection alive.
        if !event.data.trim().is_empty() && builder.event(&event.data, deltas)? {
            let _ = timeout(CLOSING, events.next()).await;
            break;
        }
    }
    Ok(())
}

impl ChatModel for EndpointModel {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let start = Instant::now();
            let span = self.span();
            let result = self
                .exchange(request, deltas)
                .instrument(span.clone())
                .await;
            report(&span, &result);
            let ms = start.elapsed().as_millis();
            match &result {
                Ok(reply) => tracing::debug!(
                    target_model = %self.target, ms, input = reply.usage.input,
                    output = reply.usage.output, stop = ?reply.stop, "a model replied"
                ),
                Err(error) => tracing::debug!(
                    target_model = %self.target, ms, kind = ?error.kind, error = %error.message,
                    "a request to a model failed"
                ),
            }
            result
        })
    }

    fn target(&self) -> Target {
        self.target.clone()
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }
}
