//! Reads what a request itself says about its result: a preview, or data for a program.

use memchr::memmem;
use serde_json::value::RawValue;
use spillgate_mcp::{Envelope, ObjectView};
use spillgate_offload::ResultMode;

use crate::session::in_flight::CallParams;

/// The member of a request's `_meta` that says what the client receives of an oversized result.
pub const RESULTS_META: &str = "spillgate/results";

/// The HTTP header that says the same, in lower case. The member of `_meta` precedes it.
pub const RESULTS_HEADER: &str = "spillgate-results";

/// Returns what a request says about its result; `None` if it says nothing. The error says what is
/// wrong with the value.
pub(crate) fn of(
    envelope: &Envelope<'_>,
    call: Option<&CallParams<'_>>,
    headers: &[(String, String)],
) -> Result<Option<ResultMode>, String> {
    match of_meta(envelope, call)? {
        Some(mode) => Ok(Some(mode)),
        None => of_headers(headers),
    }
}

/// Returns what the headers of a request say about its result.
pub(crate) fn of_headers(headers: &[(String, String)]) -> Result<Option<ResultMode>, String> {
    let mut values = headers.iter().filter(|(name, _)| name == RESULTS_HEADER);
    let value = values.next().map(|(_, value)| value.trim());
    value
        .map(|value| parsed("the header `Spillgate-Results`", value))
        .transpose()
}

fn of_meta(
    envelope: &Envelope<'_>,
    call: Option<&CallParams<'_>>,
) -> Result<Option<ResultMode>, String> {
    let has_key =
        |raw: &&RawValue| memmem::find(raw.get().as_bytes(), RESULTS_META.as_bytes()).is_some();
    let in_params = || {
        let params = envelope.params.filter(has_key).and_then(ObjectView::of);
        params?.get("_meta")
    };
    let meta = call.map_or_else(in_params, |call| call.meta.filter(has_key));
    let Some(value) = meta
        .and_then(ObjectView::of)
        .and_then(|meta| meta.get(RESULTS_META))
    else {
        return Ok(None);
    };
    let text: Option<String> = serde_json::from_str(value.get()).ok();
    let named = format!("`{RESULTS_META}` in `_meta`");
    match text {
        Some(text) => parsed(&named, &text).map(Some),
        None => Err(format!(
            "{named} must be a string: preview, structured or whole"
        )),
    }
}

fn parsed(named: &str, value: &str) -> Result<ResultMode, String> {
    value.parse().map_err(|error| {
        let shown: String = value.chars().take(40).collect();
        format!("{named} {error}: {shown:?}")
    })
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_mcp::messages;

    use super::*;

    #[test]
    fn a_request_says_what_it_wants() {
        let told = |params: &str, headers: &[&str]| {
            let method = match params.contains("\"uri\"") {
                true => "resources/read",
                false => "tools/call",
            };
            let frame = format!(r#"{{"id":1,"method":"{method}","params":{params}}}"#);
            let envelope = &messages(frame.as_bytes())[0];
            let headers = headers
                .iter()
                .map(|value| (RESULTS_HEADER.to_owned(), (*value).to_owned()));
            let headers: Vec<_> = headers.collect();
            match of(envelope, CallParams::of(envelope).as_ref(), &headers) {
                Ok(None) => "nothing".to_owned(),
                Ok(Some(mode)) => mode.to_string(),
                Err(error) => error,
            }
        };
        let meta =
            |value: &str| format!(r#"{{"name":"a","_meta":{{"spillgate/results":{value}}}}}"#);
        let all = [
            told(r#"{"name":"a"}"#, &[]),
            told(
                r#"{"name":"a","arguments":{"_meta":{"spillgate/results":"whole"}}}"#,
                &[],
            ),
            told(&meta(r#""whole""#), &[]),
            told(&meta(r#""structured""#), &["whole"]),
            told(r#"{"name":"a"}"#, &[" preview "]),
            told(
                r#"{"uri":"a:b","_meta":{"spillgate/results":"whole"}}"#,
                &[],
            ),
            told(
                r#"{"uri":"a:b","x":{"_meta":{"spillgate/results":"whole"}}}"#,
                &[],
            ),
            told(&meta(r#""raw""#), &[]),
            told(&meta("true"), &["whole"]),
            told(r#"{"name":"a"}"#, &["WHOLE"]),
        ];
        assert_snapshot!(all.join("\n"), @r#"
        nothing
        nothing
        whole
        structured
        preview
        whole
        nothing
        `spillgate/results` in `_meta` is none of preview, structured, whole: "raw"
        `spillgate/results` in `_meta` must be a string: preview, structured or whole
        the header `Spillgate-Results` is none of preview, structured, whole: "WHOLE"
        "#);
    }
}
