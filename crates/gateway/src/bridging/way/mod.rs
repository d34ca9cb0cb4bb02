//! Does a message pass, wait, or go to a bridge?

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_bridge::Caller;
use spillgate_mcp::{Generation, RequestId, generation_of_client, messages, object};
use spillgate_wire::{
    Connection, ConnectionError, Item, Message, ServerEvent, ServerSpec, Sink, Transport,
};
use tokio::sync::Notify;
use tokio::time::sleep;

mod doing;
mod judging;
mod probing;

pub(super) use self::probing::probe;
use self::probing::{no_discover, probe_key};
use super::{Eras, Live, PATIENCE, Speaks};
use crate::gateway::Bridging;
use crate::shared::Shared;
use crate::telemetry::metrics::Metrics;

/// One client's way to one server.
#[derive(Debug)]
pub(super) struct Way {
    server: ServerSpec,
    rule: Bridging,
    eras: Arc<Eras>,
    metrics: Arc<Metrics>,
    shared: Option<Arc<Shared>>,
    to: Arc<dyn Sink>,
    connection: OnceLock<Weak<dyn Connection>>,
    /// Both ends speak the same: nothing is looked at any more.
    passes: AtomicBool,
    state: Mutex<State>,
    /// Told when nothing waits any more.
    settled: Notify,
    /// The client is gone.
    left: AtomicBool,
    me: Weak<Way>,
}

#[derive(Debug)]
enum State {
    /// Everything passes; what greets is looked at.
    Watching,
    /// The client's `initialize` or `server/discover` is not answered yet.
    Greeting {
        greeting: Message,
        key: RequestId,
        /// Modern requests that came meanwhile.
        held: VecDeque<Message>,
        /// Before this `initialize`.
        tried: Option<Tried>,
    },
    /// The gateway asked by itself which generation the server speaks.
    Probing {
        held: VecDeque<Message>,
        /// What the server said to `initialize`.
        refusal: Option<ServerEvent>,
    },
    /// What was held goes to the server as it is.
    Releasing {
        held: VecDeque<Message>,
        pass: bool,
    },
    /// What was held goes to a bridge.
    Turning {
        held: VecDeque<Message>,
        bridge: Option<(Arc<Live>, Caller)>,
    },
    Bridged(Arc<Live>, Caller),
}

/// The client's `server/discover`, which it did not wait for before it sent
/// `initialize`: it speaks both generations, and needs no bridge.
#[derive(Debug)]
enum Tried {
    /// Not answered yet.
    RequestKind(Message, RequestId),
    /// With success.
    Answered,
}

/// What is to be done with a message of the client.
#[derive(Debug)]
pub(super) enum Verb {
    /// Send it.
    Pass(Message),
    /// Give it to the bridge.
    Hear(Arc<Live>, Caller, Message),
    /// Give this to the client instead.
    Tell(ServerEvent),
    /// It waits until the server has said what it speaks: ask it.
    Probe,
    /// It waits for a bridge: bring it there.
    Turn,
    /// It waits; somebody else will see to it.
    Wait,
}

/// What is to be done with an event of the server.
enum Turn {
    Give(ServerEvent),
    Bridge(Arc<Live>, ServerEvent),
    /// Then somebody has to do what the new state says.
    Act(Vec<ServerEvent>, Act),
    Drop,
}

#[derive(Clone, Copy)]
enum Act {
    Nothing,
    Release,
    Turn,
    Probe,
}

