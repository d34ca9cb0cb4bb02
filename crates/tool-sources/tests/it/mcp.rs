//! Tests the tools of MCP servers: a process on standard streams, and servers over HTTP.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_agent::{Host, OpKind, Span};
use spillgate_store::{FileStore, Lifetime};
use spillgate_testkit::StoppedClock;
#[cfg(target_os = "linux")]
use spillgate_tool_sources::{Leftovers, McpError, McpTools, OPENING};
use spillgate_transport::{
    Access, Connector, FrameReader, HttpServer, ServerCommand, ServerSpec, StandardConnector,
    Transport,
};
use spillgate_upstream::{Server, ToolFilter};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use crate::web::client;
use crate::{call, called, told};

/// Size, in bytes, of a result that is too large for memory.
const LARGE: u64 = 64 << 20;

const LINE: &str = "a line of text\n";

/// A server that writes every message that it receives to `$LOG`.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { say '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
any='"inputSchema":{"type":"object"}'
more=
while read -r line; do
  printf '%s\n' "$line" >> "$LOG"
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"},"instructions":"Be kind."}';;
    *'"tools/list"'*'"cursor"'*) say '{"tools":[{"name":"slow",'"$any"'}'"$more"']}';;
    *'"tools/list"'*) say '{"tools":[{"name":"echo","description":"Says it again",'"$any"'},{"name":"secret",'"$any"'}],"nextCursor":"2"}';;
    *'"name":"die"'*) exit 3;;
    *'"name":"slow"'*) ;;
    *'"name":"grow"'*) more=',{"name":"new",'"$any"'}'; printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'; text grown;;
    *'"name":"ask"'*) call=$id
      printf '{"jsonrpc":"2.0","id":"p","method":"ping"}\n{"jsonrpc":"2.0","id":"r","method":"roots/list"}\n'
      read -r one; read -r two
      printf '%s\n%s\n' "$one" "$two" >> "$LOG"
      id=$call; text asked;;
    *'"name":"fail"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such thing","data":{"known":["echo"]}}}\n' "$id";;
    *'"name":"bad"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[\n' "$id";;
    *'"name":"large"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
      head -c 67108864 /dev/zero | tr '\0' x
      printf '"}]}}\n';;
    *'"tools/call"'*) text "it works";;
  esac
done"#;

/// A directory with a server's script, its log and a store.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("server.sh"), SERVER).unwrap();
        Self { directory }
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn heard(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Waits until the server has received a message that contains `what`.
    async fn hears(&self, what: &str) {
        while !self.heard().contains(what) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn script(&self) -> Transport {
        let script = self.directory.path().join("server.sh");
        Transport::Command(ServerCommand {
            program: "sh".to_owned(),
            arguments: vec![script.display().to_string()],
            env: BTreeMap::from([("LOG".to_owned(), self.log().display().to_string())]),
            ..ServerCommand::default()
        })
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let base = self.directory.path().join("store");
        let store = FileStore::new(base, Lifetime::Durable, Arc::new(StoppedClock::default()));
        let access = |_: &HttpServer| {
            Ok(Access {
                client: client(),
                authority: None,
            })
        };
        let frame_reader = FrameReader::new(Arc::new(store));
        Arc::new(StandardConnector::new(frame_reader, Arc::new(access), true))
    }

    async fn open(&self, server: Server) -> Result<McpTools, McpError> {
        let mut opened = Leftovers::default()
            .open_all(&self.connector(), &[server], OPENING)
            .await;
        opened.remove(0)
    }

    async fn server(&self) -> McpTools {
        self.open(server("s", self.script())).await.unwrap()
    }

    /// Returns the files of the store, except for locks and directories.
    fn stored(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.directory.path().join("store")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let bytes = fs::metadata(&path).unwrap().len();
                match path.is_dir() {
                    true => folders.push(path),
                    false if bytes > 1 << 20 => files.push(path),
                    false => {}
                }
            }
        }
        files
    }
}

fn server(name: &str, transport: Transport) -> Server {
    Server::new(ServerSpec {
        name: name.to_owned(),
        transport,
    })
}

fn names(host: &McpTools) -> String {
    let names: Vec<String> = host.tools().into_iter().map(|tool| tool.name).collect();
    names.join(" ")
}

