//! The input of every strategy.

use std::sync::Arc;

use spillgate_conversation::{Nonces, Slot};
use spillgate_llm::ChatModel;
use spillgate_lookup::Artifact;
use spillgate_text::TokenCounter;
use tokio::task::{JoinError, spawn_blocking};

use crate::ExtractionSettings;
use crate::bound::bounded;
use crate::trace::Scope;

/// Tokens below which an answer is not worth cutting.
const LEAST: u64 = 64;

/// A question to one artifact.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub artifact: Arc<Artifact>,
    /// What to extract, trimmed.
    pub extract: Arc<str>,
    pub settings: Arc<ExtractionSettings>,
    pub counter: Arc<dyn TokenCounter>,
    pub nonces: Arc<dyn Nonces>,
    /// Where what is done is written down.
    pub scope: Scope,
}

impl Case {
    /// A fresh slot, whose nonce `data` does not hold.
    pub(crate) fn slot(&self, data: &str) -> Slot {
        loop {
            let nonce = self.nonces.fresh();
            if !data.contains(&nonce.to_string()) {
                return Slot::new(nonce);
            }
        }
    }

    /// An answer as far as it is passed on.
    pub(crate) fn bounded(&self, answer: String) -> String {
        let bytes = self.settings.most_bytes.unwrap_or(u64::MAX);
        bounded(answer, self.shown_tokens(), bytes, &*self.counter)
    }

    /// Tokens of an answer that is passed on: twice what is asked for, which leaves
    /// room for marks and for models that count other tokens than we do.
    pub(crate) fn shown_tokens(&self) -> u64 {
        self.settings.answer_tokens.max(LEAST).saturating_mul(2)
    }

    /// Looks into the artifact aside from the tasks that talk to models.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let case = self.clone();
        let done = spawn_blocking(move || work(&case)).await;
        done.unwrap_or_else(|error: JoinError| std::panic::resume_unwind(error.into_panic()))
    }
}

/// A case with a model to ask.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub case: Case,
    pub model: Arc<dyn ChatModel>,
}

impl Asking {
    /// Tokens that an answer may have.
    pub(crate) fn answer_tokens(&self) -> u64 {
        let limits = self.model.limits();
        let asked = self.case.settings.answer_tokens.max(1);
        // A window that an answer alone would fill leaves nothing to read.
        asked.min(limits.max_output).min(limits.window / 3).max(1)
    }
}
