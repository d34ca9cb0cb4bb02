//! The cost against the number of clients over HTTP, beside a relay that only copies bytes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Curves;
use crate::command::run;
use crate::served::Served;
use crate::workspace;

const COUNTS: [u64; 7] = [1, 4, 16, 64, 128, 256, 1_000];
const QUICK: u64 = 64;

/// How long the clients of one round make calls, in milliseconds.
const ROUND_MS: &str = "2000";

/// The rounds of a point; the median counts.
const ROUNDS: usize = 3;

/// The programs of the benches: a server, a relay that copies bytes, and the clients.
const TOOLS: [&str; 3] = ["echo_server", "floor_relay", "rtt"];

/// What the clients measured in one round.
struct Round {
    per_second: f64,
    /// In seconds.
    p99: f64,
    /// Resident memory of the server under test while all sessions are open, in bytes.
    memory: f64,
}

pub(crate) fn measure(curves: &mut Curves) -> Result<()> {
    let tools = tools()?;
    let logs = curves.scratch.join("logs");
    let mut echo = Command::new(tools.join("echo_server"));
    let echo = Served::start(echo.arg("--http"), &logs.join("echo"), None)?;
    for count in curves.steps(&COUNTS, QUICK) {
        for series in ["direct", "relay that copies", "spillgate"] {
            if curves.has("clients", series, count) {
                continue;
            }
            let mut rounds = Vec::new();
            for _ in 0..ROUNDS {
                rounds.push(round(curves, &tools, &logs, &echo, series, count)?);
            }
            let median = |value: fn(&Round) -> f64| {
                let mut values: Vec<f64> = rounds.iter().map(value).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            curves.keep("tail", series, count, median(|round| round.p99))?;
            if series == "spillgate" {
                curves.keep("memory", "in all", count, median(|round| round.memory))?;
            }
            // The last one is what `has` asks for.
            curves.keep("clients", series, count, median(|round| round.per_second))?;
        }
    }
    Ok(())
}

/// Makes one round. It starts a new process for each, so that the memory is that of these
/// clients.
fn round(
    curves: &Curves,
    tools: &Path,
    logs: &Path,
    echo: &Served,
    series: &str,
    count: u64,
) -> Result<Round> {
    let front = match series {
        "direct" => None,
        "relay that copies" => {
            let mut relay = Command::new(tools.join("floor_relay"));
            let place = echo.url().split('/').nth(2).context("a URL has a host")?;
            relay.args(["--tcp", place]);
            Some(Served::start(&mut relay, &logs.join("relay"), None)?)
        }
        _ => {
            let config = curves.scratch.join("clients.toml");
            fs::write(&config, "[http]\nmax_sessions = 4000\n")?;
            let mut gateway = curves.program(&curves.scratch.join("clients-store"));
            gateway.arg("--config").arg(config);
            gateway.args(["mcp", "--http", "127.0.0.1:0", "--url", echo.url()]);
            let log = logs.join("gateway");
            Some(Served::start(&mut gateway, &log, Some(echo.url()))?)
        }
    };
    let server = front.as_ref().unwrap_or(echo);
    let mut clients = Command::new(tools.join("rtt"))
        .args(["clients", "small", "{}", &count.to_string(), ROUND_MS])
        .arg(server.url())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the clients")?;
    let said = clients.stdout.take().context("stdout is piped")?;
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    let memory = resident(server.id());
    drop(clients.stdin.take());
    let status = clients.wait()?;
    ensure!(status.success(), "the clients ended with {status}");
    let said: Value = serde_json::from_str(&line)?;
    let number = |name: &str| said[name].as_f64().context("the clients print numbers");
    Ok(Round {
        per_second: number("per_second")?,
        p99: number("p99_ns")? / 1e9,
        memory: memory?,
    })
}

/// Returns the resident memory of a process in bytes.
fn resident(id: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: f64 = kilobytes
        .context("a live process has a VmRSS")?
        .parse()
        .context("VmRSS is a number")?;
    Ok(kilobytes * 1024.0)
}

/// Compiles the programs of the benches, unless they are newer than their source. Returns their
/// directory.
fn tools() -> Result<PathBuf> {
    let directory = workspace::built()?.with_file_name("bench-tools");
    fs::create_dir_all(&directory)?;
    for tool in TOOLS {
        let source = workspace::root().join(format!("benches/{tool}.rs"));
        let program = directory.join(tool);
        let written = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
        if written(&program).ok() > written(&source).ok() {
            continue;
        }
        let mut rustc = Command::new("rustc");
        rustc.args(["-O", "--edition", "2024", "-o"]);
        run(rustc.arg(program).arg(source))?;
    }
    Ok(directory)
}
