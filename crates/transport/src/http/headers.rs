//! The HTTP headers of a message.
//!
//! Since 2026-07-28, a request's headers repeat parts of its body (SEP-2243), so that proxies can
//! route the request. A server refuses a request whose headers contradict its body. We therefore
//! derive these headers from the body that is sent, and ignore the client's own headers.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Message;
use spillgate_mcp::{Envelope, ProtocolVersion, messages, meta, object};

pub(crate) const VERSION: HeaderName = HeaderName::from_static(meta::VERSION_HEADER);
pub(crate) const SESSION: HeaderName = HeaderName::from_static(meta::SESSION_HEADER);
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";
/// Headers that link a request to a trace (W3C Trace Context).
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// The first version without sessions, whose requests have these headers. Versions are dates, so
/// they compare as text.
const MODERN: &str = ProtocolVersion::MODERN;

/// Whether a version has no sessions.
pub(crate) fn is_modern(version: &str) -> bool {
    version >= MODERN
}

/// The tool arguments that one server wants repeated in headers. They are read from the
/// `x-mcp-header` entries of the input schemas in responses to `tools/list`. Connections to the
/// same server may share this value.
#[derive(Debug, Clone, Default)]
pub struct ParamHeaders {
    tools: Arc<Mutex<HashMap<String, Vec<Annotation>>>>,
}

/// The path of an argument in the arguments object, and the last part of its header's name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Annotation {
    path: Vec<String>,
    header: String,
}

#[derive(Deserialize)]
struct Tools<'a> {
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(rename = "inputSchema", default)]
    schema: Value,
}

impl ParamHeaders {
    /// Stores the annotations in a response to `tools/list`.
    pub fn learn(&self, answer: &[u8]) {
        for result in messages(answer).iter().filter_map(|all| all.result) {
            let listed: Option<Tools<'_>> = object(result);
            for tool in listed.map(|listed| listed.tools).unwrap_or_default() {
                if let Some(tool) = object::<Tool>(tool) {
                    let found = annotations(&tool.schema);
                    let mut known = self.tools.lock();
                    known.insert(tool.name, found);
                }
            }
        }
    }

    /// Returns the headers for a call's arguments; `None` if the tool is unknown.
    fn of(&self, tool: &str, arguments: Option<&RawValue>) -> Option<Vec<(String, String)>> {
        let known = self.tools.lock();
        let annotations = known.get(tool)?;
        if annotations.is_empty() {
            return Some(Vec::new());
        }
        let arguments: Value = arguments
            .and_then(|json| serde_json::from_str(json.get()).ok())
            .unwrap_or_default();
        let header = |annotation: &Annotation| {
            let mut path = annotation.path.iter();
            let value = path.try_fold(&arguments, |value, key| value.get(key))?;
            Some((format!("{PARAM}{}", annotation.header), primitive(value)?))
        };
        Some(annotations.iter().filter_map(header).collect())
    }
}

/// Collects the annotations of a schema and its nested `properties`.
fn annotations(schema: &Value) -> Vec<Annotation> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), schema)];
    while let Some((path, schema)) = open.pop() {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            continue;
        };
        for (name, property) in properties {
            let mut path: Vec<String> = path.clone();
            path.push(name.clone());
            if let Some(Value::String(header)) = property.get("x-mcp-header")
                && !header.is_empty()
            {
                found.push(Annotation {
                    path: path.clone(),
                    header: header.clone(),
                });
            }
            open.push((path, property));
        }
    }
    found
}

fn primitive(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId")]
    task: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion", default)]
    version: Option<Cow<'a, str>>,
}

