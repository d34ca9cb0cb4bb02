//! Tests of encrypted stores on disk: what is readable in the files, keys, changed files, quotas.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{FileName, Handle, HandleForm, RawForm, SystemClock};
use spillgate_store::conformance::{self, facts_of};
use spillgate_store::{
    ArtifactStore, FileStore, Gone, Lifetime, Locked, Part, Receipt, Retention, Space, StoreError,
    StoreKey, SyncWhen, sweep,
};

const SECRET: &str = "the words that nobody else may read";

fn key(digit: &str) -> StoreKey {
    StoreKey::from_hex(&digit.repeat(64)).unwrap()
}

fn plain_store(base: &Path) -> FileStore {
    FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock))
}

fn store_in(base: &Path) -> FileStore {
    plain_store(base).encrypting(Some(key("a")))
}

/// Stores raw bytes, a view and arguments that all contain the secret words.
fn put(store: &dyn ArtifactStore) -> Receipt {
    let (raw, view) = (format!("\x1b[1m{SECRET}"), SECRET.repeat(3000));
    let mut draft = store.draft().unwrap();
    draft.write(Part::Raw, raw.as_bytes()).unwrap();
    draft.write(Part::View, view.as_bytes()).unwrap();
    let mut facts = facts_of(raw.as_bytes());
    facts.view.is_raw = false;
    facts.view.bytes = view.len() as u64;
    facts.origin.arguments = Some(format!("{{\"about\":\"{SECRET}\"}}"));
    facts.file_name = Some(
        "tool_20270115_080000_01234567.txt"
            .parse::<FileName>()
            .unwrap(),
    );
    facts.form = RawForm::Plain;
    draft
        .commit(facts, SECRET.as_bytes(), HandleForm::Short)
        .unwrap()
}

/// Returns all files below a directory.
fn files(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    entries.flat_map(below).collect()
}

fn part(base: &Path, handle: Handle, suffix: &str) -> PathBuf {
    let mut path = plain_store(base).view_path(handle).into_os_string();
    path.push(suffix);
    path.into()
}

const SUFFIXES: [&str; 4] = ["", ".raw", ".lines", ".json"];

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
            let store = FileStore::new(base.path(), lifetime, Arc::new(SystemClock));
            directories.borrow_mut().push(base);
            Box::new(store.synced(when).encrypting(Some(key("a"))))
        });
    }
}

#[test]
fn no_file_has_a_word_of_the_result() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let receipt = put(&store);
    let mut unfinished = store.draft().unwrap();
    for _ in 0..5000 {
        unfinished.write(Part::Raw, SECRET.as_bytes()).unwrap();
    }
    let found = files(base.path());
    assert_eq!(found.len(), 5, "{found:?}");
    for path in found {
        let bytes = fs::read(&path).unwrap();
        let has = |word: &str| {
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        };
        assert!(!has("nobody else"), "{path:?}");
        assert!(!has(&"a".repeat(64)), "{path:?}");
    }
    // No link leads to the encrypted text, and the source has no file to pass on.
    let stored = store.open(receipt.handle()).unwrap();
    assert_eq!(stored.file, None);
    assert!(stored.raw.file().is_none() && stored.view.file().is_none());
    assert_eq!(stored.index, SECRET.as_bytes());
    assert_eq!(&stored.manifest, receipt.manifest());
    let arguments = stored.manifest.facts.origin.arguments.unwrap();
    assert!(arguments.contains(SECRET));
    assert_eq!(
        stored.view.bytes(0, u64::MAX).unwrap(),
        SECRET.repeat(3000).as_bytes()
    );
}

#[test]
fn without_the_key_it_is_listed_and_removed_but_not_opened() {
    let base = tempfile::tempdir().unwrap();
    let plain = plain_store(base.path());
    let mut draft = plain.draft().unwrap();
    draft.write(Part::Raw, b"plain").unwrap();
    let old = draft
        .commit(facts_of(b"plain"), b"", HandleForm::Short)
        .unwrap();
    let [first, second] = [(); 2].map(|()| put(&store_in(base.path())).handle());
    for (store, expected) in [
        (plain_store(base.path()), Some(Locked::NoKey)),
        (
            plain_store(base.path()).decrypting(key("b")),
            Some(Locked::OtherKey),
        ),
        (plain_store(base.path()).decrypting(key("a")), None),
        (store_in(base.path()), None),
    ] {
        // What was stored before the encryption was turned on stays readable.
        let stored = store.open(old.handle()).unwrap();
        assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"plain");
        let why = match store.open(first) {
            Err(error @ StoreError::Locked { why, .. }) => {
                assert_eq!(error.kind(), "store_locked");
                Some(why)
            }
            opened => opened.map(|_| None).unwrap(),
        };
        assert_eq!(why, expected);
        let survey = store.survey().unwrap();
        assert_eq!((survey.listed.len(), survey.damaged.len()), (3, 0));
        let arguments = store.manifest(first).unwrap().facts.origin.arguments;
        assert_eq!(arguments.is_some(), expected.is_none());
        store.pin(first, true).unwrap();
        store.pin(first, false).unwrap();
    }
    assert!(store_in(base.path()).open(first).is_ok());
    for (handle, store) in [
        (first, plain),
        (second, plain_store(base.path()).decrypting(key("b"))),
    ] {
        store
            .remove(handle, Gone::Removed, facts_of(b"").created)
            .unwrap();
        assert!(matches!(store.open(handle), Err(StoreError::Absent { .. })));
    }
}

