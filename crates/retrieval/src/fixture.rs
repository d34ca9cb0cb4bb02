//! The fixture of this crate's tests.

use std::sync::Arc;

use spillgate_artifact::{Handle, Origin};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy};
use spillgate_store::MemoryStore;
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

/// Returns an offloader with the default limits and a store in memory.
pub(crate) fn offloader() -> Offloader {
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::default(),
        Tokenizer::Heuristic.counter(),
        crate::audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    )
}

/// Stores `text` as a tool's output and returns its handle.
pub(crate) fn stored(offloader: &Offloader, text: &str) -> Handle {
    stored_bytes(offloader, text.as_bytes())
}

/// Stores bytes as a tool's output and returns their handle.
pub(crate) fn stored_bytes(offloader: &Offloader, mut bytes: &[u8]) -> Handle {
    let outcome = offloader.stream(Origin::tool("cat"), &mut bytes, &mut |_| {});
    match outcome.unwrap() {
        Outcome::Offloaded(stored) => stored.receipt.handle(),
        other => panic!("not stored: {other:?}"),
    }
}
