//! The settings of the guarded tools (`[guarded]`), and the rules that are built from them.

use std::path::{Component, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spillgate_store::KEY_VARIABLE;
use spillgate_web::{FetchSettings, Fetcher, Key, Provider, Service};
use spillgate_workspace_tools::{
    MAX_TOKENS, Network, OnOverflow, Rules, Sandbox, ShellRules, Supervisor, TOOLS, Writable,
};

use crate::cmd::shell_child;
use crate::config_file::Places as Written;
use crate::failure::Failure;
use crate::tool_output::nearest;

/// Minimum of `max_tokens`: a smaller answer says nothing useful.
const LEAST_TOKENS: u64 = 100;
/// Maximum timeout of a command, in seconds; the tool `execute_shell` has the same maximum.
const COMMAND_SECONDS: u64 = 600;
/// Maximum timeout for fetching a web page, in seconds.
const PAGE_SECONDS: u64 = 120;

/// A function that builds a failure from a key, a message and advice.
pub(crate) type Blame<'b> = &'b dyn Fn(&[&'static str], &str, &str) -> Failure;

/// The section `[guarded]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GuardedSettings {
    /// The enabled tools; `None` enables all that can work.
    pub(crate) tools: Option<Vec<String>>,
    /// Tokens above which an answer is refused.
    pub(crate) max_tokens: u64,
    /// How a command's output or a web page above the limit is handled.
    pub(crate) on_overflow: OnOverflow,
    /// Whether refusals end with a summary of the content and with calls to make next.
    pub(crate) detailed_recovery: bool,
    /// Where `web_fetch` may save pages: anywhere, nowhere, or below some directories.
    pub(crate) writable: Places,
    /// How commands run.
    pub(crate) shell: ShellSettings,
    /// How web pages are fetched.
    pub(crate) web: WebSettings,
    /// The search provider.
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

/// Whether all directories, none, or only some may be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false or a list of directories")]
pub(crate) enum Places {
    /// All directories, or none.
    All(bool),
    /// These directories.
    Some(Vec<PathBuf>),
}

/// The section `[guarded.shell]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ShellSettings {
    /// Default timeout of a command, in seconds.
    pub(crate) timeout_seconds: u64,
    /// Environment variables that commands receive beside the usual ones; a final `*` matches any
    /// suffix.
    pub(crate) env: Vec<String>,
    /// Whether commands can write only below the root, and read only there, in the system's
    /// directories and in few other places.
    pub(crate) sandbox: bool,
    /// Whether commands reach the network; `false` implies the sandbox.
    pub(crate) network: bool,
    /// Additional paths that commands in a sandbox may read.
    pub(crate) readable: Vec<PathBuf>,
    /// Additional paths that commands in a sandbox may write.
    pub(crate) writable: Vec<PathBuf>,
}

impl Default for ShellSettings {
    fn default() -> Self {
        Self {
            timeout_seconds: 120,
            env: Vec::new(),
            sandbox: false,
            network: true,
            readable: Vec::new(),
            writable: Vec::new(),
        }
    }
}

impl ShellSettings {
    /// Returns the rules for commands. Switching the network off implies the sandbox, which
    /// enforces it.
    fn rules(&self) -> Result<ShellRules, Failure> {
        let network = if self.network {
            Network::On
        } else {
            Network::Off
        };
        let sandbox = Sandbox {
            readable: self.readable.clone(),
            writable: self.writable.clone(),
            network,
        };
        Ok(ShellRules {
            timeout: Duration::from_secs(self.timeout_seconds),
            pass_env: self.env.clone(),
            environment: std::env::vars_os()
                .filter(|(name, _)| name != KEY_VARIABLE)
                .collect(),
            temp_dir: std::env::temp_dir(),
            supervisor: Some(Supervisor {
                program: std::env::current_exe()?,
                arguments: vec![shell_child::CHILD.into()],
            }),
            sandbox: (self.sandbox || !self.network).then_some(sandbox),
            ..ShellRules::default()
        })
    }
}

/// The section `[guarded.web]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WebSettings {
    /// Default timeout for fetching a page, in seconds.
    pub(crate) timeout_seconds: u64,
    /// Private addresses that may be fetched, as `HOST:PORT`.
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

impl WebSettings {
    fn settings(&self) -> FetchSettings {
        FetchSettings {
            timeout: Duration::from_secs(self.timeout_seconds),
            allowed: self.allow.clone(),
            robots: self.robots,
            ..FetchSettings::default()
        }
    }
}

/// The section `[guarded.search]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSettings {
    /// `searxng`, `brave` or `tavily`.
    pub(crate) provider: String,
    /// The address, if it differs from the provider's usual one.
    #[serde(default)]
    pub(crate) url: Option<String>,
    /// The environment variable that holds the API key.
    #[serde(default)]
    pub(crate) api_key_env: Option<String>,
}

/// Returns whether an address has the form `HOST:PORT`.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let is_bare = !host.contains([':', '/', '@']);
    let is_six = host.starts_with('[') && host.ends_with(']');
    !host.is_empty() && (is_bare || is_six) && port.parse::<u16>().is_ok()
}

