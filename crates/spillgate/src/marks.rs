//! Replaces secrets by marks in what this process writes beside results: logs, traces and live views.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use spillgate_redact::Redactor;

/// The redactor of this process; `None` inside if redaction is off for all results.
static REDACTOR: OnceLock<Option<Arc<Redactor>>> = OnceLock::new();

/// Sets the redactor of this process. The first call decides.
pub(crate) fn install(redactor: Option<Arc<Redactor>>) {
    drop(REDACTOR.set(redactor));
}

/// Returns a text with marks in place of secrets. Before the settings are read, the built-in rules
/// apply.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    match REDACTOR.get() {
        Some(Some(redactor)) => redactor.text(text),
        Some(None) => Cow::Borrowed(text),
        None => Cow::Owned(Redactor::builtin().text(text).into_owned()),
    }
}

/// A writer for the log, which writes each line in one piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Redacted<W>(pub(crate) W);

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(redacted(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
