//! Starts the servers that are tested, and the proxies in front of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::kit;
use crate::served::{Served, log};
use crate::workspace;

/// The protocol revisions that are compared: the last with sessions and the first without.
pub(crate) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A server that offers all fixtures that the suite needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upstream {
    /// The Python SDK's server.
    Python,
    /// Our server on the Rust SDK: `crates/testkit/examples/everything`.
    Rust,
}

impl Upstream {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
        }
    }

    pub(crate) fn start(self) -> Result<Served> {
        let mut command = match self {
            Self::Python => {
                let mut command = Command::new(kit::python());
                command
                    .arg(kit::script("everything.py"))
                    .env("PYTHONPATH", kit::sdk());
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Self::Rust => rust_server(&workspace::built()?),
        };
        Served::start(&mut command, &log(&logs(), self.name()), None)
    }
}

/// Returns the command of the fixture server that was built into `directory`.
pub(crate) fn rust_server(directory: &Path) -> Command {
    let mut command = Command::new(directory.join("examples/everything"));
    command.arg("--http");
    command
}

/// The proxy between the suite and a server.
#[derive(Debug, Clone)]
pub(crate) enum Front {
    /// `spillgate mcp`, from this directory.
    Gateway(PathBuf),
    /// A proxy of a few lines. `straight` changes nothing; `crooked` loses progress notifications.
    StandIn(String),
}

impl Front {
    /// Returns the command line without the addresses. The gateway's command line is defined only
    /// here.
    pub(crate) fn command(&self) -> Vec<String> {
        match self {
            Self::Gateway(directory) => {
                let program = directory.join("spillgate").display().to_string();
                vec![program, "mcp".to_owned()]
            }
            Self::StandIn(way) => {
                let words = [kit::python(), kit::script("proxy.py")];
                let words = words.iter().map(|word| word.display().to_string());
                words.chain([way.clone()]).collect()
            }
        }
    }

    /// Starts the proxy in front of the server at `url`.
    pub(crate) fn start(&self, url: &str) -> Result<Served> {
        self.start_in(url, settings())
    }

    /// Starts the proxy in front of the server at `url`. The gateway gets this environment.
    pub(crate) fn start_in(
        &self,
        url: &str,
        settings: Vec<(&'static str, PathBuf)>,
    ) -> Result<Served> {
        let words = self.command();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if matches!(self, Self::Gateway(_)) {
            command.args(["--http", "127.0.0.1:0"]).envs(settings);
        }
        command.args(["--url", url]);
        Served::start(&mut command, &log(&logs(), "through"), Some(url))
    }

    pub(crate) fn is_gateway(&self) -> bool {
        matches!(self, Self::Gateway(_))
    }
}

/// Returns the environment of the gateway: a separate store, and no configuration of the user.
pub(crate) fn settings() -> Vec<(&'static str, PathBuf)> {
    settings_in(&kit::home().join("home"))
}

/// Returns the environment of a gateway with the home directory `home`. Its configuration raises
/// the limits of sessions, because suites and loads open more sessions than a gateway without
/// authentication allows by default.
pub(crate) fn settings_in(home: &Path) -> Vec<(&'static str, PathBuf)> {
    let directory = home.join("config/spillgate");
    // If this fails, the run itself fails and says why.
    drop(std::fs::create_dir_all(&directory));
    drop(std::fs::write(
        directory.join("spillgate.toml"),
        "[http]\nmax_sessions = 4096\nmax_processes = 4096\n",
    ));
    vec![
        ("HOME", home.to_owned()),
        ("XDG_CONFIG_HOME", home.join("config")),
        ("XDG_STATE_HOME", home.join("state")),
        ("XDG_DATA_HOME", home.join("data")),
        ("XDG_CACHE_HOME", home.join("cache")),
    ]
}

fn logs() -> PathBuf {
    kit::home().join("logs")
}
