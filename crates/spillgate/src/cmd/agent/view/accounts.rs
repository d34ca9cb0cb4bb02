//! Formats the cost of a run and its tool calls as tables.

use spillgate_agent::{Accounting, Part};
use spillgate_llm::Usage;

use super::table::{Side, table};
use crate::cmd::agent::words::{number, one_line};

/// Maximum length of a name, in characters.
const NAME: usize = 60;

/// Formats a table of models and a table of tools. The second table also lists the tools of
/// sub-agents, under the sub-agent's name. A line with the number of extractions by strategy
/// follows for each agent that had extractions.
pub(super) fn accounts(accounting: &Accounting) -> String {
    let mut text = format!("{}\n{}", models(accounting), tools(accounting));
    extractions(&mut text, accounting, "");
    text
}

fn models(accounting: &Accounting) -> String {
    let head = [
        "asked by",
        "model",
        "calls",
        "unanswered",
        "in",
        "cached",
        "out",
        "cost",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for row in &accounting.models {
        let by = match row.part {
            Part::Own => "the agent",
            Part::ToolOutput => "tool_output",
            Part::SubAgents => "sub-agents",
        };
        let spent = &row.spent;
        rows.push(asked(
            by,
            &one_line(&row.target, NAME),
            spent.calls,
            spent.unanswered,
            &spent.usage,
        ));
    }
    let total = &accounting.total;
    rows.push(asked(
        "all",
        "",
        total.calls,
        total.unanswered,
        &total.usage,
    ));
    let (left, right) = (Side::Left, Side::Right);
    table(
        [left, left, right, right, right, right, right, right],
        &rows,
    )
}

fn asked(by: &str, model: &str, calls: u64, unanswered: u64, usage: &Usage) -> [String; 8] {
    [
        by.to_owned(),
        model.to_owned(),
        number(calls),
        some(unanswered),
        number(usage.input),
        some(usage.cached_input),
        number(usage.output),
        usage.cost.map(|cost| cost.to_string()).unwrap_or_default(),
    ]
}

fn tools(accounting: &Accounting) -> String {
    let head = [
        "tool",
        "calls",
        "failed",
        "cached",
        "stored",
        "cut",
        "dropped",
        "bytes",
        "tokens shown",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    enter(&mut rows, accounting, "");
    if rows.len() == 1 {
        return "no tool was called\n".to_owned();
    }
    let (left, right) = (Side::Left, Side::Right);
    let sides = [left, right, right, right, right, right, right, right, right];
    table(sides, &rows)
}

fn enter(rows: &mut Vec<[String; 9]>, accounting: &Accounting, who: &str) {
    for tool in &accounting.tools {
        let server = tool.server.as_deref().filter(|server| *server != tool.tool);
        let server = server.map(|server| format!(" ({})", one_line(server, NAME)));
        let name = one_line(&tool.tool, NAME);
        rows.push([
            format!("{who}{name}{}", server.unwrap_or_default()),
            number(tool.calls),
            some(tool.failures),
            some(tool.cached),
            some(tool.stored),
            some(tool.cut),
            some(tool.dropped),
            number(tool.bytes),
            number(tool.tokens_shown),
        ]);
    }
    for (name, inner) in &accounting.agents {
        enter(rows, inner, &format!("{who}{}: ", one_line(name, NAME)));
    }
}

/// Adds a line for each agent that had extractions.
fn extractions(text: &mut String, accounting: &Accounting, who: &str) {
    let of = &accounting.extractions;
    if !of.is_none() {
        let by = |(strategy, many): (&String, &u64)| format!("{} {many}", one_line(strategy, NAME));
        let mut parts: Vec<String> = of.strategies.iter().map(by).collect();
        parts.push(format!("fell back {}", of.fallbacks));
        parts.push(format!("failed {}", of.failures));
        text.push_str(&format!("\n{who}extractions: {}\n", parts.join(", ")));
    }
    for (name, inner) in &accounting.agents {
        extractions(text, inner, &format!("{who}{}: ", one_line(name, NAME)));
    }
}

/// Formats zero as an empty cell.
fn some(many: u64) -> String {
    match many {
        0 => String::new(),
        many => number(many),
    }
}
