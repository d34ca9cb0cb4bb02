//! Bounds the length of a model's answer.
//!
//! A request limits the length of the reply, but a provider may ignore the limit. Therefore this
//! module measures the answer and cuts it if it is too long.

use spillgate_text::TokenCounter;

/// The text that ends an answer that was cut. It contains no line number, because line numbers in
/// an answer are checked against the output.
const CUT: &str = "\n[CUT: the answer goes on; ask for less at a time]";
/// Maximum length of a token in bytes, with a margin.
const BYTES_A_TOKEN: u64 = 16;
/// To stop at the end of a line, an answer is shortened by at most one quarter (1 / `NEAR`).
const NEAR: usize = 4;

/// Returns `answer`, cut to `tokens` and `bytes` if it is longer. A last line then says that it was
/// cut.
pub(crate) fn bounded(
    answer: String,
    tokens: u64,
    bytes: u64,
    counter: &dyn TokenCounter,
) -> String {
    let exceeds = |text: &str| text.len() as u64 > bytes || counter.exceeds(text, tokens);
    if !exceeds(&answer) {
        return answer;
    }
    let most = usize::try_from(tokens.saturating_mul(BYTES_A_TOKEN)).unwrap_or(usize::MAX);
    let (mut low, mut high) = (0, answer.len().min(most));
    let mut best = cut(&answer, 0);
    // Longer texts have more tokens, with exceptions that are too small to disturb a binary search.
    // Each candidate is counted, so the result keeps the limit.
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let one = cut(&answer, middle);
        if exceeds(&one) {
            high = middle - 1;
        } else {
            (low, best) = (middle, one);
        }
    }
    best
}

fn cut(answer: &str, most: usize) -> String {
    let most = answer.floor_char_boundary(most);
    let near = answer.floor_char_boundary(most - most / NEAR);
    let end = answer[near..most].rfind('\n').map_or(most, |at| near + at);
    format!("{}{CUT}", &answer[..end])
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use spillgate_text::Tokenizer;

    use super::*;

    #[test]
    fn a_long_answer_ends_with_a_line() {
        let counter = Tokenizer::O200kBase.counter();
        let answer = "one two three\n".repeat(40);
        assert_eq!(bounded(answer.clone(), 200, u64::MAX, &*counter), answer);
        assert_snapshot!(bounded(answer, 40, u64::MAX, &*counter), @"
        one two three
        one two three
        one two three
        one two three
        one two three
        one two three
        [CUT: the answer goes on; ask for less at a time]
        ");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn within_its_bounds_and_true(
            answer in "([a-z ]{0,40}|[漢🚀é]{0,9}|[0-9]{0,30}|\n){5,200}",
            tokens in 30u64..300,
            bytes in 60u64..1200,
        ) {
            let counter = Tokenizer::O200kBase.counter();
            let shown = bounded(answer.clone(), tokens, bytes, &*counter);
            prop_assert!(counter.count(&shown) <= tokens && shown.len() as u64 <= bytes);
            if shown != answer {
                let (kept, _) = shown.rsplit_once(CUT).unwrap();
                prop_assert!(answer.starts_with(kept));
            }
        }
    }
}
