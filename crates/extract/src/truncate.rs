//! The truncate strategy: returns the beginning and the end of an output.
//!
//! One budget covers everything: the text that the caller puts before the result, our two notices,
//! and both ends of the output (docs/spec/sources.md, "Corrections").

use std::io;

use spillgate_artifact::TokenBudget;
use spillgate_lookup::Artifact;
use spillgate_offload::middle_cut;
use spillgate_text::{TokenCounter, source_exceeds};

/// Maximum length of a token in ordinary text, in bytes, with a margin.
const BYTES_A_TOKEN: u64 = 16;
/// Maximum number of bytes that are read of each end, 8 MiB.
const LARGEST_END: u64 = 8 << 20;
/// To stop at a line break, an end is shortened by at most one quarter (1 / `NEAR`).
const NEAR: usize = 4;

/// An output with its middle cut out, or the whole output if it fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Truncated {
    /// The text, without the text that the caller puts before it.
    pub text: String,
    /// Number of bytes of the view that the text contains.
    pub bytes_examined: u64,
}

/// Returns the whole view (the output's readable text) if it fits `budget` together with
/// `reserved`, the text that the caller puts before it. Otherwise returns the beginning and the end
/// of the view, byte for byte. Of a large view, only these two parts are read. If even the notices
/// do not fit, returns only the notices.
pub(crate) fn truncation(
    artifact: &Artifact,
    budget: TokenBudget,
    reserved: &str,
    counter: &dyn TokenCounter,
) -> io::Result<Truncated> {
    let source = artifact.view().source();
    let bytes = source.len();
    if bytes == 0 {
        return Ok(Truncated {
            text: "The output is empty: it has 0 bytes.".to_owned(),
            bytes_examined: 0,
        });
    }
    let fits = |text: &str| !counter.exceeds(&format!("{reserved}{text}"), budget.get());
    if !source_exceeds(counter, source, budget.get())? {
        let text = String::from_utf8_lossy(&source.bytes(0, bytes)?).into_owned();
        if fits(&text) {
            return Ok(Truncated {
                text,
                bytes_examined: bytes,
            });
        }
    }
    let most = bytes.min(budget.get().saturating_mul(BYTES_A_TOKEN).min(LARGEST_END));
    let ends = Ends {
        head: source.bytes(0, most)?,
        tail: source.bytes(bytes - most, bytes)?,
        bytes,
    };
    Ok(ends.within(fits))
}

/// The beginning and the end of a view that were read.
struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Size of the view, in bytes.
    bytes: u64,
}

impl Ends {
    /// Returns as much of both ends as `fits` accepts.
    fn within(&self, fits: impl Fn(&str) -> bool) -> Truncated {
        let most = (self.head.len() + self.tail.len()) as u64;
        // At least one byte is cut out.
        let (mut low, mut high) = (0, most.min(self.bytes - 1));
        let mut best = self.kept(0);
        // Longer texts have more tokens, with exceptions that are too small to disturb a binary
        // search. Each candidate is counted, so the result keeps the limit.
        while low < high {
            let kept = low + (high - low).div_ceil(2);
            let one = self.kept(usize::try_from(kept).unwrap_or(usize::MAX));
            if fits(&one.text) {
                low = kept;
                best = one;
            } else {
                high = kept - 1;
            }
        }
        best
    }

    /// Returns at most `bytes` bytes of the view, half of them from each end.
    fn kept(&self, bytes: usize) -> Truncated {
        let head = &self.head[..head_end(&self.head, bytes / 2)];
        let from = self.tail.len().saturating_sub(bytes - bytes / 2);
        let tail = &self.tail[tail_start(&self.tail, from)..];
        let examined = (head.len() + tail.len()) as u64;
        let text = middle_cut(
            &String::from_utf8_lossy(head),
            &String::from_utf8_lossy(tail),
            self.bytes - examined,
        );
        Truncated {
            text,
            bytes_examined: examined,
        }
    }
}

/// Returns where to end the beginning of a text, at `most` bytes or earlier: after a line break if
/// there is one nearby, otherwise after a whole character.
fn head_end(bytes: &[u8], most: usize) -> usize {
    let most = most.min(bytes.len());
    let near = most - most / NEAR;
    if let Some(newline) = memchr::memrchr(b'\n', &bytes[near..most]) {
        return near + newline + 1;
    }
    (0..=most)
        .rev()
        .find(|&at| is_char_start(bytes, at))
        .unwrap_or(0)
}

