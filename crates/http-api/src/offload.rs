//! `POST /v1/offload`: takes a result, and returns what to show of it.

use std::io::{self, Cursor, ErrorKind, Write};
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{LOCATION, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_artifact::{Handle, Origin, Stats};
use spillgate_offload::{Choice, Fits, Outcome, PendingResult};
use tokio::sync::SemaphorePermit;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::answer::json;
use crate::body::{self, passage};
use crate::call::{Call, unexpected};
use crate::problem::Problem;
use crate::{Api, PREFIX};

/// The parameters of a result that is sent as raw bytes.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OffloadParameters {
    /// The tool that made the result. With it, the body is the result, byte for byte; without it, a
    /// body in JSON is an object that contains the result.
    pub(crate) tool: Option<String>,
    /// The name of the content, such as a file name. It is kept as the arguments of the call.
    pub(crate) name: Option<String>,
    /// The MCP server of the tool.
    pub(crate) server: Option<String>,
    /// The id of the call.
    pub(crate) call_id: Option<String>,
    /// Whether the result is the error of a tool.
    pub(crate) is_error: Option<bool>,
}

/// A result in JSON: `content` or `result`, and where it comes from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OffloadBody {
    /// The text of the result.
    content: Option<String>,
    /// The result as any JSON value. Of a list of text blocks, and of an object with such a list as
    /// `content`, the texts are the result; other values are the result as they are spelled.
    #[schemars(with = "Option<Value>")]
    result: Option<Box<RawValue>>,
    /// The tool that made the result.
    tool: Option<String>,
    /// The MCP server of the tool.
    server: Option<String>,
    /// The arguments of the call, as a text or as any JSON value.
    #[schemars(with = "Option<Value>")]
    arguments: Option<Box<RawValue>>,
    /// The id of the call.
    call_id: Option<String>,
    /// Whether the result is the error of a tool.
    #[serde(default)]
    is_error: bool,
}

/// What to show of a result.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the fields are named in JSON")]
pub(crate) struct Offloaded {
    /// Whether the result is stored, and `text` stands in its place.
    offloaded: bool,
    /// The handle of the stored result.
    handle: Option<String>,
    /// Bytes of the text of the result.
    bytes: u64,
    /// Lines of the text.
    lines: u64,
    /// Tokens of the text.
    tokens: u64,
    /// Whether the tokens were counted, not estimated.
    tokens_exact: bool,
    /// The kind of the content.
    kind: String,
    /// SHA-256 of the result, in hexadecimal.
    sha256: String,
    /// Why the result is stored, or is not although it exceeds a limit.
    reason: Option<String>,
    /// What to show to the model: the result itself if it fits, otherwise a message about it. Bytes
    /// that are not UTF-8 are shown as U+FFFD.
    text: String,
}

impl Offloaded {
    fn new(handle: Option<Handle>, stats: &Stats, sha256: &str, text: String) -> Self {
        Self {
            offloaded: handle.is_some(),
            handle: handle.map(|handle| handle.to_string()),
            bytes: stats.bytes,
            lines: stats.lines,
            tokens: stats.tokens.count,
            tokens_exact: stats.tokens.exact,
            kind: stats.kind.to_string(),
            sha256: sha256.to_owned(),
            reason: None,
            text,
        }
    }
}

/// The tool of a result whose caller names none.
pub(crate) const UNNAMED: &str = "tool";

pub(crate) async fn offload(call: Call) -> Result<Response<Body>, Problem> {
    let given: OffloadParameters = call.parameters()?;
    let api = Arc::clone(&call.api);
    let _upload = may_upload(&api).await?;
    let kind = call.header("content-type").to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    if given.tool.is_none() && kind == "application/json" {
        return in_json(call, given).await;
    }
    let origin = Origin {
        server: given.server,
        arguments: given.name,
        call_id: given.call_id,
        ..Origin::tool(given.tool.unwrap_or_else(|| UNNAMED.to_owned()))
    };
    let is_error = given.is_error.unwrap_or(false);
    let (incoming, mut reader) = passage();
    let offloader = api.tools.offloader.clone();
    // The thread reads as long as the body comes, so it does not take a turn of work that computes.
    let reading =
        spawn_blocking(move || offloader.submit_stream(origin, is_error, &mut reader, &mut |_| {}));
    body::pump(call.body, &api.limits, incoming).await?;
    let pending = reading.await.map_err(|_| unexpected())?;
    let pending = pending.map_err(|_| broken_off())?;
    let work = Arc::clone(&api).work(move |api, _| settled(api, pending));
    work.await
}

/// Waits until a result may be received. A permit is kept until the answer is made.
async fn may_upload(api: &Api) -> Result<SemaphorePermit<'_>, Problem> {
    let limits = &api.limits;
    let permit = timeout(limits.upload_time, api.turns.uploads.acquire()).await;
    let permit = permit.map_err(|_| {
        let (uploads, seconds) = (limits.uploads, limits.upload_time.as_secs_f64());
        let detail = format!(
            "at most {uploads} results are received at the same time, and none ended within {seconds} s"
        );
        Problem::callers(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
            .hint("send the result again later")
            .header(RETRY_AFTER, "1")
    })?;
    permit.map_err(|_| unexpected())
}

fn broken_off() -> Problem {
    Problem::bad("the body broke off")
}

