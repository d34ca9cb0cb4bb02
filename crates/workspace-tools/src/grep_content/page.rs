//! Which results are on a page, and what of a single file?

use std::fs::File;
use std::io::Seek;
use std::ops::Range;

use super::query::{FileSearcher, Mode, Query};
use super::report::Told;
use super::rows::{Rows, Wanted};
use super::search::{Found, Hit, Search};
use crate::tool_result::{Refused, Reply};
use crate::walk::{Over, Skipped, Watch, Watched, shown};
use crate::workspace_tools::Shared;

/// Tells what was found in what can be searched again.
pub(super) struct Pager<'a> {
    pub(super) told: Told<'a>,
    pub(super) watch: &'a Watch<'a>,
    /// Opens a file with matches again.
    pub(super) reopen: &'a dyn Fn(&[u8]) -> Option<File>,
}

/// Searches a file that was named.
pub(super) fn file(
    shared: &Shared,
    query: &Query,
    file: &File,
    path: &[u8],
    watch: &Watch<'_>,
) -> Reply {
    let reopen = |_: &[u8]| {
        let mut again = file.try_clone().ok()?;
        again.rewind().ok()?;
        Some(again)
    };
    let search = Search::new(query, &shared.rules);
    let mut found = Found {
        is_named: true,
        ..Found::default()
    };
    let mut searcher = query.searcher(true, search.only_counts(), watch);
    if let Some(file) = reopen(path) {
        let file = Watched::new(file, watch);
        found.search(&search, &mut searcher, file, path);
    }
    let pager = Pager {
        told: Told {
            query,
            found: &found,
            skipped: &Skipped::default(),
            shared,
            path: &|| shown(path),
        },
        watch,
        reopen: &reopen,
    };
    pager.reply(search.bytes.into_inner())
}

impl Pager<'_> {
    /// The answer, where the rows of everything have so many bytes.
    pub(super) fn reply(&self, bytes: u64) -> Reply {
        let told = &self.told;
        match self.watch.over() {
            Some(Over::Stopped) => Err(Refused::new("Search was stopped, nobody waited for it.")),
            Some(Over::TimeOut) => Err(told.timed_out(self.watch)),
            None if told.query.is_paged() && told.found.matches > 0 => self.page(),
            None => told.whole(bytes),
        }
    }

    /// A page.
    fn page(&self) -> Reply {
        let (query, found) = (self.told.query, self.told.found);
        let total = match query.mode {
            Mode::Lines => found.matches,
            Mode::Files | Mode::Count => found.files,
        };
        let first = query.offset;
        if first >= total {
            return Err(Refused::new(format!(
                "offset {first} is past the last result: there are {total}. \
                 Please use a smaller offset."
            )));
        }
        let end = query.max.map_or(total, |max| first.saturating_add(max));
        let part = first..end.min(total);
        let rows = match query.mode {
            Mode::Lines => self.lines(&part)?,
            Mode::Files | Mode::Count => self.files(&part)?,
        };
        self.told.page(&part, total, &rows)
    }

    /// The rows of the files with these numbers.
    fn files(&self, part: &Range<u64>) -> Result<String, Refused> {
        let before = usize::try_from(part.start).unwrap_or(usize::MAX);
        let count = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        let hits = self.told.found.hits.iter().skip(before).take(count);
        let bytes = hits.clone().map(|hit| hit.rows.len() as u64).sum();
        match self.told.shared.rules.exceeds(bytes) {
            true => Err(self.told.too_much(bytes)),
            false => Ok(hits.map(|hit| hit.rows.as_str()).collect()),
        }
    }

    /// The rows of the matches with these numbers: their files are searched again.
    fn lines(&self, part: &Range<u64>) -> Result<String, Refused> {
        let query = self.told.query;
        let mut searcher = query.searcher(self.told.found.is_named, false, self.watch);
        let (mut text, mut bytes, mut before) = (String::new(), 0, 0);
        for hit in &self.told.found.hits {
            let begin = part.start.saturating_sub(before);
            let of_file = begin..part.end.saturating_sub(before).min(hit.matches);
            before += hit.matches;
            if of_file.is_empty() {
                continue;
            }
            if query.has_context() && bytes > 0 {
                text += "--\n";
                bytes += 3;
            }
            let (rows, of_rows) = self.again(&mut searcher, hit, of_file, bytes)?;
            text += &rows;
            bytes += of_rows;
            if bytes > self.told.shared.rules.most_bytes() {
                text = String::new();
            }
        }
        match bytes > self.told.shared.rules.most_bytes() {
            true => Err(self.told.too_much(bytes)),
            false => Ok(text),
        }
    }

    /// The rows of these matches of a file, and how many bytes they have, where so many
    /// are told already.
    fn again(
        &self,
        searcher: &mut FileSearcher<'_>,
        hit: &Hit,
        part: Range<u64>,
        told: u64,
    ) -> Result<(String, u64), Refused> {
        let query = self.told.query;
        let name = shown(&hit.path);
        let changed = || {
            Refused::new(format!(
                "File '{name}' changed while it was searched. Please call again."
            ))
        };
        let file = (self.reopen)(&hit.path).ok_or_else(changed)?;
        let room = self.told.shared.rules.most_bytes().saturating_sub(told);
        let FileSearcher { searcher, seeker } = searcher;
        let mut rows = Rows::new(query, seeker, &name, Wanted::Part(part.clone(), room));
        let watch = self.watch;
        // What goes wrong with a file did so before, too, behind these matches.
        let _ = searcher.search_reader(&*seeker, Watched::new(file, watch), &mut rows);
        if watch.over().is_some() {
            return Err(self.told.timed_out(watch));
        }
        match rows.matches < part.end {
            true => Err(changed()),
            false => Ok((rows.text, rows.bytes)),
        }
    }
}
