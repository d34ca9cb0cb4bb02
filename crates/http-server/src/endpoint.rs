//! What does the endpoint do with a POST, a GET and a DELETE?

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
use spillgate_gateway::Incoming;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::auth::Visitor;
use crate::client_streams::ClientStreams;
use crate::generation;
use crate::media;
use crate::post_body::{Asked, Posted, params};
use crate::problem::Problem;
use crate::reply::{Reading, Whose};
use crate::server::Inner;
use crate::sessions::Client;
use spillgate_mcp::{Generation, error_code};

/// The header that names the session.
pub(crate) use spillgate_mcp::meta::SESSION_HEADER as SESSION;

/// Times the time for a part of a body that all of it may take.
const PARTS: u32 = 10;

type Reply = Result<Response<Body>, Problem>;

pub(crate) async fn post(State(front): State<Arc<Inner>>, request: Request) -> impl IntoResponse {
    front.post(request).await.into_response()
}

pub(crate) async fn get(State(front): State<Arc<Inner>>, request: Request) -> impl IntoResponse {
    front
        .get(request.headers(), &visitor(request.extensions()))
        .into_response()
}

pub(crate) async fn delete(State(front): State<Arc<Inner>>, request: Request) -> impl IntoResponse {
    front
        .delete(request.headers(), &visitor(request.extensions()))
        .into_response()
}

fn visitor(extensions: &axum::http::Extensions) -> Visitor {
    let visitor = extensions.get::<Visitor>();
    visitor
        .cloned()
        .expect("invariant: no request comes here but through the gate")
}

/// A request for the endpoint.
struct Call<'a> {
    parts: &'a Parts,
    visitor: &'a Visitor,
    body: Bytes,
}

impl Inner {
    async fn post(&self, request: Request) -> Reply {
        let (parts, body) = request.into_parts();
        let visitor = visitor(&parts.extensions);
        media::check_post(&parts.headers)?;
        let session = session_id(&parts.headers);
        let known = session.filter(|id| self.sessions.knows(id));
        if let Some(rates) = &self.rates {
            rates.count(known, visitor.ip)?;
        }
        let body = self.read(body).await?;
        let call = Call {
            parts: &parts,
            visitor: &visitor,
            body: body.clone(),
        };
        let posted = Posted::read(&body)?;
        match generation::of_posted(&posted, &parts.headers)? {
            Generation::Legacy => self.post_to_session(&posted, call, session).await,
            Generation::Modern => self.post_alone(&posted, call).await,
        }
    }

