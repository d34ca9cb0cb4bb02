//! Handles events from the server during negotiation, and changes the state accordingly.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use spillgate_transport::{Item, Message, ServerEvent};

use super::verdict::{Verdict, verdict};
use super::{EarlyDiscover, Negotiation, NextStep, Reaction, State, probe_key};
use crate::bridged_connector::for_request;
use crate::generations::SpokenGenerations;

impl Negotiation {
    /// Returns how to react to an event from the server.
    pub(super) fn react(&self, event: ServerEvent) -> Reaction {
        let mut state = self.state.lock();
        match &mut *state {
            State::Watching | State::Releasing { .. } => Reaction::Give(event),
            State::Bridged(running, _)
            | State::Bridging {
                bridge: Some((running, _)),
                ..
            } => match &self.shared {
                // The bridge of an exchange has its own connection, so events of this connection
                // are not needed.
                Some(_) => Reaction::Drop,
                None => Reaction::Bridge(Arc::clone(running), event),
            },
            State::Bridging { bridge: None, .. } => match event.item {
                // The bridge informs all waiting clients that the server has ended.
                Item::Gone(_) if self.shared.is_some() => Reaction::Drop,
                _ => Reaction::Give(event),
            },
            State::Greeting { .. } | State::Probing { .. } => {
                let turn = self.greeted(&mut state, event);
                drop(state);
                self.settled.notify_waiters();
                turn
            }
        }
    }

    fn greeted(&self, state: &mut State, event: ServerEvent) -> Reaction {
        if matches!(event.item, Item::Gone(_)) {
            *state = State::Watching; // all pending requests fail
            return Reaction::Give(event);
        }
        if self.tried(state, &event) {
            return Reaction::Give(event);
        }
        let (asked, key) = match state {
            State::Greeting { greeting, key, .. } => {
                (greeting.method.clone().unwrap_or_default(), key.clone())
            }
            _ => ("server/discover".to_owned(), probe_key()),
        };
        let Some(verdict) = verdict(&asked, &key, &event) else {
            return Reaction::Give(event);
        };
        match mem::replace(state, State::Watching) {
            State::Greeting {
                held,
                tried: Some(tried),
                ..
            } if matches!(verdict, Verdict::Modern | Verdict::Unclear) => {
                self.refused_anyway(state, tried, held, event)
            }
            State::Greeting { greeting, held, .. } if asked == "initialize" => {
                self.initialized(state, verdict, greeting, held, event)
            }
            State::Greeting { greeting, held, .. } => {
                self.discovered(state, verdict, greeting, held, event)
            }
            State::Probing { held, refusal } => self.probed(state, verdict, held, refusal, &event),
            other => {
                *state = other;
                Reaction::Give(event)
            }
        }
    }

    /// Returns whether the event answers the `server/discover` that the client sent before
    /// `initialize`. Records the answer.
    fn tried(&self, state: &mut State, event: &ServerEvent) -> bool {
        let State::Greeting { tried, .. } = state else {
            return false;
        };
        let Some(EarlyDiscover::Pending(_, key)) = tried else {
            return false;
        };
        let Some(verdict) = verdict("server/discover", key, event) else {
            return false;
        };
        match verdict {
            Verdict::Modern => self.note(None, Some(true)),
            Verdict::Legacy => self.note(None, Some(false)),
            Verdict::Unclear | Verdict::Failed => {}
        }
        *tried = (verdict == Verdict::Modern).then_some(EarlyDiscover::Answered);
        true
    }

    /// Passes the server's refusal of `initialize` on to a client that also speaks the modern
    /// generation. The refusal does not prove that the server speaks only the modern generation:
    /// some servers use the generation of the first request to their process.
    fn refused_anyway(
        &self,
        state: &mut State,
        tried: EarlyDiscover,
        held: VecDeque<Message>,
        refusal: ServerEvent,
    ) -> Reaction {
        match tried {
            EarlyDiscover::Answered => self.release(state, vec![refusal], held, true),
            EarlyDiscover::Pending(greeting, key) => {
                *state = State::Greeting {
                    greeting,
                    key,
                    held,
                    tried: None,
                };
                Reaction::Give(refusal)
            }
        }
    }

