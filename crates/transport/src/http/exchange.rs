//! Sends one message over HTTP and handles the response.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::call::{Content, content, not_mcp};
use super::stream::{Event, Events, whole};
use super::tasks::Purpose;
use super::{Inner, Posted, headers};
use crate::{ConnectionError, Frame, Item, Message};
use spillgate_mcp::{RequestId, messages, object};

/// Time limit for a server to accept a message other than a request. The next message is sent after
/// this time even if the server has not accepted.
const ACCEPTANCE: Duration = Duration::from_secs(10);
/// How long further events of a stream are passed on after the response. The stream should end with
/// the response; after this time we close the connection.
const AFTERWORDS: Duration = Duration::from_secs(5);
/// Delay before a broken stream is resumed, unless the server sets one (the official SDKs use the
/// same value). The delay doubles after every attempt that yields no event.
const PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum number of consecutive attempts to resume a stream that yield no event.
pub(super) const MOST_TRIES: u32 = 5;

/// A position in a stream.
#[derive(Debug, Default)]
pub(super) struct Spot {
    /// The id of the last event that had an id.
    pub(super) event: Option<String>,
    /// The delay that the server requested.
    retry: Option<Duration>,
    /// Attempts since the stream last yielded an event.
    pub(super) tries: u32,
}

impl Spot {
    pub(super) fn after(event: Option<String>) -> Self {
        Self {
            event,
            ..Self::default()
        }
    }

    pub(super) fn pause(&self) -> Duration {
        let first = self.retry.unwrap_or(PAUSE).max(SHORTEST_PAUSE);
        // The delay is never shorter than the server requested.
        let most = LONGEST_PAUSE.max(first);
        first.saturating_mul(1 << self.tries.min(10)).min(most)
    }

    fn pass(&mut self, event: &Event) {
        self.tries = 0;
        if let Some(id) = &event.tags.id {
            self.event = Some(id.clone());
        }
        self.retry = event.tags.retry.or(self.retry);
    }
}

/// How a stream ended.
#[derive(Debug)]
pub(super) enum End {
    /// The stream ended after the response.
    Answered,
    /// The stream ended before the response: the server closed it, or it broke.
    Early(Option<ConnectionError>),
}

impl Inner {
    /// Sends a request and reports its outcome to the sink.
    pub(super) fn request(
        self: Arc<Self>,
        message: Message,
        of: RequestId,
    ) -> Result<(), ConnectionError> {
        let tasks = Arc::clone(&self.tasks);
        tasks.spawn(Purpose::Request(of.clone()), async move {
            if let Some(last) = self.answer(&message, &of).await {
                self.tell(Some(&of), None, last).await;
            }
        })
    }

    /// Sends a request and passes on the events of its response. Returns the last event if it has
    /// not been passed on.
    async fn answer(&self, message: &Message, of: &RequestId) -> Option<Item> {
        let posted = match self.post(message).await {
            Ok(posted) => posted,
            Err(error) => return Some(Item::Failed(error)),
        };
        match content(&posted.response) {
            Content::Json => match whole(posted.response, &self.frame_reader).await {
                Ok(frame) if frame.is_answer() => {
                    self.learn(message, &frame);
                    Some(Item::Message(frame))
                }
                Ok(_) => Some(Item::Failed(ConnectionError::NotMcp(
                    "JSON that is no answer to a request".to_owned(),
                ))),
                Err(error) => Some(Item::Failed(error)),
            },
            Content::Events => {
                if !self.resume {
                    // Announces the stream, so that the client also gets its response as a stream,
                    // whatever the first event is.
                    self.tell(Some(of), None, Item::Mark { retry: None }).await;
                }
                self.follow(posted.response, message, of).await
            }
            Content::Refusal => Some(Item::Refused(self.refused(posted).await)),
            Content::Nothing => {
                let status = posted.response.status().as_u16();
                let what = format!("HTTP status {status} but no response to the request");
                Some(Item::Failed(ConnectionError::NotMcp(what)))
            }
            Content::Other => Some(Item::Failed(not_mcp(&posted.response))),
        }
    }

    /// Follows the stream of a request until its response arrives. Resumes the stream if it breaks.
    async fn follow(&self, first: Response, message: &Message, of: &RequestId) -> Option<Item> {
        let mut spot = Spot::default();
        let mut response = first;
        loop {
            let mut events = Events::new(response, self.frame_reader.clone());
            let end = self.drain(&mut events, &mut spot, Some((message, of)));
            let error = match end.await {
                End::Answered => return None,
                // Do not resume: the stream would send the same large message again.
                End::Early(Some(error @ ConnectionError::TooLong(_))) => {
                    return Some(Item::Failed(error));
                }
                End::Early(error) => error,
            };
            if spot.event.is_none() {
                let error = error.unwrap_or_else(closed_early);
                return Some(Item::Failed(error));
            }
            if !self.resume {
                return Some(Item::Ended);
            }
            response = match self.again(&mut spot).await {
                Ok(response) => response,
                Err(item) => return Some(item),
            };
        }
    }

