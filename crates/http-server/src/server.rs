//! The HTTP server: its routes, and the checks that every request passes first.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing;
use axum::{Router, http::StatusCode};
use parking_lot::Mutex;
use serde_json::json;
use spillgate_artifact::Clock;
use spillgate_gateway::Hub;
use spillgate_http_api::{Api, Caller};
use tokio::net::TcpListener;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::auth::{
    Authenticator, OAuthParts, RequestIdentity, SessionOwner, ValidTokens, WELL_KNOWN,
};
use crate::backend::{Backend, HubBackend};
use crate::client_streams::ClientStreams;
use crate::endpoint;
use crate::guard::{Guard, Part};
use crate::health::Health;
use crate::limits::{ConcurrencyLimit, Rates};
use crate::problem::Problem;
use crate::readiness::{NotReady, Readiness};
use crate::sessions::Sessions;
use crate::settings::{Auth, Token};
use crate::tenants::{Doors, Tenants};
use crate::{HttpServerError, HttpServerSettings, api, page, serve, tenants};

/// A function that returns the state of the servers.
type HealthSource = Arc<dyn Fn() -> Health + Send + Sync>;
/// A function that returns the metrics in the text format of OpenMetrics.
type MetricsSource = Arc<dyn Fn() -> String + Send + Sync>;

/// The HTTP server: the MCP endpoint of a gateway, the API for programs, a page for a person, or
/// several of them.
pub struct HttpServer {
    backend: Option<Arc<dyn Backend>>,
    api: Option<Arc<Api>>,
    page: Option<Page>,
    settings: HttpServerSettings,
    tokens: ValidTokens,
    tenants: Option<Arc<dyn Tenants>>,
    oauth_parts: Option<OAuthParts>,
    health: Option<HealthSource>,
    readiness: Readiness,
    metrics: Option<MetricsSource>,
}

