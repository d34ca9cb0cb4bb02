//! Builds the guarded tools of an agent and their rules.
//!
//! The settings in the agent's files are converted to the form of `[guarded]` in `spillgate.toml`,
//! so that the module `guarded_settings` builds the rules from both. Two things differ for an
//! agent: oversized results are stored where the agent's results are stored, and its tool timeout
//! also limits commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use spillgate_agent_files::{
    Agent, GuardedShell, GuardedTool, GuardedTools as Said, GuardedWeb, Overflow, Problems,
    SearchService, Source, ToolSource, Whole, WritableBelow,
};
use spillgate_tool_sources::GuardedTools;
use spillgate_workspace_tools::{MAX_TOKENS, OnOverflow, Rules, Workspace, WorkspaceTools};

use super::plan::wrong;
use super::sources::directory;
use crate::failure::Failure;
use crate::guarded_settings::{
    GuardedSettings, Places, SearchSettings, ShellSettings, WebSettings,
};

/// Builds the guarded tools of an agent. Starts nothing.
pub(super) fn tools(agent: &Agent) -> Result<Vec<GuardedTools>, Failure> {
    let named = agent.tools.iter();
    let named = named.filter_map(|source| Some((source, source.guarded.as_ref()?)));
    named
        .map(|(source, said)| {
            let workspace = workspace(source, said)?;
            let guarded = WorkspaceTools::new(workspace, rules(agent, source, said)?);
            let host = GuardedTools::new(source.entry.name(), guarded);
            Ok(host.within(agent.tool_timeout.value))
        })
        .collect()
}

fn workspace(source: &ToolSource, said: &Said) -> Result<Workspace, Failure> {
    let root = match &said.root {
        Some(root) => directory(source).join(root),
        None => Path::new(".").to_owned(),
    };
    // The error leaves out the path: it may come from a variable.
    Workspace::open(&root).map_err(|error| {
        let what = format!("is no directory that can be opened: {error}");
        wrong(&Problems::from(source.entry.wrong(&["root"], what)))
    })
}

fn rules(agent: &Agent, source: &ToolSource, said: &Said) -> Result<Rules, Failure> {
    let settings = settings(source, said, on_overflow(agent, source, said)?);
    let mut rules = settings.rules_or(&|key, what, hint| {
        let error = source.entry.wrong(&of_entry(key), what);
        wrong(&Problems::from(error.hint(hint)))
    })?;
    rules.shell = rules.shell.filter(|_| said.has_shell());
    if let (Some(shell), Some(most)) = (&mut rules.shell, longest(agent)) {
        shell.timeout = shell.timeout.min(most);
        shell.most_timeout = shell.most_timeout.min(most);
    }
    rules.web = rules.web.filter(|_| said.has_web());
    Ok(rules)
}

