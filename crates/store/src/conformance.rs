//! The tests that every store must pass.
//!
//! The tests use `&dyn ArtifactStore`. A store in another crate can run them, too:
//! `spillgate_store::conformance::run(&|| Box::new(MyStore::new()))`.

use std::time::{Duration, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use spillgate_artifact::{
    ContentKind, Facts, Handle, HandleForm, Origin, RawForm, Reason, Stats, Timestamp, Tokens,
    ViewFacts,
};

use crate::{Absent, ArtifactStore, Gone, Part, Receipt, Retention, StoreError, sweep};

/// Runs every check on fresh stores from `make`.
///
/// # Panics
/// If the store does not conform.
pub fn run(make: &dyn Fn() -> Box<dyn ArtifactStore>) {
    for check in [
        gives_back_every_byte,
        gives_the_form_of_handle_that_is_asked_for,
        keeps_the_view_beside_the_raw_bytes,
        makes_a_view_anew,
        keeps_what_is_derived,
        forgets_a_dropped_draft,
        tells_why_an_artifact_is_absent,
        lists_oldest_first,
        sweeps_by_age_quota_and_pin,
        never_sweeps_what_was_just_stored,
        sweeps_only_as_much_as_it_is_told,
        serves_many_threads,
    ] {
        check(&*make());
    }
}

/// Returns facts for a test. The fields that a store uses are correct for `raw`; the others are
/// arbitrary.
#[must_use]
pub fn facts_of(raw: &[u8]) -> Facts {
    let bytes = raw.len() as u64;
    Facts {
        created: at(0),
        origin: Origin::tool("test_tool"),
        mime: None,
        is_error: false,
        ending: None,
        raw_bytes: bytes,
        sha256: HEXLOWER.encode(&Sha256::digest(raw)),
        form: RawForm::Plain,
        stats: Stats {
            bytes,
            lines: 1,
            chars: bytes,
            tokens: Tokens::exact(bytes),
            kind: ContentKind::Text,
        },
        view: ViewFacts {
            bytes,
            lines: 1,
            longest_line: bytes,
            is_raw: true,
            layout: spillgate_artifact::Layout::AsIs,
            prelude: 0,
        },
        reason: Reason::SizeCap,
        first_slice: None,
        file_name: None,
        secrets: None,
    }
}

/// Returns the time `seconds` after a fixed time.
fn at(seconds: u64) -> Timestamp {
    Timestamp::new(UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds))
}

fn put(store: &dyn ArtifactStore, raw: &[u8], created: u64) -> Receipt {
    let mut draft = store.draft().expect("a draft");
    draft.write(Part::Raw, raw).expect("a write");
    let facts = Facts {
        created: at(created),
        ..facts_of(raw)
    };
    draft
        .commit(facts, b"index", HandleForm::Short)
        .expect("a commit")
}

fn gives_back_every_byte(store: &dyn ArtifactStore) {
    for raw in [&b""[..], b"x", &[0, 255, 10, 13, 27], &vec![7; 300_000]] {
        let receipt = put(store, raw, 0);
        let stored = store.open(receipt.handle()).expect("stored");
        assert_eq!(stored.raw.bytes(0, u64::MAX).expect("read"), raw);
        assert_eq!(stored.view.bytes(0, u64::MAX).expect("read"), raw);
        assert_eq!(stored.index, b"index");
        assert_eq!(&stored.manifest, receipt.manifest());
        assert_eq!(
            store.manifest(receipt.handle()).expect("known"),
            stored.manifest
        );
    }
}

fn gives_the_form_of_handle_that_is_asked_for(store: &dyn ArtifactStore) {
    for form in [HandleForm::Short, HandleForm::Long] {
        let draft = store.draft().expect("a draft");
        let receipt = draft.commit(facts_of(b""), b"", form).expect("a commit");
        let is_short = matches!(receipt.handle(), Handle::Short(_));
        assert_eq!(is_short, form == HandleForm::Short);
        assert_eq!(
            store.manifest(receipt.handle()).expect("known"),
            *receipt.manifest()
        );
    }
}

