//! The files and tables in which clients keep their servers.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Client;

/// The scope of a table of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The user, in every directory.
    User,
    /// The user, in one directory.
    Local,
    /// Everyone who works on the project, because the file is part of the project.
    Project,
}

impl Scope {
    /// Returns the name of the scope.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Local => "local",
            Self::Project => "project",
        }
    }
}

/// The directories and settings that paths depend on. The library reads no environment variables.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The user's home directory.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `.config` below home.
    pub config: PathBuf,
    /// The project directory.
    pub project: PathBuf,
    /// `$CODEX_HOME`, if set.
    pub codex_home: Option<PathBuf>,
    /// `$COPILOT_HOME`, if set.
    pub copilot_home: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, if set.
    pub claude_config: Option<PathBuf>,
    /// Whether this is macOS, where editors keep their settings elsewhere.
    pub macos: bool,
}

/// A table of servers in a file. Neither the file nor the table needs to exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTable {
    /// The scope of its servers.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// The keys from the top of the file to the table.
    pub table: Vec<String>,
}

/// Returns all tables in which `client` keeps servers. The user's tables come first.
pub fn places(client: Client, of: &Surroundings) -> Vec<ServerTable> {
    let (user, project) = files(client, of);
    let mut all = Vec::new();
    for (scope, files) in [(Scope::User, user), (Scope::Project, project)] {
        for file in files {
            for table in tables(client) {
                all.push(place(scope, &file, table));
            }
            if client == Client::ClaudeCode && scope == Scope::User {
                all.extend(of.project.ancestors().map(|directory| {
                    let directory = directory.to_string_lossy();
                    place(Scope::Local, &file, &["projects", &directory, "mcpServers"])
                }));
            }
        }
    }
    // In the home directory, the user's file may also be the file of the project.
    let mut seen = Vec::new();
    all.retain(|place: &ServerTable| {
        let key = (place.file.clone(), place.table.clone());
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    all
}

/// Returns the tables of servers in a file that the user names. All of them have the scope `user`,
/// except Claude Code's tables of single directories.
pub fn explicit(client: Client, file: &Path, of: &Surroundings) -> Vec<ServerTable> {
    let mut all: Vec<ServerTable> = tables(client)
        .iter()
        .map(|table| place(Scope::User, file, table))
        .collect();
    if client == Client::ClaudeCode {
        let local = places(client, of)
            .into_iter()
            .filter(|place| place.scope == Scope::Local);
        all.extend(local.map(|place| ServerTable {
            file: file.to_owned(),
            ..place
        }));
    }
    all
}

/// Returns the file with the client's permissions, if it differs from the file with its servers.
pub(crate) fn permissions(client: Client, of: &Surroundings) -> Option<PathBuf> {
    let home = of.claude_config.clone();
    (client == Client::ClaudeCode).then(|| {
        home.unwrap_or_else(|| of.home.join(".claude"))
            .join("settings.json")
    })
}

/// Returns all files with permissions of the client, the user's first.
pub(crate) fn all_permissions(client: Client, of: &Surroundings) -> Vec<PathBuf> {
    let users = permissions(client, of);
    let own = [".claude/settings.json", ".claude/settings.local.json"];
    let own = users
        .is_some()
        .then(|| own.map(|name| of.project.join(name)));
    users.into_iter().chain(own.into_iter().flatten()).collect()
}

/// Returns Codex's directory.
pub(crate) fn codex(of: &Surroundings) -> PathBuf {
    let set = of.codex_home.clone();
    set.unwrap_or_else(|| of.home.join(".codex"))
}

/// Returns the directory of Copilot CLI.
pub(crate) fn copilot(of: &Surroundings) -> PathBuf {
    let set = of.copilot_home.clone();
    set.unwrap_or_else(|| of.home.join(".copilot"))
}

fn place(scope: Scope, file: &Path, table: &[&str]) -> ServerTable {
    ServerTable {
        scope,
        file: file.to_owned(),
        table: table.iter().map(|&key| key.to_owned()).collect(),
    }
}

fn tables(client: Client) -> &'static [&'static [&'static str]] {
    match client {
        Client::ClaudeCode
        | Client::Gemini
        | Client::Cursor
        | Client::Windsurf
        | Client::Copilot => &[&["mcpServers"]],
        Client::Codex => &[&["mcp_servers"]],
        Client::Vscode => &[&["servers"]],
        Client::Zed => &[&["context_servers"]],
        // The tables of versions 1 and 2 of opencode.
        Client::Opencode => &[&["mcp"], &["mcp", "servers"]],
        Client::Goose => &[&["extensions"]],
    }
}

fn files(client: Client, of: &Surroundings) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let Surroundings {
        home,
        config,
        project,
        ..
    } = of;
    let claude = of.claude_config.as_ref().unwrap_or(home);
    let codex = codex(of);
    let editors = match of.macos {
        true => &home.join("Library/Application Support"),
        false => config,
    };
    let in_one = |file: PathBuf, of_project: &str| (vec![file], vec![project.join(of_project)]);
    match client {
        Client::ClaudeCode => in_one(claude.join(".claude.json"), ".mcp.json"),
        Client::Codex => in_one(codex.join("config.toml"), ".codex/config.toml"),
        Client::Gemini => in_one(home.join(".gemini/settings.json"), ".gemini/settings.json"),
        Client::Cursor => in_one(home.join(".cursor/mcp.json"), ".cursor/mcp.json"),
        Client::Vscode => in_one(editors.join("Code/User/mcp.json"), ".vscode/mcp.json"),
        Client::Windsurf => (vec![home.join(".codeium/windsurf/mcp_config.json")], vec![]),
        Client::Zed => in_one(config.join("zed/settings.json"), ".zed/settings.json"),
        Client::Opencode => {
            let user =
                ["opencode.json", "opencode.jsonc"].map(|name| config.join("opencode").join(name));
            let own = [
                "opencode.json",
                "opencode.jsonc",
                ".opencode/opencode.json",
                ".opencode/opencode.jsonc",
            ];
            (user.to_vec(), own.map(|name| project.join(name)).to_vec())
        }
        Client::Copilot => (vec![copilot(of).join("mcp-config.json")], vec![]),
        Client::Goose => (vec![config.join("goose/config.yaml")], vec![]),
    }
}
