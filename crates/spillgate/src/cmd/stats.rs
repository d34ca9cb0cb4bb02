//! `spillgate stats`: prints how many tokens came in, were shown, were read later and were saved.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::json;
use spillgate_outline::grouped;
use spillgate_retrieval::{Account, Sums, ToolList};
use spillgate_untrusted::line;

use crate::failure::Failure;
use crate::output::{Output, Paint, Painter};
use crate::wiring::App;

pub(crate) fn stats(app: &App, out: &Output) -> Result<u8, Failure> {
    let entries = app.ledger.entries()?;
    let stored = app.store.candidates()?;
    let stored_bytes: u64 = stored.iter().map(|one| one.bytes).sum();
    let Account {
        total,
        tools: by_tool,
        servers: by_server,
        tool_lists: lists,
        passed_through: inline,
        ..
    } = Account::of(&entries);
    if out.json {
        out.object(&json!({
            "store": app.store.place(),
            "artifacts": stored.len(),
            "stored_bytes": stored_bytes,
            "passed_through": inline,
            "total": total,
            "tools": by_tool,
            "servers": by_server,
            "tool_lists": lists,
        }))?;
        return Ok(0);
    }
    let mut text = headline(&total, out.painter);
    writeln!(
        text,
        "{} {} stored now, {} in {}",
        grouped(stored.len() as u64),
        if stored.len() == 1 {
            "output is"
        } else {
            "outputs are"
        },
        bytesize::ByteSize(stored_bytes),
        app.store.place(),
    )
    .expect("writing to a string");
    if inline > 0 {
        let inline = grouped(inline);
        writeln!(
            text,
            "{inline} results passed through the gateway unchanged"
        )
        .expect("writing to a string");
    }
    let tables = Tables {
        width: out.width(),
        painter: out.painter,
    };
    let total = ByName::from([("all".to_owned(), total)]);
    if !by_tool.is_empty() {
        tables.add(&mut text, "TOOL", &[&by_tool, &total]);
    }
    if !by_server.is_empty() {
        tables.add(&mut text, "SERVER", &[&by_server]);
    }
    look_ups(&mut text, &total["all"]);
    extractions(&mut text, &by_tool, &total, &tables);
    programs(&mut text, &by_tool);
    lists_of_tools(&mut text, &lists, app.settings.tool_list_budget);
    secrets(&mut text, &total);
    out.raw(text.as_bytes())?;
    Ok(0)
}

/// Returns the line that says what was saved.
fn headline(total: &Sums, painter: Painter) -> String {
    if total.offloaded + total.not_stored == 0 {
        return "Nothing was saved yet: no large output came in.\n".to_owned();
    }
    let about = if total.is_estimate() { "≈" } else { "" };
    let saved = match total.tokens_saved {
        0.. => format!(
            "Saved {about}{} tokens",
            grouped(total.tokens_saved.unsigned_abs())
        ),
        cost => format!(
            "Cost {about}{} tokens more than was saved",
            grouped(cost.unsigned_abs())
        ),
    };
    let mut parts = vec![
        format!("{} came in", grouped(total.tokens_in)),
        format!("{} were shown", grouped(total.tokens_shown)),
        format!("{} were read later", grouped(total.tokens_retrieved)),
    ];
    if total.tokens_schema > 0 {
        parts.push(format!(
            "{} were definitions of tools",
            grouped(total.tokens_schema)
        ));
    }
    if total.tokens_lost > 0 {
        parts.push(format!("{} were lost", grouped(total.tokens_lost)));
    }
    let saved = painter.paint(Paint::Strong, &saved);
    format!("{saved}: {}.\n\n", parts.join(", "))
}

type ByName = BTreeMap<String, Sums>;

/// Writes tables that fit the terminal.
struct Tables {
    /// The width of the terminal; `None` if there is none.
    width: Option<usize>,
    painter: Painter,
}

/// Number of columns after the names.
const COLUMNS: usize = 7;

/// A row: the name and the cells.
type Row = (String, [String; COLUMNS]);

impl Tables {
    /// Adds a table of sums after an empty line.
    fn add(&self, text: &mut String, title: &str, sums: &[&ByName]) {
        let titles = [
            "STORED",
            "TOKENS IN",
            "SHOWN",
            "READ LATER",
            "OUR TOOLS",
            "SAVED",
            "MS EACH",
        ];
        let rows = sums.iter().flat_map(|sums| sums.iter());
        let rows: Vec<Row> = rows
            .map(|(name, sums)| (name.clone(), cells(sums)))
            .collect();
        self.rows(text, title, titles, &rows);
    }

    /// Adds rows below their titles. The names are cut to what the figures leave of the width.
    fn rows(&self, text: &mut String, title: &str, titles: [&str; COLUMNS], rows: &[Row]) {
        /// Fewest columns of the names.
        const LEAST_NAME: usize = 12;
        /// Columns of the names without a terminal.
        const NAME: usize = 36;
        let widths: [usize; COLUMNS] = std::array::from_fn(|at| {
            let cells = rows.iter().map(|(_, cells)| cells[at].chars().count());
            cells.max().unwrap_or(0).max(titles[at].len())
        });
        let figures = widths.iter().sum::<usize>() + COLUMNS;
        let room = self.width.map_or(NAME, |width| {
            width.saturating_sub(figures).clamp(LEAST_NAME, NAME)
        });
        let row = |name: &str, cells: &[String; COLUMNS]| {
            let mut row = format!("{:<room$}", line(name, room));
            for (cell, width) in cells.iter().zip(widths) {
                write!(row, " {cell:>width$}").expect("writing to a string");
            }
            row
        };
        let head = row(title, &titles.map(str::to_owned));
        writeln!(text, "\n{}", self.painter.paint(Paint::Faint, &head))
            .expect("writing to a string");
        for (name, cells) in rows {
            writeln!(text, "{}", row(name, cells)).expect("writing to a string");
        }
    }
}

