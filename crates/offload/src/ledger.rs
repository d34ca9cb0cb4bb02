//! The ledger: what came in, what the model saw and what was read later.
//!
//! Every offloaded result and every retrieval leaves one entry. Results that pass through are
//! summed up, so that passing one costs nothing.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, Timestamp, Tokens};
use spillgate_store::open_regular;

/// Receives ledger entries. Recording never returns an error: a result must not be lost because its
/// entry cannot be written.
pub trait Ledger: Send + Sync + std::fmt::Debug {
    /// Records a result or a retrieval.
    fn record(&self, entry: LedgerEntry);

    /// Counts a result of `bytes` that passed through unchanged.
    fn inline(&self, bytes: u64);

    /// Like [`inline`](Self::inline), for a result of the server `server`.
    fn inline_of(&self, server: Option<&str>, bytes: u64) {
        let _ = server;
        self.inline(bytes);
    }
}

/// One result or retrieval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Time of the entry.
    pub at: Timestamp,
    /// The server behind the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool or the command; for a retrieval, the tool whose result was read.
    pub tool: String,
    /// The artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Handle>,
    /// How the result left the pipeline.
    pub exit: Exit,
    /// Tokens that came in; 0 for a retrieval.
    pub tokens_in: Tokens,
    /// Tokens that the model saw.
    pub tokens_shown: Tokens,
    /// Bytes that came in; 0 for a retrieval.
    pub bytes_in: u64,
    /// Number of results that the entry stands for.
    pub results: u64,
    /// Microseconds that Spillgate took, from the end of the result to the message.
    #[serde(default)]
    pub micros: u64,
    /// Whether a search, a filter or an extraction found something; `None` for entries that ask for
    /// nothing, and for those of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<bool>,
    /// What an extraction spent on its models; `None` for other entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extraction: Option<Spent>,
    /// The number of secrets found in the result, by the id of the rule. Never their content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, u64>,
}

/// The cost of an extraction. Its tokens belong to another model than the one that sees the answer,
/// so they do not reduce what was saved.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// How the answer was made: `full-chunked`, `read-grep`, `truncate` or `search`; `none` if
    /// there is no answer because the extraction failed or was cancelled. Empty in entries of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// Whether a fallback made the answer because the first strategy could not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fell_back: bool,
    /// Number of model calls.
    pub calls: u64,
    /// Tokens of the prompts, as the provider counted them.
    pub input_tokens: u64,
    /// Tokens of the prompts that came from the provider's cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Tokens of the replies.
    pub output_tokens: u64,
    /// Cost in US dollars; `None` if the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Microseconds from the question to the answer.
    #[serde(default)]
    pub micros: u64,
}

impl LedgerEntry {
    /// Creates an entry for one result with all figures at zero.
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
            found: None,
            extraction: None,
            secrets: BTreeMap::new(),
        }
    }
}

/// How a result left the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Stored, with a message in its place.
    Offloaded,
    /// Not stored; the model saw both ends.
    NotStored,
    /// A page of a stored artifact.
    Retrieved,
    /// The answer of an extraction from a stored artifact.
    Extracted,
    /// A stored artifact in which the first look-up found secrets, because it was not searched when
    /// it was stored.
    Searched,
    /// Results that passed through, added up.
    Inline,
    /// An oversized result, or its `structuredContent`, that passed whole because the caller is a
    /// program. Its tokens were neither shown to a model nor saved.
    Program,
    /// The definitions of Spillgate's own tools, listed for a client: the fixed cost of having
    /// Spillgate.
    Listed,
    /// A list of a server's tools that is long or from which tools were left out: `tokens_in` are
    /// those of all definitions, `tokens_shown` those of the listed ones, `results` the number of
    /// tools.
    ToolList,
}

/// A ledger that records nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    fn record(&self, _: LedgerEntry) {}

    fn inline(&self, _: u64) {}
}

/// Appends entries to a file, one JSON object per line. Each entry is a single write, so that
/// several processes can append to the same file.
#[derive(Debug)]
pub struct FileLedger {
    path: PathBuf,
    inline_results: AtomicU64,
    inline_bytes: AtomicU64,
}

impl FileLedger {
    /// Creates a ledger in the file `path`. The first write creates the file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            inline_results: AtomicU64::new(0),
            inline_bytes: AtomicU64::new(0),
        }
    }

    /// Returns all entries, oldest first. Skips lines that do not parse, such as a line cut by a
    /// crash.
    pub fn entries(&self) -> io::Result<Vec<LedgerEntry>> {
        let file = match open_regular(&self.path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.map_err(|error| {
                let what = format!("{}: {error}", self.path.display());
                io::Error::new(error.kind(), what)
            })?,
        };
        // Reads bytes, not characters: a crash may have cut a line inside a character.
        let lines = BufReader::new(file).split(b'\n');
        lines
            .filter_map(|line| match line {
                Ok(line) => serde_json::from_slice(&line).ok().map(Ok),
                Err(error) => Some(Err(error)),
            })
            .collect()
    }

    /// Records the results that passed through since the last call. Call it at the end and from
    /// time to time.
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
        let mut file = match open_regular(&self.path, &mut options) {
            // Nothing has been stored yet, but a list of tools has a cost, too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.path.parent().unwrap_or(&self.path);
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(0o700).create(directory)?;
                open_regular(&self.path, &mut options)?
            }
            opened => opened?,
        };
        let mut line = Vec::new();
        if is_cut(&file)? {
            // Otherwise this entry would be lost together with the one that a crash cut.
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, entry)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

/// Returns whether the last line of a file lacks its newline.
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
        // A full disk must not make a result fail. `stats` shows artifacts without an entry.
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
