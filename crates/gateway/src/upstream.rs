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
    /// Counts its starts and ends, so that the end of one life is not taken for
    /// that of the next.
    life: u64,
    /// It was opened again and has not greeted yet: nobody else may talk to it.
    is_greeting: bool,
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
        // The client's answers do not wait: the greeting may wait for them.
        let link = match message.method {
            Some(_) => self.greeted(),
            None => self.link(),
        };
        let link = match link {
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

    /// Its link, once it may be talked to.
    fn greeted(&self) -> Option<Arc<dyn Link>> {
        let state = locked(&self.state);
        state.link.clone().filter(|_| !state.is_greeting)
    }

    /// Whether this is its present life.
    pub(crate) fn lives(&self, life: u64) -> bool {
        locked(&self.state).life == life
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
        if let Some(link) = self.greeted() {
            return Ok(link);
        }
        let (life, greeting) = {
            let mut state = locked(&self.state);
            state.rest.open(Instant::now())?;
            state.life += 1;
            let is_again = first.method.as_deref() != Some("initialize");
            let initialize = state.initialize.clone().filter(|_| is_again);
            let greeting = initialize.map(|one| (one, state.initialized.clone()));
            (state.life, greeting)
        };
        let inbox = Inbox {
            session: Arc::downgrade(session),
            slot: self.slot,
            life,
        };
        let opened = session.ways.open(&self.server.spec, Arc::new(inbox)).await;
        let link = opened.inspect_err(|error| drop(self.note_end(&error.to_string())))?;
        let ready = async {
            self.note_opened(life, &link, greeting.is_some())?;
            let Some((initialize, initialized)) = greeting else {
                return Ok(());
            };
            tracing::info!(server = self.name(), "greeted for the client");
            self.greet(session, &link, initialize, initialized).await
        };
        if let Err(error) = ready.await {
            if self.lives(life) {
                drop(self.note_end(&error.to_string()));
            }
            session.work(async move { link.close(true).await });
            return Err(error);
        }
        locked(&self.state).is_greeting = false;
        Ok(link)
    }

    /// Notes the link of a life, unless that is over already.
    fn note_opened(
        &self,
        life: u64,
        link: &Arc<dyn Link>,
        is_greeting: bool,
    ) -> Result<(), LinkError> {
        let mut state = locked(&self.state);
        if state.life != life {
            let how = state.rest.how_it_ended().unwrap_or("has ended");
            return Err(LinkError::Gone(how.to_owned()));
        }
        state.link = Some(Arc::clone(link));
        state.is_greeting = is_greeting;
        Ok(())
    }

    async fn greet(
        &self,
        session: &Arc<Session>,
        link: &Arc<dyn Link>,
        initialize: Message,
        initialized: Option<Message>,
    ) -> Result<(), LinkError> {
        let (message, answer) = session.question_again(self, &initialize);
        let key = message.id.clone();
        let answered = async {
            link.send(message).await?;
            let silent = "did not answer `initialize` when it was started again";
            match timeout(GREETING, answer).await {
                Ok(Ok(Ok(_))) => Ok(()),
                Ok(Ok(Err(how))) => Err(LinkError::Gone(how)),
                _ => Err(LinkError::Gone(silent.to_owned())),
            }
        };
        answered.await.inspect_err(|_| {
            drop(key.and_then(|key| session.pending.take(&key)));
        })?;
        match initialized {
            Some(initialized) => link.send(initialized).await,
            None => Ok(()),
        }
    }

    /// Notes that it has ended, and gives the link that it had.
    pub(crate) fn note_end(&self, how: &str) -> Option<Arc<dyn Link>> {
        let mut state = locked(&self.state);
        state.rest.end(how, Instant::now());
        state.life += 1;
        state.is_greeting = false;
        state.link.take()
    }
}

/// Where a server's parcels go.
#[derive(Debug)]
struct Inbox {
    session: Weak<Session>,
    slot: Slot,
    life: u64,
}

impl Sink for Inbox {
    fn take(&self, parcel: Parcel) -> BoxFuture<'_, ()> {
        async move {
            // A session that is gone has nobody who waits.
            if let Some(session) = self.session.upgrade() {
                session.from_server(self.slot, self.life, parcel).await;
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