async fn in_json(call: Call, given: OffloadParameters) -> Result<Response<Body>, Problem> {
    let Call { api, body, .. } = call;
    let body = body::whole(body, &api.limits).await?;
    let read: OffloadBody = serde_json::from_slice(&body).map_err(|error| {
        Problem::bad(format!("the body is no result in JSON: {error}")).hint(
            "send {\"content\": \"…\", \"tool\": \"…\"}; to store a JSON document itself, name the tool in the URL: ?tool=NAME",
        )
    })?;
    let bytes = match (read.content, read.result) {
        (Some(content), None) => content.into_bytes(),
        (None, Some(result)) => text_of(&result),
        _ => {
            let detail = "the body needs `content` or `result`, and not both";
            return Err(Problem::bad(detail));
        }
    };
    let spelled = |json: Box<RawValue>| {
        let text = serde_json::from_str::<String>(json.get());
        text.unwrap_or_else(|_| json.get().to_owned())
    };
    let tool = read.tool.unwrap_or_else(|| UNNAMED.to_owned());
    let origin = Origin {
        server: read.server.or(given.server),
        arguments: read.arguments.map(spelled).or(given.name),
        call_id: read.call_id.or(given.call_id),
        ..Origin::tool(tool)
    };
    let is_error = read.is_error || given.is_error.unwrap_or(false);
    let work = api.work(move |api, _| {
        let bytes = &mut Cursor::new(bytes);
        let pending = api
            .tools
            .offloader
            .submit_stream(origin, is_error, bytes, &mut |_| {});
        settled(api, pending.map_err(|_| broken_off())?)
    });
    work.await
}

/// Returns the text of a result in JSON.
fn text_of(result: &RawValue) -> Vec<u8> {
    let spelled = || result.get().as_bytes().to_vec();
    match serde_json::from_str(result.get()) {
        Ok(Value::String(text)) => text.into_bytes(),
        Ok(Value::Array(blocks)) => texts(&blocks).unwrap_or_else(spelled),
        Ok(Value::Object(object)) => {
            let blocks = object.get("content").and_then(Value::as_array);
            let texts = blocks.and_then(|blocks| texts(blocks));
            texts.unwrap_or_else(spelled)
        }
        _ => spelled(),
    }
}

/// Joins the texts of text blocks; `None` if there are other blocks.
fn texts(blocks: &[Value]) -> Option<Vec<u8>> {
    let text = |block: &Value| {
        let is_text = block.get("type")? == "text";
        is_text.then(|| block.get("text")?.as_str().map(str::to_owned))?
    };
    let texts: Option<Vec<String>> = blocks.iter().map(text).collect();
    let texts = texts.filter(|texts| !texts.is_empty())?;
    Some(texts.join("\n").into_bytes())
}

/// Decides about a result, and returns the response.
fn settled(api: &Api, pending: PendingResult) -> Result<Response<Body>, Problem> {
    match pending.settle(Choice::Limits { is_over: None }) {
        Outcome::Inline(fits) => {
            let text = inline(api, &fits)?;
            let answer = Offloaded {
                reason: fits.is_never_worse().then(|| "never_worse".to_owned()),
                ..Offloaded::new(None, &fits.stats(), fits.sha256(), text)
            };
            Ok(json(StatusCode::OK, &answer))
        }
        Outcome::Offloaded(stored) => {
            let facts = &stored.receipt.manifest().facts;
            let handle = stored.receipt.handle();
            let text = stored.shown.text().to_owned();
            let answer = Offloaded {
                reason: Some(facts.reason.to_string()),
                ..Offloaded::new(Some(handle), &facts.stats, &facts.sha256, text)
            };
            let mut response = json(StatusCode::CREATED, &answer);
            let place = format!("{PREFIX}/artifacts/{}", in_path(handle));
            if let Ok(place) = HeaderValue::from_str(&place) {
                response.headers_mut().insert(LOCATION, place);
            }
            Ok(response)
        }
        Outcome::NotStored(lost) => {
            let text = lost.shown.text().to_owned();
            Err(Problem::from(lost.error).instead(&text))
        }
    }
}

/// Returns the text of a result that fits. It is part of an answer in JSON, which is built in memory,
/// so it may not be larger than a body in JSON.
fn inline(api: &Api, fits: &Fits) -> Result<String, Problem> {
    let most = api.limits.body_bytes;
    let mut raw = UpTo {
        bytes: Vec::new(),
        most,
    };
    fits.write_raw(&mut raw)
        .map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => Problem::callers(
                StatusCode::PAYLOAD_TOO_LARGE,
                "answer_too_large",
                format!(
                    "no limit applies to this tool, and an answer may contain {most} bytes at most"
                ),
            )
            .hint(
                "use the result as it is, or set limits for the tool in [tools] of the server's \
             configuration; `max_body_bytes` in [http] sets the maximum",
            ),
            _ => Problem::ours("store_io", error.to_string()),
        })?;
    Ok(String::from_utf8_lossy(&raw.bytes).into_owned())
}

/// Keeps what is written, up to a number of bytes.
struct UpTo {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for UpTo {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a handle as one segment of a path.
pub(crate) fn in_path(handle: Handle) -> String {
    form_urlencoded::byte_serialize(handle.to_string().as_bytes()).collect()
}