impl Way {
    pub(super) fn new(
        server: ServerSpec,
        rule: Bridging,
        (eras, metrics): (Arc<Eras>, Arc<Metrics>),
        shared: Option<Arc<Shared>>,
        to: Arc<dyn Sink>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            server,
            rule,
            eras,
            metrics,
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

    pub(super) fn connect(&self, connection: &Arc<dyn Connection>) {
        // It is opened once.
        let _ = self.connection.set(Arc::downgrade(connection));
    }

    pub(super) fn is_passing(&self) -> bool {
        self.passes.load(Ordering::Acquire)
    }

    /// The bridge, where there is one.
    pub(super) fn bridge(&self) -> Option<(Arc<Live>, Caller)> {
        match &*self.state.lock() {
            State::Bridged(live, caller) => Some((Arc::clone(live), *caller)),
            State::Turning { bridge, .. } => bridge.clone(),
            _ => None,
        }
    }

    /// The client is gone.
    pub(super) fn leave(&self) {
        self.left.store(true, Ordering::Release);
        if let Some((live, caller)) = self.bridge() {
            live.leave(caller);
        }
    }

    pub(super) async fn to_client(&self, event: ServerEvent) {
        self.to.take(event).await;
    }

    /// What becomes of a message of the client.
    pub(super) fn decide(&self, message: Message) -> Verb {
        let generation = generation_of(&message);
        let mut state = self.state.lock();
        match &mut *state {
            State::Bridged(live, caller) => {
                return Verb::Hear(Arc::clone(live), *caller, message);
            }
            State::Releasing { held, .. } | State::Turning { held, .. } => {
                held.push_back(message);
                return Verb::Wait;
            }
            _ => {}
        }
        if withdrawn(&message).is_some_and(|key| state.withdraw(&key)) {
            return Verb::Wait;
        }
        let (Some(key), Some(generation)) = (message.id.clone(), generation) else {
            return Verb::Pass(message);
        };
        let speaks = self.eras.of(&self.server.name);
        match (message.method.as_deref(), generation) {
            (Some("initialize"), _) => self.initialize(&mut state, key, message, speaks),
            (Some("server/discover"), _) => self.discover(&mut state, key, message, speaks),
            (_, Generation::Modern) => self.modern(&mut state, message, speaks),
            (_, Generation::Legacy) => Verb::Pass(message),
        }
    }

    fn initialize(
        &self,
        state: &mut State,
        key: RequestId,
        message: Message,
        speaks: Speaks,
    ) -> Verb {
        // An exchange is no session: such a client is told so by the server.
        if matches!(state, State::Probing { .. }) || self.shared.is_some() {
            return Verb::Pass(message);
        }
        if speaks.legacy == Some(false) && speaks.modern == Some(true) {
            return turning(state, message);
        }
        greeting(state, key, message)
    }

    fn discover(
        &self,
        state: &mut State,
        key: RequestId,
        message: Message,
        speaks: Speaks,
    ) -> Verb {
        if !matches!(state, State::Watching) {
            return Verb::Pass(message);
        }
        match speaks.modern {
            Some(true) => self.passing(message),
            Some(false) if self.insists() => turning(state, message),
            // A process that many share may be a session by now.
            Some(false) if self.shares_a_process() => Verb::Tell(no_discover(&key)),
            _ => greeting(state, key, message),
        }
    }

    /// A modern request that is no greeting: the client insists.
    fn modern(&self, state: &mut State, message: Message, speaks: Speaks) -> Verb {
        match (state, speaks.modern) {
            (State::Greeting { greeting, held, .. }, _) => {
                if greeting.method.as_deref() == Some("initialize") {
                    return Verb::Pass(message);
                }
                held.push_back(message);
                if held.len() == 1 {
                    self.give_up_later();
                }
                Verb::Wait
            }
            (State::Probing { held, refusal }, _) => {
                if refusal.is_some() {
                    return Verb::Pass(message);
                }
                held.push_back(message);
                Verb::Wait
            }
            (_, Some(true)) => self.passing(message),
            (state, Some(false)) => turning(state, message),
            (state, None) => {
                *state = State::Probing {
                    held: VecDeque::from([message]),
                    refusal: None,
                };
                self.give_up_later();
                Verb::Probe
            }
        }
    }

    /// Both ends speak the same.
    fn passing(&self, message: Message) -> Verb {
        self.passes.store(true, Ordering::Release);
        Verb::Pass(message)
    }

    /// Whether `server/discover` is answered for a legacy server: by its rule, or
    /// because the gateway as a whole is modern.
    fn insists(&self) -> bool {
        self.rule == Bridging::Always || self.eras.another_is_modern(&self.server.name)
    }

    fn shares_a_process(&self) -> bool {
        self.shared.is_some() && matches!(self.server.transport, Transport::Command(_))
    }

    /// The probe could not be sent, which whoever sent it is told.
    pub(super) fn forget_probe(&self) {
        let mut state = self.state.lock();
        if matches!(&*state, State::Probing { .. }) {
            *state = State::Watching;
        }
        drop(state);
        self.settled.notify_waiters();
    }

    /// The client closed the response to a request that was held.
    pub(super) fn withdraw(&self, of: &RequestId) -> bool {
        !self.is_passing() && self.state.lock().withdraw(of)
    }

    /// A server that does not answer is taken for a legacy one, for now.
    fn give_up_later(&self) {
        let way = Weak::clone(&self.me);
        tokio::spawn(async move {
            sleep(PATIENCE).await;
            let Some(way) = way.upgrade() else { return };
            let act = {
                let mut state = way.state.lock();
                match &mut *state {
                    State::Greeting { held, .. } if !held.is_empty() => {
                        let held = mem::take(held);
                        *state = State::Turning { held, bridge: None };
                        Act::Turn
                    }
                    State::Probing {
                        held,
                        refusal: None,
                    } => {
                        let held = mem::take(held);
                        *state = State::Turning { held, bridge: None };
                        Act::Turn
                    }
                    _ => Act::Nothing,
                }
            };
            way.act(act);
        });
    }

    /// Waits until nothing is held any more.
    pub(super) async fn settled(&self) {
        loop {
            let settled = self.settled.notified();
            let bridge = {
                let state = self.state.lock();
                match &*state {
                    State::Greeting { held, .. } if held.is_empty() => return,
                    State::Bridged(live, _) if self.shared.is_none() => Some(Arc::clone(live)),
                    State::Watching | State::Bridged(..) => return,
                    _ => None,
                }
            };
            match bridge {
                Some(live) => return live.settled().await,
                None => settled.await,
            }
        }
    }
}

impl Sink for Way {
    fn take(&self, event: ServerEvent) -> BoxFuture<'_, ()> {
        if self.is_passing() {
            return self.to.take(event);
        }
        async move {
            match self.judge(event) {
                Turn::Give(event) => self.to.take(event).await,
                Turn::Bridge(live, event) => live.take(event).await,
                Turn::Act(told, act) => {
                    for event in told {
                        self.to.take(event).await;
                    }
                    if let Some(me) = self.me.upgrade() {
                        me.act(act);
                    }
                }
                Turn::Drop => {}
            }
        }
        .boxed()
    }
}

