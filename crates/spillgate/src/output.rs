//! How is something printed?

use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use spillgate_untrusted::marked;

/// Standard output and standard error, the only way to either.
#[derive(Debug)]
pub(crate) struct Output {
    /// `--json`: one object on standard output, lists one a line.
    pub(crate) json: bool,
    /// Whether a person is looking.
    pub(crate) terminal: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            terminal: io::stdout().is_terminal(),
        }
    }

    /// One JSON object on a line.
    pub(crate) fn object(&self, value: &Value) -> io::Result<()> {
        self.raw(format!("{value}\n").as_bytes())
    }

    /// Text, ended with a newline on a terminal, where the prompt would else
    /// stand behind it; byte for byte everywhere else. On a terminal what is hidden in it
    /// is marked.
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

    /// Bytes as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        self.with(|out| out.write_all(bytes))
    }

    /// Lets `write` write to standard output. A reader that has gone is not an
    /// error: it has read what it wanted.
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

    /// A line for the person on standard error. Never an error itself.
    #[expect(clippy::unused_self, reason = "all printing goes through one value")]
    pub(crate) fn note(&self, line: &str) {
        drop(writeln!(io::stderr(), "{line}"));
    }
}
