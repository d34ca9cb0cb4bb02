//! Computes how much of a text fits a token budget.

use spillgate_artifact::TokenBudget;
use spillgate_text::TokenCounter;

/// Returns the length, in bytes, of the longest beginning of `text` that fits the budget. It ends
/// after a whole line if at least one line fits (`ends` are the ends of lines, in ascending order),
/// otherwise after a whole character. It contains at least one character.
pub fn fitting(
    text: &str,
    ends: &[usize],
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> usize {
    let fits = |end: usize| !counter.exceeds(&text[..end], budget.get());
    if fits(text.len()) {
        return text.len();
    }
    // Longer texts almost always have more tokens, which is sufficient for a binary search. The
    // result is checked, because a token may extend over the cut.
    let mut lines = ends.partition_point(|&end| fits(end));
    while lines > 0 {
        if fits(ends[lines - 1]) {
            return ends[lines - 1];
        }
        lines -= 1;
    }
    let first_line = ends.first().copied().unwrap_or(text.len());
    let mut starts: Vec<usize> = text[..first_line]
        .char_indices()
        .map(|(at, _)| at)
        .collect();
    starts.push(first_line);
    let mut chars = starts.partition_point(|&end| fits(end)).max(2) - 1;
    while chars > 1 && !fits(starts[chars]) {
        chars -= 1;
    }
    starts[chars]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_text::Tokenizer;

    use super::*;

    proptest! {
        #[test]
        fn fits_and_makes_progress(
            text in "([a-z ]{1,30}|[漢é🚀]{1,9}|[0-9]{1,9}|\n){1,40}",
            budget in 1u64..60,
        ) {
            let counter = Tokenizer::O200kBase.counter();
            let budget = TokenBudget::new(budget);
            let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
            let end = fitting(&text, &ends, budget, &*counter);
            prop_assert!(end > 0 && text.is_char_boundary(end));
            prop_assert!(counter.count(&text[..end]) <= budget.get());
        }
    }
}
