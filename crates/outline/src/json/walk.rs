//! Finds the shape of a laid-out JSON document line by line.
//!
//! In every JSON view, and in the output of most tools, each member and element has a line of its
//! own. A line is then a key, a bracket or a scalar, and its indentation shows its depth. Therefore
//! a part of a document can be walked without the text before it: the depth shows how many
//! containers are open there, and joining the parts shows which ones they are. This is not a
//! parser: the text was checked to be JSON when the view was made. A line that does not fit the
//! layout ends the walk.

use memchr::memchr2;

use super::shape::{Shape, ShapeId, Tree};

/// Maximum number of levels whose places are distinguished.
pub(super) const DEPTH: usize = 12;

/// The indentation of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Indent {
    pub(super) byte: u8,
    pub(super) count: usize,
}

/// The error for a line that is not laid out as expected.
#[derive(Debug, PartialEq)]
pub(super) struct UnexpectedLayout;

/// Walks one or several parts of a document.
#[derive(Debug)]
pub(super) struct Walker {
    pub(super) tree: Tree,
    indent: Indent,
    /// Open containers, outermost first.
    open: Vec<Frame>,
    /// Containers that were open where the part begins.
    outer: Vec<OuterContainer>,
    begun: bool,
    /// Number of documents that began in the part.
    pub(super) documents: u64,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    /// The place of the container; `None` if it is nested too deeply or there are too many places.
    place: Option<ShapeId>,
    is_array: bool,
    entries: u64,
    /// The index of the key that is expected next.
    next: usize,
    /// Whether the container was already open where the part begins.
    is_before: bool,
}

#[derive(Debug, Clone, Copy)]
struct OuterContainer {
    place: Option<ShapeId>,
    entries: u64,
    is_closed: bool,
}

impl Walker {
    pub(super) fn new(indent: Indent) -> Self {
        Self {
            tree: Tree::default(),
            indent,
            open: Vec::new(),
            outer: Vec::new(),
            begun: false,
            documents: 0,
        }
    }

    /// Walks the next line, which begins at byte `offset`.
    pub(super) fn line(&mut self, line: &[u8], offset: u64) -> Result<(), UnexpectedLayout> {
        let blanks = line.iter().take_while(|&&byte| byte == self.indent.byte);
        let blanks = blanks.count();
        let rest = line[blanks..].trim_ascii_end();
        let Some(&first) = rest.first() else {
            return Ok(());
        };
        let closes = first == b'}' || first == b']';
        let depth = blanks / self.indent.count + usize::from(closes);
        if !self.begun {
            self.begin(depth)?;
        }
        if depth != self.open.len() || !blanks.is_multiple_of(self.indent.count) {
            return Err(UnexpectedLayout);
        }
        let rest = rest.strip_suffix(b",").unwrap_or(rest);
        match closes {
            true => self.close(rest),
            false => self.entry(rest, offset),
        }
    }

    /// Begins a part inside `depth` containers.
    fn begin(&mut self, depth: usize) -> Result<(), UnexpectedLayout> {
        /// Maximum number of levels. A deeper line would consist mostly of indentation.
        const DEEPEST: usize = 1 << 20;
        if depth > DEEPEST {
            return Err(UnexpectedLayout);
        }
        self.begun = true;
        for level in 0..depth {
            let place = if level < DEPTH { self.tree.add() } else { None };
            self.open.push(Frame {
                place,
                is_array: false,
                entries: 0,
                next: 0,
                is_before: true,
            });
            self.outer.push(OuterContainer {
                place,
                entries: 0,
                is_closed: false,
            });
        }
        Ok(())
    }

    fn close(&mut self, rest: &[u8]) -> Result<(), UnexpectedLayout> {
        if rest.len() != 1 {
            return Err(UnexpectedLayout);
        }
        let frame = self.open.pop().ok_or(UnexpectedLayout)?;
        if frame.is_before {
            let outer = &mut self.outer[self.open.len()];
            outer.entries = frame.entries;
            outer.is_closed = true;
        } else {
            self.measured(frame);
        }
        Ok(())
    }

    /// Records how many entries a container had.
    fn measured(&mut self, frame: Frame) {
        if let Some(place) = frame.place {
            let shape = self.tree.get_mut(place);
            match frame.is_array {
                true => shape.lengths.add(frame.entries),
                false => shape.widths.add(frame.entries),
            }
        }
    }

