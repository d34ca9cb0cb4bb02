//! Which settings are in force, and where does each come from?
//!
//! Defaults, then the configuration file, then the environment, then flags: the
//! later one wins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytesize::ByteSize;
use etcetera::BaseStrategy;
use figment2::providers::{Format, Serialized, Toml};
use figment2::value::Map;
use figment2::{Figment, Metadata, Profile as Section, Provider};
use serde::{Deserialize, Deserializer, Serialize};
use spillgate_measure::Tokenizer;
use spillgate_offload::{Policy, Profile, Rule};

use crate::args::{Common, LimitArgs};
use crate::failure::{Failure, Fault};
use crate::wiring::{COMMAND_LINE_PAGE, GATEWAY_PAGE};

/// All settings, by the names that they have in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Where artifacts are stored.
    pub(crate) store: PathBuf,
    /// What counts tokens.
    pub(crate) tokenizer: Tokenizer,
    /// Offload over so many tokens; 0 is no limit.
    pub(crate) max_tokens: Option<u64>,
    /// Offload over so many bytes; 0 is no limit.
    pub(crate) max_bytes: Option<u64>,
    /// Offload over so many lines; 0 is no limit.
    pub(crate) max_lines: Option<u64>,
    /// Offload over so many characters; 0 is no limit.
    pub(crate) max_chars: Option<u64>,
    /// How an oversized result is shown.
    pub(crate) profile: Option<Profile>,
    /// Tokens that a preview may cost.
    pub(crate) preview_tokens: Option<u64>,
    /// Tokens that a page of a stored output may cost; by default 2,500 in the
    /// gateway and 10,000 on the command line.
    pub(crate) page_tokens: Option<u64>,
    /// Bytes that the store may hold, such as "10 GiB"; "0" is no limit.
    #[serde(deserialize_with = "text_or_number")]
    pub(crate) quota: String,
    /// How long an output is kept after its last use, such as "30d"; "0s" is
    /// for ever.
    #[serde(deserialize_with = "text_or_number")]
    pub(crate) max_age: String,
    /// Rules for tools, by a pattern of their name.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, Rule>,
    /// Rules for servers, by their name.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, ServerRules>,
}

/// `quota = 0` is as good as `quota = "0"`.
fn text_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a text such as \"10 GiB\" or \"30d\", or a number"
    )]
    enum Either {
        Text(String),
        Number(u64),
    }
    Ok(match Either::deserialize(from)? {
        Either::Text(text) => text,
        Either::Number(number) => number.to_string(),
    })
}

/// Rules for one server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServerRules {
    #[serde(flatten)]
    rule: Rule,
    #[serde(default)]
    tools: BTreeMap<String, Rule>,
}

/// One setting as it is in force.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InForce {
    pub(crate) key: String,
    pub(crate) value: serde_json::Value,
    pub(crate) from: String,
}

/// Settings that the environment may set to a text, and to a number.
const TEXTS: [&str; 5] = ["store", "tokenizer", "profile", "quota", "max_age"];
const NUMBERS: [&str; 4] = ["max_tokens", "max_bytes", "preview_tokens", "page_tokens"];

fn variable(key: &str) -> String {
    format!("SPILLGATE_{}", key.to_ascii_uppercase())
}

/// What the environment sets; a variable that is empty sets nothing.
fn environment() -> Result<BTreeMap<&'static str, serde_json::Value>, Failure> {
    let set = |key: &&'static str| {
        let value = std::env::var_os(variable(key)).filter(|value| !value.is_empty())?;
        Some((*key, value.to_string_lossy().into_owned()))
    };
    let mut values = BTreeMap::new();
    for (key, text) in TEXTS.iter().filter_map(set) {
        values.insert(key, serde_json::Value::from(text));
    }
    for (key, text) in NUMBERS.iter().filter_map(set) {
        let number: u64 = text.trim().parse().map_err(|_| {
            let message = format!("{} = {text:?} is not a whole number", variable(key));
            Failure::new("config", Fault::Caller, message).hint("write a number, or unset it")
        })?;
        values.insert(key, serde_json::Value::from(number));
    }
    Ok(values)
}

