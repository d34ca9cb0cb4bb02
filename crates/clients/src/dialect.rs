//! The names that a client gives to the parts of a server's entry.

use crate::Client;
use crate::remote::BEARER;

/// The names of an entry's members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// The program; with `args` absent, the program and its arguments in one
    /// list.
    pub(crate) command: &'static str,
    /// The arguments.
    pub(crate) args: Option<&'static str>,
    /// The variables that the server gets.
    pub(crate) env: &'static str,
    /// Where a remote server's address may stand.
    pub(crate) urls: &'static [&'static str],
    /// The headers for a remote server.
    pub(crate) headers: &'static str,
    /// What `type` is for a server that is started, where the client knows a
    /// `type`.
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

/// The names that `client` uses.
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
    /// The order in which members stand in an entry that we write.
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
