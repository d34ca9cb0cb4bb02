//! Builds models from providers and configuration.

mod builtin;
mod config;
mod key_file;
mod model_table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::{
    ChatModel, Endpoint, EndpointConfig, EndpointError, Fallback, Gate, Key, MaxTokensField,
    ModelLimits, Paced, Priced, Prices, RetryPolicy, Retrying, Target, Timeouts,
};
use spillgate_http_client::is_loopback;

pub use config::{ModelConfig, ProviderConfig};
pub use key_file::read_key_file;

/// Where keys come from. The library reads no environment: who has one hands it
/// in.
pub trait Secrets {
    /// The value of an environment variable; `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;

    /// What is in a file that only its owner can read.
    fn file(&self, path: &Path) -> std::io::Result<String> {
        read_key_file(path)
    }
}

/// Providers and models as configured, over those that are built in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Catalogue {
    /// Providers, by the name that targets call them by.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Models, by `provider/model`.
    pub models: BTreeMap<String, ModelConfig>,
}

/// A target cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// No target is given.
    #[error("no model is given; name one as provider/model")]
    NoTargets,
    /// Nobody knows the provider.
    #[error("unknown provider \"{provider}\"; known are {}. Set [providers.{provider}] with kind and base_url for another.", known.join(", "))]
    UnknownProvider {
        /// The provider.
        provider: String,
        /// Those that are known.
        known: Vec<String>,
    },
    /// Something that every provider needs is not set.
    #[error("provider \"{provider}\" has no {field}; set [providers.{provider}] {field}")]
    Missing {
        /// The provider.
        provider: String,
        /// What it lacks.
        field: &'static str,
    },
    /// The base URL is none.
    #[error("provider \"{provider}\": base_url {why}")]
    BaseUrl {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        why: String,
    },
    /// The variable that should have the key is not set.
    #[error(
        "provider \"{provider}\": the environment variable {variable} is not set; put the key there, or its file into [providers.{provider}] key_file"
    )]
    KeyVariable {
        /// The provider.
        provider: String,
        /// The variable.
        variable: String,
    },
    /// The file that should have the key cannot be used.
    #[error("provider \"{provider}\": the key file {}: {why}", path.display())]
    KeyFile {
        /// The provider.
        provider: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A model's entry is not named `provider/model`.
    #[error("[models.\"{0}\"] names no model; write [models.\"provider/model\"]")]
    ModelName(String),
    /// A model's limits leave no room.
    #[error(
        "[models.\"{target}\"]: max_output ({max_output}) must be over 0 and below window ({window})"
    )]
    Limits {
        /// The model.
        target: Target,
        /// Its context.
        window: u64,
        /// Its longest reply.
        max_output: u64,
    },
    /// The endpoint cannot be made.
    #[error("provider \"{provider}\": {source}")]
    Endpoint {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        source: EndpointError,
    },
}

/// A provider made ready; its models share its HTTP client and its gate.
struct PreparedProvider {
    endpoint: Endpoint,
    gate: Arc<Gate>,
    retry: RetryPolicy,
}

impl Catalogue {
    /// A model that asks `targets` in order, each paced, tried again and priced as
    /// configured. Rates hold within the model that is returned: make one for a
    /// list of targets and share it.
    pub fn model(
        &self,
        targets: &[Target],
        secrets: &dyn Secrets,
    ) -> Result<Arc<dyn ChatModel>, CatalogueError> {
        if let Some(name) = self
            .models
            .keys()
            .find(|name| name.parse::<Target>().is_err())
        {
            return Err(CatalogueError::ModelName(name.clone()));
        }
        let mut ready: BTreeMap<&str, PreparedProvider> = BTreeMap::new();
        let mut models = Vec::new();
        for target in targets {
            let name = target.provider.as_str();
            if !ready.contains_key(name) {
                ready.insert(name, self.ready(name, secrets)?);
            }
            models.push(self.target(target, &ready[name])?);
        }
        if models.is_empty() {
            return Err(CatalogueError::NoTargets);
        }
        let first = models.remove(0);
        Ok(match models.is_empty() {
            true => first,
            false => Arc::new(Fallback::new(first, models)),
        })
    }

