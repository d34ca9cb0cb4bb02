//! Groups the lines of a laid-out JSON document into rows.
//!
//! A row is the largest subtree that has at most about a thousand bytes when it is printed
//! compactly. Small neighbours share a row. The lines that open and close a larger container are
//! rows of their own. To find the end of a row, about one row is read ahead.

use std::collections::VecDeque;

use spillgate_artifact::LineRange;

use super::rows::{Line, Opened, Row, Shape, WITHIN_LINE};

/// Maximum size of a row when printed compactly, in bytes.
const MOST: u64 = 1000;
/// Maximum size, in bytes, of a row that neighbours share. If each element had a row number of its
/// own, records of 100 bytes would cost 34 % more tokens than minified JSON, and elements of
/// `[1,2,3,…]` more than twice as many. With shared rows, they cost 3 to 8 % more.
const SHARED: u64 = 400;
/// Maximum length of a key in a path, in bytes. A longer key is left out.
const LONGEST_KEY: usize = 200;

/// Groups the lines of a JSON document.
#[derive(Debug)]
pub(crate) struct JsonRows {
    prelude: u64,
    /// Lines that are not in a row yet. `begun` is the index of the first of them among all lines.
    pending: VecDeque<Item>,
    begun: u64,
    /// Indices of the pending lines that open a container that is still open.
    open: VecDeque<u64>,
    /// Nesting depth at the next line.
    depth: u16,
    /// Total size of all lines so far when they are printed compactly, in bytes.
    bytes: u64,
}

#[derive(Debug)]
struct Item {
    number: u64,
    start: u64,
    end: u64,
    /// Total size of all earlier lines when they are printed compactly, in bytes.
    before: u64,
    depth: u16,
    continues: bool,
    /// Whether the next element may be added to the same row.
    goes_on: bool,
    part: Part,
}

#[derive(Debug)]
enum Part {
    /// A value or a part of one. The flag says whether the value begins in this line.
    Leaf(bool),
    Opens {
        opened: Opened,
        /// The index of the line that closes the container; `None` while the container is open.
        closed: Option<u64>,
    },
    Closes,
}

/// The value at the front of the pending lines.
struct Unit {
    /// The number of lines of the value.
    lines: usize,
    children: u64,
}

impl JsonRows {
    pub(crate) fn new(prelude: u64) -> Self {
        Self {
            prelude,
            pending: VecDeque::new(),
            begun: 0,
            open: VecDeque::new(),
            depth: 0,
            bytes: 0,
        }
    }

    pub(crate) fn feed(&mut self, line: Line<'_>, ready: &mut VecDeque<Row>) {
        let is_note = line.start < self.prelude;
        let compact = compact(line.text, line.continues);
        let ended = line.text.ends_with(b"\n");
        let part = match (compact.first(), compact.last()) {
            _ if is_note => Part::Leaf(false),
            // A line such as `}, {`, which only JSON in a layout other than ours contains. It does
            // not change the depth.
            (Some(b'}' | b']'), Some(b'{' | b'[')) => Part::Leaf(false),
            (_, Some(b'{' | b'[')) if ended => self.opening(line, compact),
            (Some(b'}' | b']'), _) if !line.continues => self.closing(),
            _ => Part::Leaf(!line.continues),
        };
        // The line that closes a container counts as inside the container, so that a cut before it
        // is avoided. The line that opens a container counts as outside.
        let depth = match &part {
            Part::Opens { .. } => self.depth.saturating_sub(1),
            Part::Closes => self.depth.saturating_add(1),
            Part::Leaf(_) => self.depth,
        };
        self.pending.push_back(Item {
            number: line.number,
            start: line.start,
            end: line.start + line.text.len() as u64,
            before: self.bytes,
            depth: if line.continues { WITHIN_LINE } else { depth },
            continues: line.continues,
            goes_on: compact.ends_with(b",") && ended && !is_note,
            part,
        });
        self.bytes += compact.len() as u64;
        while self
            .pending
            .front()
            .is_some_and(|one| self.bytes - one.before > MOST)
        {
            self.give(ready);
        }
    }

