//! Finds the bytes of a page, checks their size and reads them.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{ByteSource, Interrupt};
use spillgate_files::Identity;
use spillgate_text::{DecodedText, Encoding, LineGrid};

use super::refusal::ReadError;
use super::{ReadRequest, encoding, newline, sample};
use crate::walk::Deadline;
use crate::workspace_tools::Shared;

/// The answer for a file without characters.
const EMPTY: &str = "[The file is empty]";

/// An open file and its metadata.
pub(super) struct FilePages<'a> {
    pub(super) shared: &'a Shared,
    pub(super) file: &'a File,
    /// The identity under which the file's line offsets are cached. `None` if the file reports no
    /// size.
    pub(super) found: Option<Identity>,
    /// The bytes of the file, up to the size that it had when it was opened.
    pub(super) source: &'a dyn ByteSource,
    /// The time limit for counting its lines.
    pub(super) time: Duration,
}

/// A range of lines of a file.
struct PageSpan {
    /// The lines of the range, counted from 0; the end is excluded.
    lines: Range<u64>,
    /// The number of lines in the file.
    total: u64,
    bytes: Range<u64>,
}

impl FilePages<'_> {
    /// Returns the text that a call asks for.
    pub(super) fn answer(
        &self,
        asked: &ReadRequest,
        stop: &Interrupt,
    ) -> Result<String, ReadError> {
        let most = self.shared.rules.most_bytes();
        let (head, is_all) = sample(self.file, self.source, most)?;
        if !is_all {
            return self.text(&head, asked, stop);
        }
        let bytes = head.len() as u64;
        if bytes > most {
            return Err(ReadError::Large { bytes, line: None });
        }
        // The file reports no size, or it was truncated. In both cases, the bytes that were read
        // are the whole content.
        let alone = FilePages {
            shared: self.shared,
            file: self.file,
            found: None,
            source: &head,
            time: self.time,
        };
        alone.text(&head, asked, stop)
    }

    fn text(
        &self,
        head: &[u8],
        asked: &ReadRequest,
        stop: &Interrupt,
    ) -> Result<String, ReadError> {
        let encoding = match encoding(head, self.source.len()) {
            // The size is known for certain, the type is only a guess; so the size is reported
            // first.
            Err(ReadError::Binary { kind: None, bytes })
                if asked.is_whole() && self.shared.rules.exceeds(bytes) =>
            {
                return Err(ReadError::LargeBinary(bytes));
            }
            encoding => encoding?,
        };
        if self.source.len() <= encoding.mark() {
            return Ok(EMPTY.to_owned());
        }
        if asked.is_whole() {
            return self.whole(&encoding);
        }
        let known = self
            .found
            .and_then(|found| self.shared.workspace.lines().get(&found));
        if let Some(grid) = known {
            let page = self.page(&encoding, asked, &grid);
            // The file changed within one tick of the file system's clock, so the cached lines
            // are stale: count again.
            if !matches!(page, Err(ReadError::Changed)) {
                return page;
            }
        }
        let grid = self.counted(&encoding, stop)?;
        self.page(&encoding, asked, &grid)
    }

    fn whole(&self, encoding: &Encoding) -> Result<String, ReadError> {
        let bytes = self.source.len();
        self.check_size(encoding, bytes - encoding.mark(), None)?;
        // A file that was truncated is returned with a note.
        let mut read = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
        let filled = self.source.fill_at(&mut read, 0)?;
        read.truncate(filled);
        let decoded = encoding.decode(&read, 0);
        if decoded.text.contains('\0') {
            return Err(ReadError::Binary { kind: None, bytes });
        }
        self.rendered(String::new(), &decoded, None)
    }

    /// Counts the lines, and caches where they begin.
    fn counted(&self, encoding: &Encoding, stop: &Interrupt) -> Result<Arc<LineGrid>, ReadError> {
        let deadline = Deadline::new(stop, self.time);
        let is_over = || deadline.stop_reason().is_some();
        let counted = LineGrid::of(self.source, newline(encoding), &is_over)?;
        let grid = counted.ok_or_else(|| match stop.is_cancelled() {
            true => ReadError::Stopped,
            false => ReadError::TimeOut(self.source.len(), self.time),
        })?;
        Ok(match self.found {
            Some(found) => self.shared.workspace.lines().keep(found, grid),
            None => Arc::new(grid),
        })
    }

    fn page(
        &self,
        encoding: &Encoding,
        asked: &ReadRequest,
        grid: &LineGrid,
    ) -> Result<String, ReadError> {
        let stretch = self.stretch(asked, grid)?;
        let PageSpan { lines, total, .. } = &stretch;
        let is_all = *lines == (0..*total);
        let header = match is_all {
            true => String::new(),
            false => format!("[Lines {}-{} of {total}]\n", lines.start + 1, lines.end),
        };
        let is_alone = lines.end - lines.start == 1;
        let line = is_alone.then_some(lines.end);
        let (start, end) = (stretch.bytes.start, stretch.bytes.end);
        self.check_size(encoding, end - start.max(encoding.mark()).min(end), line)?;
        let read = self.lines_between(encoding, &stretch)?;
        let decoded = encoding.decode(&read, start);
        if decoded.text.contains('\0') {
            return Err(ReadError::BinaryLines(lines.start + 1, lines.end));
        }
        self.rendered(header, &decoded, line)
    }

    fn stretch(&self, asked: &ReadRequest, grid: &LineGrid) -> Result<PageSpan, ReadError> {
        let total = grid.lines();
        let offset = asked.offset;
        if offset >= total {
            return Err(ReadError::PastEnd {
                offset,
                lines: total,
            });
        }
        let end = offset
            .saturating_add(asked.limit.unwrap_or(total))
            .min(total);
        let start_of = |line| grid.offset_of_line(self.source, line);
        Ok(PageSpan {
            lines: offset..end,
            total,
            bytes: start_of(offset)?..start_of(end)?,
        })
    }

    /// Reads the bytes of these lines. Fails if the lines are no longer where they were when they
    /// were counted.
    fn lines_between(&self, encoding: &Encoding, stretch: &PageSpan) -> Result<Vec<u8>, ReadError> {
        let newline = newline(encoding);
        let Range { start, end } = stretch.bytes;
        let read = self
            .source
            .bytes(start.saturating_sub(newline.width()), end)?;
        let before = usize::try_from(newline.width().min(start)).unwrap_or(usize::MAX);
        let (before, read) = read.split_at_checked(before).ok_or(ReadError::Changed)?;
        let begins = start == 0 || newline.count(before) == 1;
        let last = read
            .len()
            .saturating_sub(newline.width().try_into().unwrap_or(usize::MAX));
        let ends = newline.count(&read[last..]) == 1 || end == self.source.len();
        let counted = newline.count(read) + u64::from(newline.count(&read[last..]) == 0);
        let is_whole = read.len() as u64 == end - start;
        let is_counted = counted == stretch.lines.end - stretch.lines.start;
        match begins && ends && is_whole && is_counted {
            true => Ok(read.to_vec()),
            false => Err(ReadError::Changed),
        }
    }

    /// Refuses a file or page that is certainly too large, before it is read.
    fn check_size(
        &self,
        encoding: &Encoding,
        bytes: u64,
        line: Option<u64>,
    ) -> Result<(), ReadError> {
        match self.shared.rules.exceeds(encoding.least(bytes)) {
            true => Err(ReadError::Large {
                bytes: encoding.about(bytes),
                line,
            }),
            false => Ok(()),
        }
    }

    /// Returns the text, preceded by notes for the model.
    fn rendered(
        &self,
        header: String,
        decoded: &DecodedText,
        line: Option<u64>,
    ) -> Result<String, ReadError> {
        let mut text = header;
        if let Some(from) = decoded.from {
            text += &format!("[Decoded from {from}]\n");
        }
        if decoded.invalid > 0 {
            let places = if decoded.invalid == 1 {
                "place"
            } else {
                "places"
            };
            text += &format!(
                "[Bytes that are no text in {} {places}, shown as U+FFFD]\n",
                decoded.invalid
            );
        }
        text += &self.changed()?;
        text += &decoded.text;
        match self.shared.rules.exceeds(text.len() as u64) {
            true => Err(ReadError::Large {
                bytes: text.len() as u64,
                line,
            }),
            false => Ok(text),
        }
    }

    /// The note for a file that changed since it was opened.
    fn changed(&self) -> Result<String, ReadError> {
        let now = self.file.metadata()?;
        let (had, has) = (self.source.len(), now.len());
        Ok(match self.found {
            None => String::new(),
            Some(found) if found == Identity::from(&now) => String::new(),
            Some(_) if had == has => "[The file changed while it was read]\n".to_owned(),
            Some(_) => format!(
                "[The file changed while it was read: it had {had} bytes, it has {has} now]\n"
            ),
        })
    }
}
