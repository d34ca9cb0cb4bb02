//! The time line of a run, as SVG that the server draws.

use maud::{Markup, html};
use spillgate_extract::{Op, OpKind};

use super::trace::Run;
use crate::plot::at;
use crate::shown;

/// Width of the drawing, in units of its own.
const WIDTH: f64 = 960.0;

/// Height of a lane, and of the bars in it.
const LANE: f64 = 15.0;
const BAR: f64 = 11.0;

/// Room for the times below the lanes.
const BOTTOM: f64 = 18.0;

/// Most lanes, and most bars.
const LANES: usize = 24;
const BARS: usize = 300;

/// A bar: its lane, and its operation.
#[derive(Debug, PartialEq, Eq)]
struct Bar {
    lane: usize,
    step: usize,
}

/// Returns the kind of an operation as a class of the style sheet, and in words.
pub(super) fn kind(op: &Op) -> (&'static str, &'static str) {
    match op.kind {
        OpKind::Agent => ("agent", "agent"),
        OpKind::Turn => ("turn", "turn"),
        OpKind::Llm => ("model", "request to a model"),
        OpKind::Tool => ("tool", "call of a tool"),
        OpKind::Session => ("extract", "extraction"),
        OpKind::Internal => ("own", "work without a model"),
    }
}

/// Returns the lanes of the first operations: below that of the operation around them, and beside
/// those that run at the same time. The second value counts the operations that are left out.
fn bars(run: &Run) -> (Vec<Bar>, usize) {
    let mut bars: Vec<Bar> = Vec::new();
    let mut lanes_of = vec![0; run.steps.len()];
    // The end of the last bar of each lane.
    let mut ends = [0_u64; LANES];
    let mut left_out = 0;
    for (at, step) in run.steps.iter().enumerate() {
        let op = &step.op;
        if op.kind == OpKind::Internal {
            continue;
        }
        let first = step.parent.map_or(0, |parent| lanes_of[parent] + 1);
        let free = (first..LANES).find(|&lane| ends[lane] <= op.at_ms);
        let Some(lane) = free.filter(|_| bars.len() < BARS) else {
            lanes_of[at] = LANES;
            left_out += 1;
            continue;
        };
        ends[lane] = op.at_ms.saturating_add(op.took_ms.max(1));
        lanes_of[at] = lane;
        bars.push(Bar { lane, step: at });
    }
    (bars, left_out)
}

/// Returns where a bar begins and how long it is, of a whole of `whole` units.
fn span(op: &Op, total_ms: u64, whole: f64, least: f64) -> (f64, f64) {
    let total = total_ms.max(1) as f64;
    let from = (op.at_ms as f64 / total * whole).min(whole - least);
    let length = (op.took_ms as f64 / total * whole).min(whole - from);
    (from, length.max(least))
}

/// Returns the time line.
pub(super) fn timeline(run: &Run) -> Markup {
    let total = run.root().took_ms;
    let (bars, left_out) = bars(run);
    let lanes = bars.iter().map(|bar| bar.lane + 1).max().unwrap_or(0);
    let height = lanes as f64 * LANE + BOTTOM;
    html! {
        figure {
            svg.plot.timeline viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label="The operations over time; the table below has the figures" {
                @for quarter in 0..=4_u64 {
                    @let x = WIDTH * quarter as f64 / 4.0;
                    line.grid x1=(at(x)) x2=(at(x)) y1="0" y2=(at(height - BOTTOM)) {}
                    @let anchor = match quarter { 0 => "start", 4 => "end", _ => "middle" };
                    text.tick x=(at(x)) y=(at(height - 4.0)) text-anchor=(anchor) { (shown::took(total.saturating_mul(quarter) / 4)) }
                }
                @for bar in &bars {
                    @let op = &run.steps[bar.step].op;
                    @let (x, width) = span(op, total, WIDTH, 1.5);
                    @let class = if op.error.is_some() { "failed" } else { kind(op).0 };
                    rect.bar.(class) x=(at(x)) y=(at(bar.lane as f64 * LANE + 2.0)) width=(at(width)) height=(BAR) rx="2" {
                        title { (shown::line(&op.name, 60)) ": " (kind(op).1) ", " (shown::took(op.took_ms)) @if op.error.is_some() { ", failed" } }
                    }
                }
            }
            figcaption.legend {
                @for (class, words) in [("turn", "turns"), ("model", "models"), ("tool", "tools"), ("extract", "extractions"), ("agent", "agents"), ("failed", "failed")] {
                    span { svg.swatch viewBox="0 0 10 10" aria-hidden="true" { rect.(class) width="10" height="10" rx="2" {} } (words) }
                }
                @if left_out > 0 { span { (spillgate_outline::grouped(left_out as u64)) " operations are only in the table" } }
            }
        }
    }
}

/// Returns the bar of one operation in the table.
pub(super) fn bar(op: &Op, total_ms: u64) -> Markup {
    let (x, width) = span(op, total_ms, 100.0, 0.8);
    let class = if op.error.is_some() {
        "failed"
    } else {
        kind(op).0
    };
    html! {
        svg.share viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.(class) x=(at(x)) width=(at(width)) height="8" {}
        }
    }
}
