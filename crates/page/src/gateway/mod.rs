//! The gateway behind the page: its servers, clients, settings and the end of its log.

mod samples;

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use maud::{Markup, html};
use spillgate_outline::grouped;

use crate::asked::Asked;
use crate::frame::{Trouble, View, live};
use crate::level::Level;
use crate::{PREFIX, Page, shown};
use samples::Samples;

/// The method whose requests are calls of tools.
const CALL: (&str, &str) = ("method", "tools/call");

/// The outcomes of a request that failed. One that the client cancelled did not.
const FAILED: [&str; 5] = ["error", "timeout", "upstream_gone", "refused", "invalid"];

/// Most rows of each table.
const ROWS: usize = 500;

/// Characters of a setting's value, and of a line of the log.
const VALUE: usize = 300;
const LINE: usize = 2000;

/// A gateway that can be looked at while it runs.
pub trait GatewayWatch: fmt::Debug + Send + Sync {
    /// Returns the metrics in the text format of OpenMetrics.
    fn metrics(&self) -> String;

    /// Returns the servers, in the order of the configuration.
    fn servers(&self) -> Vec<WatchedServer>;

    /// Returns the names by which connected clients introduced themselves; `None` for one that has
    /// not yet.
    fn clients(&self) -> Vec<Option<String>>;

    /// Returns the settings in force. Values that are secret must be left out.
    fn settings(&self) -> Vec<WatchedSetting>;

    /// Returns the newest lines of the log, the oldest first.
    fn log(&self) -> Vec<String>;
}

/// A server of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedServer {
    /// The name.
    pub name: String,
    /// Whether it is open, in a word: `up`, `idle` or `resting`.
    pub state: &'static str,
    /// How it is reached: the name of a program, or an address without paths and secrets.
    pub reached: String,
    /// The number of its tools, if it is known.
    pub tools: Option<usize>,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedSetting {
    /// The name, as in the file: `ui.port`.
    pub key: String,
    /// The value.
    pub value: String,
    /// Where it comes from: a file, the environment, the command line, or the built-in default.
    pub source: String,
}

/// `GET /gateway`
pub(crate) async fn gateway(
    State(page): State<Arc<Page>>,
    request: Request,
) -> Result<Response, Trouble> {
    let asked = Asked::of_query(request.uri().query());
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| Ok(content(&of, &asked)));
    let content = work.await?;
    Ok(live(&page, &request, View::Gateway, "Gateway", &content))
}

fn content(page: &Page, asked: &Asked) -> Markup {
    let Some(gateway) = &page.gateway else {
        return html! {
            h1 { "Gateway" }
            div #live {
                p { "This page belongs to no gateway. With these settings, a gateway over HTTP has a page of its own that shows its servers, clients, settings and log:" }
                pre.call { "[ui]\nenabled = true" }
                p { code { "spillgate mcp --http" } " and " code { "spillgate serve" } " then print where it is." }
            }
        };
    };
    let samples = Samples::parsed(&gateway.metrics());
    html! {
        h1 { "Gateway" }
        div #live data-live {
            @let connected = samples.sum("spillgate_sessions", &[]);
            p.status role="status" { (grouped(connected)) @if connected == 1 { " client connected" } @else { " clients connected" } }
            (servers(&gateway.servers(), &samples))
            (clients(&gateway.clients()))
            @if page.has_tokens {
                p.notice { "Clients of a gateway do not see its log and its settings. " code { "spillgate config" } " on its machine prints the settings." }
            } @else {
                (log(page, &gateway.log(), asked))
                (settings(page, &gateway.settings()))
            }
        }
    }
}

/// What the metrics say about a server.
struct Figures {
    calls: u64,
    failed: u64,
    in_flight: u64,
    /// Times in seconds: the median and the time that 95% of the calls do not exceed.
    upstream: [Option<f64>; 2],
    added: Option<f64>,
    starts: u64,
    failed_starts: u64,
    ends: u64,
    stored: u64,
    kept_out: u64,
}

impl Figures {
    fn of(samples: &Samples, server: &str) -> Self {
        let own = ("server", server);
        let sum = |name: &str| samples.sum(name, &[own]);
        let calls = |outcome: &str| {
            let labels = [own, CALL, ("outcome", outcome)];
            samples.sum("spillgate_requests_total", &labels)
        };
        let took = |share| samples.quantile("spillgate_upstream_seconds", &[own, CALL], share);
        Self {
            calls: samples.sum("spillgate_requests_total", &[own, CALL]),
            failed: FAILED.iter().map(|outcome| calls(outcome)).sum(),
            in_flight: sum("spillgate_requests_in_flight"),
            upstream: [took(0.5), took(0.95)],
            added: samples.quantile("spillgate_added_seconds", &[own], 0.95),
            starts: sum("spillgate_server_starts_total"),
            failed_starts: sum("spillgate_server_failed_starts_total"),
            ends: sum("spillgate_server_ends_total"),
            stored: samples.sum("spillgate_results_total", &[own, ("exit", "offloaded")]),
            kept_out: sum("spillgate_tokens_kept_out_total"),
        }
    }
}

