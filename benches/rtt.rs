//! The client of the relay benchmarks: hand-assembled JSON-RPC frames over pipes or HTTP, one call
//! in flight.
//!
//! - `rtt calls TOOL ARGUMENTS WARMUP N CMD…`: makes the handshake, then WARMUP + N calls of TOOL,
//!   which `tools/list` must name, with the JSON object ARGUMENTS. Prints one JSON object with the
//!   p50 and p99 round trip of the last N in nanoseconds and the bytes of the last reply. The clock
//!   stops when the whole line is in memory, before anything is checked: the client adds no parsing
//!   to what it measures.
//! - `rtt http TOOL ARGUMENTS WARMUP N URL`: does the same over Streamable HTTP. All calls use one
//!   connection. The clock stops when the whole response is in memory, whether a JSON body or an
//!   event stream.
//! - `rtt clients TOOL ARGUMENTS CLIENTS MS URL`: opens CLIENTS sessions over Streamable HTTP, each on
//!   a connection and a thread of its own, and calls TOOL in all of them for MS milliseconds, one call
//!   in flight per session. Prints calls a second and the p50 and p99 of all calls, then keeps the
//!   sessions open until its standard input ends, so that the memory of the server can be read.
//! - `rtt start IDLE_MS CMD…`: prints nanoseconds from before the spawn to the `initialize` reply,
//!   and the resident memory of CMD's own process (not of its children) IDLE_MS after that, in KB.
//!
//! One process per series, so that the driver can interleave the variants in rounds. Std only,
//! built by `run.sh` with `rustc -O`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"rtt","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// The id is searched for in this many bytes at either end of a reply: enough for every
/// serializer's key order.
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
            let mut peer = ready(Peer::spawn(program, rest), tool);
            calls(&mut peer, &call, number(warmup), number(count));
            peer.close();
        }
        ["http", tool, arguments, warmup, count, url] => {
            let call = format!(r#""params":{{"name":"{tool}","arguments":{arguments}}}"#);
            let mut peer = ready(Site::connect(url), tool);
            calls(&mut peer, &call, number(warmup), number(count));
            peer.end();
        }
        ["clients", tool, arguments, count, ms, url] => {
            let call = format!(r#""params":{{"name":"{tool}","arguments":{arguments}}}"#);
            clients(url, tool, &call, number(count), number(ms));
        }
        ["start", idle_ms, program, ref rest @ ..] => start(number(idle_ms), program, rest),
        _ => panic!(
            "usage: rtt calls TOOL ARGUMENTS WARMUP N CMD… | rtt http TOOL ARGUMENTS WARMUP N URL | rtt clients TOOL ARGUMENTS CLIENTS MS URL | rtt start IDLE_MS CMD…"
        ),
    }
}

fn number(word: &str) -> usize {
    word.parse().expect("a whole number")
}

/// A connection to a server, or to a relay in front of it.
trait Wire {
    fn send(&mut self, frame: &str);

    /// Waits for the reply to `id`; returns when its last byte arrived.
    fn receive(&mut self, id: usize) -> Instant;

    /// Sends a notification.
    fn note(&mut self, frame: &str);

    /// Returns the last reply.
    fn reply(&self) -> &[u8];

    /// Makes the handshake; returns when the reply arrived.
    fn initialize(&mut self) -> Instant {
        self.send(INITIALIZE);
        let end = self.receive(0);
        self.note(INITIALIZED);
        end
    }
}

/// Prepares the peer as a host would before it calls `tool`.
fn ready<W: Wire>(mut peer: W, tool: &str) -> W {
    peer.initialize();
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#);
    peer.receive(1);
    let quoted = format!("\"{tool}\"");
    assert!(
        contains(peer.reply(), quoted.as_bytes()),
        "tools/list lacks {tool}"
    );
    peer
}

fn calls(peer: &mut impl Wire, call: &str, warmup: usize, count: usize) {
    let mut times: Vec<u128> = Vec::with_capacity(warmup + count);
    for id in 2..2 + warmup + count {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call",{call}}}"#);
        let begin = Instant::now();
        peer.send(&frame);
        let end = peer.receive(id);
        times.push((end - begin).as_nanos());
    }
    check_result(peer.reply());
    let bytes = peer.reply().len();
    let (p50, p99) = percentiles(times.split_off(warmup));
    println!(r#"{{"p50_ns":{p50},"p99_ns":{p99},"reply_bytes":{bytes}}}"#);
}

fn check_result(reply: &[u8]) {
    assert!(
        contains(reply, b"\"result\"") && !contains(reply, b"\"isError\":true"),
        "the last call failed: {}",
        String::from_utf8_lossy(&reply[..reply.len().min(500)])
    );
}

fn percentiles(mut times: Vec<u128>) -> (u128, u128) {
    times.sort_unstable();
    let at = |per_mille: usize| times[(times.len() - 1) * per_mille / 1000];
    (at(500), at(990))
}

fn clients(url: &str, tool: &str, call: &str, count: usize, ms: usize) {
    // All sessions are open before the first call; the main thread takes part in both meetings.
    let open = Barrier::new(count + 1);
    let done = Barrier::new(count + 1);
    let time = Duration::from_millis(ms as u64);
    // A client that failed would let the others wait for ever.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::exit(101);
    }));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|_| {
                let run = || {
                    let mut peer = ready(Site::connect(url), tool);
                    open.wait();
                    let begun = Instant::now();
                    let mut times = Vec::new();
                    let mut id = 2;
                    while begun.elapsed() < time || times.is_empty() {
                        let frame =
                            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call",{call}}}"#);
                        let begin = Instant::now();
                        peer.send(&frame);
                        times.push((peer.receive(id) - begin).as_nanos());
                        id += 1;
                    }
                    let took = begun.elapsed();
                    check_result(peer.reply());
                    done.wait();
                    (times, took, peer)
                };
                let builder = std::thread::Builder::new().stack_size(128 << 10);
                builder.spawn_scoped(scope, run).expect("a thread starts")
            })
            .collect();
        open.wait();
        done.wait();
        let mut times = Vec::new();
        let mut per_second = 0.0;
        let mut peers = Vec::new();
        for thread in threads {
            let (of_one, took, peer) = thread.join().expect("the client did not fail");
            per_second += of_one.len() as f64 / took.as_secs_f64();
            times.extend(of_one);
            peers.push(peer);
        }
        let calls = times.len();
        let (p50, p99) = percentiles(times);
        println!(
            r#"{{"calls":{calls},"per_second":{per_second:.1},"p50_ns":{p50},"p99_ns":{p99}}}"#
        );
        std::io::stdin()
            .read_to_end(&mut Vec::new())
            .expect("standard input can be read");
        drop(peers);
    });
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

