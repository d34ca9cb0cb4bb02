//! Parses the answers of search services.

use html5gum::{Token, Tokenizer};
use reqwest::Url;
use serde_json::Value;
use spillgate_untrusted::line;

use super::Service;

/// Maximum characters of a title and of a snippet that are kept.
const LONGEST_TITLE: usize = 200;
const LONGEST_SNIPPET: usize = 500;

/// Maximum length of a result's URL, in bytes. A longer URL can be neither fetched nor cited.
const LONGEST_URL: usize = 2_000;

/// A search result. Each field is untrusted text on a single line, clipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    /// The page's title, or its URL if it has none.
    pub title: String,
    /// The page's URL (http or https).
    pub url: String,
    /// A part of the page's text; may be empty.
    pub snippet: String,
}

/// Parses a service's answer. The error says why the answer cannot be parsed.
pub(super) fn parse_results(service: Service, body: &[u8]) -> Result<Vec<SearchResult>, String> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|error| format!("it is not JSON ({error})"))?;
    let results = match service {
        Service::Searxng | Service::Tavily => answer.get("results"),
        Service::Brave => match answer.get("web") {
            Some(web) => web.get("results"),
            // Brave sends this answer if nothing is found.
            None if answer.get("type") == Some(&Value::from("search")) => return Ok(Vec::new()),
            None => None,
        },
    };
    let results = results.and_then(Value::as_array);
    let results = results.ok_or("it has no list of results")?;
    let found = results.iter().filter_map(|result| one(service, result));
    Ok(found.collect())
}

/// Parses a result. Returns `None` if its URL is unusable.
fn one(service: Service, result: &Value) -> Option<SearchResult> {
    let text = |name| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let url = Url::parse(text("url")).ok()?;
    let url = matches!(url.scheme(), "http" | "https").then(|| String::from(url))?;
    if url.len() > LONGEST_URL {
        return None;
    }
    let (title, snippet) = match service {
        Service::Brave => (plain(text("title")), plain(text("description"))),
        _ => (text("title").to_owned(), text("content").to_owned()),
    };
    let title = match line(&title, LONGEST_TITLE) {
        empty if empty.is_empty() => url.clone(),
        title => title,
    };
    let snippet = line(&snippet, LONGEST_SNIPPET);
    Some(SearchResult {
        title,
        url,
        snippet,
    })
}

/// Removes markup and decodes character references; Brave sends both.
fn plain(html: &str) -> String {
    let texts = Tokenizer::new(html).filter_map(|token| match token {
        Ok(Token::String(text)) => Some(String::from_utf8_lossy(&text).into_owned()),
        _ => None,
    });
    texts.collect()
}
