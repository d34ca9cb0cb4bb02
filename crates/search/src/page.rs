//! Writes the answer within the budget.

use std::io;

use serde::Serialize;
use spillgate_artifact::{Layout, LineRange, TokenBudget};
use spillgate_lookup::fitting;
use spillgate_outline::runner_prefix;
use spillgate_text::{TokenCounter, View, line_end};
use spillgate_untrusted::marked;

use crate::Blocks;
use crate::leaf::string_end;
use crate::markup::readable;
use crate::path::common_path;
use crate::rank::Ranked;

/// Candidates that may fail to fit before the page counts as full.
const MOST_MISSES: usize = 12;
/// A place whose template was shown `n` times counts for `1 / (1 + n / ALIKE)`, so that one line
/// with different numbers does not crowd out other lines.
const ALIKE: f64 = 6.0;
/// Tokens of the marks and the line number of a cut line, besides its path.
const AROUND_CUT: u64 = 24;

/// The passages that answer a question, within the budget.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SearchPage {
    /// Best first; lines that report a failure in the order of the text. No passage overlaps
    /// another.
    pub passages: Vec<Passage>,
    /// How many places match about as well as those shown, including these. In JSON, a member is a
    /// place.
    pub total: u64,
    /// Identifiers of the question that occur nowhere in the text.
    pub absent: Vec<String>,
    /// The first line of a table whose rows are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// A table of the records that the question asks for, below a line that says how many there
    /// are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// What the reader must know about the passages: that no line reports a failure, for instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether records of JSON are shown on one line each.
    #[serde(skip)]
    pub(crate) is_compact: bool,
    /// Whether the text leaves out what a runner put before the lines: time stamps.
    #[serde(skip)]
    pub(crate) is_unstamped: bool,
    /// Whether the passages are the reports of a failure that the question asks for.
    #[serde(skip)]
    pub(crate) is_failure: bool,
    /// Tokens of the text that [`SearchPage::render`] returns, counted.
    pub tokens: u64,
}

/// Lines that may answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passage {
    /// The view lines.
    pub lines: LineRange,
    /// The path as jq writes it, if the view is a JSON document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The lines, byte for byte as in the view, without the last newline. If a line alone exceeds
    /// the budget, a part of it.
    pub text: String,
    /// How well it answers: higher is better. Comparable within a page only.
    pub score: f64,
    /// Whether `text` is a part of a line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Whether the lines are those of the text in the string at `path`, not those of the document.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_inside: bool,
    /// Where the view lines end in `text`: a long line consists of several.
    #[serde(skip)]
    ends: Vec<usize>,
    /// Whether the page shows the text without its tags.
    #[serde(skip)]
    is_untagged: bool,
    /// How many places it joins.
    #[serde(skip)]
    places: u64,
}

impl SearchPage {
    /// Returns the page as a model sees it: `12:line`, a JSON path above its lines, and `--`
    /// between passages of several lines. Hidden characters in them are marked.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        if !self.absent.is_empty() {
            text.push_str(&absent_line(&self.absent));
        }
        if let Some(table) = &self.table {
            text.push_str(table);
        }
        if let Some(note) = &self.note {
            text.push_str(&format!("{note}\n"));
        }
        if self.passages.is_empty() {
            if self.table.is_none() && self.note.is_none() {
                text.push_str(NOTHING);
            }
            return text;
        }
        if self.table.is_some() {
            text.push_str("--\n");
        }
        let shown = self.passages.iter().map(|one| one.places).sum();
        text.push_str(&count_line(shown, self.total));
        if let Some(header) = &self.header {
            text.push_str(&format!("1:{}\n", marked(header)));
        }
        if self.is_unstamped {
            text.push_str(UNSTAMPED);
        }
        if self.passages.iter().any(|one| one.is_untagged) {
            text.push_str(UNTAGGED);
        }
        let mut above: Option<&Passage> = None;
        for passage in &self.passages {
            let is_block = |one: &Passage| one.path.is_some() || one.lines.first < one.lines.last;
            if above.is_some_and(|above| is_block(above) || is_block(passage)) {
                text.push_str("--\n");
            }
            passage.render(&mut text, self);
            above = Some(passage);
        }
        text
    }
}

const NOTHING: &str = "No passage: none of these words is in the text. Ask with fewer or other words, or grep for a part of a word.\n";

/// The line above passages without time stamps.
const UNSTAMPED: &str = "(time stamps left out)\n";

/// What follows the path above lines of a text inside a JSON document.
const INSIDE: &str = " (lines of this text)\n";

