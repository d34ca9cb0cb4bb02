//! The two tools and their arguments.

use std::sync::Arc;

use spillgate_artifact::TokenBudget;
use spillgate_measure::TokenCounter;

use crate::Pinned;

/// Where names lead.
pub trait Files: Send + Sync + std::fmt::Debug {}

impl Files for Pinned {}

/// A tool as a model is told of it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// `Read` or `Grep`.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub schema: serde_json::Value,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The page, or what is wrong.
    pub text: String,
    /// Whether something is wrong.
    pub is_error: bool,
    /// The lines that it shows.
    pub shown: Vec<spillgate_artifact::LineRange>,
}

/// `Read` and `Grep` over some files.
#[derive(Debug, Clone)]
pub struct FileTools {
    /// Where names lead.
    pub files: Arc<dyn Files>,
    /// What an answer may cost.
    pub budget: TokenBudget,
    /// What counts it.
    pub counter: Arc<dyn TokenCounter>,
}

impl FileTools {
    /// The tools' definitions.
    #[must_use]
    pub fn definitions() -> Vec<Tool> {
        Vec::new()
    }

    /// Answers a call; `arguments` is JSON as a model wrote it.
    #[must_use]
    pub fn call(&self, name: &str, arguments: &str) -> Answer {
        Answer {
            text: format!("{name} {arguments}"),
            is_error: true,
            shown: Vec::new(),
        }
    }
}
