//! How each client keeps the hook that runs `spillgate hook`: in which files, under which events, and
//! in which form. A further client needs an entry in [`form`] and in [`hook_files`] here, and one in
//! `spillgate::cmd::hook`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::places::{all_permissions, codex, copilot};
use crate::{Client, Scope, Surroundings};

/// How a client keeps the hook.
pub(super) enum Form {
    /// In a table of its settings, as a list under each event.
    Table(Table),
    /// In a file that holds nothing else. The function returns its text.
    Own(fn(&[String]) -> String),
}

/// The form of a hook in a table.
pub(super) struct Table {
    /// The events, each with the tools for which the hook runs. The tools whose results can be
    /// replaced are those of `spillgate hook`.
    pub(super) events: &'static [(&'static str, Option<&'static str>)],
    /// Whether the list holds groups of hooks instead of hooks.
    groups: bool,
    /// Time limit of a hook, in the client's unit.
    timeout: u64,
    /// Whether the client takes what a failing command prints as a refusal, also the message that
    /// the program is missing. Such a command prints no errors.
    is_quiet: bool,
    /// A member at the top of a new file.
    pub(super) top: Option<(&'static str, u64)>,
    /// What the user has to do besides, if anything.
    pub(super) also: Option<&'static str>,
}

const USUAL: Table = Table {
    events: &[],
    groups: true,
    timeout: 60,
    is_quiet: false,
    top: None,
    also: None,
};

/// Returns how a client keeps the hook; `None` if its hooks are not supported.
pub(super) fn form(client: Client) -> Option<Form> {
    Some(match client {
        Client::ClaudeCode => Form::Table(Table {
            events: &[
                ("SessionStart", None),
                ("PostToolUse", Some("Bash|WebFetch|Grep|Agent|Task|mcp__.*")),
            ],
            ..USUAL
        }),
        Client::Codex => Form::Table(Table {
            events: &[("PostToolUse", Some("Bash|mcp__.*"))],
            also: Some("Codex runs it after you have trusted it: see `/hooks` there"),
            ..USUAL
        }),
        Client::Gemini => Form::Table(Table {
            events: &[(
                "AfterTool",
                Some("run_shell_command|web_fetch|google_web_search|grep_search|mcp_.*"),
            )],
            timeout: 60_000,
            is_quiet: true,
            ..USUAL
        }),
        // https://cursor.com/docs/agent/hooks: matchers name MCP tools `MCP:TOOL`.
        Client::Cursor => Form::Table(Table {
            events: &[("postToolUse", Some("MCP:.*"))],
            groups: false,
            top: Some(("version", 1)),
            ..USUAL
        }),
        Client::Opencode => Form::Own(plugin),
        Client::Copilot => Form::Own(copilot_file),
        Client::Vscode | Client::Windsurf | Client::Zed | Client::Goose => return None,
    })
}

/// Returns the files of `client` that can hold hooks, with their scopes. There are none for a client
/// whose hooks are not supported.
#[must_use]
pub fn hook_files(client: Client, of: &Surroundings) -> Vec<(Scope, PathBuf)> {
    let project = |name: &str| of.project.join(name);
    let [user, own] = match client {
        Client::ClaudeCode => {
            let scopes = [Scope::User, Scope::Project, Scope::Local];
            return scopes
                .into_iter()
                .zip(all_permissions(client, of))
                .collect();
        }
        Client::Codex => [codex(of).join("hooks.json"), project(".codex/hooks.json")],
        Client::Gemini => [
            of.home.join(".gemini/settings.json"),
            project(".gemini/settings.json"),
        ],
        Client::Cursor => [
            of.home.join(".cursor/hooks.json"),
            project(".cursor/hooks.json"),
        ],
        Client::Opencode => [
            of.config.join("opencode/plugins/spillgate.js"),
            project(".opencode/plugins/spillgate.js"),
        ],
        Client::Copilot => [
            copilot(of).join("hooks/spillgate.json"),
            project(".github/hooks/spillgate.json"),
        ],
        _ => return Vec::new(),
    };
    // In the home directory, the user's file is also that of the project.
    let own = Some(own).filter(|own| *own != user);
    let own = own.map(|own| (Scope::Project, own));
    [(Scope::User, user)].into_iter().chain(own).collect()
}

/// Returns whether `spillgate wrap CLIENT --hooks` is supported.
#[must_use]
pub fn has_hooks(client: Client) -> bool {
    form(client).is_some()
}

/// Begins and ends a command that prints no errors. `exec` lets the client end the program itself at
/// the time limit.
const QUIET: [&str; 2] = ["exec ", " 2>/dev/null"];

/// Returns the command that a hook of ours runs.
pub(super) fn plain_command(command: &str) -> &str {
    let command = command.strip_prefix(QUIET[0]).unwrap_or(command);
    command.strip_suffix(QUIET[1]).unwrap_or(command)
}

impl Table {
    /// Returns the element of an event's list that runs `words`, which are quoted for a shell.
    pub(super) fn element(&self, words: &[String], matcher: Option<&str>) -> Value {
        let mut command = words.join(" ");
        if self.is_quiet {
            command = format!("{}{command}{}", QUIET[0], QUIET[1]);
        }
        let mut element = match self.groups {
            true => {
                let hook = json!({"type": "command", "command": command, "timeout": self.timeout});
                json!({"hooks": [hook]})
            }
            false => json!({"command": command, "timeout": self.timeout}),
        };
        if let Some(matcher) = matcher {
            element["matcher"] = json!(matcher);
        }
        element
    }
}

/// Returns opencode's plugin. `words` are quoted for a shell.
fn plugin(words: &[String]) -> String {
    let script = format!("exec {}", words.join(" "));
    let command = json!(["/bin/sh", "-c", script]).to_string();
    include_str!("opencode.js").replacen("[\"spillgate\"]", &command, 1)
}

/// Returns the file with Copilot CLI's hook. `words` are quoted for a shell.
/// <https://docs.github.com/en/copilot/reference/hooks-configuration> describes its form.
fn copilot_file(words: &[String]) -> String {
    let hook = json!({"type": "command", "bash": words.join(" "), "timeoutSec": 60});
    let file = json!({"version": 1, "hooks": {"postToolUse": [hook]}});
    format!("{file:#}\n")
}
