//! The count of a conversation's tokens against its limit.
//!
//! A check ([`Guard::holds`]) changes nothing. A reservation that fails is remembered: the
//! conversation then has one more turn (docs/spec/behaviour.md, "The window").

/// What is in a conversation, in tokens, against its limit.
#[derive(Debug, Clone)]
pub struct Guard {
    limit: u64,
    tokens: u64,
    is_over: bool,
}

impl Guard {
    /// A conversation that begins with `tokens`, of at most `limit`.
    pub(crate) fn new(limit: u64, tokens: u64) -> Self {
        Self {
            limit,
            tokens,
            is_over: false,
        }
    }

    /// Whether so many more would fit. Changes nothing.
    #[must_use]
    pub fn holds(&self, more: u64) -> bool {
        self.tokens.saturating_add(more) <= self.limit
    }

    /// Takes room for so many more. If there is none it is noted for good that the
    /// conversation overflowed: it must come to its end.
    pub fn reserve(&mut self, more: u64) -> bool {
        let holds = self.holds(more);
        self.is_over |= !holds;
        if holds {
            self.tokens += more;
        }
        holds
    }

    /// Counts what is there whether it fits or not: what the model itself said.
    pub fn add(&mut self, more: u64) {
        self.tokens = self.tokens.saturating_add(more);
    }

    /// Gives room back: something was left out.
    pub fn free(&mut self, less: u64) {
        self.tokens = self.tokens.saturating_sub(less);
    }

    /// The provider counted so many: who reads it counts it best.
    pub(crate) fn counted(&mut self, tokens: u64) {
        self.tokens = self.tokens.max(tokens);
    }

    /// Tokens over the limit, if `more` came.
    #[must_use]
    pub fn excess(&self, more: u64) -> u64 {
        self.tokens.saturating_add(more).saturating_sub(self.limit)
    }

    /// Whether something did not fit once.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// From now on the conversation comes to its end.
    pub fn close(&mut self) {
        self.is_over = true;
    }

    /// Tokens of the conversation.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_changes_nothing_and_a_failed_reservation_is_remembered() {
        let mut guard = Guard::new(2700, 700);
        assert!(guard.holds(2000) && !guard.holds(2001));
        assert!(!guard.is_over(), "a look is no reservation");
        assert!(guard.reserve(1990) && guard.holds(10) && !guard.holds(11));
        assert!(!guard.reserve(11) && guard.is_over());
        assert_eq!(guard.tokens(), 2690, "what was refused is not counted");
        assert_eq!(guard.excess(20), 10);
    }
}
