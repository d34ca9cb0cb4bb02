//! Finds the lines that say how a run failed and why.
//!
//! One pass classifies the lines that may report a failure ([`classify`]). Then the lines worth
//! showing are picked, best first: the line that ended the run, the counts of failures, the first
//! error of the step that failed, the last error before the end of this step, and then the other
//! errors. Of several lines that are alike, only one is picked. Each picked line and the lines
//! around it that belong to it have ranks: an outline and a preview show the best of them, and so
//! does a search for the reason of a failure, which takes more lines around a pick
//! ([`FailureLines::of`]).

mod classify;

use std::collections::VecDeque;
use std::hash::Hasher;
use std::io;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use spillgate_artifact::ContentKind;
use spillgate_text::{LineSpan, View};

use crate::log::signature;
use crate::parts::{SamplePlan, grouped};
use crate::{EntryKind, OutlineEntry};
use classify::{Class, Report, classify, each_suspect, is_apart, prefix, uncoloured};

/// Maximum number of reports that are kept from the beginning.
const FIRST: usize = 256;
/// Maximum number of later reports that are kept: the last ones.
const LAST: usize = 1024;
/// Maximum number of beginnings of steps that are kept.
const STEPS: usize = 4096;
/// Maximum number of different lines whose occurrences are counted.
const KEPT: usize = 4096;
/// Maximum number of lines that are picked.
const PICKED: usize = 64;
/// Maximum number of picked lines that have the same first word.
const ALIKE: usize = 6;
/// The minimum weight of a line that proves a failure by itself.
const STRONG: f64 = 2.0;
/// Maximum numbers of lines before and after a picked line that are shown with it. The lines that
/// are far away from it are dropped first.
type Around = (u64, usize);
/// The lines around the end of the run. Those before it led to the end.
const END: Around = (16, 0);
/// The lines around the first and the last error.
const MAIN: Around = (8, 20);
/// The lines around another error, or around a count.
const OTHER: Around = (1, 5);
const ALONE: Around = (0, 0);
/// If the output reports a failure within this many bytes of its end, or within its last tenth if
/// that is longer, the run failed.
const NEAR_END: u64 = 4096;
/// Number of bytes before the end in which even a line that may occur in prose, such as
/// `cannot open x`, shows that the run failed.
const LAST_WORDS: u64 = 512;
/// The minimum weight of a line that hardly ever occurs in prose.
const SURE: f64 = 2.5;
/// Number of lines at the end of the text that may be shown.
const LAST_LINES: u64 = 24;
/// Maximum rank of the last line, see [`OutlineEntry::rank`]. For each line before it, the rank is
/// greater by 1.
const LAST_RANK: usize = 6;
/// Number of lines that are kept of a run of lines that are alike.
const KEPT_ALIKE: usize = 2;
/// Minimum number of lines of such a run. One line that was left out would take as much room as its
/// count.
const FOLDED: usize = KEPT_ALIKE + 2;
/// Maximum number of frames of a stack trace that are shown, of libraries and of the project each.
const FRAMES: usize = 2;

/// A line that says how or why a run failed.
#[derive(Debug, Clone, PartialEq)]
struct Pick {
    start: u64,
    /// Number of lines that are alike, including this one.
    count: u64,
    around: Around,
    /// Whether a CI runner put a time stamp before the line.
    is_stamped: bool,
    /// Whether a CI runner reports in this line that a step ended with a failure.
    is_step_end: bool,
}

/// A line that says how or why a run failed, or a line that belongs to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureLine {
    /// The line in the view.
    pub span: LineSpan,
    /// How much the line is needed: lines with a lower rank come first. Several lines may have the
    /// same rank.
    pub rank: usize,
    /// Whether it reports a failure; otherwise it belongs to such a line.
    pub is_report: bool,
    /// The line as an outline shows it: without what a runner or a terminal put into it, and with
    /// the number of lines like it.
    text: String,
}

/// The lines of a text that say how or why something failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureLines {
    /// In the order of the text.
    pub lines: Vec<FailureLine>,
    /// Whether a CI runner put a time stamp before each report.
    pub is_stamped: bool,
}

/// A line that reports a failure.
#[derive(Debug, Clone, Copy)]
struct Hit {
    start: u64,
    end: u64,
    signature: u64,
    kind: u64,
    is_stamped: bool,
    report: Report,
}

