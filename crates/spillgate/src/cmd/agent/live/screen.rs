//! The screen of the live view.
//!
//! On a terminal, finished events are printed as lines, and the running operations are animated
//! below them. On a pipe only lines are printed.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::cmd::agent::words::one_line;
use crate::marks::redacted;

/// Time between two frames of a spinner.
const TICK: Duration = Duration::from_millis(120);

/// Characters of the model's text that are shown: one line of a wide terminal.
const TAIL: usize = 240;

/// How much the user wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cmd::agent) enum Look {
    /// Moving parts, such as spinners and the model's text; for a terminal.
    Moving,
    /// Lines only.
    Lines,
    /// Nothing.
    Nothing,
}

impl Look {
    /// Chooses the look by the options and by whether standard error is a terminal. If the user
    /// asked for a log, nothing moves, because moving parts would overwrite the log.
    pub(in crate::cmd::agent) fn of(is_quiet: bool, is_verbose: bool, has_log: bool) -> Self {
        match (is_quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Nothing,
            (false, true) if !is_verbose && !has_log => Self::Moving,
            (false, _) => Self::Lines,
        }
    }
}

/// The display on standard error.
#[derive(Debug)]
pub(super) enum Screen {
    Moving {
        all: MultiProgress,
        state: ProgressBar,
        words: ProgressBar,
    },
    Lines,
    Nothing,
}

impl Screen {
    pub(super) fn of(look: Look) -> Self {
        match look {
            Look::Nothing => Self::Nothing,
            Look::Lines => Self::Lines,
            Look::Moving => {
                let all = MultiProgress::new();
                let words = all.add(bar("  {wide_msg:.dim}"));
                let state = all.add(bar("{spinner} {msg} ({elapsed})"));
                state.set_message("starting its tools");
                state.enable_steady_tick(TICK);
                Self::Moving { all, state, words }
            }
        }
    }

    /// Prints a line that stays.
    pub(super) fn line(&self, line: &str) {
        match self {
            Self::Nothing => {}
            Self::Lines => drop(writeln!(std::io::stderr(), "{}", redacted(line))),
            Self::Moving { all, .. } => drop(all.println(redacted(line))),
        }
    }

    /// Shows the state of the whole run.
    pub(super) fn state(&self, text: String) {
        if let Self::Moving { state, .. } = self {
            state.set_message(text);
        }
    }

    /// Shows the end of the text that the model has written in this reply so far.
    pub(super) fn words(&self, said: &str) {
        if let Self::Moving { words, .. } = self {
            words.set_message(tail(&redacted(said)));
        }
    }

    /// Shows an operation in progress until the returned bar is finished. Returns `None` if nothing
    /// moves.
    pub(super) fn under_way(&self, text: String) -> Option<ProgressBar> {
        let Self::Moving { all, words, .. } = self else {
            return None;
        };
        let one = all.insert_before(words, bar("  {spinner} {wide_msg} ({elapsed})"));
        one.set_message(text);
        one.enable_steady_tick(TICK);
        Some(one)
    }

    /// Removes all moving parts.
    pub(super) fn end(&self) {
        if let Self::Moving { all, state, words } = self {
            words.finish_and_clear();
            state.finish_and_clear();
            drop(all.clear());
        }
    }
}

fn bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    let style = style.expect("invariant: the template is ours");
    ProgressBar::new_spinner().with_style(style)
}

/// Returns the end of a text, as much as fits one line.
fn tail(said: &str) -> String {
    let from = said
        .char_indices()
        .rev()
        .nth(TAIL - 1)
        .map_or(0, |(at, _)| at);
    one_line(&said[from..], TAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_end_is_shown() {
        assert_eq!(tail("a\nb"), "a b");
        let long = "ä".repeat(10_000) + "end";
        let shown = tail(&long);
        assert!(shown.ends_with("end"), "{shown}");
        assert_eq!(shown.chars().count(), TAIL);
    }
}
