//! How much room is left in the model's context?
//!
//! A result that does not fit is stored, and only its handle is counted
//! (docs/spec/behaviour.md, "The window"); a look ([`Guard::holds`]) changes nothing, so
//! that the final turn is forced only when even the handle overflows.

use serde::{Deserialize, Serialize};

/// The room of a conversation, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The model's context: prompt and reply together.
    pub window: u64,
    /// Kept free for what is counted otherwise elsewhere. ai-agent's default is
    /// 8,192.
    pub buffer: u64,
    /// What a reply may have.
    pub max_output: u64,
}

impl Window {
    /// What the conversation may have: `window − buffer − max output`.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.window
            .saturating_sub(self.buffer)
            .saturating_sub(self.max_output)
    }
}

/// What is in the conversation, against its limit.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    limit: u64,
    tokens: u64,
    is_over: bool,
}

impl Guard {
    /// A conversation that begins with so many tokens.
    pub(crate) fn new(window: &Window, tokens: u64) -> Self {
        Self {
            limit: window.limit(),
            tokens,
            is_over: false,
        }
    }

    /// Whether so many more would fit. Changes nothing.
    pub(crate) fn holds(&self, more: u64) -> bool {
        self.tokens.saturating_add(more) <= self.limit
    }

    /// Takes room for so many more. If there is none it is noted for good that the
    /// conversation overflowed: it must come to its end.
    pub(crate) fn reserve(&mut self, more: u64) -> bool {
        let holds = self.holds(more);
        self.is_over |= !holds;
        if holds {
            self.tokens += more;
        }
        holds
    }

    /// Counts what is there whether it fits or not: what the model itself said.
    pub(crate) fn add(&mut self, more: u64) {
        self.tokens = self.tokens.saturating_add(more);
    }

    /// Gives room back: something was left out.
    pub(crate) fn free(&mut self, less: u64) {
        self.tokens = self.tokens.saturating_sub(less);
    }

    /// The provider counted so many: who reads it counts it best.
    pub(crate) fn counted(&mut self, tokens: u64) {
        self.tokens = self.tokens.max(tokens);
    }

    /// Tokens over the limit, if `more` came.
    pub(crate) fn excess(&self, more: u64) -> u64 {
        self.tokens.saturating_add(more).saturating_sub(self.limit)
    }

    /// Whether something did not fit once.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// From now on the conversation comes to its end.
    pub(crate) fn close(&mut self) {
        self.is_over = true;
    }

    /// Tokens of the conversation.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_changes_nothing_and_a_failed_reservation_is_remembered() {
        let window = Window {
            window: 3000,
            buffer: 100,
            max_output: 200,
        };
        let mut guard = Guard::new(&window, 700);
        assert!(guard.holds(2000) && !guard.holds(2001));
        assert!(!guard.is_over(), "a look is no reservation");
        assert!(guard.reserve(1990) && guard.holds(10) && !guard.holds(11));
        assert!(!guard.reserve(11) && guard.is_over());
        assert_eq!(guard.tokens(), 2690, "what was refused is not counted");
        assert_eq!(guard.excess(20), 10);
    }
}