/// The reports of failures in one part of a text.
#[derive(Debug, Default)]
struct Findings {
    first: Vec<Hit>,
    last: VecDeque<Hit>,
    /// Lines that begin a step.
    steps: Vec<Hit>,
    counts: FxHashMap<u64, u64>,
}

impl Findings {
    fn of(text: &[u8], start: u64) -> Self {
        let mut found = Self::default();
        // Lines with the same signature report the same, unless a number tells them apart.
        let mut known: FxHashMap<(u64, u64), Option<Report>> = FxHashMap::default();
        each_suspect(text, |from, to| {
            let line = &text[from..to];
            let stamp = prefix(line);
            let line = uncoloured(&line[stamp..]);
            let line = &*line;
            let signature = signature(line);
            let report = *known
                .entry((signature, numbers(line)))
                .or_insert_with(|| classify(line));
            let Some(report) = report else { return };
            let start = start + from as u64;
            let hit = Hit {
                start,
                end: start + (to - from) as u64,
                signature,
                kind: kind_of(line),
                is_stamped: stamp > 0,
                report,
            };
            match report.class {
                Class::Step if found.steps.len() == STEPS => {}
                Class::Step => found.steps.push(hit),
                _ => found.add(hit),
            }
        });
        found
    }

    fn add(&mut self, hit: Hit) {
        self.count(hit.signature, 1);
        self.keep(hit);
    }

    fn count(&mut self, signature: u64, count: u64) {
        if self.counts.len() < KEPT || self.counts.contains_key(&signature) {
            *self.counts.entry(signature).or_default() += count;
        }
    }

    fn keep(&mut self, hit: Hit) {
        if self.first.len() < FIRST {
            self.first.push(hit);
            return;
        }
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(hit);
    }

    /// Adds the findings of the next part.
    fn absorb(&mut self, next: Self) {
        for (signature, count) in next.counts {
            self.count(signature, count);
        }
        let room = STEPS - self.steps.len();
        self.steps.extend(next.steps.into_iter().take(room));
        for hit in next.first.into_iter().chain(next.last) {
            self.keep(hit);
        }
    }

    fn hits(&self) -> impl DoubleEndedIterator<Item = &Hit> {
        self.first.iter().chain(&self.last)
    }
}

/// Returns a hash of what the patterns of reports ask of the numbers of a line: `0 failed` and `1
/// failed` have the same signature but not the same meaning, nor have `HTTP 200` and `HTTP 404`.
fn numbers(line: &[u8]) -> u64 {
    /// Number of bytes that are examined, as for a signature.
    const LOOKED_AT: usize = 400;
    let line = &line[..line.len().min(LOOKED_AT)];
    let mut hash = FxHasher::default();
    for word in line.split(|byte| !byte.is_ascii_alphanumeric()) {
        if let [first, rest @ ..] = word
            && word.iter().all(u8::is_ascii_digit)
        {
            hash.write_u8(match (first, rest.len()) {
                (b'0', 0) => 0,
                (b'0', _) => 1,
                (b'4' | b'5', 2) => 2,
                _ => 3,
            });
        }
    }
    hash.finish()
}

/// Returns the kind of a line: a hash of its first word, without numbers.
fn kind_of(line: &[u8]) -> u64 {
    let line = line.trim_ascii_start();
    let word = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    signature(&line[..word.min(24)])
}

/// Picks the lines that report failures. Unless `has_failed` is set, nothing is picked from a text
/// that does not end in a failure.
fn pick(
    view: &View,
    plan: &SamplePlan,
    kind: ContentKind,
    has_failed: bool,
) -> io::Result<Vec<Pick>> {
    let parts = plan.look(view.source(), Findings::of)?;
    let mut found = Findings::default();
    for part in parts {
        found.absorb(part);
    }
    // Code contains the words of failure reports although nothing failed.
    let is_code = kind == ContentKind::Code;
    let is_output = !is_code || found.hits().any(|hit| hit.report.is_output);
    // A log may report errors anywhere.
    let is_of_run = has_failed || kind == ContentKind::Log || found.ends_in_failure(view.bytes());
    match is_output && is_of_run {
        true => Ok(found.picked(view.bytes())),
        false => Ok(Vec::new()),
    }
}

