//! All settings of the program, and the objects that are built from them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use spillgate_extract::TraceKeeper;
use spillgate_gateway::{DEFAULT_LIST_BUDGET, ListTools, Prefix, Several, ToolList, ToolSearch};
#[cfg(feature = "serve")]
use spillgate_http_server::HttpServerSettings;
use spillgate_llm::{ModelConfig, ProviderConfig};
use spillgate_offload::{
    ByReference, Policy, ResultMode, Rule, StoredSecrets, TemplateError, Templates, with_limits,
};
use spillgate_redact::{Redactor, RuleError, Rules, UserRule};
use spillgate_store::{ArtifactStore, Notes, Space, SyncWhen, Upkeep};
use spillgate_text::Tokenizer;
use spillgate_transport::FrameReader;

use crate::args::LimitArgs;
use crate::audit::AuditSettings;
use crate::config_file::Places;
use crate::failure::{Failure, Fault};
#[cfg(feature = "tools")]
use crate::guarded_settings::GuardedSettings;
#[cfg(not(feature = "serve"))]
use crate::left_out::UnreadSettings as HttpServerSettings;
#[cfg(not(feature = "tools"))]
use crate::left_out::UnreadSettings as GuardedSettings;
use crate::models;
use crate::quantities::{Size, Span};
use crate::servers::{self, ServerSettings};
use crate::stores::{self, ObjectSettings};
use crate::tenant_settings::TenantSettings;
use crate::tool_output::ToolOutput;
use crate::trace_file::TraceDirectory;

with_limits! {
each #[serde(default)]
/// All settings, by their names in the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The store: a directory, or the address of a bucket.
    pub(crate) store: PathBuf,
    /// Whether other users may have write access to the store.
    pub(crate) shared_store: bool,
    /// When the gateway syncs a result to disk.
    pub(crate) sync: SyncWhen,
    /// The tokenizer.
    pub(crate) tokenizer: Tokenizer,
    /// Patterns of tools for which an argument may be a reference to a stored output (`$spill`).
    #[serde(default)]
    pub(crate) by_reference: Option<Vec<String>>,
    /// Maximum bytes of an argument that replaces such a reference.
    #[serde(default)]
    pub(crate) by_reference_bytes: Option<u64>,
    /// Whether such an argument contains secrets as they were stored; by default it has marks in
    /// their place.
    #[serde(default)]
    pub(crate) by_reference_secrets: Option<bool>,
    /// How secrets are found, and who may see them.
    #[serde(default)]
    pub(crate) secrets: Secrets,
    /// Maximum tokens of a page of a stored output; by default 2,500 in the gateway and 10,000 on
    /// the command line.
    pub(crate) page_tokens: Option<u64>,
    /// Maximum bytes of the store, such as "10 GiB"; "0" is no limit.
    pub(crate) quota: Size,
    /// Bytes of the disk to keep free, such as "1 GiB", but at most a twentieth of the disk; "0" is
    /// none.
    pub(crate) reserve: Size,
    /// Maximum bytes of a server's message, such as "8 GiB"; "0" is no limit.
    pub(crate) max_message: Size,
    /// How long the tombstone of a removed output is kept, such as "90d"; "0s" is unlimited.
    pub(crate) tombstone_age: Span,
    /// Maximum number of tombstones; 0 is no limit.
    pub(crate) tombstones: usize,
    /// How long an output is kept after its last use, such as "30d"; "0s" is unlimited.
    pub(crate) max_age: Span,
    /// Timeout of a lookup in the store, such as "20s"; 0 is no limit. The command line has no
    /// timeout.
    pub(crate) lookup_timeout: Span,
    /// Rules for tools, by glob pattern of their names.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, Rule>,
    /// Servers, by name.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, ServerSettings>,
    /// Rules for clients, by glob pattern of the names by which they introduce themselves.
    #[serde(default)]
    pub(crate) clients: BTreeMap<String, ClientSettings>,
    /// The user's templates for oversized results, by the name that `profile` refers to.
    #[serde(default)]
    pub(crate) templates: BTreeMap<String, String>,
    /// Settings of the `continuation` profile.
    #[serde(default)]
    pub(crate) continuation: Continuation,
    /// When the gateway lists its own tools.
    pub(crate) list_tools: ListTools,
    /// Whether the list of tools contains the servers' tools, or a search for them.
    #[serde(default)]
    pub(crate) tool_list: ToolList,
    /// Patterns of the tools that are listed even so.
    #[serde(default)]
    pub(crate) pinned: Vec<String>,
    /// Tokens above which `stats` and `doctor` report a list of tools as too long.
    pub(crate) tool_list_budget: u64,
    /// Which tools and prompts get their server's name as a prefix if there are several servers.
    #[serde(default)]
    pub(crate) prefix: Prefix,
    /// How long the answer to `initialize` or to a list request waits for a server that has not
    /// answered yet, if there are several servers, such as "3s".
    pub(crate) start_wait: Span,
    /// Settings of extraction.
    #[serde(default)]
    pub(crate) tool_output: ToolOutput,
    /// Model providers, by the name that targets refer to.
    #[serde(default)]
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// Models, by `provider/model`.
    #[serde(default)]
    pub(crate) models: BTreeMap<String, ModelConfig>,
    /// The HTTP server of `mcp --http` and `serve`.
    #[serde(default)]
    pub(crate) http: HttpServerSettings,
    /// The HTTP API of `serve`.
    #[serde(default)]
    pub(crate) serve: ServeSettings,
    /// The page of `ui`, and of a gateway over HTTP.
    #[serde(default)]
    pub(crate) ui: UiSettings,
    /// The guarded tools.
    #[serde(default)]
    pub(crate) guarded: GuardedSettings,
    /// A store in a bucket.
    #[serde(default)]
    pub(crate) objects: ObjectSettings,
    /// The tenants of `mcp --http` and `serve`.
    #[serde(default)]
    pub(crate) tenants: TenantSettings,
    /// The audit log.
    #[serde(default)]
    pub(crate) audit: AuditSettings,
    /// What is sent to an OpenTelemetry collector.
    #[serde(default)]
    pub(crate) telemetry: TelemetrySettings,
    /// The position of each value in the file.
    #[serde(skip)]
    pub(crate) places: Places,
}
}

