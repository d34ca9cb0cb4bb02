//! A question about an artifact, with the settings and services that every strategy needs.

use std::sync::Arc;

use spillgate_conversation::{Nonces, Slot};
use spillgate_llm::ChatModel;
use spillgate_lookup::Artifact;
use spillgate_text::TokenCounter;
use tokio::task::{JoinError, spawn_blocking};

use crate::ExtractionSettings;
use crate::bound::bounded;
use crate::trace::Scope;

/// Minimum for the configured length of an answer, in tokens. A smaller setting is raised to this
/// value.
const LEAST: u64 = 64;

/// A question about one artifact.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub artifact: Arc<Artifact>,
    /// What to extract, without surrounding white space.
    pub extract: Arc<str>,
    pub settings: Arc<ExtractionSettings>,
    pub counter: Arc<dyn TokenCounter>,
    pub nonces: Arc<dyn Nonces>,
    /// The trace scope in which operations are recorded.
    pub scope: Scope,
}

impl Case {
    /// Returns a new slot (the tags that enclose a model's answer) whose nonce does not occur in
    /// `data`.
    pub(crate) fn slot(&self, data: &str) -> Slot {
        loop {
            let nonce = self.nonces.fresh();
            if !data.contains(&nonce.to_string()) {
                return Slot::new(nonce);
            }
        }
    }

    /// Cuts an answer to the maximum size that the calling model may get.
    pub(crate) fn bounded(&self, answer: String) -> String {
        let bytes = self.settings.most_bytes.unwrap_or(u64::MAX);
        bounded(answer, self.shown_tokens(), bytes, &*self.counter)
    }

    /// Returns the maximum length, in tokens, of an answer that the calling model gets. It is twice
    /// the configured number, which leaves room for marks such as `[unverified]` and for models
    /// whose tokenizer counts differently.
    pub(crate) fn shown_tokens(&self) -> u64 {
        self.settings.answer_tokens.max(LEAST).saturating_mul(2)
    }

    /// Runs `work` on the artifact in a blocking thread, so that it does not block the async tasks.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let case = self.clone();
        let done = spawn_blocking(move || work(&case)).await;
        done.unwrap_or_else(|error: JoinError| std::panic::resume_unwind(error.into_panic()))
    }
}

/// A question and the model to ask.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub case: Case,
    pub model: Arc<dyn ChatModel>,
}

impl Asking {
    /// Returns the maximum length of a model's answer, in tokens.
    pub(crate) fn answer_tokens(&self) -> u64 {
        let limits = self.model.limits();
        let asked = self.case.settings.answer_tokens.max(1);
        // If the answer could fill the whole window, there would be no room for data.
        asked.min(limits.max_output).min(limits.window / 3).max(1)
    }
}
