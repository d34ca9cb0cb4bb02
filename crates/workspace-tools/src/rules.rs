//! What the tools may do, and how much they may return.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::execute_shell::{Environment, Sandbox, Supervisor};

/// Tokens over which an answer is refused (docs/spec/limits.md, "Messages").
pub const MAX_TOKENS: u64 = 25_000;

/// What holds for all tools of a [`WorkspaceTools`](crate::WorkspaceTools).
#[derive(Debug, Clone)]
pub struct Rules {
    /// The names of the tools that there are; none are all that can work.
    pub only: Vec<String>,
    /// Tokens (bytes / 4, rounded down) over which an answer is refused.
    pub max_tokens: u64,
    /// What becomes of a command's output or a page that is too much.
    pub on_overflow: OnOverflow,
    /// Whether refusals end with what is there and with calls that go on
    /// (docs/spec/texts.md, "Recovery block").
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

impl Rules {
    /// Whether a tool is one of those that may be used.
    pub(crate) fn allows(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|one| one == name)
    }

    /// Whether `execute_shell` can be advised.
    pub(crate) fn has_shell(&self) -> bool {
        self.shell.is_some() && self.allows("execute_shell")
    }
}

/// What becomes of an output that is too much. Files, lists of them and matches are
/// refused always: they are still where they were, and a smaller question is cheap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOverflow {
    /// It is refused, as the reject design has it.
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
    /// How long a command may take unless it says otherwise: 120 s (docs/spec/limits.md,
    /// "Guarded tools").
    pub timeout: Duration,
    /// The longest that a call may ask for: 600 s; `timeout` where
    /// that is more.
    pub most_timeout: Duration,
    /// Names of variables of our environment that commands get, `*` at the end for any
    /// that begin so, beside the usual ones.
    pub pass_env: Vec<String>,
    /// The variables of our environment.
    pub environment: Environment,
    /// Bytes that a command may print; then it is stopped (ours: 1 GiB).
    pub max_output_bytes: u64,
    /// The shell: one that takes `-c -- COMMAND`.
    pub shell: PathBuf,
    /// Where files are kept for as long as they are needed.
    pub temp_dir: PathBuf,
    /// What ends all that a command started; none and only its process group is ended.
    pub supervisor: Option<Supervisor>,
    /// What commands are confined to; none and they may do what we may.
    pub sandbox: Option<Sandbox>,
}

impl Default for ShellRules {
    /// Bash where it is, which models write for, `sh` elsewhere; no sandbox, no
    /// supervisor and no environment.
    fn default() -> Self {
        let places = [
            "/bin/bash",
            "/usr/bin/bash",
            "/usr/local/bin/bash",
            "/run/current-system/sw/bin/bash",
        ];
        let bash = places
            .iter()
            .map(PathBuf::from)
            .find(|place| place.exists());
        Self {
            timeout: Duration::from_secs(120),
            most_timeout: Duration::from_secs(600),
            pass_env: Vec::new(),
            environment: Environment::default(),
            max_output_bytes: 1 << 30,
            shell: bash.unwrap_or_else(|| PathBuf::from("/bin/sh")),
            temp_dir: PathBuf::from("/tmp"),
            supervisor: None,
            sandbox: None,
        }
    }
}

impl ShellRules {
    /// The longest that a command may take.
    pub(crate) fn longest(&self) -> Duration {
        self.timeout.max(self.most_timeout)
    }
}