/// The routes of a page for a person, and the path below which they stand.
type Page = (&'static str, Router);

/// The state that all requests share.
pub(crate) struct Inner {
    /// What all clients reach if there are no tenants.
    doors: Arc<Doors>,
    tenants: Option<Arc<dyn Tenants>>,
    page: Option<Page>,
    pub(crate) settings: HttpServerSettings,
    pub(crate) sessions: Sessions,
    pub(crate) concurrency: Arc<ConcurrencyLimit>,
    pub(crate) rates: Option<Rates>,
    guard: Guard,
    pub(crate) authenticator: Authenticator,
    health: Option<HealthSource>,
    readiness: Readiness,
    metrics: Option<MetricsSource>,
    /// The subscription streams of stateless requests, which would otherwise stay open at shutdown.
    lasting: Mutex<Vec<(SessionOwner, Weak<ClientStreams>)>>,
}

/// The two addresses of a connection: the client's and our own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionAddresses {
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer")
            .field("backend", &self.backend)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Returns a server for a hub, whose health and metrics it also serves.
    #[must_use]
    pub fn new(hub: Arc<Hub>, settings: HttpServerSettings) -> Self {
        let (watched, counted) = (Arc::clone(&hub), Arc::clone(hub.metrics()));
        let required = settings.required_servers.clone();
        let in_use = Arc::default();
        Self::of(Arc::new(HubBackend { hub, in_use }), settings)
            .health(move || Health::of(&watched, &required))
            .metrics(move || counted.text())
    }

    /// Returns a server for any backend.
    #[must_use]
    pub fn of(backend: Arc<dyn Backend>, settings: HttpServerSettings) -> Self {
        Self {
            backend: Some(backend),
            ..Self::without_mcp(settings)
        }
    }

    /// Returns a server without an MCP endpoint.
    #[must_use]
    pub fn without_mcp(settings: HttpServerSettings) -> Self {
        Self {
            backend: None,
            api: None,
            page: None,
            settings,
            tokens: ValidTokens::default(),
            tenants: None,
            oauth_parts: None,
            health: None,
            readiness: Readiness::default(),
            metrics: None,
        }
    }

    /// Adds the API for programs. Its requests pass the same checks as those of MCP clients.
    #[must_use]
    pub fn api(self, api: Api) -> Self {
        let api = Some(Arc::new(api));
        Self { api, ..self }
    }

    /// Adds a page for a person's browser, below the path `prefix`. Only its own pages may send
    /// requests to it. It refuses requests without a session by itself; if clients authenticate, the
    /// extensions of a request with a valid token have the `Caller`.
    #[must_use]
    pub fn page(self, prefix: &'static str, routes: Router) -> Self {
        let page = Some((prefix, routes));
        Self { page, ..self }
    }

    /// Sets the tokens for `auth = bearer`. The caller reads them from the files and variables that
    /// the settings name.
    #[must_use]
    pub fn tokens(self, tokens: &[Token]) -> Self {
        self.changing_tokens(ValidTokens::new(tokens))
    }

    /// Sets the tokens for `auth = bearer`, which the caller may replace while the server runs.
    #[must_use]
    pub fn changing_tokens(self, tokens: ValidTokens) -> Self {
        Self { tokens, ..self }
    }

    /// Gives each principal a gateway and an API of its own, with a store of its own. The backend and
    /// the API of this server are then only for its health and its routes: no request reaches them.
    /// `settings.auth` must not be [`Auth::None`](crate::Auth::None).
    #[must_use]
    pub fn tenants(self, tenants: Arc<dyn Tenants>) -> Self {
        let tenants = Some(tenants);
        Self { tenants, ..self }
    }

    /// Sets what `auth = oauth` needs. `http` fetches the issuer's keys and should not follow
    /// redirects; `clock` is used to check when a token expires.
    #[must_use]
    pub fn oauth(self, http: reqwest::Client, clock: Arc<dyn Clock>) -> Self {
        let oauth_parts = Some(OAuthParts { http, clock });
        Self {
            oauth_parts,
            ..self
        }
    }

    /// Sets the content of `GET /healthz`.
    #[must_use]
    pub fn health(self, health: impl Fn() -> Health + Send + Sync + 'static) -> Self {
        let health: Option<HealthSource> = Some(Arc::new(health));
        Self { health, ..self }
    }

    /// Sets what `GET /readyz` checks besides the servers, such as the store. The check may take a
    /// while: its outcome is used again for some seconds. Its error is a reason that everybody may
    /// read.
    #[must_use]
    pub fn ready(
        mut self,
        check: impl Fn() -> Result<(), NotReady> + Send + Sync + 'static,
    ) -> Self {
        self.readiness.check_by(check);
        self
    }

    /// Returns what `GET /readyz` says. It can be changed while the server runs.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// Returns how long the server goes on after the signal to stop before it accepts no more
    /// connections.
    #[must_use]
    pub fn drain_time(&self) -> Duration {
        Duration::from_secs(self.settings.drain_seconds)
    }

    /// Sets the content of `GET /metrics`. If it is not set, there is no such page.
    #[must_use]
    pub fn metrics(self, metrics: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let metrics: Option<MetricsSource> = Some(Arc::new(metrics));
        Self { metrics, ..self }
    }

    /// Serves until `shutdown` completes. Then stops accepting connections, gives requests in
    /// flight the configured time to finish, ends all sessions and returns.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), HttpServerError> {
        let bound = listener.local_addr().map_err(HttpServerError::Listen)?;
        self.settings.check(bound)?;
        let inner = Arc::new(self.inner()?);
        serve::serve(inner, listener, shutdown).await
    }

    fn inner(self) -> Result<Inner, HttpServerError> {
        let settings = self.settings;
        if self.api.is_some() && is_below(&settings.path, spillgate_http_api::PREFIX) {
            let what = "is used by the HTTP API".to_owned();
            return Err(HttpServerError::setting(("path", what)));
        }
        if let Some((prefix, _)) = &self.page
            && is_below(&settings.path, prefix)
        {
            let what = "is used by the page (`[ui]`)".to_owned();
            return Err(HttpServerError::setting(("path", what)));
        }
        if self.tenants.is_some() && settings.auth == Auth::None {
            let what = "must ask for tokens, because each principal has its own store";
            return Err(HttpServerError::setting(("auth", what.to_owned())));
        }
        let idle = Duration::from_secs(settings.session_idle_seconds);
        Ok(Inner {
            guard: Guard::new(&settings).map_err(HttpServerError::setting)?,
            authenticator: Authenticator::new(&settings, self.tokens, self.oauth_parts)?,
            sessions: Sessions::new(settings.sessions(), idle, settings.replica.as_deref()),
            rates: settings.rate.and_then(Rates::new),
            concurrency: Arc::default(),
            doors: Arc::new(Doors::to(self.backend, self.api)),
            tenants: self.tenants,
            page: self.page,
            health: self.health,
            readiness: self.readiness,
            metrics: self.metrics,
            lasting: Mutex::default(),
            settings,
        })
    }
}

