//! One server, as one client has it: opened when it is needed, opened again
//! when it has ended.

pub(crate) mod instrumented;
pub(crate) mod restart_backoff;
pub(crate) mod upstream_set;
pub(crate) mod watchdog;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use spillgate_mcp::{messages, object};
use spillgate_wire::{Connection, ConnectionError, Message, ServerEvent, Sink};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use tokio::time::{Instant, timeout};

use crate::aggregate::{Fetches, Standing, why};
use crate::gateway::{DEFAULT_TIMEOUT, Server};
use crate::rewrite::Learnt;
use crate::session::Session;
use crate::upstream::restart_backoff::RestartBackoff;

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
    /// It has ended.
    ended: Notify,
    /// Held while it is opened, so that it is opened once.
    opening: AsyncMutex<()>,
    /// Whether it has written what is no message.
    is_noisy: AtomicBool,
    /// What became of the client's greeting, where there are several servers.
    greeted: watch::Sender<Greeted>,
    /// How it stands with the client, where there are several servers.
    pub(crate) standing: Standing,
    /// Its lists that are under way.
    pub(crate) fetches: Fetches,
    /// Somebody sees to it that it comes up.
    pub(crate) is_kept: AtomicBool,
}

/// What became of the client's greeting.
#[derive(Debug, Clone, Default)]
pub(crate) enum Greeted {
    /// Nothing yet.
    #[default]
    Waits,
    /// It answered; nothing is in it if it refused.
    Up(Arc<Map<String, Value>>),
    /// It could not be said.
    Failed(String),
}