/// Settings for a client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ClientSettings {
    /// What the client receives of an oversized result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) results: Option<ResultMode>,
}

impl ClientSettings {
    fn rule(&self) -> Rule {
        Rule {
            results: self.results,
            ..Rule::default()
        }
    }
}

/// Settings of the detection of secrets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Secrets {
    /// The user's own rules, beside the built-in ones.
    pub(crate) rules: Vec<UserRule>,
    /// The ids of built-in rules that are off.
    pub(crate) off: Vec<String>,
    /// Whether `spillgate cat --raw` prints an output with secrets where no terminal shows it.
    pub(crate) raw_anywhere: bool,
    /// What is stored of results with secrets, unless `stored_secrets` says something else.
    pub(crate) stored: Option<StoredSecrets>,
    /// Whether stored outputs are encrypted with the key in the environment.
    pub(crate) encrypt: bool,
}

/// Settings of what is sent to an OpenTelemetry collector.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetrySettings {
    /// How often the metrics are sent, such as "1m"; "0" is never.
    pub(crate) metrics_interval: Span,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            metrics_interval: Span::of("0"),
        }
    }
}

/// Settings of the `continuation` profile.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Continuation {
    /// Whether results are named "1", "2", … instead of by their handle.
    pub(crate) short_ids: bool,
}

/// Settings of the HTTP API (`serve`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServeSettings {
    /// Maximum size of a result that is sent as raw bytes, such as "1 GiB"; "0" is no limit.
    pub(crate) max_upload: Size,
    /// Time limit for receiving a result, in seconds.
    pub(crate) upload_seconds: NonZeroU32,
    /// Whether MCP clients are served at the same address, if there are servers for them.
    pub(crate) mcp: bool,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            max_upload: Size::of("1 GiB"),
            upload_seconds: const { NonZeroU32::new(600).unwrap() },
            mcp: true,
        }
    }
}

