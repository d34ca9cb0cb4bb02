//! Sends the results of a filter up to the limits of the request.

use std::io::{self, Write};
use std::ops::ControlFlow;

use crate::protocol::{Message, Request};

/// Takes the results of a run in order: skips some, sends some, then counts.
pub(crate) struct Sink<'a> {
    out: &'a mut dyn Write,
    /// Results so far.
    pub(crate) results: u64,
    start: u64,
    byte: u64,
    /// Bytes that may still be sent.
    left: usize,
    full: bool,
    /// Number of results after which counting ends; set when the window is full.
    last: Option<u64>,
    counted: u64,
    /// Whether strings are written without quotes.
    pub(crate) raw: bool,
    /// Whether all results so far were `null`.
    pub(crate) only_nulls: bool,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(request: &Request, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            results: 0,
            start: request.start,
            byte: request.byte,
            left: request.window.max(4),
            full: false,
            last: None,
            counted: request.counted,
            raw: request.raw,
            only_nulls: true,
        }
    }

    /// Returns whether the text of the next result is needed, not only its existence.
    pub(crate) fn wants_text(&self) -> bool {
        !self.full && self.results >= self.start
    }

    /// Takes the next result; `text` is called if the text is needed.
    pub(crate) fn result(
        &mut self,
        is_null: bool,
        text: impl FnOnce() -> Vec<u8>,
    ) -> ControlFlow<()> {
        self.only_nulls &= is_null;
        if self.wants_text() {
            let text = text();
            let shown = String::from_utf8_lossy(&text);
            if self.send(&shown).is_err() {
                // The parent has gone, so there is nobody to report to.
                return ControlFlow::Break(());
            }
        }
        self.results += 1;
        match self.last {
            Some(last) if self.results >= last => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        let from = match self.results == self.start {
            true => floor(text, usize::try_from(self.byte).unwrap_or(usize::MAX)),
            false => 0,
        };
        let end = floor(text, from.saturating_add(self.left));
        let message = Message::Result {
            text: text[from..end].to_owned(),
            from: from as u64,
            whole: end == text.len(),
        };
        // Even empty results take up a byte of the window.
        self.left = self.left.saturating_sub(end - from + 1);
        self.message(&message)?;
        // The rest may be too small for a character.
        if self.left < 4 || end < text.len() {
            self.full = true;
            self.last = Some((self.results + 1).saturating_add(self.counted));
            self.message(&Message::Full)?;
        }
        Ok(())
    }

    /// Writes one message as a line.
    pub(crate) fn message(&mut self, message: &Message) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, message)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}
