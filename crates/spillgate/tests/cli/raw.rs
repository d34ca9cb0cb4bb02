//! Helpers for HTTP byte by byte: servers that break off and clients that do not read, which no
//! library offers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Limit of all waits. It is far longer than anything here takes, and makes a hanging test fail.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `is_so` holds.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "still not: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Reads the next message of a connection: its head, and its body if it has a length.
fn message(from: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if from.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Answers one call of the tool `name`; then the connection is closed.
type Answer = dyn Fn(&str, &Value, &mut TcpStream) + Send + Sync;

/// Starts an HTTP server whose calls `answer` answers; returns its URL. It runs until the tests
/// end.
pub(crate) fn server(
    answer: impl Fn(&str, &Value, &mut TcpStream) + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer: Arc<Answer> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            std::thread::spawn(move || serve(stream, &*answer));
        }
    });
    url
}

fn serve(stream: TcpStream, answer: &Answer) {
    let mut to = stream.try_clone().unwrap();
    let mut from = BufReader::new(stream);
    while let Some((head, body)) = message(&mut from) {
        if !head.starts_with("post") {
            let none = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n";
            to.write_all(none.as_bytes()).unwrap();
            continue;
        }
        let frame: Value = serde_json::from_slice(&body).unwrap();
        if frame.get("id").is_none() {
            let accepted = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
            to.write_all(accepted.as_bytes()).unwrap();
            continue;
        }
        if frame["method"] == "tools/call" {
            let name = frame["params"]["name"].as_str().unwrap();
            return answer(name, &frame["id"], &mut to);
        }
        let result = match frame["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            }),
            _ => json!({"tools": []}),
        };
        let frame = json!({"jsonrpc": "2.0", "id": frame["id"], "result": result});
        to.write_all(&whole(&frame)).unwrap();
    }
}

/// Returns a complete response. It closes the connection, because another request could cross with
/// its end.
pub(crate) fn whole(frame: &Value) -> Vec<u8> {
    let body = frame.to_string();
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
    format!("{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

/// `spillgate mcp --http`, until it is dropped.
pub(crate) struct Front {
    child: Child,
    at: String,
}

impl Front {
    /// Starts a gateway with this command.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let (_, url) = line.split_once("http://").expect("an address");
        let at = url.trim().strip_suffix("/mcp").unwrap().to_owned();
        // Reads on, because further output would fill the pipe and block the gateway.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, at }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns a client with a session.
    pub(crate) fn begin(&self) -> Client<'_> {
        let mut client = Client {
            front: self,
            session: String::new(),
        };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        });
        let (head, _) = client.ask("initialize", &params);
        let id = head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.expect("a session").clone_into(&mut client.session);
        client
    }
}

impl Front {
    /// Returns a client of 2026-07-28, without a session.
    pub(crate) fn stateless(&self) -> Client<'_> {
        Client {
            front: self,
            session: String::new(),
        }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A client of the gateway, with a connection for each request.
pub(crate) struct Client<'a> {
    front: &'a Front,
    session: String,
}

impl Client<'_> {
    /// Sends a request and reads nothing. The answer ends with the connection, as in HTTP/1.0.
    pub(crate) fn send(&self, method: &str, params: &Value) -> TcpStream {
        let mut params = params.clone();
        let more = match self.session.as_str() {
            "" if method == "initialize" => String::new(),
            "" => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                let name = params["name"].as_str().unwrap_or_default();
                format!(
                    "mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n"
                )
            }
            id => format!("mcp-session-id: {id}\r\n"),
        };
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = frame.to_string();
        let mut stream = TcpStream::connect(&self.front.at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.0\r\nhost: {}\r\n{more}accept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.front.at,
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream
    }

    /// Sends a request and reads the whole answer: head and body.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> (String, String) {
        rest(self.send(method, params), Vec::new())
    }
}

/// Reads the rest of an answer after the part `read`. Returns head and body of the whole answer.
pub(crate) fn rest(mut stream: TcpStream, mut read: Vec<u8>) -> (String, String) {
    stream.read_to_end(&mut read).unwrap();
    let text = String::from_utf8(read).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}
