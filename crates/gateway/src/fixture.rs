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

/// An offloader with the default limits that stores in memory.
pub(crate) fn offloader() -> Offloader {
    offloader_with(Rule::default())
}

/// An offloader with one rule for all results.
pub(crate) fn offloader_with(rule: Rule) -> Offloader {
    offloader_by(|_| Policy::new(rule, [], []).unwrap())
}

/// An offloader with another policy.
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

/// Replaces each handle in `text`, which is random, by `HANDLE`.
pub(crate) fn without_handles(text: &str) -> String {
    const LENGTH: usize = "session-/".len() + 2 * 36;
    let mut masked = text.to_owned();
    for (at, _) in text.match_indices("session-") {
        let handle = text.get(at..at + LENGTH).unwrap_or_default();
        if handle.parse::<Handle>().is_ok() {
            masked = masked.replace(handle, "HANDLE");
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

/// The edits to a frame in memory, and whether its result is stored.
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
