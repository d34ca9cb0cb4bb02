//! Connections to servers behind Streamable HTTP.
//!
//! Each message is sent with its own POST. What the server returns for a request, as JSON or as an
//! event stream, is reported as an event of this request. Messages that belong to no request arrive
//! on the stream of a GET.

mod call;
mod client;
mod events;
mod exchange;
mod headers;
mod listen;
mod sse;
mod stream;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response};
use tokio::time::timeout;

use self::call::{Call, Caller};
use self::headers::{LAST_EVENT, SESSION, VERSION};
use self::tasks::Tasks;
use crate::authority::Authority;
use crate::{
    Connection, ConnectionError, FrameReader, HttpServer, Item, Message, Refusal, ServerEvent, Sink,
};
use spillgate_mcp::RequestId;

pub(crate) use self::call::place;
pub use self::client::http_client;
pub use self::events::{Decoder as EventDecoder, Piece as EventPiece, Tags as EventTags};
pub use self::headers::{ParamHeaders, of as request_headers};
pub use self::sse::SseConnection;

/// Time limit for informing the server that the session is over.
const GOODBYE: Duration = Duration::from_secs(2);
/// The time limit if the connection closes in a hurry.
const HURRIED_GOODBYE: Duration = Duration::from_millis(300);

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Options of an [`HttpConnection`].
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Whether the connection itself resumes broken streams. If false, it sends [`Item::Ended`],
    /// and the client, which knows the event ids, can call [`Connection::listen`].
    pub resume: bool,
    /// The source of credentials, unless the server's headers contain some.
    pub authority: Option<Arc<dyn Authority>>,
    /// What all connections to this server have learnt about its tools.
    pub params: ParamHeaders,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            resume: true,
            authority: None,
            params: ParamHeaders::default(),
        }
    }
}

/// A connection to a server behind Streamable HTTP. It does not contact the server before the first
/// message.
#[derive(Debug)]
pub struct HttpConnection {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    caller: Caller,
    frame_reader: FrameReader,
    sink: Arc<dyn Sink>,
    resume: bool,
    params: ParamHeaders,
    session: Mutex<Session>,
    tasks: Arc<Tasks>,
}

/// The session with the server, and the version that was negotiated.
#[derive(Debug, Clone, Default)]
struct Session {
    /// The session id that the server assigned; `None` if it uses no sessions.
    id: Option<HeaderValue>,
    version: Option<String>,
}

impl HttpConnection {
    /// Opens a connection with the default options. `client` should be configured by
    /// [`http_client`].
    pub fn open(
        server: &HttpServer,
        client: Client,
        frame_reader: FrameReader,
        sink: Arc<dyn Sink>,
    ) -> Result<Self, ConnectionError> {
        Self::open_with(server, client, HttpOptions::default(), frame_reader, sink)
    }

    /// Opens a connection with options.
    pub fn open_with(
        server: &HttpServer,
        client: Client,
        options: HttpOptions,
        frame_reader: FrameReader,
        sink: Arc<dyn Sink>,
    ) -> Result<Self, ConnectionError> {
        let mut caller = Caller::new(server, client)?;
        caller.authority = options.authority;
        let inner = Inner {
            caller,
            frame_reader,
            sink,
            resume: options.resume,
            params: options.params,
            session: Mutex::default(),
            tasks: Arc::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }
}

impl Connection for HttpConnection {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        let inner = Arc::clone(&self.inner);
        if let Some(of) = message.id.clone() {
            let sent = inner.request(message, of);
            return std::future::ready(sent).boxed();
        }
        inner.note(message).boxed()
    }

    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        Arc::clone(&self.inner).listen(after).boxed()
    }

    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()> {
        self.inner.tasks.abandon(of);
        std::future::ready(()).boxed()
    }

    fn close(&self, hurried: bool) -> BoxFuture<'_, ()> {
        self.inner.close(hurried).boxed()
    }
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.inner.tasks.close();
    }
}

/// The response to a request, with the session in which the request was sent.
#[derive(Debug)]
struct Posted {
    response: Response,
    /// The id of the session in which the request was sent.
    session: Option<HeaderValue>,
}

impl Inner {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock()
    }

    /// Sends a message. The response may have any status.
    async fn post(&self, message: &Message) -> Result<Posted, ConnectionError> {
        let is_initialize = message.method.as_deref() == Some("initialize");
        if is_initialize {
            *self.session() = Session::default();
        }
        let mut session = self.session().clone();
        let mut headers = headers::of(message, session.version.as_deref(), &self.params);
        if let Some(version) = headers::version_of(&headers)
            && headers::is_modern(version)
        {
            self.session().version = Some(version.to_owned());
            session.id = None; // this version has no sessions
        }
        if let Some(id) = &session.id {
            headers.insert(SESSION, id.clone());
        }
        headers.insert(ACCEPT, BOTH);
        headers.insert(CONTENT_TYPE, JSON);
        let response = self.caller.call(Call {
            method: Method::POST,
            url: self.caller.url.clone(),
            headers,
            body: message.frame.clone(),
        });
        let response = response.await?;
        if is_initialize && response.status().is_success() {
            let id = response.headers().get(SESSION).cloned();
            self.session().id = id.map(|mut id| {
                id.set_sensitive(true);
                id
            });
        }
        Ok(Posted {
            response,
            session: session.id,
        })
    }

    /// Opens a stream of messages from the server, or resumes it after the event `after`.
    async fn get(&self, after: Option<&str>) -> Result<Posted, ConnectionError> {
        let session = self.session().clone();
        let mut headers = of_session(&session);
        headers.insert(ACCEPT, EVENTS);
        // An id that is not a valid header value cannot be sent back, so it is omitted.
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            headers.insert(LAST_EVENT, after);
        }
        let response = self.caller.call(Call {
            method: Method::GET,
            url: self.caller.url.clone(),
            headers,
            body: Bytes::new(),
        });
        Ok(Posted {
            response: response.await?,
            session: session.id,
        })
    }

    /// Reads a refusal. Clears the session if the refusal ends it.
    async fn refused(&self, posted: Posted) -> Refusal {
        let mut refusal = call::refusal(posted.response).await;
        if refusal.status == 404 && posted.session.is_some() {
            refusal.session_lost = true;
            let mut session = self.session();
            // Another request may have begun a new session in the meantime.
            if session.id == posted.session {
                session.id = None;
            }
        }
        refusal
    }

    async fn tell(&self, of: Option<&RequestId>, event: Option<String>, item: Item) {
        let of = of.cloned();
        self.sink.take(ServerEvent { of, event, item }).await;
    }

    async fn close(&self, hurried: bool) {
        self.tasks.close();
        let session = std::mem::take(&mut *self.session());
        if session.id.is_none() {
            return;
        }
        let goodbye = self.caller.call(Call {
            method: Method::DELETE,
            url: self.caller.url.clone(),
            headers: of_session(&session),
            body: Bytes::new(),
        });
        let patience = match hurried {
            true => HURRIED_GOODBYE,
            false => GOODBYE,
        };
        // The connection is closed even if the server did not receive this request.
        drop(timeout(patience, goodbye).await);
    }
}

/// Returns the headers that identify a session.
fn of_session(session: &Session) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(id) = &session.id {
        headers.insert(SESSION, id.clone());
    }
    let version = session.version.as_deref().map(HeaderValue::from_str);
    if let Some(Ok(version)) = version {
        headers.insert(VERSION, version);
    }
    headers
}
