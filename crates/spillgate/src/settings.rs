//! The settings and what follows from them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use spillgate_gateway::{ListTools, Prefix, Several};
use spillgate_http_server::HttpServerSettings;
use spillgate_llm::{ModelConfig, ProviderConfig};
use spillgate_offload::{ByReference, Policy, Rule, TemplateError, Templates, with_limits};
use spillgate_store::{ArtifactStore, Notes, Space, SyncWhen, Upkeep};
use spillgate_text::Tokenizer;
use spillgate_transport::FrameReader;

use crate::args::LimitArgs;
use crate::config_file::Places;
use crate::failure::{Failure, Fault};
use crate::guarded_settings::GuardedSettings;
use crate::models;
use crate::quantities::{Size, Span};
use crate::servers::{self, ServerSettings};
use crate::tool_output::ToolOutput;

with_limits! {
each #[serde(default)]
/// All settings, by the names that they have in the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Where artifacts are stored.
    pub(crate) store: PathBuf,
    /// Whether it may be one that others can write to.
    pub(crate) shared_store: bool,
    /// When the gateway brings a result to the disk.
    pub(crate) sync: SyncWhen,
    /// What counts tokens.
    pub(crate) tokenizer: Tokenizer,
    /// Tools that may be called with arguments by reference, by patterns.
    #[serde(default)]
    pub(crate) by_reference: Option<Vec<String>>,
    /// Bytes that such an argument may have.
    #[serde(default)]
    pub(crate) by_reference_bytes: Option<u64>,
    /// Tokens that a page of a stored output may cost; by default 2,500 in the
    /// gateway and 10,000 on the command line.
    pub(crate) page_tokens: Option<u64>,
    /// Bytes that the store may hold, such as "10 GiB"; "0" is no limit.
    pub(crate) quota: Size,
    /// Bytes of the disk that are left free, such as "1 GiB", but at most a twentieth of
    /// the disk; "0" is none.
    pub(crate) reserve: Size,
    /// Bytes that a message of a server may have, such as "8 GiB"; "0" is no limit.
    pub(crate) max_message: Size,
    /// How long it is remembered what became of an output, such as "90d"; "0s" is for
    /// ever.
    pub(crate) tombstone_age: Span,
    /// Of how many outputs it is remembered; 0 is no limit.
    pub(crate) tombstones: usize,
    /// How long an output is kept after its last use, such as "30d"; "0s" is
    /// for ever.
    pub(crate) max_age: Span,
    /// How long a look-up into what is stored may take, such as "20s"; 0 is no limit. The
    /// command line has none.
    pub(crate) lookup_timeout: Span,
    /// Rules for tools, by a pattern of their name.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, Rule>,
    /// Servers, by their name.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, ServerSettings>,
    /// The user's own words for an oversized result, by the name by which
    /// `profile` asks for them.
    #[serde(default)]
    pub(crate) templates: BTreeMap<String, String>,
    /// The `continuation` profile.
    #[serde(default)]
    pub(crate) continuation: Continuation,
    /// When the gateway lists its own tools.
    pub(crate) list_tools: ListTools,
    /// Which tools and prompts of several servers have their server's name in front.
    #[serde(default)]
    pub(crate) prefix: Prefix,
    /// How long a client waits for one of several servers of which nothing is known
    /// yet, such as "3s".
    pub(crate) start_wait: Span,
    /// Extraction.
    #[serde(default)]
    pub(crate) tool_output: ToolOutput,
    /// Providers of models, by the name that targets call them by.
    #[serde(default)]
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Models, by `provider/model`.
    #[serde(default)]
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// The HTTP front of `mcp --http`.
    #[serde(default)]
    pub(crate) http: HttpServerSettings,
    /// The guarded tools.
    #[serde(default)]
    pub(crate) guarded: GuardedSettings,
    /// Where the file says what it says.
    #[serde(skip)]
    pub(crate) places: Places,
}
}

/// Settings of the `continuation` profile.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Continuation {
    /// Names results "1", "2", … instead of by their handle.
    pub(crate) short_ids: bool,
}

impl Settings {
    /// The rules that results are decided by.
    /// `flags` are over everything that a file says of tools and servers.
    pub(crate) fn policy(&self, flags: &LimitArgs) -> Result<Policy, Failure> {
        let pattern = |error| self.wrong_pattern(&error);
        let mut servers = Vec::new();
        for (name, of) in &self.servers {
            let policy = Policy::new(of.rule(), of.tools.clone(), []).map_err(pattern)?;
            let key = ["servers", name.as_str(), "by_reference"];
            let references = ByReference::new(of.by_reference.as_deref(), of.by_reference_bytes);
            let references = references.map_err(|error| self.wrong_pattern_in(&key, &error))?;
            let policy = policy.with_references(references);
            servers.push((name.clone(), policy));
        }
        let policy = Policy::new(self.rule(), self.tools.clone(), servers).map_err(pattern)?;
        let references = ByReference::new(self.by_reference.as_deref(), self.by_reference_bytes);
        let references =
            references.map_err(|error| self.wrong_pattern_in(&["by_reference"], &error))?;
        let policy = policy.with_references(references);
        let template = |error| self.wrong_template(&error);
        let templates = Templates::new(self.templates.clone()).map_err(template)?;
        policy
            .under(flags.rule())
            .with_templates(templates)
            .map_err(template)
    }

