//! Which way leads to a server?

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

/// Opens the way to a server.
pub trait Connector: Send + Sync + fmt::Debug {
    /// Opens it; what comes from the server goes to `sink`.
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Connection>, ConnectionError>>;
}

/// What a server behind HTTP is reached with.
#[derive(Debug, Clone)]
pub struct Access {
    /// Made with [`http_client`](crate::http_client).
    pub client: Client,
    /// Who gives credentials.
    pub authority: Option<Arc<dyn Authority>>,
}

/// Says what a server is reached with; an error says why it cannot be.
pub type AccessTo = Arc<dyn Fn(&HttpServer) -> Result<Access, String> + Send + Sync>;

/// The ways that there are.
pub struct StandardConnector {
    frame_reader: FrameReader,
    access: AccessTo,
    resume: bool,
    /// What is known of servers behind HTTP, by their names: connections are
    /// kept open between clients, and all profit from what one learns.
    known: Mutex<HashMap<String, (HttpServer, Access, ParamHeaders)>>,
}

impl fmt::Debug for StandardConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ways")
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}

impl StandardConnector {
    /// One whose messages come in by `frame_reader`. With `resume` a connection itself
    /// takes up streams that broke, else the client does.
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
        // Each change is one call on the map, so a panic elsewhere leaves it whole.
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

/// A connection that looks after its streams: it also opens the one for what belongs to
/// no request, once the session has begun.
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
            // Servers need not have such a stream.
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
