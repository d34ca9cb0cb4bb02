//! The directory in which a run stores results, and the removal of directories that killed runs
//! left.
//!
//! ```text
//! <parent>/ai-agent-<12 hex>/   0700   one run; ai-agent uses the same names
//!   .spillgate.lock             0600   locked for as long as the run lives
//!   session-<uuid>/…                   the files of the store
//! ```
//!
//! The directory is removed when its run ends, whether it succeeds or fails. The system releases
//! the lock when the process dies, so an unlocked directory is the leftover of a killed run. A
//! directory without our lock file belongs to another program, whatever its name.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use spillgate_artifact::FileId;

use crate::failure::{Failure, Fault};

/// Prefix of a run directory's name.
const PREFIX: &str = "ai-agent-";
/// Prefix of a directory that has no lock yet; no other program uses it.
const DRAFT: &str = "spillgate-agent-";
/// Maximum number of attempts to create the directory. Another run may mistake the new directory
/// for a leftover and remove it before it is locked.
const ATTEMPTS: u32 = 5;
/// Hexadecimal digits after the prefix.
const DIGITS: usize = 12;
const LOCK: &str = ".spillgate.lock";

/// The directory of a run. Dropping the last reference removes it.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    is_kept: AtomicBool,
    /// Held during removal, so that a second caller waits for the first.
    removing: Mutex<()>,
    /// The locked lock file. Closing it releases the lock.
    _lock: File,
}

impl RunDirectory {
    /// Makes a directory below `parent`, and `parent` itself if it does not exist.
    pub(super) fn open(parent: &Path) -> Result<Arc<Self>, Failure> {
        let wrong = |error: io::Error| {
            let what = format!(
                "the directory of the run cannot be made below {}: {error}",
                parent.display()
            );
            Failure::new("store", Fault::Us, what)
                .hint("use --store-dir DIR to name a writable directory")
        };
        let parent = std::path::absolute(parent).map_err(wrong)?;
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder.recursive(true).create(&parent).map_err(wrong)?;
        builder.recursive(false);
        let mut attempts = 1;
        let (path, lock) = loop {
            match locked(&parent, &builder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < ATTEMPTS => {
                    attempts += 1;
                }
                made => break made.map_err(wrong)?,
            }
        };
        Ok(Arc::new(Self {
            path,
            is_kept: AtomicBool::new(false),
            removing: Mutex::default(),
            _lock: lock,
        }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the directory after the run, permanently.
    pub(super) fn keep(&self) {
        self.is_kept.store(true, Ordering::SeqCst);
        // Without the lock file, later runs do not mistake the directory for a leftover.
        drop(fs::remove_file(self.path.join(LOCK)));
    }

    /// Removes the directory now, unless it is kept. A second call does nothing.
    pub(super) fn remove(&self) {
        let _one = self.removing.lock();
        if self.is_kept.load(Ordering::SeqCst) {
            return;
        }
        // Another task may still be writing into the directory. After the renaming, that task can
        // no longer reach the directory. If this process is killed meanwhile, the directory is
        // still recognized as a leftover.
        let away = self.path.with_file_name(name(PREFIX));
        match fs::rename(&self.path, &away) {
            Ok(()) => clear(&away),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => clear(&self.path),
        }
    }
}

/// Removes a run directory. The lock file is removed last, so that a directory that is not removed
/// completely is found at the next start.
fn clear(path: &Path) {
    for entry in entries(path) {
        if entry.file_name() != LOCK {
            drop(remove_all(&entry.path()));
        }
    }
    if entries(path).iter().all(|entry| entry.file_name() == LOCK) {
        drop(fs::remove_dir_all(path));
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the run directory when dropped, even in a panic and while others still hold references
/// to it.
#[derive(Debug)]
pub(super) struct Stay(Arc<RunDirectory>);

impl Stay {
    pub(super) fn in_room(room: Arc<RunDirectory>) -> Self {
        Self(room)
    }

    pub(super) fn room(&self) -> &Arc<RunDirectory> {
        &self.0
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// Removes the directories that killed runs of this user left below `parent`, and returns their
/// number. Errors are ignored, because the calling run does not depend on the removal.
pub(super) fn clear_leftovers(parent: &Path) -> usize {
    let ours = entries(parent).into_iter().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        (is_name(name, PREFIX) || is_name(name, DRAFT)) && is_ours(&entry.path())
    });
    let removed = ours.filter(|entry| {
        let path = entry.path();
        // The lock is held until everything is gone, so that no two runs clear the same directory.
        if let Some(_lock) = unlocked(&path) {
            clear(&path);
            return !path.exists();
        }
        // Either the run of this draft was killed before it locked the directory, or the run is
        // still alive and will create another directory. A directory in use is not empty, so
        // `remove_dir` leaves it.
        let name = entry.file_name();
        let is_draft = name.to_str().is_some_and(|name| is_name(name, DRAFT));
        is_draft && fs::remove_dir(&path).is_ok()
    });
    removed.count()
}

/// Returns a name with 12 random digits. Nobody can guess it and create the directory first.
fn name(prefix: &str) -> String {
    let random = FileId::random().to_string().replace('-', "");
    // The first 12 digits of a random UUID are all random.
    format!("{prefix}{}", &random[..DIGITS])
}

fn is_name(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|digits| {
        let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        digits.len() == DIGITS && digits.bytes().all(is_digit)
    })
}

/// Whether `path` is a directory, not a link to one, and owned by this user.
fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw())
}

/// Makes a directory and its lock. The directory is locked before it gets its final name, so every
/// process that sees this name can tell whether the run is alive. Fails with `NotFound` if another
/// run mistook the directory for a leftover, and removed it, before it was locked.
fn locked(parent: &Path, builder: &DirBuilder) -> io::Result<(PathBuf, File)> {
    let draft = parent.join(name(DRAFT));
    builder.create(&draft)?;
    let made = named(parent, &draft);
    made.inspect_err(|_| drop(fs::remove_dir_all(&draft)))
}

fn named(parent: &Path, draft: &Path) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let lock = options.open(draft.join(LOCK))?;
    lock.lock()?;
    let path = parent.join(name(PREFIX));
    fs::rename(draft, &path)?;
    Ok((path, lock))
}

/// Takes the lock of a directory whose run has ended; `None` if the run is alive or the lock is not
/// ours.
fn unlocked(directory: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    let no_follow = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);
    options
        .read(true)
        .custom_flags(no_follow.bits().cast_signed());
    let lock = options.open(directory.join(LOCK)).ok()?;
    let is_file = lock.metadata().is_ok_and(|found| found.is_file());
    (is_file && lock.try_lock().is_ok()).then_some(lock)
}