    /// Passes on the events of a stream until it ends.
    pub(super) async fn drain(
        &self,
        events: &mut Events,
        spot: &mut Spot,
        request: Option<(&Message, &RequestId)>,
    ) -> End {
        let mut is_answered = false;
        loop {
            let next = match is_answered {
                true => match timeout(AFTERWORDS, events.next()).await {
                    Ok(next) => next,
                    Err(_) => return End::Answered,
                },
                false => events.next().await,
            };
            let event = match next {
                _ if is_answered && !matches!(next, Ok(Some(_))) => return End::Answered,
                Ok(Some(event)) => event,
                Ok(None) => return End::Early(None),
                Err(error) => return End::Early(Some(error)),
            };
            spot.pass(&event);
            let of = request.map(|(_, of)| of);
            let Event { tags, frame } = event;
            let item = match frame {
                Some(_) if !tags.is_message() => continue,
                Some(frame) => {
                    if let Some((message, _)) = request
                        && frame.is_answer()
                    {
                        is_answered = true;
                        self.learn(message, &frame);
                    }
                    Item::Message(frame)
                }
                None => Item::Mark { retry: tags.retry },
            };
            self.tell(of, tags.id, item).await;
        }
    }

    /// Resumes the stream of a request.
    async fn again(&self, spot: &mut Spot) -> Result<Response, Item> {
        let failed = |error| Err(Item::Failed(error));
        let mut last = closed_early();
        while spot.tries < MOST_TRIES {
            sleep(spot.pause()).await;
            spot.tries += 1;
            let posted = match self.get(spot.event.as_deref()).await {
                Ok(posted) => posted,
                Err(error @ ConnectionError::Unreachable(_)) => {
                    last = error;
                    continue;
                }
                Err(error) => return failed(error),
            };
            match content(&posted.response) {
                Content::Events => return Ok(posted.response),
                Content::Refusal if may_pass(&posted) => {
                    let status = posted.response.status().as_u16();
                    last = ConnectionError::Unreachable(format!("HTTP status {status}"));
                }
                Content::Refusal => {
                    let refusal = self.refused(posted).await;
                    return match refusal.session_lost {
                        true => Err(Item::Refused(refusal)),
                        false => failed(closed_early()),
                    };
                }
                _ => return failed(closed_early()),
            }
        }
        failed(last)
    }

    /// Sends a message other than a request, and waits until the server has accepted it.
    pub(super) async fn note(self: Arc<Self>, message: Message) -> Result<(), ConnectionError> {
        let (tell, told) = oneshot::channel();
        let inner = Arc::clone(&self);
        self.tasks.spawn(Purpose::Note, async move {
            let accepted = inner.accepted(&message).await;
            let (accepted, response) = match accepted {
                Ok(response) => (Ok(()), response),
                Err(error) => (Err(error), None),
            };
            // The caller may have stopped waiting.
            let _ = tell.send(accepted);
            if let Some(response) = response {
                inner.pass_on(response).await;
            }
        })?;
        match timeout(ACCEPTANCE, told).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(_)) => Err(ConnectionError::Gone("was closed".to_owned())),
            Err(_) => Ok(()),
        }
    }

    async fn accepted(&self, message: &Message) -> Result<Option<Response>, ConnectionError> {
        let posted = self.post(message).await?;
        match content(&posted.response) {
            Content::Refusal => Err(ConnectionError::Refused(self.refused(posted).await)),
            Content::Json | Content::Events => Ok(Some(posted.response)),
            // Accepted. The body, if any, is not a message.
            Content::Nothing | Content::Other => Ok(None),
        }
    }

    /// Passes on the response to a message that is not a single request: the responses to a batch.
    async fn pass_on(&self, response: Response) {
        if content(&response) == Content::Events {
            let mut events = Events::new(response, self.frame_reader.clone());
            self.drain(&mut events, &mut Spot::default(), None).await;
            return;
        }
        if let Ok(frame) = whole(response, &self.frame_reader).await
            && frame.is_answer()
        {
            self.tell(None, None, Item::Message(frame)).await;
        }
    }

    /// Stores the parts of a response that later messages depend on.
    fn learn(&self, request: &Message, answer: &Frame) {
        let Some(bytes) = answer.in_memory() else {
            return;
        };
        match request.method.as_deref() {
            Some("initialize") => {
                let version = messages(bytes).iter().find_map(|answer| {
                    let result: Initialized = object(answer.result?)?;
                    Some(result.version)
                });
                self.session().version = version;
            }
            Some("tools/list") => {
                let version = self.session().version.clone();
                if version.is_some_and(|version| headers::is_modern(&version)) {
                    self.params.learn(bytes);
                }
            }
            _ => {}
        }
    }
}

#[derive(serde::Deserialize)]
struct Initialized {
    #[serde(rename = "protocolVersion")]
    version: String,
}

/// Whether a refusal is temporary.
pub(super) fn may_pass(posted: &Posted) -> bool {
    let status = posted.response.status();
    status.is_server_error() && status.as_u16() != 501
        || matches!(status.as_u16(), 408 | 409 | 425 | 429)
}

fn closed_early() -> ConnectionError {
    ConnectionError::Unreachable("it closed the stream before the answer".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_taken_up_after_its_event_and_waits_longer_each_time() {
        let mut spot = Spot::after(Some("e1".to_owned()));
        assert_eq!(spot.event.as_deref(), Some("e1"));
        let first = spot.pause();
        spot.tries = 1;
        assert!(spot.pause() > first);
    }
}
