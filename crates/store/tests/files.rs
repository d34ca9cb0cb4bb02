//! Tests of the store on disk: layout, permissions, links, killed and failing writers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{Clock, FileName, Handle, HandleForm, SystemClock, Word};
use spillgate_store::conformance::{self, facts_of};
use spillgate_store::{
    ArtifactStore, FileStore, Gone, Lifetime, Part, Retention, StoreError, SyncWhen, sweep,
};

fn store_in(base: &Path) -> FileStore {
    FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock))
}

fn put(store: &dyn ArtifactStore, raw: &[u8], view: Option<&[u8]>) -> Handle {
    put_as(HandleForm::Short, store, raw, view)
}

/// Returns the path of an artifact's file with this suffix.
fn part(base: &Path, handle: Handle, suffix: &str) -> PathBuf {
    let mut path = store_in(base).view_path(handle).into_os_string();
    path.push(suffix);
    path.into()
}

fn put_as(form: HandleForm, store: &dyn ArtifactStore, raw: &[u8], view: Option<&[u8]>) -> Handle {
    let mut draft = store.draft().unwrap();
    draft.write(Part::Raw, raw).unwrap();
    let mut facts = facts_of(raw);
    if let Some(view) = view {
        draft.write(Part::View, view).unwrap();
        facts.view.is_raw = false;
        facts.view.bytes = view.len() as u64;
    }
    draft.commit(facts, b"index", form).unwrap().handle()
}

/// Returns the names of the files in all sessions of a base directory.
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
    for form in [HandleForm::Short, HandleForm::Long] {
        let base = tempfile::tempdir().unwrap();
        let store = store_in(&base.path().join("deep/store"));
        let handle = put_as(form, &store, b"raw", Some(b"view"));
        let view = part(store.base(), handle, "");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for directory in [store.base(), view.parent().unwrap()] {
            assert_eq!(mode(directory), 0o700, "{directory:?}");
        }
        let paths =
            ["", ".json", ".lines", ".raw"].map(|suffix| part(store.base(), handle, suffix));
        let expected = paths
            .each_ref()
            .map(|path| path.file_name().unwrap().to_str().unwrap());
        assert_eq!(names(store.base()), expected);
        for path in &paths {
            assert_eq!(mode(path), 0o600, "{path:?}");
        }
    }
}

#[test]
fn another_process_finds_what_was_stored() {
    for form in [HandleForm::Short, HandleForm::Long] {
        let base = tempfile::tempdir().unwrap();
        let handle = put_as(form, &store_in(base.path()), b"kept", None);
        let stored = store_in(base.path()).open(handle).unwrap();
        assert_eq!(stored.raw.bytes(0, 99).unwrap(), b"kept");
    }
}

#[test]
fn what_is_stored_within_a_second_is_listed_in_order() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let mut handles = Vec::new();
    for _ in 0..6 {
        handles.push(put(&store, b"x", None));
        // File systems record times in steps of up to 10 ms.
        std::thread::sleep(Duration::from_millis(20));
    }
    store.open(handles[0]).unwrap();
    let listed = store.list().unwrap();
    let order: Vec<Handle> = listed.iter().map(|one| one.manifest.handle).collect();
    assert_eq!(order, handles);
}

#[test]
fn a_session_goes_with_its_store() {
    let base = tempfile::tempdir().unwrap();
    let store = FileStore::new(base.path(), Lifetime::Session, Arc::new(SystemClock));
    for form in [HandleForm::Short, HandleForm::Long] {
        put_as(form, &store, b"x", Some(b"view"));
    }
    let removed = put(&store, b"x", None);
    store
        .remove(removed, Gone::Removed, SystemClock.now())
        .unwrap();
    drop(store);
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}

/// The name of a removed artifact must not be used again, because the tombstone would then describe
/// another artifact.
#[test]
fn a_word_is_reserved_by_creating_its_index() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let handle = put(&store, b"x", None);
    let lines = part(base.path(), handle, ".lines");
    let again = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&lines);
    assert!(again.is_err());
    store
        .remove(handle, Gone::Removed, SystemClock.now())
        .unwrap();
    let file = lines.file_name().unwrap().to_str().unwrap();
    let word: Word = file.strip_suffix(".lines").unwrap().parse().unwrap();
    assert_eq!(names(base.path()), [format!("{word}.gone")]);
}

