//! Asks a build of Spillgate through its command line.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::attack::{LIMIT, Room, Running};

/// A build with a store of its own, which is removed at the end.
pub(crate) struct Build {
    room: Room,
}

/// What a model sees of a stored output.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) text: String,
    /// The tokens of `text`.
    pub(crate) tokens: u64,
    pub(crate) handle: Option<String>,
}

impl Build {
    pub(crate) fn new(program: &Path, interrupted: &Arc<AtomicBool>) -> Result<Self> {
        let room = Room::new("eval", program, interrupted)?;
        Ok(Self { room })
    }

    /// Fails once the user has pressed Ctrl-C.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.room.go_on()
    }

    /// Stores an output, however small it is, and returns its handle.
    pub(crate) fn stored(&self, bytes: &[u8]) -> Result<String> {
        let put = self.put(&["--max-bytes", "1", "--profile", "handle"], bytes)?;
        let handle = put["handle"].as_str();
        Ok(handle.context("an output was not stored")?.to_owned())
    }

    /// Returns what a model sees of an output that is too large by any measure.
    pub(crate) fn preview(&self, bytes: &[u8]) -> Result<Preview> {
        let put = self.put(&["--max-tokens", "1"], bytes)?;
        let text = put["text"].as_str().context("an output without a text")?;
        let tokens = self.tokens(text)?;
        Ok(Preview {
            text: text.to_owned(),
            tokens,
            handle: put["handle"].as_str().map(str::to_owned),
        })
    }

    /// Returns the page of a search.
    pub(crate) fn search(&self, handle: &str, words: &str, budget: u64) -> Result<String> {
        let budget = budget.to_string();
        self.run(
            &["search", handle, "--max-tokens", &budget, "--", words],
            &[],
        )
    }

    /// Returns the page of a search as JSON.
    pub(crate) fn search_json(&self, handle: &str, words: &str, budget: u64) -> Result<Value> {
        let budget = budget.to_string();
        let page = self.run(
            &[
                "search",
                handle,
                "--json",
                "--max-tokens",
                &budget,
                "--",
                words,
            ],
            &[],
        )?;
        serde_json::from_str(&page).context("a page that is not JSON")
    }

    /// Counts tokens with the build's own counter.
    pub(crate) fn tokens(&self, text: &str) -> Result<u64> {
        // Tokens are counted only if there is a limit of tokens.
        let put = self.put(
            &["--max-tokens", "1", "--profile", "handle"],
            text.as_bytes(),
        )?;
        put["tokens"].as_u64().context("a text without tokens")
    }

    fn put(&self, options: &[&str], bytes: &[u8]) -> Result<Value> {
        let words = [&["put", "--json", "--tool", "ci"], options].concat();
        serde_json::from_str(&self.run(&words, bytes)?).context("an answer that is not JSON")
    }

    /// Runs the build; returns its standard output.
    pub(crate) fn run(&self, words: &[&str], stdin: &[u8]) -> Result<String> {
        self.room.go_on()?;
        let ended = Running::start(self.room.spillgate_at_home(words), stdin)?.end(LIMIT)?;
        // A `grep` that finds nothing ends with 1 and says nothing.
        let is_unfound = words.first() == Some(&"grep") && ended.stderr.is_empty();
        ensure!(
            ended.is_done() || is_unfound,
            "`spillgate {}` ended with {}: {:.500}",
            words.join(" "),
            ended.status,
            ended.stderr.trim()
        );
        Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
    }
}