impl FailureLines {
    /// If a reader asks for the reason of a failure, this many times as many lines as in an outline
    /// are taken around a report.
    const MORE: usize = 2;

    /// Returns the lines of a text that say how or why something failed; none if nothing failed.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read.
    pub fn of(view: &View, kind: ContentKind) -> io::Result<Self> {
        let plan = SamplePlan::spread(view.source(), 0)?;
        let picks = pick(view, &plan, kind, true)?;
        let mut lines = Self::ranked(view, &picks, Self::MORE)?;
        for (at, pick) in picks.iter().enumerate() {
            rest(view, pick, at, Self::MORE, &mut lines)?;
        }
        Ok(Self::new(lines, &picks))
    }

    /// Returns the picked lines and those around them that belong to them, by their numbers.
    fn ranked(view: &View, picks: &[Pick], more: usize) -> io::Result<FxHashMap<u64, FailureLine>> {
        let mut lines = FxHashMap::default();
        // The lines after the end of a step report only how the runner cleans up.
        if picks.first().is_some_and(|pick| !pick.is_step_end) {
            last_lines(view, picks.len().min(LAST_RANK), &mut lines)?;
        }
        for (at, pick) in picks.iter().enumerate() {
            block(view, pick, at, more, &mut lines)?;
        }
        Ok(lines)
    }

    fn new(lines: FxHashMap<u64, FailureLine>, picks: &[Pick]) -> Self {
        let mut lines: Vec<_> = lines.into_values().collect();
        lines.sort_by_key(|line| line.span.number);
        Self {
            lines,
            is_stamped: !picks.is_empty() && picks.iter().all(|pick| pick.is_stamped),
        }
    }
}

/// Returns the length, in bytes, of the prefix that a CI runner put before a line: a time stamp,
/// perhaps after the names of the job and the step.
#[must_use]
pub fn runner_prefix(line: &[u8]) -> usize {
    prefix(line)
}

impl Findings {
    /// Returns whether a CI runner reports that a step failed, or a line near the end reports a
    /// failure. The output of a failed run ends with such a line. Prose, such as a manual or a log
    /// of commits, may mention failures anywhere.
    fn ends_in_failure(&self, bytes: u64) -> bool {
        let is_within = |hit: &Hit, last: u64| hit.start >= bytes - bytes.min(last);
        self.hits().any(|hit| {
            let is_sure = hit.report.weight >= SURE && is_within(hit, NEAR_END.max(bytes / 10));
            let is_last = hit.report.weight >= STRONG && is_within(hit, LAST_WORDS);
            is_sure || is_last || hit.report.class == Class::StepEnd
        })
    }