#[test]
fn links_lead_nowhere() {
    let base = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = store_in(outside.path());
    let secrets =
        [HandleForm::Short, HandleForm::Long].map(|form| put_as(form, &elsewhere, b"secret", None));
    let store = store_in(base.path());
    for real in secrets {
        // A symbolic link to a directory elsewhere does not count as a directory of the store.
        let secret = part(outside.path(), real, "");
        let directory = secret.parent().unwrap();
        symlink(directory, base.path().join(directory.file_name().unwrap())).unwrap();
        assert!(matches!(store.open(real), Err(StoreError::Absent { .. })));
    }
    assert_eq!(store.list().unwrap(), []);
    let [real, _] = secrets;
    fs::remove_file(base.path().join(real.to_string().get(..1).unwrap())).unwrap();
    // A part that is a symbolic link is not read.
    let handle = put(&store, b"mine", None);
    let view = part(store.base(), handle, "");
    fs::remove_file(&view).unwrap();
    symlink(part(outside.path(), real, ""), &view).unwrap();
    assert!(matches!(store.open(handle), Err(StoreError::Io { .. })));
}

#[test]
fn a_cut_or_foreign_file_is_called_damaged() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let (cut, foreign) = (put(&store, b"abc", None), put(&store, b"abc", None));
    fs::write(part(base.path(), cut, ""), b"a").unwrap();
    let manifest = |handle: Handle| part(base.path(), handle, ".json");
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
    // A killed writer leaves a draft without a lock, or parts without a manifest. Earlier versions
    // kept drafts in the directory of the session.
    let session = base.path().join(store.session().to_string());
    fs::create_dir_all(&session).unwrap();
    let dead = "5f3c2b1a-0000-4000-8000-000000000001";
    for directory in [base.path(), &session] {
        for suffix in ["", ".json"] {
            fs::write(directory.join(format!(".draft-{dead}{suffix}")), b"half").unwrap();
        }
    }
    for name in [
        format!("{dead}.raw"),
        format!("{dead}.lines"),
        dead.to_owned(),
    ] {
        fs::write(session.join(name), b"half").unwrap();
    }
    let letter = base.path().join("k");
    fs::create_dir_all(&letter).unwrap();
    for suffix in ["", ".raw", ".lines"] {
        fs::write(letter.join(format!("kqvbnrtzaewmxo{suffix}")), b"half").unwrap();
    }
    fs::write(letter.join("not ours"), b"kept").unwrap();
    assert_eq!(store.remove_leftovers(Duration::from_mins(1)).unwrap(), 0);
    assert_eq!(store.remove_leftovers(Duration::ZERO).unwrap(), 10);
    assert!(!session.exists());
    assert!(letter.join("not ours").exists());
    assert_eq!(store.list().unwrap().len(), 1);
    let receipt = living
        .commit(facts_of(b"living"), b"", HandleForm::Short)
        .unwrap();
    assert!(store.open(receipt.handle()).is_ok() && store.open(kept).is_ok());
}

#[test]
fn a_read_only_base_is_denied() {
    // Root can write to every directory, so the test uses a directory that nobody can write to.
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
        draft.commit(facts, b"index", HandleForm::Long).unwrap()
    };
    let first = named(b"one", None);
    let path = store.open(first.handle()).unwrap().file.unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    // The link of the same name now leads to the newer artifact, whose text is its raw bytes.
    let second = named(b"\x1b[1mtwo", Some(b"two"));
    assert_eq!(fs::read(&path).unwrap(), b"\x1b[1mtwo");
    let now = SystemClock.now();
    store.remove(first.handle(), Gone::Removed, now).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"\x1b[1mtwo");
    store.remove(second.handle(), Gone::Removed, now).unwrap();
    assert!(fs::symlink_metadata(&path).is_err());
    // A link that a killed writer left leads nowhere and is removed.
    symlink("nowhere", &path).unwrap();
    store.remove_leftovers(Duration::ZERO).unwrap();
    assert!(fs::symlink_metadata(&path).is_err());
}