/// The line above passages of markup.
const UNTAGGED: &str = "(tags left out)\n";

/// The line that says how many of the places that match are shown.
fn count_line(shown: u64, total: u64) -> String {
    let total = total.max(shown);
    let s = if total == 1 { "" } else { "s" };
    format!("[{shown} of {total} passage{s}]\n")
}

pub(crate) fn absent_line(absent: &[String]) -> String {
    format!("Not in the text: {}\n", absent.join(", "))
}

impl Passage {
    /// Returns its view lines with their numbers, without newlines; for a part of a line, that
    /// part.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &str)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lines = starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.text[start..end]);
        (self.lines.first..).zip(lines.map(|line| line.trim_end_matches('\n')))
    }

    fn render(&self, text: &mut String, page: &SearchPage) {
        if let Some(path) = &self.path {
            text.push_str(&marked(path));
            text.push_str(if self.is_inside { INSIDE } else { "\n" });
        }
        let first = self.lines.first;
        if self.is_cut {
            text.push_str(&format!("{first}:…{}…\n", marked(&self.text)));
            return;
        }
        if self.is_untagged {
            self.render_untagged(text);
            return;
        }
        if page.is_compact && self.path.is_some() && !self.is_inside {
            text.push_str(&format!("{first}:{}\n", marked(&compact(&self.text))));
            return;
        }
        for (number, line) in self.numbered() {
            let stamp = match page.is_unstamped {
                true => runner_prefix(line.as_bytes()),
                false => 0,
            };
            let line = line.get(stamp..).unwrap_or(line);
            text.push_str(&format!("{number}:{}\n", marked(line)));
        }
    }
}

impl Passage {
    /// Writes the lines without tags, each with the number of its first view line.
    fn render_untagged(&self, text: &mut String) {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let starts = (self.lines.first..).zip(starts);
        let breaks = |at: usize| at == 0 || self.text.as_bytes().get(at - 1) == Some(&b'\n');
        let numbers = starts
            .filter(|(_, at)| breaks(*at))
            .map(|(number, _)| number);
        for (number, line) in numbers.zip(readable(&self.text).split('\n')) {
            if !line.is_empty() {
                text.push_str(&format!("{number}:{}\n", marked(line)));
            }
        }
    }
}

/// Returns lines of laid-out JSON as one line, without the white space between its tokens
/// and the comma at its end.
fn compact(text: &str) -> String {
    let mut line = String::new();
    for member in text.split('\n') {
        let member = member.trim_start_matches(' ');
        let key = string_end(member.as_bytes()).filter(|&end| member[end..].starts_with(": "));
        match key {
            Some(end) => line.extend([&member[..=end], &member[end + 2..]]),
            None => line.push_str(member),
        }
    }
    if line.ends_with(',') {
        line.pop();
    }
    line
}

/// Returns where the view lines of `text` end. `text` begins at the start of a view line.
fn line_ends(text: &str, layout: Layout) -> Vec<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while let Some(length) = line_end(&text.as_bytes()[at..], layout, true) {
        at = text.floor_char_boundary(at + length);
        ends.push(at);
    }
    ends
}

/// A range of lines of the view, in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// First byte in the view.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// Path, if the view is a JSON document.
    pub path: Option<String>,
    /// How well it answers; higher is better.
    pub score: f64,
    /// Byte of the view at which its first hit stands.
    pub hit: u64,
    /// Whether it is shown without its tags.
    pub is_untagged: bool,
}

/// Builds a page within the budget.
pub(crate) struct PageBuilder<'a> {
    pub view: &'a View,
    pub budget: TokenBudget,
    pub counter: &'a dyn TokenCounter,
    pub page: SearchPage,
    /// The blocks shown, in the order of the page.
    blocks: Vec<Block>,
    /// Sum of the tokens of the page's parts. The page costs no more than this, apart from tokens
    /// that merge where parts meet.
    spent: u64,
}

impl<'a> PageBuilder<'a> {
    pub(crate) fn new(
        view: &'a View,
        budget: TokenBudget,
        counter: &'a dyn TokenCounter,
        mut page: SearchPage,
    ) -> Self {
        let is_too_dear = |text: &str| counter.exceeds(text, budget.get() / 4);
        while !page.absent.is_empty() && is_too_dear(&absent_line(&page.absent)) {
            page.absent.pop();
        }
        page.header = page.header.filter(|header| !is_too_dear(header));
        let mut spent = counter.count(&count_line(page.total, page.total));
        if !page.absent.is_empty() {
            spent += counter.count(&absent_line(&page.absent));
        }
        if let Some(header) = &page.header {
            spent += counter.count(header) + 3;
        }
        if let Some(note) = &page.note {
            spent += counter.count(note) + 1;
        }
        if page.is_unstamped {
            spent += counter.count(UNSTAMPED);
        }
        Self {
            view,
            budget,
            counter,
            page,
            blocks: Vec::new(),
            spent,
        }
    }

