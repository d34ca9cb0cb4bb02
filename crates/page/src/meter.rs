//! The meter: what `spillgate stats` knows, as plots by day and as tables by server and tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Html;
use maud::{Markup, html};
use spillgate_artifact::Timestamp;
use spillgate_http_api::Problem;
use spillgate_outline::grouped;
use spillgate_retrieval::{Account, Sums};

use crate::asked::{Asked, in_path};
use crate::frame::{Trouble, View, framed};
use crate::plot::{self, Day};
use crate::{PREFIX, Page, shown};

/// Numbers of days that the plot can show.
const DAYS: [usize; 3] = [14, 30, 90];

/// Rows of a table; the others are added up in one.
const ROWS: usize = 100;

/// Outputs in the table of look-ups.
const OUTPUTS: usize = 25;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The price of a million tokens of a prompt if nothing else is asked for, in US dollars.
const PRICE: f64 = 3.0;

/// `GET /meter`
pub(crate) async fn meter(
    State(page): State<Arc<Page>>,
    request: Request,
) -> Result<Html<String>, Trouble> {
    let asked = Asked::of_query(request.uri().query());
    let days = asked.number("days", DAYS[1])?;
    let days = if DAYS.contains(&days) { days } else { DAYS[1] };
    let price: f64 = asked.number("price", page.prices.first().map_or(PRICE, |one| one.1))?;
    if !(0.0..=1e6).contains(&price) {
        return Err(Problem::bad("`price` must be a number of dollars from 0 on").into());
    }
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |api, _| {
        let entries = of.ledger.entries();
        let entries = entries.map_err(|error| Problem::ours("ledger", error.to_string()))?;
        let now = api.tools().offloader.clock().now();
        let account = Account::of(&entries);
        Ok(content(&of, &account, now, days, price))
    });
    let content = work.await?;
    Ok(framed(&page, View::Meter, "Meter", &content))
}

fn content(page: &Page, account: &Account, now: Timestamp, days: usize, price: f64) -> Markup {
    html! {
        h1 { "Meter" }
        (headline(account, price))
        (choices(page, days, price))
        section aria-labelledby="by-day" {
            h2 #by-day { "By day" }
            (plot::days(&by_day(&account.days, now, days)))
        }
        (table("By server", "Server", &account.servers, price))
        (table("By tool", "Tool", &account.tools, price))
        (looked_up(page, account))
        (extractions(account))
        (tool_lists(account))
        p.faint {
            (grouped(account.passed_through)) " results passed through the gateway unchanged. The figures are those of "
            code { "spillgate stats" } ". Times are in UTC; what a person reads on this page is not counted."
        }
    }
}

/// Returns the days up to now, also those without entries.
fn by_day(sums: &BTreeMap<String, Sums>, now: Timestamp, days: usize) -> Vec<Day> {
    let none = Sums::default();
    let back = (0..days as u64).rev();
    let days = back.filter_map(|back| {
        let ago = std::time::Duration::from_secs(back * DAY);
        let at = Timestamp::new(now.system_time().checked_sub(ago)?).to_string();
        let name = at.split('T').next()?.to_owned();
        let sums = sums.get(&name).unwrap_or(&none);
        Some(Day::new(name, sums))
    });
    days.collect()
}

fn headline(account: &Account, price: f64) -> Markup {
    let total = &account.total;
    let dearest = account
        .tools
        .iter()
        .max_by_key(|(_, sums)| sums.tokens_read());
    let about = if total.is_estimate() { "≈" } else { "" };
    let saved = total.tokens_saved;
    let dollars = saved as f64 * price / 1e6;
    html! {
        div.cards {
            div.card.main {
                strong { (about) @if saved < 0 { "−" } (grouped(saved.unsigned_abs())) }
                span { @if saved < 0 { "tokens more than without Spillgate" } @else { "tokens kept out of the context" } }
            }
            (card(total.tokens_in, total.tokens_in_estimated, "came in, in results that were too large"))
            (card(total.tokens_shown, 0, "were shown in their place"))
            (card(total.tokens_retrieved, total.tokens_retrieved_estimated, &read_later(total)))
            (card(total.tokens_schema, total.tokens_schema_estimated, "were definitions of our own tools"))
            @if total.tokens_lost > 0 { (card(total.tokens_lost, 0, "were lost: they could not be stored")) }
            @if let Some((name, sums)) = dearest.filter(|(_, sums)| sums.tokens_read() > 0) {
                (card(sums.tokens_read(), 0, &format!("were those of {}, the tool that costs most", shown::line(name, 40))))
            }
            div.card {
                strong { (about) (money(dollars)) }
                span { "at " (money(price)) " for a million tokens, if each is sent once" }
            }
        }
    }
}

