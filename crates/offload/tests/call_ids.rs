//! Storing results while another caller looks up call ids.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use spillgate_artifact::{Handle, Manifest, Origin, Timestamp};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_retrieval::audience;
use spillgate_store::{ArtifactStore, Draft, Gone, Listed, MemoryStore, StoreError, Stored};
use spillgate_testkit::{StoppedClock, log};
use spillgate_text::Tokenizer;

/// A store in which another caller stores a result whenever it is listed.
#[derive(Debug, Default)]
struct Busy {
    inner: MemoryStore,
    offloader: OnceLock<Arc<Offloader>>,
}

impl ArtifactStore for Busy {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        self.inner.draft()
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.inner.open(handle)
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        self.inner.manifest(handle)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        if let Some(offloader) = self.offloader.get().cloned() {
            let (done, stored) = channel();
            thread::spawn(move || {
                let origin = Origin {
                    call_id: Some("other".to_owned()),
                    ..Origin::tool("tool")
                };
                let outcome = offloader.stream(origin, &mut log(3000).as_bytes(), &mut |_| {});
                done.send(matches!(outcome, Ok(Outcome::Offloaded(_))))
            });
            let stored = stored.recv_timeout(Duration::from_secs(20));
            assert_eq!(stored, Ok(true), "it waits for the list");
        }
        self.inner.list()
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        self.inner.remove(handle, why, at)
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        self.inner.pin(handle, pinned)
    }
}

#[test]
fn listing_for_a_name_keeps_nobody_waiting() {
    let store = Arc::new(Busy::default());
    let rule = Rule {
        profile: Some(Profile::Continuation),
        ..Rule::default()
    };
    let offloader = Offloader::new(
        Arc::clone(&store) as _,
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    );
    let offloader = Arc::new(offloader.with_short_ids(true));
    store.offloader.set(Arc::clone(&offloader)).unwrap();
    // The store is listed for an unknown id, and for the choice of the first number.
    assert!(offloader.continuation("unknown", None).is_err());
    let origin = Origin::tool("tool");
    let outcome = offloader.stream(origin, &mut log(3000).as_bytes(), &mut |_| {});
    let Outcome::Offloaded(stored) = outcome.unwrap() else {
        panic!("it does not fit");
    };
    assert_eq!(
        stored.receipt.manifest().facts.origin.call_id.as_deref(),
        Some("1")
    );
}
