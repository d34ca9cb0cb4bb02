//! Collects scores, formats them as one table, and compares them with the prototype.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::cases::{Half, SETS};

/// The budgets of a page, in tokens.
pub(crate) const BUDGETS: [u64; 4] = [250, 500, 1000, 2000];

/// Figures of the prototype (docs/spec/behaviour.md, "Search without a model"), in percent for each
/// budget; `None` if it was not measured.
const PROTOTYPE: [(&str, &str, [Option<f64>; 4]); 3] = [
    ("tau", "record", [Some(100.0); 4]),
    (
        "bcd",
        "path",
        [Some(86.0), Some(92.0), Some(100.0), Some(100.0)],
    ),
    ("cidiff", "any line", [None, None, Some(96.9), None]),
];

/// How much a figure may be below that of the prototype, which is rounded to a tenth.
const ROUNDING: f64 = 0.05;

/// Names a row: the place of the set in [`SETS`], what is measured, and the half.
type Row = (usize, String, Half);

/// The mean of some scores.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    fn percent(self) -> Option<f64> {
        self.value().map(|share| 100.0 * share)
    }
}

/// The scores of a row.
#[derive(Debug, Clone, Default)]
struct Scores {
    cases: usize,
    preview: Mean,
    preview_tokens: Mean,
    pages: [Mean; 4],
}

/// The scores of a build.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    rows: BTreeMap<Row, Scores>,
}

/// The scores of one case for one row of the table.
#[derive(Debug)]
pub(crate) struct Scored {
    pub(crate) set: &'static str,
    pub(crate) what: String,
    pub(crate) half: Half,
    /// The share that the preview alone shows, and its tokens.
    pub(crate) preview: Option<(f64, u64)>,
    /// For each budget the scores of the pages, one for each wording.
    pub(crate) pages: [Vec<f64>; 4],
}

impl Figures {
    pub(crate) fn add(&mut self, scored: &Scored) {
        let set = SETS.iter().position(|set| *set == scored.set);
        let row = (set.unwrap_or(SETS.len()), scored.what.clone(), scored.half);
        let scores = self.rows.entry(row).or_default();
        scores.cases += 1;
        if let Some((share, tokens)) = scored.preview {
            scores.preview.add(share);
            scores.preview_tokens.add(tokens as f64);
        }
        for (mean, values) in scores.pages.iter_mut().zip(&scored.pages) {
            for value in values {
                mean.add(*value);
            }
        }
    }

    /// Returns the table, with the figures of an earlier build and the differences if there is one.
    pub(crate) fn table(&self, before: Option<&Self>) -> String {
        let mut table = String::from(
            "| set | what is measured | half | cases | preview alone | 250 | 500 | 1,000 | 2,000 |\n\
             |---|---|---|---:|---:|---:|---:|---:|---:|\n",
        );
        for (row, scores) in &self.rows {
            let old = before.and_then(|before| before.rows.get(row));
            let preview = cell(scores.preview, old.map(|old| old.preview));
            let tokens = tokens(scores, old);
            let pages: Vec<String> = (0..BUDGETS.len())
                .map(|at| cell(scores.pages[at], old.map(|old| old.pages[at])))
                .collect();
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {preview}{tokens} | {} |",
                SETS[row.0],
                row.1,
                row.2.name(),
                scores.cases,
                pages.join(" | ")
            );
        }
        table
    }

    /// Returns the figures as JSON: an array with an object for each row.
    pub(crate) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|((set, what, half), scores)| {
            let pages = BUDGETS.iter().zip(scores.pages);
            let pages = pages.map(|(budget, mean)| (budget.to_string(), json!(mean.percent())));
            json!({
                "set": SETS[*set],
                "what": what,
                "half": half.name(),
                "cases": scores.cases,
                "preview": scores.preview.percent(),
                "preview_tokens": scores.preview_tokens.value(),
                "pages": pages.collect::<serde_json::Map<_, _>>(),
            })
        });
        rows.collect()
    }

    /// Returns a line for each figure that is below that of the prototype.
    pub(crate) fn below_prototype(&self) -> Vec<String> {
        let mut below = Vec::new();
        for (set, what, goals) in PROTOTYPE {
            let mine = self
                .rows
                .iter()
                .filter(|((at, name, _), _)| SETS[*at] == set && name == what);
            for (_, scores) in mine {
                let figures = BUDGETS.iter().zip(goals).zip(scores.pages);
                for ((budget, goal), mean) in figures {
                    if let (Some(goal), Some(percent)) = (goal, mean.percent())
                        && percent < goal - ROUNDING
                    {
                        below.push(format!(
                            "{set}, {what}, {budget} tokens: {percent:.1} %, prototype {goal:.1} %"
                        ));
                    }
                }
            }
        }
        below
    }
}

/// Returns a share in percent, after that of an earlier build and followed by the difference.
fn cell(now: Mean, before: Option<Mean>) -> String {
    match (now.percent(), before.and_then(Mean::percent)) {
        (None, _) => String::new(),
        (Some(now), None) => format!("{now:.1}"),
        (Some(now), Some(before)) => {
            format!("{before:.1} → {now:.1} ({:+.1})", now - before)
        }
    }
}

fn tokens(scores: &Scores, before: Option<&Scores>) -> String {
    let before = before.and_then(|before| before.preview_tokens.value());
    match (scores.preview_tokens.value(), before) {
        (None, _) => String::new(),
        (Some(now), None) => format!(", {now:.0} tokens"),
        (Some(now), Some(before)) => {
            format!(", {before:.0} → {now:.0} tokens ({:+.0})", now - before)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the figures of one set of two cases, of which `first` pages of 250 tokens answer.
    fn figures(set: &'static str, what: &str, first: f64) -> Figures {
        let mut figures = Figures::default();
        for score in [first, 1.0] {
            figures.add(&Scored {
                set,
                what: what.to_owned(),
                half: Half::Both,
                preview: Some((0.5, 99)),
                pages: [vec![score], vec![1.0], vec![1.0], vec![1.0]],
            });
        }
        figures
    }

    #[test]
    fn the_table_has_the_means_and_the_differences_to_an_earlier_build() {
        let (old, new) = (
            figures("logdx", "signals", 0.0),
            figures("logdx", "signals", 0.5),
        );
        let rows = |table: &str| table.lines().skip(2).collect::<Vec<_>>().join("\n");
        assert_eq!(
            rows(&new.table(None)),
            "| logdx | signals | both | 2 | 50.0, 99 tokens | 75.0 | 100.0 | 100.0 | 100.0 |"
        );
        assert_eq!(
            rows(&new.table(Some(&old))),
            "| logdx | signals | both | 2 | 50.0 → 50.0 (+0.0), 99 → 99 tokens (+0) | 50.0 → 75.0 (+25.0) \
             | 100.0 → 100.0 (+0.0) | 100.0 → 100.0 (+0.0) | 100.0 → 100.0 (+0.0) |"
        );
        assert_eq!(new.json()[0]["pages"]["250"], 75.0);
    }

    #[test]
    fn a_figure_below_the_prototype_is_named() {
        let cases = [
            ("bcd", "path", 0.5, 1),
            ("bcd", "path", 0.72, 0),
            ("cidiff", "any line", 0.0, 0),
            ("failures", "critical lines", 0.0, 0),
        ];
        for (set, what, first, expected) in cases {
            let below = figures(set, what, first).below_prototype();
            assert_eq!(below.len(), expected, "{set} {first}: {below:?}");
        }
    }
}
