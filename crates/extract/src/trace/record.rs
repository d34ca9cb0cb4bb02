//! What a trace keeps of an extraction: the question, and what came of it.

use std::fmt;

use serde::{Deserialize, Serialize};
use spillgate_artifact::Handle;

use super::op::{Op, preview};
use crate::prompt::NOTHING;
use crate::{Asked, Citation, Coverage, Extraction, Mode, Status};

/// Maximum number of citations, and of unverified values, in a trace.
const MOST: usize = 50;

/// Maximum length of a quote or an unverified value in a trace, in characters.
const VALUE: usize = 200;

/// Keeps the traces of extractions that belong to no run of an agent.
pub trait TraceKeeper: fmt::Debug + Send + Sync {
    /// Keeps the trace of an extraction that has ended, also of one that was cancelled.
    fn keep(&self, trace: &Op);
}

/// The question of an extraction, and its outcome when there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractionRecord {
    /// The output.
    pub handle: Handle,
    /// The beginning of the question.
    pub extract: String,
    /// The mode.
    pub mode: Mode,
    /// The outcome; `None` while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeRecord>,
}

/// The outcome of an extraction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRecord {
    /// Whether there is an answer.
    pub status: Status,
    /// The beginning of the answer, with its marks and notes.
    pub body: String,
    /// The first places that the answer is based on.
    pub citations: Vec<Citation>,
    /// The first quoted values that do not occur in the output.
    pub unverified: Vec<String>,
    /// How much of the output was examined.
    pub coverage: Coverage,
}

impl ExtractionRecord {
    /// Returns the record of an extraction that begins.
    pub(crate) fn of(asked: &Asked) -> Self {
        Self {
            handle: asked.handle,
            extract: preview(asked.extract.trim()).to_owned(),
            mode: asked.mode,
            outcome: None,
        }
    }
}

impl OutcomeRecord {
    /// Whether the extraction found something that answers the question.
    #[must_use]
    pub fn found(&self) -> bool {
        let says_nothing = self.body.trim_start().starts_with(NOTHING);
        matches!(self.status, Status::Found | Status::Partial) && !says_nothing
    }

    /// Returns what a trace keeps of a finished extraction.
    pub(crate) fn of(extraction: &Extraction) -> Self {
        let citations = extraction.citations.iter().take(MOST);
        let citations = citations.map(|one| Citation {
            quote: one.quote.as_deref().map(cut),
            ..one.clone()
        });
        let unverified = extraction.unverified.iter().take(MOST);
        Self {
            status: extraction.status,
            body: preview(&extraction.body).to_owned(),
            citations: citations.collect(),
            unverified: unverified.map(|value| cut(value)).collect(),
            coverage: extraction.coverage,
        }
    }
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(VALUE) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}
