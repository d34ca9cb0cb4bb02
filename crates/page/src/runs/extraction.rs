//! One extraction: its question, why it found nothing, its answer with citations, and what it read.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use maud::{Markup, html};
use spillgate_artifact::{Handle, LineRange};
use spillgate_extract::{ExtractionRecord, Match, NOTHING, Op, OpKind, OutcomeRecord};
use spillgate_outline::grouped;

use super::trace::answered;
use super::view::{Seen, figures, no_step};
use super::why::why;
use crate::asked::in_path;
use crate::frame::{Trouble, View, live};
use crate::{PREFIX, Page, shown};

/// Characters of a question, a quote, and of what a model said of a chunk.
const QUESTION: usize = 4000;
const QUOTE: usize = 200;
const SAID: usize = 300;

/// Chunks in the table.
const CHUNKS: usize = 200;

/// The marks in an answer that say that something of it was not verified.
const MARKS: [&str; 3] = ["[unverified]", "[no such line]", "[found at L"];

/// `GET /runs/{name}/{at}`
pub(crate) async fn extraction(
    State(page): State<Arc<Page>>,
    Path((named, at)): Path<(String, usize)>,
    request: Request,
) -> Result<Response, Trouble> {
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| {
        let file = of.runs.named(&named)?;
        let run = of.runs.run(&file)?;
        if run.steps.len() <= at || !run.is_extraction(at) {
            return Err(no_step());
        }
        let (page, file, run) = (&*of, &file, &*run);
        let seen = Seen { page, file, run };
        Ok(html! {
            p { a href=(seen.address("")) { "The whole run" } }
            div #live data-live[seen.is_running()] { (shown_at(&seen, at)) }
        })
    });
    let content = work.await?;
    Ok(live(&page, &request, View::Runs, "Extraction", &content))
}

/// Returns an extraction that belongs to no run.
pub(super) fn alone(seen: &Seen<'_>) -> Markup {
    html! {
        (shown_at(seen, 0))
        (figures(seen))
    }
}

fn shown_at(seen: &Seen<'_>, at: usize) -> Markup {
    let op = &seen.run.steps[at].op;
    let record = op.extraction.as_deref();
    let outcome = record.and_then(|record| record.outcome.as_ref());
    let ended = match seen.run.agent {
        Some(_) => answered(op),
        None => seen.run.ended(true),
    };
    html! {
        div.heading {
            h1 { "Extraction" }
            span.badge.(ended.class) { (ended.word) }
        }
        @if let Some(why) = why(seen.run, at) {
            section.notice aria-label="Why there is no answer" {
                strong { (why.what) }
                (reasons(seen, record, &why.reasons))
            }
        }
        @if let Some(record) = record {
            pre.call { (seen.line(&record.extract, QUESTION)) }
        }
        (facts(seen, op))
        @if let Some(outcome) = outcome {
            h2 { "Answer" }
            pre.text.said { (marked(&seen.text(&outcome.body))) }
            (citations(seen, record.map(|record| record.handle), outcome))
        }
        (chunks(seen, at, record.map(|record| record.handle)))
    }
}

/// Returns the reasons as a list. Line numbers in them lead to the output.
pub(super) fn reasons(
    seen: &Seen<'_>,
    of: Option<&ExtractionRecord>,
    reasons: &[String],
) -> Markup {
    let linked = |reason: &str| {
        let reason = seen.line(reason, 600);
        let near = reason.strip_prefix("Nearest: L");
        let near = near.and_then(|rest| rest.split_once(' '));
        match (near, of) {
            (Some((line, text)), Some(of)) if line.parse::<u64>().is_ok() => {
                html! { "The nearest place is " (lines(seen, of.handle, line.parse().unwrap_or(1), None)) ": " code { (text) } }
            }
            _ => html! { (reason) },
        }
    };
    html! { ul { @for reason in reasons { li { (linked(reason)) } } } }
}

