//! The layers of the settings.
//!
//! Defaults, then the configuration file, then the environment, then flags: later layers take
//! precedence.

use std::path::{Component, Path, PathBuf};

use etcetera::BaseStrategy;
use serde::Serialize;
use serde_json::{Value, json};
use spillgate_config::{
    LayerSource, Naming, Node, NodeKind, Number, Problem, ProblemKind, Step, json, read,
};
use spillgate_offload::{DEFAULT_REFERENCE_BYTES, Rule, ValueKind};
use spillgate_text::Tokenizer;

use crate::args::{Common, LimitArgs};
use crate::config_file::Places;
use crate::failure::{Failure, Fault};
use crate::servers;
use crate::settings::{Settings, defaults, directories};
use crate::tool_output::{nearest, parse_targets};
use crate::wiring::{COMMAND_LINE_PAGE, GATEWAY_PAGE};

/// One effective setting.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InForce {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) from: String,
}

/// The settings, besides the limits, that environment variables may set: settings whose values are
/// texts, booleans, and numbers.
const TEXTS: [&str; 11] = [
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
    "tool_list",
];
const SWITCHES: [&str; 1] = ["shared_store"];
const NUMBERS: [&str; 3] = ["page_tokens", "tombstones", "tool_list_budget"];

/// Settings in tables that environment variables may set, for containers.
const IN_TABLES: [(&str, Table); 7] = [
    ("http_listen", |text| {
        Some(json!({"http": {"listen": text}}))
    }),
    ("http_allow_hosts", |text| {
        Some(json!({"http": {"allow_hosts": words(text)}}))
    }),
    ("http_token_files", |text| {
        let auth = json!({"kind": "bearer", "token_files": words(text)});
        Some(json!({"http": {"auth": auth}}))
    }),
    ("http_replica", |text| {
        Some(json!({"http": {"replica": text}}))
    }),
    ("http_drain_seconds", |text| seconds("drain_seconds", text)),
    ("http_shutdown_seconds", |text| {
        seconds("shutdown_seconds", text)
    }),
    ("objects_cache", |text| {
        Some(json!({"objects": {"cache": text}}))
    }),
];

/// Returns the settings that the value of a variable stands for; `None` if it is no number.
type Table = fn(&str) -> Option<Value>;

/// Returns a setting of the HTTP server that is a number of seconds.
fn seconds(key: &str, text: &str) -> Option<Value> {
    let seconds: u64 = text.trim().parse().ok()?;
    Some(json!({"http": {key: seconds}}))
}