/// Translates a key of `[guarded]` to its name in an entry of the agent's files.
fn of_entry(key: &[&'static str]) -> Vec<&'static str> {
    let names = key.iter().skip(1).map(|&name| match name {
        "api_key_env" => "apiKeyEnv",
        "max_tokens" => "maxTokens",
        "timeout_seconds" => "timeoutS",
        name => name,
    });
    names.collect()
}

/// Minimum of the time limit for commands. Less than a second is too short for any command, and a
/// call cannot ask for less.
const LEAST: Duration = Duration::from_secs(1);

/// Returns the longest time that a command may take, if the files set one for all calls. The
/// built-in timeout is for tools that have no limit of their own, so it does not count.
fn longest(agent: &Agent) -> Option<Duration> {
    let limit = &agent.tool_timeout;
    (limit.source != Source::BuiltIn).then(|| limit.value.max(LEAST))
}

/// Decides what happens to an oversized result. Without `onOverflow`, the result is stored only if
/// the session would store it, too. Otherwise it is rejected, because a session without a store
/// would cut the result, and a session with a higher cap would show it.
fn on_overflow(agent: &Agent, source: &ToolSource, said: &Said) -> Result<OnOverflow, Failure> {
    let stores = agent.tool_output.enabled.value;
    match said.on_overflow {
        Some(Overflow::Offload) if !stores => {
            let what = "is `offload`, but `toolOutput` is off and nothing is stored";
            let error = source.entry.wrong(&["onOverflow"], what);
            let error = error.hint("set it to \"reject\", or remove the key");
            Err(wrong(&Problems::from(error)))
        }
        Some(Overflow::Offload) => Ok(OnOverflow::Offload),
        Some(Overflow::Reject) => Ok(OnOverflow::Reject),
        None => {
            let most = most_tokens(said).saturating_mul(4).saturating_add(3);
            let cap = agent.tool_response_max_bytes.value;
            Ok(match stores && cap.is_some_and(|cap| cap <= most) {
                true => OnOverflow::Offload,
                false => OnOverflow::Reject,
            })
        }
    }
}

/// Converts the settings of an entry to the form of `[guarded]`.
fn settings(source: &ToolSource, said: &Said, on_overflow: OnOverflow) -> GuardedSettings {
    let there = GuardedTool::ALL
        .into_iter()
        .filter(|&tool| is_there(said, tool));
    let there: Vec<String> = there.map(|tool| tool.name().to_owned()).collect();
    GuardedSettings {
        tools: Some(there),
        max_tokens: most_tokens(said),
        on_overflow,
        detailed_recovery: said.detailed_recovery.unwrap_or_default(),
        writable: match said.writable.clone() {
            None => Places::All(true),
            Some(WritableBelow::Anywhere(is_so)) => Places::All(is_so),
            Some(WritableBelow::Directories(below)) => Places::Some(below),
        },
        shell: shell(source, &said.shell.clone().unwrap_or_default()),
        web: web(&said.web.clone().unwrap_or_default()),
        search: said.search.as_ref().map(|search| SearchSettings {
            provider: match search.provider {
                SearchService::Searxng => "searxng",
                SearchService::Brave => "brave",
                SearchService::Tavily => "tavily",
            }
            .to_owned(),
            url: search.url.clone(),
            api_key_env: search.api_key_env.clone(),
        }),
    }
}

fn most_tokens(said: &Said) -> u64 {
    said.max_tokens.map_or(MAX_TOKENS, Whole::get)
}

fn is_there(said: &Said, tool: GuardedTool) -> bool {
    match tool {
        GuardedTool::ExecuteShell => said.has_shell(),
        GuardedTool::WebFetch => said.has_web(),
        GuardedTool::WebSearch => said.search.is_some() && said.may(tool),
        GuardedTool::ReadFile | GuardedTool::GrepContent | GuardedTool::GlobFiles => said.may(tool),
    }
}

fn shell(source: &ToolSource, said: &GuardedShell) -> ShellSettings {
    let usual = ShellSettings::default();
    let paths = |said: &Option<Vec<PathBuf>>| {
        let said = said.iter().flatten();
        let joined = said.map(|path| directory(source).join(path));
        // Commands run in another directory, so relative paths become absolute.
        joined
            .map(|path| std::path::absolute(&path).unwrap_or(path))
            .collect()
    };
    ShellSettings {
        timeout_seconds: said.timeout_s.map_or(usual.timeout_seconds, Whole::get),
        env: said.env.clone().map_or(usual.env, |names| names.0),
        sandbox: said.sandbox.unwrap_or(usual.sandbox),
        network: said.network.unwrap_or(usual.network),
        readable: paths(&said.readable),
        writable: paths(&said.writable),
    }
}

fn web(said: &GuardedWeb) -> WebSettings {
    let usual = WebSettings::default();
    WebSettings {
        timeout_seconds: said.timeout_s.map_or(usual.timeout_seconds, Whole::get),
        allow: said
            .allow_private
            .clone()
            .map_or(usual.allow.clone(), |names| names.0),
        ..usual
    }
}
