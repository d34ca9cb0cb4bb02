//! Tests of the quota, the reserve of free disk space and the tombstones, with several writers at
//! the same time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use spillgate_artifact::{Clock, Handle, HandleForm, SystemClock, Timestamp};
use spillgate_store::conformance::facts_of;
use spillgate_store::{
    ArtifactStore, FileStore, Gone, Lifetime, Notes, Part, Space, StoreError, Upkeep,
};

fn store_within(base: &Path, space: Space) -> FileStore {
    FileStore::new(base, Lifetime::Durable, Arc::new(SystemClock)).within(space)
}

fn quota(bytes: u64, evicts: bool) -> Space {
    Space {
        quota: Some(bytes),
        evicts,
        ..Space::default()
    }
}

fn put(store: &dyn ArtifactStore, raw: &[u8]) -> Result<Handle, StoreError> {
    let mut draft = store.draft()?;
    draft.write(Part::Raw, raw)?;
    let mut facts = facts_of(raw);
    facts.created = SystemClock.now();
    Ok(draft.commit(facts, b"", HandleForm::Short)?.handle())
}

fn total(store: &dyn ArtifactStore) -> u64 {
    let listed = store.list().unwrap();
    listed.iter().map(|one| one.bytes).sum()
}

/// Returns the number of bytes that the books record.
fn entered(base: &Path) -> u64 {
    let books = fs::read_to_string(base.join(".store")).unwrap();
    let books: serde_json::Value = serde_json::from_str(&books).unwrap();
    books["bytes"].as_u64().unwrap()
}

const UPKEEP: Upkeep = Upkeep {
    max_age: None,
    notes: Notes {
        max_age: None,
        most: None,
    },
    every: Duration::from_secs(300),
    idle: Duration::from_secs(60),
    most: 1000,
};

