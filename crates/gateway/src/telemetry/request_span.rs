//! What is seen of a request from outside: its figures, its log line and its
//! spans?
//!
//! All of it is told when the [`RequestSpan`] of a request is dropped, so that no way
//! that a request can end is forgotten. Contents, arguments and headers are never
//! told; of names, those of servers and tools.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, RequestId, object};
use spillgate_untrusted::line;
use spillgate_wire::{Message, Transport};
use tokio::time::Instant;
use tracing::{Span, field};

use crate::gateway::Server;
use crate::session::in_flight::{CallParams, RequestKind};
use crate::telemetry::metrics::Exit;
use crate::telemetry::server_metrics::{Meter, Method};

/// Characters of a tool's name that are told.
const MOST_NAME: usize = 100;

/// What joins a request to a trace, in HTTP headers and in `_meta` (SEP-414).
const TRACE_KEYS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Joins the gateway's spans to the trace of a client, and a server's to them.
/// Names and values are those of W3C Trace Context.
pub trait Traces: Send + Sync + fmt::Debug {
    /// Makes what the client said the parent of `span`, which is new. Whatever it
    /// said comes from outside.
    fn join(&self, span: &Span, client: &[(String, String)]);

    /// What a server is told so that its spans become children of `span`.
    fn headers(&self, span: &Span) -> Vec<(String, String)>;
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a result.
    Ok,
    /// With an error of the protocol, or a result that says it is one.
    Error,
    /// The server was silent for too long.
    Timeout,
    /// The server ended, or could not be reached.
    UpstreamGone,
    /// The server refused it on the level of HTTP.
    Refused,
    /// It was not sent: a reference in its arguments was wrong.
    Invalid,
    /// Nobody waited for its answer any more.
    Cancelled,
}