#[test]
fn nothing_is_stored_without_the_key_that_it_needs() {
    let base = tempfile::tempdir().unwrap();
    let handle = put(&store_in(base.path())).handle();
    let store = plain_store(base.path()).encrypting(None);
    let error = store.draft().unwrap_err();
    assert!(matches!(error, StoreError::Keyless { .. }), "{error}");
    assert!(matches!(store.open(handle), Err(StoreError::Locked { .. })));
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn messages_say_what_to_do() {
    let base = tempfile::tempdir().unwrap();
    let handle = put(&store_in(base.path())).handle();
    for (store, expected) in [
        (
            plain_store(base.path()),
            "spillgate was started without a key; the user has to start it with the key",
        ),
        (
            plain_store(base.path()).decrypting(key("b")),
            "spillgate was started with another key; the user has to start it with the key with which the output was stored",
        ),
    ] {
        let said = store.open(handle).unwrap_err().to_string();
        assert_eq!(
            said,
            format!("the stored output {handle} is encrypted, and {expected}")
        );
    }
}

/// Opens an artifact and reads all of it.
fn read(store: &FileStore, handle: Handle) -> Result<(), String> {
    let stored = store.open(handle).map_err(|error| error.to_string())?;
    for source in [&stored.raw, &stored.view] {
        source
            .bytes(0, u64::MAX)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[test]
fn files_of_another_artifact_are_noticed() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let (mine, other) = (put(&store).handle(), put(&store).handle());
    for suffix in SUFFIXES {
        let path = part(base.path(), mine, suffix);
        let own = fs::read(&path).unwrap();
        fs::copy(part(base.path(), other, suffix), &path).unwrap();
        let error = read(&store, mine).expect_err(suffix);
        assert!(error.contains("damaged"), "{suffix}: {error}");
        fs::write(&path, own).unwrap();
        assert_eq!(read(&store, mine), Ok(()));
    }
    // All files of the other artifact, whose manifest is changed to fit.
    for suffix in SUFFIXES {
        let bytes = fs::read(part(base.path(), other, suffix)).unwrap();
        fs::write(part(base.path(), mine, suffix), bytes).unwrap();
    }
    let manifest = part(base.path(), mine, ".json");
    let mut value: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    value["handle"] = mine.to_string().into();
    value.as_object_mut().unwrap().remove("checks");
    fs::write(&manifest, value.to_string()).unwrap();
    let error = read(&store, mine).unwrap_err();
    assert!(error.contains("it is not what was encrypted"), "{error}");
    // The encryption cannot be taken away, either.
    value.as_object_mut().unwrap().remove("encryption");
    fs::write(&manifest, value.to_string()).unwrap();
    assert!(read(&store, mine).is_err());
}

#[test]
fn a_changed_byte_in_any_file_is_noticed() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let handle = put(&store).handle();
    for suffix in SUFFIXES {
        let path = part(base.path(), handle, suffix);
        let own = fs::read(&path).unwrap();
        for at in (0..own.len()).step_by(own.len() / 40 + 1) {
            // White space and the pin may change in a manifest.
            if suffix == ".json" && !own[at].is_ascii_alphanumeric() {
                continue;
            }
            let mut changed = own.clone();
            changed[at] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(read(&store, handle).is_err(), "{suffix} {at}");
        }
        fs::write(&path, own).unwrap();
    }
    assert_eq!(read(&store, handle), Ok(()));
}

#[test]
fn quotas_count_the_bytes_on_the_disk() {
    let base = tempfile::tempdir().unwrap();
    let space = Space {
        quota: Some(1 << 20),
        ..Space::default()
    };
    let store = store_in(base.path()).within(space);
    let handle = put(&store).handle();
    let on_disk: u64 = ["", ".raw", ".lines"]
        .map(|suffix| {
            fs::metadata(part(base.path(), handle, suffix))
                .unwrap()
                .len()
        })
        .iter()
        .sum();
    let listed = store.list().unwrap();
    assert_eq!(listed[0].bytes, on_disk);
    assert!(on_disk > listed[0].manifest.facts.raw_bytes + listed[0].manifest.facts.view.bytes);
    put(&store);
    let books = fs::read_to_string(base.path().join(".store")).unwrap();
    let books: serde_json::Value = serde_json::from_str(&books).unwrap();
    assert_eq!(books["bytes"], 2 * on_disk);
    // Another process sweeps the store without the key.
    let retention = Retention {
        max_bytes: Some(on_disk),
        ..Retention::default()
    };
    let now = listed[0].used;
    let swept = sweep(&plain_store(base.path()), retention, None, now).unwrap();
    assert_eq!(swept.len(), 1);
}

#[test]
fn a_killed_writer_leaves_nothing_readable() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let mut draft = store.draft().unwrap();
    draft.write(Part::Raw, &vec![7; 200_000]).unwrap();
    let copies: Vec<(PathBuf, Vec<u8>)> = files(base.path())
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    // The draft is dropped, but its files come back, as after a kill.
    drop(draft);
    for (path, bytes) in &copies {
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(copies.len(), 1);
    assert_eq!(store.list().unwrap(), []);
    assert_eq!(store.remove_leftovers(Duration::ZERO).unwrap(), 1);
    assert_eq!(files(base.path()), Vec::<PathBuf>::new());
}
