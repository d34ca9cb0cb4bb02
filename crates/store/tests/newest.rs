//! Tests of the list of the newest artifacts: it says the same as a look at all manifests, whatever happened to its file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use spillgate_artifact::{Handle, HandleForm, SystemClock, Timestamp};
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, FileStore, Gone, Lifetime, Part, Space, StoreError};

fn store_in(base: &Path) -> FileStore {
    let store = FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock));
    store.within(Space::default())
}

/// Stores an artifact that was made `at` seconds after a fixed time.
fn put(store: &dyn ArtifactStore, at: u64, form: HandleForm) -> Handle {
    let mut draft = store.draft().unwrap();
    draft.write(Part::Raw, b"raw").unwrap();
    let mut facts = facts_of(b"raw");
    facts.created = Timestamp::new(UNIX_EPOCH + Duration::from_secs(1_800_000_000 + at));
    draft.commit(facts, b"index", form).unwrap().handle()
}

/// Returns the `most` newest artifacts, and how many were visited whose manifest cannot be read.
fn newest(store: &dyn ArtifactStore, most: usize) -> (Vec<Handle>, usize) {
    let mut found = Vec::new();
    let mut visit = |one: spillgate_store::Listed| {
        found.push(one.manifest.handle);
        match found.len() < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let damaged = store.newest(&mut visit).unwrap().len();
    (found, damaged)
}

fn all(store: &dyn ArtifactStore) -> Vec<Handle> {
    let listed = store.list().unwrap();
    listed.iter().rev().map(|one| one.manifest.handle).collect()
}

fn list(base: &Path) -> std::path::PathBuf {
    base.join(".recent")
}

/// Writes the books as a version does that does not know the list.
fn as_an_older_version(base: &Path) {
    let path = base.join(".store");
    let text = fs::read_to_string(&path).unwrap();
    let mut books: serde_json::Value = serde_json::from_str(&text).unwrap();
    books.as_object_mut().unwrap().remove("recent");
    fs::write(&path, format!("{books:<255}\n")).unwrap();
}

/// What happens to a store between two listings.
#[derive(Debug, Clone)]
enum Step {
    Put(u64, bool),
    OlderPut(u64),
    Remove(usize),
    Pin(usize),
    Damage(usize),
    ListIsGone,
    ListIsCut(u64),
    ListHasRubbish(String),
    Restarted,
    Look(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u64..9, any::<bool>()).prop_map(|(at, is_long)| Step::Put(at, is_long)),
        1 => (0u64..9).prop_map(Step::OlderPut),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => any::<usize>().prop_map(Step::Pin),
        1 => any::<usize>().prop_map(Step::Damage),
        1 => Just(Step::ListIsGone),
        1 => (0u64..200).prop_map(Step::ListIsCut),
        1 => "[a-z0-9 \n]{0,20}".prop_map(Step::ListHasRubbish),
        1 => Just(Step::Restarted),
        4 => (1usize..9).prop_map(Step::Look),
    ];
    prop::collection::vec(step, 1..40)
}