fn keeps_the_view_beside_the_raw_bytes(store: &dyn ArtifactStore) {
    let mut draft = store.draft().expect("a draft");
    draft.write(Part::Raw, b"\x1b[1mraw").expect("a write");
    draft.write(Part::View, b"vi").expect("a write");
    draft.write(Part::View, b"ew").expect("a write");
    assert_eq!(draft.read(Part::View).expect("a view").len(), 4);
    let mut facts = facts_of(b"\x1b[1mraw");
    facts.view.is_raw = false;
    facts.view.bytes = 4;
    let receipt = draft
        .commit(facts, b"", HandleForm::Long)
        .expect("a commit");
    let stored = store.open(receipt.handle()).expect("stored");
    assert_eq!(stored.raw.bytes(0, 99).expect("read"), b"\x1b[1mraw");
    assert_eq!(stored.view.bytes(1, 3).expect("read"), b"ie");
}

fn makes_a_view_anew(store: &dyn ArtifactStore) {
    let mut draft = store.draft().expect("a draft");
    draft.write(Part::Raw, b"raw").expect("a write");
    draft.write(Part::View, b"wrong").expect("a write");
    draft.discard_view().expect("discarded");
    draft.discard_view().expect("nothing to discard is fine");
    let receipt = draft
        .commit(facts_of(b"raw"), b"", HandleForm::Short)
        .expect("a commit");
    let stored = store.open(receipt.handle()).expect("stored");
    assert_eq!(stored.view.bytes(0, 99).expect("read"), b"raw");
}

fn keeps_what_is_derived(store: &dyn ArtifactStore) {
    let handle = put(store, b"raw", 0).handle();
    let open = || {
        store
            .open(handle)
            .expect("it is stored")
            .derived
            .expect("a place")
    };
    assert_eq!(open().read(), None);
    for bytes in [&b"one"[..], b"", b"another"] {
        open().keep(bytes).expect("there is room");
        assert_eq!(open().read().as_deref(), Some(bytes));
    }
}

fn forgets_a_dropped_draft(store: &dyn ArtifactStore) {
    let mut draft = store.draft().expect("a draft");
    draft.write(Part::Raw, b"half").expect("a write");
    drop(draft);
    assert_eq!(store.list().expect("a list"), []);
}

fn tells_why_an_artifact_is_absent(store: &dyn ArtifactStore) {
    for unknown in [
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001",
        "kqvbnrtzaewmxo",
    ] {
        let unknown: Handle = unknown.parse().expect("a handle");
        assert_eq!(why(store, unknown), Absent::Never);
    }
    for gone in [Gone::Expired, Gone::Evicted, Gone::Removed] {
        let handle = put(store, b"x", 0).handle();
        store.remove(handle, gone, at(60)).expect("removed");
        let Absent::Gone {
            why,
            at: when,
            tool,
        } = why(store, handle)
        else {
            panic!("the store forgot {handle}");
        };
        assert_eq!((why, when, tool.as_str()), (gone, at(60), "test_tool"));
        let again = store.remove(handle, gone, at(61));
        assert!(matches!(again, Err(StoreError::Absent { .. })));
    }
    assert_eq!(store.list().expect("a list"), []);
}

fn why(store: &dyn ArtifactStore, handle: Handle) -> Absent {
    match store.open(handle) {
        Err(StoreError::Absent { why, .. }) => why,
        other => panic!("{handle} should be absent: {other:?}"),
    }
}

fn lists_oldest_first(store: &dyn ArtifactStore) {
    let handles: Vec<Handle> = [30, 10, 20]
        .map(|created| put(store, b"x", created).handle())
        .to_vec();
    let listed = store.list().expect("a list");
    let order: Vec<Handle> = listed.iter().map(|one| one.manifest.handle).collect();
    assert_eq!(order, [handles[1], handles[2], handles[0]]);
}

