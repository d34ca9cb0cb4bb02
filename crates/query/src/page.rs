//! Builds a page of a filter's results, and tells where the next page starts.

use std::fmt;

use serde::{Deserialize, Serialize};
use spillgate_artifact::TokenBudget;
use spillgate_lookup::{Artifact, fitting};
use spillgate_outline::grouped;
use spillgate_text::{TokenCounter, push_key};
use spillgate_untrusted::{in_json, lines};

use crate::child::work;
use crate::engine::{Engine, QueryLimits};
use crate::error::{QueryError, bad_filter};
use crate::protocol::{Format, LONG_RUN, Message, Reading, Refusal, Request, Summary};
use crate::source::{Source, source};

/// Maximum length of a filter, in bytes. jaq's parser recurses at most a few times per byte. The
/// stack of the child process is many times larger than this recursion needs.
const LONGEST_FILTER: usize = 10_000;

/// Bytes of results that are requested from the child process per token of the budget. Ordinary
/// text has fewer bytes per token. If a text has more, the page is a little smaller than it could
/// be.
const BYTES_PER_TOKEN: u64 = 8;

/// Maximum size of a page, in bytes, whatever its token budget.
const LARGEST_WINDOW: u64 = 4 << 20;

/// Minimum number of bytes of results that are requested from the child process.
const LEAST_WINDOW: u64 = 1 << 10;

/// A filter, and the part of its results to return.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The jq filter.
    pub filter: &'a str,
    /// The first result of the page, counted from 0. Earlier results are skipped.
    pub start: u64,
    /// Number of bytes at the start of the page's first result to skip.
    pub byte: u64,
    /// Maximum size of the page, in tokens.
    pub budget: TokenBudget,
    /// Whether strings are written without quotes, as by `jq -r`.
    pub raw: bool,
    /// Whether all documents are read as one array, as by `jq -s`. If this is false, the form of
    /// the filter decides whether the filter reads each record or the array of all records.
    pub slurp: bool,
    /// Whether equal results in a row become one line, `N × RESULT`. It has no effect on `raw`
    /// results, which could themselves look like such a line.
    pub fold: bool,
}

impl<'a> Query<'a> {
    /// Creates a query for the first page of a filter's results.
    #[must_use]
    pub fn new(filter: &'a str, budget: TokenBudget) -> Self {
        Self {
            filter,
            start: 0,
            byte: 0,
            budget,
            raw: false,
            slurp: false,
            fold: false,
        }
    }
}

/// A page of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPage {
    /// One result per line: JSON without white space, as `jq -c` writes it. All pages joined
    /// together contain all results. If results are folded, a line may stand for several of them.
    pub text: String,
    /// Number of results of which at least a part is on the page.
    pub results: u64,
    /// Total number of results; `None` if there are too many to count or counting took too long.
    pub total: Option<u64>,
    /// The start of the next page; `None` if there is none.
    pub next: Option<QueryNext>,
    /// Notes for the reader: wrong assumptions of the filter about the data, documents on which it
    /// failed, lines that were left out, whether the filter read each record or the array of all
    /// records, and whether results are folded.
    pub notes: Vec<String>,
    /// The place where the filter's path leaves the document. Set only if this explains why there
    /// are no results or all results are empty (`null`, `[]`, `false`, `0`).
    pub missing: Option<MissingPath>,
}

impl QueryPage {
    /// Returns the page as a person or a model sees it. In JSON, hidden characters are replaced by
    /// equivalent escapes. In `raw` strings they are marked, and no line can be mistaken for one of
    /// our own lines.
    #[must_use]
    pub fn render(&self, raw: bool) -> String {
        match raw {
            true => lines(&self.text).into_owned(),
            false => in_json(&self.text).into_owned(),
        }
    }
}

/// The start of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QueryNext {
    /// The first result, counted from 0.
    pub start: u64,
    /// Number of bytes of this first result that were on an earlier page, or 0.
    pub byte: u64,
}

