//! Metrics, a log line and spans for each request to a server.
//!
//! Everything is reported when the [`RequestSpan`] is dropped, so a request is reported however it
//! ends. Contents, arguments and headers are never reported. The only names reported are those of
//! servers, tools and prompts.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{CLIENT_METHODS, Envelope, RequestId, object};
use spillgate_transport::{Message, Transport};
use spillgate_untrusted::line;
use tokio::time::Instant;
use tracing::{Span, field};

use crate::{LOG_TARGET, Server};

/// Maximum length of the name of a tool or a prompt in a report, in characters.
const MOST_NAME: usize = 100;

/// The name of a tool call among the operations of OpenTelemetry's conventions for generative AI.
const EXECUTE_TOOL: &str = "execute_tool";

/// The keys that link a request to a trace, in HTTP headers and in `_meta` (SEP-414).
const TRACE_KEYS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Links our spans to the client's trace, and the server's spans to ours. Keys and values are those
/// of W3C Trace Context.
pub trait TracePropagator: Send + Sync + fmt::Debug {
    /// Makes the client's span the parent of the new `span`. The values in `client` are untrusted.
    fn join(&self, span: &Span, client: &[(String, String)]);

    /// Returns the headers that tell a server to make its spans children of `span`.
    fn headers(&self, span: &Span) -> Vec<(String, String)>;
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The request ended with a result.
    Ok,
    /// The request ended with a protocol error, or with a result that reports a failure.
    Error,
    /// The server was silent for too long.
    Timeout,
    /// The server ended or could not be reached.
    UpstreamGone,
    /// The server refused the request at the HTTP level.
    Refused,
    /// The request was not sent, because a reference in its arguments was invalid.
    Invalid,
    /// The client cancelled the request.
    Cancelled,
}

impl RequestOutcome {
    /// All outcomes.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::Error,
        Self::Timeout,
        Self::UpstreamGone,
        Self::Refused,
        Self::Invalid,
        Self::Cancelled,
    ];

    /// Returns the outcome's name in metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

/// A method as metrics count it: an index into [`CLIENT_METHODS`], or the index after the last for
/// all other methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method(usize);

impl Method {
    /// The number of methods, including `other`.
    pub const COUNT: usize = CLIENT_METHODS.len() + 1;

    /// Returns the method; `other` if it is not counted separately.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let known = CLIENT_METHODS.iter().position(|method| *method == name);
        Self(known.unwrap_or(CLIENT_METHODS.len()))
    }

    /// Returns the method's name, or `other`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        CLIENT_METHODS.get(self.0).unwrap_or(&"other")
    }

    /// Returns the method's index, which is below [`Method::COUNT`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0
    }
}

/// Counts the requests to one server.
pub trait RequestMeter: fmt::Debug + Send + Sync {
    /// Called when a request begins.
    fn started(&self);

    /// Called when the response arrives, with the time that the server took and the size of the
    /// frame in bytes.
    fn answered(&self, method: Method, took: Duration, bytes: u64);

    /// Called when a result is passed on unchanged.
    fn passed(&self);

    /// Called when a request ends. `added` is the time that we spent on the response; `None` if
    /// there was no response.
    fn finished(
        &self,
        method: Method,
        outcome: RequestOutcome,
        bytes: u64,
        added: Option<Duration>,
    );
}

/// What a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The tool that it calls.
    Tool(&'a str),
    /// The prompt that it gets.
    Prompt(&'a str),
}

/// What a request names, as reports have it.
#[derive(Debug, Default)]
struct Names {
    tool: Option<String>,
    prompt: Option<String>,
}

impl Names {
    fn of(target: Option<Target<'_>>) -> Self {
        let shown = |name| Some(line(name, MOST_NAME));
        match target {
            Some(Target::Tool(name)) => Self {
                tool: shown(name),
                prompt: None,
            },
            Some(Target::Prompt(name)) => Self {
                tool: None,
                prompt: shown(name),
            },
            None => Self::default(),
        }
    }

    fn operation(&self) -> Option<&'static str> {
        self.tool.as_ref().map(|_| EXECUTE_TOOL)
    }
}

