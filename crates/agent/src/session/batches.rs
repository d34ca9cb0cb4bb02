//! Makes the text of a batch fit into the conversation.
//!
//! The text of a batch is larger than the results in it, because it adds names, quotes and escapes.
//! If the conversation has no room for this text, three steps follow until it fits. First, failures
//! are reported together. Then results that are larger than the message that would replace them are
//! stored. Finally, as few results as possible are dropped, and the text says so.

use std::cmp::Reverse;

use spillgate_extract::Decided;

use super::Session;
use super::round::{Round, Shown};
use crate::event::{CallId, Effect, Settled};
use crate::texts;

impl Session {
    /// Reserves room for the batches of a round. If a result must be stored first, returns the id
    /// of its call.
    pub(super) fn enclose(
        &mut self,
        round: &mut Round,
        effects: &mut Vec<Effect>,
    ) -> Option<CallId> {
        let mut more = self.around(round);
        if !self.conversation.guard.holds(more) {
            self.conversation.guard.free(round.tighten());
            more = self.around(round);
        }
        while !self.conversation.guard.holds(more) {
            if let Some(id) = self.worth_storing(round) {
                return Some(id);
            }
            let Some(id) = self.to_drop(round, self.conversation.guard.excess(more)) else {
                break;
            };
            effects.extend(self.drop_inner(round, &id));
            more = self.around(round);
        }
        if !self.conversation.guard.reserve(more) {
            self.conversation.guard.add(more); // `Conversation::fit` makes room for this later
        }
        None
    }

    /// Returns the size of the batches in tokens, without the results in them.
    fn around(&self, round: &Round) -> u64 {
        let envelopes = round.envelopes();
        let more = envelopes
            .iter()
            .map(|(text, inner)| self.conversation.count(text).saturating_sub(*inner));
        more.sum()
    }

    /// Returns the size of a result within a batch in tokens, encoded as JSON.
    fn within(&self, shown: &Shown) -> u64 {
        self.conversation
            .count(&serde_json::Value::from(shown.text.as_str()).to_string())
    }

    /// Returns the result that frees the most room if it is stored; `None` if storing frees no
    /// room.
    fn worth_storing(&self, round: &Round) -> Option<CallId> {
        let freed = round.held().filter_map(|(id, shown)| {
            let freed = self.within(shown).checked_sub(shown.held?)?;
            (freed > 0).then_some((id, freed))
        });
        let most = freed.max_by_key(|(_, freed)| *freed);
        most.map(|(id, _)| id.clone())
    }

    /// Returns the smallest result that frees enough room, or else the largest one. Messages with
    /// handles are never dropped.
    fn to_drop(&self, round: &Round, excess: u64) -> Option<CallId> {
        let may_go = |shown: &Shown| {
            let told = [texts::DROPPED, texts::NOT_MADE, texts::UNFINISHED];
            !shown.is_handle() && !told.contains(&&*shown.text)
        };
        let inner = round.inner().filter(|(_, shown)| may_go(shown));
        let sized: Vec<(u64, &CallId)> =
            inner.map(|(id, shown)| (self.within(shown), id)).collect();
        // Of several results of equal size, the last one is chosen.
        let enough = sized.iter().filter(|(tokens, _)| *tokens >= excess);
        let smallest = enough.min_by_key(|(tokens, id)| (*tokens, Reverse(*id)));
        smallest.or(sized.iter().max()).map(|(_, id)| (*id).clone())
    }

    /// Drops one result of a batch. As after every drop, the next turn is the final one.
    fn drop_inner(&mut self, round: &mut Round, id: &CallId) -> Vec<Effect> {
        let Some(entry) = round.entry(id) else {
            return Vec::new();
        };
        let (tool, is_planned) = (entry.call.name.clone(), entry.is_planned);
        let mut effects = Vec::new();
        if let Some(before) = &entry.shown {
            self.conversation.guard.free(before.tokens);
            effects.extend(before.held.map(|_| Effect::Release(id.clone())));
        }
        self.conversation.guard.close();
        // One notice in the text of the batch covers all dropped results.
        let dropped = Shown {
            decided: Some(Decided::Dropped),
            tokens: 0,
            ..self.error(texts::DROPPED)
        };
        let settled = Settled {
            tool,
            decided: Decided::Dropped,
            tokens: 0,
        };
        round.settle(id, dropped);
        effects.extend(is_planned.then(|| Effect::Settled(id.clone(), settled)));
        effects
    }
}