    /// Checks all that is configured but the keys, which are looked up when a model is
    /// asked.
    pub fn check(&self) -> Result<(), CatalogueError> {
        for name in self.models.keys() {
            let target: Target = name
                .parse()
                .map_err(|_| CatalogueError::ModelName(name.clone()))?;
            self.checked_limits(&target)?;
        }
        for name in self.providers.keys() {
            let config = self.provider(name).unwrap_or_default();
            let config = endpoint(name, &config, None)?;
            let checked = Endpoint::check(&config);
            checked.map_err(|source| CatalogueError::Endpoint {
                provider: name.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// Limits that leave room for a prompt and a reply.
    fn checked_limits(
        &self,
        target: &Target,
    ) -> Result<(ModelLimits, Option<Prices>), CatalogueError> {
        let (limits, prices, _) = self.limits(target);
        if limits.max_output == 0 || limits.max_output >= limits.window {
            return Err(CatalogueError::Limits {
                target: target.clone(),
                window: limits.window,
                max_output: limits.max_output,
            });
        }
        Ok((limits, prices))
    }

    /// What requests to a target may be, what they cost, and whether anything is
    /// known of it: an unknown model is taken to have a window of 8,192 tokens and
    /// replies of 2,048, and no price.
    pub fn limits(&self, target: &Target) -> (ModelLimits, Option<Prices>, bool) {
        let config = self.models.get(&target.to_string());
        let config = config.copied().unwrap_or_default();
        let known = match self.is_own(&target.provider) {
            true => None,
            false => model_table::known(&target.provider, &target.model),
        };
        let is_known = known.is_some() || config.window.is_some();
        let (limits, prices) = known.unwrap_or((model_table::UNKNOWN, None));
        let window = config.window.unwrap_or(limits.window);
        // Who says no more than a small window is left room for a prompt.
        let max_output = match (config.max_output, config.window) {
            (Some(max_output), _) => max_output,
            (None, Some(window)) => limits.max_output.min(window / 4).max(1),
            (None, None) => limits.max_output,
        };
        let limits = ModelLimits { window, max_output };
        (limits, config.prices.or(prices), is_known)
    }

    /// The provider of a name: the user's settings over the built-in ones.
    fn provider(&self, name: &str) -> Option<ProviderConfig> {
        let built_in = builtin::providers().remove(name);
        match (self.providers.get(name), built_in) {
            (Some(config), Some(built_in)) => Some(config.over(&built_in)),
            (config, built_in) => config.cloned().or(built_in),
        }
    }

    /// Whether a provider is a server of the user's own: on this machine, or one
    /// that is spoken to without encryption, as nobody who sells does.
    fn is_own(&self, provider: &str) -> bool {
        let url = self.provider(provider).and_then(|config| config.base_url);
        url.and_then(|url| Url::parse(&url).ok())
            .is_some_and(|url| is_loopback(&url) || url.scheme() == "http")
    }

    fn target(
        &self,
        target: &Target,
        ready: &PreparedProvider,
    ) -> Result<Arc<dyn ChatModel>, CatalogueError> {
        let (limits, prices) = self.checked_limits(target)?;
        let model = ready.endpoint.model(target.clone(), limits);
        let priced: Arc<dyn ChatModel> = match prices {
            Some(prices) => Arc::new(Priced::new(model, prices)),
            None => Arc::new(model),
        };
        // Each try passes the gate; nobody holds a place there while waiting to
        // try again.
        let paced = Paced::new(priced, ready.gate.clone());
        Ok(Arc::new(Retrying::new(paced, ready.retry)))
    }

    fn ready(&self, name: &str, secrets: &dyn Secrets) -> Result<PreparedProvider, CatalogueError> {
        let Some(config) = self.provider(name) else {
            let mut known = builtin::providers();
            known.extend(self.providers.clone());
            return Err(CatalogueError::UnknownProvider {
                provider: name.to_owned(),
                known: known.into_keys().collect(),
            });
        };
        let endpoint = Endpoint::new(&endpoint(name, &config, Some(secrets))?);
        Ok(PreparedProvider {
            endpoint: endpoint.map_err(|source| CatalogueError::Endpoint {
                provider: name.to_owned(),
                source,
            })?,
            gate: Arc::new(Gate::new(config.requests_per_minute, config.concurrency)),
            retry: RetryPolicy {
                retries: config.retries.unwrap_or(RetryPolicy::default().retries),
                ..RetryPolicy::default()
            },
        })
    }
}

fn endpoint(
    name: &str,
    config: &ProviderConfig,
    secrets: Option<&dyn Secrets>,
) -> Result<EndpointConfig, CatalogueError> {
    let missing = |field| CatalogueError::Missing {
        provider: name.to_owned(),
        field,
    };
    let dialect = config.kind.ok_or_else(|| missing("kind"))?;
    let base_url = config
        .base_url
        .as_deref()
        .ok_or_else(|| missing("base_url"))?;
    let base_url = url(base_url).map_err(|why| CatalogueError::BaseUrl {
        provider: name.to_owned(),
        why,
    })?;
    let key = secrets.map(|secrets| key(name, config, secrets));
    let key = key.transpose()?.flatten();
    if key.is_some() && base_url.scheme() == "http" && !is_loopback(&base_url) {
        tracing::warn!(provider = name, "the key is sent without encryption (http)");
    }
    let headers = config.headers.iter();
    Ok(EndpointConfig {
        dialect,
        max_tokens_field: config
            .max_tokens_field
            .unwrap_or(match base_url.host_str() {
                Some("api.openai.com") => MaxTokensField::MaxCompletionTokens,
                _ => MaxTokensField::MaxTokens,
            }),
        base_url,
        key,
        headers: headers
            .map(|(name, value)| (name.clone(), Key::new(value)))
            .collect(),
        stream: config.stream.unwrap_or(true),
        timeouts: timeouts(config),
    })
}

fn timeouts(config: &ProviderConfig) -> Timeouts {
    let default = Timeouts::default();
    let or = |seconds: Option<u64>, default| seconds.map_or(default, Duration::from_secs);
    Timeouts {
        connect: or(config.connect_timeout_s, default.connect),
        first: or(config.first_byte_timeout_s, default.first),
        idle: or(config.idle_timeout_s, default.idle),
        total: or(config.timeout_s, default.total),
    }
}

/// A base URL; what is wrong with it is told without telling it, for it may hold a
/// secret.
fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is no URL: {error}"))?;
    match url.scheme() {
        "http" | "https" => {}
        other => return Err(format!("is {other}; http and https can be asked")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user or password in it; use key_env, key_file or headers".to_owned());
    }
    if url.query_pairs().any(|(name, _)| {
        let name = name.to_lowercase();
        ["key", "token", "secret", "sig"]
            .iter()
            .any(|word| name.contains(word))
    }) {
        return Err("has a key in its query; use key_env, key_file or headers".to_owned());
    }
    Ok(url)
}

fn key(
    provider: &str,
    config: &ProviderConfig,
    secrets: &dyn Secrets,
) -> Result<Option<Key>, CatalogueError> {
    if let Some(path) = &config.key_file {
        let wrong = |why: String| CatalogueError::KeyFile {
            provider: provider.to_owned(),
            path: path.clone(),
            why,
        };
        let text = secrets
            .file(path)
            .map_err(|error| wrong(error.to_string()))?;
        return match text.trim() {
            "" => Err(wrong("it is empty".to_owned())),
            key => Ok(Some(Key::new(key))),
        };
    }
    let Some(variable) = &config.key_env else {
        return Ok(None);
    };
    let value = secrets.variable(variable);
    let value = value.filter(|value| !value.trim().is_empty());
    match value {
        Some(key) => Ok(Some(Key::new(&key))),
        None => Err(CatalogueError::KeyVariable {
            provider: provider.to_owned(),
            variable: variable.clone(),
        }),
    }
}

#[cfg(test)]
mod tests;
