//! Starts a server in the way that its client starts it, and lists the server's tools.

use spillgate_mcp::{ProtocolVersion, error_code, frame};
use std::path::Path;
use std::process::{Command as StdCommand, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use spillgate_clients::Launch;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use crate::failure::Failure;

/// A server's name, version and tools, as it reported them.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) tools: usize,
    /// The definitions of its tools as JSON.
    pub(super) definitions: String,
    /// Number of lines on the server's standard output that are not messages.
    pub(super) noise: usize,
    /// Time from the server's start to the end of its tool list.
    pub(super) milliseconds: u128,
}

/// A server that did not answer as it should.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) what: String,
    pub(super) fix: String,
}

/// Maximum number of pages of a server's tool list.
const MOST_PAGES: u32 = 100;
/// How long a gateway may take to end. This is longer than the gateway waits for its own server to
/// end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum bytes of standard error that are read.
const MOST_SAID: u64 = 64 << 10;

/// Returns the version that a `spillgate` program reports.
pub(super) fn version(program: &Path) -> Option<String> {
    let output = StdCommand::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    // The features follow on a line of their own.
    let version = said.lines().next()?.strip_prefix("spillgate ")?;
    Some(version.to_owned())
}

/// Probes all servers at the same time; returns the answers in the order of `launches`.
pub(super) fn all(
    launches: Vec<Launch>,
    limit: Duration,
) -> Result<Vec<Result<Listed, Failed>>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut answers = runtime.block_on(async {
        let mut probes = JoinSet::new();
        for (index, launch) in launches.into_iter().enumerate() {
            probes.spawn(async move { (index, one(&launch, limit).await) });
        }
        probes.join_all().await
    });
    answers.sort_by_key(|(index, _)| *index);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

async fn one(launch: &Launch, limit: Duration) -> Result<Listed, Failed> {
    let began = Instant::now();
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .envs(launch.environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(directory) = &launch.directory {
        command.current_dir(directory);
    }
    let mut child = command.spawn().map_err(|error| Failed {
        what: format!("{:?} could not be started: {error}", launch.program),
        fix: "check the command in the configuration".into(),
    })?;
    let mut server = Server::of(&mut child);
    let stderr = child.stderr.take().expect("invariant: it is piped");
    let said = tokio::spawn(async move {
        let mut said = Vec::new();
        drop(stderr.take(MOST_SAID).read_to_end(&mut said).await);
        said
    });
    let answer = tokio::time::timeout(limit, server.list()).await;
    let noise = server.noise;
    drop(server);
    end(child).await;
    let said = tokio::time::timeout(Duration::from_secs(1), said).await;
    let said = said.ok().and_then(Result::ok).unwrap_or_default();
    let said = last_lines(&said);
    let what = match answer {
        Ok(Ok((name, version, (tools, definitions)))) => {
            return Ok(Listed {
                name,
                version,
                tools,
                definitions,
                noise,
                milliseconds: began.elapsed().as_millis(),
            });
        }
        Ok(Err(what)) => what,
        Err(_) => {
            return Err(Failed {
                what: format!("it did not answer within {} s{said}", limit.as_secs()),
                fix: "`--timeout SECONDS` gives it longer; if that does not help, run the command in the configuration by hand"
                    .into(),
            });
        }
    };
    // A server that is reached by a URL has no command.
    let is_remote = launch.arguments.iter().any(|it| it.starts_with("--url"));
    let fix = match is_remote {
        true => "check that the server runs and that the URL in the client's entry is right",
        false => {
            "correct what it names in the client's entry for this server, or run the command there by hand"
        }
    };
    Err(Failed {
        what: format!("{what}{said}"),
        fix: fix.into(),
    })
}

/// Ends a gateway by closing its input, which makes it end itself and its server. If it does not
/// end in time, signals end its whole process group.
async fn end(mut child: Child) {
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    for signal in [Signal::TERM, Signal::KILL] {
        let went = tokio::time::timeout(PATIENCE, child.wait()).await;
        let Some(group) = group.filter(|_| went.is_err()) else {
            return;
        };
        // The process may have ended in the meantime.
        let _ = kill_process_group(group, signal);
    }
}

/// Returns the last lines of standard error, for the end of a message. What the server or the
/// gateway says about the failure is shown, not the gateway's log and not its hints.
fn last_lines(said: &[u8]) -> String {
    /// Lines that are shown.
    const SHOWN: usize = 3;
    /// Characters that are shown of a line.
    const LONGEST: usize = 300;
    static LOG: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\d{4}-\d\d-\d\dT\S+ +[A-Z]+ ").expect("invariant: the pattern is ours")
    });
    let said = String::from_utf8_lossy(said);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let (log, said): (Vec<&str>, Vec<&str>) = lines.partition(|line| LOG.is_match(line));
    let said: Vec<&str> = said
        .into_iter()
        .filter(|line| !line.starts_with("hint: "))
        .collect();
    let shown = match said.is_empty() {
        true => &log[log.len().saturating_sub(1)..],
        false => &said[said.len().saturating_sub(SHOWN)..],
    };
    let shown: Vec<String> = shown
        .iter()
        .map(|line| line.chars().take(LONGEST).collect::<String>())
        .map(|line| line.escape_debug().to_string())
        .collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("; it said: {}", shown.join(" / ")),
    }
}

