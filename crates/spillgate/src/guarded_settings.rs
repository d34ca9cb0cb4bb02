//! What is set of the guarded tools (`[guarded]`), and which rules follow?

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spillgate_guarded::{MAX_TOKENS, OnOverflow, Rules, ShellRules, TOOLS, Writable};

use crate::config_file::Places as Written;
use crate::failure::Failure;
use crate::tool_output::nearest;

/// A page of which the least says something.
const LEAST_TOKENS: u64 = 100;
/// Seconds that a command or a page may take at most, as the tools have it.
const MOST_SECONDS: u64 = 600;

/// The section `[guarded]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GuardedSettings {
    /// The tools that there are; none is all that can work.
    pub(crate) tools: Option<Vec<String>>,
    /// Tokens over which an answer is refused.
    pub(crate) max_tokens: u64,
    /// What becomes of a command's output or a page that is too much.
    pub(crate) on_overflow: OnOverflow,
    /// Whether refusals end with what is there and with calls that go on.
    pub(crate) detailed_recovery: bool,
    /// Where `web_fetch` may save: anywhere, nowhere, or below some directories.
    pub(crate) writable: Places,
    /// How commands run.
    pub(crate) shell: ShellSettings,
    /// How pages are fetched.
    pub(crate) web: WebSettings,
    /// Who is asked for searches.
    pub(crate) search: Option<SearchSettings>,
}

impl Default for GuardedSettings {
    fn default() -> Self {
        Self {
            tools: None,
            max_tokens: MAX_TOKENS,
            on_overflow: OnOverflow::default(),
            detailed_recovery: false,
            writable: Places::All(true),
            shell: ShellSettings::default(),
            web: WebSettings::default(),
            search: None,
        }
    }
}

/// Directories below the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false or a list of directories")]
pub(crate) enum Places {
    /// All of them, or none.
    All(bool),
    /// These.
    Some(Vec<PathBuf>),
}

/// The section `[guarded.shell]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ShellSettings {
    /// Seconds that a command may take unless it says otherwise.
    pub(crate) timeout_seconds: u64,
    /// Variables of the environment that commands get beside the usual ones; `*` at the
    /// end stands for any that begin so.
    pub(crate) env: Vec<String>,
    /// Whether commands write below the root only and read little else than it and
    /// the system.
    pub(crate) sandbox: bool,
    /// Whether commands reach the network.
    pub(crate) network: bool,
}

impl Default for ShellSettings {
    fn default() -> Self {
        Self {
            timeout_seconds: 120,
            env: Vec::new(),
            sandbox: false,
            network: true,
        }
    }
}

/// The section `[guarded.web]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WebSettings {
    /// Seconds that a page may take.
    pub(crate) timeout_seconds: u64,
    /// Private addresses that may be fetched from, as `HOST:PORT`.
    pub(crate) allow: Vec<String>,
    /// Whether `robots.txt` is obeyed.
    pub(crate) robots: bool,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            timeout_seconds: 30,
            allow: Vec::new(),
            robots: false,
        }
    }
}

/// The section `[guarded.search]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSettings {
    /// `searxng`, `brave` or `tavily`.
    pub(crate) provider: String,
    /// Its address, where it is not the provider's usual one.
    #[serde(default)]
    pub(crate) url: Option<String>,
    /// The variable of the environment with its key.
    #[serde(default)]
    pub(crate) api_key_env: Option<String>,
}

impl GuardedSettings {
    /// What holds for the tools; `written` says where the file says what is wrong.
    pub(crate) fn rules(&self, written: &Written) -> Result<Rules, Failure> {
        if let Some((key, what, hint)) = self.fault() {
            return Err(written.wrong(key, &what, &hint));
        }
        let writable = match &self.writable {
            Places::All(true) => Writable::Anywhere,
            Places::All(false) => Writable::Nowhere,
            Places::Some(places) => Writable::Below(places.clone()),
        };
        Ok(Rules {
            only: self.tools.clone().unwrap_or_default(),
            max_tokens: self.max_tokens,
            on_overflow: self.on_overflow,
            detailed_recovery: self.detailed_recovery,
            writable,
            shell: Some(ShellRules {
                timeout: Duration::from_secs(self.shell.timeout_seconds),
                ..ShellRules::default()
            }),
            ..Rules::default()
        })
    }

    /// What cannot be: its key, what is wrong and what to do.
    fn fault(&self) -> Option<(&'static [&'static str], String, String)> {
        let tools = self.tools.iter().flatten();
        let unknown = tools.clone().find(|name| !TOOLS.contains(&name.as_str()));
        if let Some(name) = unknown {
            let what = format!("there is no tool {name:?}");
            return Some((
                &["guarded", "tools"],
                what,
                nearest(name, TOOLS.into_iter()),
            ));
        }
        if self.max_tokens < LEAST_TOKENS {
            let what = format!("{} tokens hold no answer", self.max_tokens);
            let hint = format!("write {LEAST_TOKENS} or more");
            return Some((&["guarded", "max_tokens"], what, hint));
        }
        let times: [(&'static [&'static str], u64); 2] = [
            (
                &["guarded", "shell", "timeout_seconds"],
                self.shell.timeout_seconds,
            ),
            (
                &["guarded", "web", "timeout_seconds"],
                self.web.timeout_seconds,
            ),
        ];
        let wrong = times
            .into_iter()
            .find(|(_, seconds)| !(1..=MOST_SECONDS).contains(seconds));
        wrong.map(|(key, seconds)| {
            let what = format!("{seconds} s is no time for it");
            (key, what, format!("write 1 to {MOST_SECONDS}"))
        })
    }
}
