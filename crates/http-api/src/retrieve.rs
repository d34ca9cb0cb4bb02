//! `GET /v1/retrieve/{hash}`: reads a result that `/v1/compress` replaced, a page at a time.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spillgate_artifact::{Handle, TokenBudget};
use spillgate_lookup::{GrepQuery, ReadQuery, Span};
use spillgate_offload::{Offloader, Presentation};
use spillgate_query::{Query, QueryNext};
use spillgate_retrieval::{MATCHES, MOST_PAGE_TOKENS, NoAnswer};
use spillgate_search::SearchQuery;
use spillgate_store::ContentName;

use crate::Api;
use crate::answer::json;
use crate::call::Call;
use crate::problem::Problem;

/// The name of the tool that the guardrails offer to a model for this call.
pub(crate) const RETRIEVE: &str = "headroom_retrieve";

/// The parameters of a retrieval.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetrieveParameters {
    /// What to show of the result: `lines: FIRST+COUNT`, `grep: REGEX`, `jq: FILTER`, or words to
    /// search for. The default is its beginning.
    query: Option<String>,
    /// Maximum tokens of the answer, at most 10000.
    max_tokens: Option<u64>,
}

/// A part of a result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RetrieveAnswer {
    /// The hash of the result.
    hash: String,
    /// The handle of the stored result, which all other paths take.
    handle: String,
    /// The text for the model: the requested part of the result, and how to get the next one.
    original_content: String,
    /// Tokens of the text.
    tokens: u64,
}

pub(crate) async fn retrieve(call: Call) -> Result<Response<Body>, Problem> {
    let asked: RetrieveParameters = call.parameters()?;
    let name: Result<ContentName, _> = call.segment().parse();
    let name = name.map_err(|error| Problem::bad(error.to_string()))?;
    let caller = call.caller;
    let work = call.api.work(move |api, wait| {
        let handle = api.names.find(&caller.0, name)?.ok_or_else(|| {
            let detail = format!("no result has the hash {name}");
            Problem::callers(StatusCode::NOT_FOUND, "not_found", detail)
                .hint("a hash is known only to the sender of the conversation, and as long as the result is stored")
        })?;
        let offloader = api.tools.offloader.within(wait);
        let shown = api.part(&offloader, handle, name, &asked)?;
        Ok(RetrieveAnswer {
            hash: name.to_string(),
            handle: handle.to_string(),
            original_content: shown.text().to_owned(),
            tokens: shown.tokens(),
        })
    });
    Ok(json(StatusCode::OK, &work.await?))
}

/// The requested part of a result.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Lines {
        start: u64,
        lines: Option<u64>,
    },
    Grep {
        pattern: &'a str,
        start: u64,
    },
    Query {
        filter: &'a str,
        start: u64,
        byte: u64,
    },
    Search(&'a str),
}

impl<'a> Part<'a> {
    /// Parses a query. What has none of the known beginnings is words.
    fn of(query: &'a str) -> Result<Self, Problem> {
        let query = query.trim();
        let (head, rest) = query.split_once(':').unwrap_or((query, ""));
        let (kind, at) = head.split_once('@').unwrap_or((head, ""));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let from = |default| match at {
            "" => Some(default),
            at => number(at),
        };
        let rest = rest.trim();
        let part = match kind {
            "" => Some(Self::Lines {
                start: 1,
                lines: None,
            }),
            "lines" if head.len() < query.len() => lines(rest),
            "grep" if !rest.is_empty() => from(1).map(|start| Self::Grep {
                pattern: rest,
                start,
            }),
            "jq" if !rest.is_empty() => {
                let (start, byte) = at.split_once('.').unwrap_or((at, ""));
                let number = |text: &str| match text {
                    "" => Some(0),
                    text => number(text),
                };
                number(start)
                    .zip(number(byte))
                    .map(|(start, byte)| Self::Query {
                        filter: rest,
                        start,
                        byte,
                    })
            }
            _ => Some(Self::Search(query)),
        };
        part.ok_or_else(|| {
            let hint = "write `lines: 10+50`, `grep: REGEX`, `jq: FILTER`, or words";
            Problem::bad("`query` cannot be understood").hint(hint)
        })
    }
}

