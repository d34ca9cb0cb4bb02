//! Which lines of an outline does a budget allow?

use spillgate_artifact::TokenBudget;
use spillgate_measure::TokenCounter;

use crate::Line;

/// What an outline may cost unless told: enough for some twenty lines, as in a
/// preview of 600 tokens.
pub const DEFAULT_TOKENS: u64 = 250;

/// Names of what was left out that are told, and their characters.
const NAMES: usize = 6;
const NAMES_CHARS: usize = 70;
/// What they are taken to cost.
const NAMES_TOKENS: u64 = 24;

/// The texts of the lines that the budget allows, in their order. The most
/// dispensable are left out first (see [`Line::rank`]), and a last line tells
/// how many and what they are about, if there is room for it.
#[must_use]
pub fn within(lines: Vec<Line>, budget: TokenBudget, counter: &dyn TokenCounter) -> Vec<String> {
    let budget = budget.get();
    let costs: Vec<u64> = lines.iter().map(|l| counter.count(&l.text) + 1).collect();
    if costs.iter().sum::<u64>() <= budget {
        return lines.into_iter().map(|line| line.text).collect();
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&at| lines[at].rank);
    // Without what it names, for a start.
    let mark = counter.count(&left_out(&lines, &[])) + 1;
    let named = lines.iter().any(|line| name(&line.text).is_some());
    let mut spent = mark + if named { NAMES_TOKENS } else { 0 };
    let fits = |&&at: &&usize| {
        spent += costs[at];
        spent <= budget
    };
    let mut kept = order.iter().take_while(fits).count();
    loop {
        let (mut chosen, rest) = (order[..kept].to_vec(), &order[kept..]);
        chosen.sort_unstable();
        let mut texts: Vec<String> = chosen.iter().map(|&at| lines[at].text.clone()).collect();
        if kept == 0 {
            return texts;
        }
        texts.push(left_out(&lines, rest));
        // Put together, lines may cost a token more than each alone.
        if counter.count(&texts.join("\n")) <= budget {
            return texts;
        }
        kept -= 1;
    }
}

fn left_out(lines: &[Line], rest: &[usize]) -> String {
    let mut room = NAMES_CHARS;
    let mut names: Vec<&str> = rest
        .iter()
        .filter_map(|&at| name(&lines[at].text))
        .take(NAMES + 1)
        .take_while(|name| {
            let fits = name.len() + 2 <= room;
            room = room.saturating_sub(name.len() + 2);
            fits
        })
        .collect();
    let more = if names.len() > NAMES { ", …" } else { "" };
    names.truncate(NAMES);
    let about = match names.is_empty() {
        true => String::new(),
        false => format!(": {}{more}", names.join(", ")),
    };
    format!("  (… {} finer lines left out{about})", rest.len())
}

/// The path or column that a line is about.
fn name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find([':', ' ', '?'])?;
    let (name, rest) = text.split_at(end);
    let is_name = name.starts_with('.') || name.starts_with(|c: char| c.is_alphabetic());
    (is_name && rest.starts_with([':', '?'])).then_some(name)
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
        let long = format!("  .b.c: {text}");
        let lines = [(0, "x"), (1, &*long), (1, "  .d? (1 of 2): e"), (1, &*text)];
        assert_eq!(
            fitted(&lines, 40),
            ["x", "  (… 3 finer lines left out: .b.c, .d)"]
        );
    }
}
