//! The stream for messages that belong to no request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::call::{Content, content, not_mcp};
use super::exchange::{MOST_TRIES, Spot, may_pass};
use super::stream::Events;
use super::tasks::Purpose;
use super::{Inner, Posted};
use crate::{ConnectionError, Item};

/// How long to wait for the head of the response. Some servers send the head only with the first
/// event, so after this time the stream counts as open.
const HEAD: Duration = Duration::from_secs(5);

/// The outcome of opening the stream.
enum Opened {
    Stream(Box<Events>),
    /// The server has no such stream, or the session has ended.
    Refused(ConnectionError),
    /// Opening failed, but a later attempt may succeed.
    Later(ConnectionError),
}

impl Inner {
    /// Opens the stream, or resumes it after an event.
    pub(super) async fn listen(
        self: Arc<Self>,
        after: Option<String>,
    ) -> Result<(), ConnectionError> {
        let purpose = match &after {
            None => Purpose::Listening,
            Some(event) => Purpose::Resuming(event.clone()),
        };
        // A client that opens the stream again has lost the previous one.
        self.tasks.replace(&purpose);
        let tasks = Arc::clone(&self.tasks);
        if self.resume {
            return tasks.spawn(purpose, self.keep_listening(after));
        }
        let (tell, told) = oneshot::channel();
        tasks.spawn(purpose, self.listen_once(after, tell))?;
        match timeout(HEAD, told).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(_)) => Err(ConnectionError::Gone("was closed".to_owned())),
            Err(_) => Ok(()),
        }
    }

    /// Reads one stream, for a client that resumes broken streams itself.
    async fn listen_once(
        self: Arc<Self>,
        after: Option<String>,
        tell: oneshot::Sender<Result<(), ConnectionError>>,
    ) {
        let mut events = match self.opened(after.as_deref()).await {
            Opened::Stream(events) => events,
            Opened::Refused(error) | Opened::Later(error) => {
                // If the caller has stopped waiting, it was told that the stream is open, so report
                // that the stream ended.
                if tell.send(Err(error)).is_err() {
                    self.tell(None, None, Item::Ended).await;
                }
                return;
            }
        };
        // The caller may have stopped waiting.
        let _ = tell.send(Ok(()));
        let mut spot = Spot::after(after);
        self.drain(&mut events, &mut spot, None).await;
        self.tell(None, None, Item::Ended).await;
    }

    /// Reads one stream after another until the connection is closed.
    async fn keep_listening(self: Arc<Self>, after: Option<String>) {
        let mut spot = Spot::after(after);
        loop {
            match self.opened(spot.event.as_deref()).await {
                Opened::Stream(mut events) => {
                    self.drain(&mut events, &mut spot, None).await;
                }
                Opened::Refused(error) => return self.cannot_listen(error).await,
                Opened::Later(error) => {
                    tracing::debug!(%error, "the server's event stream could not be opened; another attempt will follow");
                }
            }
            sleep(spot.pause()).await;
            spot.tries = (spot.tries + 1).min(MOST_TRIES);
        }
    }

    /// Logs why there is no stream. Most servers offer none, so this is not an error. A lost
    /// session is reported to the sink.
    async fn cannot_listen(&self, error: ConnectionError) {
        match error {
            ConnectionError::Refused(refusal) if refusal.session_lost => {
                self.tell(None, None, Item::Refused(refusal)).await;
            }
            error => {
                tracing::debug!(%error, "the server offers no stream for its own requests and notifications");
            }
        }
    }

    async fn opened(&self, after: Option<&str>) -> Opened {
        let posted: Posted = match self.get(after).await {
            Ok(posted) => posted,
            Err(error @ ConnectionError::Unreachable(_)) => return Opened::Later(error),
            Err(error) => return Opened::Refused(error),
        };
        match content(&posted.response) {
            Content::Events => {
                let events = Events::new(posted.response, self.frame_reader.clone());
                Opened::Stream(Box::new(events))
            }
            Content::Refusal => {
                let may_pass = may_pass(&posted);
                let error = ConnectionError::Refused(self.refused(posted).await);
                match may_pass {
                    true => Opened::Later(error),
                    false => Opened::Refused(error),
                }
            }
            _ => Opened::Refused(not_mcp(&posted.response)),
        }
    }
}
