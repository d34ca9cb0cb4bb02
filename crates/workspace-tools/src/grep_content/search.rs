//! Searches the content of each file.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use spillgate_lookup::CostlyBoundary;

use super::query::{ContentQuery, FileSearcher, HEAP_LIMIT, Mode};
use super::rows::{RowSelection, RowSink};
use crate::recovery::TopCounts;
use crate::rules::Rules;
use crate::walk::{
    Base, Deadline, DeadlineFile, Entry, Folder, NameList, NamePattern, Visitor, regular, shown,
};

/// What all threads of a search share.
#[derive(Debug)]
pub(super) struct GrepSearch<'a> {
    pub(super) query: &'a ContentQuery,
    /// The most bytes of an answer.
    pub(super) room: u64,
    /// Whether the files with the most matches are to be known.
    is_detailed: bool,
    /// Bytes of what is to be told so far.
    pub(super) bytes: AtomicU64,
}

impl<'a> GrepSearch<'a> {
    pub(super) fn new(query: &'a ContentQuery, rules: &Rules) -> Self {
        Self {
            query,
            room: rules.most_bytes(),
            // Of files alone it is not known how many matches they have.
            is_detailed: rules.detailed_recovery && query.mode != Mode::Files,
            bytes: AtomicU64::new(0),
        }
    }

    /// Whether files are searched for numbers only, not for rows.
    pub(super) fn only_counts(&self) -> bool {
        self.query.is_paged() || self.query.mode != Mode::Lines
    }
}

/// A file with matches.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileMatches {
    /// Its name from the root.
    pub(super) path: Vec<u8>,
    /// Lines that match; 1 where only files are asked for.
    pub(super) matches: u64,
    /// The rows, where they are told.
    pub(super) rows: String,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct SearchResults {
    /// Files with matches. Not all of them where they are too much to be told.
    pub(super) hits: Vec<FileMatches>,
    /// Files with matches, all of them.
    pub(super) files: u64,
    pub(super) matches: u64,
    /// The files with the most matches, where they are to be known.
    pub(super) most: TopCounts,
    /// Files that were searched.
    pub(super) searched: u64,
    /// Files that the glob leaves out.
    pub(super) other: u64,
    /// Links; they are not followed.
    pub(super) links: u64,
    /// Binary files without a match in what was searched of them.
    pub(super) binary: u64,
    /// Binary files with one.
    pub(super) cut_short: NameList,
    /// Whether it was a file that was named, and not a directory.
    pub(super) is_named: bool,
    /// Files that could not be read.
    pub(super) unreadable: NameList,
    /// Files that were shortened while they were searched.
    pub(super) shortened: NameList,
    /// Files that need more memory than there is for a search.
    pub(super) too_large: NameList,
    /// Files in which the pattern takes too long.
    pub(super) costly: NameList,
}

/// A thread that searches.
#[derive(Debug)]
pub(super) struct GrepWorker<'a> {
    search: &'a GrepSearch<'a>,
    glob: Option<&'a NamePattern>,
    /// Bytes of the name of the directory where the walk began.
    base_at: usize,
    searcher: FileSearcher<'a>,
    path: Vec<u8>,
    pub(super) found: SearchResults,
}

impl<'a> GrepWorker<'a> {
    pub(super) fn new(
        search: &'a GrepSearch<'a>,
        base: &Base,
        glob: Option<&'a NamePattern>,
        deadline: &'a Deadline<'a>,
    ) -> Self {
        Self {
            search,
            glob,
            base_at: base.path.len(),
            searcher: search.query.searcher(false, search.only_counts(), deadline),
            path: Vec::new(),
            found: SearchResults::default(),
        }
    }
}

impl Visitor for GrepWorker<'_> {
    fn visit(&mut self, folder: &Folder, found: &[Entry], deadline: &Deadline<'_>) {
        self.path.clone_from(&folder.path);
        let name_at = self.path.len();
        for entry in found {
            self.path.truncate(name_at);
            self.path.extend_from_slice(entry.name.to_bytes());
            let mut globs = self.glob.iter();
            if !globs.all(|glob| glob.matches(&self.path, self.base_at, name_at)) {
                self.found.other += 1;
            } else if entry.is_link {
                self.found.links += 1;
            } else if deadline.stop_reason().is_none() {
                self.file(folder, entry, deadline);
            }
        }
    }
}

