//! Starts a server, reads its address from its log, and ends the server when this process ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// How long a server may take to start: a Python server on a busy machine takes several seconds.
const START_LIMIT: Duration = Duration::from_mins(1);

/// How long a server may take to end after it was asked to.
const END_LIMIT: Duration = Duration::from_secs(5);

const SCHEME: &str = "http://";

/// A running server. Its output goes to a log. We hold the other end of its stdin: fixtures end
/// when it closes, so they end with us.
#[derive(Debug)]
pub(crate) struct Served {
    child: Child,
    url: String,
}

impl Served {
    /// Starts `command` and waits until its log names a loopback address other than the address of
    /// `upstream`.
    pub(crate) fn start(command: &mut Command, log: &Path, upstream: Option<&str>) -> Result<Self> {
        if let Some(parent) = log.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = command
            .stdin(Stdio::piped())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mut served = Self {
            child,
            url: String::new(),
        };
        served.url = served.address(log, upstream)?;
        Ok(served)
    }

    /// Returns its URL: `http://127.0.0.1:<port>/mcp`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn address(&mut self, log: &Path, upstream: Option<&str>) -> Result<String> {
        let start = Instant::now();
        loop {
            let said = fs::read_to_string(log).unwrap_or_default();
            if let Some(url) = address_in(&said, upstream) {
                return Ok(url);
            }
            let ended = self.child.try_wait()?;
            if ended.is_some() || start.elapsed() > START_LIMIT {
                let end: Vec<&str> = said.lines().rev().take(5).collect();
                bail!(
                    "{} contains no address of the server; its last lines, newest first:\n{}",
                    log.display(),
                    end.join("\n")
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let start = Instant::now();
        while start.elapsed() < END_LIMIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the first address in the complete lines of `said`, except the address of `upstream`.
fn address_in(said: &str, upstream: Option<&str>) -> Option<String> {
    let whole = &said[..=said.rfind('\n')?];
    let upstream = upstream.and_then(host);
    whole.match_indices(SCHEME).find_map(|(at, _)| {
        let url = &whole[at..];
        let end = url.find(|c: char| c.is_whitespace() || "\"'`<>(),;\u{1b}".contains(c));
        let url = url[..end.unwrap_or(url.len())].trim_end_matches('.');
        let host = host(url)?;
        let port = host.rsplit_once(':')?.1.parse::<u16>().ok()?;
        let is_other = port != 0 && Some(host) != upstream;
        is_other.then(|| match url[SCHEME.len()..].contains('/') {
            true => url.to_owned(),
            false => format!("{url}/mcp"),
        })
    })
}

fn host(url: &str) -> Option<&str> {
    url.strip_prefix(SCHEME)?.split('/').next()
}

/// Returns the path of a server's log.
pub(crate) fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

#[cfg(test)]
mod tests {
    use super::address_in;

    #[test]
    fn the_address_is_found_in_what_a_server_says() {
        let own = Some("http://127.0.0.1:5/mcp");
        let cases = [
            (
                "listening on http://127.0.0.1:81/mcp\n",
                Some("http://127.0.0.1:81/mcp"),
            ),
            (
                "up=http://127.0.0.1:5/mcp at \"http://127.0.0.1:82/x\"\n",
                Some("http://127.0.0.1:82/x"),
            ),
            (
                "ready (http://127.0.0.1:83).\n",
                Some("http://127.0.0.1:83/mcp"),
            ),
            ("half a line http://127.0.0.1:8", None),
            ("http://127.0.0.1:5/mcp\n", None),
            ("http://127.0.0.1:0/mcp\n", None),
        ];
        for (said, expected) in cases {
            assert_eq!(address_in(said, own).as_deref(), expected, "{said}");
        }
    }
}