#[test]
fn the_quota_holds_while_many_store() {
    const QUOTA: u64 = 1_000_000;
    const SIZE: usize = 10_000;
    let base = tempfile::tempdir().unwrap();
    // Two stores stand for two processes.
    let stores = [(); 2].map(|()| store_within(base.path(), quota(QUOTA, true)));
    let is_done = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while !is_done.load(Ordering::Relaxed) {
                most = most.max(total(&stores[0]));
            }
            most
        });
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let store = &stores[writer % 2];
                scope.spawn(move || {
                    for _ in 0..60 {
                        let handle = put(store, &[7; SIZE]).unwrap();
                        assert!(store.open(handle).is_ok(), "it was evicted at once");
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        watcher.join().unwrap()
    });
    // Eight writers may exceed the quota by the artifacts that they are storing, because each
    // artifact is counted before it gets its name.
    assert!(most <= QUOTA + 8 * SIZE as u64, "{most}");
    assert!(most > QUOTA / 2, "nothing was kept: {most}");
    assert!(total(&stores[0]) <= QUOTA);
    // A count lacks the artifacts that another process was storing at that time, so the count is
    // repeated. An eviction pass that is still running must end first.
    for round in 1.. {
        let due = SystemClock.now().system_time() + round * UPKEEP.every;
        stores[0]
            .keep_up(&UPKEEP, None, Timestamp::new(due))
            .unwrap();
        if entered(base.path()) == total(&stores[0]) {
            break;
        }
        assert!(round < 1000, "the books are wrong");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_never_fits_lets_nothing_else_go() {
    let base = tempfile::tempdir().unwrap();
    let store = store_within(base.path(), quota(10_000, true));
    let small = put(&store, &[1; 500]).unwrap();
    let large = put(&store, &vec![2; 20_000]).unwrap();
    assert!(store.open(small).is_ok() && store.open(large).is_ok());
    // The next eviction removes the large artifact first.
    let later = put(&store, &[3; 500]).unwrap();
    assert!(matches!(store.open(large), Err(StoreError::Absent { .. })));
    assert!(store.open(small).is_ok() && store.open(later).is_ok());
}

#[test]
fn books_that_are_wrong_or_gone_are_made_anew() {
    let base = tempfile::tempdir().unwrap();
    let store = store_within(base.path(), quota(100_000, false));
    let kept = put(&store, &[1; 1000]).unwrap();
    let gone = put(&store, &[1; 1000]).unwrap();
    assert_eq!(entered(base.path()), 2000);
    store
        .remove(gone, Gone::Removed, SystemClock.now())
        .unwrap();
    assert_eq!(entered(base.path()), 1000);
    drop(store.draft().unwrap());
    assert_eq!(entered(base.path()), 1000);
    let books = base.path().join(".store");
    for wrong in ["", "garbage", "{\"format\":1}"] {
        fs::write(&books, wrong).unwrap();
        let handle = put(&store, &[2; 500]).unwrap();
        assert_eq!(entered(base.path()), total(&store), "{wrong:?}");
        store
            .remove(handle, Gone::Removed, SystemClock.now())
            .unwrap();
    }
    // Simulates a writer that was killed before its artifact had a name.
    fs::write(&books, "{\"format\":1,\"bytes\":70000,\"swept\":null}").unwrap();
    store.keep_up(&UPKEEP, None, SystemClock.now()).unwrap();
    assert_eq!(entered(base.path()), 1000);
    // If `.store` is a link to another program's file, that file is neither read nor written.
    let precious = base.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    fs::remove_file(&books).unwrap();
    symlink(&precious, &books).unwrap();
    assert!(store.open(put(&store, &[3; 10]).unwrap()).is_ok());
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    fs::remove_file(&books).unwrap();
    // A store whose layout only newer versions can read is not changed.
    fs::write(&books, "{\"format\":2,\"other\":\"things\"}").unwrap();
    assert!(matches!(
        store.check_format(),
        Err(StoreError::Newer { .. })
    ));
    assert!(matches!(
        put(&store, &[4; 10]),
        Err(StoreError::Newer { .. })
    ));
    assert!(store.open(kept).is_ok());
}

#[test]
fn a_sweep_in_the_future_is_none_and_each_removes_a_bounded_number() {
    let base = tempfile::tempdir().unwrap();
    let store = store_within(base.path(), quota(100_000, false));
    for _ in 0..40 {
        put(&store, &[1; 1000]).unwrap();
    }
    let now = SystemClock.now();
    let future = "{\"format\":1,\"bytes\":40000,\"swept\":\"2199-01-01T00:00:00Z\"}";
    fs::write(base.path().join(".store"), future).unwrap();
    let upkeep = Upkeep {
        max_age: Some(Duration::ZERO),
        most: 15,
        ..UPKEEP
    };
    let later = Timestamp::new(now.system_time() + Duration::from_secs(60));
    for (at, left) in [(later, 25), (later, 25)] {
        store.keep_up(&upkeep, None, at).unwrap();
        assert_eq!(store.list().unwrap().len(), left);
    }
    // The quota is checked on every call.
    let store = store_within(base.path(), quota(16_000, false));
    for left in [20, 15] {
        let upkeep = Upkeep { most: 5, ..UPKEEP };
        store.keep_up(&upkeep, None, later).unwrap();
        assert_eq!(store.list().unwrap().len(), left);
    }
}

/// A count may or may not include an artifact that is removed during the count. The books never
/// show fewer bytes than the store contains.
#[test]
fn what_goes_while_it_is_counted_is_not_taken_out_twice() {
    let base = tempfile::tempdir().unwrap();
    let store = store_within(base.path(), Space::default());
    let now = SystemClock.now();
    for _ in 0..300 {
        put(&store, &[0; 1000]).unwrap();
    }
    for _ in 0..3 {
        let goes: Vec<Handle> = (0..200).map(|_| put(&store, &[0; 1000]).unwrap()).collect();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for handle in goes {
                    store.remove(handle, Gone::Removed, now).unwrap();
                }
                is_done.store(true, Ordering::Relaxed);
            });
            let always = Upkeep {
                every: Duration::ZERO,
                ..UPKEEP
            };
            while !is_done.load(Ordering::Relaxed) {
                store.keep_up(&always, None, now).unwrap();
            }
        });
        assert!(entered(base.path()) >= total(&store));
    }
}

