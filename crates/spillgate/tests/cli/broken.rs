//! Tests with servers that break off in the middle of an answer or never answer: the client gets an
//! error, and the store keeps no leftovers.

use std::io::Write;
use std::net::TcpStream;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::faults::files;
use super::raw::{server, until, whole};
use super::session::Session;
use super::tool::Tool;

/// Size of a message that is too large for memory, in bytes.
const LARGE: usize = 6 << 20;

/// A server that kills itself in the middle of an answer, which is either small or megabytes long.
const DYING: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}'; echo;;
    *'"fine"'*) say '{"content":[{"type":"text","text":"fine"}]}}'; echo;;
    *'"small"'*) say '{"content":[{"type":"text","text":"half'; kill -9 $$;;
    *'"large"'*) say '{"content":[{"type":"text","text":"'; yes 'half of it' | tr -d '\n' | head -c 6291456; kill -9 $$;;
  esac
done"#;

/// Calls a tool and returns its text or the error.
fn called(session: &mut Session, name: &str) -> String {
    session.send(3, "tools/call", &json!({"name": name, "arguments": {}}));
    let frame = loop {
        let frame = session.receive();
        if frame.get("id").is_some() {
            break frame;
        }
    };
    match &frame["error"] {
        Value::Null => frame["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned(),
        error => format!("{} {} {}", error["code"], error["message"], error["data"]),
    }
}

fn greet(session: &mut Session) {
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    session.send(1, "initialize", &client);
    assert!(session.receive()["result"]["capabilities"]["tools"].is_object());
    session.notify("notifications/initialized", &json!({}));
}

#[test]
fn a_server_killed_amid_its_answer() {
    for name in ["small", "large"] {
        let tool = Tool::new();
        let mut session = Session::start(&tool, &["--name", "dying"], DYING);
        greet(&mut session);
        let said = called(&mut session, name);
        assert_eq!(
            said,
            r#"-32000 "the upstream server `dying` was ended by signal 9 before it answered" {"fault":"upstream","server":"dying"}"#
        );
        // The gateway restarts the server and initializes it again for the client.
        assert_eq!(called(&mut session, "fine"), "fine");
        until("the store is empty", || files(&tool.store()).is_empty());
        session.end_with(0);
    }
}

/// A server that answers with a line that never ends.
const ENDLESS: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}'; echo;;
    *'"fine"'*) say '{"content":[{"type":"text","text":"fine"}]}}'; echo;;
    *'"endless"'*) say '{"content":[{"type":"text","text":"'; yes 'no end' | tr -d '\n';;
  esac
done"#;

