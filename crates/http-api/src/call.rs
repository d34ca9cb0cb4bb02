//! One request of the API: its sender, its parameters and its body, and the thread that answers it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use spillgate_artifact::{Handle, Interrupt};
use tokio::task::spawn_blocking;

use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::{Api, Caller};

/// A request that was admitted.
pub(crate) struct Call {
    pub(crate) api: Arc<Api>,
    pub(crate) caller: Caller,
    pub(crate) parts: Parts,
    pub(crate) body: Body,
    /// The variable segment of the path: a handle or a hash.
    segment: Option<String>,
}

impl Call {
    /// Takes a request apart.
    pub(crate) async fn of(api: Arc<Api>, request: Request) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let segment = Path::<String>::from_request_parts(&mut parts, &()).await;
        let segment = segment.ok().map(|Path(segment)| segment);
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller = caller.ok_or_else(|| Problem::ours("unadmitted", "the sender is unknown"))?;
        Ok(Self {
            api,
            caller,
            parts,
            body,
            segment,
        })
    }

    /// Returns the variable segment of the path.
    pub(crate) fn segment(&self) -> &str {
        self.segment.as_deref().unwrap_or_default()
    }

    /// Returns the handle that the path names.
    pub(crate) fn handle(&self) -> Result<Handle, Problem> {
        let parsed = self.segment().parse();
        parsed.map_err(|error: spillgate_artifact::HandleError| Problem::bad(error.to_string()))
    }

    /// Returns the parameters of the query string. Unknown ones are an error.
    pub(crate) fn parameters<T: Parameters + DeserializeOwned>(&self) -> Result<T, Problem> {
        crate::parameters::parsed(self.parts.uri.query().unwrap_or_default())
    }

    /// Returns a header as a text; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.parts.headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}

impl Api {
    /// Runs work that computes or reads files on a thread of its own, when it is its turn. The work
    /// is told to end if the caller does not wait for it any more.
    pub async fn work<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Self, &Interrupt) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::clone(&self.turns.work).acquire_owned().await;
        let turn = turn.map_err(|_| Problem::ours("stopped", "the server stops"))?;
        let wait = Interrupt::default();
        let _cancels = wait.on_drop();
        let working = spawn_blocking(move || {
            let _turn = turn;
            work(&self, &wait)
        });
        working.await.map_err(|_| unexpected())?
    }
}

/// The problem of work that panicked. The panic is in the log.
pub(crate) fn unexpected() -> Problem {
    Problem::ours("internal", "the server failed at this request")
}
