//! Provides artifacts for tests.

use std::sync::Arc;

use spillgate_artifact::{HandleForm, Layout, Origin, SystemClock};
use spillgate_lookup::Artifact;
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_redact::Redactor;
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, MemoryStore, Part};
use spillgate_text::{Indexer, Tokenizer};

/// Stores a text like the result of a tool, however small it is.
pub(crate) fn artifact(text: &str) -> Artifact {
    match text.len() {
        0 | 1 => tiny(text), // too small to be stored by a rule
        _ => artifact_of(text, Redactor::builtin()),
    }
}

/// Stores a text like the result of a tool whose secrets `redactor` finds and marks.
pub(crate) fn artifact_of(text: &str, redactor: Arc<Redactor>) -> Artifact {
    let everything = Rule {
        max_bytes: Some(1),
        profile: Some(Profile::Handle),
        ..Rule::default()
    };
    let offloader = Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::default().under(everything),
        Tokenizer::Heuristic.counter(),
        Audience::default(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    )
    .with_redactor(redactor);
    let outcome = offloader.stream(Origin::tool("test"), &mut text.as_bytes(), &mut |_| {});
    match outcome.expect("a store in memory") {
        Outcome::Offloaded(offloaded) => offloader
            .artifact(offloaded.receipt.handle())
            .expect("it was just stored"),
        other => panic!("not stored: {other:?}"),
    }
}

fn tiny(text: &str) -> Artifact {
    let store = MemoryStore::default();
    let mut indexer = Indexer::as_is(Layout::AsIs);
    indexer.feed(text.as_bytes());
    let mut draft = store.draft().expect("a store in memory");
    draft
        .write(Part::Raw, text.as_bytes())
        .expect("a store in memory");
    let receipt = draft
        .commit(
            facts_of(text.as_bytes()),
            &indexer.finish().to_bytes(),
            HandleForm::Short,
        )
        .expect("a store in memory");
    let stored = store.open(receipt.handle()).expect("it was just stored");
    Artifact::open(stored).expect("its index is right")
}
