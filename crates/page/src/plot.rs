//! Plots as SVG, drawn by the server with shapes and classes; the style sheet has the colours.

use maud::{Markup, html};
use spillgate_outline::grouped;
use spillgate_retrieval::Sums;

/// Width and height of the plot of days, in units of its own.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;

/// Room for the figures at the left, the days at the bottom, and above the highest bar.
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 10.0;

/// Names of days below the plot.
const NAMES: usize = 8;

/// The parts of a bar, from the bottom up: class and words.
const PARTS: [(&str, &str); 5] = [
    ("shown", "shown"),
    ("later", "read later"),
    ("schema", "definitions of our tools"),
    ("kept", "kept out, measured"),
    ("about", "kept out, estimated"),
];

/// The tokens of a day.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Day {
    name: String,
    /// Tokens by [`PARTS`].
    parts: [u64; PARTS.len()],
}

impl Day {
    pub(crate) fn new(name: String, sums: &Sums) -> Self {
        let kept = u64::try_from(sums.tokens_saved).unwrap_or(0);
        let about = kept.min(sums.tokens_in_estimated);
        let parts = [
            sums.tokens_shown,
            sums.tokens_retrieved,
            sums.tokens_schema,
            kept - about,
            about,
        ];
        Self { name, parts }
    }

    fn total(&self) -> u64 {
        self.parts.iter().sum()
    }

    /// Returns the figures in words.
    fn words(&self) -> String {
        let parts = PARTS.iter().zip(self.parts).filter(|(_, count)| *count > 0);
        let parts: Vec<String> = parts
            .map(|((_, words), count)| format!("{} {words}", grouped(count)))
            .collect();
        match parts.is_empty() {
            true => format!("{}: nothing", self.name),
            false => format!("{}: {}", self.name, parts.join(", ")),
        }
    }
}

/// Returns a bar for each day.
pub(crate) fn days(days: &[Day]) -> Markup {
    let top = ceiling(days.iter().map(Day::total).max().unwrap_or(0));
    let scale = (HEIGHT - BOTTOM - TOP) / top as f64;
    let step = (WIDTH - LEFT) / days.len().max(1) as f64;
    let base = HEIGHT - BOTTOM;
    let named = days.len().div_ceil(NAMES).max(1);
    html! {
        figure {
            svg.plot viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label="Tokens by day; the table below the plot has the figures" {
                @for quarter in 0..=4_u32 {
                    @let y = base - (top as f64) * f64::from(quarter) / 4.0 * scale;
                    line.grid x1=(LEFT) x2=(WIDTH) y1=(at(y)) y2=(at(y)) {}
                    text.tick x=(LEFT - 6.0) y=(at(y + 3.5)) text-anchor="end" { (short(top / 4 * u64::from(quarter))) }
                }
                @for (number, day) in days.iter().enumerate() {
                    @let x = LEFT + step * number as f64;
                    g {
                        title { (day.words()) }
                        rect.column x=(at(x)) y=(TOP) width=(at(step)) height=(at(base - TOP)) {}
                        @for (class, y, height) in stack(day, base, scale) {
                            rect.(class) x=(at(x + step * 0.15)) y=(at(y)) width=(at(step * 0.7)) height=(at(height)) {}
                        }
                    }
                    @if number % named == 0 {
                        text.tick x=(at(x + step / 2.0)) y=(HEIGHT - 6.0) text-anchor="middle" { (day.name.get(5..).unwrap_or(&day.name)) }
                    }
                }
            }
            figcaption.legend {
                @for (class, words) in PARTS { span { svg.key width="10" height="10" aria-hidden="true" { rect.(class) width="10" height="10" {} } " " (words) } }
            }
            details {
                summary { "Figures" }
                div.scroll tabindex="0" role="region" aria-label="Tokens by day" {
                    table.figures-of {
                        thead { tr { th scope="col" { "Day" } @for (_, words) in PARTS { th.number scope="col" { (words) } } } }
                        tbody {
                            @for day in days.iter().rev().filter(|day| day.total() > 0) {
                                tr { th scope="row" { (day.name) } @for count in day.parts { td.number { (grouped(count)) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the rectangles of a bar: class, upper edge, height.
fn stack(day: &Day, base: f64, scale: f64) -> Vec<(&'static str, f64, f64)> {
    let mut edge = base;
    let parts = PARTS.iter().zip(day.parts).filter(|(_, count)| *count > 0);
    let stacked = parts.map(|((class, _), count)| {
        let height = count as f64 * scale;
        edge -= height;
        (*class, edge, height)
    });
    stacked.collect()
}

/// Returns a bar whose length is a share of the most.
pub(crate) fn share(of: u64, most: u64) -> Markup {
    let part = of as f64 / most.max(1) as f64 * 100.0;
    html! {
        svg.share viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.shown width=(at(part)) height="8" {}
        }
    }
}

/// Returns the least number of the form 1, 2 or 5 times a power of ten that is not below `most`.
fn ceiling(most: u64) -> u64 {
    let mut power: u64 = 10;
    loop {
        for times in [1, 2, 5] {
            let step = power.saturating_mul(times);
            if step >= most || step == u64::MAX {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Returns a number with a unit: 1.5k, 20M.
fn short(count: u64) -> String {
    let (divisor, unit) = match count {
        0..1000 => return count.to_string(),
        1000..1_000_000 => (1e3, "k"),
        1_000_000..1_000_000_000 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let text = format!("{:.1}", count as f64 / divisor);
    format!("{}{unit}", text.trim_end_matches(".0"))
}

/// Returns a coordinate with one decimal.
pub(crate) fn at(coordinate: f64) -> String {
    let text = format!("{coordinate:.1}");
    text.trim_end_matches(".0").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_at_a_round_number() {
        for (most, top) in [
            (0, 10),
            (10, 10),
            (11, 20),
            (21, 50),
            (999, 1000),
            (1_000_001, 2_000_000),
        ] {
            assert_eq!(ceiling(most), top);
        }
        assert!(ceiling(u64::MAX) == u64::MAX);
        let shorts = [0, 999, 1000, 1500, 20_000_000, 3_400_000_000].map(short);
        assert_eq!(shorts, ["0", "999", "1k", "1.5k", "20M", "3.4G"]);
    }

    #[test]
    fn parts_of_a_bar_add_up() {
        let mut sums = Sums::default();
        (sums.tokens_in, sums.tokens_in_estimated) = (1000, 300);
        (sums.tokens_shown, sums.tokens_retrieved, sums.tokens_saved) = (100, 50, 850);
        let day = Day::new("2026-11-26".to_owned(), &sums);
        assert_eq!(day.parts, [100, 50, 0, 550, 300]);
        assert_eq!(day.total(), sums.tokens_in);
        let bars = stack(&day, 100.0, 0.1);
        let edges: Vec<_> = bars
            .iter()
            .map(|(class, edge, _)| (*class, edge.round()))
            .collect();
        assert_eq!(
            edges,
            [
                ("shown", 90.0),
                ("later", 85.0),
                ("kept", 30.0),
                ("about", 0.0)
            ]
        );
        assert_eq!(
            day.words(),
            "2026-11-26: 100 shown, 50 read later, 550 kept out, measured, 300 kept out, estimated"
        );
        // What cost more than it saved is not drawn below the axis.
        let mut cost = Sums::default();
        (cost.tokens_saved, cost.tokens_shown) = (-5, 7);
        assert_eq!(Day::new(String::new(), &cost).parts, [7, 0, 0, 0, 0]);
    }
}
