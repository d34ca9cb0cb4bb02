//! The search over all outputs. Hits are sent as they are found, and the search ends when nobody waits
//! for them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::Html;
use futures_util::stream;
use maud::html;
use serde_json::{Value, json};
use spillgate_artifact::{ContentKind, Handle, Interrupt, Manifest, TokenBudget};
use spillgate_http_api::Problem;
use spillgate_lookup::{Case, GrepPage, GrepQuery, grep};
use spillgate_offload::Offloader;
use spillgate_search::SearchQuery;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::asked::Asked;
use crate::catalogue::Filter;
use crate::frame::{Trouble, View, framed};
use crate::{PREFIX, Page, list, shown};

/// Matches that are shown of an output.
const MATCHES: usize = 5;

/// Budget of the matches of an output, in tokens.
const TOKENS: u64 = 1500;

/// Budget of the passages of a search by words, in tokens: that of `spillgate search --all`.
const PASSAGES: u64 = 1000;

/// Outputs that a search by words looks at, as `spillgate search --all` does.
const LOOKED_AT: usize = 200;

/// Outputs after which the progress is told.
const TELL: usize = 25;

/// Most outputs with hits; a search ends there.
const HITS: usize = 500;

/// Searches at the same time. Each takes one of the turns that all views share.
pub(crate) const SEARCHES: usize = 2;

/// How long a search waits for one that was just cancelled to end.
const PATIENCE: Duration = Duration::from_millis(500);

/// `GET /find`
pub(crate) async fn find(
    State(page): State<Arc<Page>>,
    request: Request,
) -> Result<Html<String>, Trouble> {
    let asked = Asked::of_query(request.uri().query());
    let by_words = asked.text("by") == Some("words");
    let content = html! {
        h1 { "Search all outputs" }
        form.filters #find method="get" action={ (PREFIX) "/find" } role="search" data-stream={ (PREFIX) "/find/hits" } {
            input.wide type="search" name="what" value=[asked.text("what")] placeholder="Text or words" aria-label="Text or words" required;
            select name="by" aria-label="How to search" {
                option value="text" selected[!by_words] { "every output with this text" }
                option value="words" selected[by_words] { "best passages for these words" }
            }
            button { "Search" }
            button.cancel type="button" hidden { "Cancel" }
        }
        p.status role="status" {}
        div.hits aria-live="polite" {}
        noscript { p.notice { "Hits are shown as they are found, which needs the script of this page. " code { "spillgate search --all" } " searches, too." } }
    };
    Ok(framed(&page, View::Find, "Search all", &content))
}

/// `GET /find/hits`: a line of JSON for each output with hits, and lines that tell the progress.
pub(crate) async fn hits(
    State(page): State<Arc<Page>>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::of_query(request.uri().query());
    let what = asked.text("what").unwrap_or_default().to_owned();
    if what.is_empty() {
        return Err(Problem::bad("`what` is missing: give a text or words"));
    }
    let by_words = asked.text("by") == Some("words");
    let filter = list::filter(&asked);
    let permit = timeout(PATIENCE, Arc::clone(&page.searches).acquire_owned()).await;
    let Ok(Ok(permit)) = permit else {
        let running = format!("{SEARCHES} searches of all outputs are running");
        let problem = Problem::refused(StatusCode::TOO_MANY_REQUESTS, &running);
        return Err(problem.hint("wait until one has ended, or cancel one"));
    };
    let (send, receive) = mpsc::channel::<Value>(16);
    let of = Arc::clone(&page);
    let api = Arc::clone(&page.api);
    let working = api.work(move |api, wait| {
        let _permit = permit;
        let search = Search {
            page: &of,
            // What a search reads on its way is not kept longer for that.
            offloader: api.tools().offloader.peeking(),
            wait,
            send: &send,
        };
        let searched = match by_words {
            true => search.words(&what),
            false => search.text(&what, &filter),
        };
        if let Err(problem) = searched {
            search.tell(&json!({ "problem": problem.detail() }));
        }
        Ok(())
    });
    // The search lives as long as its response: if the browser goes away, both end.
    let working = Box::pin(working);
    let lines = stream::unfold((receive, Some(working)), next_line);
    let mut response = Response::new(Body::from_stream(lines));
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Returns the next line, and goes on with the search meanwhile.
async fn next_line<W>(
    (mut receive, mut working): (mpsc::Receiver<Value>, Option<W>),
) -> Option<(
    Result<Bytes, std::convert::Infallible>,
    (mpsc::Receiver<Value>, Option<W>),
)>
where
    W: Future<Output = Result<(), Problem>> + Unpin,
{
    loop {
        let received = match &mut working {
            None => receive.recv().await,
            Some(work) => tokio::select! {
                biased;
                received = receive.recv() => received,
                _ = work => {
                    working = None;
                    continue;
                }
            },
        };
        let line = format!("{}\n", received?);
        return Some((Ok(Bytes::from(line)), (receive, working)));
    }
}

struct Search<'a> {
    page: &'a Page,
    offloader: Offloader,
    wait: &'a Interrupt,
    send: &'a mpsc::Sender<Value>,
}

