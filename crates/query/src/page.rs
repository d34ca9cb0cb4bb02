//! Makes a page of results and the call for the next one.

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

/// Bytes of a filter. jaq's parser recurses a few times a byte at most, for
/// which the child's stack is large enough many times over.
const LONGEST_FILTER: usize = 10_000;

/// Bytes of a page for each token of its budget: more than any text has, or
/// the page is a little smaller than it might be.
const BYTES_PER_TOKEN: u64 = 8;

/// Bytes of a page, whatever its budget.
const LARGEST_WINDOW: u64 = 4 << 20;

/// Bytes that are asked for at least.
const LEAST_WINDOW: u64 = 1 << 10;

/// A filter, and which part of its results is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The jq filter.
    pub filter: &'a str,
    /// Results to skip: the first of the page, from 0.
    pub start: u64,
    /// Bytes of that result to skip.
    pub byte: u64,
    /// What the page may cost.
    pub budget: TokenBudget,
    /// Strings without quotes, as `jq -r` writes them.
    pub raw: bool,
    /// All documents as one array, as `jq -s` reads them.
    pub slurp: bool,
}

impl<'a> Query<'a> {
    /// The first page of a filter's results.
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
    /// A result a line: JSON without white space, as `jq -c` writes it. Pages
    /// put together are all results.
    pub text: String,
    /// Results of which at least a part is on the page.
    pub results: u64,
    /// Results in all; `None` when there are too many to count or counting took
    /// too long.
    pub total: Option<u64>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<QueryNext>,
    /// What else is to be said: lines that were left out, documents on which the
    /// filter failed.
    pub notes: Vec<String>,
    /// Where the filter's path leads nowhere, if that is why there are only
    /// `null`s or nothing.
    pub missing: Option<MissingPath>,
}

impl QueryPage {
    /// The page as a person or a model sees it. In JSON what is hidden becomes an escape,
    /// which means the same; in `raw` strings it is marked, and no line passes for one of
    /// ours.
    #[must_use]
    pub fn render(&self, raw: bool) -> String {
        match raw {
            true => lines(&self.text).into_owned(),
            false => in_json(&self.text).into_owned(),
        }
    }
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct QueryNext {
    /// Its first result, from 0.
    pub start: u64,
    /// Bytes of that result which were on an earlier page; 0 for none.
    pub byte: u64,
}

/// The place at which a path leaves a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingPath {
    /// The longest part of the path that exists; `.` is the document itself.
    pub found: String,
    /// What is there: `object`, `array`, `string`, …
    pub kind: String,
    /// The step that leads nowhere, as it was written.
    pub key: String,
    /// The keys of the object there that are most like it; at most eight.
    pub near: Vec<String>,
    /// Elements of the array there.
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

/// Runs a filter over an artifact: JSON documents, a document a line, rows of a
/// table as objects, or lines as strings.
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

/// What the child said.
#[derive(Debug, Default)]
struct ChildOutput {
    results: Vec<ResultPart>,
    full: bool,
    summary: Option<Summary>,
    refused: Option<Refusal>,
}

/// A result, or what the window shows of it.
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

    /// The error of a page that begins behind the end of its first result.
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

/// The error of a run that gave nothing, if it was one.
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
