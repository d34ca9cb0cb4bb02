//! Tests that call `Read` and `Grep` as a model does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod ended;
mod names;
mod pages;
mod texts;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use spillgate_artifact::{Handle, HandleForm, Interrupt, Layout, TokenBudget};
use spillgate_files::{FileTools, Files, PinnedFile, Root};
use spillgate_lookup::Artifact;
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, MemoryStore, Part};
use spillgate_text::{Indexer, Tokenizer};

/// The tools over `files`, with `budget` tokens per answer.
fn tools(files: impl Files + 'static, budget: u64) -> FileTools {
    FileTools {
        files: Arc::new(files),
        budget: TokenBudget::new(budget),
        counter: Tokenizer::O200kBase.counter(),
    }
}

/// A stored text with the name `out`, and its handle.
fn pinned(text: &str) -> (PinnedFile, Handle) {
    let store = MemoryStore::default();
    let mut indexer = Indexer::as_is(Layout::AsIs);
    indexer.feed(text.as_bytes());
    let index = indexer.finish();
    let mut facts = facts_of(text.as_bytes());
    facts.view.longest_line = index.longest_line;
    let mut draft = store.draft().unwrap();
    draft.write(Part::Raw, text.as_bytes()).unwrap();
    let receipt = draft
        .commit(facts, &index.to_bytes(), HandleForm::Long)
        .unwrap();
    let handle = receipt.handle();
    let artifact = Artifact::open(store.open(handle).unwrap()).unwrap();
    let pinned = PinnedFile {
        name: "out".into(),
        artifact: Arc::new(artifact),
    };
    (pinned, handle)
}

/// Creates a root with these files.
fn root(dir: &Path, files: &[(&str, &[u8])]) -> Root {
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).unwrap();
    }
    Root::open(dir).unwrap()
}

/// Makes a call. Prefixes errors with `error: `.
fn call(tools: &FileTools, name: &str, arguments: &Value) -> String {
    let answer = tools.call(name, &arguments.to_string(), &Interrupt::default());
    match answer.is_error {
        true => format!("error: {}", answer.text),
        false => answer.text,
    }
}
