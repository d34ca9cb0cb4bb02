//! `GET /v1/artifacts/{handle}/raw`: the bytes of a stored result as they came, whole or in part.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE,
    RANGE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::stream;
use sha2::{Digest, Sha256};
use spillgate_artifact::{ByteSource, ContentKind, Handle};
use spillgate_store::Stored;
use tokio::task::spawn_blocking;

use crate::Api;
use crate::call::Call;
use crate::parameters::NoParameters;
use crate::problem::Problem;

/// Bytes read at a time.
const BLOCK: u64 = 256 << 10;

pub(crate) async fn raw(call: Call) -> Result<Response<Body>, Problem> {
    let handle = call.handle()?;
    let NoParameters {} = call.parameters()?;
    let stored = call.api.clone().work(move |api, _| api.opened(handle));
    let stored = stored.await?;
    let facts = &stored.manifest.facts;
    let tag = format!("\"{}\"", facts.sha256);
    let total = stored.raw.len();
    let mut response = Response::new(Body::empty());
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    set(ETAG, &tag);
    set(ACCEPT_RANGES, "bytes");
    // A browser must not take a stored page for one of ours.
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(CONTENT_TYPE, media_type(facts.stats.kind));
    let header = |name: HeaderName| call.header(name.as_str());
    if matches_tag(header(IF_NONE_MATCH), &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let is_current = header(IF_RANGE).is_empty() || header(IF_RANGE) == tag;
    let range = Some(header(RANGE)).filter(|_| is_current);
    let range = match range.map_or(Asked::Whole, |range| asked(range, total)) {
        Asked::Whole => 0..total,
        Asked::Part(start, end) => {
            set(CONTENT_RANGE, &format!("bytes {start}-{}/{total}", end - 1));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            start..end
        }
        Asked::Outside => {
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            let detail = format!("the range begins after the end: there are {total} bytes");
            let problem = Problem::callers(status, "past_end", detail);
            return Err(problem.header(CONTENT_RANGE, &format!("bytes */{total}")));
        }
    };
    let length = (range.end - range.start).to_string();
    let headers = response.headers_mut();
    if let Ok(length) = HeaderValue::from_str(&length) {
        headers.insert(CONTENT_LENGTH, length);
    }
    if call.parts.method != Method::HEAD {
        let is_whole = range == (0..total);
        let sum = is_whole.then(|| (Sha256::new(), facts.sha256.clone()));
        *response.body_mut() = sent(Arc::clone(&stored.raw), range.start, range.end, sum);
    }
    Ok(response)
}

impl Api {
    /// Opens a result whose raw bytes the caller may see.
    fn opened(&self, handle: Handle) -> Result<Stored, Problem> {
        let offloader = &self.tools.offloader;
        if !self.shows_secrets && offloader.raw_has_secrets(handle)? {
            let detail = format!("the output {handle} has secrets");
            return Err(
                Problem::callers(StatusCode::FORBIDDEN, "secrets", detail).hint(
                    "/read shows the text with marks in place of the secrets; the owner of the server can set raw_anywhere = true in [secrets]",
                ),
            );
        }
        let stored = offloader.store().open(handle)?;
        match stored.is_shared {
            false => Ok(stored),
            true => Err(shared(handle)),
        }
    }
}

/// The answer if another principal shares the result: its raw bytes are only for that one.
#[must_use]
pub fn shared(handle: Handle) -> Problem {
    let detail =
        format!("the output {handle} is shared with you: only its readable text can be read");
    Problem::callers(StatusCode::FORBIDDEN, "shared", detail).hint("/read shows the text")
}

/// Returns the type of the bytes. Markup is sent as plain text, so that no browser runs it.
fn media_type(kind: ContentKind) -> &'static str {
    match kind {
        ContentKind::Binary => "application/octet-stream",
        ContentKind::Json => "application/json",
        ContentKind::Ndjson => "application/x-ndjson",
        ContentKind::Csv => "text/csv; charset=utf-8",
        ContentKind::Tsv => "text/tab-separated-values; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

/// Whether `If-None-Match` names the tag.
fn matches_tag(header: &str, tag: &str) -> bool {
    let mut tags = header.split(',').map(str::trim);
    tags.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// What a `Range` header asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// Everything. Also for several ranges and other units, which a server may ignore.
    Whole,
    /// The bytes from the first position up to the second, exclusive.
    Part(u64, u64),
    /// Bytes after the end.
    Outside,
}

fn asked(header: &str, total: u64) -> Asked {
    let range = header.strip_prefix("bytes=").map(str::trim);
    let Some((first, last)) = range.and_then(|range| range.split_once('-')) else {
        return Asked::Whole;
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let (start, end) = match (first, last) {
        ("", last) => match number(last) {
            Some(0) => return Asked::Outside,
            Some(last) => (total.saturating_sub(last), total),
            None => return Asked::Whole,
        },
        (first, "") => match number(first) {
            Some(first) => (first, total),
            None => return Asked::Whole,
        },
        (first, last) => match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1)),
            _ => return Asked::Whole,
        },
    };
    match start < total {
        true => Asked::Part(start, end.min(total)),
        false => Asked::Outside,
    }
}

