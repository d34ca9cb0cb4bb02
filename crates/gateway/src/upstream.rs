//! One server, as one client has it: opened when it is needed, opened again
//! when it has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use spillgate_wire::{Link, LinkError, Message, Parcel, Sink};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};

use crate::gateway::Server;
use crate::locked;
use crate::rest::Rest;
use crate::rewrite::Learnt;
use crate::session::Session;

/// A server's place among those of a session.
pub(crate) type Slot = usize;

/// How long a server that was opened again may take to greet.
const GREETING: Duration = Duration::from_secs(60);

/// A server of a session.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) slot: Slot,
    pub(crate) server: Arc<Server>,
    /// What its answers told.
    pub(crate) learnt: Arc<Learnt>,
    state: Mutex<State>,
    /// Held while it is opened, so that it is opened once.
    opening: AsyncMutex<()>,
    /// Whether it has written what is no message.
    is_noisy: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    link: Option<Arc<dyn Link>>,
    rest: Rest,
    /// The client's `initialize` and `notifications/initialized`, to be said
    /// again to a server that is opened again.
    initialize: Option<Message>,
    initialized: Option<Message>,
}

impl Upstream {
    pub(crate) fn new(slot: Slot, server: Arc<Server>, learnt: Arc<Learnt>) -> Self {
        Self {
            slot,
            server,
            learnt,
            state: Mutex::default(),
            opening: AsyncMutex::default(),
            is_noisy: AtomicBool::new(false),
        }
    }

    /// It wrote what is no message; whether for the first time.
    pub(crate) fn is_first_noise(&self) -> bool {
        !self.is_noisy.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn name(&self) -> &str {
        &self.server.spec.name
    }

    /// Passes a message on, to a server that is opened for it if need be.
    pub(crate) async fn send(
        &self,
        session: &Arc<Session>,
        message: Message,
    ) -> Result<(), LinkError> {
        self.remember(&message);
        let link = match self.link() {
            Some(link) => link,
            None => self.open(session, &message).await?,
        };
        link.send(message).await
    }

    /// What a server that is opened again has to be told.
    fn remember(&self, message: &Message) {
        match message.method.as_deref() {
            Some("initialize") => locked(&self.state).initialize = Some(message.clone()),
            Some("notifications/initialized") => {
                locked(&self.state).initialized = Some(message.clone());
            }
            _ => {}
        }
    }

    /// It is to be told what another server was told when the client greeted.
    pub(crate) fn greet_like(&self, other: &Self) {
        let other = locked(&other.state);
        let mut state = locked(&self.state);
        state.initialize.clone_from(&other.initialize);
        state.initialized.clone_from(&other.initialized);
    }

    pub(crate) fn link(&self) -> Option<Arc<dyn Link>> {
        locked(&self.state).link.clone()
    }

    /// How it ended, unless it is up or was never opened.
    pub(crate) fn how_it_ended(&self) -> Option<String> {
        let state = locked(&self.state);
        let how = state.rest.how_it_ended().filter(|_| state.link.is_none())?;
        Some(how.to_owned())
    }

    /// Opens it, and greets it if a server before it was greeted.
    pub(crate) async fn open(
        &self,
        session: &Arc<Session>,
        first: &Message,
    ) -> Result<Arc<dyn Link>, LinkError> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(link) = self.link() {
            return Ok(link);
        }
        let greeting = {
            let mut state = locked(&self.state);
            state.rest.open(Instant::now())?;
            let is_again = first.method.as_deref() != Some("initialize");
            is_again.then(|| (state.initialize.clone(), state.initialized.clone()))
        };
        let inbox = Inbox {
            session: Arc::downgrade(session),
            slot: self.slot,
        };
        let opened = session.ways.open(&self.server.spec, Arc::new(inbox)).await;
        let link = opened.inspect_err(|error| drop(self.note_end(&error.to_string())))?;
        locked(&self.state).link = Some(Arc::clone(&link));
        if let Some((Some(initialize), initialized)) = greeting {
            tracing::info!(server = self.name(), "greeted for the client");
            self.greet(session, &link, initialize, initialized).await?;
        }
        Ok(link)
    }

    async fn greet(
        &self,
        session: &Arc<Session>,
        link: &Arc<dyn Link>,
        initialize: Message,
        initialized: Option<Message>,
    ) -> Result<(), LinkError> {
        let (message, answer) = session.question_again(self, &initialize);
        link.send(message).await?;
        match timeout(GREETING, answer).await {
            Ok(Ok(Ok(_))) => {}
            Ok(Ok(Err(how))) => return Err(LinkError::Gone(how)),
            _ => {
                let how = "did not answer `initialize` when it was started again";
                return Err(LinkError::Gone(how.to_owned()));
            }
        }
        match initialized {
            Some(initialized) => link.send(initialized).await,
            None => Ok(()),
        }
    }

    /// Notes that it has ended, and gives the link that it had.
    pub(crate) fn note_end(&self, how: &str) -> Option<Arc<dyn Link>> {
        let mut state = locked(&self.state);
        state.rest.end(how, Instant::now());
        state.link.take()
    }
}

/// Where a server's parcels go.
#[derive(Debug)]
struct Inbox {
    session: Weak<Session>,
    slot: Slot,
}

impl Sink for Inbox {
    fn take(&self, parcel: Parcel) -> BoxFuture<'_, ()> {
        async move {
            // A session that is gone has nobody who waits.
            if let Some(session) = self.session.upgrade() {
                session.from_server(self.slot, parcel).await;
            }
        }
        .boxed()
    }
}

/// A message that is not a request.
pub(crate) fn notice(frame: Bytes, method: Option<&str>) -> Message {
    Message {
        frame,
        id: None,
        method: method.map(ToOwned::to_owned),
        name: None,
        headers: Vec::new(),
    }
}
