//! What was held goes on: to the server as it is, or to a bridge.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use spillgate_bridge::{Bridge, Caller, Declare};
use spillgate_wire::{ConnectionError, Sink};

use super::super::Live;
use super::super::live::config;
use super::{Act, State, Way, failed, probe, probe_key};

impl Way {
    pub(super) fn act(self: &Arc<Self>, act: Act) {
        match act {
            Act::Nothing => {}
            Act::Release => drop(tokio::spawn(Arc::clone(self).let_go())),
            Act::Turn => drop(tokio::spawn(Arc::clone(self).turn())),
            Act::Probe => {
                let way = Arc::clone(self);
                tokio::spawn(async move {
                    let connection = way.connection.get().and_then(Weak::upgrade);
                    let sent = match connection {
                        Some(connection) => connection.send(probe()).await,
                        None => Err(ConnectionError::Gone("has ended".to_owned())),
                    };
                    if let Err(error) = sent {
                        way.take(failed(&probe_key(), error)).await;
                    }
                });
            }
        }
    }

    /// Sends what was held.
    pub(super) async fn let_go(self: Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state.lock();
                let State::Releasing { held, pass } = &mut *state else {
                    break;
                };
                let Some(next) = held.pop_front() else {
                    self.passes.store(*pass, Ordering::Release);
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

    /// Gives what was held to a bridge.
    pub(in crate::bridging) async fn turn(self: Arc<Self>) {
        let (live, caller) = match self.cross().await {
            Ok(joined) => joined,
            Err(error) => return self.fail_held(&error).await,
        };
        loop {
            let next = {
                let mut state = self.state.lock();
                let State::Turning { held, .. } = &mut *state else {
                    break;
                };
                let Some(next) = held.pop_front() else {
                    *state = State::Bridged(Arc::clone(&live), caller);
                    break;
                };
                next
            };
            let heard = live.hear(caller, &next).await;
            if let (Err(error), Some(key)) = (heard, &next.id) {
                self.to.take(failed(key, error)).await;
            }
        }
        if self.left.load(Ordering::Acquire) {
            live.leave(caller);
        }
        self.settled.notify_waiters();
    }

    /// Opens the bridge that the first message wants.
    pub(super) async fn cross(&self) -> Result<(Arc<Live>, Caller), ConnectionError> {
        let is_legacy_client = match &*self.state.lock() {
            State::Turning { held, .. } => held
                .front()
                .is_some_and(|first| first.method.as_deref() == Some("initialize")),
            _ => false,
        };
        let (live, caller) = match (&self.shared, is_legacy_client) {
            (Some(shared), false) => {
                let live = shared.bridge(&self.server).await?;
                let caller = live.join(Arc::clone(&self.to));
                (live, caller)
            }
            (_, is_legacy_client) => {
                let config = config(&self.server, Declare::FirstRequest);
                let bridge = match is_legacy_client {
                    true => Bridge::legacy_client_modern_server(config),
                    false => Bridge::modern_client_legacy_server(config),
                };
                let live = Live::new(&self.server, bridge);
                if let Some(connection) = self.connection.get().and_then(Weak::upgrade) {
                    live.connect(&connection);
                }
                let caller = live.join(Arc::clone(&self.to));
                (live, caller)
            }
        };
        self.metrics.bridged(&self.server.name);
        tracing::info!(
            server = self.server.name,
            client = if is_legacy_client { "legacy" } else { "modern" },
            "bridged: client and server speak different generations of MCP"
        );
        if let State::Turning { bridge, .. } = &mut *self.state.lock() {
            *bridge = Some((Arc::clone(&live), caller));
        }
        Ok((live, caller))
    }

    pub(super) async fn fail_held(&self, error: &ConnectionError) {
        let held = match mem::replace(&mut *self.state.lock(), State::Watching) {
            State::Turning { held, .. } => held,
            _ => VecDeque::new(),
        };
        for key in held.into_iter().filter_map(|message| message.id) {
            self.to.take(failed(&key, error.clone())).await;
        }
        self.settled.notify_waiters();
    }
}
