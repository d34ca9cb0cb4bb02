//! Which lines of an outline does a budget allow?

use spillgate_artifact::TokenBudget;
use spillgate_measure::TokenCounter;

use crate::Line;

/// What an outline may cost unless told: enough for some twenty lines, as in a
/// preview of 600 tokens.
pub const DEFAULT_TOKENS: u64 = 250;

/// The texts of the lines that the budget allows, in their order. The most
/// dispensable are left out first (see [`Line::rank`]), and a last line tells
/// how many, if there is room for it.
#[must_use]
pub fn within(lines: Vec<Line>, budget: TokenBudget, counter: &dyn TokenCounter) -> Vec<String> {
    let budget = budget.get();
    let costs: Vec<u64> = lines.iter().map(|l| counter.count(&l.text) + 1).collect();
    if costs.iter().sum::<u64>() <= budget {
        return lines.into_iter().map(|line| line.text).collect();
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&at| lines[at].rank);
    let left_out = |kept: usize| format!("  (… {} finer lines left out)", lines.len() - kept);
    let mark = counter.count(&left_out(0)) + 1;
    let mut spent = if mark <= budget { mark } else { 0 };
    let mut kept = order.iter().take_while(|&&at| {
        spent += costs[at];
        spent <= budget
    });
    let mut kept = kept.by_ref().count();
    loop {
        let mut chosen = order[..kept].to_vec();
        chosen.sort_unstable();
        let mut texts: Vec<String> = chosen.iter().map(|&at| lines[at].text.clone()).collect();
        if mark <= budget && kept > 0 {
            texts.push(left_out(kept));
        }
        // Put together, lines may cost a token more than each alone.
        if kept == 0 || counter.count(&texts.join("\n")) <= budget {
            return texts;
        }
        kept -= 1;
    }
}

#[cfg(test)]
mod tests {
    use spillgate_measure::Tokenizer;

    use super::*;

    fn fitted(lines: &[(usize, &str)], budget: u64) -> Vec<String> {
        let line = |&(rank, text): &(usize, &str)| Line {
            rank,
            text: text.to_owned(),
        };
        let lines = lines.iter().map(line).collect();
        within(
            lines,
            TokenBudget::new(budget),
            &*Tokenizer::Heuristic.counter(),
        )
    }

    #[test]
    fn the_dispensable_go_first_and_are_counted() {
        let text = "x".repeat(60); // 15 tokens
        let lines = [(0, "first"), (2, &*text), (1, &*text), (2, &*text)];
        assert_eq!(fitted(&lines, 100).len(), 4);
        assert_eq!(
            fitted(&lines, 43),
            ["first", &*text, "  (… 2 finer lines left out)"]
        );
        assert_eq!(fitted(&[(0, &*"y".repeat(400))], 40), [""; 0]);
    }
}