/// Settings of the page for a browser (`ui`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct UiSettings {
    /// Whether `mcp --http` and `serve` offer the page, too.
    pub(crate) enabled: bool,
    /// The port on which `ui` listens.
    pub(crate) port: u16,
    /// The directory in which agents and extractions leave a trace of each run, and from which the
    /// page shows them; unset, they leave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) traces: Option<PathBuf>,
}

impl Default for UiSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            port: 8701,
            traces: None,
        }
    }
}

impl UiSettings {
    /// Returns what keeps the traces of extractions, if they are to be kept.
    pub(crate) fn keeper(&self) -> Option<Arc<dyn TraceKeeper>> {
        let directory = self.traces.clone()?;
        Some(Arc::new(TraceDirectory(directory)))
    }
}

impl Settings {
    /// Returns the rules for results. `flags` take precedence over all settings of tools and
    /// servers.
    pub(crate) fn policy(&self, flags: &LimitArgs) -> Result<Policy, Failure> {
        let pattern = |error| self.wrong_pattern(&error);
        let mut servers = Vec::new();
        for (name, of) in &self.servers {
            let policy = Policy::new(of.rule(), of.tools.clone(), []).map_err(pattern)?;
            let key = ["servers", name.as_str(), "by_reference"];
            let references = ByReference::new(of.by_reference.as_deref(), of.by_reference_bytes);
            let references = references.map_err(|error| self.wrong_pattern_in(&key, &error))?;
            let references = references.with_secrets(of.by_reference_secrets);
            let policy = policy.with_references(references);
            servers.push((name.clone(), policy));
        }
        let policy = Policy::new(self.base(), self.tools.clone(), servers).map_err(pattern)?;
        let clients = self.clients.iter();
        let clients = clients.map(|(name, client)| (name.clone(), client.rule()));
        let policy = policy.with_clients(clients).map_err(pattern)?;
        let references = ByReference::new(self.by_reference.as_deref(), self.by_reference_bytes);
        let references =
            references.map_err(|error| self.wrong_pattern_in(&["by_reference"], &error))?;
        let references = references.with_secrets(self.by_reference_secrets);
        let policy = policy.with_references(references);
        let template = |error| self.wrong_template(&error);
        let templates = Templates::new(self.templates.clone()).map_err(template)?;
        policy
            .under(flags.rule())
            .with_templates(templates)
            .map_err(template)
    }

    /// Returns the rule for all results.
    pub(crate) fn base(&self) -> Rule {
        self.rule().or(Rule {
            stored_secrets: self.secrets.stored,
            ..Rule::default()
        })
    }