/// The settings and their layers.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) settings: Settings,
    figment: Figment,
}

impl Layers {
    pub(crate) fn load(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let mut figment = Figment::from(Layer::of("default", &defaults()?));
        if let Some(file) = config_file(common)? {
            figment = figment.merge(Toml::file(file).search(false));
        }
        figment = figment
            .merge(Layer::of("environment", &environment()?))
            .merge(Layer::of("command line", &Flags::new(common, limits)));
        let settings = figment.extract().map_err(|error| wrong(&error))?;
        Ok(Self { settings, figment })
    }

    /// Every setting with where it comes from.
    pub(crate) fn in_force(&self) -> Vec<InForce> {
        let values = serde_json::to_value(&self.settings).unwrap_or_default();
        let members = values.as_object().cloned().unwrap_or_default();
        members
            .into_iter()
            .map(|(key, value)| InForce {
                from: self.origin(&key),
                value: if value.is_null() {
                    self.built_in(&key)
                } else {
                    value
                },
                key,
            })
            .collect()
    }

    /// What holds where nothing is set.
    fn built_in(&self, key: &str) -> serde_json::Value {
        let limits = self.settings.base().resolve();
        match key {
            "max_tokens" => limits.tokens.map_or("no limit".into(), Into::into),
            "profile" => limits.profile.to_string().into(),
            "preview_tokens" => limits.preview.get().into(),
            "page_tokens" => {
                format!("{GATEWAY_PAGE} in the gateway, {COMMAND_LINE_PAGE} here").into()
            }
            _ => "no limit".into(),
        }
    }

    fn origin(&self, key: &str) -> String {
        let Some(metadata) = self.figment.find_metadata(key) else {
            return "default".to_owned();
        };
        match &metadata.source {
            Some(source) => format!("{} {source}", metadata.name),
            None if metadata.name == "environment" => format!("environment {}", variable(key)),
            None => metadata.name.to_string(),
        }
    }
}

impl Settings {
    /// The rule for results that no nearer one is for.
    fn base(&self) -> Rule {
        Rule {
            max_tokens: self.max_tokens,
            max_bytes: self.max_bytes,
            max_lines: self.max_lines,
            max_chars: self.max_chars,
            profile: self.profile,
            preview_tokens: self.preview_tokens,
        }
    }

    /// The rules that results are decided by.
    /// `flags` are over everything that a file says of tools and servers.
    pub(crate) fn policy(&self, flags: &LimitArgs) -> Result<Policy, Failure> {
        let over = Rule {
            max_tokens: flags.max_tokens,
            max_bytes: flags.max_bytes,
            profile: flags.profile,
            ..Rule::default()
        };
        let pattern = |error| {
            Failure::new(
                "config",
                Fault::Caller,
                format!("a tool pattern is wrong: {error}"),
            )
            .hint("patterns are globs such as \"read_*\"")
        };
        let mut servers = Vec::new();
        for (name, of) in &self.servers {
            let policy = Policy::new(of.rule, of.tools.clone(), []).map_err(pattern)?;
            servers.push((name.clone(), policy));
        }
        let policy = Policy::new(self.base(), self.tools.clone(), servers).map_err(pattern)?;
        Ok(policy.under(over))
    }

    /// Bytes that the store may hold.
    pub(crate) fn quota(&self) -> Result<Option<u64>, Failure> {
        let bytes: ByteSize = self.quota.parse().map_err(|error| {
            Failure::new(
                "config",
                Fault::Caller,
                format!("quota = {:?}: {error}", self.quota),
            )
            .hint("write a number of bytes such as \"10 GiB\"")
        })?;
        Ok(Some(bytes.as_u64()).filter(|&bytes| bytes > 0))
    }

