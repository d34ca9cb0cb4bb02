//! One server of an owner, which is opened when needed and reopened after it has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use spillgate_mcp::{Envelope, messages, object};
use spillgate_transport::{Connection, ConnectionError, Frame, Message, RestartBackoff};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{Instant, timeout};

use crate::inbox::Inbox;
use crate::{LOG_TARGET, Owner, RequestFailure, Server, TOO_MUCH};

/// A server's index among those of its owner.
pub type Slot = usize;

/// A server of an owner.
#[derive(Debug)]
pub struct Upstream<O: Owner> {
    /// The server's index among the owner's servers.
    pub slot: Slot,
    /// The server's configuration.
    pub server: Arc<Server>,
    /// The owner's own data about the server.
    pub notes: O::Notes,
    state: Mutex<State>,
    /// Notified when the server has ended.
    ended: Notify,
    /// Locked while the server is being opened, so that two senders do not open it twice.
    opening: AsyncMutex<()>,
    /// Whether the server has written output that is not a message.
    is_noisy: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    connection: Option<Arc<dyn Connection>>,
    /// Incremented at each start and end of the server, to distinguish the events of one run from
    /// those of the next.
    life: u64,
    /// The server is open but not greeted yet, so only the greeting may be sent to it.
    is_greeting: bool,
    backoff: RestartBackoff,
    /// The client's `initialize` and `notifications/initialized`, to be repeated when the server is
    /// reopened.
    initialize: Option<Message>,
    initialized: Option<Message>,
}

impl<O: Owner> Upstream<O> {
    /// Returns a server that has not been opened.
    pub fn new(slot: Slot, server: Arc<Server>, notes: O::Notes) -> Self {
        Self {
            slot,
            server,
            notes,
            state: Mutex::default(),
            ended: Notify::new(),
            opening: AsyncMutex::default(),
            is_noisy: AtomicBool::new(false),
        }
    }

    /// Sets the `initialize` message. It is sent when the server is open, and no other message is
    /// sent before its response.
    pub fn greet_with(&self, initialize: Message) {
        let mut state = self.state.lock();
        state.is_greeting = state.connection.is_some();
        state.initialize = Some(initialize);
    }

    /// Returns whether the server must be opened or greeted before a message can be sent.
    pub fn is_starting(&self) -> bool {
        let state = self.state.lock();
        state.is_greeting || state.connection.is_none() && state.initialize.is_some()
    }

    /// Returns whether the server ended recently and may not be reopened yet.
    pub fn is_resting(&self) -> bool {
        self.state.lock().backoff.is_resting(Instant::now())
    }

    /// Records that the server wrote output that is not a message. Returns whether this is the
    /// first time.
    pub fn is_first_stray_output(&self) -> bool {
        !self.is_noisy.swap(true, Ordering::Relaxed)
    }

    /// Returns the server's name in the configuration.
    pub fn name(&self) -> &str {
        &self.server.spec.name
    }

    /// Sends a message, after opening the server if needed.
    pub async fn send(&self, owner: &Arc<O>, message: Message) -> Result<(), ConnectionError> {
        if self.remember(&message) {
            // `open` itself sends `notifications/initialized` at the end of the handshake.
            return self.open(owner, true).await.map(drop);
        }
        let connection = match message.method.as_deref() {
            // The client's responses do not wait, because the server may need them to complete its
            // greeting.
            None => match self.connection() {
                Some(connection) => connection,
                None => self.open(owner, true).await?,
            },
            Some(method) => self.ready(owner, method != "initialize").await?,
        };
        connection.send(message).await
    }

    /// Returns the server's connection when it is ready for messages. `greets` is false if the
    /// message to be sent is itself the greeting.
    pub async fn ready(
        &self,
        owner: &Arc<O>,
        greets: bool,
    ) -> Result<Arc<dyn Connection>, ConnectionError> {
        match self.greeted() {
            Some(connection) => Ok(connection),
            None => self.open(owner, greets).await,
        }
    }

    /// Stores a message that must be repeated when the server is reopened. Returns whether a coming
    /// greeting will send this message.
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

    /// Copies the stored greeting from another server.
    pub fn copy_greeting_from(&self, other: &Self) {
        let other = other.state.lock();
        let mut state = self.state.lock();
        state.initialize.clone_from(&other.initialize);
        state.initialized.clone_from(&other.initialized);
    }

    /// Returns the server's connection if it is open. The greeting may not be complete.
    pub fn connection(&self) -> Option<Arc<dyn Connection>> {
        self.state.lock().connection.clone()
    }

    /// Returns the server's connection if it is ready for messages.
    fn greeted(&self) -> Option<Arc<dyn Connection>> {
        let state = self.state.lock();
        state.connection.clone().filter(|_| !state.is_greeting)
    }

    /// Returns whether `life` is the number of the server's current run.
    pub fn is_current(&self, life: u64) -> bool {
        self.state.lock().life == life
    }

    /// Returns how the server ended; `None` if it is running or was never opened.
    pub fn how_it_ended(&self) -> Option<String> {
        let state = self.state.lock();
        let how = state
            .backoff
            .how_it_ended()
            .filter(|_| state.connection.is_none())?;
        Some(how.to_owned())
    }

    /// Waits until the server has ended, and returns how it ended.
    pub async fn ended(&self) -> String {
        loop {
            // Create the future before the check. If the server ended between the check and a later
            // creation, the notification would be missed.
            let ended = self.ended.notified();
            if let Some(how) = self.how_it_ended() {
                return how;
            }
            ended.await;
        }
    }