impl State {
    /// Lets go of a request that is held. Whether it was.
    fn withdraw(&mut self, key: &RequestId) -> bool {
        let (Self::Greeting { held, .. }
        | Self::Probing {
            held,
            refusal: None,
        }
        | Self::Releasing { held, .. }
        | Self::Turning { held, .. }) = self
        else {
            return false;
        };
        let before = held.len();
        held.retain(|message| message.id.as_ref() != Some(key));
        held.len() < before
    }
}

fn turning(state: &mut State, message: Message) -> Verb {
    let mut held = match state {
        State::Greeting { held, .. } => mem::take(held),
        _ => VecDeque::new(),
    };
    held.push_back(message);
    *state = State::Turning { held, bridge: None };
    Verb::Turn
}

fn greeting(state: &mut State, key: RequestId, message: Message) -> Verb {
    let (held, tried) = match mem::replace(state, State::Watching) {
        State::Greeting {
            greeting: earlier,
            key,
            held,
            tried,
        } => match earlier.method.as_deref() {
            Some("server/discover") => (held, Some(Tried::RequestKind(earlier, key))),
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
    Verb::Pass(message)
}

/// What the sender of a request speaks.
fn generation_of(message: &Message) -> Option<Generation> {
    let all = messages(&message.frame);
    let [one] = &*all else { return None };
    generation_of_client(one)
}

/// The request that a message takes back.
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
