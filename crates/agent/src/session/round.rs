//! Tracks the tool calls of one reply until each of them has an answer.

use std::collections::{BTreeMap, VecDeque};

use spillgate_artifact::Reason;
use spillgate_extract::Decided;
use spillgate_llm::{ToolCall, ToolReply};

use crate::batch::{self, Answer, Inner};
use crate::event::{CallId, Planned};
use crate::texts;

/// The text that the conversation contains for the result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) tokens: u64,
    pub(crate) is_error: bool,
    /// The decision about the result; `None` if the result is shown unchanged.
    pub(crate) decided: Option<Decided>,
    /// Approximate size, in tokens, of the message that would replace the result. Set while the
    /// orchestrator holds the result and may store it.
    pub(crate) held: Option<u64>,
}

impl Shown {
    /// Returns whether the text names the handle of a stored result. Such texts are left out last.
    pub(crate) fn is_handle(&self) -> bool {
        matches!(self.decided, Some(Decided::Stored { .. }))
    }
}

/// A call of the round, waiting, in flight or answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) call: ToolCall,
    /// What the model is shown of the call's result; `None` until that is decided.
    pub(crate) shown: Option<Shown>,
    /// Whether the call is within a batch.
    pub(crate) is_inner: bool,
    /// Whether the call is one to make; otherwise the session answered it itself.
    pub(crate) is_planned: bool,
    /// Whether the tool reported a failure. A text that replaces the result is then marked as a
    /// failure, too.
    pub(crate) is_error: bool,
    /// Why the result is being stored; `None` if it is not.
    pub(crate) reason: Option<Reason>,
}

/// The calls of one reply. A round lasts until each of them has an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Round {
    /// The calls in the order in which the model made them.
    order: Vec<CallId>,
    entries: BTreeMap<CallId, Entry>,
    batches: BTreeMap<CallId, Vec<Inner>>,
    queue: VecDeque<Planned>,
    running: usize,
    /// Whether the failures of a batch are reported together to save room.
    is_tight: bool,
}

impl Round {
    /// Adds a call that is already answered.
    pub(crate) fn answered(&mut self, call: &ToolCall, shown: Shown) {
        self.order.push(CallId::of(call));
        self.enter(call, Some(shown), false);
    }

    /// Adds a call that must be made.
    pub(crate) fn planned(&mut self, call: &ToolCall) {
        self.order.push(CallId::of(call));
        self.queued(call, false);
    }

    /// Adds a batch. `inner` are its calls, some of which may already be answered.
    pub(crate) fn batched(
        &mut self,
        batch: &ToolCall,
        inner: Vec<Inner>,
        answered: impl Fn(&ToolCall) -> Option<Shown>,
    ) {
        for call in inner.iter().filter_map(|one| one.call.as_ref().ok()) {
            match answered(call) {
                Some(shown) => self.enter(call, Some(shown), true),
                None => self.queued(call, true),
            }
        }
        self.order.push(CallId::of(batch));
        self.batches.insert(CallId::of(batch), inner);
    }

    fn queued(&mut self, call: &ToolCall, is_inner: bool) {
        self.enter(call, None, is_inner);
        self.queue.push_back(Planned {
            id: CallId::of(call),
            call: call.clone(),
        });
    }

    fn enter(&mut self, call: &ToolCall, shown: Option<Shown>, is_inner: bool) {
        let entry = Entry {
            call: call.clone(),
            is_planned: shown.is_none(),
            shown,
            is_inner,
            is_error: false,
            reason: None,
        };
        self.entries.insert(CallId::of(call), entry);
    }

    /// Returns the size of the answers so far, in tokens.
    pub(crate) fn tokens(&self) -> u64 {
        let shown = self
            .entries
            .values()
            .filter_map(|entry| entry.shown.as_ref());
        shown.map(|shown| shown.tokens).sum()
    }

    /// Returns the next call to make, if fewer than `most` are in flight.
    pub(crate) fn next(&mut self, most: usize) -> Option<Planned> {
        let next = (self.running < most).then(|| self.queue.pop_front())?;
        self.running += usize::from(next.is_some());
        next
    }

    /// Removes and returns all calls that have not been made yet.
    pub(crate) fn give_up(&mut self) -> Vec<Planned> {
        self.queue.drain(..).collect()
    }

