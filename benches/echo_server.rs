//! A minimal MCP server as the baseline for the cost of a relay.
//!
//! - `echo_server`: on standard streams.
//! - `echo_server --http [--sse]`: Streamable HTTP on a free port of loopback, which it prints;
//!   answers are JSON bodies, or event streams.
//! - `echo_server --print MB`: prints the result of `big` with this many MB, as it is in an answer,
//!   so that it can be hashed.
//!
//! It has two tools: `small` answers with a result of about 1 KB, `big` with 1 MB of log text, or
//! `{"mb": N}` times that. Each result is assembled once, at its first call, so that a round trip
//! costs two writes and no other work of the server; a server in a scripting language would hide
//! the relay behind its own hundreds of microseconds. A result of many MB repeats one block, so
//! that even a gigabyte takes little memory here. Std only, built by `run.sh` with `rustc -O`.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::LazyLock;
use std::thread;

/// Text bytes of the `small` tool's answer: about 1 KB with its envelope.
const SMALL_TEXT_BYTES: usize = 900;
/// Text bytes of the `big` tool's answer: far over any default offload limit.
const BIG_TEXT_BYTES: usize = 1_000_000;
/// Messages up to this many bytes are sent in one write.
const ONE_WRITE: usize = 2 << 20;
const TOOLS: &str = r#"{"tools":[{"name":"small","description":"A short answer","inputSchema":{"type":"object"}},{"name":"big","description":"A long log","inputSchema":{"type":"object"}}]}"#;
const BEFORE: &str = r#"{"content":[{"type":"text","text":""#;
const AFTER: &str = r#""}],"isError":false}"#;

/// Log text, escaped for JSON.
static SMALL: LazyLock<String> = LazyLock::new(|| log_text(SMALL_TEXT_BYTES).replace('\n', "\\n"));
static BIG: LazyLock<String> = LazyLock::new(|| log_text(BIG_TEXT_BYTES).replace('\n', "\\n"));

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        [] => on_streams(),
        ["--http"] => on_http(false),
        ["--http", "--sse"] => on_http(true),
        ["--print", megabytes] => {
            let times = megabytes.parse().expect("a whole number of MB");
            let reply = Reply::text(String::new(), &BIG, times, "");
            reply.pieces(|piece| io::stdout().write_all(piece))
        }
        _ => panic!("usage: echo_server [--http [--sse]] | echo_server --print MB"),
    }
}

/// A message: `before`, then `block` repeated `times` times, then `after`.
struct Reply {
    before: String,
    block: &'static str,
    times: usize,
    after: String,
}

impl Reply {
    fn whole(message: String) -> Self {
        Self {
            before: message,
            block: "",
            times: 0,
            after: String::new(),
        }
    }

    /// A result with one text.
    fn text(before: String, block: &'static str, times: usize, after: &str) -> Self {
        Self {
            before: before + BEFORE,
            block,
            times,
            after: format!("{AFTER}{after}"),
        }
    }

    fn len(&self) -> usize {
        self.before.len() + self.block.len() * self.times + self.after.len()
    }

    fn pieces(&self, mut to: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        to(self.before.as_bytes())?;
        for _ in 0..self.times {
            to(self.block.as_bytes())?;
        }
        to(self.after.as_bytes())
    }
}

fn on_streams() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let (mut line, mut buffer) = (String::new(), Vec::new());
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let Some(mut reply) = answer(&line) else {
            continue; // a notification: nothing to answer
        };
        reply.after.push('\n');
        send(&mut output, &mut buffer, &reply, b"", b"")?;
    }
}

/// Writes `head`, the message and `end`, in one write unless the message is large.
fn send(
    to: &mut impl Write,
    buffer: &mut Vec<u8>,
    reply: &Reply,
    head: &[u8],
    end: &[u8],
) -> io::Result<()> {
    if reply.len() > ONE_WRITE {
        to.write_all(head)?;
        reply.pieces(|piece| to.write_all(piece))?;
        to.write_all(end)?;
        return to.flush();
    }
    buffer.clear();
    buffer.extend_from_slice(head);
    reply.pieces(|piece| {
        buffer.extend_from_slice(piece);
        Ok(())
    })?;
    buffer.extend_from_slice(end);
    to.write_all(buffer)?;
    to.flush()
}