#[test]
fn old_notes_go_with_their_directories() {
    let base = tempfile::tempdir().unwrap();
    let now = SystemClock.now();
    let mut handles = Vec::new();
    for age in [100, 50, 10, 1] {
        let store = store_within(base.path(), Space::default());
        let handle = put(&store, b"raw").unwrap();
        store.remove(handle, Gone::Removed, now).unwrap();
        let note = store.view_path(handle).with_extension("gone");
        let days = Duration::from_secs(age * 24 * 60 * 60);
        let note = fs::File::open(note).unwrap();
        note.set_modified(now.system_time() - days).unwrap();
        handles.push(handle);
    }
    let store = store_within(base.path(), Space::default());
    let notes = |days: u64, most| Notes {
        max_age: Some(Duration::from_secs(days * 24 * 60 * 60)),
        most,
    };
    let is_known = |handle: &Handle| {
        let error = store.open(*handle).unwrap_err().to_string();
        error.contains("It was removed")
    };
    for (notes, left) in [
        (notes(200, Some(9)), 4),
        (notes(90, None), 3),
        (notes(90, Some(2)), 2),
    ] {
        store.remove_old_notes(notes, now).unwrap();
        assert_eq!(
            handles.iter().filter(|handle| is_known(handle)).count(),
            left
        );
        // No directory stays empty.
        let entries = fs::read_dir(base.path()).unwrap();
        let directories = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir());
        let files = directories.map(|directory| fs::read_dir(directory).unwrap().count());
        let files: Vec<usize> = files.collect();
        assert!(
            !files.contains(&0) && files.iter().sum::<usize>() == left,
            "{files:?}"
        );
    }
    assert!(is_known(&handles[3]) && !is_known(&handles[0]));
}

#[test]
fn a_part_of_the_disk_is_left_free() {
    let disk = tempfile::tempdir().unwrap();
    let mut mount = std::process::Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=4M", "small"])
        .arg(disk.path());
    let mounted = mount.stderr(std::process::Stdio::null()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("no tmpfs can be mounted here: not tested");
        return;
    }
    let tested = std::panic::catch_unwind(|| fill(disk.path()));
    let mut unmount = std::process::Command::new("umount");
    assert!(
        unmount
            .arg("-l")
            .arg(disk.path())
            .status()
            .unwrap()
            .success()
    );
    tested.unwrap();
}

fn fill(disk: &Path) {
    let space = Space {
        reserve: 1 << 30,
        ..Space::default()
    };
    let base = disk.join("store");
    fs::create_dir(&base).unwrap();
    let store = store_within(&base, space);
    let free = || {
        let disk = rustix::fs::statvfs(disk).unwrap();
        disk.f_bavail * disk.f_frsize
    };
    // The reserve is a twentieth of 4 MiB, about 200 KiB. The oldest artifacts are removed to make
    // room for the new ones.
    let first = put(&store, &vec![1; 100_000]).unwrap();
    let mut last = first;
    for _ in 0..100 {
        last = put(&store, &vec![1; 100_000]).unwrap();
        assert!(free() > 100_000, "{}", free());
    }
    assert!(matches!(store.open(first), Err(StoreError::Absent { .. })));
    assert!(store.open(last).is_ok());
    // Other programs have filled the disk, and no artifact is left to remove.
    let mut filler = fs::File::create(disk.join("others")).unwrap();
    let error = (0..100).find_map(|_| {
        while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
        put(&store, &[1; 10]).err()
    });
    let error = error.unwrap();
    assert!(
        matches!(error, StoreError::Reserve { .. } | StoreError::Full { .. }),
        "{error}"
    );
    let error = store.draft().unwrap_err();
    assert_eq!(error.kind(), "store_full", "{error}");
    // Artifacts can still be removed.
    for one in store.list().unwrap() {
        store
            .remove(one.manifest.handle, Gone::Removed, SystemClock.now())
            .unwrap();
    }
}
