//! Runs a bridge: performs the steps that its state machine returns.
//!
//! The bridge is behind a lock that is never held during I/O. Its steps are queued while this lock
//! is held, which keeps them in order; any caller then performs them. If the server's own messages
//! cause steps for the server, a separate task performs these steps. Reading from the server
//! therefore never waits for writing to it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock, Weak};

use data_encoding::HEXLOWER;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use spillgate_mcp::{Envelope, RequestId, messages};
use spillgate_transport::{
    Connection, ConnectionError, Frame, Item, Message, ServerEvent, ServerSpec, Sink, Transport,
};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::{Instant, sleep_until};

use crate::{
    Bridge, Caller, ClientFrame, Config, DeclaredCapabilities, Limits, Step, TokenGenerator,
};

/// A bridge with its server and its clients.
#[derive(Debug)]
pub(crate) struct RunningBridge {
    /// The server's name.
    server: String,
    state: Mutex<State>,
    connection: OnceLock<Weak<dyn Connection>>,
    /// Locked while the steps in the queue for the server are performed.
    to_server: AsyncMutex<()>,
    /// Locked while the steps in the queue for clients are performed.
    to_clients: AsyncMutex<()>,
    /// Notified when the bridge's deadline may have changed.
    due: Arc<Notify>,
    /// Notified when the server has answered the greeting.
    greeted: Notify,
    me: Weak<RunningBridge>,
}

#[derive(Debug)]
struct State {
    bridge: Bridge,
    clients: HashMap<Caller, Arc<dyn Sink>>,
    callers: u64,
    for_server: VecDeque<ServerAction>,
    for_clients: VecDeque<(Arc<dyn Sink>, ServerEvent)>,
    /// The id of the bridge's own `initialize` or `server/discover` until it is answered.
    greeting: Option<RequestId>,
    ended: Option<String>,
}

#[derive(Debug)]
enum ServerAction {
    Send(Message),
    Abandon(RequestId),
    Listen,
}

/// Returns the configuration of a bridge for this server.
pub(crate) fn config(server: &ServerSpec, declare: DeclaredCapabilities) -> Config {
    Config {
        server: server.name.clone(),
        ourselves: ("spillgate".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        declare,
        streams: matches!(server.transport, Transport::Http(_)),
        tokens: TokenGenerator::new(|| {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).expect("invariant: the system has random bytes");
            HEXLOWER.encode(&bytes)
        }),
        limits: Limits::default(),
    }
}

impl RunningBridge {
    /// Starts a bridge. The caller must pass the server's events to [`Sink::take`] and the
    /// connection to [`RunningBridge::connect`].
    pub(crate) fn new(server: &ServerSpec, bridge: Bridge) -> Arc<Self> {
        let running = Arc::new_cyclic(|me| Self {
            server: server.name.clone(),
            state: Mutex::new(State {
                bridge,
                clients: HashMap::new(),
                callers: 0,
                for_server: VecDeque::new(),
                for_clients: VecDeque::new(),
                greeting: None,
                ended: None,
            }),
            connection: OnceLock::new(),
            to_server: AsyncMutex::default(),
            to_clients: AsyncMutex::default(),
            due: Arc::default(),
            greeted: Notify::new(),
            me: Weak::clone(me),
        });
        tokio::spawn(keep_time(
            Weak::clone(&running.me),
            Arc::clone(&running.due),
        ));
        running
    }

    /// Creates the bridge for a legacy server that many clients share.
    pub(crate) fn for_many(server: &ServerSpec) -> Arc<Self> {
        let config = config(server, DeclaredCapabilities::Everything);
        Self::new(server, Bridge::modern_client_legacy_server(config))
    }

    /// Sets the connection to the server. The bridge keeps only a weak reference; the code that
    /// opened the connection must keep it open.
    pub(crate) fn connect(&self, connection: &Arc<dyn Connection>) {
        // A bridge has only one connection, so this cannot fail.
        let _ = self.connection.set(Arc::downgrade(connection));
    }

    /// Returns how the server ended; `None` while it is running.
    pub(crate) fn ended(&self) -> Option<String> {
        self.state.lock().ended.clone()
    }