fn on_http(events: bool) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept()?;
        // An error is ignored: it means that the client has disconnected.
        thread::spawn(move || drop(connection(stream, events)));
    }
}

fn connection(stream: TcpStream, events: bool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut output = stream.try_clone()?;
    let mut input = BufReader::with_capacity(64 * 1024, stream);
    let (mut body, mut buffer) = (Vec::new(), Vec::new());
    while let Some(method) = request(&mut input, &mut body)? {
        let reply = match method.as_str() {
            "POST" => answer(&String::from_utf8_lossy(&body)),
            "DELETE" => None,
            _ => {
                output
                    .write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")?;
                continue;
            }
        };
        match reply {
            None => output.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?,
            Some(reply) if events => {
                let (before, after) = ("event: message\ndata: ", "\n\n");
                let size = before.len() + reply.len() + after.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{size:x}\r\n{before}"
                );
                send(
                    &mut output,
                    &mut buffer,
                    &reply,
                    head.as_bytes(),
                    format!("{after}\r\n0\r\n\r\n").as_bytes(),
                )?;
            }
            Some(reply) => {
                let size = reply.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: echo\r\ncontent-length: {size}\r\n\r\n"
                );
                send(&mut output, &mut buffer, &reply, head.as_bytes(), b"")?;
            }
        }
    }
    Ok(())
}

/// Reads the next request and puts its body into `body`; returns its method, or `None` at the end
/// of the connection.
fn request(input: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<Option<String>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    body.resize(length, 0);
    input.read_exact(body)?;
    Ok(Some(method))
}

fn answer(line: &str) -> Option<Reply> {
    let id = field(line, "id")?;
    let params = field(line, "params").unwrap_or("{}");
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
    let result = |value: &str| Reply::whole(format!(r#"{head}"result":{value}}}"#));
    Some(match field(line, "method").unwrap_or("") {
        "\"tools/call\"" => {
            let head = format!(r#"{head}"result":"#);
            let megabytes = field(params, "arguments").and_then(|given| field(given, "mb"));
            let times = megabytes.and_then(|text| text.parse().ok()).unwrap_or(1);
            match field(params, "name") {
                Some("\"big\"") => Reply::text(head, &BIG, times, "}"),
                _ => Reply::text(head, &SMALL, 1, "}"),
            }
        }
        "\"tools/list\"" => result(TOOLS),
        "\"initialize\"" => {
            let version = field(params, "protocolVersion").unwrap_or("\"2025-11-25\"");
            result(&format!(
                r#"{{"protocolVersion":{version},"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"echo","version":"1"}}}}"#
            ))
        }
        "\"ping\"" => result("{}"),
        _ => Reply::whole(format!(
            r#"{head}"error":{{"code":-32601,"message":"Method not found"}}}}"#
        )),
    })
}

fn log_text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let mut n = 0_u64;
    while text.len() < bytes {
        n += 1;
        let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        text += &format!(
            "2026-03-01T00:{:02}:{:02}.{:03}Z INFO  worker-{} req={id:016x} step {n} done in {} ms\n",
            n / 60_000 % 60,
            n / 1000 % 60,
            n % 1000,
            n % 8,
            id % 997
        );
    }
    text
}

/// Returns the raw text of `key`'s value in a JSON object; strings keep their quotes. It parses
/// only enough JSON for well-formed frames.
fn field<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let bytes = object.as_bytes();
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    loop {
        let name_at = skip_space(bytes, at + 1);
        let name_end = skip_value(bytes, name_at);
        let colon = skip_space(bytes, name_end);
        let value_at = skip_space(bytes, colon + 1);
        let value_end = skip_value(bytes, value_at);
        if value_end <= value_at || value_end > bytes.len() {
            return None;
        }
        if object.get(name_at + 1..name_end - 1) == Some(key) {
            return object.get(value_at..value_end);
        }
        at = skip_space(bytes, value_end);
        if bytes.get(at) != Some(&b',') {
            return None;
        }
    }
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Returns the position after the JSON value that starts at `at`.
fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let (mut depth, mut in_string) = (0_u32, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => {
                in_string = !in_string;
                if !in_string && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return at, // ends a bare number, true, false or null
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    at
}
