//! Formats a fetched page as an answer. A page that is too large is refused or stored.

use std::io::Cursor;
use std::sync::Arc;

use spillgate_offload::{Rejection, estimated_tokens};
use spillgate_text::clip;
use spillgate_web::{BodyKind, FetchResponse, Fetcher, ReadableText};

use super::{Advice, FetchRequest, read, type_shown, url_shown};
use crate::recovery::{apart, for_page};
use crate::rules::{OnOverflow, Rules};
use crate::tool_result::{Body, OversizedOutput, Reply, ToolError};
use crate::workspace_tools::Shared;

/// Maximum bytes of an error page that are read, and maximum characters of it that are shown.
const EXCERPT_BYTES: usize = 64 << 10;
const EXCERPT: usize = 1_000;

/// Returns the page as text. A page over the limit is refused, or passed on to be stored
/// (`on_overflow`); one that is not text is refused.
pub(super) async fn show(
    fetcher: &Fetcher,
    mut response: FetchResponse,
    shared: &Arc<Shared>,
    request: FetchRequest,
    advice: Advice,
) -> Reply {
    let is_raw = request.is_raw;
    // Binary content is reported as such before its size is checked.
    if BodyKind::of(&response.content_type(), b"") == BodyKind::Binary {
        return Err(binary(&response, response.declared(), advice));
    }
    let failed = |error| advice.failed(&error);
    response
        .limit(fetcher.settings().most_page_bytes)
        .map_err(failed)?;
    let bytes = response.whole().await.map_err(failed)?;
    let kind = BodyKind::of(&response.content_type(), &bytes);
    if kind == BodyKind::Binary {
        return Err(binary(&response, Some(bytes.len() as u64), advice));
    }
    let page = read(&response, bytes, kind, is_raw).await?;
    let text = page_text(&response, kind, is_raw, &page);
    let refused = match within(text, &shared.rules, advice) {
        Ok(body) => return Ok(body),
        Err(refused) => refused,
    };
    let block = apart(shared, move |shared| {
        for_page(shared, &request.url, &page.text, is_raw)
    });
    Err(refused.with(&block.await))
}

/// Returns the header and the text.
fn page_text(
    response: &FetchResponse,
    kind: BodyKind,
    is_raw: bool,
    page: &ReadableText,
) -> String {
    let (url, status) = (response.url(), response.status());
    let mut text = format!("[{url}, {status}, {}]\n", type_shown(response));
    if let Some(title) = &page.title {
        text.push_str(&format!("Title: {title}\n"));
    }
    if let Some(encoding) = page.wrong_in {
        text.push_str(&format!(
            "(Some bytes mean nothing in {encoding} and are shown as \u{fffd}.)\n"
        ));
    }
    text.push('\n');
    let is_empty = page.text.trim().is_empty();
    match (is_empty, kind == BodyKind::Html && !is_raw) {
        (true, true) => text.push_str(
            "(The page has no text of its own; scripts, which are not run, may make it.)\n",
        ),
        (true, false) => text.push_str("(empty)\n"),
        (false, _) => text.push_str(&page.text),
    }
    text
}

/// Returns the whole text, or refuses it.
fn within(text: String, rules: &Rules, advice: Advice) -> Reply {
    let bytes = text.len() as u64;
    if !rules.exceeds(bytes) {
        return Ok(Body::Text(text));
    }
    if rules.on_overflow == OnOverflow::Offload {
        return Ok(Body::Oversized(OversizedOutput {
            whole: Box::new(Cursor::new(text)),
            notes: String::new(),
            has_failed: false,
        }));
    }
    let (tokens, limit) = (estimated_tokens(bytes), rules.max_tokens);
    Err(match advice.can_save {
        true => Rejection::Page { tokens, limit }.into(),
        // Nothing can be saved, so the usual advice (`save_to`) would only cause another refusal.
        false => ToolError::new(format!(
            "Page content (~{tokens} tokens) exceeds maximum allowed tokens ({limit}). {}",
            advice.for_text()
        )),
    })
}

fn binary(response: &FetchResponse, bytes: Option<u64>, advice: Advice) -> ToolError {
    let size = bytes.map_or("of unknown size".to_owned(), |bytes| {
        format!("{bytes} bytes")
    });
    ToolError::new(format!(
        "{} is {}, {size}: no text that could be shown. {}",
        url_shown(response),
        type_shown(response),
        advice.for_bytes()
    ))
}

/// The error for an HTTP status of 400 or above, with an excerpt of the server's page.
pub(super) async fn status(response: &mut FetchResponse, rules: &Rules) -> ToolError {
    let advice = match response.status() {
        404 | 410 => "Check the url, or look for the page elsewhere.",
        401 | 402 | 403 | 407 | 451 => {
            "The page is not for everybody, and logins are not sent. Use another source."
        }
        429 => "The server wants fewer requests. Try it later, or use another source.",
        500.. => "This is the server's fault. Try it later, or use another source.",
        _ => "Check the url.",
    };
    let refused = ToolError::new(format!(
        "HTTP {} from {}. {advice}",
        response.status_text(),
        url_shown(response)
    ));
    let bytes = response.beginning(EXCERPT_BYTES).await;
    let kind = BodyKind::of(&response.content_type(), &bytes);
    if kind == BodyKind::Binary {
        return refused;
    }
    let Ok(page) = read(response, bytes, kind, false).await else {
        return refused;
    };
    // A character has up to four bytes, so the excerpt fills at most a quarter of the limit.
    let most = usize::try_from(rules.most_bytes() / 16).unwrap_or(EXCERPT);
    let mut excerpt = page.title.map_or(String::new(), |title| title + "\n");
    excerpt.push_str(page.text.trim());
    refused.with(clip(excerpt.trim(), EXCERPT.min(most)).trim())
}
