//! The attack of HTTP clients that request costly look-ups and disconnect immediately. The gateway
//! must stop working on these look-ups.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::chance::Chance;
use super::regexes::PATTERNS;
use super::room::{LIMIT, Room, resident, text};
use super::session::GIVEN_BACK;
use super::table::{Outcome, has_grown};
use crate::served::Served;

/// Size of the text that is searched, in bytes. A look-up with one of the costly patterns takes
/// seconds.
const BYTES: usize = 32 << 20;

/// How long a client waits before it hangs up, so that its request has arrived.
const MOMENT: Duration = Duration::from_millis(5);

/// How long processor time is measured. In this time, an idle gateway uses less than
/// [`IDLE_TICKS`].
const WINDOW: Duration = Duration::from_secs(2);

/// Maximum processor time that an idle gateway uses in [`WINDOW`], in hundredths of a second.
const IDLE_TICKS: u64 = 20;

/// Requests a look-up and hangs up, `count` times.
pub(crate) fn attack(room: &Room, count: usize, _: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let handle = room.put(&text(1, BYTES))?;
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = room.spillgate(&["mcp", "--http", "127.0.0.1:0", "--"]);
    command.arg(own).arg("attack-peer");
    command.arg(room.work().join("received"));
    let gateway = Served::start(&mut command, &room.work().join("log"), None)?;
    let ask = |pattern: &str| Request::of(&gateway, &handle, pattern);
    // The first look-ups fill memory pools, so memory is measured after them.
    for pattern in ["words", "number 7", "[a-z]+ 000[0-9]+"] {
        ensure!(ask(pattern)?.answered()?, "no match of `{pattern}`");
    }
    let memory = || resident(gateway.id()).unwrap_or(f64::NAN);
    let (start, used) = (memory(), ticks(gateway.id())?);
    let mut peak = start;
    for pattern in PATTERNS.iter().cycle().take(count) {
        room.go_on()?;
        drop(ask(pattern)?);
        outcome.tried += 1;
        peak = peak.max(memory());
    }
    let hung_up = Instant::now();
    loop {
        let before = ticks(gateway.id())?;
        thread::sleep(WINDOW);
        if ticks(gateway.id())? - before < IDLE_TICKS {
            break;
        }
        if hung_up.elapsed() > LIMIT {
            outcome.hangs += 1;
            outcome.note("it still works for clients that have gone".to_owned());
            break;
        }
    }
    let idle = hung_up.elapsed().saturating_sub(WINDOW);
    if !ask("words")?.answered()? {
        outcome.hangs += 1;
        outcome.note("a look-up afterwards is not answered".to_owned());
    }
    while has_grown(start, memory()) && hung_up.elapsed() < idle + WINDOW + GIVEN_BACK {
        thread::sleep(Duration::from_millis(500));
    }
    outcome.memory = Some((start, memory()));
    outcome.note(format!(
        "idle {:.0} s after the last hung up, {:.1} s of processor in all, {peak:.0} MiB at most",
        idle.as_secs_f64(),
        Duration::from_millis(10 * (ticks(gateway.id())? - used).min(u64::from(u32::MAX)))
            .as_secs_f64()
    ));
    Ok(outcome)
}

/// A look-up that was requested. Dropping it hangs up.
struct Request(TcpStream);

impl Request {
    fn of(gateway: &Served, handle: &str, pattern: &str) -> Result<Self> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "0"},
        });
        let arguments = json!({"handle": handle, "pattern": pattern});
        let params = json!({"name": "spillgate_grep", "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let body = body.to_string();
        let address = gateway.url().trim_start_matches("http://");
        let (address, path) = address.split_once('/').context("the address has no path")?;
        // The request is written by hand, so that the connection can be closed at any moment.
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: tools/call\r\nmcp-name: spillgate_grep\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        thread::sleep(MOMENT);
        Ok(Self(stream))
    }

    /// Waits for the answer; returns whether it is a result without an error.
    fn answered(mut self) -> Result<bool> {
        self.0.set_read_timeout(Some(LIMIT))?;
        let mut answer = Vec::new();
        self.0.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let result = answer.find("{\"jsonrpc\"").map(|at| &answer[at..]);
        let result = result.and_then(|json| {
            let mut all = serde_json::Deserializer::from_str(json).into_iter::<Value>();
            all.next()?.ok()
        });
        Ok(result.is_some_and(|answer| {
            answer["result"].is_object() && answer["result"]["isError"] != true
        }))
    }
}

/// Returns the processor time of a process, in hundredths of a second.
fn ticks(process: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the process may contain spaces; it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')').context("no name in /proc")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    // The fields utime and stime, the 14th and 15th of all fields.
    let used = field(11).zip(field(12)).context("no times in /proc")?;
    Ok(used.0 + used.1)
}
