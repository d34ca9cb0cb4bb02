//! The models that an agent uses for its own turns and for extractions.

use std::sync::Arc;
use std::time::Duration;

use spillgate_agent::Window;
use spillgate_agent_files::{Agent, FileError, Problems, Source};
use spillgate_llm::{Catalogue, CatalogueError, ChatModel, Target};

use super::plan::{self, Plan};
use crate::failure::Failure;
use crate::models;
use crate::settings::Settings;

/// The models of an agent.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Models that answer the agent's own turns.
    pub(super) model: Arc<dyn ChatModel>,
    /// Models that answer extractions.
    pub(super) extracts: Arc<dyn ChatModel>,
}

impl Asked {
    /// Builds the models of an agent and reads their API keys.
    pub(super) fn ready(plan: &Plan, settings: &Settings) -> Result<Self, Failure> {
        let agent = &plan.agent;
        let catalogue = catalogue(agent, settings);
        let ready = |targets: &[Target]| {
            let model = catalogue.model(targets, &models::Environment);
            model.map_err(|error| wrong(plan, settings, &error))
        };
        let model = ready(&agent.models.value)?;
        let extracts = match agent.tool_output.models.value == agent.models.value {
            true => Arc::clone(&model),
            false => ready(&agent.tool_output.models.value)?,
        };
        Ok(Self { model, extracts })
    }

    /// Returns the budget of the agent's conversation.
    pub(super) fn window(&self, agent: &Agent) -> Window {
        window(
            agent,
            self.model.limits().window,
            self.model.limits().max_output,
        )
    }
}

/// Returns providers and models with their settings: the agent's files override `spillgate.toml`.
pub(super) fn catalogue(agent: &Agent, settings: &Settings) -> Catalogue {
    let mut catalogue = Catalogue {
        providers: settings.providers.clone(),
        models: settings.models.clone(),
    };
    catalogue.providers.extend(agent.providers.clone());
    let own = agent.model_settings.iter();
    catalogue
        .models
        .extend(own.map(|(name, config)| (name.clone(), *config)));
    let extracts = &agent.tool_output.models.value;
    for target in agent.models.value.iter().chain(extracts) {
        let (timeout, retries) = (agent.llm_timeout.value, agent.max_retries.value);
        if timeout.is_none() && retries.is_none() {
            continue; // a new entry would hide that the provider is unknown
        }
        let of = catalogue
            .providers
            .entry(target.provider.clone())
            .or_default();
        of.timeout_s = timeout.map(seconds).or(of.timeout_s);
        of.retries = retries.or(of.retries);
    }
    // The agent's context settings apply to every model that may answer its turns.
    for target in &agent.models.value {
        let of = catalogue.models.entry(target.to_string()).or_default();
        of.window = agent.context_window.value.or(of.window);
        of.max_output = agent.max_output_tokens.value.or(of.max_output);
    }
    catalogue
}

/// Returns the error for an unknown provider, with the position at which a file names it.
fn unknown(agent: &Agent, provider: &str, error: &CatalogueError) -> Failure {
    let (own, extracts) = (&agent.models, &agent.tool_output.models);
    let is_own = own.value.iter().any(|target| target.provider == provider);
    let (key, named) = match is_own {
        true => ("models", own),
        false => ("toolOutput.models", extracts),
    };
    let (file, place, key) = match &named.source {
        Source::File { path, place, key } => (Some(path.clone()), Some(*place), key.clone()),
        _ => (None, None, key.to_owned()),
    };
    plan::wrong(&Problems::from(FileError {
        file,
        place,
        key,
        what: error.to_string(),
        hint: None,
    }))
}

/// Rounds up to whole seconds, the unit of provider settings, so that no timeout becomes shorter
/// than configured.
fn seconds(time: Duration) -> u64 {
    let more = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(more)
}

/// Returns the budget of a conversation in a window of `window` tokens with replies of up to
/// `max_output` tokens. Unless the files set them, a reply has at most a quarter of the window
/// (ai-agent's rule), and the buffer takes at most an eighth.
pub(super) fn window(agent: &Agent, window: u64, max_output: u64) -> Window {
    let buffer = &agent.context_window_buffer;
    Window {
        window,
        buffer: match buffer.source {
            Source::BuiltIn => buffer.value.min(window / 8),
            _ => buffer.value,
        },
        max_output: match agent.max_output_tokens.value {
            Some(tokens) => tokens.min(max_output),
            None => max_output.min(window / 4),
        },
    }
}

/// Reports a wrong provider or model, with its place in a file if it has one.
fn wrong(plan: &Plan, settings: &Settings, error: &CatalogueError) -> Failure {
    if let CatalogueError::UnknownProvider { provider, .. } = error {
        return unknown(&plan.agent, provider, error);
    }
    let key = models::key(error);
    let mut camel = key.iter().map(String::as_str).collect::<Vec<_>>();
    if let CatalogueError::KeyVariable { .. } = error {
        camel.push("keyEnv");
    }
    let found = plan.files.iter().find_map(|file| {
        let whole = || file.wrong(&camel[..camel.len().min(2)], error.to_string());
        file.wrong(&camel, error.to_string()).or_else(whole)
    });
    match found {
        Some(found) => plan::wrong(&Problems::from(found)),
        None => models::wrong(settings, error),
    }
}
