//! Finds quotes in the view of an output, which is its readable text.
//!
//! The lines that an answer names are searched first, then the whole view in two passes. The first
//! pass searches all quotes byte for byte. The second pass searches the normal forms of the quotes
//! that the first did not find. A pass reads the view in windows, so memory is bounded.

use std::io;

use aho_corasick::AhoCorasick;
use memchr::memmem;
use spillgate_text::View;

use super::normal::{Normaliser, normal};
use crate::Match;
use crate::mask::unmasked;

/// Minimum length of a quote, in characters other than white space. Shorter texts occur everywhere,
/// so finding them proves nothing.
pub(super) const LEAST_CHARS: usize = 3;
/// Maximum length of a quote that is searched, in bytes.
pub(super) const LONGEST: usize = 8000;
/// Size of a window, in bytes.
const WINDOW: u64 = 1 << 20;
/// A search is abandoned after this many matches inside of words, because such a quote only serves
/// to slow the search down.
const MOST_MISSES: u32 = 200_000;

/// The position at which a quote was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// First byte in the view.
    pub start: u64,
    /// Last byte in the view.
    pub last: u64,
    /// How the quote matches.
    pub matched: Match,
}

/// A text to find.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The forms to search, the most likely first, and for each whether it is the quote itself.
    forms: Vec<(Vec<u8>, bool)>,
    /// The position of the match; `None` if there is none.
    pub hit: Option<Hit>,
    /// Whether the search was abandoned, or not made at all.
    pub is_unchecked: bool,
}

impl Wanted {
    pub(super) fn new(quote: &str) -> Self {
        let quote = quote.trim();
        if quote.len() > LONGEST {
            return Self {
                is_unchecked: true,
                ..Self::default()
            };
        }
        let mut forms: Vec<(Vec<u8>, bool)> = Vec::new();
        let mut add = |form: &str, is_same| {
            let form = form.trim();
            if says_something(form) && !forms.iter().any(|(one, _)| one == form.as_bytes()) {
                forms.push((form.as_bytes().to_vec(), is_same));
            }
        };
        let stored = unmasked(quote);
        add(quote, true);
        add(&stored, stored == quote);
        // Also search for the quote without punctuation or an ellipsis at its ends, which may
        // belong to the sentence of the answer.
        let ends = ['.', ',', ';', ':', '!', '?', '…'];
        add(stored.trim_matches(ends), false);
        Self {
            forms,
            ..Self::default()
        }
    }

    /// Searches `bytes`, which begin at byte `base` of the view.
    pub(super) fn find_in(&mut self, bytes: &[u8], base: u64) {
        for (form, is_same) in &self.forms {
            if let Some(at) = first_whole(bytes, form) {
                let (start, last) = (base + at as u64, base + (at + form.len() - 1) as u64);
                self.hit = Some(Hit {
                    start,
                    last,
                    matched: matched(*is_same),
                });
                return;
            }
        }
        let text = normal(bytes);
        for (form, _) in &self.forms {
            let form = normal(form).bytes;
            if let Some(at) = first_whole(&text.bytes, &form) {
                let origin = |at: usize| base + text.origins[at];
                let (start, last) = (origin(at), origin(at + form.len() - 1));
                self.hit = Some(Hit {
                    start,
                    last,
                    matched: Match::Normalised,
                });
                return;
            }
        }
    }

    fn is_open(&self) -> bool {
        self.hit.is_none() && !self.is_unchecked
    }
}

/// Returns whether a text is so distinctive that finding it proves something.
pub(super) fn says_something(text: &str) -> bool {
    let seen = text.chars().filter(|c| !c.is_whitespace());
    seen.take(LEAST_CHARS).count() == LEAST_CHARS && text.contains(char::is_alphanumeric)
}

fn matched(is_same: bool) -> Match {
    match is_same {
        true => Match::Exact,
        false => Match::Normalised,
    }
}

fn first_whole(bytes: &[u8], form: &[u8]) -> Option<usize> {
    if form.is_empty() {
        return None;
    }
    let mut found = memmem::find_iter(bytes, form);
    found.find(|&at| is_whole(bytes, at, at + form.len()))
}

/// Returns whether `start..end` neither begins nor ends inside a word or number: `E42` does not
/// match in `E4217`. Only ASCII characters are recognized as parts of words.
fn is_whole(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_split = |at: usize| {
        let sides = at
            .checked_sub(1)
            .and_then(|before| bytes.get(before))
            .zip(bytes.get(at));
        sides.is_some_and(|(a, b)| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric())
    };
    !is_split(start) && !is_split(end)
}

/// Searches the whole view for all texts that have not been found yet.
pub(super) fn find_all(view: &View, wanted: &mut [Wanted]) -> io::Result<()> {
    for is_normal in [false, true] {
        if wanted.iter().any(Wanted::is_open) {
            Pass::new(view, is_normal).run(wanted)?;
        }
    }
    Ok(())
}