    /// Adds a client and returns its number.
    pub(crate) fn join(&self, to: Arc<dyn Sink>) -> Caller {
        let mut state = self.state.lock();
        let caller = Caller(state.callers);
        state.callers += 1;
        state.clients.insert(caller, to);
        caller
    }

    /// Removes a client and cancels its pending requests.
    pub(crate) fn leave(&self, caller: Caller) {
        let is_told = {
            let mut state = self.state.lock();
            state.clients.remove(&caller);
            let steps = state.bridge.client_disconnected(caller);
            state.queue(steps);
            !state.for_server.is_empty()
        };
        // A client may be removed after the runtime has stopped. No server is running then, so
        // there is nothing to send.
        if let (true, Some(me)) = (is_told, self.me.upgrade())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { me.flush().await });
        }
    }

    /// Handles a message from a client.
    ///
    /// # Errors
    ///
    /// Fails if the server has ended.
    pub(crate) async fn on_client(
        &self,
        from: Caller,
        message: &Message,
    ) -> Result<(), ConnectionError> {
        {
            let mut state = self.state.lock();
            if let Some(how) = &state.ended {
                return Err(ConnectionError::Gone(how.clone()));
            }
            let steps = state.bridge.from_client(ClientFrame {
                from,
                frame: &message.frame,
                headers: &message.headers,
                now: now(),
            });
            state.queue(steps);
        }
        self.flush().await;
        Ok(())
    }

    /// Called when a client closed the response stream of its request.
    pub(crate) async fn abandon(&self, by: Caller, of: &RequestId) {
        {
            let mut state = self.state.lock();
            let steps = state.bridge.abandoned(by, of);
            state.queue(steps);
        }
        self.flush().await;
    }

    /// Waits until the server has answered a pending greeting. Before that, requests wait inside
    /// the bridge.
    pub(crate) async fn settled(&self) {
        loop {
            let greeted = self.greeted.notified();
            let is_settled = {
                let state = self.state.lock();
                state.greeting.is_none() || state.ended.is_some()
            };
            if is_settled {
                break;
            }
            greeted.await;
        }
        self.flush().await;
    }

    /// Performs the queued steps.
    async fn flush(&self) {
        self.due.notify_one();
        self.tell_server().await;
        self.give_clients().await;
    }

    async fn tell_server(&self) {
        let _turn = self.to_server.lock().await;
        loop {
            let Some(next) = self.state.lock().for_server.pop_front() else {
                return;
            };
            let connection = self.connection.get().and_then(Weak::upgrade);
            match (next, connection) {
                (ServerAction::Send(message), Some(connection)) => {
                    let key = message.id.clone();
                    if let Err(error) = connection.send(message).await {
                        self.not_sent(key, error);
                    }
                }
                (ServerAction::Send(message), None) => {
                    self.not_sent(message.id, ConnectionError::Gone("has ended".to_owned()));
                }
                (ServerAction::Abandon(key), Some(connection)) => connection.abandon(&key).await,
                (ServerAction::Listen, Some(connection)) => {
                    tokio::spawn(async move {
                        // The error is only logged, because a server need not offer a stream for
                        // its own messages.
                        if let Err(error) = connection.listen(None).await {
                            tracing::debug!(%error, "the server offers no stream for its own requests and notifications");
                        }
                    });
                }
                (ServerAction::Abandon(_) | ServerAction::Listen, None) => {}
            }
        }
    }

    fn not_sent(&self, key: Option<RequestId>, error: ConnectionError) {
        let Some(key) = key else {
            tracing::warn!(%error, "a message could not be sent to the server");
            return;
        };
        self.absorb(ServerEvent {
            of: Some(key),
            event: None,
            item: Item::Failed(error),
        });
    }

    async fn give_clients(&self) {
        let _turn = self.to_clients.lock().await;
        loop {
            let Some((to, event)) = self.state.lock().for_clients.pop_front() else {
                return;
            };
            to.take(event).await;
        }
    }

    /// Passes an event to the bridge. Returns whether steps for the server are then queued.
    fn absorb(&self, event: ServerEvent) -> bool {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return false;
        }
        let is_lost = matches!(&event.item, Item::Refused(refusal) if refusal.session_lost);
        let gone = match &event.item {
            Item::Gone(how) => Some(how.clone()),
            // The session is lost; only a new `initialize` can begin another.
            _ if is_lost => Some("does not know our session any more".to_owned()),
            _ => None,
        };
        let is_greeting = state
            .greeting
            .as_ref()
            .is_some_and(|key| answers(&event, key));
        if is_greeting || gone.is_some() {
            state.greeting = None;
            self.greeted.notify_waiters();
        }
        let Some(event) = event.or_failure(&self.server) else {
            return false;
        };
        let is_large = matches!(&event.item, Item::Message(Frame::Spooled(_)));
        let steps = state.bridge.from_server(event, now());
        if is_large && steps.is_empty() {
            tracing::warn!(
                server = self.server,
                "a large message was dropped: it could not be stored, or no client expects it"
            );
        }
        state.queue(steps);
        if let Some(how) = gone {
            if is_lost {
                let told = gone_event(&how);
                let steps = state.bridge.from_server(told, now());
                state.queue(steps);
            }
            state.end(how);
        }
        !state.for_server.is_empty()
    }

    fn tick(&self) -> Option<std::time::Instant> {
        let mut state = self.state.lock();
        let now = now();
        if state.bridge.deadline().is_some_and(|at| at <= now) {
            let steps = state.bridge.tick(now);
            state.queue(steps);
        }
        state.bridge.deadline()
    }
}

