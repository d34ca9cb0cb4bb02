//! The recovery block of a refusal: what to ask for instead (docs/spec/texts.md, "Recovery block").
//!
//! A refusal ends with the block if `detailed_recovery` is on: figures, what the text contains, and
//! calls to continue with. No text of the refused result can pass for one of our lines: each of its
//! lines stands behind a dash, each call behind a dot.

mod structure;

use std::fmt::Write;

use serde_json::Value;
use spillgate_artifact::TokenBudget;
use spillgate_text::{TokenCounter, clip};

use crate::present::{name_in_line, spaced};

pub use structure::{Entry, Structure};

/// Maximum tokens of the block.
pub const RECOVERY_TOKENS: u64 = 400;

/// Maximum characters of a line.
const LINE_CHARS: usize = 200;

/// Characters reserved for the mark of a cut line.
const MARK_CHARS: usize = 30;

/// Maximum number of calls.
const COMMANDS: usize = 5;

/// The block of one refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    title: String,
    /// The part of the text that the structure covers, if it does not cover the whole text.
    of: Option<String>,
    entries: Vec<String>,
    more: usize,
    commands: Vec<String>,
}

impl Recovery {
    /// Creates the block of a refused item. `what` is our word for it (`File`), `name` its
    /// untrusted name, `figures` its sizes with units.
    #[must_use]
    pub fn new(what: &str, name: &str, figures: &[String]) -> Self {
        let mut title = format!("{what}: {}", name_in_line(name));
        if !figures.is_empty() {
            write!(title, " | {}", figures.join(", ")).expect("writing to a string");
        }
        Self {
            title,
            of: None,
            entries: Vec::new(),
            more: 0,
            commands: Vec::new(),
        }
    }

    /// Adds the structure. `of` names the part of the text that the structure covers, such as
    /// ` of the first 1 MiB`, if it does not cover the whole text.
    #[must_use]
    pub fn structure(self, structure: &Structure, of: Option<&str>) -> Self {
        let entries = structure.entries.iter().map(Entry::to_string);
        Self {
            of: of.map(str::to_owned),
            more: structure.more,
            ..self.entries(entries)
        }
    }

    /// Adds these entries, one line each.
    #[must_use]
    pub fn entries(self, entries: impl IntoIterator<Item = String>) -> Self {
        let entries = entries.into_iter().map(|entry| {
            let line = clip(&spaced(&entry), LINE_CHARS - MARK_CHARS);
            format!("  - {line}")
        });
        Self {
            entries: entries.collect(),
            ..self
        }
    }

    /// Adds a call that the reader can make; add the best first. Leaves out a call that is too long
    /// for a line or that contains line breaks or hidden characters: a cut or changed call would be
    /// a different one.
    #[must_use]
    pub fn command(mut self, call: impl Into<Option<String>>) -> Self {
        let fits = |call: &String| call.chars().count() <= LINE_CHARS - 4 && *call == spaced(call);
        if let Some(call) = call.into().filter(fits)
            && self.commands.len() < COMMANDS
        {
            self.commands.push(format!("  • {call}"));
        }
        self
    }

    /// Removes the calls of tools that the reader does not have.
    #[must_use]
    pub fn of_tools(mut self, has: impl Fn(&str) -> bool) -> Self {
        let tool = |call: &str| call.trim_start_matches("  • ").split('(').next().map(&has);
        self.commands.retain(|call| tool(call) == Some(true));
        self
    }

    /// Renders the text within `budget` and [`RECOVERY_TOKENS`]. Drops entries before calls; empty
    /// if nothing is left.
    #[must_use]
    pub fn render(&self, budget: TokenBudget, counter: &dyn TokenCounter) -> String {
        let budget = budget.get().min(RECOVERY_TOKENS);
        let (mut entries, mut commands) = (self.entries.len(), self.commands.len());
        while entries + commands > 0 {
            let text = self.text(entries, commands);
            if !counter.exceeds(&text, budget) {
                return text;
            }
            match entries {
                0 => commands -= 1,
                _ => entries -= 1,
            }
        }
        String::new()
    }

    fn text(&self, entries: usize, commands: usize) -> String {
        let mut text = format!("--- Recovery Options ---\n{}\n", self.title);
        if entries > 0 {
            let of = self.of.as_deref().unwrap_or_default();
            let lines = self.entries[..entries].join("\n");
            writeln!(text, "\nStructure{of}:\n{lines}").expect("writing to a string");
            let gone = self.more + self.entries.len() - entries;
            if gone > 0 {
                writeln!(text, "  (… {gone} more)").expect("writing to a string");
            }
        }
        if commands > 0 {
            let lines = self.commands[..commands].join("\n");
            write!(text, "\nCommands:\n{lines}").expect("writing to a string");
        }
        text.trim_end().to_owned()
    }
}

/// Formats a tool call as models write it, with JSON values.
#[must_use]
pub fn call(tool: &str, arguments: &[(&str, Value)]) -> String {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{tool}({})", arguments.join(", "))
}

#[cfg(test)]
mod tests;
