//! The configuration of providers and models.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Dialect, MaxTokensField, Prices};

/// Settings of a provider. Unset keys have the values of the built-in provider of the same name, or
/// else the defaults.
///
/// `Debug` and `Serialize` hide header values that look like secrets and secrets in the base URL.
/// Their output is meant to be shown, and cannot be read back.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// The API of the provider; required unless the provider is built in.
    #[serde(alias = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Dialect>,
    /// The base URL: the part before `/chat/completions` or `/v1/messages`.
    #[serde(
        alias = "baseUrl",
        serialize_with = "shown_url",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_url: Option<String>,
    /// The environment variable that contains the API key. Without it and without `key_file`, no
    /// key is sent.
    #[serde(alias = "keyEnv", skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// The file that contains the API key; takes precedence over `key_env`. Only the owner may have
    /// access to the file.
    #[serde(alias = "keyFile", skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Whether replies are requested as streams; by default `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Time limit for a whole reply, in seconds; by default 900.
    #[serde(alias = "timeoutS", skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// Time limit for opening a connection, in seconds; by default 10.
    #[serde(alias = "connectTimeoutS", skip_serializing_if = "Option::is_none")]
    pub connect_timeout_s: Option<u64>,
    /// Maximum wait for the first bytes of a streamed reply, in seconds; by default 300.
    #[serde(alias = "firstByteTimeoutS", skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout_s: Option<u64>,
    /// Maximum wait for the next bytes of a streamed reply, in seconds; by default 120.
    #[serde(alias = "idleTimeoutS", skip_serializing_if = "Option::is_none")]
    pub idle_timeout_s: Option<u64>,
    /// Maximum number of retries after a failed request; by default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Maximum number of requests that begin within any minute; by default unlimited.
    #[serde(alias = "requestsPerMinute", skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// Maximum number of requests at the same time; by default unlimited, and 1 for a built-in
    /// provider on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// The name of the request field that limits the length of the reply; by default
    /// `max_completion_tokens` for OpenAI's own server and `max_tokens` for all others.
    #[serde(alias = "maxTokensField", skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
    /// Additional headers of each request. They replace our own headers of the same name.
    #[serde(
        serialize_with = "shown_headers",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub headers: BTreeMap<String, String>,
}

impl ProviderConfig {
    /// Returns these settings. Settings that are not set here are taken from `under`.
    pub(super) fn over(&self, under: &Self) -> Self {
        let mine = self.clone();
        let headers = under.headers.clone().into_iter().chain(mine.headers);
        Self {
            kind: mine.kind.or(under.kind),
            base_url: mine.base_url.or_else(|| under.base_url.clone()),
            key_env: mine.key_env.or_else(|| under.key_env.clone()),
            key_file: mine.key_file.or_else(|| under.key_file.clone()),
            stream: mine.stream.or(under.stream),
            timeout_s: mine.timeout_s.or(under.timeout_s),
            connect_timeout_s: mine.connect_timeout_s.or(under.connect_timeout_s),
            first_byte_timeout_s: mine.first_byte_timeout_s.or(under.first_byte_timeout_s),
            idle_timeout_s: mine.idle_timeout_s.or(under.idle_timeout_s),
            retries: mine.retries.or(under.retries),
            requests_per_minute: mine.requests_per_minute.or(under.requests_per_minute),
            concurrency: mine.concurrency.or(under.concurrency),
            max_tokens_field: mine.max_tokens_field.or(under.max_tokens_field),
            headers: headers.collect(),
        }
    }
}

impl fmt::Debug for ProviderConfig {
    /// Writes the same text as serialization, so that the same parts are hidden.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        write!(f, "ProviderConfig {shown}")
    }
}

/// Settings of a model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Size of the context window, in tokens: prompt and reply together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Maximum length of a reply, in tokens.
    #[serde(alias = "maxOutput", skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// The prices of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

const HIDDEN: &str = "[hidden]";

/// Serializes a URL without the parts that may be secret: user, password and query.
#[allow(clippy::ref_option, reason = "it is called so by serde")]
fn shown_url<S: Serializer>(url: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    let shown = url.as_deref().map(|url| {
        let (url, query) = match url.split_once('?') {
            Some((url, _)) => (url, format!("?{HIDDEN}")),
            None => (url, String::new()),
        };
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let host = rest
            .rsplit_once('@')
            .map(|(_, host)| format!("{HIDDEN}@{host}"));
        let host = host.unwrap_or_else(|| rest.to_owned());
        match scheme {
            "" => format!("{host}{query}"),
            scheme => format!("{scheme}://{host}{query}"),
        }
    });
    shown.serialize(to)
}

fn shown_headers<S: Serializer>(
    headers: &BTreeMap<String, String>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(headers.iter().map(|(name, value)| {
        let shown = match is_secret(name, value) {
            true => HIDDEN,
            false => value.as_str(),
        };
        (name, shown)
    }))
}

/// Returns whether the name or value of a header suggests that it is secret. It is better to hide
/// too many headers than to show a secret.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_lowercase();
    let words = [
        "auth",
        "key",
        "token",
        "secret",
        "cookie",
        "pass",
        "credential",
        "session",
        "sign",
    ];
    let long = value
        .split_whitespace()
        .any(|word| word.len() >= 16 && word.bytes().any(|byte| byte.is_ascii_digit()));
    words.iter().any(|word| name.contains(word)) || long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_not_shown() {
        let config: ProviderConfig = serde_json::from_str(
            r#"{
                "type": "openai",
                "baseUrl": "https://me:pass@example.com/v1?key=abc",
                "headers": {
                    "X-Api-Key": "abc", "Authorization": "Bearer abc", "X-Id": "0123456789abcdef",
                    "X-Title": "spillgate", "HTTP-Referer": "https://example.com"
                }
            }"#,
        )
        .unwrap();
        let shown = r#"{"kind":"openai","base_url":"https://[hidden]@example.com/v1?[hidden]","headers":{"Authorization":"[hidden]","HTTP-Referer":"https://example.com","X-Api-Key":"[hidden]","X-Id":"[hidden]","X-Title":"spillgate"}}"#;
        assert_eq!(serde_json::to_string(&config).unwrap(), shown);
        assert_eq!(format!("{config:?}"), format!("ProviderConfig {shown}"));
    }

    #[test]
    fn a_misspelt_setting_is_an_error() {
        let error = serde_json::from_str::<ProviderConfig>(r#"{"api_key": "x"}"#).unwrap_err();
        assert!(
            error.to_string().starts_with("unknown field `api_key`"),
            "{error}"
        );
        let error = serde_json::from_str::<ModelConfig>(r#"{"windows": 1}"#).unwrap_err();
        assert!(
            error.to_string().starts_with("unknown field `windows`"),
            "{error}"
        );
    }
}