impl Inner {
    /// Returns what the sender of a request reaches, if it may make a request now.
    pub(crate) async fn doors_of(&self, owner: &SessionOwner) -> Result<Arc<Doors>, Problem> {
        match &self.tenants {
            None => Ok(Arc::clone(&self.doors)),
            Some(tenants) => tenants::doors_of(&**tenants, &owner.principal()?).await,
        }
    }

    /// Returns the sender of a request as the API and the page know it. With tenants, it is the
    /// principal.
    pub(crate) fn caller(&self, owner: &SessionOwner) -> Result<Caller, Problem> {
        Ok(Caller(match &self.tenants {
            None => Authenticator::name_of(owner),
            Some(_) => owner.principal()?.into(),
        }))
    }

    /// Returns the router with all routes.
    pub(crate) fn router(self: &Arc<Self>) -> Router {
        let authentication = middleware::from_fn_with_state(Arc::clone(self), authenticate);
        let host_check = middleware::from_fn_with_state(Arc::clone(self), check_host_and_origin);
        let mut router = Router::new();
        if self.doors.backend.is_some() {
            let own = routing::post(endpoint::post)
                .get(endpoint::get)
                .delete(endpoint::delete);
            router = router.route(&self.settings.path, own.layer(authentication.clone()));
        }
        if let Some(routes) = &self.doors.api {
            let admission = middleware::from_fn_with_state(Arc::clone(self), api::admit);
            let routes = match &self.tenants {
                None => routes.clone(),
                Some(_) => Router::new().fallback(api::dispatch),
            };
            let routes = routes.layer(admission);
            router = router.nest_service(spillgate_http_api::PREFIX, routes);
        }
        if let Some((prefix, routes)) = &self.page {
            let admission = middleware::from_fn_with_state(Arc::clone(self), page::admit);
            router = router.nest_service(prefix, routes.clone().layer(admission));
        }
        if self.metrics.is_some() {
            let page = routing::get(metrics);
            let page = match self.settings.open_metrics {
                true => page,
                false => page.layer(authentication),
            };
            router = router.route("/metrics", page);
        }
        if let Authenticator::Oauth(_) = self.authenticator {
            let path = format!("{WELL_KNOWN}{}", self.settings.path.trim_end_matches('/'));
            router = router.route(WELL_KNOWN, routing::get(resource_metadata));
            if path != WELL_KNOWN {
                router = router.route(&path, routing::get(resource_metadata));
            }
        }
        router
            .route("/healthz", routing::get(healthz))
            .route("/readyz", routing::get(readyz))
            .layer(self.cors())
            .layer(host_check)
            .with_state(Arc::clone(self))
    }

