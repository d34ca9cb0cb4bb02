//! Prints to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use spillgate_untrusted::marked;

/// Standard output and standard error. All printing goes through this type.
#[derive(Debug)]
pub(crate) struct Output {
    /// Whether `--json` is set: standard output gets one object, or one object per line for lists.
    pub(crate) json: bool,
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            terminal: io::stdout().is_terminal(),
        }
    }

    /// Prints one JSON object on one line.
    pub(crate) fn object(&self, value: &Value) -> io::Result<()> {
        self.raw(format!("{value}\n").as_bytes())
    }

    /// Prints a text byte for byte. On a terminal, hidden characters are marked and the text ends
    /// with a newline, so that the prompt starts on a new line.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        match self.terminal {
            true => self.raw(marked(text).as_bytes())?,
            false => self.raw(text.as_bytes())?,
        }
        match self.terminal && !text.is_empty() && !text.ends_with('\n') {
            true => self.raw(b"\n"),
            false => Ok(()),
        }
    }

    /// Prints bytes unchanged.
    pub(crate) fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        self.with(|out| out.write_all(bytes))
    }

    /// Lets `write` write to standard output. A closed pipe is not an error, because its reader
    /// needs no more output.
    #[expect(clippy::unused_self, reason = "all printing goes through one value")]
    pub(crate) fn with(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match write(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Prints a line for the user on standard error. Errors are ignored.
    #[expect(clippy::unused_self, reason = "all printing goes through one value")]
    pub(crate) fn note(&self, line: &str) {
        drop(writeln!(io::stderr(), "{line}"));
    }
}
