//! Connections to servers behind HTTP with server-sent events, the transport of 2024-11-05.
//!
//! All messages from the server arrive on the stream of one GET. Its first event names the URL to
//! which messages are posted. The session ends when this stream ends.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Method, Url};
use tokio::sync::watch;
use tokio::time::timeout;

use super::call::{Call, Caller, Content, content, not_mcp, place, refusal};
use super::stream::{Event, Events};
use super::tasks::{Purpose, Tasks};
use super::{EVENTS, JSON, headers};
use crate::authority::Authority;
use crate::{
    Connection, ConnectionError, Frame, FrameReader, HttpServer, Item, Message, ParamHeaders,
    ServerEvent, Sink,
};
use spillgate_mcp::RequestId;

/// Time limit for the server to name the URL for messages.
const ENDPOINT: Duration = Duration::from_secs(30);

/// A connection to a server behind HTTP with server-sent events. It opens the stream immediately.
#[derive(Debug)]
pub struct SseConnection {
    inner: Arc<Inner>,
    endpoint: watch::Receiver<Endpoint>,
}

#[derive(Debug)]
struct Inner {
    caller: Caller,
    frame_reader: FrameReader,
    sink: Arc<dyn Sink>,
    tasks: Arc<Tasks>,
}

/// The URL to which messages are posted. `Debug` does not print it, because it may contain a
/// session id.
#[derive(Clone)]
enum Endpoint {
    Unknown,
    Known(Url),
    Never(ConnectionError),
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("Unknown"),
            Self::Known(url) => write!(f, "Known({})", place(url)),
            Self::Never(error) => write!(f, "Never({error})"),
        }
    }
}

impl SseConnection {
    /// Opens the stream. `client` should be configured by [`http_client`](crate::http_client).
    /// `authority` supplies credentials, unless the server's headers contain some.
    pub fn open(
        server: &HttpServer,
        client: Client,
        authority: Option<Arc<dyn Authority>>,
        frame_reader: FrameReader,
        sink: Arc<dyn Sink>,
    ) -> Result<Self, ConnectionError> {
        let mut caller = Caller::new(server, client)?;
        caller.authority = authority;
        let inner = Arc::new(Inner {
            caller,
            frame_reader,
            sink,
            tasks: Arc::default(),
        });
        let (tell, endpoint) = watch::channel(Endpoint::Unknown);
        let listening = Arc::clone(&inner).run(tell);
        inner.tasks.spawn(Purpose::Listening, listening)?;
        Ok(Self { inner, endpoint })
    }

    async fn post(&self, message: Message) -> Result<(), ConnectionError> {
        let mut endpoint = self.endpoint.clone();
        let known = endpoint.wait_for(|endpoint| !matches!(endpoint, Endpoint::Unknown));
        let endpoint = match timeout(ENDPOINT, known).await {
            Ok(Ok(endpoint)) => endpoint.clone(),
            Ok(Err(_)) => return Err(ConnectionError::Gone("was closed".to_owned())),
            Err(_) => Endpoint::Unknown,
        };
        let url = match endpoint {
            Endpoint::Known(url) => url,
            Endpoint::Never(error) => return Err(error),
            Endpoint::Unknown => {
                let what = "a stream that does not say where to post to";
                return Err(ConnectionError::NotMcp(what.to_owned()));
            }
        };
        let Some(of) = message.id.clone() else {
            return self.inner.deliver(url, message).await;
        };
        // Do not wait for the response to the POST: some servers send it only when the request is
        // complete, and may send requests to the client before that.
        let inner = Arc::clone(&self.inner);
        let purpose = Purpose::Request(of.clone());
        self.inner.tasks.spawn(purpose, async move {
            if let Err(error) = inner.deliver(url, message).await {
                let server_event = ServerEvent {
                    of: Some(of),
                    event: None,
                    item: Item::Failed(error),
                };
                inner.sink.take(server_event).await;
            }
        })
    }
}

impl Inner {
    async fn deliver(&self, url: Url, message: Message) -> Result<(), ConnectionError> {
        // Of the headers that are made from the message, this version of MCP has only those for
        // tracing.
        let mut headers = headers::of(&message, None, &ParamHeaders::default());
        headers.insert(CONTENT_TYPE, JSON);
        let posted = self.caller.call(Call {
            method: Method::POST,
            url,
            headers,
            body: message.frame,
        });
        let posted = posted.await?;
        if content(&posted) == Content::Refusal {
            return Err(ConnectionError::Refused(refusal(posted).await));
        }
        Ok(())
    }

    async fn run(self: Arc<Self>, endpoint: watch::Sender<Endpoint>) {
        let mut events = match self.opened().await {
            Ok(events) => events,
            Err(error) => {
                // A waiting sender receives the error itself; the sink receives only its text.
                let how = error.to_string();
                endpoint.send_replace(Endpoint::Never(error));
                return self.tell(None, Item::Gone(how)).await;
            }
        };
        let how = loop {
            match events.next().await {
                Ok(Some(event)) => self.take(event, &endpoint).await,
                Ok(None) => break "closed its stream".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        endpoint.send_replace(Endpoint::Never(ConnectionError::Gone(how.clone())));
        self.tell(None, Item::Gone(how)).await;
    }

    async fn opened(&self) -> Result<Events, ConnectionError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, EVENTS);
        let response = self.caller.call(Call {
            method: Method::GET,
            url: self.caller.url.clone(),
            headers,
            body: Bytes::new(),
        });
        let response = response.await?;
        match content(&response) {
            Content::Events => Ok(Events::new(response, self.frame_reader.clone())),
            Content::Refusal => Err(ConnectionError::Refused(refusal(response).await)),
            _ => Err(not_mcp(&response)),
        }
    }

    async fn take(&self, event: Event, endpoint: &watch::Sender<Endpoint>) {
        let Event { tags, frame } = event;
        match frame {
            Some(frame) if tags.kind.as_deref() == Some("endpoint") => {
                let found = self.endpoint(&frame);
                endpoint.send_replace(found.map_or_else(Endpoint::Never, Endpoint::Known));
            }
            Some(frame) if tags.is_message() => self.tell(tags.id, Item::Message(frame)).await,
            _ => {}
        }
    }

    /// Parses the URL that an event names. The URL must have the server's origin; otherwise the
    /// server could make us send our credentials to another server.
    fn endpoint(&self, frame: &Frame) -> Result<Url, ConnectionError> {
        let wrong = |what: &str| ConnectionError::NotMcp(what.to_owned());
        let text = frame
            .in_memory()
            .and_then(|text| std::str::from_utf8(text).ok());
        let url = text.and_then(|text| self.caller.url.join(text.trim()).ok());
        let url = url.ok_or_else(|| wrong("an endpoint that is no URL"))?;
        match url.origin() == self.caller.url.origin() {
            true => Ok(url),
            false => Err(wrong(&format!("an endpoint elsewhere ({})", place(&url)))),
        }
    }

    async fn tell(&self, event: Option<String>, item: Item) {
        let of = None;
        self.sink.take(ServerEvent { of, event, item }).await;
    }
}

impl Connection for SseConnection {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        self.post(message).boxed()
    }

    fn listen(&self, _: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        std::future::ready(Ok(())).boxed()
    }

    fn abandon(&self, _: &RequestId) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    fn close(&self, _: bool) -> BoxFuture<'_, ()> {
        self.inner.tasks.close();
        std::future::ready(()).boxed()
    }
}

impl Drop for SseConnection {
    fn drop(&mut self) {
        self.inner.tasks.close();
    }
}