struct Server {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    noise: usize,
}

impl Server {
    fn of(child: &mut Child) -> Self {
        Self {
            to: child.stdin.take().expect("invariant: it is piped"),
            from: BufReader::new(child.stdout.take().expect("invariant: it is piped")),
            noise: 0,
        }
    }

    /// Returns the server's name, its version, the number of tools that it lists and their
    /// definitions.
    async fn list(&mut self) -> Result<(String, String, (usize, String)), String> {
        let hello = json!({
            "protocolVersion": ProtocolVersion::LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "spillgate-doctor", "version": env!("CARGO_PKG_VERSION")},
        });
        let result = self.ask(1, "initialize", &hello).await?;
        let text = |key: &str| result["serverInfo"][key].as_str().unwrap_or("?").to_owned();
        let (name, version) = (text("name"), text("version"));
        self.send(frame::notification("notifications/initialized", None))
            .await?;
        if result["capabilities"]["tools"].is_null() {
            return Ok((name, version, (0, String::new())));
        }
        let (mut tools, mut definitions, mut page) = (0, String::new(), json!({}));
        for number in 0..MOST_PAGES {
            let result = self.ask(2 + u64::from(number), "tools/list", &page).await?;
            let listed = result["tools"].as_array();
            tools += listed.ok_or("its tools/list has no `tools`")?.len();
            definitions.push_str(&result["tools"].to_string());
            match &result["nextCursor"] {
                Value::String(cursor) => page = json!({"cursor": cursor}),
                _ => return Ok((name, version, (tools, definitions))),
            }
        }
        Err(format!("its tools/list has over {MOST_PAGES} pages"))
    }

    async fn send(&mut self, frame: Vec<u8>) -> Result<(), String> {
        let sent = self.to.write_all(&frame::line(frame)).await;
        // A broken pipe is ignored: if the server has exited, reading its answer reports why.
        sent.or_else(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(format!(
                "the request could not be sent to the server: {error}"
            )),
        })
    }

    async fn ask(&mut self, id: u64, method: &str, params: &Value) -> Result<Value, String> {
        self.send(frame::request(id, method, Some(&params.to_string())))
            .await?;
        let mut line = String::new();
        loop {
            line.clear();
            match self.from.read_line(&mut line).await {
                Ok(0) => return Err(format!("it ended before it answered {method}")),
                Ok(_) => {}
                Err(error) => {
                    return Err(format!("the server's answer could not be read: {error}"));
                }
            }
            let Ok(frame) = serde_json::from_str::<Value>(&line) else {
                self.noise += 1;
                continue;
            };
            if frame["method"].is_string() && !frame["id"].is_null() {
                let error = json!({"code": error_code::METHOD_NOT_FOUND, "message": "not here"});
                self.send(frame::error(&frame["id"], error)).await?;
            } else if frame["id"] == id && frame["method"].is_null() {
                return match frame.get("error") {
                    Some(error) => Err(format!("{method} failed: {}", error["message"])),
                    None => Ok(frame["result"].clone()),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_those_of_the_server() {
        let log = "2026-11-26T12:15:22.689387Z  WARN spillgate_upstream::inbox: the server ended";
        for (said, shown) in [
            ("", ""),
            ("\n \n", ""),
            (log, &*format!("; it said: {log}")),
            (
                &*format!("npm error 1\nnpm error 2\n{log}\n"),
                "; it said: npm error 1 / npm error 2",
            ),
            (
                "error: not started\nhint: check it\n",
                "; it said: error: not started",
            ),
            ("a\nb\nc\n\nd\u{1b}[0m", "; it said: b / c / d\\u{1b}[0m"),
        ] {
            assert_eq!(last_lines(said.as_bytes()), shown, "{said}");
        }
    }
}
