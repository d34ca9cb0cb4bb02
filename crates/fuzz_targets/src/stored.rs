//! Stores results in memory, for the fuzz targets that read stored results.

use std::sync::Arc;

use spillgate_artifact::{Handle, Origin, Reason, SystemClock};
use spillgate_lookup::Artifact;
use spillgate_offload::{Choice, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_retrieval::audience;
use spillgate_store::MemoryStore;
use spillgate_text::Tokenizer;

/// An offloader that stores in memory and shows oversized results by `profile`.
pub(crate) fn offloader(profile: Profile) -> Offloader {
    let rule = Rule {
        max_tokens: Some(300),
        profile: Some(profile),
        ..Rule::default()
    };
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    )
}

/// Stores `bytes` as a tool's output, however small.
pub(crate) fn keep(offloader: &Offloader, bytes: &[u8]) -> Handle {
    let mut reader = bytes;
    let pending = offloader
        .submit_stream(Origin::tool("cat"), false, &mut reader, &mut |_| {})
        .unwrap();
    match pending.settle(Choice::Store(Reason::TokenBudget)) {
        Outcome::Offloaded(stored) => stored.receipt.handle(),
        other => panic!("not stored: {other:?}"),
    }
}

/// Stores `bytes` and opens the artifact.
pub(crate) fn artifact(bytes: &[u8]) -> Artifact {
    let offloader = offloader(Profile::Handle);
    let handle = keep(&offloader, bytes);
    offloader.artifact(handle).unwrap()
}
