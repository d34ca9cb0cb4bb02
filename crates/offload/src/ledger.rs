//! Accounts for what came in, what was shown and what was read later.
//!
//! Every offloaded result and every retrieval leaves one entry. Results that
//! pass through are summed up, so that passing one costs nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, Timestamp, Tokens};
use spillgate_store::open_regular;

/// Where entries go. Recording never fails for the caller: an account is not
/// worth a result.
pub trait Ledger: Send + Sync + std::fmt::Debug {
    /// Enters a result or a retrieval.
    fn record(&self, entry: LedgerEntry);

    /// Counts a result of `bytes` that passed through as it was.
    fn inline(&self, bytes: u64);

    /// The same, of the server `server`.
    fn inline_of(&self, server: Option<&str>, bytes: u64) {
        let _ = server;
        self.inline(bytes);
    }
}

/// One result or retrieval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// When.
    pub at: Timestamp,
    /// The server behind the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, or the command; for a retrieval, the one that was looked into.
    pub tool: String,
    /// The artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Handle>,
    /// How it left.
    pub exit: Exit,
    /// Tokens that came in; none for a retrieval.
    pub tokens_in: Tokens,
    /// Tokens that a model was shown.
    pub tokens_shown: Tokens,
    /// Bytes that came in; zero for a retrieval.
    pub bytes_in: u64,
    /// Results that the entry stands for.
    pub results: u64,
    /// Microseconds that we took, from the result's end to the message.
    #[serde(default)]
    pub micros: u64,
    /// What the models used that an extraction asked; none for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extraction: Option<Spent>,
}

/// What an extraction cost. Its tokens are another model's than the one that was
/// shown the answer, so they are no part of what is saved.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// How the answer was made: `full-chunked`, `read-grep`, `truncate` or `search`;
    /// `none` where there is none, for it failed or was cancelled. Empty in entries of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// Whether that is not what was to be done: the first strategy could not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fell_back: bool,
    /// Times that a model was asked.
    pub calls: u64,
    /// Tokens of the prompts, as the provider counted them.
    pub input_tokens: u64,
    /// Those of them that the provider had in its cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Tokens of the replies.
    pub output_tokens: u64,
    /// US dollars; `None` where the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Microseconds from the question to the answer.
    #[serde(default)]
    pub micros: u64,
}

impl LedgerEntry {
    /// An entry of one result without figures yet.
    pub(crate) fn new(at: Timestamp, exit: Exit) -> Self {
        Self {
            at,
            server: None,
            tool: String::new(),
            handle: None,
            exit,
            tokens_in: Tokens::exact(0),
            tokens_shown: Tokens::exact(0),
            bytes_in: 0,
            results: 1,
            micros: 0,
            extraction: None,
        }
    }
}

/// How something left the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Stored, with a message in its place.
    Offloaded,
    /// Not stored; its ends were shown.
    NotStored,
    /// A page of a stored artifact.
    Retrieved,
    /// What an extraction told of a stored artifact.
    Extracted,
    /// Results that passed through, summed up.
    Inline,
    /// Definitions of our own tools, listed for a client: the fixed cost of
    /// having us.
    Listed,
}

/// Keeps no account.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    fn record(&self, _: LedgerEntry) {}

    fn inline(&self, _: u64) {}
}

/// Appends entries to a file, a JSON object a line. One write an entry, so that
/// several processes can append to the same file.
#[derive(Debug)]
pub struct FileLedger {
    path: PathBuf,
    inline_results: AtomicU64,
    inline_bytes: AtomicU64,
}

