//! Checks the content types that a client sends and accepts.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use mime::Mime;

use crate::problem::Problem;

/// Checks that a POST contains JSON and that the client accepts both JSON and an event stream. The
/// server chooses between them.
pub(crate) fn check_post(headers: &HeaderMap) -> Result<(), Problem> {
    if !(accepts(headers, "application", "json") && accepts(headers, "text", "event-stream")) {
        return Err(Problem::http(
            StatusCode::NOT_ACCEPTABLE,
            "a POST must accept both application/json and text/event-stream",
        ));
    }
    let sent = headers
        .get(CONTENT_TYPE)
        .and_then(|sent| sent.to_str().ok());
    let sent: Option<Mime> = sent.and_then(|sent| sent.parse().ok());
    if sent.is_none_or(|sent| sent.essence_str() != "application/json") {
        return Err(Problem::http(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "a POST must send application/json",
        ));
    }
    Ok(())
}

/// Checks that a GET accepts an event stream.
pub(crate) fn check_get(headers: &HeaderMap) -> Result<(), Problem> {
    if accepts(headers, "text", "event-stream") {
        return Ok(());
    }
    Err(Problem::http(
        StatusCode::NOT_ACCEPTABLE,
        "a GET must accept text/event-stream",
    ))
}

fn accepts(headers: &HeaderMap, kind: &str, subtype: &str) -> bool {
    let values = headers.get_all(ACCEPT).iter();
    let ranges = values.filter_map(|value| value.to_str().ok());
    ranges
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.trim().parse::<Mime>().ok())
        .any(|range| {
            let fits = |part: &str, wanted: &str| part == "*" || part == wanted;
            fits(range.type_().as_str(), kind)
                && fits(range.subtype().as_str(), subtype)
                && !is_refused(&range)
        })
}

/// Whether the media range has `;q=0`, which means that the client does not accept it.
fn is_refused(range: &Mime) -> bool {
    let weight = range.get_param("q");
    weight.is_some_and(|weight| weight.as_str().parse() == Ok(0.0_f32))
}
