//! What one principal reaches through the server. Without tenants, all clients reach the same.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use futures_util::future::BoxFuture;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use spillgate_artifact::Principal;
use spillgate_gateway::Hub;
use spillgate_http_api::Api;

use crate::backend::{Backend, HubBackend};
use crate::limits::too_many;
use crate::problem::Problem;

/// Why nothing can be opened for a principal, for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unopened(pub String);

/// Gives each principal what belongs to it.
pub trait Tenants: Send + Sync + fmt::Debug {
    /// Returns what a principal reaches. It has the same as at its last request, unless it made none for
    /// a long time.
    ///
    /// # Errors
    ///
    /// Fails if its store cannot be opened.
    fn doors<'a>(&'a self, of: &'a Principal) -> BoxFuture<'a, Result<Arc<Doors>, Unopened>>;
}

/// The limits of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DoorLimits {
    /// Maximum requests in a minute; more get status 429. `None` means no limit.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Maximum sessions at the same time; `None` means that only the limit for all holds.
    pub max_sessions: Option<usize>,
}

/// What a principal reaches: its gateway and its API, which use its store.
pub struct Doors {
    pub(crate) backend: Option<Arc<dyn Backend>>,
    pub(crate) api: Option<Router>,
    rate: Option<DefaultDirectRateLimiter>,
    max_sessions: Option<usize>,
    /// Each session and each stateless request of the backend has a copy.
    in_use: Arc<()>,
}

impl fmt::Debug for Doors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doors")
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}

impl Doors {
    /// Returns the doors to a gateway and an API, both with the store of one principal.
    #[must_use]
    pub fn new(hub: Option<Arc<Hub>>, api: Option<Api>, limits: DoorLimits) -> Self {
        let in_use = Arc::new(());
        let backend = hub.map(|hub| {
            let in_use = Arc::clone(&in_use);
            Arc::new(HubBackend { hub, in_use }) as Arc<dyn Backend>
        });
        Self {
            rate: limiter(limits.requests_per_minute),
            max_sessions: limits.max_sessions,
            in_use,
            ..Self::to(backend, api.map(Arc::new))
        }
    }

    /// Returns the doors to a backend and an API without limits.
    pub(crate) fn to(backend: Option<Arc<dyn Backend>>, api: Option<Arc<Api>>) -> Self {
        Self {
            backend,
            api: api.map(Api::router),
            rate: None,
            max_sessions: None,
            in_use: Arc::default(),
        }
    }

    /// Returns the doors to the same gateway, whose sessions go on, and to another API, with other limits.
    #[must_use]
    pub fn with_api(&self, api: Option<Api>, limits: DoorLimits) -> Self {
        Self {
            rate: limiter(limits.requests_per_minute),
            max_sessions: limits.max_sessions,
            in_use: Arc::clone(&self.in_use),
            ..Self::to(self.backend.clone(), api.map(Arc::new))
        }
    }

    /// Returns the maximum number of its sessions.
    pub(crate) fn max_sessions(&self) -> Option<usize> {
        self.max_sessions
    }

    /// Whether a session or a request of the gateway uses it now.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        // The backend has one, too.
        Arc::strong_count(&self.in_use) > 1 + usize::from(self.backend.is_some())
    }

    /// Counts a request. Returns after how many seconds the next one may come if it came too early.
    #[must_use]
    pub fn too_early(&self) -> Option<u64> {
        let early = self.rate.as_ref()?.check().err()?;
        let wait = early.wait_time_from(DefaultClock::default().now());
        Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
    }

    /// The service behind the MCP endpoint.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(crate) fn backend(&self) -> &dyn Backend {
        let backend = self.backend.as_deref();
        backend.expect("invariant: the endpoint has a route only if there is a backend")
    }
}

fn limiter(requests_per_minute: Option<NonZeroU32>) -> Option<DefaultDirectRateLimiter> {
    requests_per_minute.map(|rate| RateLimiter::direct(Quota::per_minute(rate)))
}

/// Returns what a principal reaches, if it may make a request now.
pub(crate) async fn doors_of(
    tenants: &dyn Tenants,
    principal: &Principal,
) -> Result<Arc<Doors>, Problem> {
    let doors = tenants.doors(principal).await.map_err(|error| {
        tracing::error!(%error, "the store of a principal could not be opened");
        let what = "your store cannot be opened now; try again later";
        Problem::http(StatusCode::SERVICE_UNAVAILABLE, what).again_in(10)
    })?;
    match doors.too_early() {
        Some(seconds) => Err(too_many(seconds)),
        None => Ok(doors),
    }
}