    fn entry(&mut self, rest: &[u8], offset: u64) -> Result<(), UnexpectedLayout> {
        let (key, value) = split(rest)?;
        let place = match self.open.last_mut() {
            None => {
                self.documents += 1;
                Some(Tree::ROOT)
            }
            Some(frame) => {
                frame.entries += 1;
                match (frame.place, key) {
                    (None, _) => None,
                    (Some(parent), Some(key)) => {
                        self.tree.key(parent, key, &mut frame.next, offset)
                    }
                    (Some(parent), None) => self.tree.item(parent),
                }
            }
        };
        let opens = match place {
            Some(place) => take(self.tree.get_mut(place), value, offset)?,
            None => opened(value),
        };
        if let Some(is_array) = opens {
            let inside = place.filter(|_| self.open.len() < DEPTH);
            if let (None, Some(place)) = (inside, place) {
                self.tree.get_mut(place).more = true;
            }
            self.open.push(Frame {
                place: inside,
                is_array,
                entries: 0,
                next: 0,
                is_before: false,
            });
        }
        Ok(())
    }

    /// Adds the shape of the next part, `next`.
    pub(super) fn join(&mut self, next: Self) -> Result<(), UnexpectedLayout> {
        if !next.begun {
            return Ok(());
        }
        if next.outer.len() != self.open.len() {
            return Err(UnexpectedLayout);
        }
        self.begun = true;
        self.documents += next.documents;
        let base = self.tree.adopt(next.tree);
        self.tree.merge(Tree::ROOT, Tree::ROOT + base);
        // Innermost first, because new keys of an outer container may move the inner places.
        for (at, outer) in next.outer.iter().enumerate().rev() {
            let frame = &mut self.open[at];
            frame.entries += match outer.is_closed {
                true => outer.entries,
                false => next.open[at].entries,
            };
            let frame = *frame;
            if let (Some(mine), Some(theirs)) = (frame.place, outer.place) {
                self.tree.merge(mine, theirs + base);
            }
            if outer.is_closed {
                self.measured(frame);
            }
        }
        let still_open = next.open.iter().take_while(|frame| frame.is_before).count();
        self.open.truncate(still_open);
        let opened = next.open[still_open..].iter().map(|frame| Frame {
            place: frame.place.map(|id| id + base),
            ..*frame
        });
        self.open.extend(opened);
        Ok(())
    }

    /// Returns the places, and whether all containers were closed. It must be called after all
    /// parts are joined.
    pub(super) fn finish(mut self) -> (Tree, bool) {
        let is_whole = self.open.is_empty();
        while let Some(frame) = self.open.pop() {
            self.measured(frame);
        }
        (self.tree, is_whole)
    }
}

/// Returns the key, as it is written, and the value of a member; for an element only the value.
fn split(rest: &[u8]) -> Result<(Option<&[u8]>, &[u8]), UnexpectedLayout> {
    match rest.first() {
        None => return Err(UnexpectedLayout),
        Some(b'"') => {}
        Some(_) => return Ok((None, rest)),
    }
    let mut at = 1;
    let end = loop {
        let found = memchr2(b'"', b'\\', rest.get(at..).ok_or(UnexpectedLayout)?)
            .ok_or(UnexpectedLayout)?;
        at += found;
        match rest[at] {
            b'"' => break at,
            _ => at += 2,
        }
    };
    match rest.get(end + 1) {
        None => Ok((None, rest)),
        Some(b':') => {
            let value = rest[end + 2..].trim_ascii_start();
            (!value.is_empty())
                .then_some((Some(&rest[1..end]), value))
                .ok_or(UnexpectedLayout)
        }
        Some(_) => Err(UnexpectedLayout),
    }
}

/// Returns whether a value opens an array (true) or an object (false) that continues on the next
/// line; `None` if it opens neither.
fn opened(value: &[u8]) -> Option<bool> {
    match value {
        b"{" => Some(false),
        b"[" => Some(true),
        _ => None,
    }
}

/// Adds a value to the shape of its place. Returns the same as [`opened`].
fn take(shape: &mut Shape, value: &[u8], offset: u64) -> Result<Option<bool>, UnexpectedLayout> {
    match (value[0], value) {
        (b'"', _) if value.ends_with(b"\"") => {
            shape.strings += 1;
            shape.strings_seen.add(value, offset);
        }
        (b'-' | b'0'..=b'9', _) => {
            shape.numbers += 1;
            shape.numbers_seen.add(value, offset);
            shape.range.add(value, offset);
        }
        (_, b"{") => shape.objects += 1,
        (_, b"[") => shape.arrays += 1,
        (_, b"{}") => {
            shape.objects += 1;
            shape.widths.add(0);
        }
        (_, b"[]") => {
            shape.arrays += 1;
            shape.lengths.add(0);
        }
        (_, b"true") => shape.trues += 1,
        (_, b"false") => shape.falses += 1,
        (_, b"null") => shape.nulls += 1,
        _ => return Err(UnexpectedLayout),
    }
    Ok(opened(value))
}
