//! Gives up requests whose server has been silent for too long.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use spillgate_mcp::{RequestId, frame};
use spillgate_transport::Message;
use tokio::time::{Instant, sleep};

use crate::{InFlightRequest, Owner, RequestFailure};

/// Interval between two checks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Methods without a time limit: their responses may take any time.
const PATIENT: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// Watches the requests of an owner until the owner is gone.
pub fn watch<O: Owner>(owner: &Arc<O>) {
    let owner = Arc::downgrade(owner);
    tokio::spawn(async move {
        while let Some(idle) = look(&owner).await {
            match idle {
                // While nothing is in flight, sleep until a request is added.
                true => match owner
                    .upgrade()
                    .map(|owner| Arc::clone(&owner.in_flight().noted))
                {
                    Some(noted) => noted.notified().await,
                    None => return,
                },
                false => sleep(LOOK_EVERY).await,
            }
        }
    });
}

/// Answers with an error the requests that have waited for too long. Returns whether nothing is in
/// flight, or `None` if the owner is gone.
async fn look<O: Owner>(owner: &Weak<O>) -> Option<bool> {
    let owner = owner.upgrade()?;
    let now = Instant::now();
    let limit = |waiting: &InFlightRequest<O::Details>| {
        let upstream = owner.upstream(waiting.slot)?;
        upstream
            .server
            .timeout
            .filter(|_| !PATIENT.contains(&&*waiting.method))
    };
    let over = |waiting: &InFlightRequest<O::Details>| {
        limit(waiting).is_some_and(|limit| now - waiting.heard >= limit)
    };
    for (key, waiting) in owner.in_flight().drain(over) {
        give_up(&*owner, &key, waiting).await;
    }
    Some(owner.in_flight().is_empty())
}

async fn give_up<O: Owner>(owner: &O, key: &RequestId, waiting: InFlightRequest<O::Details>) {
    let Some(upstream) = owner.upstream(waiting.slot) else {
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
        "a server did not answer a request in time"
    );
    owner.in_flight().give_up(key.clone());
    if let Some(connection) = upstream.connection() {
        let told = frame::line(frame::cancelled(&waiting.id, Some("no answer in time")));
        let told = Message::notice(Bytes::from(told), Some("notifications/cancelled"));
        let (key, is_told) = (key.clone(), waiting.method != "initialize");
        // In the background, because the server may not be reading its input.
        owner.work(async move {
            connection.abandon(&key).await;
            // The protocol forbids cancelling `initialize`.
            if is_told {
                drop(connection.send(told).await);
            }
        });
    }
    let why = RequestFailure::TooSlow(how);
    owner.unanswered(&upstream, waiting, why).await;
}
