//! The `truncate` profile, and what is shown when nothing could be stored.

use spillgate_artifact::Stats;
use spillgate_measure::TokenCounter;
use spillgate_store::StoreError;

use super::name_in_line;
use crate::policy::Limits;
use crate::profile::DEFAULT_MAX_BYTES;

/// Less room than this holds nothing but the notices themselves.
const LEAST_BYTES: usize = 256;

/// The two ends of a text, readable; of a short text each is all of it.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The first bytes.
    pub(crate) head: String,
    /// The last bytes.
    pub(crate) tail: String,
    /// Bytes of the whole text.
    pub(crate) bytes: u64,
}

/// The text with its middle cut out so that all of it, notices included, keeps
/// to the cap (wire.md, truncation).
pub(crate) fn truncate(ends: &Ends, limits: &Limits, counter: &dyn TokenCounter) -> String {
    let cap = limits.bytes.unwrap_or(DEFAULT_MAX_BYTES);
    within(ends, "", cap, limits.tokens, counter)
}

/// The same, for a result that could not be stored: it says so, and why.
pub(crate) fn not_stored(
    tool: &str,
    stats: &Stats,
    error: &StoreError,
    ends: &Ends,
    limits: &Limits,
    counter: &dyn TokenCounter,
) -> String {
    let notice = format!(
        "[spillgate] {} returned {} bytes, {} lines, {} tokens ({}); it could not be stored: {}. \
         Only its two ends are shown; the rest is lost, call the tool again for less of it.\n",
        name_in_line(tool),
        stats.bytes,
        stats.lines,
        stats.tokens,
        stats.kind,
        reason(error),
    );
    let cap = limits.bytes.unwrap_or(DEFAULT_MAX_BYTES);
    within(ends, &notice, cap, limits.tokens, counter)
}

/// Why it could not be stored, as far as a model has to know: paths of the
/// machine are for the person at the log.
fn reason(error: &StoreError) -> &'static str {
    match error {
        StoreError::Full { .. } => "the disk is full",
        StoreError::Denied { .. } => "the store may not be written",
        _ => "the store failed",
    }
}

/// Shrinks the cut until bytes and tokens fit.
fn within(
    ends: &Ends,
    notice: &str,
    bytes: u64,
    tokens: Option<u64>,
    counter: &dyn TokenCounter,
) -> String {
    let mut room = usize::try_from(bytes)
        .unwrap_or(usize::MAX)
        .max(LEAST_BYTES);
    loop {
        let text = cut(ends, notice, room);
        let fits = tokens.is_none_or(|limit| !counter.exceeds(&text, limit));
        if fits || room <= LEAST_BYTES {
            return text;
        }
        room = (room * 3 / 4).max(LEAST_BYTES);
    }
}

fn cut(ends: &Ends, notice: &str, room: usize) -> String {
    // No number is longer than that of all the bytes.
    let around = notice.len() + middle_cut("", "", ends.bytes).len() + 1;
    let kept = room
        .saturating_sub(around)
        .min(ends.head.len() + ends.tail.len());
    let head = &ends.head[..ends.head.floor_char_boundary(kept / 2)];
    let from = ends.tail.len().saturating_sub(kept - head.len());
    let tail = &ends.tail[ends.tail.ceil_char_boundary(from)..];
    let n = ends.bytes.saturating_sub((head.len() + tail.len()) as u64);
    format!("{notice}{}", middle_cut(head, tail, n))
}

/// A text of which `cut_bytes` bytes between `head` and `tail` are left out, as it is
/// told (wire.md, truncation): at the top and, with the same number, in their place.
#[must_use]
pub fn middle_cut(head: &str, tail: &str, cut_bytes: u64) -> String {
    let gap = match head.is_empty() || head.ends_with('\n') {
        true => "",
        false => "\n",
    };
    format!(
        "[TRUNCATED IN THE MIDDLE BY ~{cut_bytes} BYTES]\n\
         {head}{gap}[···TRUNCATED {cut_bytes} bytes···]\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use spillgate_measure::Tokenizer;

    use super::*;
    use crate::policy::Rule;

    fn ends(text: &str) -> Ends {
        Ends {
            head: text.to_owned(),
            tail: text.to_owned(),
            bytes: text.len() as u64,
        }
    }

    fn limits(bytes: u64, tokens: Option<u64>) -> Limits {
        Limits {
            tokens,
            ..Rule {
                max_bytes: Some(bytes),
                ..Rule::default()
            }
            .resolve()
        }
    }

    #[test]
    fn the_two_numbers_agree() {
        let text: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let counter = Tokenizer::O200kBase.counter();
        assert_snapshot!(truncate(&ends(&text), &limits(256, None), &*counter), @"
        [TRUNCATED IN THE MIDDLE BY ~609 BYTES]
        line 0
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        line 8
        line 9
        line 10
        line 11
        line
        [···TRUNCATED 609 bytes···]
        88
        line 89
        line 90
        line 91
        line 92
        line 93
        line 94
        line 95
        line 96
        line 97
        line 98
        line 99
        ");
    }

    proptest! {
        #[test]
        fn keeps_to_the_cap(
            text in "[a-z\n漢🚀]{300,900}",
            cap in 256u64..800,
            tokens in proptest::option::of(120u64..400),
        ) {
            let counter = Tokenizer::O200kBase.counter();
            let text = truncate(&ends(&text), &limits(cap, tokens), &*counter);
            prop_assert!(text.len() as u64 <= cap, "{} of {cap}", text.len());
        }
    }
}
