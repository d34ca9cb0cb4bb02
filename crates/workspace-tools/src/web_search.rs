//! `web_search`: searches the web through a search service.

use serde_json::json;
use spillgate_files::Arguments;
use spillgate_offload::{Rejection, estimated_tokens};
use spillgate_text::clip;
use spillgate_web::SearchResult;

use crate::definition::{Definition, schema};
use crate::tool_result::{Body, Reply, ToolError};
use crate::workspace_tools::Shared;

/// The number of results if the call gives none (docs/spec/limits.md, "Guarded tools"), and the
/// maximum that a call may ask for: the number that every service can return in one response.
const RESULTS: u64 = 5;
const MOST_RESULTS: u64 = 20;

/// Maximum length of a query, in characters. Services accept a few hundred.
const LONGEST_QUERY: usize = 1_000;

/// Maximum length, in characters, of a query that an answer repeats.
const SHOWN_QUERY: usize = 200;

pub(crate) fn definition() -> Definition {
    Definition {
        name: "web_search",
        description: "Search the web. Gives titles, URLs and a snippet of each result; \
                      use web_fetch to read one."
            .to_owned(),
        schema: schema(
            json!({
                "query": { "type": "string", "description": "What to search for." },
                "max_results": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_RESULTS,
                    "default": RESULTS,
                    "description": "How many results."
                }
            }),
            &["query"],
        ),
        is_read_only: true,
        is_open_world: true,
    }
}

pub(crate) async fn call(shared: &Shared, arguments: &Arguments) -> Reply {
    let rules = &shared.rules;
    let query = arguments.required("query")?;
    let asked = arguments.limit("max_results")?.unwrap_or(RESULTS);
    let most = asked.min(MOST_RESULTS);
    let provider = rules.search.as_ref().ok_or_else(unconfigured)?;
    if query.chars().count() > LONGEST_QUERY {
        return Err(ToolError::new(format!(
            "The query is longer than {LONGEST_QUERY} characters. Search for a few words."
        )));
    }
    let count = usize::try_from(most).expect("invariant: at most 20");
    let found = provider.search(query.trim(), count).await;
    let found = found.map_err(ToolError::new)?;
    if found.is_empty() {
        return Ok(Body::Text(format!(
            "No results for '{}'. Use other words.\n",
            clip(query.trim(), SHOWN_QUERY)
        )));
    }
    let mut told: String = (1..)
        .zip(&found)
        .map(|(at, found)| one(at, found))
        .collect();
    if asked > MOST_RESULTS {
        told.push_str(&format!(
            "({MOST_RESULTS} results are the most that one search gives.)\n"
        ));
    }
    match rules.exceeds(told.len() as u64) {
        true => Err(Rejection::Search {
            tokens: estimated_tokens(told.len() as u64),
        }
        .into()),
        false => Ok(Body::Text(told)),
    }
}

fn one(at: usize, found: &SearchResult) -> String {
    let SearchResult {
        title,
        url,
        snippet,
    } = found;
    match snippet.is_empty() {
        true => format!("{at}. {title} — {url}\n"),
        false => format!("{at}. {title} — {url}\n   {snippet}\n"),
    }
}

fn unconfigured() -> ToolError {
    ToolError::new(
        "No search service is configured, so nothing can be searched for. \
         Whoever set up Spillgate can name one in its configuration: [guarded.search] with \
         provider = \"searxng\" and url, or provider = \"brave\" or \"tavily\" and api_key_env. \
         Without it, use web_fetch with a URL that you know.",
    )
}
