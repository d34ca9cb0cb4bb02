//! Searches lines, rows and paragraphs.

use std::io;

use spillgate_artifact::{ContentKind, LineRange, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::is_page;
use spillgate_text::{SOFT_CHARS, View};

use crate::SearchOutcome;
use crate::blocks;
use crate::candidates::{Candidate, Candidates, template};
use crate::matcher::{Matcher, WordCache};
use crate::page::Block;
use crate::prose;
use crate::question::{MOST_TERMS, Question, Terms};
use crate::rank::{Ranked, Ranker, Units};
use crate::scan::{Collect, Unit, UnitHit, scan};
use crate::structured::container_end;

/// Views of fewer bytes are scanned for all terms at once, without a sample.
const SAMPLED: u64 = 4 << 20;
/// Samples of a larger view, evenly spread, and the bytes of each.
const SAMPLES: u64 = 32;
const SAMPLE: u64 = 16 << 10;
/// A needle that occurs more often than once in this many bytes is in every few lines: stopping at
/// each costs more than the scan and hardly tells lines apart.
const COMMON: u64 = 500;
/// In bytes: a scan of a large view does not stop at shorter needles if there are others, because
/// SIMD cannot tell them from parts of words.
const SHORTEST: usize = 3;
/// Bytes of a usual paragraph.
const USUAL_PARAGRAPH: f64 = 500.0;

/// Returns the places that answer in a view of lines, rows or paragraphs.
pub(crate) fn answer<'a>(
    artifact: &'a Artifact,
    question: &Question,
    budget: TokenBudget,
) -> io::Result<SearchOutcome<'a>> {
    let view = artifact.view();
    let kind = artifact.manifest().facts.stats.kind;
    let unit = unit(view, kind)?;
    if prose::is_split(view, kind, unit == Unit::Paragraph) {
        return prose::answer(artifact, question);
    }
    let usual_bytes = match unit {
        Unit::Line | Unit::Record | Unit::Row => view.bytes() as f64 / view.lines().max(1) as f64,
        Unit::Paragraph => USUAL_PARAGRAPH,
    };
    let units = Units {
        count: (view.bytes() as f64 / usual_bytes).max(1.0),
        usual_bytes,
        delimiter: delimiter(kind),
    };
    let sample = Sample::take(view, question)?;
    let mut found = find(view, question, unit, usual_bytes, &sample.common)?;
    // The text holds only terms that are too common to stop at.
    if found.is_empty() && !sample.common.is_empty() {
        found = find(view, question, unit, usual_bytes, &[])?;
    }
    let mut units_with = [0.0; MOST_TERMS];
    for (at, with) in units_with.iter_mut().enumerate() {
        *with = (found.units_with[at] as f64).max(sample.share[at] * units.count);
    }
    let seen = (0..MOST_TERMS).filter(|&at| units_with[at] > 0.0);
    let seen = seen.fold(0, |seen, at| seen | 1 << at);
    let (mut ranked, total) = Ranker::new(view, question, units, &units_with).rank(found)?;
    // After a row that the question names, rows that share only common words with it are noise.
    if units.delimiter.is_some() && ranked.first().is_some_and(|best| best.is_literal) {
        ranked.retain(|one| one.is_literal);
    }
    let context = context(kind);
    Ok(SearchOutcome {
        ranked,
        seen,
        header: header(view, units.delimiter)?,
        is_unstamped: false,
        total,
        is_in_order: false,
        blocks: Box::new(move |one, _| {
            let mut ways = vec![vec![with_context(view, one, context)?]];
            if kind == ContentKind::Json
                && let Some(object) = object(view, one, budget)?
            {
                ways.insert(0, vec![object]);
            }
            if unit == Unit::Paragraph
                && let Some(header) = table_header(view, one)?
            {
                ways.insert(0, vec![block(one), header]);
            }
            if context != (0, 0) {
                ways.push(vec![block(one)]);
            }
            if unit != Unit::Line {
                ways.push(vec![line_of_hit(view, one)?]);
            }
            Ok(ways)
        }),
    })
}

/// Returns the kind of unit for a kind of content.
fn unit(view: &View, kind: ContentKind) -> io::Result<Unit> {
    Ok(match kind {
        ContentKind::Markdown => Unit::Paragraph,
        ContentKind::Ndjson => Unit::Record,
        ContentKind::Csv | ContentKind::Tsv => Unit::Row,
        ContentKind::Text | ContentKind::Log | ContentKind::Code if is_snapshot(view)? => {
            Unit::Paragraph
        }
        ContentKind::Text if is_prose(view)? => Unit::Paragraph,
        _ => Unit::Line,
    })
}

