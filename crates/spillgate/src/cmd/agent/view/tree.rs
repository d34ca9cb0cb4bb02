//! Formats the operations of a trace as an indented table.

use spillgate_agent::{Op, OpKind};

use super::table::{Side, table};
use crate::cmd::agent::live::decided;
use crate::cmd::agent::words::{bytes, number, one_line, time};

/// Maximum length of a name, a target or an error, in characters.
const NAME: usize = 60;
const WORDS: usize = 160;

/// Formats operations, nested ones indented: name, time, tokens in and out, cost, and outcome.
pub(super) fn tree(root: &Op) -> String {
    let head = ["operation", "took", "in", "out", "cost", ""].map(str::to_owned);
    let mut rows = vec![head];
    enter(&mut rows, root, 0);
    let sides = [
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Left,
    ];
    table(sides, &rows)
}

fn enter(rows: &mut Vec<[String; 6]>, op: &Op, depth: usize) {
    let usage = op.usage.as_ref();
    let tokens = |count: fn(&spillgate_llm::Usage) -> u64| {
        usage.map(|usage| number(count(usage))).unwrap_or_default()
    };
    let cost = usage.and_then(|usage| usage.cost);
    rows.push([
        format!("{}{}", "  ".repeat(depth), name(op)),
        time(op.took_ms),
        tokens(|usage| usage.input),
        tokens(|usage| usage.output),
        cost.map(|cost| cost.to_string()).unwrap_or_default(),
        remarks(op),
    ]);
    for child in &op.children {
        enter(rows, child, depth + 1);
    }
}

fn name(op: &Op) -> String {
    let name = one_line(&op.name, NAME);
    match &op.server {
        // For a call of an agent, server and tool have the same name, which is shown only once.
        Some(server) if *server != op.name => format!("{name} ({})", one_line(server, NAME)),
        _ => name,
    }
}

/// Describes the outcome of an operation.
fn remarks(op: &Op) -> String {
    let mut remarks = Vec::new();
    remarks.extend(op.target.as_deref().map(|target| one_line(target, NAME)));
    if op.kind == OpKind::Tool {
        remarks.extend(op.response_bytes.map(bytes));
        if op.cached {
            remarks.push("from the cache".to_owned());
        }
        if op.decided.is_some() {
            remarks.push(decided(op));
        }
    }
    if op.unfinished {
        remarks.push("not finished".to_owned());
    }
    // `decided` already includes the error of a tool.
    let error = op.error.as_deref().filter(|_| op.decided.is_none());
    remarks.extend(error.map(|error| format!("error: {}", one_line(error, WORDS))));
    remarks.join(", ")
}
