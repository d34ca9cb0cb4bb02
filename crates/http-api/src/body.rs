//! The bodies of requests: small ones in memory, large ones as a stream that another thread reads.

use std::io::{self, Read};

use axum::body::Body;
use axum::http::StatusCode;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, timeout_at};

use crate::ApiLimits;
use crate::problem::Problem;

/// Number of parts of a body that wait for the thread that reads them.
const IN_FLIGHT: usize = 4;

/// Reads a body into memory, with the limits on its size and on the time that it takes.
pub(crate) async fn whole(body: Body, limits: &ApiLimits) -> Result<Bytes, Problem> {
    let most = limits.body_bytes;
    let mut whole = BytesMut::new();
    let mut parts = Parts::of(body, limits);
    while let Some(part) = parts.next().await? {
        if whole.len() + part.len() > most {
            return Err(too_large(most as u64).hint(
                "send a large result as raw bytes, with ?tool=NAME; `max_body_bytes` in [http] sets the limit",
            ));
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole.freeze())
}

/// The parts of a body, each within its time limit, and all within theirs.
struct Parts {
    stream: axum::body::BodyDataStream,
    limits: ApiLimits,
    /// When the whole body must be there.
    end: Instant,
}

impl Parts {
    fn of(body: Body, limits: &ApiLimits) -> Self {
        Self {
            stream: body.into_data_stream(),
            limits: *limits,
            end: Instant::now() + limits.upload_time,
        }
    }

    /// Returns the next part; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let part_end = Instant::now() + self.limits.part_time;
        let part = timeout_at(part_end.min(self.end), self.stream.next()).await;
        let part = part.map_err(|_| self.late(part_end))?.transpose();
        part.map_err(|_| Problem::bad("the body broke off"))
    }

    /// Returns the problem of a body that is late. `part_end` is when its next part had to be there.
    fn late(&self, part_end: Instant) -> Problem {
        let (kind, what, limit, setting) = if part_end < self.end {
            let limit = self.limits.part_time;
            (
                "body_late",
                "the next part of the body",
                limit,
                "`read_seconds` in [http]",
            )
        } else {
            let limit = self.limits.upload_time;
            (
                "upload_late",
                "the whole body",
                limit,
                "`upload_seconds` in [serve]",
            )
        };
        let detail = format!("{what} did not come within {} s", limit.as_secs_f64());
        Problem::callers(StatusCode::REQUEST_TIMEOUT, kind, detail)
            .hint(format!("{setting} sets the limit"))
    }
}

/// Passes the parts of a body to the thread that reads them. Returns once everything was passed on,
/// or nobody reads any more.
pub(crate) async fn pump(body: Body, limits: &ApiLimits, to: Incoming) -> Result<(), Problem> {
    let most = limits.upload_bytes.unwrap_or(u64::MAX);
    let mut parts = Parts::of(body, limits);
    let mut bytes = 0;
    while let Some(part) = parts.next().await? {
        bytes += part.len() as u64;
        if bytes > most {
            return Err(too_large(most).hint("`max_upload` in [serve] sets the limit"));
        }
        if to.0.send(Some(part)).await.is_err() {
            return Ok(());
        }
    }
    // Nobody reads any more: the answer says why.
    drop(to.0.send(None).await);
    Ok(())
}

/// The end into which the parts of a body are put. A body whose end was not put in counts as broken
/// off.
pub(crate) struct Incoming(Sender<Option<Bytes>>);

/// The parts of a body as a thread reads them.
pub(crate) struct BodyReader {
    parts: Receiver<Option<Bytes>>,
    part: Bytes,
    is_over: bool,
}

/// Returns the two ends of a body that one task receives and another thread reads.
pub(crate) fn passage() -> (Incoming, BodyReader) {
    let (sender, parts) = mpsc::channel(IN_FLIGHT);
    let reader = BodyReader {
        parts,
        part: Bytes::new(),
        is_over: false,
    };
    (Incoming(sender), reader)
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() && !self.is_over {
            match self.parts.blocking_recv() {
                Some(Some(part)) => self.part = part,
                Some(None) => self.is_over = true,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let n = self.part.len().min(buffer.len());
        self.part.copy_to_slice(&mut buffer[..n]);
        Ok(n)
    }
}

fn too_large(most: u64) -> Problem {
    let detail = format!("the body may have {most} bytes at most");
    Problem::callers(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}
