//! One run: its figures, its time line, and its operations as a tree, live while it runs.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{Html, Response};
use maud::{Markup, html};
use spillgate_artifact::{Handle, Timestamp};
use spillgate_extract::{Decided, Op, OpKind};
use spillgate_http_api::Problem;
use spillgate_outline::grouped;

use super::extraction;
use super::timeline::{bar, kind, timeline};
use super::trace::{Ended, Run, answered};
use super::why::why;
use super::{TraceOnDisk, in_path};
use crate::asked::{Asked, in_path as handle_in_path};
use crate::frame::{Trouble, View, live};
use crate::{PREFIX, Page, shown};

/// Rows of a page.
const ROWS: usize = 50;

/// Extractions in vain that are named at the top.
const NAMED: usize = 5;

/// Characters of a task, a report or an answer, of a name, and of an error in a row.
const TEXT: usize = 16_000;
const NAME: usize = 60;
const ERROR: usize = 200;

/// Depth from which on operations are no longer indented.
const DEEPEST: usize = 14;

/// A run and the file that it was read from.
pub(super) struct Seen<'a> {
    pub(super) page: &'a Page,
    pub(super) file: &'a TraceOnDisk,
    pub(super) run: &'a Run,
}

impl Seen<'_> {
    /// Returns the address of the run, followed by `rest`.
    pub(super) fn address(&self, rest: &str) -> String {
        format!("{PREFIX}/runs/{}{rest}", in_path(&self.file.name))
    }

    /// Whether the run goes on.
    pub(super) fn is_running(&self) -> bool {
        self.run.is_open() && self.run.agent.is_some() && !self.file.is_stale()
    }

    /// Returns a text of a trace without secrets, on one line.
    pub(super) fn line(&self, text: &str, most: usize) -> String {
        shown::line(&self.page.offloader().redacted(text), most)
    }

    /// Returns a text of a trace without secrets, cut, with marks in place of hidden characters.
    pub(super) fn text(&self, text: &str) -> String {
        let text = self.page.offloader().redacted(text);
        let shown = match text.char_indices().nth(TEXT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.into_owned(),
        };
        shown::text(&shown).into_owned()
    }

    /// Returns a link to an output, if the store has it.
    pub(super) fn output(&self, handle: Handle) -> Markup {
        let is_here = self.page.store.manifest(handle).is_ok();
        html! {
            @if is_here {
                a href={ (PREFIX) "/a/" (handle_in_path(handle)) } { code { (handle) } }
            } @else {
                code title="This store does not have it: an agent removes its own store when it ends, unless --keep is given" { (handle) }
            }
        }
    }
}

/// `GET /runs/{name}`
pub(crate) async fn view(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response, Trouble> {
    let asked = Asked::of_query(request.uri().query());
    let number: usize = asked.number("page", 0)?;
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| {
        let file = of.runs.named(&named)?;
        let run = of.runs.run(&file)?;
        let (page, file, run) = (&*of, &file, &*run);
        let seen = Seen { page, file, run };
        let title = seen.line(run.agent.as_deref().unwrap_or("Extraction"), NAME);
        Ok((content(&seen, number), title))
    });
    let (content, title) = work.await?;
    Ok(live(&page, &request, View::Runs, &title, &content))
}

/// `GET /runs/{name}/{at}/step`: all that a trace has of an operation.
pub(crate) async fn step(
    State(page): State<Arc<Page>>,
    Path((named, at)): Path<(String, usize)>,
) -> Result<Html<String>, Problem> {
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| {
        let file = of.runs.named(&named)?;
        let run = of.runs.run(&file)?;
        let (page, file, run) = (&*of, &file, &*run);
        let seen = Seen { page, file, run };
        let step = run.steps.get(at).ok_or_else(no_step)?;
        Ok(details(&seen, &step.op))
    });
    Ok(Html(work.await?.into_string()))
}

pub(super) fn no_step() -> Problem {
    let what = "the trace has no such operation";
    Problem::callers(axum::http::StatusCode::NOT_FOUND, "no_step", what)
}

fn content(seen: &Seen<'_>, number: usize) -> Markup {
    let run = seen.run;
    let ended = run.ended(seen.file.is_stale());
    html! {
        p { a href={ (PREFIX) "/runs" } { "All runs" } }
        div #live data-live[seen.is_running()] {
            @if run.agent.is_some() { (head(seen, &ended)) } @else { (extraction::alone(seen)) }
            section aria-labelledby="over-time" {
                h2 #over-time { "Over time" }
                (timeline(run))
            }
            section aria-labelledby="operations" {
                h2 #operations { "Operations" }
                (tree(seen, number))
            }
        }
    }
}