/// Returns where to start the last part of a text, at `from` or later: at the start of a line if
/// there is one nearby, otherwise at the start of a character.
fn tail_start(bytes: &[u8], from: usize) -> usize {
    let near = from + (bytes.len() - from) / NEAR;
    if from > 0 && bytes[from - 1] == b'\n' {
        return from;
    }
    if let Some(newline) = memchr::memchr(b'\n', &bytes[from..near]) {
        return from + newline + 1;
    }
    let mut starts = from..bytes.len();
    starts
        .find(|&at| is_char_start(bytes, at))
        .unwrap_or(bytes.len())
}

fn is_char_start(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use spillgate_text::Tokenizer;

    use super::*;
    use crate::testing::artifact;

    fn truncate(text: &str, budget: u64, reserved: &str) -> Truncated {
        let counter = Tokenizer::O200kBase.counter();
        let budget = TokenBudget::new(budget);
        truncation(&artifact(text), budget, reserved, &*counter).unwrap()
    }

    #[test]
    fn the_middle_goes() {
        let text = spillgate_testkit::log(200);
        let shown = truncate(&text, 200, "WARNING: something.\n");
        assert_snapshot!(shown.text, @"
        [TRUNCATED IN THE MIDDLE BY ~12278 BYTES]
        2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok
        2026-11-21T10:00:01Z INFO worker-1 processed batch id=7919 ok
        2026-11-21T10:00:02Z INFO worker-2 processed batch id=15838 ok
        [···TRUNCATED 12278 bytes···]
        2026-11-21T10:03:17Z INFO worker-10 processed batch id=59998 ok
        2026-11-21T10:03:18Z INFO worker-11 processed batch id=67917 ok
        2026-11-21T10:03:19Z INFO worker-12 processed batch id=75836 ok
        ");
    }

    #[test]
    fn one_huge_line() {
        let shown = truncate(&"word, ".repeat(10_000), 60, "");
        assert_snapshot!(shown.text, @"
        [TRUNCATED IN THE MIDDLE BY ~59912 BYTES]
        word, word, word, word, word, word, word, wo
        [···TRUNCATED 59912 bytes···]
        , word, word, word, word, word, word, word,
        ");
    }

    #[test]
    fn what_fits_is_whole() {
        assert_eq!(truncate("a\nb\n", 40, "").text, "a\nb\n");
        assert_snapshot!(truncate("", 40, "").text, @"The output is empty: it has 0 bytes.");
    }

    #[test]
    fn what_is_before_it_counts() {
        let counter = Tokenizer::O200kBase.counter();
        let text = "one two three\n".repeat(30);
        let budget = counter.count(&text);
        assert_eq!(truncate(&text, budget, "").text, text);
        assert_ne!(truncate(&text, budget, "WARNING: x.\n").text, text);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn within_budget_and_true(
            text in "([a-z ]{0,40}|[漢🚀é]{0,9}|[0-9]{0,30}|\n){20,200}",
            budget in 64u64..300,
            reserved in "[a-z ]{0,20}",
        ) {
            let counter = Tokenizer::O200kBase.counter();
            let view = artifact(&text);
            let view = view.view().source();
            let view = String::from_utf8(view.bytes(0, view.len()).unwrap()).unwrap();
            let shown = truncate(&text, budget, &reserved);
            let whole = format!("{reserved}{}", shown.text);
            prop_assert!(counter.count(&whole) <= budget);
            if shown.text == view {
                return Ok(());
            }
            let cut = view.len() as u64 - shown.bytes_examined;
            let marker = format!("[···TRUNCATED {cut} bytes···]\n");
            let first = format!("[TRUNCATED IN THE MIDDLE BY ~{cut} BYTES]\n");
            let (head, tail) = shown.text.split_once(&marker).unwrap();
            let head = head.strip_prefix(&first).unwrap();
            let head = match view.starts_with(head) {
                true => head,
                false => head.strip_suffix('\n').unwrap(),
            };
            prop_assert!(view.starts_with(head) && view.ends_with(tail));
            // The text does not show whether the newline after the head belongs to the view or was
            // inserted, so both are accepted.
            let kept = (head.len() + tail.len()) as u64;
            prop_assert!(shown.bytes_examined.abs_diff(kept) <= 1);
        }
    }
}
