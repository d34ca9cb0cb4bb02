//! Builds a page of results and the position of the next one.

use std::fmt;

use serde::{Deserialize, Serialize};
use spillgate_artifact::TokenBudget;
use spillgate_lookup::{Artifact, fitting};
use spillgate_text::TokenCounter;
use spillgate_untrusted::{in_json, lines};

use crate::engine::Engine;
use crate::error::{QueryError, bad_filter};
use crate::protocol::{Format, Message, Refusal, Request, Summary};
use crate::source::source;

/// Longest filter in bytes. jaq's parser recurses at most a few times per byte; the child's stack
/// is many times larger than that needs.
const LONGEST_FILTER: usize = 10_000;

/// Bytes of results that are requested per token of the budget. No usual text has more; if one has,
/// the page is a little smaller than it could be.
const BYTES_PER_TOKEN: u64 = 8;

/// Most bytes of a page, whatever its budget.
const LARGEST_WINDOW: u64 = 4 << 20;

/// Fewest bytes that are requested.
const LEAST_WINDOW: u64 = 1 << 10;

/// A filter, and the part of its results that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The jq filter.
    pub filter: &'a str,
    /// The first result of the page, counted from 0; earlier ones are skipped.
    pub start: u64,
    /// Bytes of that result to skip.
    pub byte: u64,
    /// Most tokens that the page may cost.
    pub budget: TokenBudget,
    /// Whether strings are written without quotes, as by `jq -r`.
    pub raw: bool,
    /// Whether all documents are read as one array, as by `jq -s`.
    pub slurp: bool,
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
        }
    }
}

/// A page of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPage {
    /// One result per line: JSON without white space, as `jq -c` writes it. The pages joined are
    /// all results.
    pub text: String,
    /// Results of which at least a part is on the page.
    pub results: u64,
    /// Number of all results; `None` if there are too many to count or counting took too long.
    pub total: Option<u64>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<QueryNext>,
    /// Notes for the reader: lines that were left out, documents on which the filter failed.
    pub notes: Vec<String>,
    /// The place where the filter's path leaves the document, if that is why all results are `null`
    /// or there are none.
    pub missing: Option<MissingPath>,
}

impl QueryPage {
    /// Returns the page as a person or a model sees it. Hidden characters become equivalent escapes
    /// in JSON. In `raw` strings they are marked, and no line can pass for one of ours.
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
    /// Bytes of that result that were on an earlier page; 0 if none.
    pub byte: u64,
}

/// The place where a path leaves a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPath {
    /// The longest part of the path that exists; `.` is the document itself.
    pub found: String,
    /// The kind of value there: `object`, `array`, `string`, …
    pub kind: String,
    /// The step that is missing, as written.
    pub key: String,
    /// The keys of the object there that are most similar to the step; at most eight.
    pub near: Vec<String>,
    /// Number of elements, if an array is there.
    pub length: Option<u64>,
}

impl fmt::Display for MissingPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            found, kind, key, ..
        } = self;
        if !self.near.is_empty() {
            let near: Vec<String> = self.near.iter().map(|key| format!("{key:?}")).collect();
            return write!(f, "{found} has no {key}; it has {}", near.join(", "));
        }
        match (kind.as_str(), self.length) {
            ("object", _) => write!(f, "{found} has no {key}; it is empty"),
            (_, Some(1)) => write!(f, "{found} has no {key}; it is an array of 1 element"),
            (_, Some(length)) => {
                write!(
                    f,
                    "{found} has no {key}; it is an array of {length} elements"
                )
            }
            ("null", _) => write!(f, "{found} has no {key}; it is null"),
            _ => write!(f, "{found} has no {key}; it is a {kind}"),
        }
    }
}