    /// Records that a call returned.
    pub(crate) fn came_back(&mut self, id: &CallId, is_error: bool) {
        self.running = self.running.saturating_sub(1);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.is_error = is_error;
        }
    }

    pub(crate) fn entry(&self, id: &CallId) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// Records that a result is being stored.
    pub(crate) fn stores(&mut self, id: &CallId, reason: Reason) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.reason = Some(reason);
        }
    }

    /// Records what the model is shown of a call's result.
    pub(crate) fn settle(&mut self, id: &CallId, shown: Shown) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.shown = Some(shown);
        }
    }

    /// Returns whether each call has its answer.
    pub(crate) fn is_complete(&self) -> bool {
        self.queue.is_empty() && self.entries.values().all(|entry| entry.shown.is_some())
    }

    /// Returns the calls whose results the orchestrator still holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&CallId, &Shown)> {
        let entries = self.entries.iter();
        entries
            .filter_map(|(id, entry)| Some((id, entry.shown.as_ref()?)))
            .filter(|(_, shown)| shown.held.is_some())
    }

    /// Returns the answered calls within batches, with the text that is shown for each.
    pub(crate) fn inner(&self) -> impl Iterator<Item = (&CallId, &Shown)> {
        let entries = self.entries.iter().filter(|(_, entry)| entry.is_inner);
        entries.filter_map(|(id, entry)| Some((id, entry.shown.as_ref()?)))
    }

    /// From now on, reports the failures of a batch together, each error text once. Returns the
    /// number of tokens that were counted while each failure had its own text.
    pub(crate) fn tighten(&mut self) -> u64 {
        self.is_tight = true;
        let inner = self.entries.values_mut().filter(|entry| entry.is_inner);
        let shown = inner.filter_map(|entry| entry.shown.as_mut());
        shown
            .filter(|shown| shown.is_error)
            .map(|shown| std::mem::take(&mut shown.tokens))
            .sum()
    }

    /// Returns the text of each batch, with the number of tokens of the results in it.
    pub(crate) fn envelopes(&self) -> Vec<(String, u64)> {
        let batches = self.batches.values();
        let tokens = |inner: &Inner| {
            let call = inner.call.as_ref().ok()?;
            Some(self.entries.get(&CallId::of(call))?.shown.as_ref()?.tokens)
        };
        batches
            .map(|inner| (self.envelope(inner), inner.iter().filter_map(tokens).sum()))
            .collect()
    }

    fn envelope(&self, inner: &[Inner]) -> String {
        batch::envelope(inner, self.is_tight, |one| {
            let call = one.call.as_ref().ok();
            let entry = call.and_then(|call| self.entries.get(&CallId::of(call)));
            let shown = entry.and_then(|entry| entry.shown.as_ref());
            match shown {
                Some(shown) => Answer {
                    text: &shown.text,
                    is_error: shown.is_error,
                },
                None => Answer {
                    text: texts::UNFINISHED,
                    is_error: true,
                },
            }
        })
    }

    /// Returns one reply for each call of the model, in the order of the calls. The flag of a reply
    /// says whether the reply names the handle of a stored result.
    pub(crate) fn replies(&self) -> Vec<(ToolReply, bool)> {
        let reply = |id: &CallId| {
            let (text, is_error, is_handle) = match self.batches.get(id) {
                Some(inner) => {
                    let entries = self.entries.values().filter(|entry| entry.is_inner);
                    let has_handle = entries
                        .filter_map(|entry| entry.shown.as_ref())
                        .any(Shown::is_handle);
                    (self.envelope(inner), false, has_handle)
                }
                None => match self.entries.get(id).and_then(|entry| entry.shown.as_ref()) {
                    Some(shown) => (shown.text.clone(), shown.is_error, shown.is_handle()),
                    None => (texts::UNFINISHED.to_owned(), true, false),
                },
            };
            let call_id = id.as_str().to_owned();
            let reply = ToolReply {
                call_id,
                text,
                is_error,
            };
            (reply, is_handle)
        };
        self.order.iter().map(reply).collect()
    }

    /// Returns whether there are calls and all of them call the tool `tool`.
    pub(crate) fn is_only(&self, tool: &str) -> bool {
        let mut entries = self.entries.values();
        !self.entries.is_empty() && entries.all(|entry| entry.call.name == tool)
    }
}
