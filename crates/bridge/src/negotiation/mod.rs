//! Finds out which generations client and server speak, and decides for each message whether it
//! passes unchanged, is held, or goes to a bridge.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_mcp::{Generation, RequestId, generation_of_client, messages, object};
use spillgate_transport::{
    Connection, ConnectionError, Item, Message, ServerEvent, ServerSpec, Sink, Transport,
};
use tokio::sync::Notify;
use tokio::time::sleep;

mod held;
mod probe;
mod server_events;
mod verdict;

pub(crate) use self::probe::probe;
use self::probe::{no_discover, probe_key};
use crate::bridged_connector::PATIENCE;
use crate::generations::{KnownGenerations, SpokenGenerations};
use crate::running_bridge::RunningBridge;
use crate::{BridgeObserver, Bridging, Caller, SharedServers};

/// The connection of one client to one server, while it is still unknown which generation each of
/// them speaks.
#[derive(Debug)]
pub(crate) struct Negotiation {
    server: ServerSpec,
    rule: Bridging,
    generations: Arc<KnownGenerations>,
    observer: Arc<dyn BridgeObserver>,
    shared: Option<Arc<SharedServers>>,
    to: Arc<dyn Sink>,
    connection: OnceLock<Weak<dyn Connection>>,
    /// Whether both ends speak the same generation. From then on, messages are not examined.
    passes: AtomicBool,
    state: Mutex<State>,
    /// Notified when messages are no longer held.
    settled: Notify,
    /// Whether the client has disconnected.
    left: AtomicBool,
    me: Weak<Negotiation>,
}

#[derive(Debug)]
enum State {
    /// All messages pass, and greetings (`initialize`, `server/discover`) are examined.
    Watching,
    /// The client has sent a greeting that is not answered yet.
    Greeting {
        greeting: Message,
        key: RequestId,
        /// Modern requests that arrived in the meantime.
        held: VecDeque<Message>,
        /// The `server/discover` that the client sent before this `initialize`.
        tried: Option<EarlyDiscover>,
    },
    /// The gateway itself has sent a request to find out which generation the server speaks.
    Probing {
        held: VecDeque<Message>,
        /// The server's refusal of `initialize`, to be sent if the server is not modern.
        refusal: Option<ServerEvent>,
    },
    /// The held messages go to the server unchanged.
    Releasing {
        held: VecDeque<Message>,
        pass: bool,
    },
    /// The held messages go to a bridge.
    Bridging {
        held: VecDeque<Message>,
        bridge: Option<(Arc<RunningBridge>, Caller)>,
    },
    Bridged(Arc<RunningBridge>, Caller),
}

/// A client's `server/discover`, after which the client sent `initialize` without waiting for the
/// answer. Such a client speaks both generations, so it needs no bridge.
#[derive(Debug)]
enum EarlyDiscover {
    /// The `server/discover` is not answered yet.
    Pending(Message, RequestId),
    /// The `server/discover` was answered with success.
    Answered,
}

/// What to do with a message from the client.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Send it to the server.
    Pass(Message),
    /// Pass it to the bridge.
    ToBridge(Arc<RunningBridge>, Caller, Message),
    /// Do not send the message, but return this event to the client.
    Answer(ServerEvent),
    /// Hold the message until the server has shown which generation it speaks, and send the server
    /// a probe.
    Probe,
    /// Hold the message for a bridge, and open the bridge.
    Bridge,
    /// Do nothing more: the message is held and another task will send it, or it cancelled a held
    /// request.
    Wait,
}

/// What to do with an event from the server.
enum Reaction {
    Give(ServerEvent),
    Bridge(Arc<RunningBridge>, ServerEvent),
    /// Send these events to the client, then take the step that the new state requires.
    Then(Vec<ServerEvent>, NextStep),
    Drop,
}

#[derive(Clone, Copy)]
enum NextStep {
    Nothing,
    Release,
    Bridge,
    Probe,
}