#[test]
fn a_line_without_an_end_ends_at_the_limit() {
    let tool = Tool::new();
    let mut command = tool.command(&["mcp", "--name", "endless", "--", "sh", "-c", ENDLESS]);
    command.env("SPILLGATE_MAX_MESSAGE", "8 MiB");
    let mut session = Session::of(command);
    greet(&mut session);
    assert_snapshot!(called(&mut session, "endless"), @r#"-32000 "the upstream server `endless` sent a message of more than 8388608 bytes (`max_message`) and was ended before it answered" {"fault":"upstream","server":"endless"}"#);
    // The gateway restarts the server and initializes it again for the client.
    assert_eq!(called(&mut session, "fine"), "fine");
    until("the store is empty", || files(&tool.store()).is_empty());
    session.end_with(0);
}

#[test]
fn a_client_s_line_in_memory_has_a_limit() {
    let tool = Tool::new();
    let mut session = Session::start(&tool, &["--name", "dying"], DYING);
    greet(&mut session);
    session.send(2, "tools/call", &json!({"name": "x".repeat(65 << 20)}));
    assert_snapshot!(session.receive(), @r#"{"error":{"code":-32600,"data":{"fault":"client"},"message":"the message was dropped: it has more than 67108864 bytes, which is what the gateway holds in memory; pass what is large by a file or by reference"},"id":null,"jsonrpc":"2.0"}"#);
    assert_eq!(called(&mut session, "fine"), "fine");
    session.end_with(0);
}

/// Writes the head of a response with this content type and more headers.
fn head(to: &mut TcpStream, kind: &str, more: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{more}\r\n");
    to.write_all(head.as_bytes()).unwrap();
}

/// Writes half of an answer whose text has this many bytes.
fn half(to: &mut TcpStream, id: &Value, bytes: usize) {
    let begin = r#""result":{"content":[{"type":"text","text":""#;
    let text = "half".repeat(bytes / 4);
    // The gateway may have given up meanwhile.
    drop(write!(to, r#"{{"jsonrpc":"2.0","id":{id},{begin}{text}"#));
}

/// A server each of whose tools fails in its own way.
fn breaking() -> String {
    server(|name, id, to| {
        let bytes = if name.starts_with("large") {
            LARGE
        } else {
            400
        };
        let way = name.trim_start_matches("large_");
        match way {
            "fine" => {
                let content = json!([{"type": "text", "text": "fine"}]);
                let frame = json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}});
                to.write_all(&whole(&frame)).unwrap();
            }
            "length" | "stuck" => {
                head(to, "application/json", "content-length: 9000000\r\n");
                half(to, id, bytes);
            }
            "chunked" => {
                head(to, "application/json", "transfer-encoding: chunked\r\n");
                to.write_all(b"800000\r\n").unwrap();
                half(to, id, bytes);
            }
            // Only the end of the connection marks the end of the body.
            "close" => {
                head(to, "application/json", "connection: close\r\n");
                half(to, id, bytes);
            }
            "events" => {
                head(to, "text/event-stream", "connection: close\r\n");
                to.write_all(b"data: ").unwrap();
                half(to, id, bytes);
            }
            _ => {} // "nothing", "silent"
        }
        if ["stuck", "silent"].contains(&way) {
            // The connection stays open, but nothing more is sent.
            std::thread::park();
        }
    })
}

/// Starts the gateway in front of that server.
fn session(tool: &Tool, more: &str) -> Session {
    let config = tool.home().join("spillgate.toml");
    let text = format!("[servers.far]\nurl = \"{}\"\n{more}", breaking());
    std::fs::write(&config, text).unwrap();
    let command = tool.command(&["mcp", "--config", config.to_str().unwrap()]);
    let mut session = Session::of(command);
    greet(&mut session);
    session
}

#[test]
fn a_connection_cut_amid_the_answer() {
    let tool = Tool::new();
    let mut session = session(&tool, "");
    let mut said = String::new();
    for way in ["nothing", "length", "chunked", "close", "events"] {
        for name in [way.to_owned(), format!("large_{way}")] {
            let told = called(&mut session, &name);
            said += &format!("{name}: {}\n", without_port(&told));
            assert_eq!(called(&mut session, "fine"), "fine", "after {name}");
        }
    }
    until("the store is empty", || files(&tool.store()).is_empty());
    session.end();
    assert_snapshot!(said, @r#"
    nothing: -32000 "the upstream server `far` could not be reached: the connection broke before an answer came (http://127.0.0.1:PORT/mcp: connection closed before message completed)" {"fault":"upstream","server":"far"}
    large_nothing: -32000 "the upstream server `far` could not be reached: the connection broke before an answer came (http://127.0.0.1:PORT/mcp: connection closed before message completed)" {"fault":"upstream","server":"far"}
    length: -32000 "the upstream server `far` could not be reached: the answer was cut off (end of file before message length reached)" {"fault":"upstream","server":"far"}
    large_length: -32000 "the upstream server `far` could not be reached: the answer was cut off (end of file before message length reached)" {"fault":"upstream","server":"far"}
    chunked: -32000 "the upstream server `far` could not be reached: the answer was cut off (end of file before message length reached)" {"fault":"upstream","server":"far"}
    large_chunked: -32000 "the upstream server `far` could not be reached: the answer was cut off (end of file before message length reached)" {"fault":"upstream","server":"far"}
    close: -32000 "the upstream server `far` could not be reached: the answer was cut off (the connection was closed)" {"fault":"upstream","server":"far"}
    large_close: -32000 "the upstream server `far` could not be reached: the answer was cut off (the connection was closed)" {"fault":"upstream","server":"far"}
    events: -32000 "the upstream server `far` could not be reached: it closed the stream before the answer" {"fault":"upstream","server":"far"}
    large_events: -32000 "the upstream server `far` could not be reached: it closed the stream before the answer" {"fault":"upstream","server":"far"}
    "#);
}

/// Masks the port of the server's address.
fn without_port(text: &str) -> String {
    let Some((before, after)) = text.split_once("127.0.0.1:") else {
        return text.to_owned();
    };
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}127.0.0.1:PORT{after}")
}

#[test]
fn a_server_that_is_silent_for_ever() {
    let tool = Tool::new();
    let mut session = session(&tool, "timeout = \"1s\"\n");
    let names = ["silent", "stuck", "large_stuck"];
    let said: Vec<String> = names
        .iter()
        .map(|name| called(&mut session, name))
        .collect();
    assert_eq!(called(&mut session, "fine"), "fine");
    until("the store is empty", || files(&tool.store()).is_empty());
    session.end();
    assert_snapshot!(said.join("\n"), @r#"
    -32001 "the upstream server `far` has not answered `tools/call` for 1 s" {"fault":"upstream","server":"far"}
    -32001 "the upstream server `far` has not answered `tools/call` for 1 s" {"fault":"upstream","server":"far"}
    -32001 "the upstream server `far` has not answered `tools/call` for 1 s" {"fault":"upstream","server":"far"}
    "#);
}