    fn initialized(
        &self,
        state: &mut State,
        verdict: Verdict,
        greeting: Message,
        mut held: VecDeque<Message>,
        event: ServerEvent,
    ) -> Reaction {
        match verdict {
            Verdict::Legacy => {
                self.note(Some(true), None);
                self.release(state, vec![event], held, true)
            }
            Verdict::Modern => {
                self.note(Some(false), Some(true));
                held.push_front(greeting);
                *state = State::Bridging { held, bridge: None };
                Reaction::Then(Vec::new(), NextStep::Bridge)
            }
            Verdict::Unclear => {
                held.push_front(greeting);
                let refusal = Some(event);
                *state = State::Probing { held, refusal };
                Reaction::Then(Vec::new(), NextStep::Probe)
            }
            Verdict::Failed => self.release(state, vec![event], held, false),
        }
    }

    fn discovered(
        &self,
        state: &mut State,
        verdict: Verdict,
        greeting: Message,
        mut held: VecDeque<Message>,
        event: ServerEvent,
    ) -> Reaction {
        match verdict {
            Verdict::Modern => {
                self.note(None, Some(true));
                self.release(state, vec![event], held, true)
            }
            Verdict::Legacy => {
                self.note(None, Some(false));
                let is_hidden = self.insists();
                if is_hidden {
                    held.push_front(greeting);
                }
                if held.is_empty() {
                    return Reaction::Give(event);
                }
                *state = State::Bridging { held, bridge: None };
                let told = if is_hidden { None } else { Some(event) };
                Reaction::Then(told.into_iter().collect(), NextStep::Bridge)
            }
            Verdict::Unclear | Verdict::Failed => self.release(state, vec![event], held, false),
        }
    }

    fn probed(
        &self,
        state: &mut State,
        verdict: Verdict,
        held: VecDeque<Message>,
        refusal: Option<ServerEvent>,
        event: &ServerEvent,
    ) -> Reaction {
        match (verdict, refusal) {
            (Verdict::Modern, Some(_)) => {
                self.note(Some(false), Some(true));
                *state = State::Bridging { held, bridge: None };
                Reaction::Then(Vec::new(), NextStep::Bridge)
            }
            (_, Some(refusal)) => Reaction::Give(refusal),
            (Verdict::Modern, None) => {
                self.note(None, Some(true));
                self.release(state, Vec::new(), held, true)
            }
            (Verdict::Legacy, None) => {
                self.note(None, Some(false));
                *state = State::Bridging { held, bridge: None };
                Reaction::Then(Vec::new(), NextStep::Bridge)
            }
            (Verdict::Unclear, None) => self.release(state, Vec::new(), held, false),
            (Verdict::Failed, None) => {
                let keys = held.iter().filter_map(|message| message.id.as_ref());
                let told = keys.filter_map(|key| for_request(event, key));
                Reaction::Then(told.collect(), NextStep::Nothing)
            }
        }
    }

    fn note(&self, legacy: Option<bool>, modern: Option<bool>) {
        self.generations
            .note(&self.server.name, SpokenGenerations { legacy, modern });
    }

    /// Sends the held messages to the server, and lets all later messages pass.
    fn release(
        &self,
        state: &mut State,
        told: Vec<ServerEvent>,
        held: VecDeque<Message>,
        pass: bool,
    ) -> Reaction {
        if !held.is_empty() {
            *state = State::Releasing { held, pass };
            return Reaction::Then(told, NextStep::Release);
        }
        *state = State::Watching;
        self.passes.fetch_or(pass, Ordering::Release);
        Reaction::Then(told, NextStep::Nothing)
    }
}
