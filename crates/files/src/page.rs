//! Keeps an answer within its budget.

use std::borrow::Cow;
use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::fitting;
use spillgate_text::TokenCounter;

/// Below this a name, a line and the way on do not fit together.
const LEAST: u64 = 128;

/// Of a budget the part that the name may cost: the rest is for the text.
const NAME_PART: u64 = 4;

/// What an answer may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageBudget<'a> {
    budget: TokenBudget,
    file: &'a str,
    /// What counts.
    pub(crate) counter: &'a dyn TokenCounter,
}

impl<'a> PageBudget<'a> {
    /// Answers about `file` of `budget` tokens.
    pub(crate) fn new(file: &'a str, budget: TokenBudget, counter: &'a dyn TokenCounter) -> Self {
        let budget = TokenBudget::new(budget.get().max(LEAST));
        Self {
            budget,
            file,
            counter,
        }
    }

    /// The file's name, cut where it would fill the page.
    pub(crate) fn name(&self) -> String {
        let part = TokenBudget::new(self.budget.get() / NAME_PART);
        let taken = fitting(self.file, &[], part, self.counter);
        match taken < self.file.len() {
            true => format!("{}…", &self.file[..taken]),
            false => self.file.to_owned(),
        }
    }

    /// What `make` gives for the room that is left beside `frame` tokens; less room
    /// where that is too much, since parts do not cost what they cost together.
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

    /// The text, cut at the budget.
    pub(crate) fn cut(&self, text: String) -> String {
        if !self.counter.exceeds(&text, self.budget.get()) {
            return text;
        }
        let taken = fitting(&text, &[], self.budget.less(2), self.counter);
        format!("{}…", &text[..taken])
    }
}

/// A line as it is shown: without its end, and U+FFFD where it is no text.
pub(crate) fn line_text(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))
}
