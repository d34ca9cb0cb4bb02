//! Builds the model clients that settings and options name.

use std::sync::Arc;

use spillgate_llm::{Catalogue, CatalogueError, ChatModel, Secrets, Target};

use crate::failure::{Failure, Fault};
use crate::settings::Settings;

/// Reads API keys from the environment, or from files that the settings name.
#[derive(Debug)]
pub(crate) struct Environment;

impl Secrets for Environment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// Returns a model that tries `targets` in this order; `None` if there are none.
pub(crate) fn model(
    settings: &Settings,
    targets: &[Target],
) -> Result<Option<Arc<dyn ChatModel>>, Failure> {
    if targets.is_empty() {
        return Ok(None);
    }
    let model = catalogue(settings).model(targets, &Environment);
    model.map(Some).map_err(|error| wrong(settings, &error))
}

/// Returns the scheme, host and port of the providers of `targets`.
pub(crate) fn addresses(settings: &Settings, targets: &[Target]) -> Vec<String> {
    let catalogue = catalogue(settings);
    let mut all: Vec<String> = targets
        .iter()
        .filter_map(|it| catalogue.address(it))
        .collect();
    all.dedup();
    all
}

/// Checks the configured providers and models. API keys are checked only when a model is called.
pub(crate) fn check(settings: &Settings) -> Result<(), Failure> {
    let checked = catalogue(settings).check();
    checked.map_err(|error| {
        let hint = match &error {
            CatalogueError::ModelName(_) => "write [models.\"provider/model\"]",
            _ => "docs/models.md says how providers, models and keys are configured",
        };
        settings
            .places
            .wrong(&key(&error), &error.to_string(), hint)
    })
}

/// Returns the providers and models of the configuration, and what is known of others.
pub(crate) fn catalogue(settings: &Settings) -> Catalogue {
    Catalogue {
        providers: settings.providers.clone(),
        models: settings.models.clone(),
    }
}

/// Returns the path of the configuration key that an error is about; empty if there is none.
pub(crate) fn key(error: &CatalogueError) -> Vec<String> {
    use CatalogueError::{BaseUrl, Endpoint, KeyFile, KeyVariable, Limits, Missing, ModelName};
    let provider = |name: &String| vec!["providers".to_owned(), name.clone()];
    match error {
        BaseUrl { provider: name, .. }
        | Endpoint { provider: name, .. }
        | KeyFile { provider: name, .. }
        | KeyVariable { provider: name, .. }
        | Missing { provider: name, .. } => provider(name),
        Limits { target, .. } => vec!["models".to_owned(), target.to_string()],
        ModelName(name) => vec!["models".to_owned(), name.clone()],
        _ => Vec::new(),
    }
}

/// Reports an error, with its place in `spillgate.toml` if it has one.
pub(crate) fn wrong(settings: &Settings, error: &CatalogueError) -> Failure {
    let key = key(error);
    // Built-in values have no position in a file.
    let what = match settings.places.has(&key) {
        true => settings.places.told(&key, &error.to_string()),
        false => error.to_string(),
    };
    Failure::new("model", Fault::Caller, what)
        .hint("docs/models.md says how providers, models and keys are configured")
}
