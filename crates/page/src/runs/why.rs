//! Why an extraction found nothing, or not everything, in plain sentences.

use spillgate_extract::{NOTHING, OpKind, OutcomeRecord, Status, Strategy};
use spillgate_outline::grouped;

use super::trace::Run;

/// Errors that are repeated.
const ERRORS: usize = 3;

/// What is said at the top of an extraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    /// What happened: `Nothing was found.`
    pub(crate) what: &'static str,
    /// The reasons, as sentences.
    pub(crate) reasons: Vec<String>,
}

/// Returns why an extraction has no answer, or only a part of one; `None` if it has one, and while it
/// runs.
pub(crate) fn why(run: &Run, at: usize) -> Option<Why> {
    let op = &run.steps[at].op;
    let said = |what, reasons| Some(Why { what, reasons });
    if let Some(error) = &op.error {
        return said("The extraction failed.", vec![sentence(error)]);
    }
    let outcome = op.extraction.as_ref().and_then(|one| one.outcome.as_ref());
    let Some(outcome) = outcome else {
        // An old trace says only how the answer was made.
        let fell_back = op.made.as_ref().and_then(|made| made.fell_back.as_deref());
        return match (fell_back, op.unfinished) {
            (Some(reason), _) => said("No model answered the question.", vec![sentence(reason)]),
            (None, true) if !run.is_open() || run.agent.is_none() => {
                let reason = "It was cancelled, or the run ended first.".to_owned();
                said(
                    "The extraction ended before it had an answer.",
                    vec![reason],
                )
            }
            _ => None,
        };
    };
    let found_nothing = outcome.body.trim_start().starts_with(NOTHING);
    let what = match outcome.status {
        Status::Found => return None,
        Status::Failed => "No model answered the question.",
        Status::Partial if !found_nothing => "The answer covers only a part of the output.",
        Status::Partial | Status::NotFound => "Nothing was found.",
    };
    said(what, reasons(run, at, outcome))
}

fn reasons(run: &Run, at: usize, outcome: &OutcomeRecord) -> Vec<String> {
    let op = &run.steps[at].op;
    let made = op.made.as_ref();
    let strategy = made.map(|made| made.strategy);
    let mut reasons = Vec::new();
    reasons.extend(
        made.and_then(|made| made.fell_back.as_deref())
            .map(sentence),
    );
    let coverage = &outcome.coverage;
    let part = part(coverage.bytes_examined, coverage.bytes_total);
    match strategy {
        Some(Strategy::FullChunked) => {
            let (read, all) = (coverage.read_chunks, coverage.chunks);
            reasons.push(match (read, all) {
                (1, 1) => format!("A model read the output in 1 chunk: {part}."),
                _ if read == all => format!("A model read all {} chunks: {part}.", grouped(all)),
                _ => format!(
                    "A model read {} of {} chunks: {part}.",
                    grouped(read),
                    grouped(all)
                ),
            });
            if outcome.status == Status::NotFound {
                reasons.push("It found no answer to the question in any of them.".to_owned());
            }
        }
        Some(Strategy::ReadGrep) => {
            let look_ups = run
                .within(at)
                .filter(|&at| run.steps[at].op.kind == OpKind::Tool);
            let look_ups = look_ups.count() as u64;
            let times = if look_ups == 1 {
                "1 look-up".to_owned()
            } else {
                format!("{} look-ups", grouped(look_ups))
            };
            reasons.push(format!(
                "A model looked into the output with {times} and saw {part}."
            ));
            if !coverage.is_whole() {
                let advice = "What it did not see can still contain the answer: the mode `full-chunked` reads everything.";
                reasons.push(advice.to_owned());
            }
        }
        Some(Strategy::Search) => {
            reasons.push(
                "The search, which needs no model, found no passage with words of the question."
                    .to_owned(),
            );
        }
        Some(Strategy::Truncate) => {
            reasons.push(format!("What stands in place of an answer are the beginning and the end of the output: {part}."));
        }
        None => {}
    }
    let failed = errors(run, at);
    if !failed.is_empty() {
        let chunks = match coverage.failed_chunks {
            0 => "Requests failed".to_owned(),
            1 => "1 chunk could not be read".to_owned(),
            many => format!("{} chunks could not be read", grouped(many)),
        };
        reasons.push(format!(
            "{chunks}: {}.",
            failed.join("; ").trim_end_matches('.')
        ));
    }
    // What the extraction itself found in the whole text, without a model. Words that do not occur
    // explain most, so they come first.
    let told = |start: &'static str| {
        let lines = outcome.body.lines();
        lines.filter_map(move |line| line.strip_prefix(start))
    };
    let absent = told("Not in the text: ")
        .map(|words| format!("Nowhere in the output, read or not by a model: {words}."));
    reasons.splice(0..0, absent);
    reasons.extend(told("Nearest: ").map(|place| format!("Nearest: {place}")));
    reasons
}

/// Returns the errors of requests to models, each once.
fn errors(run: &Run, at: usize) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    for at in run.within(at) {
        let op = &run.steps[at].op;
        let error = op.error.as_ref().filter(|_| op.kind == OpKind::Llm);
        if let Some(error) = error.filter(|error| !errors.contains(error)) {
            errors.push(error.clone());
        }
        if errors.len() == ERRORS {
            break;
        }
    }
    errors
}

/// Returns a share of a text in words: `38% of its text (1,200 of 3,100 bytes)`.
fn part(of: u64, all: u64) -> String {
    if of >= all {
        return format!("all of its text ({} bytes)", grouped(all));
    }
    // Not everything is never shown as 100%.
    let percent = (of as f64 / all as f64 * 100.0).floor();
    format!(
        "{percent}% of its text ({} of {} bytes)",
        grouped(of),
        grouped(all)
    )
}

fn sentence(text: &str) -> String {
    let mut letters = text.trim().trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