/// The place where a path leaves a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPath {
    /// The longest beginning of the path that exists; `.` is the document itself.
    pub found: String,
    /// The kind of the value at `found`: `object`, `array`, `string`, …
    pub kind: String,
    /// The step that is missing, as written.
    pub key: String,
    /// Up to eight keys of the object at `found`, or of an array's elements if none of them has the
    /// missing key, the most similar to the missing step first. Keys
    /// of more than 200 characters are not among them, because a shortened key cannot be used.
    pub near: Vec<String>,
    /// Number of the object's other keys, which are not in `near`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Number of elements, if the value at `found` is an array.
    pub length: Option<u64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl MissingPath {
    /// Returns the name of the key that is missing; `None` if the step is an index or `[]`.
    fn name(&self) -> Option<String> {
        let name = self.key.strip_prefix('.')?;
        match name.starts_with('"') {
            true => serde_json::from_str(name).ok(),
            false => Some(name.to_owned()),
        }
    }

    /// Returns the key that was probably meant, as jq writes it.
    fn meant(&self) -> Option<String> {
        let near = self.near.first()?;
        let plain = |name: &str| -> String {
            let letters = name.chars().filter(|c| c.is_alphanumeric());
            letters.flat_map(char::to_lowercase).collect()
        };
        let (asked, there) = (plain(&self.name()?), plain(near));
        // Up to one change per three characters counts as a typing error.
        let most = asked.chars().count().min(there.chars().count()) / 3;
        let is_close = strsim::osa_distance(&asked, &there) <= most;
        let is_part = asked.len() > 2 && there.contains(&asked);
        (is_close || is_part).then(|| {
            let mut path = String::new();
            push_key(
                &mut path,
                &serde_json::Value::from(near.as_str()).to_string(),
            );
            path
        })
    }

    fn keys(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near: Vec<String> = self.near.iter().map(|key| format!("{key:?}")).collect();
        write!(f, "{}", near.join(", "))?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {} more", grouped(more)),
        }
    }
}

impl fmt::Display for MissingPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            found, kind, key, ..
        } = self;
        if let Some(length) = self.length.filter(|_| !self.near.is_empty()) {
            let s = if length == 1 { "" } else { "s" };
            write!(
                f,
                "{found} has no {key}; it is an array of {length} element{s}, which have "
            )?;
            return self.keys(f);
        }
        if let Some(meant) = self.meant() {
            write!(f, "{found} has no {key}; did you mean {meant}? It has ")?;
            return self.keys(f);
        }
        if !self.near.is_empty() {
            write!(f, "{found} has no {key}; it has ")?;
            return self.keys(f);
        }
        match (kind.as_str(), self.length) {
            ("object", _) => write!(f, "{found} has no {key}; it is empty"),
            (_, Some(length)) => {
                let s = if length == 1 { "" } else { "s" };
                write!(
                    f,
                    "{found} has no {key}; it is an array of {length} element{s}"
                )?;
                match (self.name(), found.as_str()) {
                    (None, _) => Ok(()),
                    (_, ".") => write!(f, ": write .[]{key}"),
                    (_, found) => write!(f, ": write {found}[]{key}"),
                }
            }
            ("null", _) => write!(f, "{found} has no {key}; it is null"),
            _ => write!(f, "{found} has no {key}; it is a {kind}"),
        }
    }
}

/// Runs a filter over an artifact. Depending on the artifact's format, its documents are JSON
/// documents, one JSON document per line, rows of a table as objects, or lines as strings.
pub fn query(
    artifact: &Artifact,
    query: &Query<'_>,
    engine: &Engine,
    counter: &dyn TokenCounter,
) -> Result<QueryPage, QueryError> {
    let run = |request: &Request, source: &Source<'_>, take: &mut dyn FnMut(Message)| {
        engine.run(request, source, take)
    };
    answered(artifact, query, &engine.limits, counter, &run)
}

/// Like [`query`], but runs the filter within this process, without limits. It is only for tests
/// that run many filters that always end. Never use it for filters of a model (ADR 22).
#[doc(hidden)]
pub fn query_unconfined(
    artifact: &Artifact,
    query: &Query<'_>,
    counter: &dyn TokenCounter,
) -> Result<QueryPage, QueryError> {
    let run = |request: &Request, source: &Source<'_>, take: &mut dyn FnMut(Message)| {
        let mut said = Vec::new();
        work(request, source.bytes, &mut said)?;
        let messages = serde_json::Deserializer::from_slice(&said).into_iter();
        messages.for_each(|message| take(message.expect("invariant: work writes messages")));
        Ok(())
    };
    answered(artifact, query, &QueryLimits::default(), counter, &run)
}

