//! Sends the results of a filter within the limits of the request.

use std::io::{self, Write};
use std::ops::ControlFlow;

use crate::protocol::{LONG_RUN, Message, Request};

/// Receives the results of a run in order: it skips some, sends some, and counts the rest.
pub(crate) struct Sink<'a> {
    out: &'a mut dyn Write,
    /// Number of results so far.
    pub(crate) results: u64,
    start: u64,
    byte: u64,
    /// Number of bytes that may still be sent.
    left: usize,
    /// The number of results at which counting ends. It is set when all requested bytes are sent.
    last: Option<u64>,
    counted: u64,
    /// Whether strings are written without quotes.
    pub(crate) raw: bool,
    /// Whether all results so far were empty.
    pub(crate) only_empty: bool,
    fold: bool,
    /// The text of the last result that was sent, if later equal results are to be counted instead
    /// of sent.
    last_text: Option<Vec<u8>>,
    /// How often the last result has occurred again since it was sent or last reported.
    again: u64,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(request: &Request, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            results: 0,
            start: request.start,
            byte: request.byte,
            left: request.window.max(4),
            last: None,
            counted: request.counted,
            raw: request.raw,
            only_empty: true,
            fold: request.fold,
            last_text: None,
            again: 0,
        }
    }

    /// Returns whether the text of the next result is needed. Otherwise it is only skipped or
    /// counted.
    pub(crate) fn wants_text(&self) -> bool {
        self.last.is_none() && self.results >= self.start
    }

    /// Receives the next result. `is_empty` says whether it is `null` or contains nothing. `text`
    /// is called only if the text is needed.
    pub(crate) fn result(
        &mut self,
        is_empty: bool,
        text: impl FnOnce() -> Vec<u8>,
    ) -> ControlFlow<()> {
        self.only_empty &= is_empty;
        if self.wants_text() && self.add(text()).is_err() {
            // The parent has ended, so nobody receives an error.
            return ControlFlow::Break(());
        }
        self.results += 1;
        match self.last {
            Some(last) if self.results >= last => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Sends a result, or counts it if it equals the last one.
    fn add(&mut self, text: Vec<u8>) -> io::Result<()> {
        if self.last_text.as_ref() == Some(&text) {
            self.again += 1;
            return match self.again < LONG_RUN {
                true => Ok(()),
                false => self.flush(),
            };
        }
        self.flush()?;
        let is_whole = self.send(&String::from_utf8_lossy(&text))?;
        self.last_text = (self.fold && is_whole).then_some(text);
        Ok(())
    }

    /// Sends how often the last result occurred again.
    fn flush(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.again) {
            0 => Ok(()),
            times => self.message(&Message::Again(times)),
        }
    }

    /// Sends the last message.
    pub(crate) fn end(mut self, message: &Message) -> io::Result<()> {
        self.flush()?;
        self.message(message)
    }

    /// Sends a result. Returns whether it was sent as a whole.
    fn send(&mut self, text: &str) -> io::Result<bool> {
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
        // Even an empty result takes one of the requested bytes, for its newline.
        self.left = self.left.saturating_sub(end - from + 1);
        self.message(&message)?;
        // If fewer than four bytes are left, the next character may not fit.
        if self.left < 4 || end < text.len() {
            self.last = Some((self.results + 1).saturating_add(self.counted));
            self.message(&Message::Full)?;
        }
        Ok(from == 0 && end == text.len())
    }

    /// Writes a message as one line.
    fn message(&mut self, message: &Message) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, message)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}
