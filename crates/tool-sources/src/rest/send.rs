//! Sends a request and reads its response.

use std::error::Error;
use std::io::{Cursor, Read};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url};
use spillgate_agent::Given;
use tokio::time::{Instant, timeout_at};

use super::request::Request;
use super::stream::{Limits, Stream};

/// Maximum number of redirects that are followed.
const MOST_REDIRECTS: usize = 5;

/// Maximum number of bytes of a response's body that an error shows.
const ERROR_BYTES: u64 = 16 << 10;

/// Limits on the duration and size of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseLimits {
    pub(crate) timeout: Duration,
    pub(crate) most_bytes: u64,
}

impl ResponseLimits {
    /// Returns the limits with a duration of at most `most`.
    pub(crate) fn within(self, most: Duration) -> Self {
        let timeout = self.timeout.min(most);
        Self { timeout, ..self }
    }
}

/// Sends a request. The response is read while it arrives. Every error is returned to the model.
pub(crate) async fn call(client: &Client, request: Request, limits: ResponseLimits) -> Given {
    let what = request.what();
    let deadline = Instant::now() + limits.timeout;
    match timeout_at(deadline, followed(client, request)).await {
        Ok(Ok(response)) => into_given(response, what, deadline, limits),
        Ok(Err(told)) => Given::error(told),
        Err(_) => Given::error(format!(
            "{what} has not answered within {} s. Try it later, or ask for less.",
            limits.timeout.as_secs()
        )),
    }
}

/// Fetches a URL. This is used for documents, not for tools.
pub(crate) async fn fetch(
    client: &Client,
    url: &Url,
    limits: ResponseLimits,
) -> Result<Vec<u8>, String> {
    let request = Request {
        method: Method::GET,
        url: url.clone(),
        headers: HeaderMap::new(),
        body: None,
    };
    let what = request.what();
    let fetched = async {
        let mut response = followed(client, request).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("{what} answered with {}", named(status)));
        }
        let mut bytes = Vec::new();
        while let Some(block) = response
            .chunk()
            .await
            .map_err(|error| error_text(&what, &error))?
        {
            bytes.extend_from_slice(&block);
            if bytes.len() as u64 > limits.most_bytes {
                return Err(format!("{what} gave more than {} bytes", limits.most_bytes));
            }
        }
        Ok(bytes)
    };
    let seconds = limits.timeout.as_secs();
    let late = |_| Err(format!("{what} has not answered within {seconds} s"));
    tokio::time::timeout(limits.timeout, fetched)
        .await
        .unwrap_or_else(late)
}

/// Returns the response after following redirects.
async fn followed(client: &Client, mut request: Request) -> Result<Response, String> {
    let what = request.what();
    for _ in 0..=MOST_REDIRECTS {
        let mut sent = client
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone());
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        let response = sent.send().await;
        let response = response.map_err(|error| error_text(&request.what(), &error))?;
        match redirected(&request, &response)? {
            Some(next) => request = next,
            None => return Ok(response),
        }
    }
    Err(format!(
        "{what} was redirected more than {MOST_REDIRECTS} times. The tool's address is wrong."
    ))
}

/// Returns the request that follows a redirect; `None` if the response is not a redirect. Headers
/// and bodies are sent only to the host that they are meant for.
fn redirected(request: &Request, response: &Response) -> Result<Option<Request>, String> {
    let status = response.status();
    let location = response.headers().get(LOCATION);
    let leads_on = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = location.filter(|_| leads_on) else {
        return Ok(None);
    };
    let what = request.what();
    let location = location.to_str().ok();
    let url = location.and_then(|to| request.url.join(to).ok());
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url
        .ok_or_else(|| format!("{what} was redirected to an address that is not a web address."))?;
    let mut next = request.clone();
    let becomes_get = match status {
        StatusCode::SEE_OTHER => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => request.method == Method::POST,
        _ => false,
    };
    if becomes_get {
        next.method = Method::GET;
        next.body = None;
        next.headers.remove(CONTENT_TYPE);
    }
    if url.origin() != request.url.origin() {
        let host = url.host_str().unwrap_or_default();
        if next.body.is_some() || next.method != Method::GET {
            return Err(format!(
                "{what} was redirected to another host, {host}, which the tool does not name: nothing was sent there."
            ));
        }
        let accept = next.headers.remove(ACCEPT);
        next.headers.clear();
        next.headers.extend(accept.map(|accept| (ACCEPT, accept)));
    }
    next.url = url;
    Ok(Some(next))
}

fn into_given(
    response: Response,
    what: String,
    deadline: Instant,
    limits: ResponseLimits,
) -> Given {
    let status = response.status();
    if status == StatusCode::NO_CONTENT
        || status.is_success() && response.content_length() == Some(0)
    {
        return Given::text(format!("({what}: {}, without a body)", named(status)));
    }
    let is_error = !status.is_success();
    let head = format!("{what} answered with {}.\n", named(status));
    let limits = Limits {
        deadline,
        seconds: limits.timeout.as_secs(),
        most_bytes: limits.most_bytes,
    };
    let stream = Stream::new(response, what, limits);
    let body: Box<dyn Read + Send> = match is_error {
        true => Box::new(Cursor::new(head).chain(LenientReader::new(stream.take(ERROR_BYTES)))),
        false => Box::new(stream),
    };
    Given { body, is_error }
}

/// Reads a body. If reading fails, it returns a note in place of the rest, because the status of an
/// error response and the received part of its body tell the model more than the read error alone.
struct LenientReader<R> {
    body: R,
    /// The note that replaces the rest of the body.
    end: Option<Cursor<String>>,
}

impl<R> LenientReader<R> {
    fn new(body: R) -> Self {
        Self { body, end: None }
    }
}

impl<R: Read> Read for LenientReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let Some(end) = &mut self.end {
            return end.read(buffer);
        }
        self.body.read(buffer).or_else(|error| {
            let end = Cursor::new(format!("… [{error}]"));
            self.end.insert(end).read(buffer)
        })
    }
}

/// Returns the status as text, such as `HTTP 404 Not Found`.
fn named(status: StatusCode) -> String {
    format!("HTTP {status}").trim_end().to_owned()
}

/// Describes a failed transfer, and says what may help.
fn error_text(what: &str, error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    // The URL of the request is left out, because it may contain secrets.
    let cause = match error.source() {
        Some(_) => format!(": {cause}"),
        None => String::new(),
    };
    match error.is_connect() {
        true => {
            format!("{what} could not be reached{cause}. The service may be down; try it later.")
        }
        false => format!("{what} broke off{cause}. Try it again."),
    }
}
