//! Counts the tokens of a conversation and compares them with its limit.
//!
//! A check ([`Guard::holds`]) changes nothing. A reservation that fails is remembered: the
//! conversation then has one more turn (docs/spec/behaviour.md, "The window").

/// The tokens of a conversation and their limit.
#[derive(Debug, Clone)]
pub struct Guard {
    limit: u64,
    tokens: u64,
    is_over: bool,
}

impl Guard {
    /// Creates the guard of a conversation that begins with `tokens` and may have up to `limit`.
    pub(crate) fn new(limit: u64, tokens: u64) -> Self {
        Self {
            limit,
            tokens,
            is_over: false,
        }
    }

    /// Returns whether `more` tokens would fit. Changes nothing.
    #[must_use]
    pub fn holds(&self, more: u64) -> bool {
        self.tokens.saturating_add(more) <= self.limit
    }

    /// Reserves room for `more` tokens and returns whether they fit. If they do not, the guard
    /// remembers permanently that the conversation overflowed, and the next turn must be the last.
    pub fn reserve(&mut self, more: u64) -> bool {
        let holds = self.holds(more);
        self.is_over |= !holds;
        if holds {
            self.tokens += more;
        }
        holds
    }

    /// Counts tokens that are added to the conversation even if they exceed the limit, such as the
    /// model's own words.
    pub fn add(&mut self, more: u64) {
        self.tokens = self.tokens.saturating_add(more);
    }

    /// Releases the tokens of something that was left out.
    pub fn free(&mut self, less: u64) {
        self.tokens = self.tokens.saturating_sub(less);
    }

    /// Raises the count to `tokens`, the number that the provider reported, because only the
    /// provider knows exactly how it counts.
    pub(crate) fn counted(&mut self, tokens: u64) {
        self.tokens = self.tokens.max(tokens);
    }

    /// Returns how many tokens exceed the limit if `more` are added.
    #[must_use]
    pub fn excess(&self, more: u64) -> u64 {
        self.tokens.saturating_add(more).saturating_sub(self.limit)
    }

    /// Returns whether the next turn must be the last, because room for something could not be
    /// reserved or because the guard was closed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Records that the conversation must end: the next turn must be the last.
    pub fn close(&mut self) {
        self.is_over = true;
    }

    /// Returns the number of tokens of the conversation.
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
