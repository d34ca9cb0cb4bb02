//! The list of runs and extractions.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use maud::{Markup, html};
use spillgate_artifact::Timestamp;
use spillgate_http_api::Problem;
use spillgate_outline::grouped;

use super::trace::{Ended, Figures};
use super::{Runs, TraceOnDisk, in_path};
use crate::asked::Asked;
use crate::frame::{Trouble, View, live};
use crate::{PREFIX, Page, shown};

/// Rows of a page.
const ROWS: usize = 50;

/// Bytes of traces that are read for a list. The rest is read for the next one, two seconds later.
const AT_ONCE: u64 = 24 << 20;

/// Characters of a task in a row.
const TASK: usize = 160;

/// What the list shows of a trace.
#[derive(Debug)]
pub(super) struct Summary {
    agent: Option<String>,
    task: String,
    started: Timestamp,
    took_ms: u64,
    /// How it ended, if its file is new and if it is stale.
    ended: [Ended; 2],
    figures: Figures,
}

/// A row: the file, and what is known of it.
type Row = (TraceOnDisk, Option<Arc<Summary>>);

/// A part of the list.
struct Part {
    rows: Vec<Row>,
    /// All files, those that are no traces included.
    files: usize,
    page: usize,
}

/// `GET /runs`
pub(crate) async fn list(
    State(page): State<Arc<Page>>,
    request: Request,
) -> Result<Response, Trouble> {
    let asked = Asked::of_query(request.uri().query());
    let number = asked.number("page", 1_usize)?.max(1);
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| {
        let part = of.runs.part(number)?;
        Ok(html! {
            h1 { "Runs" }
            (rows(&of, &part))
        })
    });
    let content = work.await?;
    Ok(live(&page, &request, View::Runs, "Runs", &content))
}

impl Runs {
    /// Returns a page of the list. Files that are no traces have no row.
    fn part(&self, page: usize) -> Result<Part, Problem> {
        let files = self.files()?;
        let mut summaries = self.summaries.lock().clone();
        let mut left = AT_ONCE;
        let last = files.len().div_ceil(ROWS).max(1);
        let page = page.min(last);
        let some = files.iter().skip((page - 1) * ROWS).take(ROWS);
        let mut rows = Vec::new();
        let mut kept = HashMap::new();
        for file in some {
            let version = (file.name.clone(), file.bytes, file.changed);
            let known = summaries.remove(&version);
            let summary = match known {
                Some(known) => known,
                None if file.bytes > left => {
                    rows.push((file.clone(), None));
                    continue;
                }
                None => {
                    left -= file.bytes;
                    self.run(file).ok().map(|run| Arc::new(Summary::of(&run)))
                }
            };
            kept.insert(version, summary.clone());
            rows.extend(summary.map(|summary| (file.clone(), Some(summary))));
        }
        // Only what the last list showed is kept.
        *self.summaries.lock() = kept;
        Ok(Part {
            rows,
            files: files.len(),
            page,
        })
    }
}

impl Summary {
    fn of(run: &super::Run) -> Self {
        Self {
            agent: run.agent.clone(),
            task: run.task.clone(),
            started: run.started,
            took_ms: run.root().took_ms,
            ended: [run.ended(false), run.ended(true)],
            figures: run.figures.clone(),
        }
    }
}

fn rows(page: &Page, part: &Part) -> Markup {
    let Some(directory) = &page.runs.directory else {
        return html! {
            div #live {
                @if page.has_tokens {
                    p.notice { "Clients of a gateway do not see the runs on its machine. " code { "spillgate ui" } " on that machine shows them." }
                } @else {
                p { "No directory of traces is set, so runs of agents and extractions leave none." }
                pre.call { "[ui]\ntraces = \"/home/me/traces\"" }
                p {
                    "With this in " code { "spillgate.toml" } ", each " code { "spillgate agent" } ", each " code { "spillgate extract" }
                    " and each " code { "tool_output" } " of a gateway leaves a trace in that directory, which this view shows."
                }
                }
            }
        };
    };
    html! {
        div #live data-live {
            p.status role="status" {
                @if part.files == 0 {
                    "There is no trace yet"
                    @if page.is_owner { " in " (shown::line(&directory.display().to_string(), 200)) }
                    ". Each " code { "spillgate agent" } " and " code { "spillgate extract" } " leaves one."
                } @else {
                    @let count = if part.files > ROWS { part.files } else { part.rows.len() };
                    (grouped(count as u64)) @if count == 1 { " trace" } @else { " traces, the one that changed last first" }
                }
            }
            @if !part.rows.is_empty() {
                div.scroll tabindex="0" role="region" aria-label="Runs" {
                    table.figures-of.runs {
                        thead { tr {
                            th scope="col" { "Started" }
                            th scope="col" { "Run" }
                            th scope="col" { "Ended" }
                            th scope="col" { "Task or question" }
                            th.number scope="col" { "Took" }
                            th.number scope="col" { "Turns" }
                            th.number scope="col" { "Calls" }
                            th.number scope="col" { "Stored" }
                            th.number scope="col" { "Failures" }
                            th.number scope="col" { "Tokens" }
                            th.number scope="col" { "Cost" }
                        } }
                        tbody { @for one in &part.rows { (row(page, one)) } }
                    }
                }
            }
            (pages(part))
        }
    }
}

fn row(page: &Page, (file, summary): &Row) -> Markup {
    let address = format!("{PREFIX}/runs/{}", in_path(&file.name));
    let Some(of) = summary else {
        return html! {
            tr data-key=(file.name) {
                td { (shown::time(Timestamp::new(file.changed))) }
                th scope="row" { a.open href=(address) { (shown::line(&file.name, 60)) } }
                td.faint colspan="9" { (shown::size(file.bytes)) ", not read yet" }
            }
        };
    };
    let ended = &of.ended[usize::from(file.is_stale())];
    let figures = &of.figures;
    let some =
        |count: u64| html! { @if count > 0 { (grouped(count)) } @else { span.faint { "–" } } };
    html! {
        tr data-key=(file.name) {
            td { (shown::time(of.started)) }
            th scope="row" {
                a.open href=(address) { @if let Some(agent) = &of.agent { (shown::name(agent)) } @else { "extraction" } }
            }
            td {
                span.badge.(ended.class) { (ended.word) }
                @if figures.in_vain > 0 && of.agent.is_some() {
                    " " span.badge.warn { (grouped(figures.in_vain)) @if figures.in_vain == 1 { " extraction in vain" } @else { " extractions in vain" } }
                }
            }
            td.task { (shown::line(&page.offloader().redacted(&of.task), TASK)) }
            td.number { (shown::took(of.took_ms)) }
            td.number { (some(figures.turns)) }
            td.number { (some(figures.calls)) }
            td.number { (some(figures.stored)) }
            td.number { (some(figures.failures)) }
            td.number { (some(figures.usage.input + figures.usage.output)) }
            td.number { @if let Some(cost) = figures.usage.cost { (cost) } @else { span.faint { "–" } } }
        }
    }
}

fn pages(part: &Part) -> Markup {
    let last = part.files.div_ceil(ROWS).max(1);
    shown::pages(part.page, last, &|page| {
        format!("{PREFIX}/runs?page={page}")
    })
}
