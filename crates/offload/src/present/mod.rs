//! Present: what does the model see instead?

mod handle;
mod preview;
mod truncate;

use std::sync::Arc;

use spillgate_artifact::{Handle, TokenBudget};
use spillgate_measure::TokenCounter;
use spillgate_view::clip;

pub(crate) use handle::handle;
pub(crate) use preview::{Preview, preview};
pub(crate) use truncate::{Ends, not_stored, truncate};

/// Text for a model, counted after rendering and within its budget. The only
/// form in which rims accept model-bound text; [`Presentation::new`] is the only
/// way to make one (SPEC 2, invariant 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presentation {
    text: String,
    tokens: u64,
}

impl Presentation {
    /// Counts `text`; `None` if it costs more than the budget.
    pub fn new(text: String, budget: TokenBudget, counter: &dyn TokenCounter) -> Option<Self> {
        let tokens = counter.count(&text);
        (tokens <= budget.get()).then_some(Self { text, tokens })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it costs.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// The retrieval tools that the reader of a message can reach: a message names
/// no others (SPEC 2, invariant 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// The command line, with the option that leads to the store if it is not
    /// the default one.
    CommandLine {
        /// ` --store DIR`, or empty.
        store_option: String,
    },
    /// The gateway's own tools.
    Gateway,
    /// None: an embedding program shows its own.
    Library,
}

impl Door {
    /// One line for each retrieval tool.
    #[must_use]
    pub fn next(&self, handle: Handle) -> Vec<String> {
        match self {
            Self::CommandLine { store_option } => vec![
                format!("spillgate grep {handle} REGEX{store_option}"),
                format!("spillgate read {handle} --start LINE --lines N{store_option}"),
            ],
            Self::Gateway => vec![
                format!("spillgate_grep(handle=\"{handle}\", pattern=REGEX)"),
                format!("spillgate_read(handle=\"{handle}\", start=LINE, lines=N)"),
            ],
            Self::Library => Vec::new(),
        }
    }
}

/// What renders messages needs to know beside the result.
#[derive(Debug, Clone)]
pub(crate) struct Presenter {
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) door: Door,
}

/// A name from outside, fit to stand in a line of ours: one line, bounded.
pub(crate) fn name_in_line(name: &str) -> String {
    const LONGEST: usize = 80;
    let clean = name.chars().map(|c| if c.is_control() { ' ' } else { c });
    clip(&clean.collect::<String>(), LONGEST)
}