/// One pass over the view.
struct Pass<'v> {
    view: &'v View,
    is_normal: bool,
    /// The byte of the view up to which the pass has read.
    at: u64,
    /// The window that was read last.
    buffer: Vec<u8>,
    /// Bytes that were read but are not in `text` yet, because the rest of their character or
    /// escape has not been read.
    rest: Vec<u8>,
    text: Normaliser,
    /// The position in the view at which `text` begins. Used only in the first pass, in which
    /// `text` contains the bytes of the view unchanged.
    base: u64,
}

/// One form of a text to find.
struct Needle {
    of: usize,
    bytes: Vec<u8>,
    is_same: bool,
    /// How often this form was found inside of a word.
    misses: u32,
}

impl<'v> Pass<'v> {
    fn new(view: &'v View, is_normal: bool) -> Self {
        Self {
            view,
            is_normal,
            buffer: Vec::new(),
            at: 0,
            rest: Vec::new(),
            text: Normaliser::default(),
            base: 0,
        }
    }

    fn run(mut self, wanted: &mut [Wanted]) -> io::Result<()> {
        let mut needles = self.needles(wanted);
        let mut search = automaton(&needles);
        let keep = 1 + needles.iter().map(|one| one.bytes.len()).max().unwrap_or(0);
        while !needles.is_empty() && self.read(keep)? {
            let is_last = self.at >= self.view.bytes();
            self.look(&search, &mut needles, wanted, is_last);
            let before = needles.len();
            needles.retain(|one| wanted[one.of].is_open() && one.misses < MOST_MISSES);
            if needles.len() < before {
                search = automaton(&needles);
            }
        }
        Ok(())
    }

    fn needles(&self, wanted: &[Wanted]) -> Vec<Needle> {
        let mut needles = Vec::new();
        for (of, one) in wanted.iter().enumerate().filter(|(_, one)| one.is_open()) {
            for (form, is_same) in &one.forms {
                let bytes = match self.is_normal {
                    true => normal(form).bytes,
                    false => form.clone(),
                };
                if !bytes.is_empty() {
                    needles.push(Needle {
                        of,
                        bytes,
                        is_same: *is_same,
                        misses: 0,
                    });
                }
            }
        }
        needles
    }

    /// Reads the next window and keeps the last `keep` bytes of the previous one. Returns false at
    /// the end of the view.
    fn read(&mut self, keep: usize) -> io::Result<bool> {
        if self.at >= self.view.bytes() {
            return Ok(false);
        }
        let stop = self.view.bytes().min(self.at + WINDOW);
        let bytes = self.view.source().window(self.at, stop, &mut self.buffer)?;
        if self.is_normal {
            self.text.keep(keep);
            let base = self.at - self.rest.len() as u64;
            self.rest.extend_from_slice(bytes);
            let taken = self.text.feed(&self.rest, base, stop == self.view.bytes());
            self.rest.drain(..taken);
        } else {
            let before = self.text.bytes.len();
            self.text.keep(keep);
            self.base += (before - self.text.bytes.len()) as u64;
            self.text.bytes.extend_from_slice(bytes);
        }
        self.at = stop;
        Ok(true)
    }

    fn look(
        &self,
        search: &AhoCorasick,
        needles: &mut [Needle],
        wanted: &mut [Wanted],
        is_last: bool,
    ) {
        let bytes = &self.text.bytes;
        for found in search.find_overlapping_iter(bytes) {
            let needle = &mut needles[found.pattern().as_usize()];
            let one = &mut wanted[needle.of];
            // A match that may continue in the next window is found completely when that window is
            // read.
            let is_cut = found.end() == bytes.len() && !is_last;
            let matched = matched(needle.is_same && !self.is_normal);
            // The form without the final punctuation may be found first. An exact match replaces
            // it, because it is the whole quote.
            let is_better = one
                .hit
                .is_none_or(|hit| hit.matched == Match::Normalised && matched == Match::Exact);
            if one.is_unchecked || !is_better || is_cut {
                continue;
            }
            if !is_whole(bytes, found.start(), found.end()) {
                needle.misses += 1;
                one.is_unchecked |= needle.misses >= MOST_MISSES;
                continue;
            }
            one.hit = Some(Hit {
                start: self.origin(found.start()),
                last: self.origin(found.end() - 1),
                matched,
            });
        }
    }

    /// Returns the position in the view of a byte of the text.
    fn origin(&self, at: usize) -> u64 {
        match self.is_normal {
            true => self.text.origins[at],
            false => self.base + at as u64,
        }
    }
}

fn automaton(needles: &[Needle]) -> AhoCorasick {
    let texts = needles.iter().map(|one| &one.bytes);
    AhoCorasick::new(texts).expect("invariant: a few hundred bounded texts make an automaton")
}