#[tokio::test]
async fn a_server_is_used() {
    let place = Place::new();
    let host = place.server().await;
    assert_eq!(names(&host), "echo secret slow");
    assert_eq!(host.instructions(), Some("Be kind."));
    assert_eq!(host.tools()[0].description, "Says it again");
    let mut all = Vec::new();
    for (tool, arguments) in [
        ("echo", "{\"n\": 1.0}"),
        ("echo", ""),
        ("echo", "[]"),
        ("fail", "{}"),
        ("bad", "{}"),
        ("spillgate_read", "{}"),
        ("die", "{}"),
    ] {
        all.push(told(&host, tool, arguments).await);
    }
    assert_snapshot!(all.join("\n"), @r#"
    it works
    it works
    ERROR The arguments are no JSON object; write them as the tool's schema says.
    ERROR no such thing
    {"known":["echo"]}
    ERROR the upstream server `s` answered with a message of 46 bytes that cannot be read
    it works
    ERROR the upstream server `s` exited with status 3 before it answered
    "#);
    assert!(
        place
            .heard()
            .contains("\"arguments\":{\"n\": 1.0},\"_meta\":{\"progressToken\":")
    );
    host.close(false).await;
    assert_eq!(
        told(&host, "echo", "{}").await,
        "ERROR The server `s` was closed."
    );
}

#[tokio::test]
async fn a_server_that_ended_is_started_again() {
    let place = Place::new();
    let host = place.server().await;
    told(&host, "die", "{}").await;
    while told(&host, "echo", "{}").await != "it works" {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(place.heard().matches("\"initialize\"").count(), 2);
    host.close(true).await;
}

#[tokio::test]
async fn what_a_server_asks_is_answered() {
    let place = Place::new();
    let host = place.server().await;
    assert_eq!(told(&host, "ask", "{}").await, "asked");
    let heard = place.heard();
    let answers: Vec<&str> = heard
        .lines()
        .filter(|line| line.contains("\"id\":\""))
        .collect();
    assert_snapshot!(answers.join("\n"), @r#"
    {"jsonrpc":"2.0","id":"p","result":{}}
    {"jsonrpc":"2.0","id":"r","error":{"code":-32601,"message":"this client does not know `roots/list`"}}
    "#);
    host.close(true).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    let place = Place::new();
    let host = place.server().await;
    let slow = call("slow", "{}");
    let span = Span::root(OpKind::Agent, "test");
    tokio::select! {
        given = host.call(&slow, span.scope()) => panic!("{given:?}"),
        () = place.hears("\"name\":\"slow\"") => {}
    }
    place.hears("notifications/cancelled").await;
    let heard = place.heard();
    let told: Vec<&str> = heard
        .lines()
        .filter(|line| line.contains("cancelled"))
        .collect();
    assert_snapshot!(told.join("\n"), @r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"nobody waits for it any more"}}"#);
    assert_eq!(self::told(&host, "echo", "{}").await, "it works");
    host.close(true).await;
}

#[tokio::test]
async fn tools_that_change_are_listed_again() {
    let place = Place::new();
    let host = place.server().await;
    assert_eq!(told(&host, "grow", "{}").await, "grown");
    while names(&host) != "echo secret slow new" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    host.close(true).await;
}

#[tokio::test]
async fn only_some_tools_may_be_used() {
    let place = Place::new();
    let filtered = Server {
        tools: ToolFilter::new(&[], &["secret".to_owned()]).unwrap(),
        ..server("s", place.script())
    };
    let host = place.open(filtered).await.unwrap();
    assert_eq!(names(&host), "echo slow");
    let refused = told(&host, "secret", "{}").await;
    assert_eq!(
        refused,
        "ERROR the configuration of this gateway does not allow the tool `secret`"
    );
    host.close(true).await;
}

#[tokio::test]
async fn a_large_result_streams_and_leaves_nothing_behind() {
    let place = Place::new();
    let host = place.server().await;
    let mut given = called(&host, "large", "{}").await;
    assert!(!given.is_error);
    assert!(!place.stored().is_empty(), "it is not in the store");
    let read = spawn_blocking(move || {
        let mut first = [0; 3];
        given.body.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"xxx");
        std::io::copy(&mut given.body, &mut std::io::sink()).unwrap()
    });
    assert_eq!(read.await.unwrap(), LARGE - 3);
    assert_eq!(place.stored(), Vec::<PathBuf>::new());
    host.close(true).await;
}

#[tokio::test]
async fn servers_that_do_not_start() {
    let place = Place::new();
    let shell = |script: &str| {
        Transport::Command(ServerCommand {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            ..ServerCommand::default()
        })
    };
    let error = r#"read line; printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"too old"}}\n'; cat"#;
    let empty = r#"read line; printf '{"jsonrpc":"2.0","id":1,"result":{}}\n'; cat"#;
    let servers = [
        server(
            "gone",
            Transport::Command(ServerCommand {
                program: "no-such-program".to_owned(),
                ..ServerCommand::default()
            }),
        ),
        server(
            "ends",
            shell("echo loading >&2; echo 'no such directory' >&2; exit 3"),
        ),
        server("refuses", shell(error)),
        server("odd", shell(empty)),
        server("silent", shell("cat > /dev/null")),
        server("fine", place.script()),
    ];
    let opened = Leftovers::default()
        .open_all(&place.connector(), &servers, Duration::from_secs(3))
        .await;
    let told = opened.iter().map(|one| match one {
        Ok(host) => format!("{} has {}", host.name(), names(host)),
        Err(error) => error.to_string(),
    });
    assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
    the MCP server `gone` could not be started: `no-such-program`: No such file or directory (os error 2)
    the MCP server `ends` exited with status 3 (its last words: loading / no such directory)
    the MCP server `refuses` refused `initialize`: too old
    the MCP server `odd` answered `initialize` with an invalid result: missing field `protocolVersion`
    the MCP server `silent` was not ready within 3 s
    fine has echo secret slow
    ");
}

#[tokio::test]
async fn a_server_by_http() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", axum::routing::post(by_http));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let place = Place::new();
    let transport = Transport::Http(HttpServer {
        url: url.clone(),
        headers: BTreeMap::new(),
    });
    let host = place.open(server("web", transport)).await.unwrap();
    let mut all = Vec::new();
    for tool in ["echo", "refused", "limited"] {
        all.push(told(&host, tool, "{}").await);
    }
    assert_snapshot!(all.join("\n"), @"
    by HTTP
    ERROR The server `web` does not let us in (HTTP status 401); check the header or the token that it is given.
    ERROR too often
    ");
    // The gateway would store both results. One fits in memory, the other does not.
    for lines in [10_000, 500_000] {
        let told = told(&host, "lines", &json!({"n": lines}).to_string()).await;
        assert!(told == LINE.repeat(lines), "{lines}");
    }
    let elsewhere = Transport::Http(HttpServer {
        url: url.replace("/mcp", "/other"),
        headers: BTreeMap::new(),
    });
    let error = place.open(server("other", elsewhere)).await.unwrap_err();
    assert_snapshot!(error.to_string(), @"the MCP server `other` has no MCP at that address (HTTP status 404); check its url");
}

#[tokio::test]
async fn a_server_that_refuses_to_be_greeted_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let has_forgotten = Arc::new(AtomicBool::new(false));
    let answer = move |body: String| {
        let message: Value = serde_json::from_str(&body).unwrap();
        let is_call = message["method"] == "tools/call";
        let status = match has_forgotten.fetch_or(is_call, Ordering::SeqCst) {
            true => Some(StatusCode::UNAUTHORIZED),
            false => is_call.then_some(StatusCode::NOT_FOUND),
        };
        std::future::ready(match status {
            Some(status) => status.into_response(),
            None => ([("mcp-session-id", "s")], by_http_named(&message, false)).into_response(),
        })
    };
    let router = Router::new().route("/mcp", axum::routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let place = Place::new();
    let headers = BTreeMap::new();
    let transport = Transport::Http(HttpServer { url, headers });
    let host = place.open(server("web", transport)).await.unwrap();
    drop(told(&host, "first", "{}").await); // the session is lost by this call
    assert_snapshot!(told(&host, "first", "{}").await, @"ERROR the upstream server `web` returned the HTTP status 401 before it answered");
    host.close(true).await;
}

#[tokio::test]
async fn large_messages_beside_an_answer_are_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let answer = move |body: String| {
        let message: Value = serde_json::from_str(&body).unwrap();
        if message["method"].is_null() {
            heard.send(body).unwrap();
        }
        std::future::ready(by_stream(&message))
    };
    let router = Router::new().route("/mcp", axum::routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let place = Place::new();
    let headers = BTreeMap::new();
    let transport = Transport::Http(HttpServer { url, headers });
    let host = place.open(server("web", transport)).await.unwrap();
    assert_eq!(names(&host), "first");
    for beside in ["log", "roots", "changed"] {
        assert_eq!(told(&host, beside, "{}").await, "the result", "{beside}");
    }
    let answered = hears.recv().await.unwrap();
    assert!(
        answered.contains("does not know `roots/list`"),
        "{answered}"
    );
    while names(&host) != "first second" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    host.close(true).await;
}

/// Answers a call with a stream in which a large message comes before the result.
fn by_stream(message: &Value) -> Response {
    static CHANGED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let large = "x".repeat(6 << 20);
    let beside = match message["params"]["name"].as_str() {
        Some("log") => {
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": large}})
        }
        Some("roots") => {
            json!({"jsonrpc": "2.0", "id": "r", "method": "roots/list", "params": {"_meta": {"x": large}}})
        }
        Some("changed") => {
            CHANGED.store(true, std::sync::atomic::Ordering::SeqCst);
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {"x": large}}})
        }
        _ => return by_http_named(message, CHANGED.load(std::sync::atomic::Ordering::SeqCst)),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": text("the result")});
    let events = format!("data: {beside}\n\ndata: {answer}\n\n");
    ([("content-type", "text/event-stream")], events).into_response()
}