/// Returns whether a text is the snapshot of a page.
fn is_snapshot(view: &View) -> io::Result<bool> {
    const LOOKED_AT: u64 = 32 << 10;
    Ok(is_page(&view.source().bytes(0, LOOKED_AT)?))
}

/// Returns whether a text consists of sentences: nearly all of it is letters and spaces.
fn is_prose(view: &View) -> io::Result<bool> {
    const LOOKED_AT: u64 = 64 << 10;
    /// In prose digits and signs are a twentieth of the text, in logs a third. Text counts as prose
    /// below one in this many bytes.
    const MOST_SIGNS: usize = 10;
    let middle = view.bytes() / 2;
    let text = view.source().bytes(middle, middle + LOOKED_AT)?;
    if blocks::is_listed(&text) {
        return Ok(true);
    }
    let signs = text.iter().filter(|byte| {
        byte.is_ascii_digit() || byte.is_ascii_punctuation() && !b".,'\"".contains(byte)
    });
    Ok(signs.count() * MOST_SIGNS < text.len())
}

fn delimiter(kind: ContentKind) -> Option<u8> {
    match kind {
        ContentKind::Csv => Some(b','),
        ContentKind::Tsv => Some(b'\t'),
        _ => None,
    }
}

/// Returns how many lines before and after a hit belong to it.
fn context(kind: ContentKind) -> (u64, u64) {
    match kind {
        ContentKind::Code => (2, 5),
        ContentKind::Diff => (2, 3),
        _ => (0, 0),
    }
}

/// Returns the line with the column names of a table.
fn header(view: &View, delimiter: Option<u8>) -> io::Result<Option<String>> {
    if delimiter.is_none() {
        return Ok(None);
    }
    let Some(line) = view.line_at(0)? else {
        return Ok(None);
    };
    let bytes = view.source().bytes(line.start, line.end)?;
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

/// Returns a place without context.
pub(crate) fn block(one: &Ranked) -> Block {
    Block {
        start: one.candidate.start,
        end: one.candidate.end,
        path: None,
        score: one.score,
        hit: one.candidate.start + one.first_hit,
        is_untagged: false,
    }
}

/// Returns the first two lines of the Markdown table that contains a row.
pub(crate) fn table_header(view: &View, one: &Ranked) -> io::Result<Option<Block>> {
    /// Bytes before a row in which its header is searched.
    const FAR: u64 = 16 << 10;
    let from = one.candidate.start.saturating_sub(FAR);
    let text = view.source().bytes(from, one.candidate.end)?;
    let at = usize::try_from(one.candidate.start - from).unwrap_or(0);
    if text.get(at) != Some(&b'|') {
        return Ok(None);
    }
    let before = text[..at].split_inclusive(|byte| *byte == b'\n');
    let rows = before.rev().take_while(|line| line.starts_with(b"|"));
    let above: usize = rows.map(<[u8]>::len).sum();
    let table = &text[at - above..at];
    let lines = table.split_inclusive(|byte| *byte == b'\n').take(2);
    let length: usize = lines.map(<[u8]>::len).sum();
    let start = one.candidate.start - above as u64;
    let is_whole = above > 0 && (start == 0 || start > from);
    Ok(is_whole.then(|| Block {
        start,
        end: start + length as u64,
        path: None,
        score: one.score,
        hit: start,
        is_untagged: false,
    }))
}

/// Returns the object of laid-out JSON to which the line of a hit belongs: the one that the line
/// opens, or else the one around it. `None` if it is large.
fn object(view: &View, one: &Ranked, budget: TokenBudget) -> io::Result<Option<Block>> {
    /// Largest object in bytes that is shown for the line that opens it.
    const OPENED: u64 = 800;
    /// Largest object in bytes that is shown for another line in it.
    const AROUND: u64 = 300;
    let block = block(one);
    let line = view.source().bytes(block.start, block.end)?;
    let indent = |line: &[u8]| line.iter().take_while(|byte| **byte == b' ').count();
    let opens = |line: &[u8]| line.trim_ascii_end().ends_with(b"{");
    let (start, largest) = if opens(&line) {
        (Some(block.start), OPENED)
    } else {
        let before = block.start.saturating_sub(AROUND);
        let text = view.source().bytes(before, block.start)?;
        let mut at = block.start;
        let mut above = text.split_inclusive(|byte| *byte == b'\n').rev();
        let outer = above.find(|above| {
            at -= above.len() as u64;
            indent(above) < indent(&line)
        });
        (outer.is_some_and(opens).then_some(at), AROUND)
    };
    let Some(start) = start else {
        return Ok(None);
    };
    // A byte costs a fourth of a token, so an object takes at most a fourth of the page.
    let end = container_end(view, start, start + largest.min(budget.get()))?;
    Ok(end.map(|end| Block {
        start,
        end,
        ..block
    }))
}

/// Returns the line with the first hit of a place, which is shown if the whole unit does not fit.
pub(crate) fn line_of_hit(view: &View, one: &Ranked) -> io::Result<Block> {
    let block = block(one);
    Ok(match view.line_at(block.hit)? {
        Some(line) => Block {
            start: line.start,
            end: line.end,
            ..block
        },
        None => block,
    })
}

/// Returns a place with lines before and after it.
pub(crate) fn with_context(
    view: &View,
    one: &Ranked,
    (before, after): (u64, u64),
) -> io::Result<Block> {
    let mut block = block(one);
    if (before, after) != (0, 0) {
        let lines = LineRange {
            first: view.line_of_offset(block.start)?,
            last: view.line_of_offset(block.end.saturating_sub(1))?,
        };
        block.start = view.offset_of_line(lines.first.saturating_sub(before))?;
        block.end = view.offset_of_line(lines.last + after + 1)?;
    }
    Ok(block)
}

fn find(
    view: &View,
    question: &Question,
    unit: Unit,
    usual_bytes: f64,
    common: &[usize],
) -> io::Result<Candidates> {
    let matcher = Matcher::new(question, common);
    let all = (!common.is_empty()).then(|| Matcher::new(question, &[]));
    let parts = scan(view, &matcher, unit, || Collector {
        usual_bytes,
        all: all.as_ref().map(|all| (all, WordCache::default())),
        found: Candidates::default(),
    })?;
    let mut found = Candidates::default();
    for part in parts {
        found.merge(part.found);
    }
    Ok(found)
}

/// Keeps the best units.
struct Collector<'a> {
    usual_bytes: f64,
    /// Finds all terms, if the scan does not stop at each.
    all: Option<(&'a Matcher, WordCache)>,
    found: Candidates,
}

impl Collect for Collector<'_> {
    fn unit(&mut self, mut unit: UnitHit<'_>) {
        if let Some((matcher, known)) = &mut self.all {
            (unit.terms, unit.hits) = (0, 0);
            for hit in matcher.hits(unit.text, known) {
                unit.terms |= hit.terms;
                unit.hits += 1;
            }
        }
        self.found.units += 1;
        self.found.count(unit.terms, 1);
        self.found.tally(unit.terms, 1);
        let most = unit.terms.count_ones() + 2;
        let length = unit.text.len() as f64 / self.usual_bytes;
        let rank = f64::from(unit.hits.min(most)) / f64::from(most) / (0.5 + 0.5 * length);
        let alike = || template(unit.text);
        if self.found.wants(unit.terms, rank, alike) {
            self.found.keep(Candidate {
                start: unit.start,
                end: unit.start + unit.text.len() as u64,
                terms: unit.terms,
                rank,
                template: alike(),
                json: None,
            });
        }
    }
}