/// Returns `VmRSS` of a process in KB, as the kernel reports it.
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

/// A server process and the last line that it sent.
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

    /// Closes stdin, which is MCP's way to end a stdio server.
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

impl Wire for Peer {
    /// Sends one frame in one write, as a real client does.
    fn send(&mut self, frame: &str) {
        let line = format!("{frame}\n");
        self.input
            .write_all(line.as_bytes())
            .expect("the server takes the frame");
    }

    /// Reads lines until the reply and skips notifications.
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
            if is_reply_to(&self.line, id) {
                return end;
            }
        }
    }

    fn note(&mut self, frame: &str) {
        self.send(frame);
    }

    fn reply(&self) -> &[u8] {
        &self.line
    }
}

fn is_reply_to(reply: &[u8], id: usize) -> bool {
    let head = &reply[..reply.len().min(ENVELOPE_BYTES)];
    let tail = &reply[reply.len().saturating_sub(ENVELOPE_BYTES)..];
    [",", "}"].iter().any(|end| {
        let mark = format!(r#""id":{id}{end}"#);
        contains(head, mark.as_bytes()) || contains(tail, mark.as_bytes())
    })
}

/// A server behind HTTP/1.1 and the last body that it sent.
struct Site {
    place: String,
    path: String,
    session: String,
    output: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Site {
    fn connect(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("an http URL");
        let (place, path) = rest.split_once('/').expect("a URL with a path");
        let stream = TcpStream::connect(place).expect("the server is there");
        stream.set_nodelay(true).expect("a TCP socket");
        Self {
            place: place.to_owned(),
            path: path.to_owned(),
            session: String::new(),
            output: BufReader::with_capacity(64 * 1024, stream),
            body: Vec::new(),
        }
    }

    /// Sends a request with `body`.
    fn request(&mut self, method: &str, body: &str) {
        let (path, place, session, length) = (&self.path, &self.place, &self.session, body.len());
        let request = format!(
            "{method} /{path} HTTP/1.1\r\nhost: {place}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{session}content-length: {length}\r\n\r\n{body}"
        );
        self.output
            .get_mut()
            .write_all(request.as_bytes())
            .expect("the server takes the request");
    }

    /// Ends the session: a server has room for a number of them. Not every server supports it.
    fn end(mut self) {
        if !self.session.is_empty() {
            self.request("DELETE", "");
            self.response();
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let n = self.output.read_line(&mut line).expect("a line of text");
        assert!(n > 0, "the server closed the connection");
        line.truncate(line.trim_end().len());
        line
    }

    /// Reads one response; returns its status and when its last byte arrived.
    fn response(&mut self) -> (String, Instant) {
        let status = self.line();
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            match (name.to_ascii_lowercase().as_str(), value.trim()) {
                ("content-length", value) => length = number(value),
                ("transfer-encoding", _) => is_chunked = true,
                ("mcp-session-id", value) => {
                    self.session =
                        format!("mcp-session-id: {value}\r\nmcp-protocol-version: 2025-11-25\r\n");
                }
                _ => {}
            }
        }
        self.body.clear();
        while is_chunked {
            let size = usize::from_str_radix(&self.line(), 16).expect("the size of a chunk");
            self.take(size);
            self.line();
            is_chunked = size > 0;
        }
        self.take(length);
        (status, Instant::now())
    }

    /// Appends the next bytes to the body.
    fn take(&mut self, bytes: usize) {
        let start = self.body.len();
        self.body.resize(start + bytes, 0);
        self.output
            .read_exact(&mut self.body[start..])
            .expect("the whole body");
    }
}

impl Wire for Site {
    fn send(&mut self, frame: &str) {
        self.request("POST", frame);
    }

    fn receive(&mut self, id: usize) -> Instant {
        let (status, end) = self.response();
        assert!(
            status.contains(" 200 ") && is_reply_to(&self.body, id),
            "no reply to {id}: {status}: {}",
            String::from_utf8_lossy(&self.body[..self.body.len().min(500)])
        );
        end
    }

    fn note(&mut self, frame: &str) {
        self.send(frame);
        let (status, _) = self.response();
        assert!(status.contains(" 20"), "a note was refused: {status}");
    }

    fn reply(&self) -> &[u8] {
        &self.body
    }
}
