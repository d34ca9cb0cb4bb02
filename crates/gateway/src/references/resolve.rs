//! Reads the value to which a reference refers.

use serde_json::json;
use spillgate_artifact::{ByteRange, TokenBudget};
use spillgate_lookup::{Artifact, LookupError, ReadQuery, Span, read};
use spillgate_offload::{Offloader, RetrieveError};
use spillgate_query::{Engine, Query, query};

use super::find::{Part, Reference};
use spillgate_retrieval::error_text;

/// Returns the value of a reference, as JSON. If `reveals` is true, secrets are as they were stored,
/// except for a filter: its errors and whether it gives something would tell the caller about them.
pub(super) fn value(
    offloader: &Offloader,
    engine: &Engine,
    reference: &Reference,
    most_bytes: u64,
    reveals: bool,
) -> Result<String, String> {
    let artifact = match reveals && !matches!(reference.part, Part::Query(_)) {
        true => offloader.revealing().artifact(reference.handle),
        false => offloader.artifact(reference.handle),
    };
    let artifact = artifact.map_err(error_text)?;
    let most = Most(most_bytes);
    match &reference.part {
        Part::All => all(&artifact, most),
        Part::Lines(first, last) => lines(offloader, &artifact, *first, *last, most),
        Part::Bytes(range) => {
            let text = text(offloader, &artifact, *range, most)?;
            Ok(json!(text).to_string())
        }
        Part::Query(filter) => results(offloader, engine, &artifact, filter, most),
    }
}

/// Maximum size of an argument, in bytes.
#[derive(Debug, Clone, Copy)]
struct Most(u64);

impl Most {
    fn admit(self, bytes: u64) -> Result<(), String> {
        let Self(most) = self;
        if bytes <= most {
            return Ok(());
        }
        Err(format!(
            "it has {bytes} bytes; an argument by reference may have {most}: \
             take a part with `lines`, `bytes` or `query`"
        ))
    }
}

/// Returns the original text instead of the view, its readable form. If a tool writes this text to
/// a file, for example, the file then contains exactly what was stored.
fn all(artifact: &Artifact, most: Most) -> Result<String, String> {
    most.admit(artifact.manifest().facts.stats.bytes)?;
    let text = artifact.text().and_then(|text| text.bytes(0, u64::MAX));
    let text = text.map_err(|error| error_text(LookupError::from(error).into()))?;
    Ok(json!(String::from_utf8_lossy(&text)).to_string())
}

fn lines(
    offloader: &Offloader,
    artifact: &Artifact,
    first: u64,
    last: Option<u64>,
    most: Most,
) -> Result<String, String> {
    let total = artifact.view().lines();
    let last = last.unwrap_or(total).min(total);
    if first > last {
        return Err(format!(
            "line {first} is past the end: there are {total} lines"
        ));
    }
    let offset = |line| artifact.view().offset_of_line(line);
    let range = offset(first).and_then(|start| Ok((start, offset(last + 1)?)));
    let (start, end) = range.map_err(|error| error_text(LookupError::from(error).into()))?;
    let end = Some(end);
    let text = text(offloader, artifact, ByteRange { start, end }, most)?;
    // A single line is usually a value such as a name, so its line end is removed.
    let text = match first == last {
        true => text.trim_end_matches(['\r', '\n']),
        false => &text,
    };
    Ok(json!(text).to_string())
}

/// Returns a byte range of the view.
fn text(
    offloader: &Offloader,
    artifact: &Artifact,
    range: ByteRange,
    most: Most,
) -> Result<String, String> {
    let end = range.end.unwrap_or(u64::MAX).min(artifact.view().bytes());
    most.admit(end.saturating_sub(range.start))?;
    let asked = ReadQuery {
        span: Span::Bytes(range),
        // Every token has at least one byte, so this budget truncates nothing.
        budget: TokenBudget::new(most.0),
    };
    let page = read(artifact, asked, &**offloader.counter());
    Ok(page.map_err(|error| error_text(error.into()))?.text)
}

/// Returns a single result unchanged, and several results as an array.
fn results(
    offloader: &Offloader,
    engine: &Engine,
    artifact: &Artifact,
    filter: &str,
    most: Most,
) -> Result<String, String> {
    let asked = Query::new(filter, TokenBudget::new(most.0));
    let page = query(artifact, &asked, engine, &**offloader.counter()).map_err(|error| {
        let hint = error.hint();
        format!("{}; {hint}", error_text(RetrieveError::Query(error)))
    })?;
    if let Some(missing) = &page.missing {
        return Err(format!("the filter gives nothing: {missing}"));
    }
    // The budget is in tokens. Text within it may still exceed the limit in bytes, so check both.
    if page.next.is_some() || page.text.len() as u64 > most.0 {
        let Most(most) = most;
        return Err(format!(
            "the filter gives more than the {most} bytes that an argument by reference may have: \
             let it give less"
        ));
    }
    if !page.notes.is_empty() {
        return Err(format!(
            "the filter does not give all: {}",
            page.notes.join("; ")
        ));
    }
    let results: Vec<&str> = page.text.lines().collect();
    match *results {
        [] => Err("the filter gives nothing".to_owned()),
        [one] => Ok(one.to_owned()),
        _ => Ok(format!("[{}]", results.join(","))),
    }
}