/// What is left to send.
struct Rest {
    raw: Arc<dyn ByteSource>,
    at: u64,
    end: u64,
    /// The hash of the bytes so far, and of all bytes as they were stored.
    sum: Option<(Sha256, String)>,
}

/// Returns a body with the bytes `start..end` of a source, which are read block by block.
pub fn streamed(source: Arc<dyn ByteSource>, start: u64, end: u64) -> Body {
    sent(source, start, end, None)
}

/// Returns a body that reads its bytes block by block, as fast as the caller takes them. If `sum` is
/// given and the bytes are not those that were stored, the body breaks off before its last block.
fn sent(raw: Arc<dyn ByteSource>, at: u64, end: u64, sum: Option<(Sha256, String)>) -> Body {
    let rest = Rest { raw, at, end, sum };
    let blocks = stream::try_unfold(rest, |rest| async move {
        if rest.at >= rest.end {
            return Ok(None);
        }
        let reading = spawn_blocking(move || rest.next());
        let (block, rest) = reading.await.map_err(io::Error::other)??;
        Ok::<_, io::Error>(Some((block, rest)))
    });
    Body::from_stream(blocks)
}

impl Rest {
    fn next(mut self) -> io::Result<(Bytes, Self)> {
        let end = self.end.min(self.at + BLOCK);
        let block = self.raw.bytes(self.at, end)?;
        self.at = end;
        if let Some((sum, whole)) = &mut self.sum {
            sum.update(&block);
            let is_last = self.at >= self.end;
            if is_last && HEXLOWER.encode(&sum.clone().finalize()) != *whole {
                tracing::warn!(
                    "stored bytes are not those that were stored; a download breaks off"
                );
                return Err(io::Error::other("the bytes are not those that were stored"));
            }
        }
        Ok((block.into(), self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_rfc_9110_says() {
        for (header, want) in [
            ("bytes=0-0", Asked::Part(0, 1)),
            ("bytes=2-4", Asked::Part(2, 5)),
            ("bytes=5-", Asked::Part(5, 10)),
            ("bytes=-3", Asked::Part(7, 10)),
            ("bytes=-99", Asked::Part(0, 10)),
            ("bytes=8-99", Asked::Part(8, 10)),
            ("bytes=0-18446744073709551615", Asked::Part(0, 10)),
            ("bytes=10-", Asked::Outside),
            ("bytes=-0", Asked::Outside),
            ("bytes=4-2", Asked::Whole),
            ("bytes=0-1,3-4", Asked::Whole),
            ("bytes=x-", Asked::Whole),
            ("lines=0-1", Asked::Whole),
            ("", Asked::Whole),
        ] {
            assert_eq!(asked(header, 10), want, "{header}");
        }
        assert_eq!(asked("bytes=0-0", 0), Asked::Outside);
    }
}
