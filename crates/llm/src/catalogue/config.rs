//! The configuration of providers and models.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Dialect, MaxTokensField, Prices};

/// Settings of a provider. What is not set is as the built-in provider of that
/// name has it, or else the default.
///
/// Shown or serialized, header values that look like secrets and secrets in the
/// base URL are hidden: what is written is for eyes, not for reading back.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// What it speaks; only built-in providers need not say it.
    #[serde(alias = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Dialect>,
    /// Where it is: what stands before `/chat/completions` or `/v1/messages`.
    #[serde(
        alias = "baseUrl",
        serialize_with = "shown_url",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_url: Option<String>,
    /// The environment variable that has the key. Without it, and without
    /// `key_file`, none is sent.
    #[serde(alias = "keyEnv", skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// The file that has the key, before `key_env`; nobody but its owner may read
    /// it.
    #[serde(alias = "keyFile", skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Whether to ask for replies as they come; by default yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Seconds for a whole reply; by default 900.
    #[serde(alias = "timeoutS", skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// Seconds for a connection; by default 10.
    #[serde(alias = "connectTimeoutS", skip_serializing_if = "Option::is_none")]
    pub connect_timeout_s: Option<u64>,
    /// Seconds for the first bytes of a streamed reply; by default 300.
    #[serde(alias = "firstByteTimeoutS", skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout_s: Option<u64>,
    /// Seconds for more of a streamed reply; by default 120.
    #[serde(alias = "idleTimeoutS", skip_serializing_if = "Option::is_none")]
    pub idle_timeout_s: Option<u64>,
    /// Tries after a failed one; by default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Requests that may begin in any minute; by default any number.
    #[serde(alias = "requestsPerMinute", skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// Requests at once; by default any number, of a built-in provider on this machine
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// What it calls the limit of the reply; by default `max_completion_tokens`
    /// for OpenAI's own server and `max_tokens` for all others.
    #[serde(alias = "maxTokensField", skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
    /// Headers beside our own, or instead of them.
    #[serde(
        serialize_with = "shown_headers",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub headers: BTreeMap<String, String>,
}

impl ProviderConfig {
    /// These settings, and `under` where there are none.
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
    /// As it is serialized: what is hidden there is hidden here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        write!(f, "ProviderConfig {shown}")
    }
}

/// Settings of a model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Tokens of its context: prompt and reply together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Tokens that a reply may have.
    #[serde(alias = "maxOutput", skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

const HIDDEN: &str = "[hidden]";

/// A URL without what may be a secret in it: user, password and query.
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

/// Whether a header's name or value is like that of a secret. Rather too many are
/// hidden than one shown.
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
