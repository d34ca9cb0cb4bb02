//! Keeps an answer of `Read` or `Grep` within its token budget.

use std::borrow::Cow;
use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::fitting;
use spillgate_text::TokenCounter;

/// The smallest budget, in tokens. A smaller budget has no room for a name, a line and the hint
/// together.
const LEAST: u64 = 128;

/// The name may cost at most the budget divided by this number, so that most tokens remain for the
/// text.
const NAME_PART: u64 = 4;

/// The bounds of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageBudget<'a> {
    budget: TokenBudget,
    file: &'a str,
    /// The counter for the budget.
    pub(crate) counter: &'a dyn TokenCounter,
}

impl<'a> PageBudget<'a> {
    /// Returns the bounds of an answer about `file`: `budget` tokens, but at least the smallest
    /// budget.
    pub(crate) fn new(file: &'a str, budget: TokenBudget, counter: &'a dyn TokenCounter) -> Self {
        let budget = TokenBudget::new(budget.get().max(LEAST));
        Self {
            budget,
            file,
            counter,
        }
    }

    /// The file's name, clipped if it would fill the page.
    pub(crate) fn name(&self) -> String {
        let part = TokenBudget::new(self.budget.get() / NAME_PART);
        let taken = fitting(self.file, &[], part, self.counter);
        match taken < self.file.len() {
            true => format!("{}…", &self.file[..taken]),
            false => self.file.to_owned(),
        }
    }

    /// Calls `make` with the number of tokens that remain after `frame` tokens. The token counts of
    /// parts do not add up exactly to that of the whole, so `make` is called again with fewer
    /// tokens as long as the result exceeds the budget.
    pub(crate) fn within(
        &self,
        frame: u64,
        make: &dyn Fn(TokenBudget) -> io::Result<String>,
    ) -> io::Result<String> {
        let mut room = self.budget.less(frame);
        loop {
            let text = make(room)?;
            let over = self.counter.exceeds(&text, self.budget.get());
            if !over || room.get() == 1 {
                return Ok(self.cut(text));
            }
            room = room.less(room.get() / 8 + 1);
        }
    }

    /// Cuts the text to the budget.
    pub(crate) fn cut(&self, text: String) -> String {
        if !self.counter.exceeds(&text, self.budget.get()) {
            return text;
        }
        let taken = fitting(&text, &[], self.budget.less(2), self.counter);
        format!("{}…", &text[..taken])
    }
}

/// Formats a line: removes its line end and replaces invalid UTF-8 with U+FFFD.
pub(crate) fn line_text(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))
}