#[derive(Debug, Default)]
struct State {
    connection: Option<Arc<dyn Connection>>,
    /// Counts its starts and ends, so that the end of one life is not taken for
    /// that of the next.
    life: u64,
    /// It is open and has not been greeted yet: nobody else may talk to it.
    is_greeting: bool,
    backoff: RestartBackoff,
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
            ended: Notify::new(),
            opening: AsyncMutex::default(),
            is_noisy: AtomicBool::new(false),
            greeted: watch::Sender::default(),
            standing: Standing::default(),
            fetches: Fetches::default(),
            is_kept: AtomicBool::new(false),
        }
    }

    /// The client greets all servers with this: it is said as soon as the server is
    /// open, and nobody talks to it before it has answered.
    pub(crate) fn be_greeted(&self, initialize: Message) {
        let mut state = self.state.lock();
        state.is_greeting = state.connection.is_some();
        state.initialize = Some(initialize);
    }

    /// Whether it has to be opened or greeted before it can be talked to.
    pub(crate) fn is_starting(&self) -> bool {
        let state = self.state.lock();
        state.is_greeting || state.connection.is_none() && state.initialize.is_some()
    }

    /// Whether it cannot be expected to answer soon.
    pub(crate) fn is_out(&self) -> bool {
        let is_resting = self.state.lock().backoff.is_resting(Instant::now());
        is_resting || self.standing.fault().is_some()
    }

    /// What becomes of the client's greeting, once that is known.
    pub(crate) async fn is_greeted(&self) -> Greeted {
        let mut greeted = self.greeted.subscribe();
        let known = greeted.wait_for(|greeted| !matches!(greeted, Greeted::Waits));
        known
            .await
            .map_or_else(|_| Greeted::default(), |known| known.clone())
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
    ) -> Result<(), ConnectionError> {
        if self.remember(&message) {
            // Said when its greeting is over.
            return self.open(session, true).await.map(drop);
        }
        let connection = match message.method.as_deref() {
            // The client's answers do not wait: the greeting may wait for them.
            None => match self.connection() {
                Some(connection) => connection,
                None => self.open(session, true).await?,
            },
            Some(method) => self.ready(session, method != "initialize").await?,
        };
        connection.send(message).await
    }

    /// Its connection, once it may be talked to; `greets` unless the message is itself the
    /// greeting.
    pub(crate) async fn ready(
        &self,
        session: &Arc<Session>,
        greets: bool,
    ) -> Result<Arc<dyn Connection>, ConnectionError> {
        match self.greeted() {
            Some(connection) => Ok(connection),
            None => self.open(session, greets).await,
        }
    }

    /// Notes what a server that is opened again has to be told. Whether this is told
    /// when the greeting is over, which is not so yet.
    fn remember(&self, message: &Message) -> bool {
        let mut state = self.state.lock();
        match message.method.as_deref() {
            Some("initialize") => state.initialize = Some(message.clone()),
            Some("notifications/initialized") => {
                state.initialized = Some(message.clone());
                let is_down = state.connection.is_none() && state.initialize.is_some();
                return is_down || state.is_greeting;
            }
            _ => {}
        }
        false
    }

    /// It is to be told what another server was told when the client greeted.
    pub(crate) fn greet_like(&self, other: &Self) {
        let other = other.state.lock();
        let mut state = self.state.lock();
        state.initialize.clone_from(&other.initialize);
        state.initialized.clone_from(&other.initialized);
    }

    pub(crate) fn connection(&self) -> Option<Arc<dyn Connection>> {
        self.state.lock().connection.clone()
    }

    /// Its connection, once it may be talked to.
    fn greeted(&self) -> Option<Arc<dyn Connection>> {
        let state = self.state.lock();
        state.connection.clone().filter(|_| !state.is_greeting)
    }

    /// Whether this is its present life.
    pub(crate) fn lives(&self, life: u64) -> bool {
        self.state.lock().life == life
    }

    /// How it ended, unless it is up or was never opened.
    pub(crate) fn how_it_ended(&self) -> Option<String> {
        let state = self.state.lock();
        let how = state
            .backoff
            .how_it_ended()
            .filter(|_| state.connection.is_none())?;
        Some(how.to_owned())
    }

    /// Waits until it has ended, and tells how.
    pub(crate) async fn ended(&self) -> String {
        loop {
            // Before the look: an end between the two would be missed.
            let ended = self.ended.notified();
            if let Some(how) = self.how_it_ended() {
                return how;
            }
            ended.await;
        }
    }

    /// Opens it if need be, and greets it if the client has greeted and `greets`.
    pub(crate) async fn open(
        &self,
        session: &Arc<Session>,
        greets: bool,
    ) -> Result<Arc<dyn Connection>, ConnectionError> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(connection) = self.greeted() {
            return Ok(connection);
        }
        let opened = self.opened(session, greets).await;
        if let Err(error) = &opened {
            self.greeted.send_replace(Greeted::Failed(why(error)));
        }
        opened
    }

    async fn opened(
        &self,
        session: &Arc<Session>,
        greets: bool,
    ) -> Result<Arc<dyn Connection>, ConnectionError> {
        let present = {
            let state = self.state.lock();
            state
                .connection
                .clone()
                .map(|connection| (connection, state.life))
        };
        let (connection, life) = match present {
            Some(present) => present,
            None => self.begin_life(session, greets).await?,
        };
        if !greets {
            return Ok(connection);
        }
        if let Err(error) = self.greet(session, &connection).await {
            if self.lives(life) {
                drop(self.note_end(&error.to_string()));
            }
            session.work(async move { connection.close(true).await });
            return Err(error);
        }
        Ok(connection)
    }

    async fn begin_life(
        &self,
        session: &Arc<Session>,
        greets: bool,
    ) -> Result<(Arc<dyn Connection>, u64), ConnectionError> {
        let (life, is_greeting) = {
            let mut state = self.state.lock();
            state.backoff.open(Instant::now())?;
            state.life += 1;
            (state.life, greets && state.initialize.is_some())
        };
        let inbox = Inbox {
            session: Arc::downgrade(session),
            slot: self.slot,
            life,
        };
        let opened = session
            .connector
            .open(&self.server.spec, Arc::new(inbox))
            .await;
        let connection = opened.inspect_err(|error| drop(self.note_end(&error.to_string())))?;
        if let Err(error) = self.note_opened(life, &connection, is_greeting) {
            session.work(async move { connection.close(true).await });
            return Err(error);
        }
        Ok((connection, life))
    }

    /// Notes the connection of a life, unless that is over already.
    fn note_opened(
        &self,
        life: u64,
        connection: &Arc<dyn Connection>,
        is_greeting: bool,
    ) -> Result<(), ConnectionError> {
        let mut state = self.state.lock();
        if state.life != life {
            let how = state.backoff.how_it_ended().unwrap_or("has ended");
            return Err(ConnectionError::Gone(how.to_owned()));
        }
        state.connection = Some(Arc::clone(connection));
        state.is_greeting = is_greeting;
        Ok(())
    }

    /// Says to it what the client said when it greeted.
    async fn greet(
        &self,
        session: &Arc<Session>,
        connection: &Arc<dyn Connection>,
    ) -> Result<(), ConnectionError> {
        let initialize = self.state.lock().initialize.clone();
        let Some(initialize) = initialize else {
            return Ok(());
        };
        let (message, answer) = session.question_again(self, &initialize);
        let key = message.id.clone();
        // Of several servers each may be starting for as long as a request may take.
        let limit = match session.is_solo() {
            true => GREETING,
            false => self.server.timeout.unwrap_or(DEFAULT_TIMEOUT),
        };
        let answered = async {
            connection.send(message).await?;
            let silent = "did not answer `initialize` when it was started again";
            match timeout(limit, answer).await {
                Ok(Ok(Ok(frame))) => Ok(greeting_in(&frame)),
                Ok(Ok(Err(how))) => Err(ConnectionError::Gone(how)),
                _ => Err(ConnectionError::Gone(silent.to_owned())),
            }
        };
        let greeting = answered.await.inspect_err(|_| {
            drop(key.and_then(|key| session.in_flight.take(&key)));
        })?;
        tracing::info!(server = self.name(), "greeted for the client");
        self.end_greeting(connection).await?;
        if !greeting.is_empty() {
            let mut known = greeting.clone();
            // A version that it took over from this client is no limit of its own.
            if known.get("protocolVersion").and_then(Value::as_str)
                == asked_version(&initialize).as_deref()
            {
                known.remove("protocolVersion");
            }
            let memory = session.hub().known();
            memory.learn_greeting(self.name(), "initialize", &known);
        }
        self.greeted.send_replace(Greeted::Up(Arc::new(greeting)));
        Ok(())
    }

    /// It has answered the greeting: it is told that the client has, too, as soon as
    /// that is so, and then others may talk to it.
    async fn end_greeting(&self, connection: &Arc<dyn Connection>) -> Result<(), ConnectionError> {
        let mut is_told = false;
        loop {
            let told = {
                let mut state = self.state.lock();
                let initialized = state.initialized.clone().filter(|_| !is_told);
                state.is_greeting = initialized.is_some();
                initialized
            };
            match told {
                Some(initialized) => connection.send(initialized).await?,
                None => return Ok(()),
            }
            is_told = true;
        }
    }

    /// Notes that it has ended, and gives the connection that it had.
    pub(crate) fn note_end(&self, how: &str) -> Option<Arc<dyn Connection>> {
        let mut state = self.state.lock();
        state.backoff.end(how, Instant::now());
        state.life += 1;
        state.is_greeting = false;
        let connection = state.connection.take();
        drop(state);
        self.ended.notify_waiters();
        connection
    }
}

/// What an answer to `initialize` says; nothing if it is a refusal.
fn greeting_in(frame: &[u8]) -> Map<String, Value> {
    let answers = messages(frame);
    let result = answers.first().and_then(|answer| answer.result);
    let greeting = result.and_then(object::<Map<String, Value>>);
    greeting.unwrap_or_default()
}

/// The protocol version that a client asked for.
fn asked_version(initialize: &Message) -> Option<String> {
    let all = messages(&initialize.frame);
    let params: Value = serde_json::from_str(all.first()?.params?.get()).ok()?;
    params["protocolVersion"].as_str().map(str::to_owned)
}

/// Where a server's events go.
#[derive(Debug)]
struct Inbox {
    session: Weak<Session>,
    slot: Slot,
    life: u64,
}

impl Sink for Inbox {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        async move {
            // A session that is gone has nobody who waits.
            if let Some(session) = self.session.upgrade() {
                session.from_server(self.slot, self.life, event).await;
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