impl Sink for RunningBridge {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        async move {
            if self.absorb(event)
                && let Some(me) = self.me.upgrade()
            {
                tokio::spawn(async move { me.flush().await });
            }
            self.due.notify_one();
            self.give_clients().await;
        }
        .boxed()
    }
}

impl Drop for RunningBridge {
    fn drop(&mut self) {
        // Wakes the timer task so that it can stop.
        self.due.notify_one();
    }
}

impl State {
    fn queue(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::ToServer(message) => {
                    let greets = matches!(
                        message.method.as_deref(),
                        Some("initialize" | "server/discover")
                    );
                    if greets {
                        self.greeting.clone_from(&message.id);
                    }
                    self.for_server.push_back(ServerAction::Send(message));
                }
                Step::ToClient { to, event } => {
                    if let Some(client) = self.clients.get(&to) {
                        self.for_clients.push_back((Arc::clone(client), event));
                    }
                }
                Step::Abandon(key) => self.for_server.push_back(ServerAction::Abandon(key)),
                Step::Listen => self.for_server.push_back(ServerAction::Listen),
            }
        }
    }

    /// Records that the server has ended, and informs each client once, after the answers to that
    /// client.
    fn end(&mut self, how: String) {
        self.for_server.clear();
        for (_, client) in self.clients.drain() {
            self.for_clients.push_back((client, gone_event(&how)));
        }
        self.ended = Some(how);
    }
}

fn gone_event(how: &str) -> ServerEvent {
    ServerEvent {
        of: None,
        event: None,
        item: Item::Gone(how.to_owned()),
    }
}

/// Returns whether an event is the answer to the request `key`, or shows that there will be no
/// answer.
fn answers(event: &ServerEvent, key: &RequestId) -> bool {
    let is_it = |one: &Envelope<'_>| one.is_response() && one.key().as_ref() == Some(key);
    match &event.item {
        Item::Message(Frame::Memory(frame)) => messages(frame).iter().any(is_it),
        Item::Message(Frame::Spooled(spooled)) => spooled.messages().iter().any(is_it),
        Item::Refused(_) | Item::Failed(_) => event.of.as_ref() == Some(key),
        _ => false,
    }
}

/// Runs the timer of the bridge until the bridge is dropped.
async fn keep_time(running: Weak<RunningBridge>, due: Arc<Notify>) {
    loop {
        let Some(here) = running.upgrade() else {
            return;
        };
        let next = here.tick();
        here.tell_server().await;
        here.give_clients().await;
        drop(here);
        match next {
            Some(at) => {
                tokio::select! {
                    () = sleep_until(Instant::from_std(at)) => {}
                    () = due.notified() => {}
                }
            }
            None => due.notified().await,
        }
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}