/// Runs a filter over an artifact. The documents are the artifact's JSON documents, one document
/// per line, rows of a table as objects, or lines as strings.
pub fn query(
    artifact: &Artifact,
    query: &Query<'_>,
    engine: &Engine,
    counter: &dyn TokenCounter,
) -> Result<QueryPage, QueryError> {
    if query.filter.len() > LONGEST_FILTER {
        return Err(QueryError::FilterTooLong {
            bytes: query.filter.len(),
            limit: LONGEST_FILTER,
        });
    }
    let source = source(artifact);
    let limits = &engine.limits;
    let window = query.budget.get().saturating_mul(BYTES_PER_TOKEN);
    let window = window.clamp(LEAST_WINDOW, LARGEST_WINDOW);
    let request = Request {
        filter: query.filter.to_owned(),
        raw: query.raw,
        slurp: query.slurp,
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
    engine.run(&request, &source, &mut |message| output.take(message))?;
    if let Some(refusal) = output.refused {
        return Err(refused(refusal, query, limits.depth));
    }
    if let Some(summary) = &output.summary {
        failed(summary, query)?;
    }
    output.reaches(query)?;
    Ok(page(&output, query, source.format, counter))
}

/// The child's messages.
#[derive(Debug, Default)]
struct ChildOutput {
    results: Vec<ResultPart>,
    full: bool,
    summary: Option<Summary>,
    refused: Option<Refusal>,
}

/// A result, or the part of it within the window.
#[derive(Debug)]
struct ResultPart {
    text: String,
    from: u64,
    whole: bool,
}

impl ChildOutput {
    fn take(&mut self, message: Message) {
        match message {
            Message::Result { text, from, whole } => {
                self.results.push(ResultPart { text, from, whole });
            }
            Message::Full => self.full = true,
            Message::End(summary) => self.summary = Some(summary),
            Message::Refused(refusal) => self.refused = Some(refusal),
        }
    }

    /// Returns an error if the page begins beyond the end of its first result.
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
        Refusal::Filter { message, at } => bad_filter(query.filter, message, at),
        Refusal::NotJson { message } => QueryError::NotJson { message },
        Refusal::TooDeep { at } => QueryError::TooDeep { limit: depth, at },
        Refusal::Failed { message } => QueryError::Died { how: message },
    }
}

/// Returns the error of a run without results, if it has one.
fn failed(summary: &Summary, query: &Query<'_>) -> Result<(), QueryError> {
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
                document: failure.document,
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

fn page(
    output: &ChildOutput,
    query: &Query<'_>,
    format: Format,
    counter: &dyn TokenCounter,
) -> QueryPage {
    let mut text = String::new();
    let mut ends = Vec::new();
    for part in &output.results {
        text.push_str(&part.text);
        if part.whole {
            text.push('\n');
        }
        ends.push(text.len());
    }
    let end = match text.is_empty() {
        true => 0,
        false => fitting(&text, &ends, query.budget, counter),
    };
    let whole = output.results.iter().zip(&ends);
    let whole = whole
        .take_while(|(part, line)| part.whole && **line <= end)
        .count();
    let begun = match whole {
        0 => 0,
        n => ends[n - 1],
    };
    let partial = output.results.get(whole).filter(|_| end > begun);
    let start = query.start + whole as u64;
    let total = output.total();
    let next = match partial {
        Some(part) => Some(QueryNext {
            start,
            byte: part.from + (end - begun) as u64,
        }),
        None if whole < output.results.len() => Some(QueryNext { start, byte: 0 }),
        None => (output.full && total.is_none_or(|total| total > start))
            .then_some(QueryNext { start, byte: 0 }),
    };
    text.truncate(end);
    let summary = output.summary.as_ref();
    QueryPage {
        text,
        results: whole as u64 + u64::from(partial.is_some()),
        total,
        next,
        notes: summary.map_or_else(Vec::new, |summary| notes(summary, format)),
        missing: summary.and_then(|summary| summary.missing.clone()),
    }
}

fn notes(summary: &Summary, format: Format) -> Vec<String> {
    let mut notes = Vec::new();
    let unit = match format {
        Format::Json => "document",
        Format::Ndjson | Format::Lines { .. } => "line",
        Format::Table { .. } => "row",
    };
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
            _ => format!(
                "the filter failed on {} {unit}s, first on {unit} {document}: {message}",
                summary.failed
            ),
        });
    }
    notes
}
