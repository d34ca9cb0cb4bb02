//! Helpers that this crate's tests share.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use spillgate_artifact::{Handle, Origin};
use spillgate_mcp::{ByteEdits, span_in};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy, Rule};
use spillgate_retrieval::audience;
use spillgate_store::MemoryStore;
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

use crate::results::intercept::{Case, Incoming, intercept};

/// Returns an offloader with the default limits, which stores in memory.
pub(crate) fn offloader() -> Offloader {
    offloader_with(Rule::default())
}

/// Returns an offloader with one rule for all results.
pub(crate) fn offloader_with(rule: Rule) -> Offloader {
    offloader_by(|_| Policy::new(rule, [], []).unwrap())
}

/// Returns an offloader with a changed policy.
pub(crate) fn offloader_by(rules: impl FnOnce(Policy) -> Policy) -> Offloader {
    Offloader::new(
        Arc::new(MemoryStore::default()),
        rules(Policy::default()),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    )
}

/// Stores `text` as a tool's output and returns its handle.
pub(crate) fn stored(offloader: &Offloader, text: &str) -> Handle {
    let outcome = offloader.stream(Origin::tool("cat"), &mut text.as_bytes(), &mut |_| {});
    match outcome.unwrap() {
        Outcome::Offloaded(stored) => stored.receipt.handle(),
        other => panic!("not stored: {other:?}"),
    }
}

/// Replaces each handle in `text` by `HANDLE`, because handles are random.
pub(crate) fn without_handles(text: &str) -> String {
    const LONG: usize = "session-/".len() + 2 * 36;
    let before = ["stored whole as ", "spillgate://artifact/", "handle "];
    let mut masked = text.to_owned();
    for (at, _) in text.match_indices("session-") {
        let handle = text.get(at..at + LONG).unwrap_or_default();
        if handle.parse::<Handle>().is_ok() {
            masked = masked.replace(handle, "HANDLE");
        }
    }
    // A short handle looks like an ordinary word of 14 letters, so it is recognized by the text
    // before it.
    for (at, found) in before.iter().flat_map(|before| text.match_indices(before)) {
        let rest = &text[at + found.len()..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase());
        let word = &rest[..end.unwrap_or(rest.len())];
        if word.parse::<Handle>().is_ok() {
            masked = masked.replace(word, "HANDLE");
        }
    }
    masked
}

/// Replaces each JSON string in `frame` that is a preview by `PREVIEW`.
pub(crate) fn without_previews(frame: &str) -> String {
    let message: Value = serde_json::from_str(frame).unwrap();
    let mut masked = frame.to_owned();
    for preview in previews(&message) {
        masked = masked.replace(&json!(preview).to_string(), "PREVIEW");
    }
    masked
}

fn previews(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if text.starts_with("[spillgate] ") => vec![text],
        Value::Array(items) => items.iter().flat_map(previews).collect(),
        Value::Object(members) => members.values().flat_map(previews).collect(),
        _ => Vec::new(),
    }
}

/// Returns the edits to a frame in memory, and whether its result is stored.
pub(crate) fn replaced(
    offloader: &Offloader,
    case: Case,
    frame: &[u8],
    json: &str,
) -> (ByteEdits, bool) {
    let span = span_in(frame, json);
    let frame = Bytes::copy_from_slice(frame);
    let incoming = Incoming {
        json: std::str::from_utf8(&frame[span]).unwrap(),
        frame: &frame,
        large: None,
    };
    let (splice, left) = intercept(offloader, case, incoming).unwrap();
    (splice, left.is_stored())
}