/// Runs a request on a source and passes the messages of the run to a callback.
type Run<'r> = &'r dyn Fn(&Request, &Source<'_>, &mut dyn FnMut(Message)) -> Result<(), QueryError>;

fn answered(
    artifact: &Artifact,
    query: &Query<'_>,
    limits: &QueryLimits,
    counter: &dyn TokenCounter,
    run: Run<'_>,
) -> Result<QueryPage, QueryError> {
    if query.filter.len() > LONGEST_FILTER {
        return Err(QueryError::FilterTooLong {
            bytes: query.filter.len(),
            limit: LONGEST_FILTER,
        });
    }
    let source = source(artifact);
    let window = query.budget.get().saturating_mul(BYTES_PER_TOKEN);
    let window = window.clamp(LEAST_WINDOW, LARGEST_WINDOW);
    let request = Request {
        filter: query.filter.to_owned(),
        raw: query.raw,
        slurp: query.slurp,
        fold: query.fold && !query.raw,
        start: query.start,
        byte: query.byte,
        window: usize::try_from(window).unwrap_or(usize::MAX),
        counted: limits.counted,
        format: source.format,
        from: source.from,
        length: source.bytes.len().saturating_sub(source.from),
        memory: limits.memory,
        cpu: limits.cpu.as_secs().max(1),
        depth: limits.depth,
    };
    let mut output = ChildOutput::default();
    run(&request, &source, &mut |message| output.take(message))?;
    if let Some(refusal) = output.refused {
        return Err(refused(refusal, query, limits.depth));
    }
    if let Some(summary) = &output.summary {
        failed(summary, query, source.format)?;
    }
    output.reaches(query)?;
    Ok(page(&output, query, source.format, counter))
}

/// The messages that the child process has sent so far.
#[derive(Debug, Default)]
struct ChildOutput {
    results: Vec<ResultPart>,
    full: bool,
    summary: Option<Summary>,
    refused: Option<Refusal>,
}

/// A result, or the part of it that is within the requested bytes.
#[derive(Debug)]
struct ResultPart {
    text: String,
    from: u64,
    whole: bool,
    /// How often the result occurs in a row.
    times: u64,
}

impl ChildOutput {
    fn take(&mut self, message: Message) {
        match message {
            Message::Result { text, from, whole } => {
                self.results.push(ResultPart {
                    text,
                    from,
                    whole,
                    times: 1,
                });
            }
            Message::Again(times) => {
                // The time limit for counting starts with this report, so no other message may
                // follow. If `full` were not set, the page would then look complete.
                self.full |= times >= LONG_RUN;
                if let Some(part) = self.results.last_mut() {
                    part.times += times;
                }
            }
            Message::Full => self.full = true,
            Message::End(summary) => self.summary = Some(*summary),
            Message::Refused(refusal) => self.refused = Some(refusal),
        }
    }

    /// Returns an error if the first result has fewer bytes than the query skips.
    fn reaches(&self, query: &Query<'_>) -> Result<(), QueryError> {
        if let Some(part) = self.results.first()
            && part.whole
            && part.text.is_empty()
            && part.from < query.byte
        {
            return Err(QueryError::PastResult {
                asked: query.byte,
                result: query.start,
            });
        }
        Ok(())
    }

    fn total(&self) -> Option<u64> {
        let summary = self.summary.as_ref();
        summary
            .filter(|summary| summary.complete)
            .map(|summary| summary.results)
    }
}

fn refused(refusal: Refusal, query: &Query<'_>, depth: usize) -> QueryError {
    match refusal {
        Refusal::Filter { message, at, fix } => bad_filter(query.filter, message, at, fix),
        Refusal::NotJson { message } => QueryError::NotJson { message },
        Refusal::TooDeep { at } => QueryError::TooDeep { limit: depth, at },
        Refusal::Failed { message } => QueryError::Died { how: message },
    }
}

/// Returns an error if a complete run has no results because the filter failed or no document could
/// be read, or if the page begins after the last result.
fn failed(summary: &Summary, query: &Query<'_>, format: Format) -> Result<(), QueryError> {
    if !summary.complete {
        return Ok(());
    }
    if let (0, Some(failure)) = (summary.results, &summary.failure) {
        let message = failure.message.clone();
        return Err(match summary.missing.clone() {
            Some(missing) => QueryError::NoSuchPath {
                message,
                missing: Box::new(missing),
            },
            None => QueryError::Failed {
                message,
                place: place(failure.document, format),
                hints: summary.hints.clone(),
            },
        });
    }
    if let Some((first, why)) = &summary.first_bad
        && summary.bad == summary.documents
    {
        let message = format!("no line is, the first is {first}: {why}");
        return Err(QueryError::NotJson { message });
    }
    let is_behind =
        query.start > summary.results || query.start == summary.results && query.byte > 0;
    match is_behind {
        true => Err(QueryError::PastEnd {
            asked: query.start,
            total: summary.results,
        }),
        false => Ok(()),
    }
}

/// A line of a page.
struct PageLine {
    /// Where the line ends in the text of the page.
    end: usize,
    /// Number of results that the line stands for.
    results: u64,
    from: u64,
    is_whole: bool,
}

/// Minimum number of equal results in a row that are folded into one line.
const LEAST_FOLDED: u64 = 4;

/// Returns the text and the lines of the results. If `fold` is set, equal results in a row become
/// one line.
fn page_lines(results: &[ResultPart], fold: bool) -> (String, Vec<PageLine>) {
    let mut text = String::new();
    let mut lines = Vec::new();
    for part in results {
        let (copies, times) = match fold && part.times >= LEAST_FOLDED {
            true => (1, part.times),
            // `fold` is also false if even the folded line of a longer run does not fit the page.
            // Then a few copies are enough.
            false => (part.times.min(LEAST_FOLDED), 1),
        };
        for _ in 0..copies {
            if times > 1 {
                text.push_str(&format!("{} × ", grouped(times)));
            }
            text.push_str(&part.text);
            if part.whole {
                text.push('\n');
            }
            lines.push(PageLine {
                end: text.len(),
                results: times,
                from: part.from,
                is_whole: part.whole,
            });
        }
    }
    (text, lines)
}

fn page(
    output: &ChildOutput,
    query: &Query<'_>,
    format: Format,
    counter: &dyn TokenCounter,
) -> QueryPage {
    let fit = |text: &str, lines: &[PageLine]| {
        let ends: Vec<usize> = lines.iter().map(|line| line.end).collect();
        match text.is_empty() {
            true => 0,
            false => fitting(text, &ends, query.budget, counter),
        }
    };
    let (mut text, mut lines) = page_lines(&output.results, true);
    let mut end = fit(&text, &lines);
    if lines
        .first()
        .is_some_and(|line| line.results > 1 && line.end > end)
    {
        // The first line must be cut. The next page can continue a cut line only if the line stands
        // for a single result.
        (text, lines) = page_lines(&output.results[..1], false);
        end = fit(&text, &lines);
    }
    let whole = lines
        .iter()
        .take_while(|line| line.is_whole && line.end <= end);
    let whole = whole.count();
    let begun = match whole {
        0 => 0,
        n => lines[n - 1].end,
    };
    let partial = lines
        .get(whole)
        .filter(|line| end > begun && line.results == 1);
    let end = if partial.is_some() { end } else { begun };
    let shown: u64 = lines[..whole].iter().map(|line| line.results).sum();
    let start = query.start + shown;
    let total = output.total();
    let known: u64 = output.results.iter().map(|part| part.times).sum();
    let next = match partial {
        Some(line) => Some(QueryNext {
            start,
            byte: line.from + (end - begun) as u64,
        }),
        None if shown < known => Some(QueryNext { start, byte: 0 }),
        None => (output.full && total.is_none_or(|total| total > start))
            .then_some(QueryNext { start, byte: 0 }),
    };
    text.truncate(end);
    let summary = output.summary.as_ref();
    let mut notes = summary.map_or_else(Vec::new, |summary| notes(summary, format));
    if lines[..whole].iter().any(|line| line.results > 1) {
        notes.push("`N × RESULT` stands for N equal results in a row".to_owned());
    }
    QueryPage {
        text,
        results: shown + u64::from(partial.is_some()),
        total,
        next,
        notes,
        missing: summary.and_then(|summary| summary.missing.clone()),
    }
}

/// Returns the word for one document of this format, for messages.
fn unit(format: Format) -> &'static str {
    match format {
        Format::Json => "document",
        Format::Ndjson | Format::Lines { .. } => "line",
        Format::Table { .. } => "row",
    }
}

