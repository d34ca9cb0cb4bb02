//! Sends a request and reads its response within limits of time and size.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use reqwest::{Client, Response, Url};
use spillgate_http_client::{Certificates, is_loopback};
use tokio::time::{Instant, timeout_at};

use super::fault::Fault;
use crate::ErrorKind;

/// Maximum size of an answer, in bytes. A reply of 128,000 tokens, with an event per token, takes
/// about 40 MB.
const MOST_BYTES: usize = 64 << 20;
/// Maximum length of a line in a stream, in bytes. It is limited because an incomplete line is
/// searched again whenever more of it arrives.
const MOST_LINE_BYTES: usize = 2 << 20;
/// Maximum number of bytes that are read from an error answer.
const MOST_ERROR_BYTES: usize = 64 << 10;

/// Time limits for the parts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Time limit for establishing a connection.
    pub connect: Duration,
    /// Time limit for the first bytes of a streamed answer. A local model may process its prompt
    /// for minutes before it sends anything.
    pub first: Duration,
    /// Time limit for each further part of a streamed answer.
    pub idle: Duration,
    /// Time limit for the whole answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(900),
        }
    }
}

/// Returns a client for the server of `url`. A server on this machine is never reached through a
/// proxy. The machine's certificates are loaded only for an https server.
pub(super) fn client(url: &Url, timeouts: &Timeouts) -> Result<Client, String> {
    let certificates = match url.scheme() {
        "https" => Certificates::Machine,
        _ => Certificates::None,
    };
    let builder =
        spillgate_http_client::builder(certificates).map_err(|error| error.to_string())?;
    let mut builder = builder.connect_timeout(timeouts.connect);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| chain(&error))
}

/// An answer whose headers have arrived.
pub(super) struct OpenResponse {
    pub(super) response: Response,
    timeouts: Timeouts,
    deadline: Instant,
}

/// Sends a request and waits for the headers of the answer. A server that does not stream may take
/// the whole time limit until then.
pub(super) async fn send(
    request: reqwest::RequestBuilder,
    timeouts: Timeouts,
    streams: bool,
) -> Result<OpenResponse, Fault> {
    let start = Instant::now();
    let deadline = start + timeouts.total;
    let first = match streams {
        true => deadline.min(start + timeouts.first),
        false => deadline,
    };
    let response = timeout_at(first, request.send()).await;
    let response = response
        .map_err(|_| late("no answer", first - start))?
        .map_err(|error| transport(error, ErrorKind::Connection))?;
    Ok(OpenResponse {
        response,
        timeouts,
        deadline,
    })
}

impl OpenResponse {
    /// Returns the whole body.
    pub(super) async fn whole(self) -> Result<String, Fault> {
        let (body, is_all) = self.read(MOST_BYTES).await?;
        match is_all {
            true => {
                String::from_utf8(body).map_err(|_| Fault::bad_reply("the answer is not UTF-8"))
            }
            false => Err(too_large()),
        }
    }

    /// Returns the beginning of an error body. If it cannot be read, the result is empty.
    pub(super) async fn error(self) -> Vec<u8> {
        let read = self.read(MOST_ERROR_BYTES).await;
        read.map(|(body, _)| body).unwrap_or_default()
    }

    /// Returns up to `most` bytes, and whether they are the whole body.
    async fn read(mut self, most: usize) -> Result<(Vec<u8>, bool), Fault> {
        let mut body = Vec::new();
        loop {
            let chunk = timeout_at(self.deadline, self.response.chunk()).await;
            let chunk = chunk
                .map_err(|_| late("the answer did not end", self.timeouts.total))?
                .map_err(|error| transport(error, ErrorKind::CutOff))?;
            match chunk {
                None => return Ok((body, true)),
                Some(chunk) if body.len() + chunk.len() > most => {
                    body.extend_from_slice(&chunk[..most - body.len()]);
                    return Ok((body, false));
                }
                Some(chunk) => body.extend_from_slice(&chunk),
            }
        }
    }

    /// Returns the body as it arrives.
    pub(super) fn stream(self) -> impl Stream<Item = Result<Vec<u8>, Fault>> + Send {
        let reader = BodyReader {
            body: self.response.bytes_stream().boxed(),
            timeouts: self.timeouts,
            deadline: self.deadline,
            bytes: 0,
            line: 0,
        };
        stream::try_unfold(reader, |mut reader| async move {
            let next = reader.next().await?;
            Ok(next.map(|chunk| (chunk, reader)))
        })
    }
}

struct BodyReader<S> {
    body: S,
    timeouts: Timeouts,
    deadline: Instant,
    /// Bytes received so far.
    bytes: usize,
    /// Bytes received since the end of the last line.
    line: usize,
}

impl<S, B> BodyReader<S>
where
    S: Stream<Item = reqwest::Result<B>> + Unpin,
    B: AsRef<[u8]>,
{
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let (patience, what) = match self.bytes {
            0 => (self.timeouts.first, "no answer"),
            _ => (self.timeouts.idle, "nothing more of the answer"),
        };
        let until = Instant::now() + patience;
        let next = timeout_at(until.min(self.deadline), self.body.next()).await;
        let next = next.map_err(|_| match until < self.deadline {
            true => late(what, patience),
            false => late("the answer did not end", self.timeouts.total),
        })?;
        let Some(chunk) = next else {
            return Ok(None);
        };
        let chunk = chunk.map_err(|error| transport(error, ErrorKind::CutOff))?;
        let chunk = chunk.as_ref().to_vec();
        self.bytes += chunk.len();
        self.line = match chunk.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => chunk.len() - end - 1,
            None => self.line + chunk.len(),
        };
        if self.bytes > MOST_BYTES {
            return Err(too_large());
        }
        if self.line > MOST_LINE_BYTES {
            let most = MOST_LINE_BYTES >> 20;
            let what = format!("a line of the answer is longer than {most} MiB");
            return Err(Fault::bad_reply(what));
        }
        Ok(Some(chunk))
    }
}

fn late(what: &str, after: Duration) -> Fault {
    Fault::new(
        ErrorKind::Timeout,
        format!(
            "{what} within {:?}",
            Duration::new(after.as_secs(), after.subsec_millis() * 1_000_000)
        ),
    )
}

fn too_large() -> Fault {
    Fault::bad_reply(format!(
        "the answer is larger than {} MiB",
        MOST_BYTES >> 20
    ))
}

/// Returns the fault of a transport error. `kind` is used if nothing more specific is known. The
/// URL is left out, because it comes from the user and may be confidential.
fn transport(error: reqwest::Error, kind: ErrorKind) -> Fault {
    let error = error.without_url();
    let kind = match &error {
        error if error.is_timeout() => ErrorKind::Timeout,
        error if error.is_connect() => ErrorKind::Connection,
        error if error.is_builder() => ErrorKind::BadRequest,
        _ => kind,
    };
    Fault::new(kind, chain(&error))
}

/// Returns the messages of an error and of its causes, without repetitions.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