    fn picked(&self, bytes: u64) -> Vec<Pick> {
        let is = |class: Class| move |hit: &&Hit| hit.report.class == class;
        // The first step that failed is the cause; steps after it may fail because of it.
        let end = self.hits().find(is(Class::StepEnd)).or_else(|| {
            self.hits()
                .rev()
                .find(|hit| is(Class::End)(hit) && hit.report.weight >= STRONG)
        });
        let until = end.map_or(bytes, |end| end.end);
        let step = self.steps.iter().rev().find(|step| step.start < until);
        let from = step.map_or(0, |step| step.start);
        let is_inside = |hit: &Hit| hit.start >= from && hit.start < until;
        let mut chosen = Chosen::default();
        if let Some(end) = end {
            chosen.add(self, end, END);
        }
        let strong = |class: Class| {
            move |hit: &&Hit| {
                hit.report.class == class && hit.report.weight >= STRONG && is_inside(hit)
            }
        };
        // The lines that say why the run failed or, if there are none, those that name what failed.
        let class = match self.hits().any(|hit| strong(Class::Error)(&hit)) {
            true => Class::Error,
            false => Class::Status,
        };
        let hits = self.hits().filter(strong(class));
        let best = hits.map(|hit| hit.report.weight).fold(0.0, f64::max);
        let strong = |hit: &&Hit| strong(class)(hit) && hit.report.weight >= best;
        let counts = self
            .hits()
            .rev()
            .filter(|hit| is(Class::Count)(hit) && hit.start < until);
        for count in counts.take(8) {
            chosen.add_if_new(self, count, OTHER, 2);
        }
        if let Some(first) = self.hits().find(strong) {
            chosen.add(self, first, MAIN);
        }
        if let Some(last) = self.hits().rev().find(strong) {
            chosen.add(self, last, MAIN);
        }
        if let (Some(step), Some(_)) = (step, end) {
            chosen.add(self, step, ALONE);
        }
        let is_told = best > 0.0;
        let mut others: Vec<(f64, &Hit)> = self
            .hits()
            .filter(|hit| hit.report.weight >= if is_told { STRONG } else { 1.0 })
            .map(|hit| (self.score(hit, is_inside(hit), bytes), hit))
            .collect();
        others.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.start.cmp(&b.1.start)));
        for (_, hit) in others {
            if chosen.picks.len() == PICKED {
                break;
            }
            let around = if hit.report.weight >= STRONG {
                OTHER
            } else {
                ALONE
            };
            chosen.add_if_new(self, hit, around, ALIKE);
        }
        let is_failure = end.is_some() || best > 0.0 || chosen.has_strong;
        match is_failure {
            true => chosen.picks,
            false => Vec::new(),
        }
    }

    /// Returns how informative a line is: its weight, reduced if there are many lines like it, if
    /// it is outside of the step that failed, and if it is far from the end.
    fn score(&self, hit: &Hit, is_inside: bool, bytes: u64) -> f64 {
        /// Maximum number of lines that are alike before their weight is reduced.
        const FEW: f64 = 16.0;
        /// The weight is divided by 1 + `FADING` × the number of doublings beyond `FEW`.
        const FADING: f64 = 0.25;
        /// The factor for a line at the beginning; at the end it is 1. The cause of a failure is
        /// usually near the end.
        const AT_START: f64 = 0.6;
        /// The factor for a line outside of the step that failed.
        const OUTSIDE: f64 = 0.4;
        let count = self.counts.get(&hit.signature).copied().unwrap_or(1).max(1);
        let rarity = 1.0 / (1.0 + (count as f64 / FEW).max(1.0).log2() * FADING);
        let place = AT_START + (1.0 - AT_START) * hit.start as f64 / bytes.max(1) as f64;
        let step = if is_inside { 1.0 } else { OUTSIDE };
        hit.report.weight * rarity * place * step
    }
}

#[derive(Default)]
struct Chosen {
    picks: Vec<Pick>,
    starts: FxHashSet<u64>,
    signatures: FxHashSet<u64>,
    kinds: FxHashMap<u64, usize>,
    has_strong: bool,
}

impl Chosen {
    fn add(&mut self, found: &Findings, hit: &Hit, around: Around) {
        if !self.starts.insert(hit.start) {
            return;
        }
        self.has_strong |= hit.report.weight >= STRONG;
        self.signatures.insert(hit.signature);
        *self.kinds.entry(hit.kind).or_default() += 1;
        self.picks.push(Pick {
            start: hit.start,
            count: found.counts.get(&hit.signature).copied().unwrap_or(1),
            around,
            is_stamped: hit.is_stamped,
            is_step_end: hit.report.class == Class::StepEnd,
        });
    }

    /// Adds a line, unless a line like it or `most` lines of its kind were added before.
    fn add_if_new(&mut self, found: &Findings, hit: &Hit, around: Around, most: usize) {
        let of_kind = self.kinds.get(&hit.kind).copied().unwrap_or(0);
        if of_kind < most && !self.signatures.contains(&hit.signature) {
            self.add(found, hit, around);
        }
    }
}

/// Returns the lines that say how or why a run failed, each with a rank; none if nothing failed.
pub(crate) fn outline(
    view: &View,
    plan: &SamplePlan,
    kind: ContentKind,
    has_failed: bool,
) -> io::Result<Vec<OutlineEntry>> {
    let picks = pick(view, plan, kind, has_failed)?;
    let found = FailureLines::new(FailureLines::ranked(view, &picks, 1)?, &picks);
    let entries = found.lines.into_iter().map(|one| {
        let entry = OutlineEntry::new(one.rank, 0, EntryKind::Failure, one.text);
        OutlineEntry {
            line: Some(one.span.number),
            ..entry
        }
    });
    Ok(entries.collect())
}

