//! The settings of the workspace tools: what the tools may do, and how large their answers may be.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::execute_shell::{Environment, Sandbox, Supervisor};

/// Tokens above which an answer is refused (docs/spec/limits.md, "Messages").
pub const MAX_TOKENS: u64 = 25_000;

/// Settings of all tools of a [`WorkspaceTools`](crate::WorkspaceTools).
#[derive(Debug, Clone)]
pub struct Rules {
    /// The names of the enabled tools. If empty, every tool whose settings are present is enabled.
    pub only: Vec<String>,
    /// Tokens (bytes / 4, rounded down) above which an answer is refused.
    pub max_tokens: u64,
    /// What happens to a command's output or a page that is too large.
    pub on_overflow: OnOverflow,
    /// Whether refusals end with a summary of the content and with calls to make next
    /// (docs/spec/texts.md, "Recovery block").
    pub detailed_recovery: bool,
    /// Where `web_fetch` may save files.
    pub writable: Writable,
    /// How commands run. `None` removes `execute_shell`.
    pub shell: Option<ShellRules>,
    /// How pages are fetched. `None` removes `web_fetch`.
    pub web: Option<spillgate_web::Fetcher>,
    /// The search service. With `None`, `web_search` is not listed.
    pub search: Option<spillgate_web::Provider>,
}

impl Default for Rules {
    /// Enables every tool that needs no settings.
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
    /// Whether the tool `name` is enabled.
    pub(crate) fn allows(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|one| one == name)
    }

    /// Whether a refusal may suggest `execute_shell`.
    pub(crate) fn has_shell(&self) -> bool {
        self.shell.is_some() && self.allows("execute_shell")
    }
}

/// What happens to an output that is too large. Files, file lists and matches are always refused,
/// because they can be read from disk again and a narrower call is cheap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOverflow {
    /// Refuse it, as the specification of the `reject` profile demands (docs/spec/sources.md).
    #[default]
    Reject,
    /// Return the whole output, so that the offload pipeline can store it.
    Offload,
}

/// Where files may be written, below the root. Existing files are never overwritten, and
/// nothing is written into a `.git` directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Writable {
    /// Nowhere.
    Nowhere,
    /// Anywhere below the root.
    #[default]
    Anywhere,
    /// Below these directories, given as paths from the root.
    Below(Vec<PathBuf>),
}

/// How commands run.
#[derive(Debug, Clone)]
pub struct ShellRules {
    /// The default time limit of a command: 120 s (docs/spec/limits.md, "Guarded tools").
    pub timeout: Duration,
    /// The longest time limit that a call may ask for: 600 s, or `timeout` if that is longer.
    pub most_timeout: Duration,
    /// Names of variables of our environment that commands inherit beside the usual ones; a
    /// trailing `*` matches any suffix.
    pub pass_env: Vec<String>,
    /// The variables of our environment.
    pub environment: Environment,
    /// Maximum bytes that a command may print before it is stopped (default: 1 GiB).
    pub max_output_bytes: u64,
    /// The shell. It must accept `-c -- COMMAND`.
    pub shell: PathBuf,
    /// The directory for temporary files.
    pub temp_dir: PathBuf,
    /// The program that ends all processes a command started. With `None`, only the process
    /// group is ended.
    pub supervisor: Option<Supervisor>,
    /// The limits that commands are confined to. `None` leaves them all rights of our process.
    pub sandbox: Option<Sandbox>,
}

impl Default for ShellRules {
    /// Uses Bash if it is installed, because models write commands for Bash, and `sh` otherwise. No
    /// sandbox, no supervisor and no environment.
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
    /// The longest time limit of a command.
    pub(crate) fn longest(&self) -> Duration {
        self.timeout.max(self.most_timeout)
    }
}
