//! Defines the providers that need no configuration.

use std::collections::BTreeMap;

use super::ProviderConfig;
use crate::Dialect;

/// Name, dialect, base URL, and the environment variable that contains the key. Providers on this
/// machine need no key.
const BUILT_IN: [(&str, Dialect, &str, Option<&str>); 10] = [
    (
        "anthropic",
        Dialect::Anthropic,
        "https://api.anthropic.com",
        Some("ANTHROPIC_API_KEY"),
    ),
    (
        "deepseek",
        Dialect::OpenAi,
        "https://api.deepseek.com/v1",
        Some("DEEPSEEK_API_KEY"),
    ),
    (
        "gemini",
        Dialect::OpenAi,
        "https://generativelanguage.googleapis.com/v1beta/openai",
        Some("GEMINI_API_KEY"),
    ),
    (
        "groq",
        Dialect::OpenAi,
        "https://api.groq.com/openai/v1",
        Some("GROQ_API_KEY"),
    ),
    (
        "llamacpp",
        Dialect::OpenAi,
        "http://127.0.0.1:8080/v1",
        None,
    ),
    ("local", Dialect::OpenAi, "http://127.0.0.1:8080/v1", None),
    (
        "mistral",
        Dialect::OpenAi,
        "https://api.mistral.ai/v1",
        Some("MISTRAL_API_KEY"),
    ),
    ("ollama", Dialect::OpenAi, "http://127.0.0.1:11434/v1", None),
    (
        "openai",
        Dialect::OpenAi,
        "https://api.openai.com/v1",
        Some("OPENAI_API_KEY"),
    ),
    (
        "openrouter",
        Dialect::OpenAi,
        "https://openrouter.ai/api/v1",
        Some("OPENROUTER_API_KEY"),
    ),
];

/// Returns the built-in providers by name. Providers on this machine get one request at a time:
/// most of them process requests one after another, and a request that waits for minutes seems to
/// hang.
pub(super) fn providers() -> BTreeMap<String, ProviderConfig> {
    let config = |(name, kind, base_url, key_env): (&str, _, &str, Option<&str>)| {
        let config = ProviderConfig {
            kind: Some(kind),
            base_url: Some(base_url.to_owned()),
            key_env: key_env.map(str::to_owned),
            concurrency: key_env.is_none().then_some(1),
            ..ProviderConfig::default()
        };
        (name.to_owned(), config)
    };
    BUILT_IN.into_iter().map(config).collect()
}
