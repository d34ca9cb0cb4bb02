//! Handles POST, GET and DELETE at the MCP endpoint.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use spillgate_gateway::{Incoming, RESULTS_HEADER};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::auth::RequestIdentity;
use crate::client_streams::ClientStreams;
use crate::generation;
use crate::media;
use crate::post_body::{PendingRequest, PostBody, params};
use crate::problem::Problem;
use crate::reply::{OpenStream, StreamOwner};
use crate::server::Inner;
use crate::sessions::Client;
use crate::tenants::Doors;
use spillgate_mcp::{Generation, error_code};

/// The header that names the session.
pub(crate) use spillgate_mcp::meta::SESSION_HEADER as SESSION;

/// The time limit for a whole body, as a multiple of the limit for one part of it.
const PARTS: u32 = 10;

type Reply = Result<Response<Body>, Problem>;

pub(crate) async fn post(State(server): State<Arc<Inner>>, request: Request) -> impl IntoResponse {
    server.post(request).await.into_response()
}

pub(crate) async fn get(State(server): State<Arc<Inner>>, request: Request) -> impl IntoResponse {
    server
        .get(request.headers(), &identity(request.extensions()))
        .into_response()
}

pub(crate) async fn delete(
    State(server): State<Arc<Inner>>,
    request: Request,
) -> impl IntoResponse {
    server
        .delete(request.headers(), &identity(request.extensions()))
        .into_response()
}

fn identity(extensions: &axum::http::Extensions) -> RequestIdentity {
    let identity = extensions.get::<RequestIdentity>();
    identity
        .cloned()
        .expect("invariant: no request comes here but through the gate")
}

/// A request to the endpoint.
struct Call<'a> {
    parts: &'a Parts,
    identity: &'a RequestIdentity,
    doors: &'a Doors,
    body: Bytes,
}

impl Inner {
    async fn post(&self, request: Request) -> Reply {
        let (parts, body) = request.into_parts();
        let identity = identity(&parts.extensions);
        media::check_post(&parts.headers)?;
        let session = session_id(&parts.headers);
        let known = session.filter(|id| self.sessions.knows(id));
        if let Some(rates) = &self.rates {
            rates.count(known, identity.ip)?;
        }
        let doors = self.doors_of(&identity.owner).await?;
        let body = self.read(body, self.settings.max_body_bytes).await?;
        let call = Call {
            parts: &parts,
            identity: &identity,
            doors: &doors,
            body: body.clone(),
        };
        let post_body = PostBody::read(&body)?;
        match generation::of_body(&post_body, &parts.headers)? {
            Generation::Legacy => self.post_to_session(&post_body, call, session).await,
            Generation::Modern => self.post_alone(&post_body, call).await,
        }
    }

