//! An HTTP API with which programs store the results of tools and read stored results.
//!
//! The routes stand below [`PREFIX`]. The HTTP server adds them to its own and admits their
//! requests: a request that arrives here comes from the [`Caller`] in its extensions.
//!
//! ```text
//!             admission ─▶ route ─▶ parameters, checked ─▶ offload, lookup, store
//! program ──▶ Caller       one table, from which the OpenAPI document is made, too
//! ```

mod answer;
mod artifacts;
mod body;
mod call;
mod compress;
mod conversation;
mod lookups;
mod offload;
mod openapi;
mod parameters;
mod problem;
mod raw;
mod retrieve;
mod routes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use spillgate_retrieval::RetrievalTools;
use spillgate_store::Names;
use tokio::sync::Semaphore;

pub use problem::Problem;
pub use raw::{shared, streamed};

/// The path below which all routes of the API stand.
pub const PREFIX: &str = "/v1";

/// The sender of a request, as a text that stays the same when the server starts again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller(pub String);

/// Tells whether the token with which a caller came in is valid still, for sessions that outlive a request.
#[derive(Clone)]
pub struct StillValid(pub Arc<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for StillValid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StillValid({})", self.0())
    }
}

/// Limits of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiLimits {
    /// Maximum size of a JSON body, in bytes. Such a body is read into memory.
    pub body_bytes: usize,
    /// Maximum size of a result that is sent as raw bytes; `None` is no limit. It is written to the
    /// store while it arrives.
    pub upload_bytes: Option<u64>,
    /// Time limit for each part of a body.
    pub part_time: Duration,
    /// Time limit for a whole body, and for the wait of a result until it may be sent.
    pub upload_time: Duration,
    /// Maximum number of results that are received at the same time; at least 1. More wait.
    pub uploads: usize,
}

/// The API, and the components that it uses.
pub struct Api {
    tools: RetrievalTools,
    /// The names of the results that `/v1/compress` replaced.
    names: Names,
    limits: ApiLimits,
    /// Whether raw bytes with secrets are sent.
    shows_secrets: bool,
    turns: Turns,
}

/// Limits of what is done at the same time. A copy has the same limits, so that APIs with copies keep
/// within them together.
#[derive(Debug, Clone)]
pub struct Turns {
    /// Permits for work that computes. More requests wait.
    work: Arc<Semaphore>,
    /// Permits for results that are received. A slow one does not take a permit from work that computes.
    uploads: Arc<Semaphore>,
}

impl Turns {
    /// Returns limits of requests that compute and of results that are received at the same time.
    #[must_use]
    pub fn new(work: usize, uploads: usize) -> Self {
        Self {
            work: Arc::new(Semaphore::new(work.max(1))),
            uploads: Arc::new(Semaphore::new(uploads.max(1))),
        }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Api {
    /// Returns an API that stores and reads with `tools`, whose store has these names. At most `turns` requests compute at the
    /// same time.
    #[must_use]
    pub fn new(tools: RetrievalTools, names: Names, limits: ApiLimits, turns: usize) -> Self {
        Self {
            tools,
            names,
            limits,
            shows_secrets: false,
            turns: Turns::new(turns, limits.uploads),
        }
    }

    /// Returns the limits of what is done at the same time.
    #[must_use]
    pub fn turns(&self) -> Turns {
        self.turns.clone()
    }

    /// Shares the limits of another API of the same process.
    #[must_use]
    pub fn sharing(self, turns: Turns) -> Self {
        Self { turns, ..self }
    }

    /// Returns the look-up tools, and with them the store.
    #[must_use]
    pub fn tools(&self) -> &RetrievalTools {
        &self.tools
    }

    /// Sets whether raw bytes with secrets are sent to programs (`secrets.raw_anywhere`).
    #[must_use]
    pub fn showing_secrets(self, shows_secrets: bool) -> Self {
        Self {
            shows_secrets,
            ..self
        }
    }
}