/// Returns the headers of `message`. `negotiated` is the version to use if the message does not
/// name one.
pub fn of(message: &Message, negotiated: Option<&str>, known: &ParamHeaders) -> HeaderMap {
    let envelopes = messages(&message.frame);
    let only = match envelopes.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let params: Params<'_> = only
        .and_then(|envelope| object(envelope.params?))
        .unwrap_or_default();
    let said = params.meta.and_then(object::<Meta<'_>>);
    let said = said.and_then(|meta| meta.version);
    let version = said.as_deref().or_else(|| given(message, &VERSION));
    let version = version.or(negotiated);

    let mut headers = HeaderMap::new();
    for (name, value) in &message.headers {
        if TRACE.contains(&name.as_str()) {
            put(&mut headers, name, value);
        }
    }
    if let Some(version) = version {
        put(&mut headers, VERSION.as_str(), version);
    }
    if let (Some(envelope), true) = (only, version.is_some_and(is_modern)) {
        standard(&mut headers, message, envelope, &params, known);
    }
    headers
}

/// Returns the version in these headers.
pub(crate) fn version_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION)?.to_str().ok()
}

fn standard(
    headers: &mut HeaderMap,
    message: &Message,
    envelope: &Envelope<'_>,
    params: &Params<'_>,
    known: &ParamHeaders,
) {
    let Some(method) = envelope.method.as_deref() else {
        return;
    };
    put(headers, METHOD.as_str(), method);
    let name = match method {
        "tools/call" | "prompts/get" => params.name,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => params.uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.task,
        _ => None,
    };
    let name: Option<Cow<'_, str>> = name.and_then(|json| serde_json::from_str(json.get()).ok());
    if let Some(name) = &name {
        put(headers, NAME.as_str(), &encoded(name));
    }
    if method != "tools/call" {
        return;
    }
    // If the client's own HTTP request has `Mcp-Method`, the client has also set the headers for
    // the arguments, and they are passed on. The server checks them.
    let is_said = given(message, &METHOD).is_some();
    let derived = name.filter(|_| !is_said);
    let derived = derived.and_then(|name| known.of(&name, params.arguments));
    match derived {
        Some(derived) => {
            for (name, value) in derived {
                put(headers, &name, &encoded(&value));
            }
        }
        // Also reached if the client has listed the tool but the gateway does not know it.
        None => {
            for (name, value) in &message.headers {
                if name.starts_with(PARAM) {
                    put(headers, name, value);
                }
            }
        }
    }
}

fn given<'a>(message: &'a Message, wanted: &HeaderName) -> Option<&'a str> {
    let mut headers = message.headers.iter();
    let found = headers.find(|(name, _)| name == wanted.as_str());
    found.map(|(_, value)| value.as_str())
}

/// Inserts a header. A value that is not valid in a header is omitted; the server then reports that
/// it is missing.
fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    // `HeaderValue` also accepts other bytes, which servers and proxies interpret differently.
    let is_plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if let (true, Ok(name), Ok(value)) = (
        is_plain,
        HeaderName::from_bytes(name.as_bytes()),
        HeaderValue::from_str(value),
    ) {
        headers.insert(name, value);
    }
}

/// Encodes a value for a header. A value becomes `=?base64?…?=` if it is not plain ASCII, begins or
/// ends with a space, or looks like an encoded value.
fn encoded(value: &str) -> Cow<'_, str> {
    let is_strange = value.bytes().any(|byte| !(0x20..=0x7e).contains(&byte))
        || value.starts_with(' ')
        || value.ends_with(' ')
        || value.starts_with("=?base64?") && value.ends_with("?=");
    match is_strange {
        true => format!("=?base64?{}?=", BASE64_STANDARD.encode(value)).into(),
        false => Cow::Borrowed(value),
    }
}