    /// Opens the server if needed. If `greets` is true and a greeting is stored, repeats the
    /// greeting.
    pub async fn open(
        &self,
        owner: &Arc<O>,
        greets: bool,
    ) -> Result<Arc<dyn Connection>, ConnectionError> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(connection) = self.greeted() {
            return Ok(connection);
        }
        let opened = self.opened(owner, greets).await;
        if let Err(error) = &opened {
            owner.not_opened(self, error);
        }
        opened
    }

    async fn opened(
        &self,
        owner: &Arc<O>,
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
            None => self.begin_life(owner, greets).await?,
        };
        if !greets {
            return Ok(connection);
        }
        if let Err(error) = self.greet(owner, &connection).await {
            if self.is_current(life) {
                drop(self.note_end(&error.to_string()));
            }
            owner.work(async move { connection.close(true).await });
            return Err(error);
        }
        Ok(connection)
    }

    async fn begin_life(
        &self,
        owner: &Arc<O>,
        greets: bool,
    ) -> Result<(Arc<dyn Connection>, u64), ConnectionError> {
        let (life, is_greeting) = {
            let mut state = self.state.lock();
            state.backoff.open(Instant::now())?;
            state.life += 1;
            (state.life, greets && state.initialize.is_some())
        };
        let inbox = Inbox {
            owner: Arc::downgrade(owner),
            slot: self.slot,
            life,
        };
        let connector = owner.connector();
        let opened = connector.open(&self.server.spec, Arc::new(inbox)).await;
        let connection = opened.inspect_err(|error| drop(self.note_end(&error.to_string())))?;
        if let Err(error) = self.note_opened(life, &connection, is_greeting) {
            owner.work(async move { connection.close(true).await });
            return Err(error);
        }
        Ok((connection, life))
    }

    /// Stores the connection of a run of the server. Fails if that run has already ended.
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

    /// Repeats the client's `initialize` to the reopened server.
    async fn greet(
        &self,
        owner: &Arc<O>,
        connection: &Arc<dyn Connection>,
    ) -> Result<(), ConnectionError> {
        let initialize = self.state.lock().initialize.clone();
        let Some(initialize) = initialize else {
            return Ok(());
        };
        let (message, answer) = owner.greet_again(self, &initialize);
        let key = message.id.clone();
        let answered = async {
            connection.send(message).await?;
            let silent = "did not answer `initialize` when it was started again";
            match timeout(owner.greeting_limit(self), answer).await {
                Ok(Ok(Ok(Frame::Memory(frame)))) => Ok(greeting_in(&frame)),
                Ok(Ok(Ok(_))) => Err(ConnectionError::Gone(TOO_MUCH.to_owned())),
                Ok(Ok(Err(how))) => Err(ConnectionError::Gone(how)),
                _ => Err(ConnectionError::Gone(silent.to_owned())),
            }
        };
        let greeting = answered.await.inspect_err(|_| {
            drop(key.and_then(|key| owner.in_flight().take(&key)));
        })?;
        tracing::info!(target: LOG_TARGET, server = self.name(), "a server answered the `initialize` request that was sent on behalf of the client");
        self.end_greeting(connection).await?;
        owner.greeted(self, &initialize, greeting);
        Ok(())
    }

    /// Completes the greeting: sends `notifications/initialized` if the client has sent it, then
    /// allows other messages.
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

    /// Records that the server has ended, and returns its connection.
    pub fn note_end(&self, how: &str) -> Option<Arc<dyn Connection>> {
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

/// Returns the result of an `initialize` response; empty if it is an error.
fn greeting_in(frame: &[u8]) -> Map<String, Value> {
    let answers = messages(frame);
    let result = answers.first().and_then(|answer| answer.result);
    let greeting = result.and_then(object::<Map<String, Value>>);
    greeting.unwrap_or_default()
}

impl<O: Owner> Upstream<O> {
    /// Sends a message unchanged when the server is ready. `envelope` is the envelope of its frame;
    /// `None` for a batch. If sending fails, the requests in the frame are answered with an error.
    pub async fn pass(
        &self,
        owner: &Arc<O>,
        mut message: Message,
        envelope: Option<&Envelope<'_>>,
    ) {
        let is_over = |message: &Message| {
            let key = message.id.as_ref();
            key.is_some_and(|key| !owner.in_flight().has(key))
        };
        if is_over(&message) {
            return; // cancelled or failed before it was sent
        }
        let greets = message.method.as_deref() != Some("initialize");
        let ready = match message.id {
            Some(_) => self.ready(owner, greets).await.map(drop),
            None => Ok(()),
        };
        if is_over(&message) {
            return; // cancelled or failed while it waited for the server
        }
        self.trace(owner, envelope, &mut message);
        let frame = message.frame.clone();
        let sent = match ready {
            Ok(()) => self.send(owner, message).await,
            Err(error) => Err(error),
        };
        let Err(error) = sent else {
            return;
        };
        for key in messages(&frame).iter().filter_map(Envelope::key) {
            if let Some(waiting) = owner.in_flight().take(&key) {
                let why = RequestFailure::Failed(error.clone());
                owner.unanswered(self, waiting, why).await;
            }
        }
    }

    /// Records in a request's span that the request is sent now.
    fn trace(&self, owner: &O, envelope: Option<&Envelope<'_>>, message: &mut Message) {
        let (Some(envelope), Some(key)) = (envelope, message.id.take()) else {
            return; // not a request: the message has no id
        };
        owner.in_flight().look(&key, |waiting| {
            if let Some(span) = &mut waiting.span {
                span.sent(owner.traces(), &self.server, envelope.params, message);
            }
        });
        message.id = Some(key);
    }
}
