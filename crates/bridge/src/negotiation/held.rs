//! Releases the messages that were held during negotiation: sends them to the server unchanged, or
//! passes them to a bridge.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use spillgate_transport::{ConnectionError, Sink};

use super::{Negotiation, NextStep, State, failed, probe, probe_key};
use crate::running_bridge::{RunningBridge, config};
use crate::{Bridge, Caller, DeclaredCapabilities};

impl Negotiation {
    /// Starts the task that the new state requires.
    pub(super) fn start(self: &Arc<Self>, next: NextStep) {
        match next {
            NextStep::Nothing => {}
            NextStep::Release => drop(tokio::spawn(Arc::clone(self).release_held())),
            NextStep::Bridge => drop(tokio::spawn(Arc::clone(self).bridge_held())),
            NextStep::Probe => {
                let negotiation = Arc::clone(self);
                tokio::spawn(async move {
                    let connection = negotiation.connection.get().and_then(Weak::upgrade);
                    let sent = match connection {
                        Some(connection) => connection.send(probe()).await,
                        None => Err(ConnectionError::Gone("has ended".to_owned())),
                    };
                    if let Err(error) = sent {
                        negotiation.take(failed(&probe_key(), error)).await;
                    }
                });
            }
        }
    }

    /// Sends the held messages to the server.
    async fn release_held(self: Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state.lock();
                let State::Releasing { held, pass } = &mut *state else {
                    break;
                };
                let Some(next) = held.pop_front() else {
                    self.passes.fetch_or(*pass, Ordering::Release);
                    *state = State::Watching;
                    break;
                };
                next
            };
            let key = next.id.clone();
            let sent = match self.connection.get().and_then(Weak::upgrade) {
                Some(connection) => connection.send(next).await,
                None => Err(ConnectionError::Gone("has ended".to_owned())),
            };
            if let (Err(error), Some(key)) = (sent, key) {
                self.to.take(failed(&key, error)).await;
            }
        }
        self.settled.notify_waiters();
    }

    /// Opens a bridge and passes the held messages to it.
    pub(crate) async fn bridge_held(self: Arc<Self>) {
        let (running, caller) = match self.open_bridge().await {
            Ok(joined) => joined,
            Err(error) => return self.fail_held(&error).await,
        };
        loop {
            let next = {
                let mut state = self.state.lock();
                let State::Bridging { held, .. } = &mut *state else {
                    break;
                };
                let Some(next) = held.pop_front() else {
                    *state = State::Bridged(Arc::clone(&running), caller);
                    break;
                };
                next
            };
            let heard = running.on_client(caller, &next).await;
            if let (Err(error), Some(key)) = (heard, &next.id) {
                self.to.take(failed(key, error)).await;
            }
        }
        if self.left.load(Ordering::Acquire) {
            running.leave(caller);
        }
        self.settled.notify_waiters();
    }

    /// Opens the bridge that the first held message needs.
    async fn open_bridge(&self) -> Result<(Arc<RunningBridge>, Caller), ConnectionError> {
        let is_legacy_client = match &*self.state.lock() {
            State::Bridging { held, .. } => held
                .front()
                .is_some_and(|first| first.method.as_deref() == Some("initialize")),
            _ => false,
        };
        let (running, caller) = match (&self.shared, is_legacy_client) {
            (Some(shared), false) => {
                let running = shared.bridge(&self.server).await?;
                let caller = running.join(Arc::clone(&self.to));
                (running, caller)
            }
            (_, is_legacy_client) => {
                let config = config(&self.server, DeclaredCapabilities::FirstRequest);
                let bridge = match is_legacy_client {
                    true => Bridge::legacy_client_modern_server(config),
                    false => Bridge::modern_client_legacy_server(config),
                };
                let running = RunningBridge::new(&self.server, bridge);
                if let Some(connection) = self.connection.get().and_then(Weak::upgrade) {
                    running.connect(&connection);
                }
                let caller = running.join(Arc::clone(&self.to));
                (running, caller)
            }
        };
        self.observer.bridged(&self.server.name);
        tracing::info!(
            target: "spillgate_gateway", // users filter logs by this target
            server = self.server.name,
            client = if is_legacy_client { "legacy" } else { "modern" },
            "client and server speak different generations of MCP: messages between them are translated"
        );
        if let State::Bridging { bridge, .. } = &mut *self.state.lock() {
            *bridge = Some((Arc::clone(&running), caller));
        }
        Ok((running, caller))
    }

    async fn fail_held(&self, error: &ConnectionError) {
        let held = match mem::replace(&mut *self.state.lock(), State::Watching) {
            State::Bridging { held, .. } => held,
            _ => VecDeque::new(),
        };
        for key in held.into_iter().filter_map(|message| message.id) {
            self.to.take(failed(&key, error.clone())).await;
        }
        self.settled.notify_waiters();
    }
}