fn take(base: &Path, store: &FileStore, step: Step) {
    let some = |at: usize| {
        let all = all(store);
        (!all.is_empty()).then(|| all[at % all.len()])
    };
    match step {
        Step::Put(at, true) => drop(put(store, at, HandleForm::Long)),
        Step::Put(at, false) => drop(put(store, at, HandleForm::Short)),
        Step::OlderPut(at) => {
            // Without the list's id, nothing is added to the list.
            put(store, 0, HandleForm::Short);
            as_an_older_version(base);
            put(store, at, HandleForm::Short);
        }
        Step::Remove(at) => {
            if let Some(handle) = some(at) {
                let gone = store.remove(handle, Gone::Removed, Timestamp::new(UNIX_EPOCH));
                gone.unwrap();
            }
        }
        Step::Pin(at) => drop(some(at).map(|handle| store.pin(handle, true))),
        Step::Damage(at) => {
            if let Some(handle) = some(at) {
                let mut path = store.view_path(handle).into_os_string();
                path.push(".json");
                fs::write(path, "no manifest").unwrap();
            }
        }
        Step::ListIsGone => drop(fs::remove_file(list(base))),
        Step::ListIsCut(length) => {
            if let Ok(file) = OpenOptions::new().write(true).open(list(base)) {
                file.set_len(file.metadata().unwrap().len().min(length))
                    .unwrap();
            }
        }
        Step::ListHasRubbish(text) => {
            if let Ok(mut file) = OpenOptions::new().append(true).open(list(base)) {
                file.write_all(text.as_bytes()).unwrap();
            }
        }
        Step::Restarted => {
            let path = base.join(".store");
            if let Ok(text) = fs::read_to_string(&path) {
                let restarted = text.replace("\"recent\":\"", "\"recent\":\"x");
                fs::write(path, restarted).unwrap();
            }
        }
        Step::Look(most) => {
            let mut expected = all(store);
            expected.truncate(most);
            assert_eq!(newest(store, most).0, expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_newest_are_those_of_all(steps in steps()) {
        let base = tempfile::tempdir().unwrap();
        let store = store_in(base.path());
        for step in steps {
            // A list that lost whole lines by a cut says so only after a restart.
            let is_cut = matches!(step, Step::ListIsCut(_));
            take(base.path(), &store, step);
            if is_cut {
                take(base.path(), &store, Step::Restarted);
            }
        }
        prop_assert_eq!(newest(&store, usize::MAX).0, all(&store));
        let mut expected = all(&store);
        expected.truncate(3);
        prop_assert_eq!(newest(&store, 3).0, expected);
    }
}

#[test]
fn the_newest_are_found_without_all_manifests() {
    let base = tempfile::tempdir().unwrap();
    let store = FileStore::new(base.path(), Lifetime::Durable, Arc::new(SystemClock));
    let store = store
        .synced(spillgate_store::SyncWhen::After)
        .within(Space::default());
    let first = put(&store, 0, HandleForm::Short);
    let mut path = store.view_path(first).into_os_string();
    path.push(".json");
    fs::write(path, "no manifest").unwrap();
    put(&store, 1, HandleForm::Short);
    assert_eq!(
        newest(&store, 1).1,
        1,
        "the list is made from all manifests"
    );
    assert_eq!(newest(&store, 1).1, 0, "the list is read");
    // The list is shortened, and stays right.
    for at in 0..5500 {
        put(&store, at / 3, HandleForm::Short);
    }
    assert!(fs::metadata(list(base.path())).unwrap().len() < 200 << 10);
    assert_eq!(newest(&store, 20).1, 0);
    let all = all(&store);
    assert_eq!(newest(&store, 20).0, all[..20]);
    assert_eq!(newest(&store, usize::MAX).0, all);
    let gone = Timestamp::new(UNIX_EPOCH);
    for &handle in &all[..1200] {
        store.remove(handle, Gone::Removed, gone).unwrap();
    }
    assert_eq!(newest(&store, 20).0, all[1200..1220]);
}

#[test]
fn writers_and_lists_that_are_made_anew_miss_nothing() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path();
    let first = put(&store_in(base), 0, HandleForm::Short);
    let is_done = AtomicBool::new(false);
    let mut stored: Vec<Handle> = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let store = store_in(base);
                while !is_done.load(Ordering::Relaxed) {
                    newest(&store, usize::MAX);
                    fs::remove_file(list(base)).ok();
                }
            });
        }
        let writers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let store = store_in(base);
                    let put = |at| put(&store, at, HandleForm::Short);
                    (0..100).map(put).collect::<Vec<Handle>>()
                })
            })
            .collect();
        let stored = writers.into_iter().flat_map(|one| one.join().unwrap());
        let stored = stored.collect();
        is_done.store(true, Ordering::Relaxed);
        stored
    });
    stored.push(first);
    stored.sort_unstable();
    for _ in 0..2 {
        let mut found = newest(&store_in(base), usize::MAX).0;
        found.sort_unstable();
        assert_eq!(found, stored);
    }
}

#[test]
fn handles_are_found_by_their_first_letters() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let short = put(&store, 0, HandleForm::Short).to_string();
    let long = put(&store, 0, HandleForm::Long).to_string();
    let found = |beginning: &str| -> Result<Vec<String>, StoreError> {
        let handles = store.beginning_with(beginning)?;
        Ok(handles.iter().map(Handle::to_string).collect())
    };
    assert_eq!(store.count().unwrap(), 2);
    assert!(found(&short[..1]).unwrap().contains(&short));
    // Fewer letters of the short handle may begin `session-` as well.
    for (whole, parts) in [(&short, [8, 9, 14]), (&long, [9, 44, 60])] {
        for length in parts {
            assert_eq!(
                found(&whole[..length]).unwrap(),
                std::slice::from_ref(whole),
                "{whole}"
            );
        }
        assert_eq!(found(&format!("{whole}x")).unwrap(), [""; 0]);
    }
    assert_eq!(found("sessio").unwrap().last(), Some(&long));
    assert!(!found("session").unwrap().is_empty());
}