/// Adds the last lines of the text. Later lines have better ranks.
fn last_lines(view: &View, rank: usize, lines: &mut FxHashMap<u64, FailureLine>) -> io::Result<()> {
    let total = view.lines();
    let mut reader = view.lines_from((total + 1).saturating_sub(LAST_LINES).max(1))?;
    let mut last = Vec::new();
    while let Some((span, bytes)) = reader.next_bytes()? {
        let bytes = bytes.trim_ascii_end();
        let line = uncoloured(&bytes[prefix(bytes)..]);
        if line.trim_ascii().is_empty() || is_apart(&line) {
            continue;
        }
        last.push((span, String::from_utf8_lossy(&line).into_owned()));
    }
    for (span, text) in folded(&mut last) {
        let far = usize::try_from(total - span.number).unwrap_or(0);
        let line = FailureLine {
            span,
            rank: rank + far,
            is_report: false,
            text,
        };
        lines.insert(span.number, line);
    }
    Ok(())
}

/// Adds a picked line and the lines around it that belong to it, `more` times as many as in an
/// outline.
fn block(
    view: &View,
    pick: &Pick,
    at: usize,
    more: usize,
    lines: &mut FxHashMap<u64, FailureLine>,
) -> io::Result<()> {
    let number = view.line_of_offset(pick.start)?;
    let (before, after) = (pick.around.0 * more as u64, pick.around.1 * more);
    let first = number.saturating_sub(before).max(1);
    let mut reader = view.lines_from(first)?;
    let mut above: Vec<NumberedLine> = Vec::new();
    let mut indent = 0;
    let (mut taken, mut frames, mut blanks) = (0, (0, 0), 0);
    let (mut alike, mut last) = (0, None);
    let mut add = |span: LineSpan, rank: usize, text: String| {
        let new = || FailureLine {
            span,
            rank,
            is_report: false,
            text,
        };
        let line = lines.entry(span.number).or_insert_with(new);
        line.rank = line.rank.min(rank);
        line.is_report |= span.number == number;
    };
    while let Some((span, bytes)) = reader.next_bytes()? {
        let bytes = bytes.trim_ascii_end();
        let line = uncoloured(&bytes[prefix(bytes)..]);
        let line = &*line;
        let text = || String::from_utf8_lossy(line).into_owned();
        let is_blank = line.trim_ascii().is_empty();
        if span.number < number {
            match is_apart(line) {
                true if pick.around == MAIN => above.clear(),
                false if !is_blank => above.push((span, text())),
                _ => {}
            }
            continue;
        }
        if span.number == number {
            indent = line.len() - line.trim_ascii_start().len();
            let text = match pick.count {
                0..=1 => text(),
                count => format!("{} ({} like it)", text(), grouped(count)),
            };
            add(span, at, text);
            for (far, (span, text)) in folded(&mut above).into_iter().enumerate() {
                add(span, at + 2 + far * 2, text);
            }
            continue;
        }
        if taken >= after || is_apart(line) || line.starts_with(b"##[") {
            break;
        }
        if is_blank {
            blanks += 1;
            continue;
        }
        let depth = line.len() - line.trim_ascii_start().len();
        let is_detail = begins_as_detail(line.trim_ascii_start());
        // A test runner puts blank lines between the name of a test, what it compares, and the values.
        let belongs = (blanks < 2 && depth > indent) || (blanks < 4 && is_detail);
        // Only for the first and the last error, the next paragraphs may belong to the error.
        if !belongs && pick.around != MAIN && (blanks > 0 || taken > 1) {
            break;
        }
        if !belongs && classify(line).is_none() {
            let now = Some(signature(line));
            alike = if last == now { alike + 1 } else { 1 };
            last = now;
            if alike > KEPT_ALIKE {
                continue;
            }
        }
        if is_frame(line) {
            let frames = match is_library(line) {
                true => &mut frames.0,
                false => &mut frames.1,
            };
            *frames += 1;
            if *frames > FRAMES * more {
                continue;
            }
        }
        taken += 1;
        let far = match belongs {
            true => taken / 2,
            false => 1 + taken + 3 * blanks,
        };
        add(span, at + 1 + far, text());
    }
    Ok(())
}