fn facts(seen: &Seen<'_>, op: &Op) -> Markup {
    let record = op.extraction.as_deref();
    let outcome = record.and_then(|record| record.outcome.as_ref());
    html! {
        dl.figures {
            @if let Some(record) = record {
                div { dt { "Output" } dd { (seen.output(record.handle)) } }
                div { dt { "Mode" } dd { (record.mode) } }
            }
            @if let Some(made) = &op.made { div { dt { "Strategy" } dd { (made.strategy) @if made.fell_back.is_some() { " (fell back)" } } } }
            @if let Some(outcome) = outcome {
                @let of = &outcome.coverage;
                div { dt { "Read" } dd { (grouped(of.bytes_examined)) " of " (grouped(of.bytes_total)) " bytes" } }
                @if of.chunks > 0 {
                    div { dt { "Chunks" } dd { (grouped(of.read_chunks)) " of " (grouped(of.chunks)) @if of.failed_chunks > 0 { ", " (grouped(of.failed_chunks)) " failed" } } }
                }
            }
            div { dt { "Took" } dd { (shown::took(op.took_ms)) } }
        }
    }
}

/// Returns an answer in which the marks of what was not verified stand out.
fn marked(answer: &str) -> Markup {
    let mut rest = answer;
    let mut parts = Vec::new();
    while let Some((at, mark)) = MARKS
        .iter()
        .filter_map(|mark| Some((rest.find(mark)?, mark)))
        .min()
    {
        let end = match mark.ends_with(']') {
            true => at + mark.len(),
            // The lines follow up to the bracket.
            false => rest[at..].find(']').map_or(rest.len(), |end| at + end + 1),
        };
        parts.push((&rest[..at], &rest[at..end]));
        rest = &rest[end..];
    }
    html! { @for (text, mark) in parts { (text) mark { (mark) } } (rest) }
}