    fn wrong_pattern(&self, error: &globset::Error) -> Failure {
        let key = error.glob().and_then(|glob| self.places.ending(glob));
        self.wrong_pattern_in(&key.unwrap_or_default(), error)
    }

    fn wrong_pattern_in<S: AsRef<str>>(&self, key: &[S], error: &globset::Error) -> Failure {
        let what = format!("a tool pattern is wrong: {error}");
        let hint = "patterns are globs such as \"read_*\"";
        self.places.wrong(key, &what, hint)
    }

    fn wrong_template(&self, error: &TemplateError) -> Failure {
        let key = match &error {
            TemplateError::Unknown { name, .. } => {
                let in_file = self.places.of_text("profile", name);
                Some(in_file.unwrap_or_else(|| vec!["profile".to_owned()]))
            }
            TemplateError::Taken(name) | TemplateError::Wrong { name, .. } => {
                Some(vec!["templates".to_owned(), name.clone()])
            }
            _ => None,
        };
        let hint = "`profile` names a built-in profile or one of [templates]; docs/profiles.md lists what a template can name";
        let key = key.unwrap_or_default();
        self.places.wrong(&key, &error.to_string(), hint)
    }

    /// Bytes that the store may hold, and those of the disk that are left free.
    pub(crate) fn space(&self) -> Space {
        Space {
            quota: self.quota.bytes,
            reserve: self.reserve.bytes.unwrap_or(0),
            evicts: false,
        }
    }

    /// How the store is kept.
    pub(crate) fn upkeep(&self) -> Upkeep {
        Upkeep {
            max_age: self.max_age.time,
            notes: Notes {
                max_age: self.tombstone_age.time,
                most: Some(self.tombstones).filter(|&most| most > 0),
            },
            every: SWEEP_EVERY,
            idle: LEFTOVER,
            most: MOST_AT_ONCE,
        }
    }

    /// How several servers look like one.
    pub(crate) fn several(&self) -> Result<Several, Failure> {
        Ok(Several {
            start_wait: self.start_wait.time.unwrap_or_default(),
            prefix: self.prefix,
            known: Some(state_directory()?.join("lists")),
        })
    }

    /// Takes in messages of servers, the large ones by way of `store`.
    pub(crate) fn frame_reader(&self, store: &Arc<dyn ArtifactStore>) -> FrameReader {
        let most = self.max_message.bytes.unwrap_or(u64::MAX);
        FrameReader::new(Arc::clone(store)).at_most(most)
    }

    /// How long a look-up may take for a client.
    pub(crate) fn lookup_timeout(&self) -> Duration {
        self.lookup_timeout.time.unwrap_or(Duration::MAX)
    }

    /// Checks all that reading does not check by itself. Done whenever settings are loaded,
    /// before anything else: what is wrong is an error for every command.
    pub(crate) fn check(&self, flags: &LimitArgs) -> Result<(), Failure> {
        if self.store.as_os_str().is_empty() {
            let hint = "name a directory, or leave it out";
            return Err(self.places.wrong(&["store"], "is empty", hint));
        }
        self.policy(flags)?;
        models::check(self)?;
        servers::check(self)?;
        self.guarded.check(&self.places)?;
        if let Some((key, what)) = self.http.wrong() {
            let hint = "docs/http.md lists what each can be";
            return Err(self.places.wrong(&["http", key], &what, hint));
        }
        Ok(())
    }
}

/// A draft untouched for this long has no writer any more.
const LEFTOVER: Duration = Duration::from_secs(60);

/// The store is swept at most once in so long.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(300);

/// Outputs that one command removes at most, so that nobody waits for long: some thousand
/// are removed a second.
const MOST_AT_ONCE: usize = 5000;

pub(crate) fn defaults() -> Result<Settings, Failure> {
    Ok(Settings {
        store: state_directory()?,
        quota: Size::of("10 GiB"),
        reserve: Size::of("1 GiB"),
        max_message: Size::of("8 GiB"),
        max_age: Span::of("30d"),
        tombstone_age: Span::of("90d"),
        tombstones: 100_000,
        lookup_timeout: Span::of("20s"),
        start_wait: Span::of("3s"),
        ..Settings::default()
    })
}

pub(crate) fn directories() -> Result<impl BaseStrategy, Failure> {
    etcetera::choose_base_strategy().map_err(|error| {
        Failure::new(
            "no_home",
            Fault::Caller,
            format!("no home directory: {error}"),
        )
        .hint("set HOME, or name the store with --store DIR and the file with --config FILE")
    })
}

/// Where logins at servers are kept: with the user's state, whatever store is in
/// use.
pub(crate) fn login_directory() -> Result<PathBuf, Failure> {
    Ok(state_directory()?.join("auth"))
}

fn state_directory() -> Result<PathBuf, Failure> {
    Ok(state_home()?.join("spillgate"))
}

/// Where programs keep what is to last.
pub(crate) fn state_home() -> Result<PathBuf, Failure> {
    let directories = directories()?;
    Ok(directories
        .state_dir()
        .unwrap_or_else(|| directories.data_dir()))
}