impl Outcome {
    pub(crate) const ALL: [Self; 7] = [
        Self::Ok,
        Self::Error,
        Self::Timeout,
        Self::UpstreamGone,
        Self::Refused,
        Self::Invalid,
        Self::Cancelled,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::UpstreamGone => "upstream_gone",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A request to a server, until it is over.
#[derive(Debug)]
pub(crate) struct RequestSpan {
    meter: Arc<Meter>,
    method: Method,
    begun: Instant,
    /// When the answer came.
    answered: Option<Instant>,
    outcome: Outcome,
    request_bytes: u64,
    response_bytes: u64,
    request: Span,
    /// The part of it that the server takes; only where there are traces.
    upstream: Option<Span>,
}

impl RequestSpan {
    /// A request that is about to be sent to a server.
    pub(crate) fn begin(
        meter: Arc<Meter>,
        key: &RequestId,
        method: &str,
        asked: &RequestKind,
    ) -> Self {
        let method = Method::of(method);
        let request = request_span(&meter.server, key, method, tool_of(asked));
        Self {
            meter,
            method,
            begun: Instant::now(),
            answered: None,
            outcome: Outcome::Cancelled,
            request_bytes: 0,
            response_bytes: 0,
            request,
            upstream: None,
        }
        .counted()
    }

    fn counted(self) -> Self {
        self.meter.begun();
        self
    }

    /// Notes that it is sent now, as `message`. Its spans join the client's
    /// trace, and the server is told how to join them.
    pub(crate) fn sent(
        &mut self,
        traces: Option<&dyn Traces>,
        server: &Server,
        params: Option<&RawValue>,
        message: &mut Message,
    ) {
        self.request_bytes = message.frame.len() as u64;
        let Some(traces) = traces else { return };
        let client = said_by_client(params, &message.headers);
        traces.join(&self.request, &client);
        let upstream = upstream_span(&self.request, server, self.method);
        let headers = traces.headers(&upstream);
        if !headers.is_empty() {
            let is_ours = |name: &str| headers.iter().any(|(ours, _)| ours == name);
            message.headers.retain(|(name, _)| !is_ours(name));
            message.headers.extend(headers);
        }
        self.upstream = Some(upstream);
    }

    /// Notes that the answer came, in a frame of so many bytes.
    pub(crate) fn answered(&mut self, answer: &Envelope<'_>, bytes: u64) {
        let is_failure = answer.result.is_none_or(says_error);
        self.outcome = match is_failure {
            true => Outcome::Error,
            false => Outcome::Ok,
        };
        let now = Instant::now();
        self.answered = Some(now);
        self.response_bytes = bytes;
        self.meter.answered(self.method, now - self.begun, bytes);
        self.upstream = None;
    }

    /// Notes that its result passes as it is.
    pub(crate) fn passed(&self, asked: &RequestKind) {
        let has_result = !matches!(
            asked,
            RequestKind::Whole
                | RequestKind::Other
                | RequestKind::Capabilities
                | RequestKind::ToolsList
        );
        if has_result && self.outcome == Outcome::Ok {
            self.meter.result(Exit::Inline);
        }
    }

    /// Notes how it ends without an answer.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }

    /// Its span, for work on its answer.
    pub(crate) fn span(&self) -> &Span {
        &self.request
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        let now = Instant::now();
        let added = self.answered.map(|answered| now - answered);
        let upstream = self.answered.unwrap_or(now) - self.begun;
        self.meter
            .over(self.method, self.outcome, self.request_bytes, added);
        let outcome = self.outcome.word();
        if self.outcome != Outcome::Ok {
            self.request.record("error.type", outcome);
            if self.outcome != Outcome::Cancelled {
                self.request.record("otel.status_code", "ERROR");
            }
        }
        tracing::info!(
            parent: &self.request,
            outcome,
            request_bytes = self.request_bytes,
            response_bytes = self.response_bytes,
            upstream_us = micros(upstream),
            added_us = micros(added.unwrap_or_default()),
            "a request is over"
        );
    }
}

/// The span of a call of one of our own tools.
pub(crate) fn builtin_call_span(
    key: &RequestId,
    tool: &str,
    call: &CallParams<'_>,
    traces: Option<&dyn Traces>,
    headers: &[(String, String)],
) -> Span {
    let span = request_span("", key, Method::of("tools/call"), Some(tool));
    if let Some(traces) = traces {
        let client = said_in_meta(call.meta);
        traces.join(&span, &client.unwrap_or_else(|| headers.to_vec()));
    }
    span
}

fn request_span(server: &str, key: &RequestId, method: Method, tool: Option<&str>) -> Span {
    tracing::info_span!(
        "request",
        otel.kind = "server",
        otel.name = name_of(method, tool),
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        server,
        mcp.method.name = method.word(),
        gen_ai.tool.name = tool.map(|name| line(name, MOST_NAME)),
        id = hashed(key),
    )
}

fn upstream_span(request: &Span, server: &Server, method: Method) -> Span {
    let (transport, address) = match &server.spec.transport {
        Transport::Command(_) => ("pipe", None),
        Transport::Http(http) | Transport::Sse(http) => ("tcp", host_of(&http.url)),
    };
    tracing::info_span!(
        parent: request,
        "upstream",
        otel.kind = "client",
        otel.name = method.word(),
        server = server.spec.name,
        mcp.method.name = method.word(),
        network.transport = transport,
        server.address = address,
    )
}

fn name_of(method: Method, tool: Option<&str>) -> String {
    let method = method.word();
    match tool {
        Some(tool) => format!("{method} {}", line(tool, MOST_NAME)),
        None => method.to_owned(),
    }
}

fn tool_of(asked: &RequestKind) -> Option<&str> {
    match asked {
        RequestKind::ToolsCall { tool, .. } => Some(tool),
        _ => None,
    }
}

/// An id as it is told: clients may put anything into one.
fn hashed(key: &RequestId) -> String {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The host of an address, without what may be secret in it.
fn host_of(url: &str) -> Option<&str> {
    let (_, after) = url.split_once("://")?;
    let authority = after.split(['/', '?', '#']).next()?;
    let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => host.split(':').next(),
    }
}

/// The trace that the client is in: by what it says in `_meta`, else by the
/// headers, which its HTTP library may have made.
fn said_by_client(
    params: Option<&RawValue>,
    headers: &[(String, String)],
) -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let meta = params.and_then(object::<Params<'_>>);
    said_in_meta(meta.and_then(|params| params.meta)).unwrap_or_else(|| {
        let is_said = |name: &str| TRACE_KEYS.contains(&name);
        let said = headers.iter().filter(|(name, _)| is_said(name));
        said.cloned().collect()
    })
}

fn said_in_meta(meta: Option<&RawValue>) -> Option<Vec<(String, String)>> {
    #[derive(Deserialize)]
    struct Meta {
        traceparent: String,
        #[serde(default)]
        tracestate: Option<String>,
        #[serde(default)]
        baggage: Option<String>,
    }
    let meta: Meta = meta.and_then(object)?;
    let values = [Some(meta.traceparent), meta.tracestate, meta.baggage];
    let said = TRACE_KEYS.into_iter().zip(values);
    let said = said.filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Some(said.collect())
}

/// Whether a result is a tool's error.
fn says_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Flag {
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    const FLAG: &[u8] = b"\"isError\"";
    // A look that costs little tells that most have no such flag, or one that is
    // not raised.
    let text = result.get().as_bytes();
    let is_raised = |at: usize| {
        let after = text[at + FLAG.len()..].trim_ascii_start();
        let value = after.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        value.is_some_and(|value| value.starts_with(b"true"))
    };
    memchr::memmem::find_iter(text, FLAG).any(is_raised)
        && object::<Flag>(result).is_some_and(|flag| flag.is_error)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn errors_of_tools_are_known() {
        for (result, is_error) in [
            (r#"{"content":[]}"#, false),
            (r#"{"isError":true}"#, true),
            (r#"{"isError" : true, "content":[]}"#, true),
            (r#"{"isError":false}"#, false),
            (r#"{"structuredContent":{"isError":true}}"#, false),
            (r#"{"text":"\"isError\":true"}"#, false),
            (r#"{"isError":"no"}"#, false),
        ] {
            assert_eq!(says_error(raw(result)), is_error, "{result}");
        }
    }

    #[test]
    fn what_a_client_says_of_its_trace() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = [header("mcp-name", "x"), header("traceparent", "of-http")];
        for (params, said) in [
            (None, "traceparent=of-http"),
            (Some(r#"{"_meta":{}}"#), "traceparent=of-http"),
            (
                Some(r#"{"_meta":{"traceparent":7}}"#),
                "traceparent=of-http",
            ),
            (
                Some(r#"{"_meta":{"traceparent":"of-mcp","tracestate":"a=b"}}"#),
                "traceparent=of-mcp tracestate=a=b",
            ),
        ] {
            let found = said_by_client(params.map(raw), &headers);
            let found: Vec<_> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
            assert_eq!(found.join(" "), said);
        }
    }

    #[test]
    fn hosts_without_secrets() {
        for (url, host) in [
            (
                "https://me:secret@example.com:8443/mcp?key=1",
                "example.com",
            ),
            ("http://[::1]:80/", "::1"),
            ("http://localhost", "localhost"),
        ] {
            assert_eq!(host_of(url), Some(host));
        }
    }
}
