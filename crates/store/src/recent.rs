//! A list of the newest artifacts, so that listing them does not read every manifest of a large store.
//!
//! The list is one small file in the base directory. Its first line holds an id and the *floor*: the time, in
//! seconds since 1970, after which every artifact that was made is on the list; 0 means that all artifacts are on it.
//! Each further line holds the time at which an artifact was made, and its handle. The list may hold artifacts that
//! are gone, but never lacks one:
//!
//! - A writer adds its line and gives the manifest its name under the lock of the [`Books`].
//! - The books hold the id of the valid list. A version of this program that does not know the list removes the id
//!   when it stores an artifact, because it writes only the members that it knows.
//! - The id contains the boot of the system. The list is not synced, so it does not count after a restart.
//!
//! The next command that reads all manifests replaces a list that is missing, not valid or too short. The file
//! can be removed at any time.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use spillgate_artifact::{FileId, Handle, Timestamp};

use crate::StoreError;
use crate::books::{Books, Entry};
use crate::open::{open_regular, read_small, write_whole};

/// Name of the file in the base.
const NAME: &str = ".recent";

/// First word of the file, with the version of its format.
const FORMAT: &str = "recent-1";

/// Size in bytes at which the list is shortened.
const MOST_BYTES: u64 = 128 << 10;

/// How many artifacts are on a new or shortened list.
pub(crate) const KEPT: usize = 1024;

/// The file with the newest artifacts of a store.
#[derive(Debug)]
pub(crate) struct Recent {
    base: PathBuf,
    path: PathBuf,
    books: Books,
}

/// When an artifact was made, in seconds since 1970, and its handle.
pub(crate) type Made = (u64, Handle);

/// The content of the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List {
    id: String,
    /// `None` while the manifests of the store are being read to make the list.
    floor: Option<u64>,
    /// In the order in which they were added.
    made: Vec<Made>,
}

impl Recent {
    pub(crate) fn of(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            path: base.join(NAME),
            books: Books::of(base),
        }
    }

    /// Runs `place`, which gives the manifest of an artifact its name, and adds the artifact to the list. No other
    /// process can see the one without the other.
    pub(crate) fn place(
        &self,
        (created, handle): (Timestamp, Handle),
        place: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !self.books.exist() {
            return place();
        }
        let (mut place, mut placed) = (Some(place), None);
        let changed = self.books.change(|entry| {
            self.add(entry, (seconds(created), handle));
            placed = place.take().map(|place| place());
        });
        if let Err(error) = changed {
            tracing::debug!(%error, "the list of the newest outputs is removed, because an output could not be added");
            drop(fs::remove_file(&self.path));
        }
        match (placed, place) {
            (Some(placed), _) => placed,
            (None, Some(place)) => place(),
            (None, None) => Ok(()),
        }
    }

    /// Adds an artifact to the list if the list is valid. The caller holds the lock.
    fn add(&self, entry: &mut Entry, made: Made) {
        let Some(id) = &entry.recent else {
            return;
        };
        if !is_of_this_boot(id) || self.append(id, made).is_err() {
            entry.recent = None;
        }
    }

    fn append(&self, id: &str, (created, handle): Made) -> io::Result<()> {
        let mut file = open_regular(&self.path, OpenOptions::new().append(true))?;
        if file.metadata()?.len() > MOST_BYTES {
            self.shorten(id)?;
            file = open_regular(&self.path, OpenOptions::new().append(true))?;
        }
        // One write, so that a process that is killed leaves no part of a line.
        file.write_all(format!("{created} {handle}\n").as_bytes())
    }

    fn shorten(&self, id: &str) -> io::Result<()> {
        let mut list = self.parse(id).ok_or(io::ErrorKind::InvalidData)?;
        // While the list is being made, no line may be lost.
        if list.floor.is_none() {
            return Ok(());
        }
        list.keep(KEPT);
        self.write(&list)
    }

    fn write(&self, list: &List) -> io::Result<()> {
        let written = write_whole(&self.path, list.text().as_bytes(), None);
        written.map_err(io::Error::other)
    }

    fn parse(&self, id: &str) -> Option<List> {
        let text = String::from_utf8(read_small(&self.path).ok()?).ok()?;
        List::parse(&text).filter(|list| list.id == id)
    }

    /// Returns the artifacts that were made after the floor, newest first, and whether these are all artifacts;
    /// `None` if there is no valid list.
    pub(crate) fn read(&self) -> Option<(Vec<Made>, bool)> {
        let read = self.books.read_with(|entry| {
            let id = entry.recent.as_ref().filter(|id| is_of_this_boot(id))?;
            self.parse(id)
        });
        let list = read.ok().flatten()?;
        let floor = list.floor?;
        let is_all = floor == 0;
        let mut made: Vec<Made> = list.made;
        made.retain(|one| is_all || one.0 > floor);
        made.sort_unstable_by(|one, other| other.cmp(one));
        made.dedup();
        Some((made, is_all))
    }

    /// Begins a new list. Artifacts that are stored from now on are added to it. Returns its id; `None` if the store
    /// keeps no list.
    pub(crate) fn begin(&self) -> Option<String> {
        if !self.base.is_dir() || !self.books.exist() {
            return None;
        }
        let id = format!("{}-{}", boot()?, FileId::random());
        let list = List {
            id: id.clone(),
            floor: None,
            made: Vec::new(),
        };
        let mut is_written = false;
        let changed = self.books.change(|entry| {
            is_written = self.write(&list).is_ok();
            entry.recent = is_written.then(|| id.clone());
        });
        (changed.is_ok() && is_written).then_some(id)
    }

    /// Completes the list with `all` artifacts of the store, unless another process has begun one meanwhile.
    pub(crate) fn finish(&self, id: &str, all: Vec<Made>) {
        let changed = self.books.change(|entry| {
            if entry.recent.as_deref() != Some(id) {
                return;
            }
            let completed = self.parse(id).map(|mut list| {
                let known: HashSet<Handle> = list.made.iter().map(|one| one.1).collect();
                let others = all.into_iter().filter(|one| !known.contains(&one.1));
                list.made.extend(others);
                list.floor = Some(0);
                list.keep(KEPT);
                list
            });
            let is_written = completed.is_some_and(|list| self.write(&list).is_ok());
            if !is_written {
                entry.recent = None;
            }
        });
        drop(changed);
    }
}