/// Adds the other lines around a picked line, which are shown if there is room for them: frames of
/// stack traces, and lines that a blank line sets apart. Runs of lines that are alike are left out.
fn rest(
    view: &View,
    pick: &Pick,
    at: usize,
    more: usize,
    lines: &mut FxHashMap<u64, FailureLine>,
) -> io::Result<()> {
    /// How much worse the rank is than that of lines that belong to the picked line.
    const REST: usize = 3;
    let number = view.line_of_offset(pick.start)?;
    let (before, after) = (pick.around.0 * more as u64, (pick.around.1 * more) as u64);
    let mut reader = view.lines_from(number.saturating_sub(before).max(1))?;
    let mut around = Vec::new();
    while let Some((span, bytes)) = reader.next_bytes()?
        && span.number <= number + after
    {
        let line = bytes[prefix(bytes)..].trim_ascii();
        if !line.is_empty() {
            around.push((span, signature(line)));
        }
    }
    let runs = around.chunk_by(|one, next| one.1 == next.1);
    for (span, _) in runs.filter(|run| run.len() < FOLDED).flatten() {
        let far = usize::try_from(span.number.abs_diff(number)).unwrap_or(usize::MAX);
        lines.entry(span.number).or_insert_with(|| FailureLine {
            span: *span,
            rank: at + REST + far,
            is_report: false,
            text: String::new(),
        });
    }
    Ok(())
}

/// A line of the view with its text.
type NumberedLine = (LineSpan, String);

/// Returns lines from the last one up. Of a run of lines that report nothing and are alike, such as
/// the progress of a build, two are kept: the room is for what else led to the failure.
fn folded(lines: &mut Vec<NumberedLine>) -> Vec<NumberedLine> {
    /// The signature of all frames of stack traces.
    const FRAME: u64 = 0;
    let mut runs: Vec<(Option<u64>, Vec<NumberedLine>)> = Vec::new();
    for (span, text) in lines.drain(..).rev() {
        let line = text.as_bytes();
        let run = match is_frame(line) {
            true => Some(FRAME),
            false => classify(line).is_none().then(|| signature(line)),
        };
        match runs.last_mut() {
            Some((last, lines)) if run.is_some() && *last == run => lines.push((span, text)),
            _ => runs.push((run, vec![(span, text)])),
        }
    }
    for (_, lines) in &mut runs {
        if lines.len() >= FOLDED {
            let more = lines.len() - KEPT_ALIKE;
            lines.truncate(KEPT_ALIKE);
            let (_, text) = &mut lines[KEPT_ALIKE - 1];
            text.push_str(&format!(" ({more} like it left out)"));
        }
    }
    runs.into_iter().flat_map(|(_, lines)| lines).collect()
}

/// Returns whether a line continues the report above it.
fn begins_as_detail(line: &[u8]) -> bool {
    const DETAILS: [&str; 36] = [
        "at ",
        "|",
        "-->",
        "=",
        ">",
        "E ",
        "^",
        "~",
        "Caused by",
        "caused by",
        "...",
        "File \"",
        "note:",
        "help:",
        "+ ",
        "- ",
        "Expected",
        "Received",
        "Actual",
        "expected",
        "actual",
        "got",
        "want",
        "left:",
        "right:",
        "reason",
        "because",
        "symbol:",
        "location:",
        "Error",
        "error",
        "assert",
        "Caused",
        "where",
        "TypeError",
        "AssertionError",
    ];
    DETAILS
        .iter()
        .any(|detail| line.starts_with(detail.as_bytes()))
}

/// Returns whether a line is a frame of a stack trace.
fn is_frame(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_numbered = digits > 0 && line[digits..].starts_with(b": ");
    is_numbered
        || [&b"at "[..], b"... ", b"File \""]
            .iter()
            .any(|with| line.starts_with(with))
}