/// Returns the figures of a row. Extrapolated ones are marked, here as in messages.
fn cells(sums: &Sums) -> [String; COLUMNS] {
    let figure = |is_estimated: bool, value: u64| match is_estimated {
        true => format!("≈{}", grouped(value)),
        false => grouped(value),
    };
    let sign = if sums.tokens_saved < 0 { "-" } else { "" };
    let saved = figure(sums.is_estimate(), sums.tokens_saved.unsigned_abs());
    [
        grouped(sums.offloaded),
        figure(sums.tokens_in_estimated > 0, sums.tokens_in),
        grouped(sums.tokens_shown),
        figure(sums.tokens_retrieved_estimated > 0, sums.tokens_retrieved),
        figure(sums.tokens_schema_estimated > 0, sums.tokens_schema),
        format!("{sign}{saved}"),
        format!("{:.1}", sums.milliseconds),
    ]
}

/// Adds a line that says how often look-ups found what they asked for, if there were any.
fn look_ups(text: &mut String, total: &Sums) {
    let asked = total.found + total.in_vain;
    if asked > 0 {
        let (found, asked) = (grouped(total.found), grouped(asked));
        let line = format!(
            "\nLOOK-UPS: {found} of {asked} searches, filters and extractions found what they asked for\n"
        );
        text.push_str(&line);
    }
}

/// Adds a table of extractions, if there were any.
fn extractions(text: &mut String, by_tool: &ByName, total: &ByName, tables: &Tables) {
    let asked = |sums: &&Sums| sums.extraction.count > 0;
    if !total.values().any(|sums| asked(&sums)) {
        return;
    }
    let titles = [
        "ANSWERS",
        "CALLS",
        "TOKENS IN",
        "CACHED",
        "OUT",
        "COST",
        "MS EACH",
    ];
    let rows = by_tool.iter().chain(total).filter(|(_, sums)| asked(sums));
    let rows = rows.map(|(name, sums)| {
        let of = &sums.extraction;
        let cells = [
            grouped(of.count),
            grouped(of.calls),
            grouped(of.input_tokens),
            grouped(of.cached_input_tokens),
            grouped(of.output_tokens),
            of.price(),
            format!("{:.1}", of.milliseconds),
        ];
        (name.clone(), cells)
    });
    tables.rows(text, "EXTRACTION", titles, &rows.collect::<Vec<_>>());
    let of = &total["all"].extraction;
    let by = |(strategy, many): (&String, &u64)| format!("{} {many}", strategy.escape_debug());
    let mut parts: Vec<String> = of.strategies.iter().map(by).collect();
    parts.push(format!("fell back {}", of.fallbacks));
    text.push_str(&format!("EXTRACTIONS BY STRATEGY: {}\n", parts.join(", ")));
}

/// Adds the long lists of tools, which every request of a model pays for.
fn lists_of_tools(text: &mut String, lists: &BTreeMap<String, ToolList>, budget: u64) {
    if lists.is_empty() {
        return;
    }
    text.push_str("\nTOOL LISTS, IN EVERY REQUEST OF A MODEL:\n");
    for (server, list) in lists {
        let ToolList {
            tools,
            tokens,
            listed,
        } = list;
        let server = server.escape_debug();
        let told = match listed < tokens {
            true => {
                format!("{listed} of {tokens} tokens are listed, the rest is found by a search")
            }
            false if *tokens > budget => format!(
                "{tokens} tokens, over the budget of {budget}; tool_list = \"search\" lists some 600"
            ),
            false => format!("{tokens} tokens"),
        };
        writeln!(text, "{server}: {tools} tools, {told}").expect("writing to a string");
    }
}

/// Adds the tools whose oversized results passed to programs, if there are any.
fn programs(text: &mut String, by_tool: &ByName) {
    let mut passed = by_tool
        .iter()
        .filter(|(_, sums)| sums.to_programs > 0)
        .peekable();
    if passed.peek().is_none() {
        return;
    }
    text.push_str("\nPASSED TO PROGRAMS, NOT SAVED:\n");
    for (name, sums) in passed {
        let (name, results) = (name.escape_debug(), sums.to_programs);
        let tokens = sums.tokens_to_programs;
        writeln!(text, "{name}: {results} results, ≈{tokens} tokens").expect("writing to a string");
    }
}

/// Adds a line with the secrets found in stored results, if there were any.
fn secrets(text: &mut String, total: &ByName) {
    let found = total.values().flat_map(|sums| &sums.secrets);
    let found: Vec<String> = found
        .map(|(rule, found)| format!("{} {found}", rule.escape_debug()))
        .collect();
    if !found.is_empty() {
        text.push_str(&format!(
            "\nSECRETS IN STORED OUTPUTS: {}\n",
            found.join(", ")
        ));
    }
}