impl List {
    /// Keeps the newest artifacts, at most `most`.
    fn keep(&mut self, most: usize) {
        self.made.sort_unstable_by(|one, other| other.cmp(one));
        let left_out = self.made.get(most).map(|one| one.0.max(1));
        self.floor = self.floor.map(|floor| left_out.unwrap_or(0).max(floor));
        self.made.truncate(most);
        self.made.reverse();
    }

    fn text(&self) -> String {
        let floor = self.floor.map_or("-".to_owned(), |floor| floor.to_string());
        let mut text = format!("{FORMAT} {} {floor}\n", self.id);
        for (created, handle) in &self.made {
            text.push_str(&format!("{created} {handle}\n"));
        }
        text
    }

    /// Parses the whole file; `None` if any line of it is wrong or incomplete.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let mut words = lines.next()?.split(' ');
        let (format, id, floor) = (words.next()?, words.next()?, words.next()?);
        if format != FORMAT || words.next().is_some() {
            return None;
        }
        let floor = match floor {
            "-" => None,
            floor => Some(floor.parse().ok()?),
        };
        let made = lines.map(|line| {
            let (created, handle) = line.split_once(' ')?;
            Some((created.parse().ok()?, handle.parse().ok()?))
        });
        Some(Self {
            id: id.to_owned(),
            floor,
            made: made.collect::<Option<_>>()?,
        })
    }
}

/// Returns a time as the list holds it.
pub(crate) fn seconds(time: Timestamp) -> u64 {
    let since = time.system_time().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Returns the beginning of the id that the system has until it is restarted; `None` if it has none.
fn boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.get(..8)?.to_owned())
    };
    BOOT.get_or_init(read).as_deref()
}

fn is_of_this_boot(id: &str) -> bool {
    boot().is_some_and(|boot| id.starts_with(boot))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_artifact::{SessionId, Word};

    use super::*;

    fn handle(is_long: bool) -> Handle {
        match is_long {
            true => Handle::Long {
                session: SessionId::random(),
                file: FileId::random(),
            },
            false => Handle::Short(Word::random()),
        }
    }

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_written(
            times in prop::collection::vec((0u64..1 << 40, any::<bool>()), 0..20),
            floor in prop::option::of(0u64..1 << 40),
            cut in 0usize..2000,
        ) {
            let made = times.into_iter().map(|(time, is_long)| (time, handle(is_long))).collect();
            let list = List { id: "boot-id".to_owned(), floor, made };
            let text = list.text();
            prop_assert_eq!(List::parse(&text), Some(list));
            // A part of a line makes the list invalid, also before a whole line.
            if let Some(part) = text.get(..cut).filter(|part| !part.ends_with('\n')) {
                prop_assert_eq!(List::parse(part), None);
                let list = List::parse(&format!("{part}17956 kqvbnrtzaewmxo\n"));
                let last = list.and_then(|list| list.made.last().copied());
                prop_assert!(last.is_none_or(|last| last.0 != 17956));
            }
        }

        #[test]
        fn what_a_shortened_list_lacks_is_not_after_its_floor(
            times in prop::collection::vec(0u64..50, 0..40),
            most in 0usize..40,
        ) {
            let made: Vec<Made> = times.iter().map(|&time| (time, handle(false))).collect();
            let mut list = List { id: "id".to_owned(), floor: Some(0), made: made.clone() };
            list.keep(most);
            let floor = list.floor.unwrap();
            let lacks = made.iter().filter(|one| !list.made.contains(one));
            prop_assert!(lacks.clone().all(|one| one.0 <= floor && floor > 0));
            prop_assert_eq!(lacks.count(), made.len().saturating_sub(most));
        }
    }
}