    /// Returns what finds and marks secrets.
    pub(crate) fn redactor(&self) -> Result<Arc<Redactor>, Failure> {
        let rules = Rules::with(&self.secrets.rules, &self.secrets.off).map_err(|error| {
            let hint = "`spillgate redact --list-rules` lists the built-in rules; docs/redaction.md shows a rule of your own";
            let key: &[&str] = match &error {
                RuleError::Unknown { .. } => &["secrets", "off"],
                _ => &["secrets"],
            };
            self.places.wrong(key, &error.to_string(), hint)
        })?;
        Ok(Arc::new(Redactor::new(rules)))
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

    /// Returns the space that the store may use, and the space to keep free.
    pub(crate) fn space(&self) -> Space {
        Space {
            quota: self.quota.bytes,
            reserve: self.reserve.bytes.unwrap_or(0),
            evicts: false,
        }
    }

    /// Returns how the store is maintained.
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

    /// Returns how several servers are presented as one.
    pub(crate) fn several(&self) -> Result<Several, Failure> {
        Ok(Several {
            start_wait: self.start_wait.time.unwrap_or_default(),
            prefix: self.prefix,
            known: Some(state_directory()?.join("lists")),
        })
    }

    /// Returns which tools are listed and which are found by a search. `flag` precedes all settings.
    pub(crate) fn tool_search(&self, flag: Option<ToolList>) -> Result<ToolSearch, Failure> {
        let of_server =
            |(name, of): (&String, &ServerSettings)| Some((name.clone(), of.tool_list?));
        let servers = match flag {
            Some(_) => BTreeMap::new(),
            None => self.servers.iter().filter_map(of_server).collect(),
        };
        let of_all = flag.unwrap_or(self.tool_list);
        ToolSearch::new(of_all, servers, &self.pinned, self.tool_list_budget)
            .map_err(|error| self.wrong_pattern_in(&["pinned"], &error))
    }

    /// Returns a reader of server messages that spools large ones to `store`.
    pub(crate) fn frame_reader(&self, store: &Arc<dyn ArtifactStore>) -> FrameReader {
        let most = self.max_message.bytes.unwrap_or(u64::MAX);
        FrameReader::new(Arc::clone(store)).at_most(most)
    }

    /// Returns the timeout of a client's lookup.
    pub(crate) fn lookup_timeout(&self) -> Duration {
        self.lookup_timeout.time.unwrap_or(Duration::MAX)
    }

    /// Checks everything that is not checked when settings are read. This is done first whenever
    /// settings are loaded, so that every command reports invalid settings, even those that it does
    /// not use.
    pub(crate) fn check(&self, flags: &LimitArgs) -> Result<(), Failure> {
        if self.store.as_os_str().is_empty() {
            let hint = "name a directory, or leave it out";
            return Err(self.places.wrong(&["store"], "is empty", hint));
        }
        #[cfg(not(feature = "objects"))]
        if let Some(address) = stores::address(&self.store) {
            let what = format!("--store {address}");
            return Err(crate::left_out::failure(&what, "objects"));
        }
        #[cfg(feature = "objects")]
        stores::address(&self.store)
            .map(stores::parsed)
            .transpose()?;
        #[cfg(not(feature = "cl100k"))]
        if self.tokenizer == Tokenizer::Cl100kBase {
            return Err(crate::left_out::failure("cl100k_base", "cl100k"));
        }
        #[cfg(not(feature = "references"))]
        if self.by_reference.is_some() || self.servers.values().any(|of| of.by_reference.is_some())
        {
            return Err(crate::left_out::failure("by_reference", "references"));
        }
        #[cfg(not(feature = "telemetry"))]
        if self.telemetry.metrics_interval.time.is_some() {
            return Err(crate::left_out::failure(
                "telemetry.metrics_interval",
                "telemetry",
            ));
        }
        self.policy(flags)?;
        self.tool_search(None)?;
        self.redactor()?;
        models::check(self)?;
        servers::check(self)?;
        #[cfg(feature = "tools")]
        self.guarded.check(&self.places)?;
        #[cfg(feature = "serve")]
        if let Some((key, what)) = self.http.wrong() {
            let hint = "docs/http.md lists what each can be";
            return Err(self.places.wrong(&["http", key], &what, hint));
        }
        self.tenants.check(&self.places)?;
        Ok(())
    }
}

/// Age after which an untouched draft counts as left by a killed writer.
const LEFTOVER: Duration = Duration::from_secs(60);

/// Minimum time between two sweeps of the store.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(300);

/// Maximum number of outputs that one command removes, so that it never takes long. Some thousand
/// outputs are removed per second.
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
        tool_list_budget: DEFAULT_LIST_BUDGET,
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

/// Returns the directory of server logins: part of the user's state, independent of the store.
pub(crate) fn login_directory() -> Result<PathBuf, Failure> {
    Ok(state_directory()?.join("auth"))
}

fn state_directory() -> Result<PathBuf, Failure> {
    Ok(state_home()?.join("spillgate"))
}

/// Returns the directory for persistent state of programs.
pub(crate) fn state_home() -> Result<PathBuf, Failure> {
    let directories = directories()?;
    Ok(directories
        .state_dir()
        .unwrap_or_else(|| directories.data_dir()))
}
