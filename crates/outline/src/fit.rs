//! Which lines of an outline does a budget allow?

use spillgate_artifact::TokenBudget;
use spillgate_measure::TokenCounter;

use crate::Line;

/// What an outline may cost unless told: enough for some twenty lines, as in a
/// preview of 600 tokens.
pub const DEFAULT_TOKENS: u64 = 250;

/// Names that a line tells of what was left out below it, and their characters.
const NAMES: usize = 16;
const NAMES_CHARS: usize = 140;

/// The texts of the lines that the budget allows, in their order. The most
/// dispensable are left out first (see [`Line::rank`]). What was left out of a
/// place is named on the place's line: a key's name is what one needs to ask
/// for it. A last line tells how many lines are gone.
#[must_use]
pub fn within(lines: Vec<Line>, budget: TokenBudget, counter: &dyn TokenCounter) -> Vec<String> {
    let costs: u64 = lines.iter().map(|l| counter.count(&l.text) + 1).sum();
    if costs <= budget.get() {
        return lines.into_iter().map(|line| line.text).collect();
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&at| lines[at].rank);
    let parents = parents(&lines);
    let texts = |kept: usize| shown(&lines, &parents, &order[..kept]);
    let fits = |kept: usize| !counter.exceeds(&texts(kept).join("\n"), budget.get());
    // More lines cost more, near enough for a search; what it finds is then
    // checked, for names move from one line to another.
    let counts: Vec<usize> = (1..lines.len()).collect();
    let mut kept = counts.partition_point(|&kept| fits(kept));
    while kept > 0 && !fits(kept) {
        kept -= 1;
    }
    match kept {
        0 => Vec::new(),
        kept => texts(kept),
    }
}

/// The line above each that it is a part of: the nearest with less indentation.
fn parents(lines: &[Line]) -> Vec<Option<usize>> {
    let indent = |at: usize| lines[at].text.len() - lines[at].text.trim_start().len();
    let mut above: Vec<usize> = Vec::new();
    (0..lines.len())
        .map(|at| {
            while above.last().is_some_and(|&last| indent(last) >= indent(at)) {
                above.pop();
            }
            let parent = above.last().copied();
            above.push(at);
            parent
        })
        .collect()
}

/// The chosen lines with the names of what is left out below them.
fn shown(lines: &[Line], parents: &[Option<usize>], chosen: &[usize]) -> Vec<String> {
    let mut is_chosen = vec![false; lines.len()];
    for &at in chosen {
        is_chosen[at] = true;
    }
    let mut left_out: Vec<Vec<&str>> = vec![Vec::new(); lines.len()];
    for at in (0..lines.len()).filter(|&at| !is_chosen[at]) {
        let parent = parents[at].filter(|&parent| is_chosen[parent]);
        if let (Some(parent), Some(name)) = (parent, name(&lines[at].text)) {
            left_out[parent].push(name);
        }
    }
    let texts = (0..lines.len()).filter(|&at| is_chosen[at]);
    let texts = texts.map(|at| format!("{}{}", lines[at].text, also(&left_out[at])));
    let gone = lines.len() - chosen.len();
    let mark = format!("  (… {gone} finer lines left out)");
    texts.chain([mark]).collect()
}

/// ` {also .a, .b, …}`.
fn also(names: &[&str]) -> String {
    let mut room = NAMES_CHARS;
    let told: Vec<&str> = names
        .iter()
        .take(NAMES)
        .take_while(|name| {
            let fits = name.len() + 2 <= room;
            room = room.saturating_sub(name.len() + 2);
            fits
        })
        .copied()
        .collect();
    let more = if told.len() < names.len() {
        ", …"
    } else {
        ""
    };
    match told.is_empty() {
        true => String::new(),
        false => format!(" {{also {}{more}}}", told.join(", ")),
    }
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
            fitted(&lines, 35),
            ["first", &*text, "  (… 2 finer lines left out)"]
        );
        assert_eq!(fitted(&[(0, &*"y".repeat(400))], 40), [""; 0]);
    }

    #[test]
    fn what_is_left_out_is_named_where_it_belongs() {
        let long = format!("    .b.c: {}", "x".repeat(60));
        let elements = format!("  .a[]: array(9) of {}", "y".repeat(80));
        let lines = [
            (0, "top"),
            (1, &*elements),
            (2, &*long),
            (2, "    .d? (1 of 2): string"),
            (2, "    17× no name"),
            (1, "  .e: null"),
        ];
        assert_eq!(
            fitted(&lines, 50),
            [
                "top",
                &format!("{elements} {{also .b.c, .d}}"),
                "  .e: null",
                "  (… 3 finer lines left out)"
            ]
        );
        assert_eq!(
            fitted(&lines, 32),
            ["top {also .a[], .e}", "  (… 5 finer lines left out)"]
        );
    }
}
