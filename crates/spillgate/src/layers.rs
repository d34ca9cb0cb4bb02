//! Which layer says what?
//!
//! Defaults, then the configuration file, then the environment, then flags: the
//! later one wins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use figment2::error::Kind;
use figment2::providers::Serialized;
use figment2::value::Map;
use figment2::{Figment, Metadata, Profile as Section, Provider};
use serde::Serialize;
use serde_json::{Value, json};
use spillgate_offload::{DEFAULT_REFERENCE_BYTES, Rule, ValueKind};
use spillgate_text::Tokenizer;

use crate::args::{Common, LimitArgs};
use crate::config_file::{ConfigFile, Places};
use crate::failure::{Failure, Fault};
use crate::servers;
use crate::settings::{Settings, defaults, directories};
use crate::tool_output::{nearest, parse_targets};
use crate::wiring::{COMMAND_LINE_PAGE, GATEWAY_PAGE};

/// One setting as it is in force.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InForce {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) from: String,
}

/// Settings that the environment may set to a text, to yes or no, and to a number, beside the
/// limits.
const TEXTS: [&str; 10] = [
    "store",
    "sync",
    "tokenizer",
    "quota",
    "reserve",
    "max_message",
    "max_age",
    "tombstone_age",
    "lookup_timeout",
    "list_tools",
];
const SWITCHES: [&str; 1] = ["shared_store"];
const NUMBERS: [&str; 2] = ["page_tokens", "tombstones"];

/// All of them, with how each is read.
fn variables() -> impl Iterator<Item = (&'static str, ValueKind)> {
    let of = |kind| move |key: &&'static str| (*key, kind);
    let texts = TEXTS.iter().map(of(ValueKind::Text));
    let numbers = NUMBERS.iter().map(of(ValueKind::Number));
    let switches = SWITCHES.iter().map(of(ValueKind::Switch));
    let limits = Rule::KEYS.iter().copied();
    limits.chain(texts).chain(numbers).chain(switches)
}

fn variable(key: &str) -> String {
    format!("SPILLGATE_{}", key.to_ascii_uppercase())
}

