//! Selects the lines of an outline that fit a budget.

use spillgate_artifact::TokenBudget;
use spillgate_text::TokenCounter;

use crate::{EntryKind, OutlineEntry};

/// Default maximum size of an outline, in tokens: enough for about twenty lines, as in a preview of
/// 600 tokens.
pub const DEFAULT_TOKENS: u64 = 250;

/// Maximum number of names of left-out places on the line above them.
const NAMES: usize = 16;
/// Maximum number of characters of these names together.
const NAMES_CHARS: usize = 140;

/// Returns the texts of the lines that fit the budget, in order. The most dispensable lines are
/// left out first (see [`OutlineEntry::rank`]). The line of a place names what was left out below
/// it, because a key's name is needed to ask for the key. The last line says how many lines were
/// left out.
#[must_use]
pub fn within(
    lines: &[OutlineEntry],
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let texts: Vec<String> = lines.iter().map(OutlineEntry::to_string).collect();
    let costs: u64 = texts.iter().map(|text| counter.count(text) + 1).sum();
    if costs <= budget.get() {
        return texts;
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&at| lines[at].rank);
    let parents = parents(lines);
    let texts = |kept: usize| shown(lines, &parents, &order[..kept]);
    let fits = |kept: usize| !counter.exceeds(&texts(kept).join("\n"), budget.get());
    // More lines nearly always cost more tokens, so a binary search works. Its result is checked
    // afterwards, because the names of left-out places move from one line to another.
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

/// Returns for each line the index of its parent: the nearest line above it with less depth.
fn parents(lines: &[OutlineEntry]) -> Vec<Option<usize>> {
    let mut above: Vec<usize> = Vec::new();
    let parent_of = |(at, line): (usize, &OutlineEntry)| {
        while above
            .last()
            .is_some_and(|&last| lines[last].depth >= line.depth)
        {
            above.pop();
        }
        let parent = above.last().copied();
        above.push(at);
        parent
    };
    lines.iter().enumerate().map(parent_of).collect()
}

/// Returns the chosen lines, with the names of the places that were left out below them.
fn shown(lines: &[OutlineEntry], parents: &[Option<usize>], chosen: &[usize]) -> Vec<String> {
    let mut is_chosen = vec![false; lines.len()];
    for &at in chosen {
        is_chosen[at] = true;
    }
    let mut left_out: Vec<Vec<&str>> = vec![Vec::new(); lines.len()];
    for at in (0..lines.len()).filter(|&at| !is_chosen[at]) {
        let parent = parents[at].filter(|&parent| is_chosen[parent]);
        if let (Some(parent), EntryKind::Path(path)) = (parent, &lines[at].kind) {
            left_out[parent].push(path);
        }
    }
    let texts = (0..lines.len()).filter(|&at| is_chosen[at]);
    let texts = texts.map(|at| format!("{}{}", lines[at], also(&left_out[at])));
    let gone = lines.len() - chosen.len();
    let mark = format!("  (… {gone} finer lines left out)");
    texts.chain([mark]).collect()
}

/// Returns ` {also .a, .b, …}`.
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

#[cfg(test)]
mod tests {
    use spillgate_text::Tokenizer;

    use super::*;

    fn fitted(lines: &[OutlineEntry], budget: u64) -> Vec<String> {
        let counter = Tokenizer::Heuristic.counter();
        within(lines, TokenBudget::new(budget), &*counter)
    }

    fn entry(rank: usize, depth: usize, path: &str, text: &str) -> OutlineEntry {
        let (kind, text) = match path {
            "" => (EntryKind::Place, text.to_owned()),
            path => (EntryKind::Path(path.to_owned()), format!("{path}{text}")),
        };
        OutlineEntry::new(rank, depth, kind, text)
    }

    #[test]
    fn the_dispensable_go_first_and_are_counted() {
        let text = "x".repeat(58); // 15 tokens
        let lines = [
            entry(0, 0, "", "first"),
            entry(2, 0, "", &text),
            entry(1, 0, "", &text),
            entry(2, 0, "", &text),
        ];
        assert_eq!(fitted(&lines, 100).len(), 4);
        assert_eq!(
            fitted(&lines, 35),
            [
                "  first",
                &*format!("  {text}"),
                "  (… 2 finer lines left out)"
            ]
        );
        assert_eq!(fitted(&[entry(0, 0, "", &"y".repeat(400))], 40), [""; 0]);
    }

    #[test]
    fn what_is_left_out_is_named_where_it_belongs() {
        let elements = format!(": array(9) of {}", "y".repeat(80));
        let lines = [
            entry(0, 0, "", "top"),
            entry(1, 1, ".a[]", &elements),
            entry(2, 2, ".b.c", &format!(": {}", "x".repeat(60))),
            entry(2, 2, ".d", "? (1 of 2): string"),
            entry(2, 2, "", "17× no name"),
            entry(1, 1, ".e", ": null"),
        ];
        assert_eq!(
            fitted(&lines, 51),
            [
                "  top",
                &format!("    .a[]{elements} {{also .b.c, .d}}"),
                "    .e: null",
                "  (… 3 finer lines left out)"
            ]
        );
        assert_eq!(
            fitted(&lines, 32),
            ["  top {also .a[], .e}", "  (… 5 finer lines left out)"]
        );
    }
}