fn citations(seen: &Seen<'_>, handle: Option<Handle>, outcome: &OutcomeRecord) -> Markup {
    html! {
        @if !outcome.citations.is_empty() {
            h2 { "Citations" }
            div.scroll tabindex="0" role="region" aria-label="Citations" {
                table.figures-of {
                    thead { tr { th scope="col" { "Lines" } th scope="col" { "Quote" } th scope="col" { "Verified" } } }
                    tbody {
                        @for one in &outcome.citations {
                            tr {
                                th scope="row" {
                                    (place(seen, handle, one.lines))
                                    @if let Some(path) = &one.path { " " code { (seen.line(path, QUOTE)) } }
                                }
                                td { @if let Some(quote) = &one.quote { code { (seen.line(quote, QUOTE)) } } @else { span.faint { "named, not quoted" } } }
                                td {
                                    @match one.matched {
                                        Some(Match::Exact) => span.badge.good { "word for word" },
                                        Some(Match::Normalised) => span.badge.good { "but for spaces and escapes" },
                                        None => span.faint { "–" },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if !outcome.unverified.is_empty() {
            h2 { "Not in the output" }
            p { "The answer has these values, but the output does not:" }
            ul { @for value in &outcome.unverified { li { code { (seen.line(value, QUOTE)) } " " span.badge.bad { "unverified" } } } }
        }
    }
}

fn place(seen: &Seen<'_>, handle: Option<Handle>, range: LineRange) -> Markup {
    html! {
        @if let Some(handle) = handle {
            (lines(seen, handle, range.first, Some(range.last)))
        } @else { (grouped(range.first)) "–" (grouped(range.last)) }
    }
}

/// Returns a link to lines of an output, if the store has it.
fn lines(seen: &Seen<'_>, handle: Handle, first: u64, last: Option<u64>) -> Markup {
    let name = match last {
        Some(last) if last > first => format!("{}–{}", grouped(first), grouped(last)),
        Some(_) => grouped(first),
        None => format!("line {}", grouped(first)),
    };
    html! {
        @if seen.page.store.manifest(handle).is_ok() {
            a href={ (PREFIX) "/a/" (in_path(handle)) "?tab=text#L" (first) } { (name) }
        } @else { (name) }
    }
}

/// The requests and look-ups of an extraction, with what they read and found.
fn chunks(seen: &Seen<'_>, at: usize, handle: Option<Handle>) -> Markup {
    let run = seen.run;
    let all = run.within(at).map(|at| &run.steps[at].op);
    let all: Vec<&Op> = all
        .filter(|op| matches!(op.kind, OpKind::Llm | OpKind::Tool))
        .collect();
    html! {
        @if !all.is_empty() {
            h2 { "What it read" }
            div.scroll tabindex="0" role="region" aria-label="What it read" {
                table.figures-of {
                    thead { tr {
                        th scope="col" { "Step" }
                        th scope="col" { "Lines" }
                        th scope="col" { "Result" }
                        th.number scope="col" { "Took" }
                        th.number scope="col" { "Tokens in" }
                        th.number scope="col" { "out" }
                        th scope="col" { "What was said" }
                    } }
                    tbody {
                        @for op in all.iter().take(CHUNKS) {
                            @let said = said(op);
                            tr {
                                th scope="row" { (seen.line(&op.name, QUOTE)) }
                                td { @if let Some(range) = op.lines { (place(seen, handle, range)) } @else { span.faint { "–" } } }
                                td { (result(op, said)) }
                                td.number { (shown::took(op.took_ms)) }
                                td.number { @if let Some(usage) = &op.usage { (grouped(usage.input)) } }
                                td.number { @if let Some(usage) = &op.usage { (grouped(usage.output)) } }
                                td.said { (seen.line(op.error.as_deref().unwrap_or(said), SAID)) }
                            }
                        }
                    }
                }
            }
            @if all.len() > CHUNKS { p.faint { "… and " (grouped((all.len() - CHUNKS) as u64)) " more, in the tree of the run." } }
        }
    }
}

fn result(op: &Op, said: &str) -> Markup {
    html! {
        @if op.error.is_some() { span.badge.bad { "failed" } }
        @else if op.unfinished { span.badge { "not finished" } }
        @else if said.starts_with(NOTHING) { span.badge.warn { "nothing" } }
        @else if op.kind == OpKind::Llm && op.lines.is_some() { span.badge.good { "found" } }
        @else { span.faint { "–" } }
    }
}

/// Returns what a model said, without the marks between which it answers.
fn said(op: &Op) -> &str {
    let said = op.response_preview.as_deref().unwrap_or_default().trim();
    let is_slot = said.starts_with("<ai-agent-");
    let said = match said.split_once('>').filter(|_| is_slot) {
        Some((_, answer)) => answer,
        None => said,
    };
    said.split_once("</ai-agent-")
        .map_or(said, |(answer, _)| answer)
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_an_answer_stand_out() {
        for (answer, html) in [
            ("no marks <b>", "no marks &lt;b&gt;"),
            (
                "a [unverified] b [found at L3, L5] c",
                "a <mark>[unverified]</mark> b <mark>[found at L3, L5]</mark> c",
            ),
            ("a [no such line]", "a <mark>[no such line]</mark>"),
            ("a [found at L3", "a <mark>[found at L3</mark>"),
        ] {
            assert_eq!(marked(answer).into_string(), html);
        }
    }

    #[test]
    fn what_a_model_said_has_no_slot() {
        for (text, want) in [
            (
                "<ai-agent-a1-FINAL format=\"text\">\nE4217\n</ai-agent-a1-FINAL>",
                "E4217",
            ),
            ("<ai-agent-a1-FINAL>cut", "cut"),
            ("<b>bold</b>", "<b>bold</b>"),
            ("", ""),
        ] {
            let op = Op::new(OpKind::Llm, "map").with_response(text);
            assert_eq!(said(&op), want);
        }
    }
}
