//! Storing results while another caller looks up call ids.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use spillgate_artifact::{Handle, Manifest, Origin, Timestamp};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_retrieval::audience;
use spillgate_store::{
    ArtifactStore, Draft, Gone, Listed, MemoryStore, Remote, StoreError, Stored,
};
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

/// A bucket that gives no answer.
#[derive(Debug)]
struct Unreachable;

impl Unreachable {
    fn error() -> StoreError {
        StoreError::Remote {
            place: "s3://bucket".to_owned(),
            why: Remote::Unreachable,
            what: "reading a manifest failed: it did not answer in time".to_owned(),
        }
    }
}

impl ArtifactStore for Unreachable {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        Err(Self::error())
    }

    fn open(&self, _: Handle) -> Result<Stored, StoreError> {
        Err(Self::error())
    }

    fn manifest(&self, _: Handle) -> Result<Manifest, StoreError> {
        Err(Self::error())
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        Err(Self::error())
    }

    fn remove(&self, _: Handle, _: Gone, _: Timestamp) -> Result<(), StoreError> {
        Err(Self::error())
    }

    fn pin(&self, _: Handle, _: bool) -> Result<(), StoreError> {
        Err(Self::error())
    }
}

fn offloader(store: Arc<dyn ArtifactStore>) -> Offloader {
    let rule = Rule {
        profile: Some(Profile::Continuation),
        ..Rule::default()
    };
    Offloader::new(
        store,
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    )
}

#[test]
fn an_id_is_not_unknown_because_the_store_cannot_be_reached() {
    let offloader = offloader(Arc::new(Unreachable));
    for id in ["7", "kqvbnrtzaewmxo"] {
        let error = offloader.continuation(id, None).unwrap_err().to_string();
        assert!(error.contains("did not answer in time"), "{id}: {error}");
    }
}

#[test]
fn listing_for_a_name_keeps_nobody_waiting() {
    let store = Arc::new(Busy::default());
    let offloader = offloader(Arc::clone(&store) as _);
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