/// A meter that counts nothing.
impl RequestMeter for () {
    fn started(&self) {}
    fn answered(&self, _: Method, _: Duration, _: u64) {}
    fn passed(&self) {}
    fn finished(&self, _: Method, _: RequestOutcome, _: u64, _: Option<Duration>) {}
}

/// A request to a server, until it ends.
#[derive(Debug)]
pub struct RequestSpan {
    meter: Arc<dyn RequestMeter>,
    method: Method,
    begun: Instant,
    /// When the response arrived.
    answered: Option<Instant>,
    outcome: RequestOutcome,
    request_bytes: u64,
    response_bytes: u64,
    request: Span,
    names: Names,
    /// The span of the time that the server takes; `None` until the request is sent.
    upstream: Option<Span>,
}

impl RequestSpan {
    /// Begins the span of a request that is about to be sent to this server.
    #[must_use]
    pub fn begin(
        meter: Arc<dyn RequestMeter>,
        server: &str,
        key: &RequestId,
        method: &str,
        target: Option<Target<'_>>,
    ) -> Self {
        meter.started();
        let method = Method::of(method);
        let names = Names::of(target);
        Self {
            request: request_span(server, key, method, &names),
            names,
            meter,
            method,
            begun: Instant::now(),
            answered: None,
            outcome: RequestOutcome::Cancelled,
            request_bytes: 0,
            response_bytes: 0,
            upstream: None,
        }
    }

    /// Records that the request is sent now, as `message`. Links the span to the client's trace,
    /// and adds headers to `message` that link the server's spans to ours.
    pub fn sent(
        &mut self,
        traces: Option<&dyn TracePropagator>,
        server: &Server,
        params: Option<&RawValue>,
        message: &mut Message,
    ) {
        self.request_bytes = message.frame.len() as u64;
        let Some(traces) = traces else { return };
        let client = client_trace(params, &message.headers);
        traces.join(&self.request, &client);
        let upstream = upstream_span(&self.request, server, self.method, &self.names);
        let headers = traces.headers(&upstream);
        if !headers.is_empty() {
            let is_ours = |name: &str| headers.iter().any(|(ours, _)| ours == name);
            message.headers.retain(|(name, _)| !is_ours(name));
            message.headers.extend(headers);
        }
        self.upstream = Some(upstream);
    }

    /// Records that the response arrived, in a frame of this many bytes.
    pub fn answered(&mut self, answer: &Envelope<'_>, bytes: u64) {
        let is_failure = answer.result.is_none_or(says_error);
        self.outcome = match is_failure {
            true => RequestOutcome::Error,
            false => RequestOutcome::Ok,
        };
        let now = Instant::now();
        self.answered = Some(now);
        self.response_bytes = bytes;
        self.meter.answered(self.method, now - self.begun, bytes);
        self.upstream = None;
    }

    /// Records that the result is passed on unchanged.
    pub fn passed(&self) {
        if self.outcome == RequestOutcome::Ok {
            self.meter.passed();
        }
    }

    /// Records the outcome of a request that ends without a response.
    pub fn end(&mut self, outcome: RequestOutcome) {
        self.outcome = outcome;
    }

    /// Returns the request's span, to be used for work on the response.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.request
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        let now = Instant::now();
        let added = self.answered.map(|answered| now - answered);
        let upstream = self.answered.unwrap_or(now) - self.begun;
        self.meter
            .finished(self.method, self.outcome, self.request_bytes, added);
        let outcome = self.outcome.as_str();
        if self.outcome != RequestOutcome::Ok {
            self.request.record("error.type", outcome);
            if self.outcome != RequestOutcome::Cancelled {
                self.request.record("otel.status_code", "ERROR");
            }
        }
        tracing::info!(
            target: LOG_TARGET,
            parent: &self.request,
            outcome,
            request_bytes = self.request_bytes,
            response_bytes = self.response_bytes,
            upstream_us = micros(upstream),
            added_us = micros(added.unwrap_or_default()),
            "a request ended"
        );
    }
}

