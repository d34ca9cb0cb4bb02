//! The store on disk: layout, permissions, links, killed and failing writers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{Clock, FileName, Handle, SystemClock};
use spillgate_store::conformance::{self, facts_of};
use spillgate_store::{ArtifactStore, FileStore, Gone, Lifetime, Part, StoreError, SyncWhen};

fn store_in(base: &Path) -> FileStore {
    FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock))
}

fn put(store: &dyn ArtifactStore, raw: &[u8], view: Option<&[u8]>) -> Handle {
    let mut draft = store.draft().unwrap();
    draft.write(Part::Raw, raw).unwrap();
    let mut facts = facts_of(raw);
    if let Some(view) = view {
        draft.write(Part::View, view).unwrap();
        facts.view.is_raw = false;
        facts.view.bytes = view.len() as u64;
    }
    draft.commit(facts, b"index").unwrap().handle()
}

/// Names below a session's directory.
fn names(base: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(base)
        .unwrap()
        .flat_map(|session| fs::read_dir(session.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn conforms() {
    let all = [
        (Lifetime::Durable, SyncWhen::Before),
        (Lifetime::Durable, SyncWhen::After),
        (Lifetime::Session, SyncWhen::Before),
    ];
    for (lifetime, when) in all {
        let directories = std::cell::RefCell::new(Vec::new());
        conformance::run(&|| {
            let base = tempfile::tempdir().unwrap();
            let store = FileStore::new(base.path(), lifetime, Arc::new(SystemClock)).synced(when);
            directories.borrow_mut().push(base);
            Box::new(store)
        });
    }
}

#[test]
fn only_the_owner_may_read() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(&base.path().join("deep/store"));
    let handle = put(&store, b"raw", Some(b"view"));
    let session = store.base().join(handle.session.to_string());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for directory in [store.base(), session.as_path()] {
        assert_eq!(mode(directory), 0o700, "{directory:?}");
    }
    let file = handle.file.to_string();
    let expected = ["", ".json", ".lines", ".raw"].map(|suffix| format!("{file}{suffix}"));
    assert_eq!(names(store.base()), expected);
    for name in expected {
        assert_eq!(mode(&session.join(&name)), 0o600, "{name}");
    }
}

#[test]
fn another_process_finds_what_was_stored() {
    let base = tempfile::tempdir().unwrap();
    let handle = put(&store_in(base.path()), b"kept", None);
    let stored = store_in(base.path()).open(handle).unwrap();
    assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"kept");
}

#[test]
fn a_session_goes_with_its_store() {
    let base = tempfile::tempdir().unwrap();
    let store = FileStore::new(base.path(), Lifetime::Session, Arc::new(SystemClock));
    put(&store, b"x", None);
    drop(store);
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn links_lead_nowhere() {
    let base = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let real = put(&store_in(outside.path()), b"secret", None);
    // A whole session that points elsewhere is no session.
    let session = real.session.to_string();
    symlink(outside.path().join(&session), base.path().join(&session)).unwrap();
    let store = store_in(base.path());
    assert!(matches!(store.open(real), Err(StoreError::Absent { .. })));
    assert_eq!(store.list().unwrap(), []);
    // A part that points elsewhere is not read.
    let handle = put(&store, b"mine", None);
    let part = store.base().join(handle.to_string());
    fs::remove_file(&part).unwrap();
    symlink(outside.path().join(real.to_string()), &part).unwrap();
    assert!(matches!(store.open(handle), Err(StoreError::Io { .. })));
}

#[test]
fn a_cut_or_foreign_file_is_called_damaged() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let (cut, foreign) = (put(&store, b"abc", None), put(&store, b"abc", None));
    fs::write(base.path().join(cut.to_string()), b"a").unwrap();
    let manifest = |handle: Handle| base.path().join(format!("{handle}.json"));
    fs::copy(manifest(cut), manifest(foreign)).unwrap();
    for handle in [cut, foreign] {
        let error = store.open(handle).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
}

#[test]
fn what_a_killed_writer_left_is_removed_and_a_living_ones_is_not() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let kept = put(&store, b"kept", None);
    let mut living = store.draft().unwrap();
    living.write(Part::Raw, b"living").unwrap();
    // As after a kill: a draft that nobody holds, and parts without a manifest.
    let session = base.path().join(store.session().to_string());
    let dead = "5f3c2b1a-0000-4000-8000-000000000001";
    for name in [
        format!(".draft-{dead}"),
        format!(".draft-{dead}.json"),
        format!("{dead}.raw"),
        format!("{dead}.lines"),
        dead.to_owned(),
    ] {
        fs::write(session.join(name), b"half").unwrap();
    }
    assert_eq!(store.remove_leftovers(Duration::from_mins(1)).unwrap(), 0);
    assert_eq!(store.remove_leftovers(Duration::ZERO).unwrap(), 5);
    assert_eq!(store.list().unwrap().len(), 1);
    let receipt = living.commit(facts_of(b"living"), b"").unwrap();
    assert!(store.open(receipt.handle()).is_ok() && store.open(kept).is_ok());
}

#[test]
fn a_read_only_base_is_denied() {
    // As root every directory may be written, so use one that nobody may.
    let store = store_in(Path::new("/proc/spillgate"));
    let error = store.draft().unwrap_err();
    assert!(
        matches!(error, StoreError::Denied { .. } | StoreError::Io { .. }),
        "{error:?}"
    );
}

#[test]
fn a_named_text_can_be_opened_by_its_path_until_it_is_removed() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let name: FileName = "tool_20270115_080000_01234567.txt".parse().unwrap();
    let named = |raw: &[u8], view: Option<&[u8]>| {
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, raw).unwrap();
        let mut facts = facts_of(raw);
        facts.file_name = Some(name.clone());
        if let Some(view) = view {
            draft.write(Part::View, view).unwrap();
            facts.view.is_raw = false;
            facts.view.bytes = view.len() as u64;
        }
        draft.commit(facts, b"index").unwrap()
    };
    let first = named(b"one", None);
    let path = store.path(first.manifest()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    // The newer artifact takes the name; the raw bytes are the text.
    let second = named(b"\x1b[1mtwo", Some(b"two"));
    assert_eq!(fs::read(&path).unwrap(), b"\x1b[1mtwo");
    let now = SystemClock.now();
    store.remove(first.handle(), Gone::Removed, now).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"\x1b[1mtwo");
    store.remove(second.handle(), Gone::Removed, now).unwrap();
    assert!(fs::symlink_metadata(&path).is_err());
    // What a killed writer leaves leads nowhere, and goes.
    symlink("nowhere", &path).unwrap();
    store.remove_leftovers(Duration::ZERO).unwrap();
    assert!(fs::symlink_metadata(&path).is_err());
}
