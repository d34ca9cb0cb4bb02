//! Present: what does the model see instead?

mod compat;
mod door;
mod preview;
mod template;

use std::sync::Arc;

use spillgate_artifact::TokenBudget;
use spillgate_measure::TokenCounter;
use spillgate_untrusted::is_hidden;
use spillgate_view::clip;

pub use compat::continuation::ContinuationError;
pub(crate) use compat::continuation::{first, later};
pub(crate) use compat::funnel::funnel;
pub use compat::funnel::{FUNNEL_PROMPT, ObservationSummary};
pub(crate) use compat::handle::handle;
pub(crate) use compat::reject::{reject, reject_with_recovery};
pub use compat::truncate::middle_cut;
pub(crate) use compat::truncate::{Ends, LEAST_BYTES, not_stored, truncate};
pub use door::Door;
pub(crate) use preview::{Preview, parts, preview};
pub use template::{TemplateError, Templates};

/// Text for a model, counted after rendering and within its budget. The only
/// form in which rims accept model-bound text; only this crate bounds a text by
/// other means than [`Presentation::new`] (SPEC 2, invariant 2).
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

    /// A text whose renderer has bounded it by other means than a count.
    pub(crate) fn bounded(text: String, counter: &dyn TokenCounter) -> Self {
        let tokens = counter.count(&text);
        Self { text, tokens }
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

/// What renders messages needs to know beside the result.
#[derive(Debug, Clone)]
pub(crate) struct Presenter {
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) door: Door,
}

/// A name from outside, fit to stand in a line of ours: one line, bounded.
pub(crate) fn name_in_line(name: &str) -> String {
    const LONGEST: usize = 80;
    let clean = name
        .chars()
        .map(|c| match c == '\t' || c == '\n' || is_hidden(c) {
            true => ' ',
            false => c,
        });
    clip(&clean.collect::<String>(), LONGEST)
}