/// Returns the span of a call to one of our own tools. `meta` is the `_meta` of the call's
/// parameters.
pub fn call_span(
    key: &RequestId,
    tool: &str,
    meta: Option<&RawValue>,
    traces: Option<&dyn TracePropagator>,
    headers: &[(String, String)],
) -> Span {
    let names = Names::of(Some(Target::Tool(tool)));
    let span = request_span("", key, Method::of("tools/call"), &names);
    if let Some(traces) = traces {
        let client = trace_in_meta(meta);
        traces.join(&span, &client.unwrap_or_else(|| headers.to_vec()));
    }
    span
}

fn request_span(server: &str, key: &RequestId, method: Method, names: &Names) -> Span {
    // Inside a span of ours, the request is not a client's.
    let kind = match Span::current().is_none() {
        true => "server",
        false => "internal",
    };
    tracing::info_span!(
        target: LOG_TARGET,
        "request",
        otel.kind = kind,
        otel.name = name_of(method, names),
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        server,
        mcp.method.name = method.as_str(),
        gen_ai.operation.name = names.operation(),
        gen_ai.prompt.name = names.prompt,
        gen_ai.tool.name = names.tool,
        id = hashed(key),
    )
}

fn upstream_span(request: &Span, server: &Server, method: Method, names: &Names) -> Span {
    let (transport, address) = match &server.spec.transport {
        Transport::Command(_) => ("pipe", None),
        Transport::Http(http) | Transport::Sse(http) => ("tcp", host_of(&http.url)),
    };
    tracing::info_span!(
        target: LOG_TARGET,
        parent: request,
        "upstream",
        otel.kind = "client",
        otel.name = method.as_str(),
        server = server.spec.name,
        mcp.method.name = method.as_str(),
        gen_ai.operation.name = names.operation(),
        gen_ai.prompt.name = names.prompt,
        gen_ai.tool.name = names.tool,
        network.transport = transport,
        server.address = address,
    )
}

/// Returns the name of the span of a request. A prompt is not part of it, because it was not from the
/// beginning (docs/decisions/0045-span-names.md).
fn name_of(method: Method, names: &Names) -> String {
    let method = method.as_str();
    match &names.tool {
        Some(tool) => format!("{method} {tool}"),
        None => method.to_owned(),
    }
}

/// Returns a short form of a request id for reports. It is a hash, because a client may put any
/// text into an id.
fn hashed(key: &RequestId) -> String {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns the host of a URL, without parts that may be secret.
fn host_of(url: &str) -> Option<&str> {
    let (_, after) = url.split_once("://")?;
    let authority = after.split(['/', '?', '#']).next()?;
    let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => host.split(':').next(),
    }
}

/// Returns the client's trace context from `_meta`, or from the HTTP headers if `_meta` contains
/// none. The client's HTTP library may have added these headers.
fn client_trace(params: Option<&RawValue>, headers: &[(String, String)]) -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let meta = params.and_then(object::<Params<'_>>);
    trace_in_meta(meta.and_then(|params| params.meta)).unwrap_or_else(|| {
        let is_said = |name: &str| TRACE_KEYS.contains(&name);
        let said = headers.iter().filter(|(name, _)| is_said(name));
        said.cloned().collect()
    })
}

fn trace_in_meta(meta: Option<&RawValue>) -> Option<Vec<(String, String)>> {
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

/// Returns whether a result reports a tool's failure.
fn says_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Flag {
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    const FLAG: &[u8] = b"\"isError\"";
    // Most results do not contain `"isError": true`. A plain search shows this without parsing
    // them.
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
            let found = client_trace(params.map(raw), &headers);
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
