//! The list of outputs: filters, one page of rows, and the rows alone for the script that keeps the
//! page up to date.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::IF_NONE_MATCH;
use axum::response::{Html, Response};
use maud::{Markup, html};
use spillgate_artifact::{ContentKind, Manifest};
use spillgate_http_api::Problem;
use spillgate_outline::grouped;

use crate::asked::{Asked, in_path};
use crate::catalogue::{Filter, Names, Order, Part};
use crate::frame::{Trouble, View, framed, unless_known};
use crate::{PREFIX, Page, shown};

/// Rows of a page.
const ROWS: usize = 100;

/// Characters of a call in a row; the style sheet cuts its first part to the room that there is.
const CALL: usize = 240;

/// The ages that the filter offers, with their hours.
const AGES: [(&str, &str, u64); 4] = [
    ("1h", "last hour", 1),
    ("1d", "last 24 hours", 24),
    ("7d", "last 7 days", 7 * 24),
    ("30d", "last 30 days", 30 * 24),
];

const ORDERS: [(&str, &str, Order); 3] = [
    ("", "newest first", Order::Newest),
    ("size", "largest first", Order::Largest),
    ("tokens", "most tokens first", Order::Tokens),
];

/// Reads the filter of a request.
pub(crate) fn filter(asked: &Asked) -> Filter {
    let text = |name: &str| asked.text(name).map(str::to_owned);
    let since = asked.text("since");
    let since = AGES.iter().find(|(name, ..)| since == Some(*name));
    let order = asked.text("order").unwrap_or_default();
    let order = ORDERS.iter().find(|(name, ..)| *name == order);
    Filter {
        words: asked.text("q").map(str::to_lowercase),
        server: text("server"),
        tool: text("tool"),
        kind: asked.text("kind").and_then(kind),
        failed: asked.flag("failed"),
        pinned: asked.flag("pinned"),
        since: since.map(|(_, _, hours)| Duration::from_secs(hours * 3600)),
        order: order.map(|(.., order)| *order).unwrap_or_default(),
    }
}

fn kind(name: &str) -> Option<ContentKind> {
    serde_json::from_value(name.into()).ok()
}

/// What a request for the list asks for, read from the list.
struct Shown {
    asked: Asked,
    filter: Filter,
    /// Counted from 1.
    page: usize,
    part: Part,
    names: Names,
}

/// Reads what a request asks for, and makes markup of it where it does not hold up other requests:
/// calls are searched for secrets.
async fn shown_to(
    page: &Arc<Page>,
    asked: Asked,
    markup: fn(&Page, &Shown) -> Markup,
) -> Result<Markup, Problem> {
    let number = asked.number("page", 1_usize)?.max(1);
    let filter = filter(&asked);
    let of = Arc::clone(page);
    let work = Arc::clone(&page.api).work(move |api, _| {
        let now = api.tools().offloader.clock().now();
        let part_of = |number: usize| {
            let skipped = (number - 1).saturating_mul(ROWS);
            of.catalogue.part(&filter, skipped, ROWS, now)
        };
        let (mut number, mut part) = (number, part_of(number)?);
        let last = part.found.div_ceil(ROWS).max(1);
        if number > last {
            (number, part) = (last, part_of(last)?);
        }
        let names = of.catalogue.names();
        let shown = Shown {
            asked,
            filter,
            page: number,
            part,
            names,
        };
        Ok(markup(&of, &shown))
    });
    work.await
}

/// `GET /`
pub(crate) async fn list(
    State(page): State<Arc<Page>>,
    request: Request,
) -> Result<Html<String>, Trouble> {
    let asked = Asked::of_query(request.uri().query());
    let markup = |page: &Page, shown: &Shown| {
        html! {
            h1.sr { "Outputs" }
            (filters(shown))
            (rows(page, shown))
        }
    };
    let content = shown_to(&page, asked, markup).await?;
    Ok(framed(&page, View::Outputs, "Outputs", &content))
}

/// `GET /rows`: the table alone. A script that has the same already gets status 304.
pub(crate) async fn fragment(
    State(page): State<Arc<Page>>,
    request: Request,
) -> Result<Response, Trouble> {
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let asked = Asked::of_query(request.uri().query());
    let rows = shown_to(&page, asked, rows).await?;
    Ok(unless_known(known.as_ref(), &rows))
}