fn head(seen: &Seen<'_>, ended: &Ended) -> Markup {
    let run = seen.run;
    html! {
        div.heading {
            h1 { (seen.line(run.agent.as_deref().unwrap_or_default(), NAME)) }
            span.badge.(ended.class) { (ended.word) }
        }
        @if let Some(why) = &ended.why { p.notice role="note" { (seen.line(why, TEXT)) } }
        (in_vain(seen))
        pre.call { (seen.text(&run.task)) }
        (figures(seen))
        @if let Some(report) = &run.report {
            details.pane open[ended.class == "good"] {
                summary { "Report" }
                div.load tabindex="0" role="region" aria-label="Report" { pre.text { (seen.text(report)) } }
            }
        }
    }
}

/// Names the extractions that found nothing, with the reasons.
fn in_vain(seen: &Seen<'_>) -> Markup {
    let run = seen.run;
    let all = (0..run.steps.len()).filter(|&at| run.is_extraction(at));
    let all: Vec<_> = all.filter_map(|at| Some((at, why(run, at)?))).collect();
    html! {
        @for (at, why) in all.iter().take(NAMED) {
            @let question = run.steps[*at].op.extraction.as_ref().map(|one| &one.extract);
            div.notice role="note" {
                strong { a href=(seen.address(&format!("/{at}"))) { "An extraction" } ": " (why.what) }
                @if let Some(question) = question { " The question was: " q { (seen.line(question, ERROR)) } }
                (extraction::reasons(seen, run.steps[*at].op.extraction.as_deref(), &why.reasons))
            }
        }
        @if all.len() > NAMED { p.faint { "… and " (grouped((all.len() - NAMED) as u64)) " more extractions in vain, in the tree below." } }
    }
}

pub(super) fn figures(seen: &Seen<'_>) -> Markup {
    let run = seen.run;
    let of = &run.figures;
    let some = |name: &str, count: u64| html! { @if count > 0 { div { dt { (name) } dd { (grouped(count)) } } } };
    html! {
        dl.figures {
            div { dt { "Started" } dd { (shown::time(run.started)) } }
            div { dt { "Took" } dd { (shown::took(run.root().took_ms)) } }
            (some("Turns", of.turns))
            (some("Calls of tools", of.calls))
            (some("Stored results", of.stored))
            (some("Look-ups", of.look_ups))
            @if run.agent.is_some() { (some("Extractions", of.extractions)) }
            (some("Sub-agents", of.agents))
            (some("Requests to models", of.requests))
            (some("Tokens in", of.usage.input))
            (some("of them cached", of.usage.cached_input))
            (some("Tokens out", of.usage.output))
            @if let Some(cost) = of.usage.cost { div { dt { "Cost" } dd { (cost) } } }
            (some("Failures", of.failures))
            (some("Fallbacks", of.fallbacks))
            div { dt { "Trace" } dd { (shown::size(seen.file.bytes)) ", written " (shown::time(Timestamp::new(seen.file.changed))) } }
        }
    }
}

/// Returns a page of the operations. While a run goes on, its last page is shown first.
fn tree(seen: &Seen<'_>, number: usize) -> Markup {
    let run = seen.run;
    let last = run.steps.len().div_ceil(ROWS).max(1);
    let number = match number {
        0 if seen.is_running() => last,
        number => number.clamp(1, last),
    };
    let first = (number - 1) * ROWS;
    let rows = run.steps.iter().enumerate().skip(first).take(ROWS);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Operations" {
            table.figures-of.steps {
                thead { tr {
                    th scope="col" { "Operation" }
                    th.number scope="col" { "Took" }
                    th scope="col" aria-label="When" {}
                    th.number scope="col" { "In" }
                    th.number scope="col" { "Out" }
                    th.number scope="col" { "Cost" }
                    th scope="col" { "Outcome" }
                } }
                tbody { @for (at, _) in rows { (row(seen, at)) } }
            }
        }
        (shown::pages(number, last, &|page| seen.address(&format!("?page={page}"))))
    }
}