/// Names the document with this number, or the array of all documents if it is 0.
fn place(document: u64, format: Format) -> String {
    match (document, unit(format)) {
        (0, unit) => format!("the array of all {unit}s"),
        (number, unit) => format!("{unit} {number}"),
    }
}

fn notes(summary: &Summary, format: Format) -> Vec<String> {
    let mut notes = summary.hints.clone();
    let unit = unit(format);
    if let Some((first, why)) = &summary.first_bad {
        notes.push(match summary.bad {
            1 => format!("1 {unit} was left out: {unit} {first}: {why}"),
            bad => format!("{bad} {unit}s were left out, the first is {unit} {first}: {why}"),
        });
    }
    if let Some(failure) = &summary.failure {
        let (document, message) = (failure.document, &failure.message);
        notes.push(match (format, summary.documents) {
            (Format::Json, 1) => {
                format!(
                    "the filter failed after {} results: {message}",
                    failure.after
                )
            }
            _ if document == 0 => {
                let (after, place) = (failure.after, place(document, format));
                format!("the filter failed on {place} after {after} results: {message}")
            }
            _ => format!(
                "the filter failed on {} {unit}s, first on {unit} {document}: {message}",
                summary.failed
            ),
        });
    }
    if let Some(reading) = summary.reading {
        let read = match reading {
            Reading::All => format!("`.` was the array of all {unit}s"),
            Reading::Each => format!("`.` was each {unit} in turn"),
        };
        let why = summary.not_read.as_ref();
        notes.push(why.map_or(read.clone(), |why| {
            format!("{read}, because read the other way the filter fails: {why}")
        }));
    }
    notes
}

#[cfg(test)]
mod tests;
