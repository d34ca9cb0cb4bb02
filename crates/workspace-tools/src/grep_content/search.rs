//! Searches the files of a walk.

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

/// State shared by all threads of a search.
#[derive(Debug)]
pub(super) struct GrepSearch<'a> {
    pub(super) query: &'a ContentQuery,
    /// Maximum size of an answer in bytes.
    pub(super) room: u64,
    /// Whether the files with the most matches are collected.
    is_detailed: bool,
    /// Bytes of all rows so far.
    pub(super) bytes: AtomicU64,
}

impl<'a> GrepSearch<'a> {
    pub(super) fn new(query: &'a ContentQuery, rules: &Rules) -> Self {
        Self {
            query,
            room: rules.most_bytes(),
            // In `files` mode the search stops at a file's first match, so counts are unknown.
            is_detailed: rules.detailed_recovery && query.mode != Mode::Files,
            bytes: AtomicU64::new(0),
        }
    }

    /// Whether files are searched for counts only, not for rows.
    pub(super) fn only_counts(&self) -> bool {
        self.query.is_paged() || self.query.mode != Mode::Lines
    }
}

/// A file with matches.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileMatches {
    /// The path from the root.
    pub(super) path: Vec<u8>,
    /// Matching lines; 1 in `files` mode.
    pub(super) matches: u64,
    /// The file's rows, if they are shown.
    pub(super) rows: String,
}

/// The results of a search.
#[derive(Debug, Default)]
pub(super) struct SearchResults {
    /// Files with matches. Incomplete if the rows exceed the limit of an answer.
    pub(super) hits: Vec<FileMatches>,
    /// The number of all files with matches.
    pub(super) files: u64,
    pub(super) matches: u64,
    /// The files with the most matches, if they are collected.
    pub(super) most: TopCounts,
    /// Files searched.
    pub(super) searched: u64,
    /// Files that the glob excludes.
    pub(super) other: u64,
    /// Links, which are not followed.
    pub(super) links: u64,
    /// Binary files without a match in the part that was searched.
    pub(super) binary: u64,
    /// Binary files with a match: the search of such a file stops there.
    pub(super) cut_short: NameList,
    /// Whether the call named a file and not a directory.
    pub(super) is_named: bool,
    /// Files that could not be read.
    pub(super) unreadable: NameList,
    /// Files that were truncated while they were searched.
    pub(super) shortened: NameList,
    /// Files that need more memory than a search may use.
    pub(super) too_large: NameList,
    /// Files in which the pattern takes too long.
    pub(super) costly: NameList,
}

/// Searches the files that one thread of the walk visits.
#[derive(Debug)]
pub(super) struct GrepWorker<'a> {
    search: &'a GrepSearch<'a>,
    glob: Option<&'a NamePattern>,
    /// The length in bytes of the path at which the walk began.
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
            // The entry was replaced or removed meanwhile.
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
        // A page may begin at any match, so all files with matches are kept for it. Without paging,
        // only files whose rows fit the answer are kept.
        if query.is_paged() || before.saturating_add(rows.bytes) <= search.room {
            self.hits.push(FileMatches {
                path: path.to_vec(),
                matches: rows.matches,
                rows: rows.text,
            });
        }
    }

    /// Adds the results of another thread.
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

/// Whether a searcher's error says that [`HEAP_LIMIT`] is exceeded.
fn is_too_large(error: &io::Error) -> bool {
    // No `ErrorKind` stands for this error, so its text is examined.
    error.to_string().contains(&HEAP_LIMIT.to_string())
}

/// Whether a searcher's error is [`CostlyBoundary`]. The searcher keeps only the text of that
/// error.
fn is_costly(error: &io::Error) -> bool {
    error.to_string() == CostlyBoundary.to_string()
}