fn row(seen: &Seen<'_>, at: usize) -> Markup {
    let step = &seen.run.steps[at];
    let op = &step.op;
    let depth = format!("d{}", step.depth.min(DEEPEST));
    // A row is the same as before if its facts are. The bars of a run that goes on get shorter.
    let usage = op.usage.as_ref();
    let name = match &op.server {
        Some(server) if *server != op.name => format!("{} ({server})", op.name),
        _ => op.name.clone(),
    };
    html! {
        tr data-key=(at) {
            th.(depth) scope="row" {
                details data-branch=(seen.address(&format!("/{at}/step"))) {
                    summary { span.kind.(kind(op).0) title=(kind(op).1) {} " " (seen.line(&name, NAME)) }
                }
            }
            td.number { (shown::took(op.took_ms)) }
            td { (bar(op, seen.run.root().took_ms)) }
            td.number { @if let Some(usage) = usage { (grouped(usage.input)) } }
            td.number { @if let Some(usage) = usage { (grouped(usage.output)) } }
            td.number { @if let Some(cost) = usage.and_then(|usage| usage.cost) { (cost) } }
            td { (outcome(seen, at)) }
        }
    }
}

/// Says what came of an operation.
fn outcome(seen: &Seen<'_>, at: usize) -> Markup {
    let op = &seen.run.steps[at].op;
    if seen.run.is_extraction(at) {
        let ended = answered(op);
        return html! {
            a href=(seen.address(&format!("/{at}"))) { "extraction" } " " span.badge.(ended.class) { (ended.word) }
            @if let Some(made) = &op.made { " by " (made.strategy) @if made.fell_back.is_some() { " " span.badge.warn { "fell back" } } }
        };
    }
    let tokens = op
        .tokens_shown
        .map(|count| format!("{} tokens", grouped(count)));
    let tokens = tokens.unwrap_or_default();
    html! {
        @match &op.decided {
            Some(Decided::Shown) => { "shown, " (tokens) }
            Some(Decided::Stored { handle, reason }) => { "stored as " (seen.output(*handle)) " (" (reason.to_string().replace('_', " ")) ")" }
            Some(Decided::NotStored { .. }) => { span.badge.bad { "not stored" } " beginning and end shown" }
            Some(Decided::Cut) => { "without its middle, " (tokens) }
            Some(Decided::Dropped) => { span.badge.bad { "dropped" } " no room" }
            Some(Decided::NotMade) => { span.badge.bad { "not made" } }
            Some(Decided::Refused) => { span.badge.bad { "refused" } }
            Some(Decided::Failed) => { span.badge.bad { "failed" } }
            None => @if op.error.is_some() { span.badge.bad { "failed" } } @else if op.unfinished { span.badge { @if seen.is_running() { "running" } @else { "not finished" } } }
        }
        @if op.cached { " " span.badge { "cached" } }
        @if op.left_out { " " span.badge { "left out later" } }
        @if let Some(error) = &op.error { " " (seen.line(error, ERROR)) }
        @if op.kind == OpKind::Llm { @if let Some(target) = &op.target { " " span.faint { (seen.line(target, NAME)) } } }
        @if let (Some(lines), None) = (op.lines, &op.error) { " " span.faint { "lines " (grouped(lines.first)) "–" (grouped(lines.last)) } }
    }
}

/// All that a trace has of an operation.
fn details(seen: &Seen<'_>, op: &Op) -> Markup {
    let some = |name: &str, value: Option<String>| html! { @if let Some(value) = value { div { dt { (name) } dd { (value) } } } };
    let bytes = |bytes: Option<u64>| bytes.map(shown::size);
    html! {
        dl.figures {
            (some("Kind", Some(kind(op).1.to_owned())))
            (some("Began after", Some(shown::took(op.at_ms))))
            (some("Messages", op.messages.map(grouped)))
            (some("Request", bytes(op.request_bytes)))
            (some("Response", bytes(op.response_bytes)))
            (some("Tokens shown", op.tokens_shown.map(grouped)))
            (some("Cached tokens", op.usage.map(|usage| grouped(usage.cached_input))))
            (some("Model", op.target.as_deref().map(|target| seen.line(target, NAME))))
        }
        @if let Some(error) = &op.error { pre.text.failed { (seen.text(error)) } }
        @if let Some(preview) = &op.response_preview {
            @if op.error.as_ref() != Some(preview) {
                p.faint { "The beginning of the answer" }
                pre.text { (seen.text(preview)) }
            }
        }
    }
}