/// Answers messages other than tool calls. If `has_changed`, the server's tool has another name
/// than before.
fn by_http_named(message: &Value, has_changed: bool) -> Response {
    let tools = match has_changed {
        true => json!([{"name": "first"}, {"name": "second"}]),
        false => json!([{"name": "first"}]),
    };
    let result = match message["method"].as_str() {
        Some("initialize") => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "w", "version": "1"}})
        }
        Some("tools/list") => json!({"tools": tools}),
        _ => return axum::http::StatusCode::ACCEPTED.into_response(),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    as_json(&answer).into_response()
}

/// Waits until a process that was killed has ended.
#[cfg(target_os = "linux")]
async fn is_gone(process: &str) {
    while is_alive(process) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A launcher that starts a process which does not end with the launcher.
#[cfg(target_os = "linux")]
const LAUNCHER: &str = r#"sleep 987654 & echo $! > "$LOG.new"; mv "$LOG.new" "$LOG"; wait"#;

/// Returns whether a process is alive and not a zombie.
#[cfg(target_os = "linux")]
fn is_alive(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn servers_that_did_not_open_leave_nothing_behind() {
    let place = Place::new();
    let launcher = || {
        let Transport::Command(command) = place.script() else {
            panic!("it is a command")
        };
        let arguments = vec!["-c".to_owned(), LAUNCHER.to_owned()];
        server(
            "s",
            Transport::Command(ServerCommand {
                arguments,
                ..command
            }),
        )
    };
    let leftovers = Leftovers::default();
    let (connector, servers) = (place.connector(), [launcher()]);
    tokio::select! {
        _ = leftovers.open_all(&connector, &servers, OPENING) => panic!("it never greets"),
        () = place.hears("\n") => {}
    }
    let started = place.heard();
    assert!(is_alive(&started));
    leftovers.ended().await;
    is_gone(&started).await;
    fs::remove_file(place.log()).unwrap();
    let opened = Leftovers::default()
        .open_all(&connector, &servers, Duration::from_secs(2))
        .await;
    assert!(opened[0].is_err());
    is_gone(&place.heard()).await;
}

/// A server that answers with JSON instead of a stream.
async fn by_http(body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let status = |code: u16| axum::http::StatusCode::from_u16(code).unwrap();
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let result = match (
        message["method"].as_str(),
        message["params"]["name"].as_str(),
    ) {
        (Some("initialize"), _) => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}})
        }
        (Some("tools/list"), _) => json!({"tools": [{"name": "echo"}]}),
        (_, Some("echo")) => text("by HTTP"),
        (_, Some("lines")) => {
            let lines = message["params"]["arguments"]["n"].as_u64().unwrap();
            text(&LINE.repeat(usize::try_from(lines).unwrap()))
        }
        (_, Some("refused")) => return (status(401), "who are you?").into_response(),
        (_, Some("limited")) => {
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": "too often"}});
            return (status(429), as_json(&error)).into_response();
        }
        _ => return status(202).into_response(),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    as_json(&answer).into_response()
}

fn as_json(value: &Value) -> impl IntoResponse + use<> {
    ([("content-type", "application/json")], value.to_string())
}