/// Changes one bit of a file.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_is_changed_in_a_manifest_or_an_index_is_noticed_when_it_is_opened() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let handle = put(&store, b"raw", Some(b"view"));
    let part = |suffix: &str| part(base.path(), handle, suffix);
    let manifest = fs::read(part(".json")).unwrap();
    let text = String::from_utf8(manifest.clone()).unwrap();
    let changed = [
        text.replace("\"is_error\": false", "\"is_error\": true "),
        text.replace("\"test_tool\"", "\"best_tool\""),
        text.replace("\"longest_line\": 3", "\"longest_line\": 2"),
        "garbage".to_owned(),
        String::new(),
    ];
    for changed in changed {
        fs::write(part(".json"), &changed).unwrap();
        let error = store.open(handle).unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{changed}: {error}"
        );
    }
    fs::write(part(".json"), manifest).unwrap();
    assert!(store.open(handle).is_ok());
    flip(&part(".lines"), 2);
    let error = store.open(handle).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn an_artifact_without_a_usable_manifest_is_listed_and_can_be_removed() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let kept = put(&store, b"kept", None);
    let now = SystemClock.now();
    for damage in ["garbage", "{}", ""] {
        let handle = put(&store, b"raw", Some(b"view"));
        let manifest = part(base.path(), handle, ".json");
        fs::write(&manifest, damage).unwrap();
        let survey = store.survey().unwrap();
        assert_eq!(survey.listed.len(), 1);
        assert_eq!(
            (survey.damaged[0].handle, survey.damaged[0].bytes),
            (handle, 12)
        );
        store.remove(handle, Gone::Removed, now).unwrap();
        assert!(matches!(store.open(handle), Err(StoreError::Absent { .. })));
        assert!(
            names(base.path())
                .iter()
                .filter(|name| name.starts_with(&handle.to_string()))
                .all(|name| *name == format!("{handle}.gone"))
        );
    }
    // The damaged artifact counts toward the quota and is evicted if it is the least recently used.
    let handle = put(&store, &[1; 1000], None);
    fs::write(part(base.path(), handle, ".json"), "garbage").unwrap();
    let retention = Retention {
        max_bytes: Some(500),
        ..Retention::default()
    };
    let swept = sweep(&store, retention, None, now).unwrap();
    assert_eq!(swept.len(), 1);
    assert_eq!(swept[0].handle, handle);
    assert!(store.open(kept).is_ok());
}

#[test]
fn what_a_newer_version_wrote_is_refused_and_kept() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let handle = put(&store, b"raw", None);
    let path = part(base.path(), handle, ".json");
    let text = fs::read_to_string(&path).unwrap();
    for newer in [
        text.replace("\"format\": 1", "\"format\": 7"),
        "{\"format\": 7}".to_owned(),
    ] {
        fs::write(&path, newer).unwrap();
        let error = store.open(handle).unwrap_err();
        assert!(error.to_string().contains("newer version"), "{error}");
        let removed = store.remove(handle, Gone::Removed, SystemClock.now());
        assert!(matches!(removed, Err(StoreError::Newer { .. })));
        let retention = Retention {
            max_bytes: Some(0),
            max_age: Some(Duration::ZERO),
            ..Retention::default()
        };
        assert_eq!(
            sweep(&store, retention, None, SystemClock.now()).unwrap(),
            []
        );
    }
    // Manifests of older versions contain neither a format nor checksums.
    let mut old: serde_json::Value = serde_json::from_str(&text).unwrap();
    let members = old.as_object_mut().unwrap();
    assert!(members.remove("format").is_some() && members.remove("checks").is_some());
    fs::write(&path, old.to_string()).unwrap();
    assert!(store.open(handle).is_ok());
}

#[test]
fn a_pin_keeps_what_this_version_does_not_know() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let handle = put(&store, b"raw", None);
    let path = part(base.path(), handle, ".json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["checks"] = serde_json::Value::Null;
    manifest["later"] = serde_json::json!({"known": [1, 2]});
    fs::write(&path, manifest.to_string()).unwrap();
    for pinned in [true, false] {
        store.pin(handle, pinned).unwrap();
        assert_eq!(store.manifest(handle).unwrap().pinned, pinned);
        let manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(manifest["later"]["known"][1], 2);
    }
}

/// A file system of `bytes` bytes, which is mounted until this value is dropped. `None` if the test
/// may not mount a file system.
struct Small(tempfile::TempDir);

impl Small {
    fn of(bytes: u32) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "small"]);
        let mounted = mount
            .arg(at.path())
            .stderr(std::process::Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(at))
    }

    /// Uses up all free space.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.path().join("full")).unwrap();
        while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(
            std::process::Command::new("umount")
                .arg("-l")
                .arg(self.0.path())
                .status(),
        );
    }
}

