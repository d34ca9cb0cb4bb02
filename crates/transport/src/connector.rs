//! The [`Connector`] trait, which opens connections to servers, and its standard implementation.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::Client;

use crate::{
    Authority, ChildConnection, Connection, ConnectionError, FrameReader, HttpConnection,
    HttpOptions, HttpServer, Message, ParamHeaders, ServerSpec, Sink, SseConnection, Transport,
};
use spillgate_mcp::RequestId;

/// Opens connections to servers.
pub trait Connector: Send + Sync + fmt::Debug {
    /// Opens a connection. Events from the server are delivered to `sink`.
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>>;
}

/// What a connection needs to use a server behind HTTP.
#[derive(Debug, Clone)]
pub struct Access {
    /// A client configured by [`http_client`](crate::http_client).
    pub client: Client,
    /// The source of credentials.
    pub authority: Option<Arc<dyn Authority>>,
}

/// A function that returns the [`Access`] to a server, or an error text that says why the server
/// cannot be used.
pub type AccessTo = Arc<dyn Fn(&HttpServer) -> Result<Access, String> + Send + Sync>;

/// Opens connections over all supported transports.
pub struct StandardConnector {
    frame_reader: FrameReader,
    access: AccessTo,
    resume: bool,
    /// What all connections to an HTTP server share, by server name: its configuration, its HTTP
    /// client and credentials, and what was learnt about its tools. HTTP connections stay open from
    /// one client to the next.
    known: Mutex<HashMap<String, (HttpServer, Access, ParamHeaders)>>,
}

impl fmt::Debug for StandardConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandardConnector")
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}

impl StandardConnector {
    /// Returns a connector that reads messages with `frame_reader`. If `resume` is true, a
    /// connection resumes broken streams itself; otherwise the client has to resume them.
    #[must_use]
    pub fn new(frame_reader: FrameReader, access: AccessTo, resume: bool) -> Self {
        Self {
            frame_reader,
            access,
            resume,
            known: Mutex::default(),
        }
    }

    fn reach(
        &self,
        name: &str,
        server: &HttpServer,
    ) -> Result<(Access, ParamHeaders), ConnectionError> {
        // Each change is a single call on the map, so the map stays consistent even after a panic
        // elsewhere.
        let mut known = self.known.lock();
        if let Some((same, access, params)) = known.get(name)
            && same == server
        {
            return Ok((access.clone(), params.clone()));
        }
        let access = (self.access)(server).map_err(ConnectionError::Settings)?;
        let params = ParamHeaders::default();
        let entry = (server.clone(), access.clone(), params.clone());
        known.insert(name.to_owned(), entry);
        Ok((access, params))
    }
}

/// A connection that opens the stream for messages that belong to no request, as soon as the
/// session has begun.
#[derive(Debug)]
struct Listening(Arc<HttpConnection>);

impl Connection for Listening {
    fn send(&self, message: Message) -> BoxFuture<'_, Result<(), ConnectionError>> {
        if message.method.as_deref() != Some("notifications/initialized") {
            return self.0.send(message);
        }
        let connection = Arc::clone(&self.0);
        async move {
            connection.send(message).await?;
            // Ignore failures, because a server need not offer a stream for its own messages.
            tokio::spawn(async move { drop(connection.listen(None).await) });
            Ok(())
        }
        .boxed()
    }

    fn listen(&self, after: Option<String>) -> BoxFuture<'_, Result<(), ConnectionError>> {
        self.0.listen(after)
    }

    fn abandon(&self, of: &RequestId) -> BoxFuture<'_, ()> {
        self.0.abandon(of)
    }

    fn close(&self, hurried: bool) -> BoxFuture<'_, ()> {
        self.0.close(hurried)
    }
}

impl Connector for StandardConnector {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>> {
        let frame_reader = self.frame_reader.clone();
        async move {
            let connection: Arc<dyn Connection> = match &server.transport {
                Transport::Command(command) => {
                    Arc::new(ChildConnection::start(command, frame_reader, sink)?)
                }
                Transport::Http(http) => {
                    let (Access { client, authority }, params) = self.reach(&server.name, http)?;
                    let options = HttpOptions {
                        resume: self.resume,
                        authority,
                        params,
                    };
                    let connection =
                        HttpConnection::open_with(http, client, options, frame_reader, sink)?;
                    match self.resume {
                        true => Arc::new(Listening(Arc::new(connection))),
                        false => Arc::new(connection),
                    }
                }
                Transport::Sse(http) => {
                    let (Access { client, authority }, _) = self.reach(&server.name, http)?;
                    Arc::new(SseConnection::open(
                        http,
                        client,
                        authority,
                        frame_reader,
                        sink,
                    )?)
                }
            };
            Ok(connection)
        }
        .boxed()
    }
}