impl Negotiation {
    pub(crate) fn new(
        server: ServerSpec,
        rule: Bridging,
        (generations, observer): (Arc<KnownGenerations>, Arc<dyn BridgeObserver>),
        shared: Option<Arc<SharedServers>>,
        to: Arc<dyn Sink>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            server,
            rule,
            generations,
            observer,
            shared,
            to,
            connection: OnceLock::new(),
            passes: AtomicBool::new(false),
            state: Mutex::new(State::Watching),
            settled: Notify::new(),
            left: AtomicBool::new(false),
            me: Weak::clone(me),
        })
    }

    pub(crate) fn connect(&self, connection: &Arc<dyn Connection>) {
        // The connection is opened only once, so this cannot fail.
        let _ = self.connection.set(Arc::downgrade(connection));
    }

    pub(crate) fn is_passing(&self) -> bool {
        self.passes.load(Ordering::Acquire)
    }

    /// Returns the bridge and the client's number in it, if there is a bridge.
    pub(crate) fn bridge(&self) -> Option<(Arc<RunningBridge>, Caller)> {
        match &*self.state.lock() {
            State::Bridged(running, caller) => Some((Arc::clone(running), *caller)),
            State::Bridging { bridge, .. } => bridge.clone(),
            _ => None,
        }
    }

    /// Called when the client has disconnected.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Release);
        if let Some((running, caller)) = self.bridge() {
            running.leave(caller);
        }
    }

    pub(crate) async fn to_client(&self, event: ServerEvent) {
        self.to.take(event).await;
    }

    /// Returns what to do with a message from the client.
    pub(crate) fn decide(&self, message: Message) -> Decision {
        let generation = generation_of(&message);
        let mut state = self.state.lock();
        match &mut *state {
            State::Bridged(running, caller) => {
                return Decision::ToBridge(Arc::clone(running), *caller, message);
            }
            State::Releasing { held, .. } | State::Bridging { held, .. } => {
                held.push_back(message);
                return Decision::Wait;
            }
            _ => {}
        }
        if withdrawn(&message).is_some_and(|key| state.withdraw(&key)) {
            return Decision::Wait;
        }
        let (Some(key), Some(generation)) = (message.id.clone(), generation) else {
            return Decision::Pass(message);
        };
        let speaks = self.generations.of(&self.server.name);
        match (message.method.as_deref(), generation) {
            (Some("initialize"), _) => self.initialize(&mut state, key, message, speaks),
            (Some("server/discover"), _) => self.discover(&mut state, key, message, speaks),
            (_, Generation::Modern) => self.modern(&mut state, message, speaks),
            (_, Generation::Legacy) => Decision::Pass(message),
        }
    }

    fn initialize(
        &self,
        state: &mut State,
        key: RequestId,
        message: Message,
        speaks: SpokenGenerations,
    ) -> Decision {
        // A stateless exchange has no session, so the server answers that `initialize` is not
        // possible.
        if matches!(state, State::Probing { .. }) || self.shared.is_some() {
            return Decision::Pass(message);
        }
        if speaks.legacy == Some(false) && speaks.modern == Some(true) {
            return bridge_from(state, message);
        }
        greeting(state, key, message)
    }

    fn discover(
        &self,
        state: &mut State,
        key: RequestId,
        message: Message,
        speaks: SpokenGenerations,
    ) -> Decision {
        if !matches!(state, State::Watching) {
            return Decision::Pass(message);
        }
        match speaks.modern {
            Some(true) => self.passing(message),
            Some(false) if self.insists() => bridge_from(state, message),
            // The server's process is shared by many clients and may already be in a legacy
            // session.
            Some(false) if self.shares_a_process() => Decision::Answer(no_discover(&key)),
            _ => greeting(state, key, message),
        }
    }

    /// Handles a modern request other than a greeting. With this request, the client insists on its
    /// generation.
    fn modern(&self, state: &mut State, message: Message, speaks: SpokenGenerations) -> Decision {
        match (state, speaks.modern) {
            (State::Greeting { greeting, held, .. }, _) => {
                if greeting.method.as_deref() == Some("initialize") {
                    return Decision::Pass(message);
                }
                held.push_back(message);
                if held.len() == 1 {
                    self.give_up_later();
                }
                Decision::Wait
            }
            (State::Probing { held, refusal }, _) => {
                if refusal.is_some() {
                    return Decision::Pass(message);
                }
                held.push_back(message);
                Decision::Wait
            }
            (_, Some(true)) => self.passing(message),
            (state, Some(false)) => bridge_from(state, message),
            (state, None) => {
                *state = State::Probing {
                    held: VecDeque::from([message]),
                    refusal: None,
                };
                self.give_up_later();
                Decision::Probe
            }
        }
    }

    /// Stops examining messages, because both ends speak the same generation.
    fn passing(&self, message: Message) -> Decision {
        self.passes.store(true, Ordering::Release);
        Decision::Pass(message)
    }

    /// Returns whether the gateway itself answers `server/discover` on behalf of a legacy server.
    /// The rule for the server may require this, or the gateway as a whole may be modern.
    fn insists(&self) -> bool {
        self.rule == Bridging::Always || self.generations.another_is_modern(&self.server.name)
    }

    fn shares_a_process(&self) -> bool {
        self.shared.is_some() && matches!(self.server.transport, Transport::Command(_))
    }

    /// Returns to the state before the probe, which could not be sent. The client whose message
    /// caused the probe gets the error.
    pub(crate) fn forget_probe(&self) {
        let mut state = self.state.lock();
        if matches!(&*state, State::Probing { .. }) {
            *state = State::Watching;
        }
        drop(state);
        self.settled.notify_waiters();
    }

    /// Removes a held request whose response stream the client closed. Returns whether the request
    /// was held.
    pub(crate) fn withdraw(&self, of: &RequestId) -> bool {
        !self.is_passing() && self.state.lock().withdraw(of)
    }

    /// After a time limit, treats a server that has not answered as legacy.
    fn give_up_later(&self) {
        let negotiation = Weak::clone(&self.me);
        tokio::spawn(async move {
            sleep(PATIENCE).await;
            let Some(negotiation) = negotiation.upgrade() else {
                return;
            };
            let next = {
                let mut state = negotiation.state.lock();
                match &mut *state {
                    State::Greeting { held, .. } if !held.is_empty() => {
                        let held = mem::take(held);
                        *state = State::Bridging { held, bridge: None };
                        NextStep::Bridge
                    }
                    State::Probing {
                        held,
                        refusal: None,
                    } => {
                        let held = mem::take(held);
                        *state = State::Bridging { held, bridge: None };
                        NextStep::Bridge
                    }
                    _ => NextStep::Nothing,
                }
            };
            negotiation.start(next);
        });
    }

    /// Waits until no message is held.
    pub(crate) async fn settled(&self) {
        loop {
            let settled = self.settled.notified();
            let bridge = {
                let state = self.state.lock();
                match &*state {
                    State::Greeting { held, .. } if held.is_empty() => return,
                    State::Bridged(running, _) if self.shared.is_none() => {
                        Some(Arc::clone(running))
                    }
                    State::Watching | State::Bridged(..) => return,
                    _ => None,
                }
            };
            match bridge {
                Some(running) => return running.settled().await,
                None => settled.await,
            }
        }
    }
}