fn remove_all(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

fn entries(directory: &Path) -> Vec<fs::DirEntry> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_room_goes_with_its_run_and_only_with_it() {
        let parent = tempfile::tempdir().unwrap();
        let room = RunDirectory::open(&parent.path().join("new")).unwrap();
        let path = room.path().to_owned();
        assert!(
            is_name(path.file_name().unwrap().to_str().unwrap(), PREFIX),
            "{path:?}"
        );
        assert_eq!((mode(&path), mode(&path.join(LOCK))), (0o700, 0o600));
        fs::create_dir(path.join("session-x")).unwrap();
        fs::write(path.join("session-x/text"), "x").unwrap();
        assert_eq!(clear_leftovers(path.parent().unwrap()), 0, "it lives");
        room.remove();
        room.remove();
        assert!(!path.exists());
        let kept = RunDirectory::open(parent.path()).unwrap();
        let path = kept.path().to_owned();
        kept.keep();
        drop(kept);
        assert!(path.exists());
        assert_eq!(clear_leftovers(parent.path()), 0, "it is to be kept");
        let unusable = RunDirectory::open(&path.join("x\0y")).unwrap_err();
        assert!(unusable.text().contains("cannot be made below"));
    }

    #[test]
    fn what_is_late_finds_no_room() {
        let parent = tempfile::tempdir().unwrap();
        let room = RunDirectory::open(parent.path()).unwrap();
        let clock = Arc::new(spillgate_artifact::SystemClock);
        let lifetime = spillgate_store::Lifetime::Session;
        let store = spillgate_store::FileStore::new(room.path(), lifetime, clock);
        let store = store.in_existing_base();
        let draft = |store| spillgate_store::ArtifactStore::draft(store).map(drop);
        assert!(draft(&store).is_ok());
        room.remove();
        assert!(draft(&store).is_err());
        assert!(entries(parent.path()).is_empty());
    }

    #[test]
    fn a_room_that_was_never_locked_is_cleared_away() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        fs::create_dir(parent.join("spillgate-agent-0123456789ab")).unwrap();
        leftover(parent, "spillgate-agent-0123456789ac");
        let locked = leftover(parent, "spillgate-agent-0123456789ad");
        let lock = File::open(locked.join(LOCK)).unwrap();
        lock.lock().unwrap();
        assert_eq!(clear_leftovers(parent), 2);
        assert!(locked.exists());
    }

    #[test]
    fn a_panic_is_an_end_too() {
        let parent = tempfile::tempdir().unwrap();
        let room = RunDirectory::open(parent.path()).unwrap();
        // A task that is still running would hold such a reference.
        let elsewhere = Arc::clone(&room);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let stay = Stay::in_room(room);
            fs::write(stay.room().path().join("text"), "x").unwrap();
            panic!("something is not as it has to be");
        }));
        assert!(panicked.is_err());
        assert!(!elsewhere.path().exists());
    }

    /// Makes a directory as a killed run leaves it.
    fn leftover(parent: &Path, name: &str) -> PathBuf {
        let path = parent.join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join(LOCK), "").unwrap();
        fs::write(path.join("text"), "x").unwrap();
        path
    }

    #[test]
    fn only_what_a_killed_run_of_ours_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let dead = leftover(parent, "ai-agent-0123456789ab");
        let living = leftover(parent, "ai-agent-0123456789ac");
        let lock = File::open(living.join(LOCK)).unwrap();
        lock.lock().unwrap();
        let mut others = vec![living];
        for name in [
            "ai-agent-0123456789",
            "ai-agent-0123456789AB",
            "agent-0123456789ab",
        ] {
            others.push(leftover(parent, name));
        }
        // One directory without a lock file, and one in which the lock file is a link.
        let foreign = parent.join("ai-agent-0123456789ad");
        fs::create_dir(&foreign).unwrap();
        let linked = leftover(parent, "ai-agent-0123456789ae");
        fs::remove_file(linked.join(LOCK)).unwrap();
        symlink(dead.join("text"), linked.join(LOCK)).unwrap();
        others.extend([foreign, linked]);
        // A link to a directory that looks like a leftover.
        let target = leftover(parent, "elsewhere");
        symlink(&target, parent.join("ai-agent-0123456789af")).unwrap();
        others.extend([target.join("text"), parent.join("ai-agent-0123456789af")]);
        assert_eq!(clear_leftovers(parent), 1);
        assert!(!dead.exists());
        for path in others {
            assert!(path.exists(), "{path:?}");
        }
        assert_eq!(clear_leftovers(&parent.join("not-there")), 0);
    }
}