/// Returns whether a frame of a stack trace is in a library or a runtime, not in the code of the
/// project.
fn is_library(frame: &[u8]) -> bool {
    const PLACES: [&[u8]; 16] = [
        b"site-packages/",
        b"dist-packages/",
        b"/lib/python",
        b"\"<frozen ",
        b"node_modules/",
        b"(node:",
        b" node:",
        b"(internal/",
        b"/rustc/",
        b"/registry/src/",
        b"/usr/",
        b"/pkg/mod/",
        b"at java.",
        b"at jdk.",
        b"at sun.",
        b"at org.junit.",
    ];
    PLACES
        .iter()
        .any(|place| memchr::memmem::find(frame, place).is_some())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{texts, view_of};

    /// Returns the lines that are shown, at most `most` of them.
    fn shown(text: &str, most: usize) -> String {
        let view = view_of(text);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        let mut lines = outline(&view, &plan, ContentKind::Log, false).unwrap();
        lines.sort_by_key(|line| line.rank);
        lines.truncate(most);
        lines.sort_by_key(|line| line.line);
        texts(&lines)
    }

    #[test]
    fn numbers_that_decide_are_told_apart() {
        let lines = [
            "# tests failed",
            "failures: #, errors: 0",
            "make exited with exit code #",
            "GET /a failed: HTTP #",
            "GET /a-10 failed after # ms, 404 bytes",
            "retry 3: error # of 7",
        ];
        let numbers = ["1", "0", "404", "200", "10", "500", "45", "4000", "05"];
        let lines = numbers.map(|number| lines.map(|line| line.replace('#', number) + "\n"));
        let text = lines.concat().concat();
        let found = Findings::of(text.as_bytes(), 0);
        let place =
            |hit: &Hit| usize::try_from(hit.start).unwrap()..usize::try_from(hit.end).unwrap();
        let found: Vec<_> = found
            .hits()
            .map(|hit| (&text[place(hit)], hit.report))
            .collect();
        let want = text
            .lines()
            .filter_map(|line| Some((line, classify(line.as_bytes())?)));
        assert_eq!(found, want.collect::<Vec<_>>());
    }

    #[test]
    fn how_a_run_ended_and_why() {
        let passed: String = (0..300)
            .map(|i| format!("test parse_error_{i}_is_reported ... ok\n"))
            .collect();
        let failed = "test sums ... FAILED\n\nfailures:\n\n---- sums stdout ----\n\
            thread 'sums' panicked at src/lib.rs:7:5:\nassertion `left == right` failed\n  left: 3\n right: 4\n\n\
            failures:\n    sums\n\ntest result: FAILED. 300 passed; 1 failed\n\nerror: test failed, to rerun pass `--lib`\n";
        assert_snapshot!(shown(&format!("{passed}{failed}"), 9), @"
        301: test sums ... FAILED
        305: ---- sums stdout ----
        306: thread 'sums' panicked at src/lib.rs:7:5:
        307: assertion `left == right` failed
        308:   left: 3
        309:  right: 4
        312:     sums
        314: test result: FAILED. 300 passed; 1 failed
        316: error: test failed, to rerun pass `--lib`
        ");
    }

    #[test]
    fn progress_above_an_error_is_folded() {
        let progress: String = (0..40)
            .map(|i| format!("   Compiling part-{i} v1.4.{}\n", i % 7))
            .collect();
        let failed = "warning: unused variable\nerror[E0308]: mismatched types\n --> src/price.rs:112:17\n\
            error: could not compile shop due to 1 previous error\n";
        assert_snapshot!(shown(&format!("{progress}{failed}"), 30), @"
        39:    Compiling part-38 v1.4.3 (18 like it left out)
        40:    Compiling part-39 v1.4.4
        41: warning: unused variable
        42: error[E0308]: mismatched types
        43:  --> src/price.rs:112:17
        44: error: could not compile shop due to 1 previous error
        ");
    }

    #[test]
    fn the_step_that_failed_first_is_shown_without_time_stamps() {
        let step = |name: &str, lines: &[&str]| {
            let lines: String = lines
                .iter()
                .map(|line| format!("2026-11-24T10:00:00.1234567Z {line}\n"))
                .collect();
            format!("2026-11-24T10:00:00.1234567Z ##[group]Run {name}\n{lines}")
        };
        let text = [
            step("make lint", &["error: flaky, retried", "0 errors"]),
            step(
                "make test",
                &[
                    "a.c:3:5: error: expected ';'",
                    "##[error]Process completed with exit code 2.",
                ],
            ),
            step(
                "upload",
                &[
                    "Error: no coverage reports found",
                    "##[error]Process completed with exit code 1.",
                ],
            ),
        ];
        assert_snapshot!(shown(&text.concat(), 4), @"
        4: ##[group]Run make test
        5: a.c:3:5: error: expected ';'
        6: ##[error]Process completed with exit code 2. (2 like it)
        8: Error: no coverage reports found
        ");
    }

    #[test]
    fn repeated_lines_are_shown_once() {
        let text: String = (0..40)
            .map(|i| format!("/w/A.java:[{i},3] error: cannot find symbol\n"))
            .collect();
        assert_snapshot!(shown(&format!("{text}BUILD FAILURE\n"), 4), @"
        1: /w/A.java:[0,3] error: cannot find symbol (40 like it)
        2: /w/A.java:[1,3] error: cannot find symbol
        40: /w/A.java:[39,3] error: cannot find symbol
        41: BUILD FAILURE
        ");
    }

    #[test]
    fn a_log_shows_its_errors_without_its_other_entries() {
        let text: String = (0..300)
            .map(|i| match i {
                170 => "10:00:00 ERROR disk full on /data\n".to_owned(),
                _ => format!("10:00:00 INFO batch {i} ok\n"),
            })
            .collect();
        assert_snapshot!(shown(&text, 9), @"171: ERROR disk full on /data");
        let fine = text.replace("ERROR disk full on /data", "INFO disk fine");
        assert_eq!(shown(&fine, 9), "");
    }

    #[test]
    fn a_stack_is_cut_to_its_first_frames() {
        let frames: String = (0..60)
            .map(|i| format!("\tat a.B.c{i}(B.java:{i})\n"))
            .collect();
        let text = format!(
            "x\njava.lang.IllegalStateException: no\n{frames}Caused by: java.io.IOException: disk\n{frames}"
        );
        assert_snapshot!(shown(&text, 6), @"
        1: x
        2: java.lang.IllegalStateException: no
        3: 	at a.B.c0(B.java:0)
        4: 	at a.B.c1(B.java:1)
        63: Caused by: java.io.IOException: disk
        64: 	at a.B.c0(B.java:0)
        ");
    }

    #[test]
    fn frames_of_the_project_are_shown_besides_those_of_libraries() {
        let library: String = (0..30)
            .map(|i| format!("  File \"/v/site-packages/pluggy/a.py\", line {i} in f{i}\n"))
            .collect();
        let text = format!(
            "Fatal Python error: Segmentation fault\n{library}  File \"/w/test_native.py\", line 8 in test_read\n\
             {library}step.sh: line 1: 1358 Segmentation fault (core dumped)\n"
        );
        assert!(
            shown(&text, 9).contains("test_native.py"),
            "{}",
            shown(&text, 9)
        );
    }

    #[test]
    fn values_that_a_test_compares_stand_below_blank_lines() {
        let passed: String = (0..40).map(|i| format!("PASS test/a{i}.ts\n")).collect();
        let text = format!(
            "Error: no file a\n{passed}FAIL test/get.ts\n  ● reads options\n\n    expect(received).toBe(expected)\n\n\
             \x20   Expected: \"https://a\"\n    Received: undefined\n\n{passed}Error: no file b\n{passed}Tests: 1 failed, 7 passed\n\n\
             npm error code 1\n"
        );
        assert_snapshot!(shown(&text, 12), @r#"
        1: Error: no file a
        42: FAIL test/get.ts
        43:   ● reads options
        45:     expect(received).toBe(expected)
        47:     Expected: "https://a"
        48:     Received: undefined
        90: Error: no file b
        131: Tests: 1 failed, 7 passed
        133: npm error code 1
        "#);
    }

    #[test]
    fn a_run_that_failed_may_end_in_progress() {
        let text: String = (0..400)
            .map(|i| match i {
                170 => "error: module 170 needs libfoo 2.4\n".to_owned(),
                _ => format!("compiling module {i} of 400\n"),
            })
            .collect();
        let view = view_of(&text);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        let lines = |has_failed| outline(&view, &plan, ContentKind::Text, has_failed).unwrap();
        assert_eq!(lines(false), []);
        assert_snapshot!(texts(&lines(true)), @"
        169: compiling module 168 of 400 (6 like it left out)
        170: compiling module 169 of 400
        171: error: module 170 needs libfoo 2.4
        172: compiling module 171 of 400
        173: compiling module 172 of 400
        399: compiling module 398 of 400 (22 like it left out)
        400: compiling module 399 of 400
        ");
    }

    #[test]
    fn code_that_speaks_of_errors_has_not_failed() {
        let code =
            "fn f() -> Result<(), Error> {\n    return Err(Error::Failed); // error: failed\n}\n"
                .repeat(50);
        let view = view_of(&code);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        assert_eq!(outline(&view, &plan, ContentKind::Code, false).unwrap(), []);
    }
}
