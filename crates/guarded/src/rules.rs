//! What may the tools do, and how much may they give?

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Tokens over which an answer is refused (seed 004, 3.3).
pub const MAX_TOKENS: u64 = 25_000;

/// What holds for all tools of a [`Guarded`](crate::Guarded).
#[derive(Debug, Clone)]
pub struct Rules {
    /// The names of the tools that there are; none are all that can work.
    pub only: Vec<String>,
    /// Tokens (bytes / 4, rounded down) over which an answer is refused.
    pub max_tokens: u64,
    /// What becomes of a command's output or a page that is too much.
    pub on_overflow: OnOverflow,
    /// Whether refusals end with what is there and with calls that go on (seed 004,
    /// 5.3 and 6.3).
    pub detailed_recovery: bool,
    /// Where `web_fetch` may save.
    pub writable: Writable,
    /// How commands run; none and there is no `execute_shell`.
    pub shell: Option<ShellRules>,
    /// How pages are fetched; none and there is no `web_fetch`.
    pub web: Option<spillgate_web::Fetcher>,
    /// Who is asked for searches; none and `web_search` is not listed.
    pub search: Option<spillgate_web::Provider>,
}

impl Default for Rules {
    /// Everything that needs no settings.
    fn default() -> Self {
        Self {
            only: Vec::new(),
            max_tokens: MAX_TOKENS,
            on_overflow: OnOverflow::default(),
            detailed_recovery: false,
            writable: Writable::default(),
            shell: Some(ShellRules::default()),
            web: Some(spillgate_web::Fetcher::default()),
            search: None,
        }
    }
}

/// What becomes of an output that is too much. Files, lists of them and matches are
/// refused always: they are still where they were, and a smaller question is cheap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOverflow {
    /// It is refused, as the RFC has it.
    #[default]
    Reject,
    /// It is given whole, for the pipeline to store.
    Offload,
}

/// Where files may be written, below the root. What is there already is never
/// written over, and nothing is written into a `.git`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Writable {
    /// Nowhere.
    Nowhere,
    /// Anywhere below the root.
    #[default]
    Anywhere,
    /// Below these directories, paths from the root.
    Below(Vec<PathBuf>),
}

/// How commands run.
#[derive(Debug, Clone)]
pub struct ShellRules {
    /// How long a command may take unless it says otherwise (seed 004's system: 120 s).
    pub timeout: Duration,
    /// Names of variables of our environment that commands get, `*` at the end for any
    /// that begin so, beside the usual ones.
    pub pass_env: Vec<String>,
}

impl Default for ShellRules {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            pass_env: Vec::new(),
        }
    }
}
