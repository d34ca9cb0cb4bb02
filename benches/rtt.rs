//! The client of the relay benches: hand-assembled JSON-RPC frames over pipes, one call in flight.
//!
//! - `rtt calls TOOL ARGUMENTS WARMUP N CMD…`: handshake, then WARMUP + N calls of TOOL, which `tools/list` must name,
//!   with the JSON object ARGUMENTS; prints one JSON object with the p50 and p99 round trip of the last N in
//!   nanoseconds and the bytes of the last reply. The clock stops when the whole line is in memory, before anything is
//!   checked: the client adds no parsing to what it measures.
//! - `rtt start IDLE_MS CMD…`: prints nanoseconds from before the spawn to the `initialize` reply, and the resident
//!   memory of CMD's own process (not of its children) IDLE_MS after that, in KB.
//!
//! One process per series, so that the driver can interleave the variants in rounds.
//! Std only, built by `run.sh` with `rustc -O`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"rtt","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// An id is looked for in this many bytes at either end of a reply: enough for every serializer's key order.
const ENVELOPE_BYTES: usize = 120;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        [
            "calls",
            tool,
            arguments,
            warmup,
            count,
            program,
            ref rest @ ..,
        ] => {
            let call = format!(r#""params":{{"name":"{tool}","arguments":{arguments}}}"#);
            let peer = ready_peer(tool, program, rest);
            calls(peer, &call, number(warmup), number(count));
        }
        ["start", idle_ms, program, ref rest @ ..] => start(number(idle_ms), program, rest),
        _ => panic!("usage: rtt calls TOOL ARGUMENTS WARMUP N CMD… | rtt start IDLE_MS CMD…"),
    }
}

fn number(word: &str) -> usize {
    word.parse().expect("a whole number")
}

/// A peer that a host would be ready to call `tool` on.
fn ready_peer(tool: &str, program: &str, rest: &[&str]) -> Peer {
    let mut peer = Peer::spawn(program, rest);
    peer.initialize();
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#);
    peer.receive(1);
    let quoted = format!("\"{tool}\"");
    assert!(
        contains(&peer.line, quoted.as_bytes()),
        "tools/list lacks {tool}"
    );
    peer
}

fn calls(mut peer: Peer, call: &str, warmup: usize, count: usize) {
    let mut times: Vec<u128> = Vec::with_capacity(warmup + count);
    for id in 2..2 + warmup + count {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call",{call}}}"#);
        let begin = Instant::now();
        peer.send(&frame);
        let end = peer.receive(id);
        times.push((end - begin).as_nanos());
    }
    assert!(
        contains(&peer.line, b"\"result\"") && !contains(&peer.line, b"\"isError\":true"),
        "the last call failed: {}",
        String::from_utf8_lossy(&peer.line)
    );
    let bytes = peer.line.len();
    peer.close();
    let mut measured = times.split_off(warmup);
    measured.sort_unstable();
    let at = |per_mille: usize| measured[(measured.len() - 1) * per_mille / 1000];
    println!(
        r#"{{"p50_ns":{},"p99_ns":{},"reply_bytes":{bytes}}}"#,
        at(500),
        at(990)
    );
}

fn start(idle_ms: usize, program: &str, rest: &[&str]) {
    let begin = Instant::now();
    let mut peer = Peer::spawn(program, rest);
    let end = peer.initialize();
    std::thread::sleep(Duration::from_millis(idle_ms as u64));
    let rss_kb = resident_kb(peer.child.id());
    peer.close();
    println!(
        r#"{{"start_ns":{},"rss_kb":{rss_kb}}}"#,
        (end - begin).as_nanos()
    );
}

/// `VmRSS` as the kernel states it.
fn resident_kb(pid: u32) -> usize {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).expect("/proc of a live child");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("VmRSS of a live process");
    number(line.split_whitespace().nth(1).expect("VmRSS: N kB"))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A server process and the line it last sent.
struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Peer {
    fn spawn(program: &str, rest: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let input = child.stdin.take().expect("stdin was piped above");
        let output = BufReader::with_capacity(
            64 * 1024,
            child.stdout.take().expect("stdout was piped above"),
        );
        Self {
            child,
            input,
            output,
            line: Vec::new(),
        }
    }

    /// Handshake; returns the moment of the reply.
    fn initialize(&mut self) -> Instant {
        self.send(INITIALIZE);
        let end = self.receive(0);
        self.send(INITIALIZED);
        end
    }

    /// One write for one frame, as a real client does.
    fn send(&mut self, frame: &str) {
        let line = format!("{frame}\n");
        self.input
            .write_all(line.as_bytes())
            .expect("the server takes the frame");
    }

    /// Reads lines until the reply to `id`, stepping over notifications; returns when its last byte was here.
    fn receive(&mut self, id: usize) -> Instant {
        loop {
            self.line.clear();
            let n = self
                .output
                .read_until(b'\n', &mut self.line)
                .expect("the server answers");
            let end = Instant::now();
            assert!(
                n > 0,
                "the server closed its output before the reply to {id}"
            );
            if self.is_reply_to(id) {
                return end;
            }
        }
    }

    fn is_reply_to(&self, id: usize) -> bool {
        let head = &self.line[..self.line.len().min(ENVELOPE_BYTES)];
        let tail = &self.line[self.line.len().saturating_sub(ENVELOPE_BYTES)..];
        [",", "}"].iter().any(|end| {
            let mark = format!(r#""id":{id}{end}"#);
            contains(head, mark.as_bytes()) || contains(tail, mark.as_bytes())
        })
    }

    /// Closing stdin is MCP's way to end a stdio server.
    fn close(self) {
        let Self {
            mut child,
            input,
            output,
            ..
        } = self;
        drop(input);
        drop(output);
        for _ in 0..300 {
            if child.try_wait().expect("wait for an own child").is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("rtt: the server outlived its closed stdin by 3 s; ended by pid");
        child
            .kill()
            .and_then(|()| child.wait())
            .expect("end an own child");
    }
}
