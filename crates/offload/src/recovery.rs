//! What could be asked for instead of what was refused (docs/spec/texts.md, "Recovery block").
//!
//! The block that a refusal ends with where `detailed_recovery` is on: figures, what
//! is in there, and calls that go on. Nothing of the text itself can pass for a line
//! of ours: each line of what was refused stands behind a dash, each call behind a dot.

mod structure;

use std::fmt::Write;

use serde_json::Value;
use spillgate_artifact::TokenBudget;
use spillgate_text::{TokenCounter, clip};

use crate::present::{name_in_line, spaced};

pub use structure::{Entry, Structure};

/// Tokens that the block costs at most.
pub const RECOVERY_TOKENS: u64 = 400;

/// Characters of a line of it.
const LINE_CHARS: usize = 200;

/// Room for the mark of a line that was cut.
const MARK_CHARS: usize = 30;

/// Calls that are named at most.
const COMMANDS: usize = 5;

/// The block of one refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    title: String,
    /// Of which part of it the structure is, where it is not all.
    of: Option<String>,
    entries: Vec<String>,
    more: usize,
    commands: Vec<String>,
}

impl Recovery {
    /// That of something of our own word `what` (`File`) and with a name from outside.
    /// `figures` are its sizes, with their units.
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

    /// With what is in there; `of` tells of which part, where it is not all: ` of the
    /// first 1 MiB`.
    #[must_use]
    pub fn structure(self, structure: &Structure, of: Option<&str>) -> Self {
        let entries = structure.entries.iter().map(Entry::to_string);
        Self {
            of: of.map(str::to_owned),
            more: structure.more,
            ..self.entries(entries)
        }
    }

    /// With these entries, each a line.
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

    /// With a call that its reader can make, the best first. One that is too long for
    /// a line, or that could not be told apart from several, is left out: a call that
    /// was cut or changed is another one.
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

    /// Without the calls of tools that its reader does not have.
    #[must_use]
    pub fn of_tools(mut self, has: impl Fn(&str) -> bool) -> Self {
        let tool = |call: &str| call.trim_start_matches("  • ").split('(').next().map(&has);
        self.commands.retain(|call| tool(call) == Some(true));
        self
    }

    /// The text within `budget`, and within [`RECOVERY_TOKENS`] in any case. Entries
    /// go before calls; it is empty where nothing is left.
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

/// A call of a tool as models write them, its values as JSON.
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