/// Returns the words of a list with commas.
fn words(list: &str) -> Vec<&str> {
    let words = list.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns all settings that environment variables may set, with the kind of their values.
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

/// Returns the values that environment variables set. An empty variable sets nothing.
fn environment() -> Result<Vec<(String, Value)>, Failure> {
    let set = |key: &str| {
        let value = std::env::var_os(variable(key)).filter(|value| !value.is_empty())?;
        Some(value.to_string_lossy().into_owned())
    };
    let wrong = |key: &str, text: &str, what: &str, hint: &str| {
        let message = format!("{} = {text:?} is {what}", variable(key));
        Failure::new("config", Fault::Caller, message).hint(hint)
    };
    let mut values = Vec::new();
    if let Some(text) = set("model") {
        let models = parse_targets(&text).map_err(|error| {
            let message = format!("{}: {error}", variable("model"));
            Failure::new("config", Fault::Caller, message).hint("correct it, or unset it")
        })?;
        let set = json!({"tool_output": {"models": models}});
        values.push((variable("model"), set));
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
        values.push((variable(key), json!({key: value})));
    }
    for (key, table) in IN_TABLES {
        let Some(text) = set(key) else { continue };
        let table = table(&text).ok_or_else(|| {
            let hint = "write a number, or unset it";
            wrong(key, &text, "not a whole number", hint)
        })?;
        values.push((variable(key), table));
    }
    Ok(values)
}

impl Settings {
    /// Loads the settings and checks them.
    pub(crate) fn load(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let mut places = Places::default();
        let defaults = defaults()?;
        if let Some(list) = client_file(common) {
            servers::read_client_file(&list)?;
        }
        let file = config_file(common)?;
        let file = file.map(|path| Ok::<_, Failure>((Places::read(&path)?, path)));
        let (file, environment) = (file.transpose()?, environment()?);
        places.put(LayerSource::Default, tree(&defaults)?);
        if let Some((file, path)) = file {
            places.put_file(&path, file);
        }
        for (variable, set) in environment {
            places.put(LayerSource::Variable(variable), tree(&set)?);
        }
        for member in tree(&Flags::new(common, limits))?.members() {
            let flag = format!("--{}", member.key.replace('_', "-"));
            let alone = NodeKind::Table(vec![member.clone()]);
            places.put(LayerSource::Option(flag), Node::new(member.at, alone));
        }
        let mut settings: Self = read(places.root(), Naming::Exact)
            .map_err(|problems| wrong(&first(problems), &places))?;
        settings.places = places;
        settings.check(limits)?;
        Ok(settings)
    }

    /// Returns every setting with its source; the settings of extraction are separate rows.
    pub(crate) fn in_force(&self) -> Vec<InForce> {
        let values = serde_json::to_value(self).unwrap_or_default();
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

    /// Returns every setting with its source, those in tables apart, without what may be secret:
    /// arguments of programs, keys, and the paths of addresses.
    #[cfg(feature = "ui")]
    pub(crate) fn in_force_apart(&self) -> Vec<InForce> {
        let mut all = Vec::new();
        for one in self.in_force() {
            let key: Vec<String> = one.key.split('.').map(str::to_owned).collect();
            self.put_apart(&mut all, &key, one.value);
        }
        all
    }

    #[cfg(feature = "ui")]
    fn put_apart(&self, all: &mut Vec<InForce>, key: &[String], value: Value) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (name, value) in members {
                    let key = [key, &[name]].concat();
                    self.put_apart(all, &key, value);
                }
            }
            value => {
                let name = key.last().map(String::as_str).unwrap_or_default();
                all.push(InForce {
                    value: harmless(name, value),
                    from: self.origin_of(key),
                    key: key.join("."),
                });
            }
        }
    }

    /// Returns the built-in value of an unset setting.
    fn built_in(&self, key: &str) -> Value {
        match key {
            "page_tokens" => {
                format!("{GATEWAY_PAGE} in the gateway, {COMMAND_LINE_PAGE} here").into()
            }
            "by_reference" => json!([]),
            "by_reference_secrets" => false.into(),
            "by_reference_bytes" => DEFAULT_REFERENCE_BYTES.into(),
            limit => {
                let limits = self.rule().resolve();
                limits.shown(limit).unwrap_or("no limit".into())
            }
        }
    }

    fn origin(&self, key: &str) -> String {
        let key: Vec<&str> = key.split('.').collect();
        self.origin_of(&key)
    }

    fn origin_of<S: AsRef<str>>(&self, key: &[S]) -> String {
        match self.places.source(key) {
            LayerSource::Default => "default".to_owned(),
            LayerSource::File(file) => {
                let here = std::env::current_dir().unwrap_or_default();
                format!("TOML file {}", seen_from(&here, file).display())
            }
            LayerSource::Variable(name) => format!("environment {name}"),
            LayerSource::Option(_) => "command line".to_owned(),
        }
    }
}

/// Returns the value of a setting without what may be secret.
#[cfg(feature = "ui")]
fn harmless(name: &str, value: Value) -> Value {
    let is_address = |text: &str| text.contains("://");
    match (name, value) {
        ("args", Value::Array(all)) => format!("{} arguments, not shown", all.len()).into(),
        ("api_key" | "key" | "token" | "password" | "client_secret", Value::String(_)) => {
            "…".into()
        }
        (_, Value::String(text)) if is_address(&text) => match reqwest::Url::parse(&text) {
            // Paths and parameters of addresses may have keys.
            Ok(url) if url.origin().is_tuple() => match url.path() {
                "" | "/" => url.origin().ascii_serialization().into(),
                _ => format!("{}/…", url.origin().ascii_serialization()).into(),
            },
            _ => "…".into(),
        },
        (_, value) => value,
    }
}

/// Returns a path relative to a directory if that is shorter.
fn seen_from(here: &Path, path: &Path) -> PathBuf {
    let (here, there) = (here.components(), path.components());
    let same = here.clone().zip(there.clone());
    let same = same.take_while(|(one, other)| one == other).count();
    let up = here.count() - same;
    match up < same {
        true => std::iter::repeat_n(Component::ParentDir, up)
            .chain(there.skip(same))
            .collect(),
        false => path.to_owned(),
    }
}

/// Returns the configuration file: the named one, which must exist, or the user's, if it exists. A
/// file in the working directory is never read implicitly, because it may be untrusted.
pub(crate) fn config_file(common: &Common) -> Result<Option<PathBuf>, Failure> {
    // A client's list of servers is not a configuration file; `mcp` reads it separately.
    if let Some(file) = named_file(common).filter(|file| !is_client_file(file)) {
        if file.is_file() {
            return Ok(Some(file));
        }
        let message = format!("there is no configuration file {}", file.display());
        let failure = Failure::new("config", Fault::Caller, message);
        return Err(failure.hint("check --config and SPILLGATE_CONFIG"));
    }
    let users = directories()?.config_dir().join("spillgate/spillgate.toml");
    Ok(users.is_file().then_some(users))
}

/// Returns the file, of any kind, that an option or a variable names as the configuration.
fn named_file(common: &Common) -> Option<PathBuf> {
    let named = common.config.clone();
    let named = named.or_else(|| std::env::var_os("SPILLGATE_CONFIG").map(PathBuf::from));
    named.filter(|file| !file.as_os_str().is_empty())
}