/// Statistics from a few samples of a large view.
struct Sample {
    /// Indices of the needles that are very common or very short. Never contains all needles.
    common: Vec<usize>,
    /// Share of lines that hold each term.
    share: [f64; MOST_TERMS],
}

impl Sample {
    fn take(view: &View, question: &Question) -> io::Result<Self> {
        let mut sample = Self {
            common: Vec::new(),
            share: [0.0; MOST_TERMS],
        };
        if view.bytes() < SAMPLED {
            return Ok(sample);
        }
        let matcher = Matcher::new(question, &[]);
        let mut known = WordCache::default();
        let mut times = vec![0u64; question.needles.len()];
        let mut found = Candidates::default();
        let (mut bytes, mut lines) = (0u64, 0u64);
        for at in 0..SAMPLES {
            let start = view.bytes() / SAMPLES * at;
            let text = view.source().bytes(start, start + SAMPLE)?;
            bytes += text.len() as u64;
            for line in text.split(|byte| *byte == b'\n') {
                lines += 1 + (line.len() / SOFT_CHARS) as u64;
                let mut terms: Terms = 0;
                let mut hits = matcher.hits(line, &mut known);
                while let Some(hit) = hits.next_raw() {
                    times[hit.needle] += 1;
                    terms |= hit.terms;
                }
                found.count(terms, 1);
            }
        }
        for (share, with) in sample.share.iter_mut().zip(found.units_with) {
            *share = with as f64 / lines.max(1) as f64;
        }
        let is_common =
            |at: &usize| times[*at] * COMMON > bytes || question.needles[*at].len() < SHORTEST;
        let common: Vec<usize> = (0..times.len()).filter(is_common).collect();
        if common.len() < times.len() {
            sample.common = common;
        }
        Ok(sample)
    }
}