impl Sink for Negotiation {
    fn direct(&self) -> Option<Arc<dyn Sink>> {
        self.is_passing().then(|| Arc::clone(&self.to))
    }

    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        if self.is_passing() {
            return self.to.take(event);
        }
        async move {
            match self.react(event) {
                Reaction::Give(event) => self.to.take(event).await,
                Reaction::Bridge(running, event) => running.take(event).await,
                Reaction::Then(told, next) => {
                    for event in told {
                        self.to.take(event).await;
                    }
                    if let Some(me) = self.me.upgrade() {
                        me.start(next);
                    }
                }
                Reaction::Drop => {}
            }
        }
        .boxed()
    }
}

impl State {
    /// Removes a held request. Returns whether it was held.
    fn withdraw(&mut self, key: &RequestId) -> bool {
        let (Self::Greeting { held, .. }
        | Self::Probing {
            held,
            refusal: None,
        }
        | Self::Releasing { held, .. }
        | Self::Bridging { held, .. }) = self
        else {
            return false;
        };
        let before = held.len();
        held.retain(|message| message.id.as_ref() != Some(key));
        held.len() < before
    }
}

fn bridge_from(state: &mut State, message: Message) -> Decision {
    let mut held = match state {
        State::Greeting { held, .. } => mem::take(held),
        _ => VecDeque::new(),
    };
    held.push_back(message);
    *state = State::Bridging { held, bridge: None };
    Decision::Bridge
}

fn greeting(state: &mut State, key: RequestId, message: Message) -> Decision {
    let (held, tried) = match mem::replace(state, State::Watching) {
        State::Greeting {
            greeting: earlier,
            key,
            held,
            tried,
        } => match earlier.method.as_deref() {
            Some("server/discover") => (held, Some(EarlyDiscover::Pending(earlier, key))),
            _ => (held, tried),
        },
        _ => (VecDeque::new(), None),
    };
    *state = State::Greeting {
        greeting: message.clone(),
        key,
        held,
        tried,
    };
    Decision::Pass(message)
}

/// Returns the generation of the client that sent this request.
fn generation_of(message: &Message) -> Option<Generation> {
    let all = messages(&message.frame);
    let [one] = &*all else { return None };
    generation_of_client(one)
}

/// Returns the id of the request that a message cancels.
fn withdrawn(message: &Message) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        request: &'a RawValue,
    }
    if message.method.as_deref() != Some("notifications/cancelled") {
        return None;
    }
    let all = messages(&message.frame);
    let params = all.first()?.params.and_then(object::<Params<'_>>)?;
    RequestId::of(params.request)
}

fn failed(key: &RequestId, error: ConnectionError) -> ServerEvent {
    ServerEvent {
        of: Some(key.clone()),
        event: None,
        item: Item::Failed(error),
    }
}