/// What the environment sets; a variable that is empty sets nothing.
fn environment() -> Result<BTreeMap<&'static str, Value>, Failure> {
    let set = |key: &str| {
        let value = std::env::var_os(variable(key)).filter(|value| !value.is_empty())?;
        Some(value.to_string_lossy().into_owned())
    };
    let wrong = |key: &str, text: &str, what: &str, hint: &str| {
        let message = format!("{} = {text:?} is {what}", variable(key));
        Failure::new("config", Fault::Caller, message).hint(hint)
    };
    let mut values = BTreeMap::new();
    if let Some(text) = set("model") {
        let models = parse_targets(&text).map_err(|error| {
            let message = format!("{}: {error}", variable("model"));
            Failure::new("config", Fault::Caller, message).hint("correct it, or unset it")
        })?;
        values.insert("tool_output", json!({"models": models}));
    }
    for (key, kind) in variables() {
        let Some(text) = set(key) else { continue };
        let value = match kind {
            ValueKind::Text => Value::from(text),
            ValueKind::Number => {
                let number: u64 = text.trim().parse().map_err(|_| {
                    let hint = "write a number, or unset it";
                    wrong(key, &text, "not a whole number", hint)
                })?;
                number.into()
            }
            ValueKind::Switch => {
                let is_on: bool = text.trim().parse().map_err(|_| {
                    let hint = "write true or false, or unset it";
                    wrong(key, &text, "neither true nor false", hint)
                })?;
                is_on.into()
            }
        };
        values.insert(key, value);
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
        if let Some(list) = client_file(common) {
            servers::read_client_file(&list)?;
        }
        let file = config_file(common)?;
        let file = file.map(|path| ConfigFile::read(&path)).transpose()?;
        if let Some(file) = &file {
            figment = figment.merge(file.clone());
        }
        let (environment, flags) = (environment()?, Flags::new(common, limits));
        let mut places = file.map(|file| file.places).unwrap_or_default();
        for key in environment.keys() {
            places.set_outside(key, variable(key));
        }
        for key in flags.keys() {
            let flag = format!("--{}", key.replace('_', "-"));
            places.set_outside(&key, flag);
        }
        figment = figment
            .merge(Layer::of("environment", &environment))
            .merge(Layer::of("command line", &flags));
        let mut settings: Settings = figment.extract().map_err(|error| wrong(error, &places))?;
        settings.places = places;
        settings.check(limits)?;
        Ok(Self { settings, figment })
    }

    /// Every setting with where it comes from; those of extraction each by
    /// itself.
    pub(crate) fn in_force(&self) -> Vec<InForce> {
        let values = serde_json::to_value(&self.settings).unwrap_or_default();
        let members = values.as_object().cloned().unwrap_or_default();
        let each = members.into_iter().flat_map(|(key, value)| match value {
            Value::Object(inner) if key == "tool_output" => inner
                .into_iter()
                .map(|(name, value)| (format!("{key}.{name}"), value))
                .collect(),
            value => vec![(key, value)],
        });
        each.map(|(key, value)| InForce {
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
    fn built_in(&self, key: &str) -> Value {
        match key {
            "page_tokens" => {
                format!("{GATEWAY_PAGE} in the gateway, {COMMAND_LINE_PAGE} here").into()
            }
            "by_reference" => json!([]),
            "by_reference_bytes" => DEFAULT_REFERENCE_BYTES.into(),
            limit => {
                let limits = self.settings.rule().resolve();
                limits.shown(limit).unwrap_or("no limit".into())
            }
        }
    }

    fn origin(&self, key: &str) -> String {
        let value = self.figment.find_value(key).ok();
        // A list keeps the mark of the first layer that had one; its elements
        // know better.
        let tag = value.map(|value| match value.as_array() {
            Some([first, ..]) => first.tag(),
            _ => value.tag(),
        });
        let Some(metadata) = tag.and_then(|tag| self.figment.get_metadata(tag)) else {
            return "default".to_owned();
        };
        match &metadata.source {
            Some(source) => format!("{} {source}", metadata.name),
            None if metadata.name == "environment" => {
                format!("environment {}", variable(of_key(key)))
            }
            None => metadata.name.to_string(),
        }
    }
}

/// The file that was named, which must exist, or the user's, which need not. A
/// file in the working directory is never read unasked: it may be a stranger's.
pub(crate) fn config_file(common: &Common) -> Result<Option<PathBuf>, Failure> {
    // A client's list of servers is no file of ours; `mcp` reads it besides.
    if let Some(file) = named_file(common).filter(|file| !is_client_file(file)) {
        return match file.is_file() {
            true => Ok(Some(file)),
            false => Err(missing(&file)),
        };
    }
    let users = directories()?.config_dir().join("spillgate/spillgate.toml");
    Ok(users.is_file().then_some(users))
}

/// The file that was named, of whatever kind.
fn named_file(common: &Common) -> Option<PathBuf> {
    let named = common.config.clone();
    let named = named.or_else(|| std::env::var_os("SPILLGATE_CONFIG").map(PathBuf::from));
    named.filter(|file| !file.as_os_str().is_empty())
}

/// A client's list of servers that was named as the configuration.
pub(crate) fn client_file(common: &Common) -> Option<PathBuf> {
    named_file(common).filter(|file| is_client_file(file))
}

/// Whether a file is a client's list of servers, such as `.mcp.json`.
fn is_client_file(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "json")
}

fn missing(file: &Path) -> Failure {
    let message = format!("there is no configuration file {}", file.display());
    Failure::new("config", Fault::Caller, message).hint("check --config and SPILLGATE_CONFIG")
}

/// The variable that sets a key is named after it, but for the models'.
fn of_key(key: &str) -> &str {
    match key {
        "tool_output.models" => "model",
        key => key,
    }
}

fn wrong(error: figment2::Error, places: &Places) -> Failure {
    let mut hint = "docs/configuration.md lists what each setting can be".to_owned();
    let told = |one: figment2::Error| {
        let mut key = one.path.clone();
        let mut what = one.kind.to_string();
        if let Some(usual) = key.last().and_then(|last| form(last)) {
            usual.clone_into(&mut hint);
        }
        if let Kind::UnknownField(name, known) = &one.kind {
            if key.last() != Some(name) {
                key.push(name.clone());
            }
            "there is no such setting".clone_into(&mut what);
            hint = nearest(name, known.iter().copied());
        }
        if let Kind::UnknownVariant(name, known) = &one.kind {
            what = format!("{name:?} is none of {}", known.join(", "));
            let meant = nearest(name, known.iter().copied());
            if meant.starts_with("did you mean") {
                hint = meant;
            }
        }
        places.told(&key, &what)
    };
    let messages: Vec<String> = error.into_iter().map(told).collect();
    Failure::new("config", Fault::Caller, messages.join("; ")).hint(hint)
}

/// How the value of a key is written, where an example says more than the reference.
fn form(key: &str) -> Option<&'static str> {
    Some(match key {
        "listen" => "write an address and a port, such as \"127.0.0.1:8700\"",
        "quota" | "reserve" | "max_message" => "write a number of bytes such as \"10 GiB\"",
        "max_age" | "lookup_timeout" | "tombstone_age" | "timeout" | "start_wait" => {
            "write a time such as \"30d\" or \"12h\""
        }
        _ => return None,
    })
}

/// What the flags say; what they leave open stays out of the layer.
#[derive(Debug, Clone, Serialize)]
struct Flags {
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenizer: Option<Tokenizer>,
    #[serde(flatten)]
    limits: LimitArgs,
}

impl Flags {
    /// The settings that a flag has set.
    fn keys(&self) -> Vec<String> {
        let set = serde_json::to_value(self).unwrap_or_default();
        let set = set.as_object().cloned().unwrap_or_default();
        set.into_iter().map(|(key, _)| key).collect()
    }

    fn new(common: &Common, limits: &LimitArgs) -> Self {
        Self {
            store: common.store.clone(),
            shared_store: common.shared_store.then_some(true),
            tokenizer: common.tokenizer,
            limits: limits.clone(),
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