    /// Shows a table above the passages.
    pub(crate) fn show_table(&mut self, table: Option<String>) {
        if let Some(table) = &table {
            self.spent += self.counter.count(table) + 2;
        }
        self.page.table = table;
    }

    /// Adds the places, best first. `blocks` returns the ways to show one.
    pub(crate) fn fill(&mut self, ranked: Vec<Ranked>, blocks: &Blocks<'_>) -> io::Result<()> {
        let mut misses = 0;
        let is_shown = |one: &Ranked| self.page.header.is_some() && one.candidate.start == 0;
        let ranked = ranked.into_iter().filter(|one| !is_shown(one)).collect();
        for one in in_turn(ranked) {
            let ways = blocks(&one, self.blocks.is_empty())?;
            if !self.show(ways)? {
                misses += 1;
            }
            if misses > MOST_MISSES || self.spent >= self.budget.get() {
                break;
            }
        }
        Ok(())
    }

    /// Shows a place in the first way that fits. Returns whether one did.
    fn show(&mut self, ways: Vec<Vec<Block>>) -> io::Result<bool> {
        let last = ways.len().saturating_sub(1);
        for (at, way) in ways.into_iter().enumerate() {
            let mut is_shown = false;
            for block in way {
                // What accompanies the first is no place of its own.
                let places = u64::from(!is_shown);
                is_shown |= self.add(block, places, at == last)?;
                // What accompanies the first says nothing without it.
                if !is_shown && at != last {
                    break;
                }
            }
            if is_shown {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a block if it fits. The first block of the page is cut until it fits, if there
    /// `is_no_other` way. Returns whether the block is shown now.
    fn add(&mut self, block: Block, places: u64, is_no_other: bool) -> io::Result<bool> {
        let mut known = self.blocks.iter();
        if let Some(at) = known.position(|one| one.start <= block.start && block.end <= one.end) {
            self.page.passages[at].places += places;
            return Ok(true);
        }
        let (merged, touched) = self.merged(&block);
        let mut passage = self.passage(&merged)?;
        let joined = touched.iter().map(|&at| self.page.passages[at].places);
        passage.places = places + joined.sum::<u64>();
        let before: u64 = touched
            .iter()
            .map(|&at| self.cost(&self.page.passages[at]))
            .sum();
        let cost = self.cost(&passage);
        let tags = match passage.is_untagged && self.blocks.iter().all(|one| !one.is_untagged) {
            true => self.counter.count(UNTAGGED),
            false => 0,
        };
        let cost = cost + tags;
        if self.spent + cost > self.budget.get() + before {
            let is_first = self.blocks.is_empty() && self.page.table.is_none();
            if !is_first || !is_no_other {
                return Ok(false);
            }
            let mut cut = self.cut(&block)?;
            cut.places = places;
            self.spent += self.cost(&cut);
            self.blocks.push(block);
            self.page.passages.push(cut);
            return Ok(true);
        }
        self.spent = self.spent + cost - before;
        let place = touched.first().copied();
        for &at in touched.iter().rev() {
            self.blocks.remove(at);
            self.page.passages.remove(at);
        }
        let place = place.unwrap_or(self.blocks.len());
        self.blocks.insert(place, merged);
        self.page.passages.insert(place, passage);
        Ok(true)
    }

    /// Returns the page with its tokens counted, with its passages in the order of the text if
    /// `is_in_order`. Drops the last passages if the whole costs more than its parts.
    pub(crate) fn finish(mut self, is_in_order: bool) -> SearchPage {
        self.shrink();
        if is_in_order {
            self.page.passages.sort_by_key(|one| one.lines.first);
            // Other passages beside each other need other marks between them.
            self.shrink();
        }
        self.page.tokens = self.counter.count(&self.page.render());
        self.page
    }

    /// Drops the last passages until the page fits.
    fn shrink(&mut self) {
        while self.counter.exceeds(&self.page.render(), self.budget.get()) {
            if self.page.passages.pop().is_none() {
                self.page.absent.clear();
                self.page.note = None;
                if self.page.table.take().is_none() {
                    break;
                }
            }
        }
    }

    /// Returns the block joined with those that it overlaps or touches, and the indexes of these.
    fn merged(&self, block: &Block) -> (Block, Vec<usize>) {
        let mut merged = block.clone();
        let mut touched = Vec::new();
        for (at, one) in self.blocks.iter().enumerate() {
            let is_apart = one.start == block.end || one.end == block.start;
            if one.start <= block.end
                && block.start <= one.end
                && !(is_apart && share_nothing(one, block))
            {
                touched.push(at);
                let is_inside = block.start <= one.start && one.end <= block.end;
                if !is_inside && one.path != block.path {
                    merged.path = common_path(merged.path, one.path.as_deref());
                }
                merged.start = merged.start.min(one.start);
                merged.end = merged.end.max(one.end);
                merged.score = merged.score.max(one.score);
                merged.is_untagged &= one.is_untagged;
            }
        }
        (merged, touched)
    }

    fn cost(&self, passage: &Passage) -> u64 {
        let mut text = String::new();
        passage.render(&mut text, &self.page);
        if passage.path.is_some() || passage.lines.first < passage.lines.last {
            text.push_str("--\n");
        }
        self.counter.count(&text)
    }

    fn passage(&self, block: &Block) -> io::Result<Passage> {
        let bytes = self.view.source().bytes(block.start, block.end)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
        let mut ends = line_ends(&text, self.view.layout());
        if ends.is_empty() {
            ends.push(0); // an empty line
        }
        let first = self.view.line_of_offset(block.start)?;
        Ok(Passage {
            lines: LineRange {
                first,
                last: first + ends.len() as u64 - 1,
            },
            path: block.path.clone(),
            text,
            score: block.score,
            is_cut: false,
            is_inside: false,
            ends,
            is_untagged: block.is_untagged,
            places: 1,
        })
    }

    /// Returns as much of the line with the first hit as the budget holds.
    fn cut(&self, block: &Block) -> io::Result<Passage> {
        /// Bytes shown before the hit, as its context.
        const LEAD: u64 = 40;
        let Some(line) = self.view.line_at(block.hit)? else {
            return self.passage(block);
        };
        let whole = Block {
            start: line.start,
            end: line.end,
            ..block.clone()
        };
        let mut passage = self.passage(&whole)?;
        if self.spent + self.cost(&passage) <= self.budget.get() {
            return Ok(passage);
        }
        let path_cost = passage
            .path
            .as_deref()
            .map_or(0, |path| self.counter.count(path));
        if path_cost > self.budget.get() / 2 {
            passage.path = None;
        }
        let path_cost = passage
            .path
            .as_deref()
            .map_or(0, |path| self.counter.count(path));
        let room = self.budget.less(self.spent + path_cost + AROUND_CUT);
        let at = usize::try_from(block.hit.saturating_sub(line.start + LEAD)).unwrap_or(0);
        let at = passage.text.floor_char_boundary(at);
        let taken = fitting(&passage.text[at..], &[], room, self.counter);
        passage.text = passage.text[at..at + taken].to_owned();
        passage.is_cut = true;
        Ok(passage)
    }
}

/// Returns whether two places in JSON share only the document. Joined, they would carry its path.
fn share_nothing(one: &Block, other: &Block) -> bool {
    one.path.is_some()
        && common_path(one.path.clone(), other.path.as_deref()).as_deref() == Some(".")
}

/// Sorts the places by their score, which shrinks each time a template recurs.
fn in_turn(ranked: Vec<Ranked>) -> Vec<Ranked> {
    let mut times: std::collections::HashMap<u64, f64> = std::collections::HashMap::new();
    let mut turns: Vec<(f64, Ranked)> = Vec::with_capacity(ranked.len());
    for one in ranked {
        let seen = times.entry(one.candidate.template).or_default();
        turns.push((one.score / (1.0 + *seen / ALIKE), one));
        *seen += 1.0;
    }
    turns.sort_by(|a, b| b.0.total_cmp(&a.0));
    turns.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn compact_json() {
        let cases = [
            (
                "{\n  \"a\": 1,\n  \"b\": [\n    \"x: y\"\n  ]\n},",
                r#"{"a":1,"b":["x: y"]}"#,
            ),
            (r#"  "k\": ": "v","#, r#""k\": ":"v""#),
            ("  \"cut", "\"cut"),
            ("", ""),
        ];
        for (text, want) in cases {
            assert_eq!(compact(text), want, "{text}");
        }
    }
}
