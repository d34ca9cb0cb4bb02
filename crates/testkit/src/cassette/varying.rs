//! Finds the parts of a request that differ from run to run.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use spillgate_llm::{Reply, Request};

/// Finds the parts of a request's JSON text that differ from run to run. [`nonces`] finds the usual
/// parts.
pub type Varying = dyn Fn(&str) -> Vec<Range<usize>> + Send + Sync;

/// Finds the nonces of wrappers, `ai-agent-<32 hex>-FINAL`.
///
/// Each request of an extraction has a fresh nonce in its prompt, because the text to extract from
/// could forge a predictable nonce. Because of the nonce, no request equals a recorded one, and no
/// recorded reply contains the expected nonce. For the comparison, every occurrence of a nonce in a
/// request is therefore replaced by a blank, and a reply is replayed with the nonce of the current
/// request.
#[must_use]
pub fn nonces(text: &str) -> Vec<Range<usize>> {
    static NONCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("ai-agent-([0-9a-fA-F]{32})-FINAL").expect("invariant: a fixed pattern")
    });
    let found = NONCE.captures_iter(text).filter_map(|found| found.get(1));
    found.map(|nonce| nonce.range()).collect()
}

/// The text of a request with blanks, and the values of the blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blanked {
    pub(super) text: String,
    /// The values, indexed by the number of the blank.
    values: Vec<String>,
}

impl Blanked {
    pub(super) fn new(request: &Request, varying: &Varying) -> Self {
        let text = serde_json::to_string(request).expect("invariant: a request is JSON");
        let mut values: Vec<String> = Vec::new();
        for range in varying(&text) {
            let value = text.get(range).filter(|value| !value.is_empty());
            if let Some(value) = value
                && !values.iter().any(|known| known == value)
            {
                values.push(value.to_owned());
            }
        }
        Self {
            text: blank(&text, &values),
            values,
        }
    }

    /// Converts a reply to this request into a reply to `now`, a request that differs from it only
    /// in the values of the blanks.
    pub(super) fn reply_to(&self, now: &Self, mut reply: Reply) -> Reply {
        let replay = |text: &str| {
            let mut text = blank(text, &self.values);
            for (number, value) in now.values.iter().enumerate() {
                text = text.replace(&mark(number), value);
            }
            text
        };
        reply.text = replay(&reply.text);
        for call in &mut reply.calls {
            call.arguments = replay(&call.arguments);
        }
        reply
    }
}

/// Replaces each value in `text` with its mark. Long values are replaced first, because a value may
/// be part of another value.
fn blank(text: &str, values: &[String]) -> String {
    let mut numbered: Vec<(usize, &String)> = values.iter().enumerate().collect();
    numbered.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    let mut text = text.to_owned();
    for (number, value) in numbered {
        text = text.replace(value.as_str(), &mark(number));
    }
    text
}

/// Returns the mark of a blank: private-use characters, which no text of a model contains.
fn mark(number: usize) -> String {
    format!("\u{f8f0}{number}\u{f8f1}")
}
