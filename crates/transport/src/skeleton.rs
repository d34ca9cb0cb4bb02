//! The skeleton of a value that is too large for memory: its structure without its large parts.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;

use memchr::memmem;
use spillgate_artifact::ByteSource;

use crate::frame_reader::Outliner;

/// A large JSON value in reduced form. Each large string or container in it is replaced by a
/// placeholder of the same kind (`"…"`, `{"…":0}` or `["…"]`). The structure of tool results,
/// resources and prompts is kept: `content`, `contents`, `messages`, `resource`, `_meta`, and the
/// elements of lists among them, are not replaced unless their small parts exceed the size limit.
#[derive(Debug, Clone)]
pub struct Skeleton {
    json: Vec<u8>,
    holes: Vec<Hole>,
    mark: Mark,
}

/// A part of the value that is left out of the skeleton.
#[derive(Debug, Clone)]
struct Hole {
    /// The range of the placeholder in the skeleton.
    at: Range<usize>,
    /// The range of the part in the value.
    raw: Range<u64>,
}

/// A text that all placeholders of a skeleton contain. It is random, so no server can put it into a
/// value.
#[derive(Debug, Clone)]
pub(crate) struct Mark(String);

/// Number of digits of a hole's number in its placeholder.
const DIGITS: usize = 8;

impl Mark {
    pub(crate) fn random() -> Self {
        // Each `RandomState` has its own random keys, so each word is random.
        let word = || RandomState::new().hash_one(0u8);
        Self(format!("spilled-{:016x}{:016x}-", word(), word()))
    }

    /// Returns the mark of hole `number`.
    fn of(&self, number: usize) -> String {
        format!("{}{number:0DIGITS$}", self.0)
    }
}

impl Skeleton {
    pub(crate) fn empty() -> Self {
        Self {
            json: Vec::new(),
            holes: Vec::new(),
            mark: Mark::random(),
        }
    }

    /// Builds the skeleton of the value at `range`; `None` if the value is not JSON. Ranges in the
    /// skeleton count from the start of `range`.
    pub fn of(source: &dyn ByteSource, range: Range<u64>) -> io::Result<Option<Self>> {
        /// Maximum number of bytes read in one block.
        const BLOCK: u64 = 256 << 10;
        let (mut outliner, mut at) = (Outliner::new(), range.start);
        while at < range.end && !outliner.is_done() {
            let block = source.bytes(at, range.end.min(at + BLOCK))?;
            if block.is_empty() {
                return Ok(None);
            }
            at += outliner.feed(&block) as u64;
        }
        let is_whole = at == range.end && outliner.is_done() && outliner.is_sound();
        Ok(is_whole.then(|| outliner.finish()))
    }

    /// Builds the skeleton of a value in memory; `None` if the bytes are not one JSON value.
    #[must_use]
    pub fn of_bytes(value: &[u8]) -> Option<Self> {
        let mut outliner = Outliner::new();
        let is_whole = outliner.feed(value) == value.len();
        (is_whole && outliner.is_done() && outliner.is_sound()).then(|| outliner.finish())
    }

    /// The reduced JSON.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// The memory of the skeleton in bytes, including its table of holes.
    pub(crate) fn cost(&self) -> usize {
        self.json.len() + self.holes.len() * size_of::<Hole>()
    }

    pub(crate) fn push(&mut self, json: &[u8]) {
        self.json.extend_from_slice(json);
    }

    /// Removes everything that was pushed since the skeleton was `json` bytes long, and pushes a
    /// placeholder instead. The part of the value that it replaces is at `raw` and begins with the
    /// byte `first`.
    pub(crate) fn leave_out(&mut self, json: usize, first: u8, raw: Range<u64>) {
        self.cut(json);
        let mark = self.mark.of(self.holes.len());
        let placeholder = match first {
            b'{' => format!("{{\"{mark}\":0}}"),
            b'[' => format!("[\"{mark}\"]"),
            _ => format!("\"{mark}\""),
        };
        self.push(placeholder.as_bytes());
        self.holes.push(Hole {
            at: json..self.json.len(),
            raw,
        });
    }

    /// Removes everything that was pushed since the skeleton was `json` bytes long.
    pub(crate) fn cut(&mut self, json: usize) {
        self.json.truncate(json);
        let kept = self.holes.partition_point(|hole| hole.at.start < json);
        self.holes.truncate(kept);
    }

    /// Translates a range of the skeleton into a range of the value. The ends of `part` must not
    /// lie inside a placeholder.
    #[must_use]
    pub fn raw_span(&self, part: Range<usize>) -> Range<u64> {
        self.raw(part.start)..self.raw(part.end)
    }

    fn raw(&self, at: usize) -> u64 {
        let before = self.holes.partition_point(|hole| hole.at.end <= at);
        match self.holes[..before].last() {
            Some(hole) => hole.raw.end + (at - hole.at.end) as u64,
            None => at as u64,
        }
    }

    /// Whether `json`, a value in the skeleton, is a placeholder.
    #[must_use]
    pub fn is_hole(&self, json: &str) -> bool {
        let inside = json.trim_start_matches(['{', '[', '"']);
        // A list is not a placeholder if it only begins with one.
        let hole = self.number(inside).map(|number| &self.holes[number]);
        inside.len() < json.len() && hole.is_some_and(|hole| hole.at.len() == json.len())
    }

    /// Returns the number of the hole whose mark is at the start of `text`.
    fn number(&self, text: &str) -> Option<usize> {
        let digits = text.strip_prefix(&self.mark.0)?.get(..DIGITS)?;
        digits.parse().ok().filter(|&n| n < self.holes.len())
    }

    /// Splits bytes that were derived from the skeleton at their placeholders. Returns ranges of
    /// these bytes, and ranges of the value in place of the placeholders.
    #[must_use]
    pub fn fill(&self, made: &[u8]) -> Vec<Filled> {
        let (mut parts, mut kept) = (Vec::new(), 0);
        for at in memmem::find_iter(made, self.mark.0.as_bytes()) {
            let text = made.get(at..at + self.mark.0.len() + DIGITS);
            let number = text
                .and_then(|text| std::str::from_utf8(text).ok())
                .and_then(|text| self.number(text));
            let Some(hole) = number.map(|number| &self.holes[number]) else {
                continue;
            };
            // A placeholder has one or two bytes before the mark and the same number after it; the
            // placeholder of an object also contains a zero.
            let length = hole.at.len();
            let before = match length - self.mark.0.len() - DIGITS {
                2 => 1,
                _ => 2,
            };
            parts.push(Filled::Bytes(kept..at - before));
            parts.push(Filled::Raw(hole.raw.clone()));
            kept = at - before + length;
        }
        parts.push(Filled::Bytes(kept..made.len()));
        parts.retain(|part| !matches!(part, Filled::Bytes(range) if range.is_empty()));
        parts
    }
}

/// A part of bytes that contain placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filled {
    /// A range of the bytes.
    Bytes(Range<usize>),
    /// A range of the value.
    Raw(Range<u64>),
}