impl GuardedSettings {
    /// Returns the rules of the tools. `written` is used to find the positions of errors in the
    /// file.
    pub(crate) fn rules(&self, written: &Written) -> Result<Rules, Failure> {
        self.rules_or(&|key, what, hint| written.wrong(key, what, hint))
    }

    /// Like [`rules`](Self::rules), for settings of another file. `wrong` makes a failure from a
    /// key, a message and advice.
    pub(crate) fn rules_or(&self, wrong: Blame<'_>) -> Result<Rules, Failure> {
        if let Some((key, what, hint)) = self.fault() {
            return Err(wrong(key, &what, &hint));
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
            shell: Some(self.shell.rules()?),
            web: Some(Fetcher::new(self.web.settings())),
            search: self.provider(wrong)?,
        })
    }

    /// Checks everything except the API key in the environment, which only searches need.
    pub(crate) fn check(&self, written: &Written) -> Result<(), Failure> {
        let wrong = |(key, what, hint): (&[&str], String, String)| written.wrong(key, &what, &hint);
        if let Some(fault) = self.fault() {
            return Err(wrong(fault));
        }
        let Some(search) = &self.search else {
            return Ok(());
        };
        let known = Service::NAMES.into_iter();
        let Some((_, service)) = known.clone().find(|(name, _)| *name == search.provider) else {
            let what = format!("there is no search service {:?}", search.provider);
            let hint = nearest(&search.provider, known.map(|(name, _)| name));
            return Err(wrong((&["guarded", "search", "provider"], what, hint)));
        };
        // The check passes an arbitrary API key, because the settings are valid even if the
        // variable is not set.
        let made = Provider::new(service, search.url.as_deref(), Some(Key::new("any")));
        made.map(drop).map_err(|error| {
            let what = error.to_string();
            let hint = "docs/guarded-tools.md says what each service needs".to_owned();
            wrong((&["guarded", "search", "url"], what, hint))
        })
    }

    fn provider(&self, blame: Blame<'_>) -> Result<Option<Provider>, Failure> {
        let Some(search) = &self.search else {
            return Ok(None);
        };
        let wrong = |key: &'static str, what: String, hint: &str| {
            Err(blame(&["guarded", "search", key], &what, hint))
        };
        let known = Service::NAMES.into_iter();
        let named = known.clone().find(|(name, _)| *name == search.provider);
        let Some((_, service)) = named else {
            let what = format!("there is no search service {:?}", search.provider);
            let hint = nearest(&search.provider, known.map(|(name, _)| name));
            return wrong("provider", what, &hint);
        };
        let key = match &search.api_key_env {
            None => None,
            Some(name) => match std::env::var(name) {
                Ok(key) if !key.trim().is_empty() => Some(Key::new(&key)),
                _ => {
                    let what = format!("the variable {name} of the environment is not set");
                    return wrong("api_key_env", what, "set it to the key");
                }
            },
        };
        match Provider::new(service, search.url.as_deref(), key) {
            Ok(provider) => Ok(Some(provider)),
            Err(error) => wrong(
                "provider",
                error.to_string(),
                "docs/guarded-tools.md says what each service needs",
            ),
        }
    }

    /// Returns a setting that can never take effect, because no address or directory can match it.
    fn useless(&self) -> Option<(&'static [&'static str], String, String)> {
        let mut hosts = self.web.allow.iter();
        if let Some(host) = hosts.find(|host| !is_host_and_port(host)) {
            let what = format!("{host:?} is no host with a port");
            let hint = "write HOST:PORT, as in \"localhost:3000\"";
            return Some((&["guarded", "web", "allow"], what, hint.to_owned()));
        }
        let Places::Some(places) = &self.writable else {
            return None;
        };
        let is_plain =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let wrong = places
            .iter()
            .find(|place| !place.components().all(is_plain));
        wrong.map(|place| {
            let what = format!(
                "{:?} is not a path relative to the root",
                place.to_string_lossy()
            );
            let hint = "write a directory below the root, as in \"notes\"";
            let key: &[&str] = &["guarded", "writable"];
            (key, what, hint.to_owned())
        })
    }

    /// Returns the first invalid setting: its key, the message and advice.
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
        if let Some(fault) = self.useless() {
            return Some(fault);
        }
        if self.max_tokens < LEAST_TOKENS {
            let what = format!("{} tokens are too few for an answer", self.max_tokens);
            let hint = format!("write {LEAST_TOKENS} or more");
            return Some((&["guarded", "max_tokens"], what, hint));
        }
        let (shell, web) = (self.shell.timeout_seconds, self.web.timeout_seconds);
        let times: [(&'static [&'static str], u64, u64); 2] = [
            (
                &["guarded", "shell", "timeout_seconds"],
                shell,
                COMMAND_SECONDS,
            ),
            (&["guarded", "web", "timeout_seconds"], web, PAGE_SECONDS),
        ];
        let mut times = times.into_iter();
        let wrong = times.find(|(_, seconds, most)| !(1..=*most).contains(seconds));
        wrong.map(|(key, seconds, most)| {
            let what = format!("{seconds} s is not an allowed timeout");
            (key, what, format!("write 1 to {most}"))
        })
    }
}
