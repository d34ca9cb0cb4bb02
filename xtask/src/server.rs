//! Starts the server of a language model, and ends the server when this process ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::models::{self, Model};
use crate::workspace;

/// How long the server may take to start: loading the larger model from a cold disk takes about ten
/// seconds.
const START_LIMIT: Duration = Duration::from_mins(2);

/// The text before the address that the server prints once it accepts requests.
const GREETING: &str = "listening on ";

/// A running `xtask/models/serve.py`.
pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Serves `model` on a free port, with a window of `context` tokens or the script's default.
    pub(crate) fn start(model: &Model, context: Option<u32>) -> Result<Self> {
        let log = File::create(log_file()).context("cannot write .models/server.log")?;
        let mut command = Command::new(models::python());
        let mut child = command
            // The script's directory contains source code: Python must not put compiled files
            // there.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(workspace::root().join("xtask/models/serve.py"))
            .arg(models::weights(model))
            .args([model.name, "0"])
            .args(context.map(|tokens| tokens.to_string()))
            // The server ends when this pipe closes. The system closes the pipe when we end,
            // however we end.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start the model's server")?;
        let stdout = child.stdout.take().context("the server has no stdout")?;
        let mut server = Self {
            child,
            address: String::new(),
        };
        server.address = greeting(stdout).with_context(|| {
            let log = fs::read_to_string(log_file()).unwrap_or_default();
            let end = log.lines().rev().take(5).collect::<Vec<_>>();
            format!(
                "the model's server did not start; the last of .models/server.log, newest first:\n{}",
                end.join("\n")
            )
        })?;
        Ok(server)
    }

    /// Returns its address: `127.0.0.1:<port>`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The server may be writing a reply that nobody reads.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the address in the first line of `stdout`.
fn greeting(stdout: ChildStdout) -> Result<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(read.map(|_| line));
    });
    let line = receiver
        .recv_timeout(START_LIMIT)
        .context("it printed no address in time")??;
    let address = line.trim().strip_prefix(GREETING);
    Ok(address.context("it ended without an address")?.to_owned())
}

fn log_file() -> PathBuf {
    workspace::models().join("server.log")
}
