//! The field names that each client uses in a server's entry.

use crate::Client;
use crate::remote::BEARER;

/// The field names of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// The field with the program. If `args` is `None`, its value is a list of the program and its
    /// arguments.
    pub(crate) command: &'static str,
    /// The field with the arguments.
    pub(crate) args: Option<&'static str>,
    /// The field with the environment variables of the server.
    pub(crate) env: &'static str,
    /// Fields that may contain the address of a remote server.
    pub(crate) urls: &'static [&'static str],
    /// The field with the headers for a remote server.
    pub(crate) headers: &'static str,
    /// The value of `type` for a server that the client starts; `None` if the client has no `type`.
    pub(crate) stdio: Option<&'static str>,
}

const USUAL: Dialect = Dialect {
    command: "command",
    args: Some("args"),
    env: "env",
    urls: &["url"],
    headers: "headers",
    stdio: Some("stdio"),
};

/// Returns the field names of `client`.
pub(crate) fn of(client: Client) -> Dialect {
    match client {
        Client::ClaudeCode | Client::Cursor | Client::Vscode => USUAL,
        Client::Codex => Dialect {
            headers: "http_headers",
            stdio: None,
            ..USUAL
        },
        Client::Gemini => Dialect {
            urls: &["httpUrl", "url"],
            stdio: None,
            ..USUAL
        },
        Client::Windsurf => Dialect {
            urls: &["serverUrl", "url"],
            ..USUAL
        },
        Client::Zed => Dialect {
            stdio: None,
            ..USUAL
        },
        Client::Copilot => Dialect {
            stdio: Some("local"),
            ..USUAL
        },
        Client::Opencode => Dialect {
            args: None,
            env: "environment",
            stdio: Some("local"),
            ..USUAL
        },
        Client::Goose => Dialect {
            command: "cmd",
            env: "envs",
            urls: &["uri"],
            ..USUAL
        },
    }
}

impl Dialect {
    /// Returns the order of fields in an entry that Spillgate writes.
    pub(crate) fn order(&self) -> Vec<&'static str> {
        let head = ["type", self.command].into_iter().chain(self.args);
        let there = self.urls.iter().copied();
        let tail = [
            self.headers,
            "env_http_headers",
            BEARER,
            self.env,
            "env_vars",
        ];
        head.chain(there).chain(tail).collect()
    }
}