    /// Returns the CORS rules for pages of allowed origins. Requests from other origins do not
    /// reach this layer, because the guard refuses them.
    fn cors(self: &Arc<Self>) -> CorsLayer {
        let inner = Arc::clone(self);
        let is_allowed = move |origin: &HeaderValue, head: &Parts| {
            let part = part_of(&inner, &head.uri);
            let origin = origin.to_str();
            origin.is_ok_and(|origin| inner.guard.is_origin_allowed(origin, part))
        };
        let session = HeaderName::from_static(endpoint::SESSION);
        CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(is_allowed))
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers([session, WWW_AUTHENTICATE, RETRY_AFTER])
            .max_age(Duration::from_secs(60 * 60))
    }

    /// Authenticates the sender of a request.
    pub(crate) async fn identify(
        &self,
        ends: ConnectionAddresses,
        headers: &HeaderMap,
    ) -> Result<RequestIdentity, Problem> {
        let ip = ends.peer.ip();
        let owner = self.authenticator.ask(headers).await?;
        Ok(RequestIdentity { owner, ip })
    }

    /// Registers a stateless request whose stream ends at shutdown, or when its owner may not come in
    /// any more.
    pub(crate) fn note_lasting(&self, owner: &SessionOwner, streams: &Arc<ClientStreams>) {
        let mut lasting = self.lasting.lock();
        lasting.retain(|(_, streams)| streams.strong_count() > 0);
        lasting.push((owner.clone(), Arc::downgrade(streams)));
    }

    /// Ends the subscription streams of stateless requests whose owner may not come in any more.
    pub(crate) fn end_barred_lasting(&self) {
        let lasting = self.lasting.lock();
        let barred = lasting
            .iter()
            .filter(|(owner, _)| !self.authenticator.still_knows(owner));
        for streams in barred.filter_map(|(_, streams)| streams.upgrade()) {
            tracing::info!("a subscription is closed: its token is not valid any more");
            streams.end_lasting();
        }
    }

    /// Ends the GET streams and the subscription streams, which would otherwise stay open.
    pub(crate) fn end_lasting(&self) {
        for client in self.sessions.all() {
            client.streams.end_lasting();
        }
        let lasting = self.lasting.lock();
        for streams in lasting.iter().filter_map(|(_, streams)| streams.upgrade()) {
            streams.end_lasting();
        }
    }
}

/// Checks that a request is meant for this server.
async fn check_host_and_origin(
    State(inner): State<Arc<Inner>>,
    request: Request,
    next: Next,
) -> Response {
    let ends = ends_of(&request);
    let part = part_of(&inner, request.uri());
    let checked = inner
        .guard
        .check(request.uri(), request.headers(), ends.local, part);
    match checked {
        Ok(()) => next.run(request).await,
        Err(problem) if part != Part::Other => problem.into_details(),
        Err(problem) => problem.into_response(),
    }
}

/// Returns the part of the server that a request is for. Refusals of the API have another form.
fn part_of(inner: &Inner, uri: &Uri) -> Part {
    let page = inner.page.as_ref().map(|(prefix, _)| *prefix);
    if inner.doors.api.is_some() && is_below(uri.path(), spillgate_http_api::PREFIX) {
        Part::Api
    } else if page.is_some_and(|prefix| is_below(uri.path(), prefix)) {
        Part::Page
    } else {
        Part::Other
    }
}

/// Whether a path is `prefix` or begins with it.
fn is_below(path: &str, prefix: &str) -> bool {
    let rest = path.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the addresses of the connection of a request.
pub(crate) fn ends_of(request: &Request) -> ConnectionAddresses {
    let ends = request.extensions().get::<ConnectionAddresses>();
    *ends.expect("invariant: each connection's requests carry its ends")
}

/// Authenticates the requests that need authentication.
async fn authenticate(
    State(inner): State<Arc<Inner>>,
    mut request: Request,
    next: Next,
) -> Response {
    match inner.identify(ends_of(&request), request.headers()).await {
        Ok(identity) => {
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

async fn healthz(State(inner): State<Arc<Inner>>) -> Response {
    let health = inner.health.as_ref().map(|health| health());
    health.unwrap_or_default().into_response()
}

async fn readyz(State(inner): State<Arc<Inner>>) -> Response {
    let health = inner.health.as_ref().map(|health| health());
    let servers = health.and_then(|health| health.unready());
    inner.readiness.page(servers).await
}

async fn metrics(State(inner): State<Arc<Inner>>) -> Response {
    let Some(metrics) = &inner.metrics else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kind = [(
        CONTENT_TYPE,
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
    )];
    (kind, metrics()).into_response()
}

async fn resource_metadata(State(inner): State<Arc<Inner>>) -> Response {
    let metadata = match &inner.authenticator {
        Authenticator::Oauth(verifier) => verifier.metadata(),
        _ => json!({}),
    };
    let kind = [(CONTENT_TYPE, "application/json")];
    (kind, metadata.to_string()).into_response()
}