fn filters(shown: &Shown) -> Markup {
    let Shown {
        asked,
        filter,
        names,
        ..
    } = shown;
    let mut kinds: Vec<String> = names.kinds.iter().map(ToString::to_string).collect();
    kinds.sort_unstable();
    let kind = filter.kind.map(|kind| kind.to_string());
    let since = asked.text("since").unwrap_or_default();
    let order = asked.text("order").unwrap_or_default();
    html! {
        form.filters #filters method="get" action={ (PREFIX) "/" } role="search" aria-label="Filter the outputs" {
            input.wide type="search" name="q" value=[asked.text("q")] placeholder="Tool, server or command" aria-label="Tool, server or command";
            @if !names.servers.is_empty() {
                (choice("server", "any server", names.servers.iter().map(AsRef::as_ref), filter.server.as_deref()))
            }
            (choice("tool", "any tool", names.tools.iter().map(AsRef::as_ref), filter.tool.as_deref()))
            (choice("kind", "any kind", kinds.iter().map(String::as_str), kind.as_deref()))
            select name="since" aria-label="Age" {
                option value="" { "any time" }
                @for (name, words, _) in AGES { option value=(name) selected[name == since] { (words) } }
            }
            select name="order" aria-label="Order" {
                @for (name, words, _) in ORDERS { option value=(name) selected[name == order] { (words) } }
            }
            label { input type="checkbox" name="failed" value="1" checked[filter.failed]; " failed" }
            label { input type="checkbox" name="pinned" value="1" checked[filter.pinned]; " pinned" }
            button { "Show" }
            @if !filter.is_empty() { a href={ (PREFIX) "/" } { "Clear" } }
        }
    }
}

/// Returns a list to choose a name from. A name that was chosen is there even if nothing has it.
fn choice<'a>(
    name: &str,
    any: &str,
    all: impl Iterator<Item = &'a str>,
    chosen: Option<&str>,
) -> Markup {
    let all: Vec<&str> = all.collect();
    let missing = chosen.filter(|chosen| !all.contains(chosen));
    html! {
        select name=(name) aria-label=(any) {
            option value="" { (any) }
            @for one in missing.into_iter().chain(all) {
                option value=(one) selected[Some(one) == chosen] { (shown::line(one, 40)) }
            }
        }
    }
}

fn rows(page: &Page, shown: &Shown) -> Markup {
    let Part {
        manifests,
        found,
        known,
        is_whole,
    } = &shown.part;
    let first = (shown.page - 1).saturating_mul(ROWS) + 1;
    html! {
        div #list data-live[shown.page == 1] {
            p.status role="status" {
                @if *found == 0 {
                    @if shown.filter.is_empty() && *is_whole {
                        "Nothing is stored yet. " code { "spillgate run -- COMMAND" } " stores a large output."
                    } @else if *is_whole { "No output fits the filter." }
                } @else {
                    (grouped(first as u64)) "–" (grouped((first + manifests.len()).saturating_sub(1) as u64))
                    " of " (grouped(*found as u64))
                    @if found != known { " (" (grouped(*known as u64)) " in all)" }
                }
                @if !is_whole { span.faint { " The store is still being read: " (grouped(*known as u64)) " outputs so far." } }
            }
            @if !manifests.is_empty() {
                table.outputs {
                    thead {
                        tr {
                            th scope="col" { "Time" }
                            th scope="col" { "Tool" }
                            th scope="col" { "Command or arguments" }
                            th scope="col" { "Ended" }
                            th.number scope="col" { "Size" }
                            th.number scope="col" { "Tokens" }
                            th scope="col" { "Kind" }
                            th scope="col" { "Handle" }
                        }
                    }
                    tbody { @for one in manifests { (row(page, one)) } }
                }
            }
            (pages(shown))
        }
    }
}

fn row(page: &Page, manifest: &Manifest) -> Markup {
    let facts = &manifest.facts;
    let stats = &facts.stats;
    let handle = manifest.handle;
    let address = format!("{PREFIX}/a/{}", in_path(handle));
    let secrets = facts
        .secrets
        .as_ref()
        .is_some_and(|found| !found.found.is_empty());
    html! {
        tr data-key=(handle) {
            td.when { (shown::time(facts.created)) }
            td.tool { a.open href=(address) { (shown::source(facts)) } }
            td.call { code { (shown::parts_of_call(&shown::call(page.offloader(), manifest, CALL))) } }
            td.ended { (shown::ended(facts)) }
            td.number.size { (shown::size(stats.bytes)) }
            td.number.tokens { (shown::tokens(stats.tokens)) }
            td.kind { (stats.kind) }
            td.handle {
                a href=(address) tabindex="-1" { code { (handle) } }
                @if manifest.pinned { " " span.badge { "pinned" } }
                @if secrets { " " span.badge title="Marks stand in place of secrets" { "secrets" } }
            }
        }
    }
}

fn pages(shown: &Shown) -> Markup {
    let last = shown.part.found.div_ceil(ROWS).max(1);
    let number = shown.page;
    let to = |page: usize| {
        format!(
            "{PREFIX}/?{}",
            shown.asked.with(&[("page", &page.to_string())])
        )
    };
    shown::pages(number, last, &to)
}