    /// Reads a body of at most `most` bytes, with a limit on the time that it takes.
    pub(crate) async fn read(&self, body: Body, most: usize) -> Result<Bytes, Problem> {
        let wait = self.settings.read_time();
        let late = || Problem::http(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
        let open_stream = async {
            let mut whole = BytesMut::new();
            let mut parts = body.into_data_stream();
            loop {
                let part = timeout(wait, parts.next()).await.map_err(|_| late())?;
                let Some(part) = part else {
                    return Ok(whole.freeze());
                };
                let part =
                    part.map_err(|_| Problem::bad(error_code::SERVER_ERROR, "the body broke off"))?;
                if whole.len() + part.len() > most {
                    let what = format!("a body may have {most} bytes at most");
                    return Err(Problem::http(StatusCode::PAYLOAD_TOO_LARGE, what));
                }
                whole.extend_from_slice(&part);
            }
        };
        timeout(wait * PARTS, open_stream)
            .await
            .map_err(|_| late())?
    }

    async fn post_to_session(
        &self,
        post_body: &PostBody<'_>,
        call: Call<'_>,
        session: Option<&str>,
    ) -> Reply {
        let Some(id) = session else {
            if post_body.is_initialize() {
                return self.begin(post_body, call).await;
            }
            return Err(
                session_needed().of(post_body.pending_requests().pop().map(|asked| asked.key))
            );
        };
        let client = self.sessions.find(id, &call.identity.owner)?;
        generation::check_session(&call.parts.headers, client.streams.agreed().as_deref())?;
        self.hand_over(post_body, call, client).await
    }

    /// Begins a session with a client.
    async fn begin(&self, post_body: &PostBody<'_>, call: Call<'_>) -> Reply {
        let streams = ClientStreams::new(Generation::Legacy, self.settings.kept_messages);
        let owner = call.identity.owner.clone();
        let share = call.doors.max_sessions();
        let client = self.sessions.begin((owner, share), &streams, || {
            call.doors.backend().session(streams.clone() as Arc<_>)
        })?;
        let forget = ForgetOnDrop {
            server: self,
            client: Some(&client),
        };
        let mut response = self.hand_over(post_body, call, Arc::clone(&client)).await?;
        if streams.is_refused() {
            return Ok(response);
        }
        forget.keep();
        if let Ok(id) = HeaderValue::from_str(&client.id) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    async fn hand_over(
        &self,
        post_body: &PostBody<'_>,
        call: Call<'_>,
        client: Arc<Client>,
    ) -> Reply {
        let asked = post_body.pending_requests();
        let incoming = call.incoming();
        if asked.is_empty() {
            // The frame is passed on completely, even if the client stops waiting.
            if let Some(handing) = spawn_unless_ready(client.peer.take(incoming)) {
                drop(handing.await);
            }
            return Ok(accepted());
        }
        let most = self.settings.max_requests_per_session;
        let receiver = client.streams.open(&asked, most)?;
        let handing = spawn_unless_ready(client.peer.take(incoming));
        let open_stream = OpenStream {
            receiver,
            streams: Arc::clone(&client.streams),
            peer: Arc::clone(&client.peer),
            owner: StreamOwner::Session(client),
            handing,
            keep_alive: self.settings.keep_alive(),
        };
        Ok(open_stream.respond().await)
    }

    /// Handles a stateless request or notification.
    async fn post_alone(&self, post_body: &PostBody<'_>, call: Call<'_>) -> Reply {
        let Some(message) = post_body
            .single()
            .filter(|message| message.method.is_some())
        else {
            let what = "without a session, no request of the server waits for a response";
            return Err(Problem::bad(error_code::INVALID_REQUEST, what));
        };
        let schema = |tool: &str| call.doors.backend().input_schema(tool);
        generation::check_standard(message, &call.parts.headers, schema)?;
        let streams = ClientStreams::new(Generation::Modern, 0);
        let incoming = call.incoming();
        let asked = post_body.pending_requests();
        if asked.is_empty() {
            let peer = call.doors.backend().exchange(streams as Arc<_>);
            let handing = async move {
                peer.take(incoming).await;
                peer.close(false).await;
            };
            drop(tokio::spawn(handing).await);
            return Ok(accepted());
        }
        let most = self.settings.max_requests_per_session;
        let permit = self.concurrency.take(call.identity.name(), most)?;
        let said = params(message).request_meta();
        let receiver = streams.open(&asked, 1)?;
        let peer = call.doors.backend().exchange(streams.clone() as Arc<_>);
        let handing = spawn_unless_ready(peer.take(incoming));
        if asked.iter().any(PendingRequest::is_lasting) {
            self.note_lasting(&call.identity.owner, &streams);
        }
        let open_stream = OpenStream {
            receiver,
            streams,
            peer,
            owner: StreamOwner::Exchange {
                permit,
                is_whole: said.version.is_some() && said.has_capabilities,
            },
            handing,
            keep_alive: self.settings.keep_alive(),
        };
        Ok(open_stream.respond().await)
    }

    fn get(&self, headers: &HeaderMap, identity: &RequestIdentity) -> Reply {
        media::check_get(headers)?;
        let client = self.session_of(headers, identity)?;
        generation::check_session(headers, client.streams.agreed().as_deref())?;
        let after = headers.get("last-event-id");
        let after = after.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let receiver = client.streams.listen(after.as_deref())?;
        let handing = tokio::spawn(client.peer.listen(after));
        let open_stream = OpenStream {
            receiver,
            streams: Arc::clone(&client.streams),
            peer: Arc::clone(&client.peer),
            owner: StreamOwner::Session(client),
            handing: Some(handing),
            keep_alive: self.settings.keep_alive(),
        };
        Ok(open_stream.events([crate::sse::COMMENT].into()))
    }

    fn delete(&self, headers: &HeaderMap, identity: &RequestIdentity) -> Reply {
        let client = self.session_of(headers, identity)?;
        self.sessions.forget(&client.id);
        tokio::spawn(async move { client.end(false).await });
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    fn session_of(
        &self,
        headers: &HeaderMap,
        identity: &RequestIdentity,
    ) -> Result<Arc<Client>, Problem> {
        if generation::of_headers(headers)? == Generation::Modern {
            return Err(Problem::method("POST"));
        }
        let id = session_id(headers).ok_or_else(session_needed)?;
        self.sessions.find(id, &identity.owner)
    }
}

impl Call<'_> {
    /// Returns the frame and the headers that the gateway receives, without anything that
    /// identifies the client.
    fn incoming(&self) -> Incoming {
        let passes = |name: &str| {
            (name.starts_with("mcp-") && name != SESSION)
                || ["traceparent", "tracestate", "baggage", RESULTS_HEADER].contains(&name)
        };
        let headers = self.parts.headers.iter();
        let headers = headers.filter(|(name, _)| passes(name.as_str()));
        Incoming {
            frame: self.body.clone(),
            headers: headers
                .filter_map(|(name, value)| {
                    Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
                })
                .collect(),
        }
    }
}

/// Removes a session that was not established because its `initialize` failed or its client
/// disconnected before the response.
struct ForgetOnDrop<'a> {
    server: &'a Inner,
    client: Option<&'a Arc<Client>>,
}

impl ForgetOnDrop<'_> {
    fn keep(mut self) {
        self.client = None;
    }
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.client.cloned() {
            self.server.sessions.forget(&client.id);
            tokio::spawn(async move { client.end(true).await });
        }
    }
}

/// Runs a future that passes a message to the gateway, and completes it even if the client stops
/// waiting. Starts a task for it, and returns the task, only if the future does not complete
/// immediately, because starting a task wakes another thread.
fn spawn_unless_ready(mut handing: BoxFuture<'static, ()>) -> Option<JoinHandle<()>> {
    match (&mut handing).now_or_never() {
        Some(()) => None,
        None => Some(tokio::spawn(handing)),
    }
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

fn session_needed() -> Problem {
    Problem::bad(
        error_code::SERVER_ERROR,
        "Bad Request: Session ID is required",
    )
}

fn accepted() -> Response<Body> {
    StatusCode::ACCEPTED.into_response()
}

/// Returns the interval between two searches for idle sessions.
pub(crate) fn sweep_every(idle: Duration) -> Duration {
    (idle / 4).clamp(Duration::from_millis(50), Duration::from_secs(30))
}