fn servers(servers: &[WatchedServer], samples: &Samples) -> Markup {
    html! {
        section aria-labelledby="servers" {
            h2 #servers { "Servers" }
            div.scroll tabindex="0" role="region" aria-label="Servers" {
                table.figures-of {
                    thead { tr {
                        th scope="col" { "Server" }
                        th scope="col" { "State" }
                        th scope="col" { "Reached by" }
                        th.number scope="col" { "Tools" }
                        th.number scope="col" { "Calls" }
                        th.number scope="col" { "Failed" }
                        th.number scope="col" title="Half of the calls were answered within this time" { "p50" }
                        th.number scope="col" title="95% of the calls were answered within this time" { "p95" }
                        th.number scope="col" title="95% of the answers took the gateway at most this time" { "added p95" }
                        th.number scope="col" { "Waiting" }
                        th.number scope="col" { "Starts" }
                        th.number scope="col" { "Ended by itself" }
                        th.number scope="col" { "Stored" }
                        th.number scope="col" { "Tokens kept out" }
                    } }
                    tbody { @for server in servers.iter().take(ROWS) { (server_row(server, &Figures::of(samples, &server.name))) } }
                }
            }
            p.faint { "Since the gateway started. Times are estimated from the histograms of the metrics. " a href={ (PREFIX) "/meter" } { "The meter" } " has the calls by tool." }
        }
    }
}

fn server_row(server: &WatchedServer, of: &Figures) -> Markup {
    let class = match server.state {
        "up" => "good",
        "resting" => "bad",
        _ => "",
    };
    let time = |seconds: Option<f64>| html! { @match seconds { Some(seconds) => { "≈" (seconds_shown(seconds)) }, None => span.faint { "–" } } };
    let percent = of.failed as f64 / of.calls.max(1) as f64 * 100.0;
    html! {
        tr data-key=(shown::name(&server.name)) {
            th scope="row" { (shown::name(&server.name)) }
            td { span.badge.(class) { (server.state) } }
            td { (shown::line(&server.reached, 80)) }
            td.number { @if let Some(tools) = server.tools { (grouped(tools as u64)) } @else { span.faint { "–" } } }
            td.number { (grouped(of.calls)) }
            td.number { @if of.failed > 0 { (grouped(of.failed)) " (" (format!("{percent:.1}")) "%)" } @else { "0" } }
            td.number { (time(of.upstream[0])) }
            td.number { (time(of.upstream[1])) }
            td.number { (time(of.added)) }
            td.number { (grouped(of.in_flight)) }
            td.number { (grouped(of.starts)) @if of.failed_starts > 0 { ", " (grouped(of.failed_starts)) " failed" } }
            td.number { (grouped(of.ends)) }
            td.number { (grouped(of.stored)) }
            td.number { (grouped(of.kept_out)) }
        }
    }
}

fn seconds_shown(seconds: f64) -> String {
    match seconds {
        ..0.001 => format!("{:.0} µs", seconds * 1e6),
        ..0.1 => format!("{:.1} ms", seconds * 1e3),
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

/// The clients by name. Programs with the same name are counted.
fn clients(clients: &[Option<String>]) -> Markup {
    let mut names: Vec<(String, u64)> = Vec::new();
    for name in clients {
        let name = name
            .as_deref()
            .map_or_else(|| "no name yet".to_owned(), shown::name);
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    names.sort();
    html! {
        @if !names.is_empty() {
            section aria-labelledby="clients" {
                h2 #clients { "Sessions" }
                ul { @for (name, count) in names.iter().take(ROWS) { li { (name) @if *count > 1 { " × " (grouped(*count)) } } } }
            }
        }
    }
}

fn log(page: &Page, lines: &[String], asked: &Asked) -> Markup {
    let least = asked.text("level").unwrap_or_default();
    let is_shown = |level: Level| match least {
        "error" => level == Level::Error,
        "warning" => matches!(level, Level::Error | Level::Warning),
        _ => true,
    };
    let levels = lines.iter().map(|line| (Level::of(line.as_bytes()), line));
    let of_level: Vec<_> = levels.filter(|(level, _)| is_shown(*level)).collect();
    html! {
        section aria-labelledby="log" {
            h2 #log { "Log" }
            nav.tabs aria-label="Levels" {
                @for (name, words) in [("", "all"), ("warning", "warnings and errors"), ("error", "errors")] {
                    a href={ (PREFIX) "/gateway?" (asked.with(&[("level", name), ("part", "")])) "#log" } aria-current=[(name == least).then_some("page")] { (words) }
                }
            }
            @if of_level.is_empty() {
                p.faint { "Nothing was logged yet. " code { "SPILLGATE_LOG=info" } " logs more." }
            } @else {
                div.scroll.tail tabindex="0" role="region" aria-label="The newest lines of the log" {
                    // The newest line first, where it is seen without scrolling.
                    @for (level, line) in of_level.iter().rev() {
                        div.row.(level.class()) { span.t { (shown::line(&page.offloader().redacted(line), LINE)) } }
                    }
                }
            }
        }
    }
}

/// The settings. Those that somebody set come first.
fn settings(page: &Page, settings: &[WatchedSetting]) -> Markup {
    let (defaults, set): (Vec<_>, Vec<_>) =
        settings.iter().partition(|one| one.source == "default");
    html! {
        section aria-labelledby="settings" {
            h2 #settings { "Settings in force" }
            div.scroll tabindex="0" role="region" aria-label="Settings in force" {
                table.figures-of {
                    thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } th scope="col" { "From" } } }
                    tbody {
                        @for one in set.iter().chain(&defaults).take(ROWS) {
                            tr {
                                th scope="row" { (shown::line(&one.key, VALUE)) }
                                td.said { code { (shown::line(&page.offloader().redacted(&one.value), VALUE)) } }
                                td { @if one.source == "default" { span.faint { "default" } } @else { (shown::line(&one.source, VALUE)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