    /// The body, which may not be too large and must come in time.
    async fn read(&self, body: Body) -> Result<Bytes, Problem> {
        let most = self.settings.max_body_bytes;
        let wait = self.settings.read_time();
        let late = || Problem::http(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
        let reading = async {
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
        timeout(wait * PARTS, reading).await.map_err(|_| late())?
    }

    async fn post_to_session(
        &self,
        posted: &Posted<'_>,
        call: Call<'_>,
        session: Option<&str>,
    ) -> Reply {
        let Some(id) = session else {
            if posted.is_initialize() {
                return self.begin(posted, call).await;
            }
            return Err(session_needed().of(posted.asked().pop().map(|asked| asked.key)));
        };
        let client = self.sessions.find(id, &call.visitor.principal)?;
        generation::check_session(&call.parts.headers, client.desk.agreed().as_deref())?;
        self.hand_over(posted, call, client).await
    }

    /// Begins a session.
    async fn begin(&self, posted: &Posted<'_>, call: Call<'_>) -> Reply {
        let desk = ClientStreams::new(Generation::Legacy, self.settings.kept_messages);
        let principal = call.visitor.principal.clone();
        let client = self.sessions.begin(principal, &desk, || {
            self.backend.session(desk.clone() as Arc<_>)
        })?;
        let forget = Forget {
            front: self,
            client: Some(&client),
        };
        let mut response = self.hand_over(posted, call, Arc::clone(&client)).await?;
        if desk.is_refused() {
            return Ok(response);
        }
        forget.keep();
        if let Ok(id) = HeaderValue::from_str(&client.id) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    async fn hand_over(&self, posted: &Posted<'_>, call: Call<'_>, client: Arc<Client>) -> Reply {
        let asked = posted.asked();
        let incoming = call.incoming();
        if asked.is_empty() {
            // To its end, even if the client does not wait for that.
            if let Some(handing) = begun(client.peer.take(incoming)) {
                drop(handing.await);
            }
            return Ok(accepted());
        }
        let most = self.settings.max_requests_per_session;
        let inlet = client.desk.open(&asked, most)?;
        let handing = begun(client.peer.take(incoming));
        let reading = Reading {
            inlet,
            desk: Arc::clone(&client.desk),
            peer: Arc::clone(&client.peer),
            whose: Whose::Session(client),
            handing,
            keep_alive: self.settings.keep_alive(),
        };
        Ok(reading.respond().await)
    }

    /// A stateless request or notification.
    async fn post_alone(&self, posted: &Posted<'_>, call: Call<'_>) -> Reply {
        let Some(message) = posted.single().filter(|message| message.method.is_some()) else {
            let what = "without a session, no request of the server waits for a response";
            return Err(Problem::bad(error_code::INVALID_REQUEST, what));
        };
        let schema = |tool: &str| self.backend.input_schema(tool);
        generation::check_standard(message, &call.parts.headers, schema)?;
        let desk = ClientStreams::new(Generation::Modern, 0);
        let incoming = call.incoming();
        let asked = posted.asked();
        if asked.is_empty() {
            let peer = self.backend.exchange(desk as Arc<_>);
            let handing = async move {
                peer.take(incoming).await;
                peer.close(false).await;
            };
            drop(tokio::spawn(handing).await);
            return Ok(accepted());
        }
        let most = self.settings.max_requests_per_session;
        let seat = self.seats.take(call.visitor.name(), most)?;
        let said = params(message).said();
        let inlet = desk.open(&asked, 1)?;
        let peer = self.backend.exchange(desk.clone() as Arc<_>);
        let handing = begun(peer.take(incoming));
        if asked.iter().any(Asked::is_lasting) {
            self.note_lasting(&desk);
        }
        let reading = Reading {
            inlet,
            desk,
            peer,
            whose: Whose::Exchange {
                seat,
                is_whole: said.version.is_some() && said.has_capabilities,
            },
            handing,
            keep_alive: self.settings.keep_alive(),
        };
        Ok(reading.respond().await)
    }

    fn get(&self, headers: &HeaderMap, visitor: &Visitor) -> Reply {
        media::check_get(headers)?;
        let client = self.session_of(headers, visitor)?;
        generation::check_session(headers, client.desk.agreed().as_deref())?;
        let after = headers.get("last-event-id");
        let after = after.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let inlet = client.desk.listen(after.as_deref())?;
        let handing = tokio::spawn(client.peer.listen(after));
        let reading = Reading {
            inlet,
            desk: Arc::clone(&client.desk),
            peer: Arc::clone(&client.peer),
            whose: Whose::Session(client),
            handing: Some(handing),
            keep_alive: self.settings.keep_alive(),
        };
        Ok(reading.events([crate::sse::COMMENT].into()))
    }

    fn delete(&self, headers: &HeaderMap, visitor: &Visitor) -> Reply {
        let client = self.session_of(headers, visitor)?;
        self.sessions.forget(&client.id);
        tokio::spawn(async move { client.end(false).await });
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    fn session_of(&self, headers: &HeaderMap, visitor: &Visitor) -> Result<Arc<Client>, Problem> {
        if generation::of_headers(headers)? == Generation::Modern {
            return Err(Problem::method("POST"));
        }
        let id = session_id(headers).ok_or_else(session_needed)?;
        self.sessions.find(id, &visitor.principal)
    }
}

impl Call<'_> {
    /// What the gateway gets of it. Nothing that says who the client is.
    fn incoming(&self) -> Incoming {
        let passes = |name: &str| {
            (name.starts_with("mcp-") && name != SESSION)
                || ["traceparent", "tracestate", "baggage"].contains(&name)
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

/// A session that did not come about is forgotten: its `initialize` failed, or
/// its client went before it was answered.
struct Forget<'a> {
    front: &'a Inner,
    client: Option<&'a Arc<Client>>,
}

impl Forget<'_> {
    fn keep(mut self) {
        self.client = None;
    }
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.client.cloned() {
            self.front.sessions.forget(&client.id);
            tokio::spawn(async move { client.end(true).await });
        }
    }
}

/// Begins to hand something to the gateway, which goes on to its end even if the
/// client does not wait for that. Mostly there is nothing to wait for; then it
/// is done here, without a task that another thread would be woken for.
fn begun(mut handing: BoxFuture<'static, ()>) -> Option<JoinHandle<()>> {
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

/// How often what is quiet for too long is looked for.
pub(crate) fn sweep_every(idle: Duration) -> Duration {
    (idle / 4).clamp(Duration::from_millis(50), Duration::from_secs(30))
}
