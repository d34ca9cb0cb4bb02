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

/// The source of keys. This library does not read the environment, so the caller must pass in a
/// source.
pub trait Secrets {
    /// Returns the value of an environment variable; `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the contents of a file that only its owner can read.
    fn file(&self, path: &Path) -> std::io::Result<String> {
        read_key_file(path)
    }
}

/// The configured providers and models. They take precedence over the built-in ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Catalogue {
    /// Providers, by the name that targets use.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Models, by their name `provider/model`.
    pub models: BTreeMap<String, ModelConfig>,
}

/// Why a target cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// No target is given.
    #[error("no model is given; name one as provider/model")]
    NoTargets,
    /// The provider is unknown.
    #[error("unknown provider \"{provider}\"; known providers: {}. To define another provider, set kind and base_url in [providers.{provider}].", known.join(", "))]
    UnknownProvider {
        /// Name of the provider.
        provider: String,
        /// The known providers.
        known: Vec<String>,
    },
    /// A setting that every provider needs is missing.
    #[error("provider \"{provider}\" has no {field}; set {field} in [providers.{provider}]")]
    Missing {
        /// Name of the provider.
        provider: String,
        /// The missing setting.
        field: &'static str,
    },
    /// The base URL is unusable.
    #[error("provider \"{provider}\": base_url {why}")]
    BaseUrl {
        /// Name of the provider.
        provider: String,
        /// What is wrong with the URL.
        why: String,
    },
    /// The environment variable of the key is not set.
    #[error(
        "provider \"{provider}\": the environment variable {variable} is not set; set it to the key, or name a file with the key as key_file in [providers.{provider}]"
    )]
    KeyVariable {
        /// Name of the provider.
        provider: String,
        /// The name of the variable.
        variable: String,
    },
    /// The key file cannot be used.
    #[error("provider \"{provider}\": the key file {}: {why}", path.display())]
    KeyFile {
        /// Name of the provider.
        provider: String,
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// The entry of a model is not named `provider/model`.
    #[error("[models.\"{0}\"] names no model; write [models.\"provider/model\"]")]
    ModelName(String),
    /// The limits of a model leave no space for a prompt or a reply.
    #[error(
        "[models.\"{target}\"]: max_output ({max_output}) must be greater than 0 and less than window ({window})"
    )]
    Limits {
        /// The model.
        target: Target,
        /// Size of its context window, in tokens.
        window: u64,
        /// Maximum length of a reply, in tokens.
        max_output: u64,
    },
    /// The endpoint cannot be created.
    #[error("provider \"{provider}\": {source}")]
    Endpoint {
        /// Name of the provider.
        provider: String,
        /// The error of the endpoint.
        source: EndpointError,
    },
}

/// A prepared provider. Its models share one HTTP client and one [`Gate`], which limits their
/// requests.
struct PreparedProvider {
    endpoint: Endpoint,
    gate: Arc<Gate>,
    retry: RetryPolicy,
}

impl Catalogue {
    /// Returns a model that asks `targets` in order. Rate limits, retries and prices are those that
    /// are configured for each target. Rate limits apply within the returned model, so create one
    /// model per list of targets and share it.
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

    /// Checks the whole configuration except the keys, which are read when a model is created.
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

    /// Returns the limits and prices of a target. Fails if the limits leave no space for a prompt
    /// or a reply.
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

    /// Returns the limits of a target, its prices, and whether its limits are known. For an unknown
    /// model, a window of 8,192 tokens, replies of up to 2,048 tokens and no price are assumed.
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
        // If only a small window is configured, the reply must leave space for a prompt.
        let max_output = match (config.max_output, config.window) {
            (Some(max_output), _) => max_output,
            (None, Some(window)) => limits.max_output.min(window / 4).max(1),
            (None, None) => limits.max_output,
        };
        let limits = ModelLimits { window, max_output };
        (limits, config.prices.or(prices), is_known)
    }

    /// Returns the settings of the provider `name`: the user's settings, completed by the built-in
    /// ones.
    fn provider(&self, name: &str) -> Option<ProviderConfig> {
        let built_in = builtin::providers().remove(name);
        match (self.providers.get(name), built_in) {
            (Some(config), Some(built_in)) => Some(config.over(&built_in)),
            (config, built_in) => config.cloned().or(built_in),
        }
    }

    /// Returns the scheme, host and port of the provider of `target`, such as
    /// `http://127.0.0.1:11434`; `None` if the provider is not known. The path and the query are left
    /// out, because they can be confidential.
    #[must_use]
    pub fn address(&self, target: &Target) -> Option<String> {
        let url = self.provider(&target.provider)?.base_url?;
        Some(Url::parse(&url).ok()?.origin().ascii_serialization())
    }

    /// Returns whether a provider is the user's own server: it is on this machine, or its URL does
    /// not use encryption. No commercial provider works without encryption.
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
        // Each try waits at the gate for its turn. While a request waits for its next try, it does
        // not count at the gate.
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
        tracing::warn!(
            provider = name,
            "the API key is sent without encryption, because the base URL is `http:`"
        );
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

/// Parses a base URL. The error does not contain the URL, because it may contain a secret.
fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is no URL: {error}"))?;
    match url.scheme() {
        "http" | "https" => {}
        other => return Err(format!("is {other}; only http and https are supported")),
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