fn sweeps_by_age_quota_and_pin(store: &dyn ArtifactStore) {
    let pinned = put(store, &[1; 1000], 0).handle();
    store.pin(pinned, true).expect("pinned");
    assert!(store.manifest(pinned).expect("known").pinned);
    let [_, b, c] = [1, 2, 3].map(|created| put(store, &[2; 1000], created).handle());
    let used = |handle: Handle| {
        let listed = store.list().expect("a list").into_iter();
        listed
            .map(|one| (one.manifest.handle, one.used))
            .find(|one| one.0 == handle)
    };
    assert!(used(b).is_some());
    let total: u64 = store
        .list()
        .expect("a list")
        .iter()
        .map(|one| one.bytes)
        .sum();
    let retention = Retention {
        max_bytes: Some(total - 1),
        ..Retention::default()
    };
    let swept = sweep(store, retention, None, at(100)).expect("swept");
    assert_eq!(swept.len(), 1, "one is enough to fit the quota");
    assert_eq!(swept[0].why, Gone::Evicted);
    let retention = Retention {
        max_age: Some(Duration::ZERO),
        ..Retention::default()
    };
    let later = Timestamp::new(at(0).system_time() + Duration::from_secs(1 << 32));
    let swept = sweep(store, retention, None, later).expect("swept");
    assert_eq!(swept.len(), 2);
    assert!(matches!(
        why(store, c),
        Absent::Gone {
            why: Gone::Expired | Gone::Evicted,
            ..
        }
    ));
    assert!(store.open(pinned).is_ok(), "what is pinned stays");
}

fn never_sweeps_what_was_just_stored(store: &dyn ArtifactStore) {
    let small = put(store, &[1; 500], 0).handle();
    let large = put(store, &[2; 5000], 1).handle();
    let retention = Retention {
        max_bytes: Some(3000),
        ..Retention::default()
    };
    let swept = sweep(store, retention, Some(large), at(2)).expect("swept");
    assert_eq!(swept, [], "nothing is let go for what never fits");
    // Unless the large artifact is spared, it is removed first.
    let swept = sweep(store, retention, None, at(3)).expect("swept");
    assert_eq!(swept.len(), 1);
    assert_eq!(swept[0].handle, large);
    assert!(store.open(small).is_ok());
}

fn sweeps_only_as_much_as_it_is_told(store: &dyn ArtifactStore) {
    let all: Vec<Handle> = (0..10)
        .map(|created| put(store, &[1; 1000], created).handle())
        .collect();
    let listed = store.survey().expect("a survey").listed;
    let total: u64 = listed.iter().map(|one| one.bytes).sum();
    let retention = Retention {
        max_bytes: Some(total),
        headroom: 2500,
        ..Retention::default()
    };
    let few = Retention {
        most: Some(1),
        ..retention
    };
    assert_eq!(sweep(store, few, None, at(20)).expect("swept").len(), 1);
    let used = |handle: Handle| {
        let known = store.candidates().expect("candidates").into_iter();
        let mut known = known.filter(|one| one.handle == handle);
        known.next().map(|one| one.used)
    };
    let newest = used(all[9]);
    let older = all.iter().filter(|&&one| used(one) < newest).count();
    assert_eq!(
        sweep(store, retention, None, at(20)).expect("swept").len(),
        2
    );
    // A store that knows times in seconds only does not know which of them is the newest.
    if newest.is_some() && older > 3 {
        assert!(store.open(all[9]).is_ok());
    }
}

fn serves_many_threads(store: &dyn ArtifactStore) {
    std::thread::scope(|scope| {
        for writer in 0..4u8 {
            scope.spawn(move || {
                for _ in 0..8 {
                    let handle = put(store, &[writer; 5000], 0).handle();
                    let stored = store.open(handle).expect("stored");
                    assert_eq!(stored.raw.bytes(0, 5000).expect("read"), [writer; 5000]);
                }
            });
        }
    });
    assert_eq!(store.list().expect("a list").len(), 32);
}