    /// How long an artifact is kept.
    pub(crate) fn max_age(&self) -> Result<Option<Duration>, Failure> {
        if self.max_age.trim() == "0" {
            return Ok(None);
        }
        let age = humantime::parse_duration(&self.max_age).map_err(|error| {
            Failure::new(
                "config",
                Fault::Caller,
                format!("max_age = {:?}: {error}", self.max_age),
            )
            .hint("write a time such as \"30d\" or \"12h\"")
        })?;
        Ok(Some(age).filter(|age| !age.is_zero()))
    }
}

fn defaults() -> Result<Settings, Failure> {
    Ok(Settings {
        store: state_directory()?,
        tokenizer: Tokenizer::default(),
        max_tokens: None,
        max_bytes: None,
        max_lines: None,
        max_chars: None,
        profile: None,
        preview_tokens: None,
        page_tokens: None,
        quota: "10 GiB".to_owned(),
        max_age: "30d".to_owned(),
        tools: BTreeMap::new(),
        servers: BTreeMap::new(),
    })
}

fn directories() -> Result<impl BaseStrategy, Failure> {
    etcetera::choose_base_strategy().map_err(|error| {
        Failure::new(
            "no_home",
            Fault::Caller,
            format!("no home directory: {error}"),
        )
        .hint("set HOME, or name the store with --store DIR and the file with --config FILE")
    })
}

fn state_directory() -> Result<PathBuf, Failure> {
    let directories = directories()?;
    let state = directories
        .state_dir()
        .unwrap_or_else(|| directories.data_dir());
    Ok(state.join("spillgate"))
}

/// The file that was named, which must exist, or the user's, which need not. A
/// file in the working directory is never read unasked: it may be a stranger's.
fn config_file(common: &Common) -> Result<Option<PathBuf>, Failure> {
    let named = common
        .config
        .clone()
        .or_else(|| std::env::var_os("SPILLGATE_CONFIG").map(PathBuf::from))
        .filter(|file| !file.as_os_str().is_empty());
    if let Some(file) = named {
        return match file.is_file() {
            true => Ok(Some(file)),
            false => Err(missing(&file)),
        };
    }
    let users = directories()?.config_dir().join("spillgate/spillgate.toml");
    Ok(users.is_file().then_some(users))
}

fn missing(file: &Path) -> Failure {
    let message = format!("there is no configuration file {}", file.display());
    Failure::new("config", Fault::Caller, message).hint("check --config and SPILLGATE_CONFIG")
}

fn wrong(error: &figment2::Error) -> Failure {
    let messages: Vec<String> = error
        .clone()
        .into_iter()
        .map(|one| one.to_string())
        .collect();
    Failure::new("config", Fault::Caller, messages.join("; "))
        .hint("`spillgate config` shows the settings and where each comes from")
}

/// What the flags say; what they leave open stays out of the layer.
#[derive(Debug, Clone, Serialize)]
struct Flags {
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenizer: Option<Tokenizer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Profile>,
}

impl Flags {
    fn new(common: &Common, limits: &LimitArgs) -> Self {
        Self {
            store: common.store.clone(),
            tokenizer: common.tokenizer,
            max_tokens: limits.max_tokens,
            max_bytes: limits.max_bytes,
            profile: limits.profile,
        }
    }
}

/// A layer of values under a name that people know it by.
struct Layer<T> {
    name: &'static str,
    values: Serialized<T>,
}

impl<T: Serialize + Clone> Layer<T> {
    fn of(name: &'static str, values: &T) -> Self {
        Self {
            name,
            values: Serialized::defaults(values.clone()),
        }
    }
}

impl<T: Serialize> Provider for Layer<T> {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> figment2::error::Result<Map<Section, figment2::value::Dict>> {
        self.values.data()
    }
}