impl Search<'_> {
    /// Sends a line. Returns whether anybody waits for more.
    fn tell(&self, line: &Value) -> bool {
        !self.wait.is_cancelled() && self.send.blocking_send(line.clone()).is_ok()
    }

    /// Searches each output for a text, newest first, whatever the case of its letters.
    fn text(&self, what: &str, filter: &Filter) -> Result<(), Problem> {
        let now = self.offloader.clock().now();
        let handles = self.page.catalogue.handles(filter, now)?;
        let query = GrepQuery {
            case: Case::Insensitive,
            is_literal: true,
            max_matches: MATCHES,
            ..GrepQuery::new(what, TokenBudget::new(TOKENS))
        };
        let (mut found, mut searched, mut skipped) = (0, 0, 0);
        let total = handles.len();
        for (at, handle) in handles.into_iter().enumerate() {
            let progress = json!({ "searched": searched, "skipped": skipped, "of": total });
            if self.wait.is_cancelled() || at % TELL == 0 && !self.tell(&progress) {
                return Ok(());
            }
            let Some((manifest, page)) = self.grepped(handle, &query) else {
                skipped += 1;
                continue;
            };
            searched += 1;
            if page.matches.is_empty() {
                continue;
            }
            let lines = page
                .matches
                .iter()
                .map(|one| json!([one.line, cut(&one.text)]));
            let lines: Vec<Value> = lines.collect();
            found += 1;
            let hit = json!({
                "hit": self.described(&manifest),
                "lines": lines,
                "more": page.total.saturating_sub(lines.len() as u64),
            });
            if !self.tell(&hit) || found == HITS {
                break;
            }
        }
        self.tell(&json!({
            "searched": searched,
            "skipped": skipped,
            "of": total,
            "found": found,
            "done": true,
        }));
        Ok(())
    }

    /// Returns the matches in an output; `None` if it is gone, damaged, too slow to search or no text,
    /// which does not end the search.
    fn grepped(&self, handle: Handle, query: &GrepQuery<'_>) -> Option<(Manifest, GrepPage)> {
        let manifest = self.page.store.manifest(handle).ok()?;
        if manifest.facts.stats.kind == ContentKind::Binary {
            return None;
        }
        let artifact = self.offloader.within(self.wait).artifact(handle).ok()?;
        let page = grep(&artifact, query, &**self.offloader.counter()).ok()?;
        Some((manifest, page))
    }

    /// Finds the best passages, as `spillgate search --all` does.
    fn words(&self, what: &str) -> Result<(), Problem> {
        let now = self.offloader.clock().now();
        let handles = self.page.catalogue.handles(&Filter::default(), now)?;
        let newest = &handles[..handles.len().min(LOOKED_AT)];
        let older = handles.len() - newest.len();
        let asked = SearchQuery::new(what, TokenBudget::new(PASSAGES));
        let page = self
            .offloader
            .within(self.wait)
            .search_several(newest, older, &asked)?;
        let mut found = 0;
        for output in &page.outputs {
            // It may have been removed since.
            let Ok(manifest) = self.page.store.manifest(output.handle) else {
                continue;
            };
            found += 1;
            let lines = output.page.passages.iter().flat_map(|passage| {
                let numbers = passage.lines.first..;
                let lines = numbers.zip(passage.text.lines());
                lines.map(|(number, line)| json!([number, cut(line)]))
            });
            let lines: Vec<Value> = lines.collect();
            self.tell(&json!({ "hit": self.described(&manifest), "lines": lines, "more": 0 }));
        }
        let tried = page.searched + page.left_out;
        self.tell(&json!({
            "searched": page.searched,
            "skipped": handles.len().saturating_sub(tried),
            "of": handles.len(),
            "found": found,
            "done": true,
        }));
        Ok(())
    }

    fn described(&self, manifest: &Manifest) -> Value {
        let facts = &manifest.facts;
        json!({
            "handle": manifest.handle,
            "source": shown::source(facts),
            "call": shown::call(&self.offloader, manifest, 160),
            "created": facts.created,
            "kind": facts.stats.kind,
        })
    }
}

fn cut(text: &str) -> String {
    shown::text(&text.chars().take(400).collect::<String>()).into_owned()
}