#[test]
fn on_a_full_disk_things_are_pinned_and_removed() {
    let Some(disk) = Small::of(1 << 20) else {
        eprintln!("no tmpfs can be mounted here: not tested");
        return;
    };
    let store = store_in(&disk.0.path().join("store"));
    let (pinned, removed, evicted) = (
        put(&store, &[1; 9000], None),
        put(&store, &[2; 9000], None),
        put(&store, &[3; 9000], None),
    );
    disk.fill();
    let mut draft = store.draft().unwrap();
    assert!(matches!(
        draft.write(Part::Raw, &[4; 9000]),
        Err(StoreError::Full { .. })
    ));
    drop(draft);
    disk.fill();
    for is_pinned in [true, false, true] {
        store.pin(pinned, is_pinned).unwrap();
        assert_eq!(store.manifest(pinned).unwrap().pinned, is_pinned);
        assert!(store.open(pinned).is_ok());
    }
    store
        .remove(removed, Gone::Removed, SystemClock.now())
        .unwrap();
    disk.fill();
    let retention = Retention {
        max_bytes: Some(1),
        ..Retention::default()
    };
    let swept = sweep(&store, retention, None, SystemClock.now()).unwrap();
    assert_eq!(swept.len(), 1);
    for (handle, why) in [(removed, "was removed"), (evicted, "was evicted")] {
        // The tombstone fits after the other files were removed.
        let error = store.open(handle).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    assert!(store.open(pinned).is_ok());
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let (manifest, body) = (put(&store, b"one", None), put(&store, b"two", None));
    let fifo = |path: &Path| {
        fs::remove_file(path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    fifo(&part(base.path(), manifest, ".json"));
    fifo(&part(base.path(), body, ""));
    let session = base.path().join(store.session().to_string());
    fs::create_dir(&session).unwrap();
    let stray = session.join(".draft-5f3c2b1a-0000-4000-8000-000000000001");
    fs::write(&stray, "").unwrap();
    fifo(&stray);
    let (done, waits) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let survey = store.survey().unwrap();
        assert_eq!((survey.listed.len(), survey.damaged.len()), (1, 1));
        assert!(matches!(
            store.open(manifest),
            Err(StoreError::Damaged { .. })
        ));
        assert!(store.open(body).is_err());
        store.remove_leftovers(Duration::ZERO).unwrap();
        store
            .remove(manifest, Gone::Removed, SystemClock.now())
            .unwrap();
        store
            .remove(body, Gone::Removed, SystemClock.now())
            .unwrap();
        done.send(()).unwrap();
    });
    assert!(
        waits.recv_timeout(Duration::from_secs(30)).is_ok(),
        "it hangs"
    );
}

#[test]
fn a_base_of_others_is_not_safe() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    let set = |mode| fs::set_permissions(base.path(), fs::Permissions::from_mode(mode)).unwrap();
    for (mode, is_safe) in [
        (0o700, true),
        (0o755, true),
        (0o770, false),
        (0o702, false),
        (0o1777, false),
    ] {
        set(mode);
        let checked = store.check_base();
        assert_eq!(checked.is_ok(), is_safe, "{mode:o}");
        assert!(
            checked.is_ok()
                || checked
                    .unwrap_err()
                    .to_string()
                    .contains("others may write")
        );
    }
    set(0o700);
    if std::os::unix::fs::chown(base.path(), Some(12345), None).is_ok() {
        let error = store.check_base().unwrap_err().to_string();
        assert!(error.contains("belongs to user 12345"), "{error}");
    }
    assert!(
        store_in(&base.path().join("not there"))
            .check_base()
            .is_ok()
    );
}

#[test]
fn a_part_that_is_missing_is_damage_and_a_removed_artifact_is_not() {
    let base = tempfile::tempdir().unwrap();
    let store = store_in(base.path());
    for suffix in ["", ".raw", ".lines"] {
        let handle = put(&store, b"raw", Some(b"view"));
        fs::remove_file(part(base.path(), handle, suffix)).unwrap();
        let error = store.open(handle).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("is damaged: the file is missing"),
            "{error}"
        );
    }
    // Whenever the artifact is removed, a reader gets either all of it or an error with the reason
    // of its removal.
    for _ in 0..200 {
        let handle = put(&store, b"raw", Some(b"view"));
        std::thread::scope(|scope| {
            let remove = || store.remove(handle, Gone::Removed, SystemClock.now());
            let removers = [scope.spawn(remove), scope.spawn(remove)];
            loop {
                match store.open(handle) {
                    Ok(_) => {}
                    Err(error) => {
                        assert!(error.to_string().contains("It was removed"), "{error}");
                        break;
                    }
                }
            }
            let mut removed = 0;
            for remover in removers {
                match remover.join().unwrap() {
                    Ok(()) => removed += 1,
                    Err(error) => assert!(error.to_string().contains("It was removed"), "{error}"),
                }
            }
            assert!(removed >= 1);
        });
    }
}
