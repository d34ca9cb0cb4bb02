//! Decides what happens to a result.
//!
//! The rules apply in this order (docs/spec/behaviour.md, "Results in an agent"): a result that
//! fits is shown; a result that is over a limit or would overflow the conversation is stored; if it
//! must not be stored, its middle is cut out; if nothing of it fits, it is dropped. A result that
//! is within the limits but does not fit is stored only if it is larger than the message that would
//! replace it.

use spillgate_artifact::Reason;
use spillgate_extract::Decided;
use spillgate_offload::Presentation;

use super::Session;
use super::round::{Round, Shown};
use crate::event::{CallId, Effect, Kept, Returned, Settled};
use crate::internal::{GET_CONTINUATION, listed};
use crate::settings::{CONCURRENCY, MAX_PAGING_TURNS};
use crate::texts;

impl Session {
    /// Handles the result of a call that was made.
    pub(super) fn returned(&mut self, id: &CallId, returned: Returned) -> Vec<Effect> {
        let Some(round) = self.round.as_mut() else {
            return Vec::new();
        };
        let Some(is_inner) = round.entry(id).map(|entry| entry.is_inner) else {
            return Vec::new();
        };
        let Returned {
            whole,
            cut,
            is_over,
            is_error,
            is_storable,
            instead,
        } = returned;
        round.came_back(id, is_error);
        // A result no larger than the message that would replace it stays, because storing it would
        // free no room.
        let stays = whole.as_ref().is_some_and(|whole| {
            whole.tokens() <= instead || self.conversation.guard.holds(whole.tokens())
        });
        if is_storable && (is_over || !stays) {
            let reason = match is_over {
                true => Reason::SizeCap,
                false => Reason::TokenBudget,
            };
            round.stores(id, reason);
            let mut effects = vec![Effect::Store(id.clone(), reason)];
            effects.extend(self.go_on());
            return effects;
        }
        let is_cut = is_over && cut.is_some();
        let shown = match is_over {
            true => cut.or(whole),
            false => whole,
        };
        let mut shown = self.taken(shown, is_error);
        if is_cut {
            shown.decided.get_or_insert(Decided::Cut);
        }
        // Until its batch is complete, the result may still have to be stored.
        let may_be_stored = is_inner && is_storable && shown.decided != Some(Decided::Dropped);
        shown.held = may_be_stored.then_some(instead);
        let mut effects = Vec::new();
        if shown.held.is_none() {
            effects.push(Effect::Release(id.clone()));
        }
        effects.extend(self.settle(id, shown));
        effects.extend(self.go_on());
        effects
    }

    /// Handles the outcome of storing a result.
    pub(super) fn kept(&mut self, id: &CallId, kept: Kept) -> Vec<Effect> {
        let Some(round) = self.round.as_ref() else {
            return Vec::new();
        };
        let Some(entry) = round.entry(id) else {
            return Vec::new();
        };
        let (reason, is_error) = (entry.reason.unwrap_or(Reason::SizeCap), entry.is_error);
        // If the result was already shown but did not fit into its batch, the tokens reserved for
        // it are released.
        if let Some(before) = &entry.shown {
            self.conversation.guard.free(before.tokens);
        }
        let shown = match kept {
            Kept::Stored { shown, handle } => {
                self.conversation.offer(listed(&self.settings, true));
                if !self.conversation.guard.reserve(shown.tokens()) {
                    // The handle is shown even if it does not fit, because otherwise the stored
                    // result could not be found.
                    self.conversation.guard.add(shown.tokens());
                }
                let decided = Some(Decided::Stored { handle, reason });
                Shown {
                    decided,
                    ..self.counted(&shown, is_error)
                }
            }
            Kept::Failed(ends) => {
                let mut shown = self.taken(Some(ends), is_error);
                shown.decided.get_or_insert(Decided::NotStored { reason });
                shown
            }
        };
        let mut effects: Vec<Effect> = self.settle(id, shown).into_iter().collect();
        effects.extend(self.go_on());
        effects
    }

    /// Reserves room for a result in the conversation. If there is no room, the result is dropped,
    /// unless it is no larger than the notice that would replace it.
    fn taken(&mut self, shown: Option<Presentation>, is_error: bool) -> Shown {
        let shown = shown.map(|shown| match shown.text().is_empty() {
            true => Shown {
                tokens: 1,
                ..self.shown(texts::EMPTY, is_error)
            },
            false => self.counted(&shown, is_error),
        });
        match shown {
            Some(shown) if self.conversation.guard.reserve(shown.tokens) => shown,
            shown => {
                self.conversation.guard.close();
                let dropped = self.error(texts::DROPPED);
                if let Some(shown) = shown.filter(|shown| shown.tokens <= dropped.tokens) {
                    self.conversation.guard.add(shown.tokens);
                    return shown;
                }
                self.conversation.guard.add(dropped.tokens);
                let decided = Some(Decided::Dropped);
                Shown { decided, ..dropped }
            }
        }
    }

    fn counted(&self, shown: &Presentation, is_error: bool) -> Shown {
        Shown {
            tokens: shown.tokens(),
            ..self.shown(shown.text(), is_error)
        }
    }

    fn settle(&mut self, id: &CallId, shown: Shown) -> Option<Effect> {
        let round = self.round.as_mut()?;
        let entry = round.entry(id)?;
        let tool = entry.call.name.clone();
        if !shown.is_error {
            let arguments = entry.call.arguments.clone();
            self.last_call = Some((tool.clone(), arguments, shown.text.clone()));
        }
        let plain = match shown.is_error {
            true => Decided::Failed,
            false => Decided::Shown,
        };
        let settled = Settled {
            tool,
            decided: shown.decided.unwrap_or(plain),
            tokens: shown.tokens,
        };
        round.settle(id, shown);
        Some(Effect::Settled(id.clone(), settled))
    }

    /// Makes the next calls. When each call has its answer, asks the model again.
    pub(super) fn go_on(&mut self) -> Vec<Effect> {
        let Some(mut round) = self.round.take() else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        if self.conversation.guard.is_over() {
            for planned in round.give_up() {
                let refused = self.error(texts::NOT_MADE);
                self.conversation.guard.add(refused.tokens);
                let settled = Settled {
                    tool: planned.call.name,
                    decided: Decided::NotMade,
                    tokens: refused.tokens,
                };
                round.settle(&planned.id, refused);
                effects.push(Effect::Settled(planned.id, settled));
            }
        }
        while let Some(planned) = round.next(CONCURRENCY) {
            effects.push(Effect::Call(planned));
        }
        if !round.is_complete() {
            self.round = Some(round);
            return effects;
        }
        if let Some(id) = self.enclose(&mut round, &mut effects) {
            round.stores(&id, Reason::ReserveFailed);
            effects.push(Effect::Store(id, Reason::ReserveFailed));
            self.round = Some(round);
            return effects;
        }
        let held = round.held().map(|(id, _)| Effect::Release(id.clone()));
        effects.extend(held);
        self.concluded(&round);
        effects.extend(self.ask(None));
        effects
    }

    /// Ends the round: its replies are added to the conversation.
    fn concluded(&mut self, round: &Round) {
        self.conversation.answered(round.replies());
        if round.is_only(GET_CONTINUATION) {
            self.conversation.free_turn(MAX_PAGING_TURNS);
        }
    }
}