/// Parses `FIRST+COUNT`, `FIRST-LAST` or `FIRST`.
fn lines(text: &str) -> Option<Part<'_>> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (start, lines) = if let Some((start, count)) = text.split_once('+') {
        (number(start)?, Some(number(count)?))
    } else if let Some((start, last)) = text.split_once('-') {
        let (start, last) = (number(start)?, number(last)?);
        (start, Some(last.checked_add(1)?.checked_sub(start)?))
    } else {
        (number(text)?, None)
    };
    Some(Part::Lines { start, lines })
}

impl Api {
    fn part(
        &self,
        offloader: &Offloader,
        handle: Handle,
        name: ContentName,
        asked: &RetrieveParameters,
    ) -> Result<Presentation, Problem> {
        let page = self.tools.page;
        let most = MOST_PAGE_TOKENS.max(page.get());
        let tokens = asked.max_tokens.filter(|&tokens| tokens > 0);
        let budget = tokens.map_or(page, |tokens| TokenBudget::new(tokens.min(most)));
        let again = |query: String| {
            let query = serde_json::Value::from(query);
            format!("{RETRIEVE}(hash=\"{name}\", query={query})")
        };
        let shown = match Part::of(asked.query.as_deref().unwrap_or_default())? {
            Part::Lines { start, lines } => {
                let next = |span: Span| match span {
                    Span::Lines {
                        start,
                        lines: Some(lines),
                    } => again(format!("lines: {start}+{lines}")),
                    Span::Lines { start, .. } => again(format!("lines: {start}")),
                    Span::Bytes(_) | Span::Tail { .. } => again(String::new()),
                };
                let span = Span::Lines { start, lines };
                offloader.present_read(handle, ReadQuery { span, budget }, &next)
            }
            Part::Grep { pattern, start } => {
                let query = GrepQuery {
                    start,
                    max_matches: MATCHES,
                    ..GrepQuery::new(pattern, budget)
                };
                let next = |start| again(format!("grep@{start}: {pattern}"));
                offloader.present_grep(handle, &query, &next)
            }
            Part::Query {
                filter,
                start,
                byte,
            } => {
                let query = Query {
                    start,
                    byte,
                    ..Query::new(filter, budget)
                };
                let next = |at: QueryNext| again(format!("jq@{}.{}: {filter}", at.start, at.byte));
                offloader.present_query(handle, &query, &self.tools.engine, &next)
            }
            Part::Search(words) => {
                offloader.present_search(handle, &SearchQuery::new(words, budget))
            }
        };
        Ok(shown.map_err(NoAnswer::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_which_part() {
        let lines = |start, lines| Part::Lines { start, lines };
        let search = Part::Search;
        for (query, want) in [
            ("", Some(lines(1, None))),
            ("lines: 10+50", Some(lines(10, Some(50)))),
            ("lines:10-59", Some(lines(10, Some(50)))),
            ("lines: 10", Some(lines(10, None))),
            ("lines: x", None),
            ("lines: 9-3", None),
            ("lines: 1-18446744073709551615", None),
            ("lines of code", Some(search("lines of code"))),
            (
                "grep: a: b",
                Some(Part::Grep {
                    pattern: "a: b",
                    start: 1,
                }),
            ),
            (
                "grep@51: x",
                Some(Part::Grep {
                    pattern: "x",
                    start: 51,
                }),
            ),
            ("grep@x: x", None),
            ("grep: ", Some(search("grep:"))),
            (
                "jq: .a[]",
                Some(Part::Query {
                    filter: ".a[]",
                    start: 0,
                    byte: 0,
                }),
            ),
            (
                "jq@5.100: .a[]",
                Some(Part::Query {
                    filter: ".a[]",
                    start: 5,
                    byte: 100,
                }),
            ),
            ("error: disk full", Some(search("error: disk full"))),
            ("why?", Some(search("why?"))),
        ] {
            assert_eq!(Part::of(query).ok(), want, "{query}");
        }
    }
}