/// Says how tokens were read later.
fn read_later(total: &Sums) -> String {
    let look_ups = grouped(total.retrievals);
    match total.extraction.count {
        0 => format!("were read later, in {look_ups} look-ups"),
        1 => format!("were read later, in {look_ups} look-ups and 1 extraction"),
        many => format!(
            "were read later, in {look_ups} look-ups and {} extractions",
            grouped(many)
        ),
    }
}

/// Returns a figure, with its measured and its estimated part apart.
fn card(count: u64, estimated: u64, what: &str) -> Markup {
    html! {
        div.card {
            strong { @if estimated > 0 { "≈" } (grouped(count)) }
            span { (what) }
            @if estimated > 0 {
                span.faint { (grouped(count.saturating_sub(estimated))) " measured, " (grouped(estimated)) " estimated" }
            }
        }
    }
}

/// Returns what tokens of a prompt cost, if each is sent once.
fn dollars(tokens: u64, price: f64) -> f64 {
    tokens as f64 * price / 1e6
}

fn money(dollars: f64) -> String {
    let sign = if dollars < 0.0 { "−" } else { "" };
    match dollars.abs() {
        few if few > 0.0 && few < 0.01 => format!("{sign}${few:.4}"),
        sum => format!("{sign}${sum:.2}"),
    }
}

fn choices(page: &Page, days: usize, price: f64) -> Markup {
    html! {
        form.filters method="get" action={ (PREFIX) "/meter" } {
            label { "Days "
                select name="days" { @for one in DAYS { option value=(one) selected[one == days] { (one) } } }
            }
            label { "Dollars for a million tokens "
                input type="number" name="price" min="0" step="any" value=(price) list="prices";
            }
            datalist #prices {
                @for (model, price) in &page.prices { option value=(price) { (model) } }
            }
            button { "Show" }
        }
    }
}

/// Returns a table of figures under a heading and a text. The first column has names, the others numbers.
fn figures(title: &str, columns: &[&str], about: &Markup, rows: &Markup) -> Markup {
    html! {
        section {
            h2 { (title) }
            (about)
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table.figures-of {
                    thead { tr { @for (at, column) in columns.iter().enumerate() { th.number[at > 0] scope="col" { (column) } } } }
                    tbody { (rows) }
                }
            }
        }
    }
}

/// Returns a table of what servers or tools cost, those that cost most first.
fn table(title: &str, name: &str, all: &BTreeMap<String, Sums>, price: f64) -> Markup {
    let mut rows: Vec<_> = all.iter().collect();
    rows.sort_by_key(|(_, sums)| std::cmp::Reverse((sums.tokens_read(), sums.tokens_in)));
    let most = rows.first().map_or(0, |(_, sums)| sums.tokens_read());
    let in_dollars = format!("Cost at {}", money(price));
    let columns = [
        name,
        "Cost, tokens",
        in_dollars.as_str(),
        "Share",
        "Stored",
        "Came in, measured",
        "estimated",
        "Shown",
        "Look-ups",
        "Read later",
        "Kept out",
        "ms each",
    ];
    let shown =
        html! { @for (name, sums) in rows.iter().take(ROWS) { (row(name, sums, most, price)) } };
    html! {
        @if let Some((dearest, sums)) = rows.first() {
            (figures(title, &columns, &dearest_first(dearest, sums, all, price), &shown))
        }
        @if rows.len() > ROWS { p.faint { "… and " (grouped((rows.len() - ROWS) as u64)) " more, which " code { "spillgate stats" } " lists." } }
    }
}

/// Says which server or tool costs most, and what a cost is.
fn dearest_first(name: &str, sums: &Sums, all: &BTreeMap<String, Sums>, price: f64) -> Markup {
    let read = sums.tokens_read();
    let total: u64 = all.values().map(Sums::tokens_read).sum();
    let percent = read as f64 / total.max(1) as f64 * 100.0;
    html! {
        p {
            @if read > 0 {
                strong { (shown::line(name, 80)) } " costs most: " (grouped(read)) " tokens, "
                (money(dollars(read, price))) ", " (format!("{percent:.0}")) "% of all. "
            }
            span.faint { "The cost is what models read: messages in place of large results, look-ups, and definitions of our tools. Results that fit have no figures here." }
        }
    }
}

