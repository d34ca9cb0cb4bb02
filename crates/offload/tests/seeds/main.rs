//! The requirements of the five earlier design documents, section by section
//! (docs/spec/sources.md).
//!
//! One file per document. Each test quotes the section that it proves, and notes what a later
//! document or the specification corrects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
mod seed_004;

use std::sync::Arc;

use spillgate_artifact::{Origin, SystemClock};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_retrieval::audience;
use spillgate_store::{ArtifactStore, FileStore, Lifetime, MemoryStore};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

/// An offloader with the given profile.
fn offloader(profile: Profile) -> Offloader {
    with_rule(Rule {
        profile: Some(profile),
        ..Rule::default()
    })
}

fn with_rule(rule: Rule) -> Offloader {
    in_store(Arc::new(MemoryStore::default()), rule)
}

fn in_store(store: Arc<dyn ArtifactStore>, rule: Rule) -> Offloader {
    Offloader::new(
        store,
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::O200kBase.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    )
}

/// A file store in a temporary directory.
fn file_store(lifetime: Lifetime) -> (tempfile::TempDir, Arc<FileStore>) {
    let base = tempfile::tempdir().unwrap();
    let store = FileStore::new(base.path(), lifetime, Arc::new(SystemClock));
    (base, Arc::new(store))
}

fn offer(offloader: &Offloader, tool: &str, text: &str) -> Outcome {
    offer_as(offloader, Origin::tool(tool), text)
}

fn offer_as(offloader: &Offloader, origin: Origin, text: &str) -> Outcome {
    let mut reader = text.as_bytes();
    offloader.stream(origin, &mut reader, &mut |_| {}).unwrap()
}

/// Returns the message that replaces an oversized text; `None` if the text fits.
fn shown(offloader: &Offloader, tool: &str, text: &str) -> Option<String> {
    match offer(offloader, tool, text) {
        Outcome::Offloaded(offloaded) => Some(offloaded.shown.text().to_owned()),
        _ => None,
    }
}

/// Masks the handles of a text.
fn without_handles(text: &str) -> String {
    let handle = regex::Regex::new("session-[0-9a-f-]{36}/[0-9a-f-]{36}").unwrap();
    handle.replace_all(text, "HANDLE").into_owned()
}