    /// Emits the remaining rows after the last line.
    pub(crate) fn finish(&mut self, ready: &mut VecDeque<Row>) {
        while !self.pending.is_empty() {
            self.give(ready);
        }
    }

    fn opening(&mut self, line: Line<'_>, compact: &[u8]) -> Part {
        self.depth = self.depth.saturating_add(1);
        self.open.push_back(self.begun + self.pending.len() as u64);
        let key = &compact[..compact.len() - 1];
        let key = key.trim_ascii_end().strip_suffix(b":").unwrap_or(key);
        let is_told = !line.continues && key.len() <= LONGEST_KEY;
        let opened = Opened {
            is_element: key.is_empty() && !line.continues,
            key: is_told.then(|| String::from_utf8_lossy(key).into_owned()),
            is_array: compact.ends_with(b"["),
        };
        Part::Opens {
            opened,
            closed: None,
        }
    }

    fn closing(&mut self) -> Part {
        self.depth = self.depth.saturating_sub(1);
        let here = self.begun + self.pending.len() as u64;
        if let Some(opener) = self.open.pop_back() {
            let at = usize::try_from(opener - self.begun).unwrap_or(usize::MAX);
            if let Some(Item {
                part: Part::Opens { closed, .. },
                ..
            }) = self.pending.get_mut(at)
            {
                *closed = Some(here);
            }
        }
        Part::Closes
    }

    /// Emits the first row. At this point, either more than [`MOST`] bytes are pending or no more
    /// lines follow. Therefore a container that is still open is larger than a row.
    fn give(&mut self, ready: &mut VecDeque<Row>) {
        let Some(first) = self.pending.front() else {
            return;
        };
        let start = first.before;
        let (mut lines, mut children) = (0, 0);
        while let Some(unit) = self.unit(lines) {
            let next = self.pending.get(lines + unit.lines);
            let end = next.map_or(self.bytes, |next| next.before);
            let most = if lines == 0 { MOST } else { SHARED };
            if end - start > most {
                break;
            }
            lines += unit.lines;
            children += unit.children;
            if !self.pending[lines - 1].goes_on {
                break;
            }
        }
        let shape = match &mut self.pending[0].part {
            _ if lines > 0 => Shape::Whole { children },
            Part::Leaf(begins) => Shape::Whole {
                children: u64::from(*begins),
            },
            Part::Closes => Shape::Closes,
            Part::Opens { opened, .. } => {
                // If the container is already closed, the newest line closed it and made it too
                // large. No container is open then, so this removes nothing.
                self.open.pop_front();
                Shape::Opens(Box::new(opened.clone()))
            }
        };
        let row = self.take(lines.max(1), shape);
        ready.push_back(row);
    }

    /// Returns the value that begins at a pending line; `None` if its end has not been read.
    fn unit(&self, at: usize) -> Option<Unit> {
        match &self.pending.get(at)?.part {
            Part::Leaf(begins) => Some(Unit {
                lines: 1,
                children: u64::from(*begins),
            }),
            Part::Closes => None,
            Part::Opens { closed, .. } => {
                let last = usize::try_from((*closed)? - self.begun).ok()?;
                Some(Unit {
                    lines: last + 1 - at,
                    children: 1,
                })
            }
        }
    }

    fn take(&mut self, lines: usize, shape: Shape) -> Row {
        let (first, last) = (&self.pending[0], &self.pending[lines - 1]);
        let row = Row {
            lines: LineRange {
                first: first.number,
                last: last.number,
            },
            start: first.start,
            end: last.end,
            rank: first.depth,
            continues: first.continues,
            shape,
        };
        self.pending.drain(..lines);
        self.begun += lines as u64;
        row
    }
}

/// Returns a line of laid-out JSON as it is printed in a row: without surrounding white space. A
/// line that continues a string keeps its leading white space.
pub(crate) fn compact(line: &[u8], continues: bool) -> &[u8] {
    let line = match line.last() {
        Some(b'\n') => line.trim_ascii_end(),
        _ => line,
    };
    match continues {
        true => line,
        false => line.trim_ascii_start(),
    }
}
