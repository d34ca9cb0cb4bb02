//! Makes single HTTP requests: credentials, redirects, errors.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Response, StatusCode, Url};

use crate::authority::{Authority, Refused};
use crate::{ConnectionError, HttpServer, Refusal};

/// Maximum number of redirects followed for one request.
const MOST_REDIRECTS: usize = 5;

/// Maximum number of bytes kept of a refusal's body.
const MOST_REFUSAL: usize = 64 << 10;

/// Makes requests to one server.
pub(crate) struct Caller {
    client: Client,
    pub(crate) url: Url,
    /// Headers that the user has set.
    headers: HeaderMap,
    pub(crate) authority: Option<Arc<dyn Authority>>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("url", &place(&self.url))
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

/// A request.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Caller {
    pub(crate) fn new(server: &HttpServer, client: Client) -> Result<Self, ConnectionError> {
        let wrong = |why: String| ConnectionError::Settings(why);
        let url = Url::parse(&server.url).map_err(|error| wrong(format!("its URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("its URL is neither http nor https".to_owned()));
        }
        let headers = super::headers::of_user(&server.headers).map_err(wrong)?;
        Ok(Self {
            client,
            url,
            headers,
            authority: None,
        })
    }

    /// Makes a request. If the server refuses the credential, repeats the request with a fresh one.
    /// The response may have any status except a redirect.
    pub(crate) async fn call(&self, call: Call) -> Result<Response, ConnectionError> {
        let authority = match self.headers.contains_key(AUTHORIZATION) {
            true => None,
            false => self.authority.as_ref(),
        };
        let Some(authority) = authority else {
            return self.follow(call).await;
        };
        let credential = authority.credential().await;
        let with = |credential: Option<_>| {
            let mut call = call.clone();
            if let Some(credential) = credential {
                call.headers.insert(AUTHORIZATION, credential);
            }
            self.follow(call)
        };
        let response = with(credential.clone()).await?;
        if !wants_login(&response) {
            return Ok(response);
        }
        let challenge = text_of(response.headers(), &WWW_AUTHENTICATE);
        drop(response);
        let refused = Refused {
            credential,
            challenge,
        };
        let fresh = authority.refused(refused).await;
        let response = with(Some(
            fresh.map_err(|error| ConnectionError::Unauthorized(error.0))?,
        ))
        .await?;
        match wants_login(&response) {
            true => Err(ConnectionError::Unauthorized(
                "it refuses the credential that it has just given".to_owned(),
            )),
            false => Ok(response),
        }
    }

    /// Makes a request and follows redirects within the server's origin. Redirects to other origins
    /// are not followed, because nobody else may receive the credentials and messages.
    async fn follow(&self, mut call: Call) -> Result<Response, ConnectionError> {
        for _ in 0..=MOST_REDIRECTS {
            let response = self.once(&call).await?;
            let (again, to) = match response.status() {
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => (true, location(&response, &call.url)),
                StatusCode::SEE_OTHER => (false, location(&response, &call.url)),
                _ => return Ok(response),
            };
            let to =
                to.ok_or_else(|| ConnectionError::NotMcp("a redirect to nowhere".to_owned()))?;
            if !again || to.origin() != self.url.origin() {
                let to = place(&to);
                return Err(ConnectionError::NotMcp(format!("a redirect to {to}")));
            }
            call.url = to;
        }
        Err(ConnectionError::NotMcp(
            "one redirect after another".to_owned(),
        ))
    }

    async fn once(&self, call: &Call) -> Result<Response, ConnectionError> {
        let mut headers = call.headers.clone();
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        let request = self
            .client
            .request(call.method.clone(), call.url.clone())
            .headers(headers);
        let request = match call.body.is_empty() {
            true => request,
            false => request.body(call.body.clone()),
        };
        request.send().await.map_err(|error| {
            let how = match error.is_connect() || error.is_timeout() {
                true => "no connection",
                false => "the connection broke before an answer came",
            };
            let cause = cause(error);
            ConnectionError::Unreachable(format!("{how} ({}: {cause})", place(&call.url)))
        })
    }
}

/// Whether the server may accept another credential.
fn wants_login(response: &Response) -> bool {
    let lacks_scope = || {
        text_of(response.headers(), &WWW_AUTHENTICATE)
            .is_some_and(|challenge| challenge.contains("insufficient_scope"))
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => true,
        StatusCode::FORBIDDEN => lacks_scope(),
        _ => false,
    }
}

fn location(response: &Response, from: &Url) -> Option<Url> {
    let location = text_of(response.headers(), &LOCATION)?;
    from.join(&location).ok()
}

/// Formats a URL for display, without user information, query and fragment, which may be secret.
pub(crate) fn place(url: &Url) -> String {
    let origin = url.origin().ascii_serialization();
    format!("{origin}{}", url.path())
}

pub(crate) fn text_of(headers: &HeaderMap, name: &reqwest::header::HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

/// Returns the error for a body that ended early.
pub(crate) fn broken(error: reqwest::Error) -> ConnectionError {
    cut_off(&cause(error))
}

/// Returns the same error as [`broken`], for another cause.
pub(crate) fn cut_off(cause: &str) -> ConnectionError {
    ConnectionError::Unreachable(format!("the answer was cut off ({cause})"))
}

/// Returns the root cause of an error, without the URL.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The kind of content in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// One message or batch.
    Json,
    /// An event stream of messages.
    Events,
    /// No content.
    Nothing,
    /// Any other content.
    Other,
    /// The status reports an error.
    Refusal,
}

pub(crate) fn content(response: &Response) -> Content {
    let status = response.status();
    if !status.is_success() {
        return Content::Refusal;
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
        || response.content_length() == Some(0)
    {
        return Content::Nothing;
    }
    let kind = text_of(response.headers(), &CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        "application/json" => Content::Json,
        "text/event-stream" => Content::Events,
        _ => Content::Other,
    }
}

/// Returns the error for a response that is not MCP.
pub(crate) fn not_mcp(response: &Response) -> ConnectionError {
    let status = response.status().as_u16();
    let kind = text_of(response.headers(), &CONTENT_TYPE);
    let kind = match &kind {
        Some(kind) => {
            let kind: String = kind.chars().take(100).collect();
            format!("content of type {}", kind.escape_debug())
        }
        None => "content of no type".to_owned(),
    };
    ConnectionError::NotMcp(format!("{kind} (HTTP status {status})"))
}

/// Reads the response with which a server refused a request: its status, some of its headers, and
/// the first bytes of its body.
pub(crate) async fn refusal(mut response: Response) -> Refusal {
    let mut body = Vec::new();
    // If the body breaks off, the bytes read so far suffice.
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MOST_REFUSAL - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() >= room {
            break;
        }
    }
    Refusal {
        status: response.status().as_u16(),
        content_type: text_of(response.headers(), &CONTENT_TYPE),
        challenge: text_of(response.headers(), &WWW_AUTHENTICATE),
        session_lost: false,
        body: body.into(),
        server: None,
    }
}
