//! The cheapest honest MCP server: what a relay is measured against.
//!
//! Two tools: `small` answers with a result of about 200 bytes, `big` with 1 MB of log text. Each is assembled once,
//! when it is first asked for, so that a round trip costs two pipe writes and not the server's own work; a server
//! written in a script language would hide the relay behind its own hundreds of microseconds.
//! Std only, built by `run.sh` with `rustc -O`.

use std::cell::LazyCell;
use std::io::{self, BufRead, Write};

/// Text bytes of the `big` tool's answer: far over any default offload limit.
const BIG_TEXT_BYTES: usize = 1_000_000;
const TOOLS: &str = r#"{"tools":[{"name":"small","description":"A short answer","inputSchema":{"type":"object"}},{"name":"big","description":"A long log","inputSchema":{"type":"object"}}]}"#;

fn main() -> io::Result<()> {
    let small = text_result(
        "echo-small: job 4217 finished on shard-12 after 118 ms, 3 of 3 replicas acknowledged, next run at 2026-03-01T00:05:00Z, no action needed",
    );
    let big = LazyCell::new(|| text_result(&log_text(BIG_TEXT_BYTES)));
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let (mut line, mut reply) = (String::new(), Vec::with_capacity(BIG_TEXT_BYTES * 2));
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let Some(id) = field(&line, "id") else {
            continue; // a notification: nothing to answer
        };
        let params = field(&line, "params").unwrap_or("{}");
        let answer: &str = match field(&line, "method").unwrap_or("") {
            "\"tools/call\"" if field(params, "name") == Some("\"big\"") => &big,
            "\"tools/call\"" => &small,
            "\"tools/list\"" => &result(TOOLS),
            "\"initialize\"" => &initialized(params),
            "\"ping\"" => &result("{}"),
            _ => r#""error":{"code":-32601,"message":"Method not found"}"#,
        };
        reply.clear();
        write!(reply, r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)?;
        reply.push(b'\n');
        output.write_all(&reply)?;
        output.flush()?;
    }
}

fn initialized(params: &str) -> String {
    let version = field(params, "protocolVersion").unwrap_or("\"2025-11-25\"");
    result(&format!(
        r#"{{"protocolVersion":{version},"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"echo","version":"1"}}}}"#
    ))
}

fn result(value: &str) -> String {
    format!(r#""result":{value}"#)
}

/// `text` must need no JSON escapes but `\n`.
fn text_result(text: &str) -> String {
    let escaped = text.replace('\n', "\\n");
    result(&format!(
        r#"{{"content":[{{"type":"text","text":"{escaped}"}}],"isError":false}}"#
    ))
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

/// The raw text of `key`'s value in a JSON object, strings with their quotes. Enough JSON for well-formed frames.
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

/// The position after the JSON value that starts at `at`.
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