/// Headers that users cannot set, because we set them for each request or they control the
/// connection.
const OURS: [&str; 15] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    meta::VERSION_HEADER,
    meta::SESSION_HEADER,
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the headers that the user has configured for a server, marked as sensitive. The error
/// names a header that users cannot set.
pub(crate) fn of_user(set: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in set {
        let wrong = |why: &str| format!("the header `{}` {why}", name.escape_debug());
        let parsed =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("is no header's name"))?;
        if OURS.contains(&parsed.as_str()) {
            return Err(wrong("is set by the gateway itself"));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| wrong("has a value with characters that no header can have"))?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(frame: &str, headers: &[(&str, &str)]) -> Message {
        Message {
            frame: frame.to_owned().into(),
            id: None,
            method: None,
            name: None,
            headers: headers
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    fn said(message: &Message, negotiated: Option<&str>, known: &ParamHeaders) -> String {
        let headers = of(message, negotiated, known);
        let mut lines: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort();
        lines.join("\n")
    }

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

    #[test]
    fn what_messages_say_in_headers() {
        let call = |params: &str| {
            format!(r#"{{"id":1,"method":"tools/call","params":{{{params},{META}}}}}"#)
        };
        let known = ParamHeaders::default();
        known.learn(
            br#"{"id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{
            "where":{"type":"string","x-mcp-header":"Region"},"bad":{"x-mcp-header":""},
            "deep":{"properties":{"n":{"type":"integer","x-mcp-header":"Count"}}}}}}]}}"#,
        );
        let legacy = message(
            r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#,
            &[
                ("authorization", "Bearer no"),
                ("cookie", "no"),
                ("mcp-param-region", "no"),
                ("mcp-session-id", "no"),
                ("traceparent", "00-1-2-3"),
            ],
        );
        insta::assert_snapshot!(said(&legacy, Some("2025-11-25"), &known), @"
        mcp-protocol-version: 2025-11-25
        traceparent: 00-1-2-3
        ");
        let modern = message(
            &call(r#""name":"t","arguments":{"where":"Köln","deep":{"n":7},"bad":1}"#),
            &[
                ("mcp-param-region", "elsewhere"),
                ("mcp-protocol-version", "2025-06-18"),
            ],
        );
        insta::assert_snapshot!(said(&modern, None, &known), @"
        mcp-method: tools/call
        mcp-name: t
        mcp-param-count: 7
        mcp-param-region: =?base64?S8O2bG4=?=
        mcp-protocol-version: 2026-07-28
        ");
        let unknown = message(&call(r#""name":" u""#), &[("mcp-param-x", "1")]);
        insta::assert_snapshot!(said(&unknown, None, &known), @"
        mcp-method: tools/call
        mcp-name: =?base64?IHU=?=
        mcp-param-x: 1
        mcp-protocol-version: 2026-07-28
        ");
    }

    #[test]
    fn what_is_not_plain_is_left_out() {
        let odd = message(
            r#"{"id":1,"method":"漢","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"漢"}}}"#,
            &[("traceparent", "é"), ("tracestate", "a=b")],
        );
        insta::assert_snapshot!(said(&odd, None, &ParamHeaders::default()), @"tracestate: a=b");
    }

    #[test]
    fn names_by_method() {
        let cases = [
            ("tools/call", Some("n")),
            ("prompts/get", Some("n")),
            ("resources/read", Some("u:1")),
            ("tasks/get", Some("t")),
            ("tools/list", None),
        ];
        for (method, want) in cases {
            let frame = format!(
                r#"{{"id":1,"method":"{method}","params":{{"name":"n","uri":"u:1","taskId":"t"}}}}"#
            );
            let headers = of(
                &message(&frame, &[]),
                Some(MODERN),
                &ParamHeaders::default(),
            );
            let name = headers.get(NAME).map(|name| name.to_str().unwrap());
            assert_eq!(name, want, "{method}");
        }
    }

    #[test]
    fn users_headers() {
        let set = |name: &str, value: &str| of_user(&[(name.to_owned(), value.to_owned())].into());
        let headers = set("X-Key", "secret").unwrap();
        assert!(!format!("{headers:?}").contains("secret"));
        for (name, value) in [
            ("Mcp-Session-Id", "1"),
            ("HOST", "h"),
            ("a b", "1"),
            ("x", "secret\n"),
        ] {
            let error = set(name, value).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