impl FileLedger {
    /// A ledger in the file `path`, made when first written to.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            inline_results: AtomicU64::new(0),
            inline_bytes: AtomicU64::new(0),
        }
    }

    /// All entries, oldest first. Lines that are none (cut by a crash) are left
    /// out.
    pub fn entries(&self) -> io::Result<Vec<LedgerEntry>> {
        let file = match open_regular(&self.path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.map_err(|error| {
                let what = format!("{}: {error}", self.path.display());
                io::Error::new(error.kind(), what)
            })?,
        };
        // As bytes: a crash may have cut a line inside a character.
        let lines = BufReader::new(file).split(b'\n');
        lines
            .filter_map(|line| match line {
                Ok(line) => serde_json::from_slice(&line).ok().map(Ok),
                Err(error) => Some(Err(error)),
            })
            .collect()
    }

    /// Enters what passed through since the last time; call it at the end and
    /// now and then.
    pub fn flush_inline(&self, at: Timestamp) {
        let results = self.inline_results.swap(0, Ordering::Relaxed);
        let bytes = self.inline_bytes.swap(0, Ordering::Relaxed);
        if results > 0 {
            let tokens = Tokens::estimated(bytes.div_ceil(4));
            self.record(LedgerEntry {
                tokens_in: tokens,
                tokens_shown: tokens,
                bytes_in: bytes,
                results,
                ..LedgerEntry::new(at, Exit::Inline)
            });
        }
    }

    fn append(&self, entry: &LedgerEntry) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let mut file = open_regular(&self.path, &mut options)?;
        let mut line = Vec::new();
        if is_cut(&file)? {
            // Else this entry would be lost with the one that a crash has cut.
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, entry)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

/// Whether the last line of a file has no end.
fn is_cut(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else {
        return Ok(false);
    };
    let mut byte = [b'\n'];
    file.read_at(&mut byte, last)?;
    Ok(byte != [b'\n'])
}

impl Ledger for FileLedger {
    fn record(&self, entry: LedgerEntry) {
        // A full disk must not cost a result; what is missing shows in `stats`
        // as artifacts without an entry.
        drop(self.append(&entry));
    }

    fn inline(&self, bytes: u64) {
        self.inline_results.fetch_add(1, Ordering::Relaxed);
        self.inline_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use spillgate_artifact::{Clock, SystemClock};

    use super::*;

    #[test]
    fn a_line_that_was_cut_takes_no_other_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.ndjson");
        let ledger = FileLedger::new(&path);
        let entry = LedgerEntry::new(SystemClock.now(), Exit::Inline);
        ledger.record(entry.clone());
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"at\":\"caf\xc3").unwrap();
        ledger.record(entry.clone());
        ledger.record(entry);
        assert_eq!(ledger.entries().unwrap().len(), 3);
        let text = std::fs::read(&path).unwrap();
        assert_eq!(text.split(|byte| *byte == b'\n').count(), 5);
    }

    #[test]
    fn what_passed_is_one_entry() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = FileLedger::new(directory.path().join("ledger.ndjson"));
        ledger.inline(9);
        ledger.inline(4);
        let at = SystemClock.now();
        for _ in 0..2 {
            ledger.flush_inline(at);
        }
        let want = LedgerEntry {
            tokens_in: Tokens::estimated(4),
            tokens_shown: Tokens::estimated(4),
            bytes_in: 13,
            results: 2,
            ..LedgerEntry::new(at, Exit::Inline)
        };
        let entries = ledger.entries().unwrap();
        let want: LedgerEntry =
            serde_json::from_value(serde_json::to_value(want).unwrap()).unwrap();
        assert_eq!(entries, [want]);
    }

    #[test]
    fn old_lines_and_what_an_extraction_spent() {
        let old = r#"{"at":"2026-11-21T10:00:00Z","tool":"cat","exit":"retrieved","tokens_in":{"count":0,"exact":true},"tokens_shown":{"count":9,"exact":true},"bytes_in":0,"results":1}"#;
        let entry: LedgerEntry = serde_json::from_str(old).unwrap();
        assert_eq!(entry.extraction, None);
        let extracted = LedgerEntry {
            exit: Exit::Extracted,
            extraction: Some(Spent {
                strategy: "truncate".into(),
                fell_back: true,
                calls: 3,
                input_tokens: 9000,
                cached_input_tokens: 400,
                output_tokens: 120,
                cost: Some(0.0042),
                micros: 1_500_000,
            }),
            ..entry
        };
        let line = serde_json::to_string(&extracted).unwrap();
        assert_eq!(
            serde_json::from_str::<LedgerEntry>(&line).unwrap(),
            extracted
        );
    }
}