fn row(name: &str, sums: &Sums, most: u64, price: f64) -> Markup {
    let about = if sums.is_estimate() { "≈" } else { "" };
    let sign = if sums.tokens_saved < 0 { "−" } else { "" };
    let read = sums.tokens_read();
    let is_about = sums.tokens_retrieved_estimated + sums.tokens_schema_estimated > 0;
    html! {
        tr {
            th scope="row" { (shown::line(name, 80)) }
            td.number.cost { @if is_about { "≈" } (grouped(read)) }
            td.number { (money(dollars(read, price))) }
            td { (plot::share(read, most)) }
            td.number { (grouped(sums.offloaded)) }
            td.number { (grouped(sums.tokens_in.saturating_sub(sums.tokens_in_estimated))) }
            td.number { @if sums.tokens_in_estimated > 0 { "≈" (grouped(sums.tokens_in_estimated)) } @else { "–" } }
            td.number { (grouped(sums.tokens_shown)) }
            td.number { (grouped(sums.retrievals)) }
            td.number { (grouped(sums.tokens_retrieved)) }
            td.number { (about) (sign) (grouped(sums.tokens_saved.unsigned_abs())) }
            td.number { (format!("{:.1}", sums.milliseconds)) }
        }
    }
}

/// What was looked up again, and how often it was found.
fn looked_up(page: &Page, account: &Account) -> Markup {
    let mut outputs: Vec<_> = account.outputs.iter().collect();
    outputs.sort_by_key(|(_, of)| std::cmp::Reverse((of.times, of.tokens)));
    let total = &account.total;
    let asked = total.found + total.in_vain;
    let percent = total.found as f64 / asked.max(1) as f64 * 100.0;
    let columns = ["Output", "Look-ups", "Found", "Not found", "Tokens shown"];
    let rows = html! {
        @for (handle, of) in outputs.iter().take(OUTPUTS) {
            tr {
                th scope="row" {
                    @if page.store.manifest(**handle).is_ok() {
                        a href={ (PREFIX) "/a/" (in_path(**handle)) } { (shown::line(&of.tool, 60)) }
                    } @else { (shown::line(&of.tool, 60)) " " span.faint { "(removed)" } }
                    " " code.faint { (handle) }
                }
                td.number { (grouped(of.times)) }
                td.number { (grouped(of.found)) }
                td.number { (grouped(of.in_vain)) }
                td.number { (grouped(of.tokens)) }
            }
        }
    };
    html! {
        @if !outputs.is_empty() {
            (figures("Looked up again", &columns, &html! {}, &rows))
            @if outputs.len() > OUTPUTS { p.faint { "… and " (grouped((outputs.len() - OUTPUTS) as u64)) " more outputs." } }
            p.faint {
                @if asked > 0 {
                    (grouped(total.found)) " of " (grouped(asked)) " searches, filters and extractions found what they asked for (" (format!("{percent:.0}")) "%). "
                }
                "Reading lines asks for nothing, so it counts as neither. "
                (grouped(account.outputs.len() as u64)) " of " (grouped(total.offloaded)) " stored outputs were looked up."
            }
        }
    }
}

fn extractions(account: &Account) -> Markup {
    let all = &account.total.extraction;
    let asked = account.tools.iter();
    let asked = asked.filter(|(_, sums)| sums.extraction.count > 0);
    let asked = asked.map(|(name, sums)| (name.as_str(), &sums.extraction));
    let columns = [
        "Tool",
        "Answers",
        "Fell back",
        "Calls",
        "Tokens in",
        "Cached",
        "Out",
        "Cost",
        "ms each",
    ];
    let rows = html! {
        @for (name, of) in asked.chain([("all", all)]) {
            tr {
                th scope="row" { (shown::line(name, 80)) }
                @for figure in [of.count, of.fallbacks, of.calls, of.input_tokens, of.cached_input_tokens, of.output_tokens] {
                    td.number { (grouped(figure)) }
                }
                td.number { (of.price()) }
                td.number { (format!("{:.1}", of.milliseconds)) }
            }
        }
    };
    html! {
        @if all.count > 0 {
            (figures("Extractions", &columns, &html! {}, &rows))
            p.faint { "These tokens belong to other models, so they do not reduce what was kept out." }
        }
    }
}

fn tool_lists(account: &Account) -> Markup {
    let columns = ["Server", "Tools", "Tokens of all", "Listed"];
    let rows = html! {
        @for (server, list) in &account.tool_lists {
            tr {
                th scope="row" { (shown::line(server, 80)) }
                @for figure in [list.tools, list.tokens, list.listed] { td.number { (grouped(figure)) } }
            }
        }
    };
    html! {
        @if !account.tool_lists.is_empty() {
            (figures("Lists of tools, in every request of a model", &columns, &html! {}, &rows))
        }
    }
}
