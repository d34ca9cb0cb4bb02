//! Which models does an agent ask?

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
    /// Those of its own turns.
    pub(super) model: Arc<dyn ChatModel>,
    /// Those that extract.
    pub(super) extracts: Arc<dyn ChatModel>,
}

impl Asked {
    /// The models of an agent, ready to be asked: keys are there.
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

    /// The room of the agent's conversation.
    pub(super) fn window(&self, agent: &Agent) -> Window {
        window(
            agent,
            self.model.limits().window,
            self.model.limits().max_output,
        )
    }
}

/// What is asked, and how: what the agent's files say over what `spillgate.toml` says.
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
            continue; // an entry of its own would hide that nobody knows the provider
        }
        let of = catalogue
            .providers
            .entry(target.provider.clone())
            .or_default();
        of.timeout_s = timeout.map(seconds).or(of.timeout_s);
        of.retries = retries.or(of.retries);
    }
    // What is said of the context holds for all that may answer.
    for target in &agent.models.value {
        let of = catalogue.models.entry(target.to_string()).or_default();
        of.window = agent.context_window.value.or(of.window);
        of.max_output = agent.max_output_tokens.value.or(of.max_output);
    }
    catalogue
}

/// Nobody knows a provider: whoever named it is told.
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

/// Whole seconds, which is what providers have: never less than was said.
fn seconds(time: Duration) -> u64 {
    let more = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(more)
}

/// The room of a conversation in a window of so many tokens with replies of so many.
/// Unless told otherwise a reply has a quarter at most (ai-agent's rule), and what is kept
/// free leaves a small window most of its room.
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

/// A provider or a model is wrong: where it stands, if it stands somewhere.
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