/// Returns the client's list of servers that was named as the configuration.
pub(crate) fn client_file(common: &Common) -> Option<PathBuf> {
    named_file(common).filter(|file| is_client_file(file))
}

/// Returns whether a file is a client's list of servers, such as `.mcp.json`.
fn is_client_file(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "json")
}

/// Converts settings into a tree.
fn tree(settings: &impl Serialize) -> Result<Node, Failure> {
    let text = serde_json::to_string(settings).map_err(|error| {
        Failure::new("config", Fault::Caller, error.to_string()).hint(REFERENCE)
    })?;
    Ok(json::parse(&text).expect("invariant: it was written as JSON"))
}

const REFERENCE: &str = "docs/configuration.md lists what each setting can be";

/// Returns the problem to report.
pub(crate) fn first(problems: Vec<Problem>) -> Problem {
    let first = problems.into_iter().next();
    first.expect("invariant: what is not read has a problem")
}

fn wrong(problem: &Problem, places: &Places) -> Failure {
    let keys = problem.key.iter().map(|step| match step {
        Step::Key(key) => key.clone(),
        Step::Index(index) => index.to_string(),
    });
    let mut key: Vec<String> = keys.collect();
    let usual = key.last().and_then(|last| form(last));
    let mut hint = usual.unwrap_or(REFERENCE).to_owned();
    match &problem.kind {
        ProblemKind::Key { name, known } => {
            if key.last() != Some(name) {
                key.push(name.clone());
            }
            hint = nearest(name, known.iter().copied());
        }
        ProblemKind::Name { actual, known } => {
            let meant = nearest(actual, known.iter().copied());
            if meant.starts_with("did you mean") {
                hint = meant;
            }
        }
        _ => {}
    }
    let what = places.told(&key, &said(&problem.kind));
    Failure::new("config", Fault::Caller, what).hint(hint)
}

/// Formats a problem.
pub(crate) fn said(problem: &ProblemKind) -> String {
    match problem {
        ProblemKind::Type { actual, expected } => {
            let expected = wanted(expected);
            format!("invalid type: found {}, expected {expected}", found(actual))
        }
        ProblemKind::Value { actual, expected } => {
            let expected = wanted(expected);
            format!("invalid value {}, expected {expected}", found(actual))
        }
        ProblemKind::Name { actual, known } => {
            format!("{actual:?} is none of {}", known.join(", "))
        }
        ProblemKind::Key { .. } => "there is no such setting".to_owned(),
        ProblemKind::Missing(key) => format!("missing field `{key}`"),
        ProblemKind::Twice { name, .. } => format!("duplicate field `{name}`"),
        ProblemKind::Other(what) => what.clone(),
    }
}

/// Returns what is expected, in words for people who do not know Rust.
fn wanted(expected: &str) -> &str {
    match expected {
        "u64" | "u32" | "u16" | "u8" | "usize" => "a whole number",
        "i64" | "f64" => "a number",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        "a map" => "a table",
        other => other,
    }
}

fn found(actual: &NodeKind) -> String {
    match actual {
        NodeKind::Bool(value) => format!("bool {value}"),
        NodeKind::Number(Number::Unsigned(number)) => format!("unsigned int `{number}`"),
        NodeKind::Number(Number::Signed(number)) => format!("signed int `{number}`"),
        NodeKind::Number(Number::Float(number)) => format!("float `{number}`"),
        NodeKind::Text(text) => format!("string {:?}", text.text),
        NodeKind::Null => "unit".to_owned(),
        NodeKind::List(_) => "sequence".to_owned(),
        NodeKind::Table(_) => "map".to_owned(),
    }
}

/// Returns an example of a key's value, if an example is more helpful than the reference.
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

/// The values of the flags. Flags that are not set are not part of the layer.
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
    fn new(common: &Common, limits: &LimitArgs) -> Self {
        Self {
            store: common.store.clone(),
            shared_store: common.shared_store.then_some(true),
            tokenizer: common.tokenizer,
            limits: limits.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_seen_from_here_where_that_is_shorter() {
        for (here, path, seen) in [
            ("/home/me", "/home/me/.config/s.toml", ".config/s.toml"),
            (
                "/home/me/code",
                "/home/me/.config/s.toml",
                "../.config/s.toml",
            ),
            (
                "/home/me/code/of/mine",
                "/home/me/s.toml",
                "/home/me/s.toml",
            ),
            ("/", "/etc/s.toml", "etc/s.toml"),
            ("/srv", "/etc/s.toml", "/etc/s.toml"),
            ("/srv", "s.toml", "s.toml"),
        ] {
            let told = seen_from(Path::new(here), Path::new(path));
            assert_eq!(told, Path::new(seen), "{path} from {here}");
        }
    }
}
