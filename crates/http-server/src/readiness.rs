//! Whether this process should get requests: `GET /readyz`, for load balancers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

/// How long the outcome of a check is used again. Several load balancers may ask once a second.
const KEPT: Duration = Duration::from_secs(3);

/// How long a request waits for a check. A check that takes longer goes on, and the next request
/// waits for it.
const LIMIT: Duration = Duration::from_secs(2);

/// Why a process should get no requests. Everybody may read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(pub String);

/// A check that may take a while.
type Check = Arc<dyn Fn() -> Result<(), NotReady> + Send + Sync>;

/// Whether this process should get requests. Copies of it say the same.
#[derive(Clone, Default)]
pub struct Readiness(Arc<State>);

#[derive(Default)]
struct State {
    is_draining: AtomicBool,
    checked: Mutex<Checked>,
}

/// The last check.
#[derive(Default)]
struct Checked {
    check: Option<Check>,
    running: Option<JoinHandle<Result<(), NotReady>>>,
    last: Option<(Instant, Result<(), NotReady>)>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Readiness")
            .field(&self.0.is_draining)
            .finish()
    }
}

impl Readiness {
    /// Says from now on that this process should get no new requests, because it is about to end.
    pub fn drain(&self) {
        self.0.is_draining.store(true, Ordering::Relaxed);
    }

    /// Sets the check. It runs on a thread of its own, and at most once at the same time.
    pub(crate) fn check_by(
        &mut self,
        check: impl Fn() -> Result<(), NotReady> + Send + Sync + 'static,
    ) {
        let check: Check = Arc::new(check);
        let checked = Checked {
            check: Some(check),
            ..Checked::default()
        };
        self.0 = Arc::new(State {
            checked: Mutex::new(checked),
            ..State::default()
        });
    }

    /// Returns the page. `servers` says what is wrong with the servers behind the gateway.
    pub(crate) async fn page(&self, servers: Option<&str>) -> Response {
        let is_draining = self.0.is_draining.load(Ordering::Relaxed);
        let mut reasons: Vec<String> = servers.map(str::to_owned).into_iter().collect();
        // Whoever drains the process needs no check.
        if !is_draining && let Err(why) = self.0.checked.lock().await.outcome().await {
            reasons.push(why.0);
        }
        let (status, body) = match (is_draining, &*reasons) {
            (true, _) => (
                StatusCode::SERVICE_UNAVAILABLE,
                json!({"status": "draining"}),
            ),
            (false, []) => (StatusCode::OK, json!({"status": "ready"})),
            (false, reasons) => (
                StatusCode::SERVICE_UNAVAILABLE,
                json!({"status": "not ready", "reasons": reasons}),
            ),
        };
        let kind = [(CONTENT_TYPE, "application/json")];
        (status, kind, body.to_string()).into_response()
    }
}

impl Checked {
    /// Returns the outcome of the last check, or of a new one if that is too old.
    async fn outcome(&mut self) -> Result<(), NotReady> {
        let Some(check) = &self.check else {
            return Ok(());
        };
        if let Some((at, last)) = &self.last
            && at.elapsed() < KEPT
        {
            return last.clone();
        }
        let check = Arc::clone(check);
        let running = self
            .running
            .get_or_insert_with(|| spawn_blocking(move || check()));
        let outcome = match timeout(LIMIT, &mut *running).await {
            Ok(done) => {
                self.running = None;
                done.unwrap_or_else(|_| Err(NotReady("the check failed".to_owned())))
            }
            Err(_) => Err(NotReady("the store does not answer".to_owned())),
        };
        let was_ready = self.last.as_ref().is_none_or(|(_, last)| last.is_ok());
        match &outcome {
            Err(why) if was_ready => tracing::warn!(%why, "this process is not ready"),
            Ok(()) if !was_ready => tracing::warn!("this process is ready again"),
            _ => {}
        }
        self.last = Some((Instant::now(), outcome.clone()));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::channel;
    use std::thread;

    use axum::body::to_bytes;

    use super::*;

    async fn told(readiness: &Readiness, servers: Option<&str>) -> String {
        let page = readiness.page(servers).await;
        let status = page.status().as_u16();
        let body = to_bytes(page.into_body(), 1000).await.unwrap();
        format!("{status} {}", String::from_utf8_lossy(&body))
    }

    #[tokio::test]
    async fn each_reason_is_told() {
        let mut readiness = Readiness::default();
        assert_eq!(told(&readiness, None).await, r#"200 {"status":"ready"}"#);
        readiness.check_by(|| Err(NotReady("store_denied".to_owned())));
        assert_eq!(
            told(&readiness, Some("no server is up")).await,
            r#"503 {"reasons":["no server is up","store_denied"],"status":"not ready"}"#
        );
        let copy = readiness.clone();
        copy.drain();
        assert_eq!(told(&readiness, None).await, r#"503 {"status":"draining"}"#);
    }

    #[tokio::test]
    async fn an_outcome_is_kept_for_some_seconds() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let mut readiness = Readiness::default();
        readiness.check_by(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        for _ in 0..50 {
            told(&readiness, None).await;
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
        tokio::time::pause();
        tokio::time::advance(KEPT).await;
        tokio::time::resume();
        told(&readiness, None).await;
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_check_that_hangs_is_told_and_not_begun_again() {
        let (end, ended) = channel::<()>();
        let ended = parking_lot::Mutex::new(ended);
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let mut readiness = Readiness::default();
        readiness.check_by(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let _ended = ended.lock().recv();
            Ok(())
        });
        for _ in 0..2 {
            let page = told(&readiness, None).await;
            assert!(page.contains("the store does not answer"), "{page}");
            readiness.0.checked.lock().await.last = None;
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
        drop(end);
        thread::sleep(Duration::from_millis(50));
        assert_eq!(told(&readiness, None).await, r#"200 {"status":"ready"}"#);
    }
}
