//! The supported clients, their names and their own limits on tool results.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A program that speaks to MCP servers and whose configuration Spillgate can edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI, and programs that share its configuration.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
    /// opencode.
    Opencode,
    /// goose.
    Goose,
    /// GitHub Copilot CLI.
    Copilot,
}

impl Client {
    /// All clients, in display order.
    pub const ALL: [Self; 10] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Vscode,
        Self::Windsurf,
        Self::Zed,
        Self::Opencode,
        Self::Goose,
        Self::Copilot,
    ];

    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
            Self::Copilot => "copilot",
        }
    }

    /// Returns the product name.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
            Self::Copilot => "Copilot CLI",
        }
    }

    /// Returns whether the client starts from a desktop, which may lack the `PATH` of a shell.
    pub fn is_desktop(self) -> bool {
        matches!(
            self,
            Self::Cursor | Self::Vscode | Self::Windsurf | Self::Zed
        )
    }

    /// Returns whether the client substitutes `${…}` (or `{env:…}`) in a server's entry.
    pub(crate) fn fills_in(self) -> bool {
        !matches!(self, Self::Codex | Self::Goose | Self::Zed)
    }

    /// Describes what the client itself does with a large tool result, as far as it was measured
    /// (versions: docs/clients.md).
    pub fn own_cap(self) -> &'static str {
        match self {
            Self::ClaudeCode => {
                "over 48 KiB they become a file and a preview (its variable MAX_MCP_OUTPUT_TOKENS does not change that); the gateway's messages are smaller"
            }
            Self::Codex => {
                "about 12 KB, the middle of longer results is lost; the gateway's messages are smaller"
            }
            Self::Gemini => {
                "the first 8,000 and the last 32,000 characters and a file; the gateway's messages are smaller"
            }
            Self::Opencode => "the first 51 KB and a file; the gateway's messages are smaller",
            Self::Goose => {
                "a result of 300 KB became a note and a file; the gateway's messages are smaller"
            }
            Self::Copilot => {
                "a result of 300 KB became its first lines and a file; the gateway's messages are smaller"
            }
            Self::Cursor | Self::Vscode | Self::Windsurf | Self::Zed => "not measured",
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl FromStr for Client {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|client| client.name() == text);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no client of this name; known clients: {names}")
        })
    }
}
