//! What does an answer of the server change?

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use spillgate_wire::{Item, Message, ServerEvent};

use super::super::verdict::{Verdict, verdict};
use super::super::{Speaks, for_request};
use super::{Act, State, Tried, Turn, Way, probe_key};

impl Way {
    /// What becomes of an event of the server.
    pub(super) fn judge(&self, event: ServerEvent) -> Turn {
        let mut state = self.state.lock();
        match &mut *state {
            State::Watching | State::Releasing { .. } => Turn::Give(event),
            State::Bridged(live, _)
            | State::Turning {
                bridge: Some((live, _)),
                ..
            } => match &self.shared {
                // That bridge has a way of its own.
                Some(_) => Turn::Drop,
                None => Turn::Bridge(Arc::clone(live), event),
            },
            State::Turning { bridge: None, .. } => match event.item {
                // Whoever waits is told by the bridge.
                Item::Gone(_) if self.shared.is_some() => Turn::Drop,
                _ => Turn::Give(event),
            },
            State::Greeting { .. } | State::Probing { .. } => {
                let turn = self.greeted(&mut state, event);
                drop(state);
                self.settled.notify_waiters();
                turn
            }
        }
    }

    pub(super) fn greeted(&self, state: &mut State, event: ServerEvent) -> Turn {
        if matches!(event.item, Item::Gone(_)) {
            *state = State::Watching; // whatever waits fails
            return Turn::Give(event);
        }
        if self.tried(state, &event) {
            return Turn::Give(event);
        }
        let (asked, key) = match state {
            State::Greeting { greeting, key, .. } => {
                (greeting.method.clone().unwrap_or_default(), key.clone())
            }
            _ => ("server/discover".to_owned(), probe_key()),
        };
        let Some(verdict) = verdict(&asked, &key, &event) else {
            return Turn::Give(event);
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
                Turn::Give(event)
            }
        }
    }

    /// Whether this answers the `server/discover` before an `initialize`; then
    /// it is noted.
    fn tried(&self, state: &mut State, event: &ServerEvent) -> bool {
        let State::Greeting { tried, .. } = state else {
            return false;
        };
        let Some(Tried::RequestKind(_, key)) = tried else {
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
        *tried = (verdict == Verdict::Modern).then_some(Tried::Answered);
        true
    }

    /// The server refused the `initialize` of a client that speaks the modern
    /// generation, too: that it hears. Such a server need not be modern only:
    /// some speak what their process was first spoken to in.
    fn refused_anyway(
        &self,
        state: &mut State,
        tried: Tried,
        held: VecDeque<Message>,
        refusal: ServerEvent,
    ) -> Turn {
        match tried {
            Tried::Answered => self.release(state, vec![refusal], held, true),
            Tried::RequestKind(greeting, key) => {
                *state = State::Greeting {
                    greeting,
                    key,
                    held,
                    tried: None,
                };
                Turn::Give(refusal)
            }
        }
    }

    pub(super) fn initialized(
        &self,
        state: &mut State,
        verdict: Verdict,
        greeting: Message,
        mut held: VecDeque<Message>,
        event: ServerEvent,
    ) -> Turn {
        match verdict {
            Verdict::Legacy => {
                self.note(Some(true), None);
                self.release(state, vec![event], held, true)
            }
            Verdict::Modern => {
                self.note(Some(false), Some(true));
                held.push_front(greeting);
                *state = State::Turning { held, bridge: None };
                Turn::Act(Vec::new(), Act::Turn)
            }
            Verdict::Unclear => {
                held.push_front(greeting);
                let refusal = Some(event);
                *state = State::Probing { held, refusal };
                Turn::Act(Vec::new(), Act::Probe)
            }
            Verdict::Failed => self.release(state, vec![event], held, false),
        }
    }

    pub(super) fn discovered(
        &self,
        state: &mut State,
        verdict: Verdict,
        greeting: Message,
        mut held: VecDeque<Message>,
        event: ServerEvent,
    ) -> Turn {
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
                    return Turn::Give(event);
                }
                *state = State::Turning { held, bridge: None };
                let told = if is_hidden { None } else { Some(event) };
                Turn::Act(told.into_iter().collect(), Act::Turn)
            }
            Verdict::Unclear | Verdict::Failed => self.release(state, vec![event], held, false),
        }
    }

    pub(super) fn probed(
        &self,
        state: &mut State,
        verdict: Verdict,
        held: VecDeque<Message>,
        refusal: Option<ServerEvent>,
        event: &ServerEvent,
    ) -> Turn {
        match (verdict, refusal) {
            (Verdict::Modern, Some(_)) => {
                self.note(Some(false), Some(true));
                *state = State::Turning { held, bridge: None };
                Turn::Act(Vec::new(), Act::Turn)
            }
            (_, Some(refusal)) => Turn::Give(refusal),
            (Verdict::Modern, None) => {
                self.note(None, Some(true));
                self.release(state, Vec::new(), held, true)
            }
            (Verdict::Legacy, None) => {
                self.note(None, Some(false));
                *state = State::Turning { held, bridge: None };
                Turn::Act(Vec::new(), Act::Turn)
            }
            (Verdict::Unclear, None) => self.release(state, Vec::new(), held, false),
            (Verdict::Failed, None) => {
                let keys = held.iter().filter_map(|message| message.id.as_ref());
                let told = keys.filter_map(|key| for_request(event, key));
                Turn::Act(told.collect(), Act::Nothing)
            }
        }
    }

    pub(super) fn note(&self, legacy: Option<bool>, modern: Option<bool>) {
        self.eras.note(&self.server.name, Speaks { legacy, modern });
    }

    /// What was held goes to the server, and everything after it.
    pub(super) fn release(
        &self,
        state: &mut State,
        told: Vec<ServerEvent>,
        held: VecDeque<Message>,
        pass: bool,
    ) -> Turn {
        if !held.is_empty() {
            *state = State::Releasing { held, pass };
            return Turn::Act(told, Act::Release);
        }
        *state = State::Watching;
        self.passes.store(pass, Ordering::Release);
        Turn::Act(told, Act::Nothing)
    }
}