impl GrepWorker<'_> {
    /// Searches a file of `folder`.
    fn file(&mut self, folder: &Folder, entry: &Entry, deadline: &Deadline<'_>) {
        let (search, searcher, path) = (self.search, &mut self.searcher, &self.path);
        match regular(folder.fd.as_fd(), &entry.name) {
            Ok(Some(file)) => {
                let file = DeadlineFile::new(file, deadline);
                self.found.search(search, searcher, file, path);
            }
            // It was something else a moment ago, or is gone.
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.found.unreadable.push(shown(path)),
        }
    }
}

impl SearchResults {
    /// Searches a file.
    pub(super) fn search(
        &mut self,
        search: &GrepSearch<'_>,
        searcher: &mut FileSearcher<'_>,
        mut file: DeadlineFile<'_>,
        path: &[u8],
    ) {
        let query = search.query;
        let name = shown(path);
        let told = search.bytes.load(Ordering::Relaxed);
        let wanted = match search.only_counts() {
            true => RowSelection::Count,
            false => RowSelection::Rows(search.room.saturating_sub(told)),
        };
        let FileSearcher { searcher, seeker } = searcher;
        let mut rows = RowSink::new(query, seeker, &name, wanted);
        let ended = searcher.search_reader(&*seeker, &mut file, &mut rows);
        let is_shortened = file.is_shortened();
        if file.deadline.stop_reason().is_some() {
            return;
        }
        self.searched += 1;
        self.add(search, path, rows);
        match ended {
            _ if is_shortened => self.shortened.push(name),
            Ok(()) => {}
            Err(error) if is_too_large(&error) => self.too_large.push(name),
            Err(error) if is_costly(&error) => self.costly.push(name),
            Err(_) => self.unreadable.push(name),
        }
    }

    /// Adds a file's matches.
    fn add(&mut self, search: &GrepSearch<'_>, path: &[u8], mut rows: RowSink<'_>) {
        if rows.matches == 0 {
            self.binary += u64::from(rows.is_binary);
            return;
        }
        if rows.is_binary {
            self.cut_short.push(shown(path));
        }
        self.files += 1;
        self.matches += rows.matches;
        if search.is_detailed {
            self.most.push(path, rows.matches);
        }
        let query = search.query;
        match query.mode {
            Mode::Lines => {}
            Mode::Files => rows.text = format!("{}\n", shown(path)),
            Mode::Count => rows.text = format!("{}:{}\n", shown(path), rows.matches),
        }
        if query.mode != Mode::Lines {
            rows.bytes = rows.text.len() as u64;
        }
        let before = search.bytes.fetch_add(rows.bytes, Ordering::Relaxed);
        // A page may begin anywhere; of the rest nothing is told but its size.
        if query.is_paged() || before.saturating_add(rows.bytes) <= search.room {
            self.hits.push(FileMatches {
                path: path.to_vec(),
                matches: rows.matches,
                rows: rows.text,
            });
        }
    }

    /// Adds what another thread found.
    pub(super) fn join(&mut self, other: Self) {
        self.hits.extend(other.hits);
        self.files += other.files;
        self.matches += other.matches;
        self.most.join(other.most);
        self.searched += other.searched;
        self.other += other.other;
        self.links += other.links;
        self.binary += other.binary;
        self.cut_short.add(other.cut_short);
        self.unreadable.add(other.unreadable);
        self.shortened.add(other.shortened);
        self.too_large.add(other.too_large);
        self.costly.add(other.costly);
    }
}

/// Whether a searcher's error is that of [`HEAP_LIMIT`].
fn is_too_large(error: &io::Error) -> bool {
    // It has no kind of its own.
    error.to_string().contains(&HEAP_LIMIT.to_string())
}

/// Whether a searcher's error is [`CostlyBoundary`], of which it keeps the words alone.
fn is_costly(error: &io::Error) -> bool {
    error.to_string() == CostlyBoundary.to_string()
}
