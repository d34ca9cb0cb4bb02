//! An MCP client that starts one gateway, or another MCP server of this project, and exchanges raw
//! lines with it on standard streams.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::room::{LIMIT, Room, has_panicked, resident};
use super::table::{Outcome, has_grown};

/// How long a server may take to end after its input was closed.
const END: Duration = Duration::from_secs(10);

/// How long a server may take to return memory to the system.
pub(crate) const GIVEN_BACK: Duration = Duration::from_secs(40);

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: PathBuf,
    marks: u64,
}

/// The lines that arrived up to the awaited answer.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The lines in order, without line breaks.
    pub(crate) lines: Vec<Vec<u8>>,
    /// The answer; `None` if it did not arrive in time.
    pub(crate) answer: Option<Value>,
}

/// Returns the command of `spillgate mcp` in front of the MCP server of the attacks, which logs to
/// `log`.
pub(crate) fn gateway(room: &Room, log: &Path) -> Result<Command> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = room.spillgate(&["mcp", "--"]);
    command.arg(own).arg("attack-peer").arg(log);
    Ok(command)
}

impl Session {
    /// Starts a server and greets it.
    pub(crate) fn start(room: &Room, mut command: Command) -> Result<Self> {
        let stderr = room.work().join("stderr");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr)?)
            .process_group(0)
            .spawn()
            .context("cannot start the server")?;
        let stdout = child.stdout.take().context("the server has no stdout")?;
        let (to, lines) = channel();
        thread::spawn(move || {
            let mut from = BufReader::new(stdout);
            let mut line = Vec::new();
            while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                line.pop_if(|last| *last == b'\n');
                if to.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let mut session = Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr,
            marks: 0,
        };
        let client = json!({"name": "attack", "version": "0"});
        let greeting =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        session.ask("initialize", &greeting)?;
        session.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(session)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        stdin.write_all(bytes).context("the server has ended")
    }

    /// Sends a request; returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: &Value) -> Result<String> {
        self.marks += 1;
        let id = format!("attack-mark-{}", self.marks);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(format!("{request}\n").as_bytes())?;
        Ok(id)
    }

    /// Sends a request and collects all lines up to its answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Heard> {
        let id = self.begin(method, params)?;
        Ok(self.until(&id))
    }

    /// Collects all lines up to the answer to the request `id`.
    pub(crate) fn until(&self, id: &str) -> Heard {
        let begin = Instant::now();
        let mut heard = Heard::default();
        while let Some(left) = LIMIT.checked_sub(begin.elapsed()) {
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            };
            let is_near = line.windows(id.len()).any(|part| part == id.as_bytes());
            let answer = is_near.then(|| serde_json::from_slice::<Value>(&line).ok());
            let answer = answer.flatten().filter(|answer| answer["id"] == id);
            heard.lines.push(line);
            if answer.is_some() {
                heard.answer = answer;
                break;
            }
        }
        heard
    }

    /// Returns the resident memory in MiB.
    pub(crate) fn memory(&self) -> f64 {
        resident(self.id()).unwrap_or(f64::NAN)
    }

    /// Returns the resident memory at the end of an attack that began with `start` MiB. If it has
    /// grown, waits until it shrinks, because free memory is returned every 30 s.
    pub(crate) fn memory_after(&self, start: f64) -> f64 {
        let begin = Instant::now();
        loop {
            let now = self.memory();
            if !has_grown(start, now) || begin.elapsed() > GIVEN_BACK {
                return now;
            }
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// Ends the server and counts how it ended.
    pub(crate) fn end(mut self, outcome: &mut Outcome) -> Result<()> {
        // If the server ended before its input was closed, it has failed.
        let early = self.child.try_wait()?;
        drop(self.stdin.take());
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = early.or(self.child.try_wait()?) {
                break status;
            }
            if begin.elapsed() > END {
                outcome.hangs += 1;
                outcome.note("a server did not end with its input".to_owned());
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        };
        let stderr = fs::read_to_string(&self.stderr).unwrap_or_default();
        if early.is_some() || has_panicked(&stderr, status) {
            outcome.panics += 1;
            outcome.note(format!("the server: {status}: {:.300}", stderr.trim()));
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
