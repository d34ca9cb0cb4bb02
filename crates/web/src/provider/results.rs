//! Reads the results of a search service.

use html5gum::{Token, Tokenizer};
use reqwest::Url;
use serde_json::Value;
use spillgate_untrusted::line;

use super::Service;

/// Characters of a title, and of what stands below it.
const LONGEST_TITLE: usize = 200;
const LONGEST_SNIPPET: usize = 500;

/// Bytes of an address; a longer one is no result that can be fetched or cited.
const LONGEST_URL: usize = 2_000;

/// A result. All of it is on one line, cut, and anybody's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    /// The page's title, or its address where it has none.
    pub title: String,
    /// Its address, an http or https URL.
    pub url: String,
    /// Some of its text; may be empty.
    pub snippet: String,
}

/// The results in a service's answer, or why there is no telling.
pub(super) fn parse_results(service: Service, body: &[u8]) -> Result<Vec<SearchResult>, String> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|error| format!("it is not JSON ({error})"))?;
    let results = match service {
        Service::Searxng | Service::Tavily => answer.get("results"),
        Service::Brave => match answer.get("web") {
            Some(web) => web.get("results"),
            // So it is where nothing is found.
            None if answer.get("type") == Some(&Value::from("search")) => return Ok(Vec::new()),
            None => None,
        },
    };
    let results = results.and_then(Value::as_array);
    let results = results.ok_or("it has no list of results")?;
    let found = results.iter().filter_map(|result| one(service, result));
    Ok(found.collect())
}

/// A result, unless it leads nowhere.
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

/// Text without its markup: Brave's has some, and character references.
fn plain(html: &str) -> String {
    let texts = Tokenizer::new(html).filter_map(|token| match token {
        Ok(Token::String(text)) => Some(String::from_utf8_lossy(&text).into_owned()),
        _ => None,
    });
    texts.collect()
}
