//! Which servers have been silent for too long?

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use spillgate_mcp::{RequestId, frame};
use tokio::time::{Instant, sleep};

use crate::error::too_slow;
use crate::session::Session;
use crate::session::in_flight::InFlightRequest;
use crate::telemetry::request_span::Outcome;
use crate::upstream::notice;

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Methods whose answers are meant to take as long as they take.
const PATIENT: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// Looks after a session until it is gone, while any request waits.
pub(crate) fn watch(session: &Arc<Session>) {
    let session = Arc::downgrade(session);
    tokio::spawn(async move {
        while let Some(idle) = look(&session).await {
            match idle {
                // Wakes nobody while nothing waits.
                true => match session.upgrade().map(|session| Arc::clone(&session.asked)) {
                    Some(asked) => asked.notified().await,
                    None => return,
                },
                false => sleep(LOOK_EVERY).await,
            }
        }
    });
}

/// Answers what waits for too long; whether nothing waits. `None` once the
/// session is gone.
async fn look(session: &Weak<Session>) -> Option<bool> {
    let session = session.upgrade()?;
    let now = Instant::now();
    let limit = |waiting: &InFlightRequest| {
        let upstream = session.upstreams.get(waiting.slot)?;
        upstream
            .server
            .timeout
            .filter(|_| !PATIENT.contains(&&*waiting.method))
    };
    let over = |waiting: &InFlightRequest| {
        limit(waiting).is_some_and(|limit| now - waiting.heard >= limit)
    };
    let late: Vec<(RequestId, InFlightRequest)> = session.in_flight.drain(over);
    for (key, waiting) in late {
        give_up(&session, &key, waiting).await;
    }
    Some(session.in_flight.is_empty())
}

async fn give_up(session: &Arc<Session>, key: &RequestId, mut waiting: InFlightRequest) {
    waiting.end(Outcome::Timeout);
    let Some(upstream) = session.upstreams.get(waiting.slot) else {
        return;
    };
    let silent = upstream.server.timeout.unwrap_or_default();
    let how = format!(
        "has not answered `{}` for {} s",
        waiting.method,
        silent.as_secs()
    );
    tracing::warn!(
        server = upstream.name(),
        method = waiting.method,
        "does not answer"
    );
    session.in_flight.give_up(key.clone());
    if let Some(connection) = upstream.connection() {
        let told = frame::line(frame::cancelled(&waiting.id, Some("no answer in time")));
        let told = notice(Bytes::from(told), Some("notifications/cancelled"));
        let (key, is_told) = (key.clone(), waiting.method != "initialize");
        // Aside: it may not even read.
        session.work(async move {
            connection.abandon(&key).await;
            // The protocol forbids to cancel the greeting; and one that is gone
            // needs not be told.
            if is_told {
                drop(connection.send(told).await);
            }
        });
    }
    if session.tries_another(&mut waiting, None) {
        return;
    }
    match waiting.for_us {
        Some(for_us) => drop(for_us.send(Err(how))),
        None => {
            session
                .to_client(too_slow(&waiting.id, upstream.name(), &how))
                .await;
        }
    }
}
