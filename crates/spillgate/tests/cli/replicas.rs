//! Tests of several gateways on one store: what one of them has stored or told, all others know.

use std::fs;

use serde_json::{Value, json};

use super::serve::Served;
use super::tool::Tool;

/// A server of both generations with three tools: a large text, a recording, and one that returns the
/// request. It has no resources.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *\"server/discover\"*) answer='{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}';;
    *\"initialize\"*) answer='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *\"tools/list\"*) answer='{"resultType":"complete","tools":[{"name":"big","inputSchema":{"type":"object"}},{"name":"sound","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}';;
    *\"name\":\"big\"*) answer='{"resultType":"complete","content":[{"type":"text","text":"'$(seq -s '\n' 1 20000)'"}]}';;
    *\"name\":\"sound\"*) answer='{"resultType":"complete","content":[{"type":"audio","mimeType":"audio/wav","data":"'$(head -c 60000 /dev/zero | tr '\0' A)'"}]}';;
    *\"name\":\"echo\"*) answer='{"resultType":"complete","content":[],"structuredContent":'$line'}';;
    *\"id\":*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id"; continue;;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done"#;

/// Gateways with one bucket. Each has a home and a cache of its own, as on another machine.
struct Replicas {
    directory: tempfile::TempDir,
}

struct Replica {
    _home: Tool,
    served: Served,
}

impl Replicas {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn start(&self) -> Replica {
        let home = Tool::new();
        let config = home.home().join("spillgate.toml");
        let lists = "list_tools = \"when_stored\"\nby_reference = [\"echo\"]\n";
        fs::write(&config, lists).unwrap();
        let args = [
            "mcp",
            "--http",
            "127.0.0.1:0",
            "--config",
            config.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            SERVER,
        ];
        let mut command = home.command(&args);
        let bucket = self.directory.path().join("bucket");
        command.env("SPILLGATE_STORE", format!("file://{}", bucket.display()));
        let served = Served::of(command, 1);
        Replica {
            _home: home,
            served,
        }
    }
}

/// Returns the message in the body of an answer, which may be an event stream.
fn message(body: &str) -> Value {
    let data = body.lines().rev().find_map(|line| {
        let data = line.strip_prefix("data:").unwrap_or(line).trim();
        data.starts_with('{').then_some(data)
    });
    serde_json::from_str(data.unwrap_or_default()).unwrap_or_else(|_| panic!("{body:?}"))
}

impl Replica {
    /// Sends a request that belongs to no session.
    fn modern(&self, method: &str, params: Value) -> Value {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map_or_else(String::new, |name| format!("mcp-name: {name}\r\n"));
        let head = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}");
        self.post(&head, method, &params).1
    }

    /// Sends a request of a session; returns the head of the answer and the answer.
    fn legacy(&self, session: &str, method: &str, params: &Value) -> (String, Value) {
        let session = match session {
            "" => String::new(),
            id => format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n"),
        };
        self.post(&session, method, params)
    }

    fn post(&self, head: &str, method: &str, params: &Value) -> (String, Value) {
        const TYPES: &str =
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let (head, body) =
            self.served
                .answer("POST /mcp", &format!("{TYPES}{head}"), frame.as_bytes());
        (head, message(&body))
    }

    /// Begins a session; returns its id.
    fn begin(&self) -> String {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let (head, _) = self.legacy("", "initialize", &params);
        let id = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then_some(value)
        });
        id.unwrap().to_owned()
    }
}

fn called(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

/// Returns the handle that a preview names.
fn handle(answer: &Value) -> String {
    let text = text(answer);
    let after = text
        .split_once("handle=\"")
        .unwrap_or_else(|| panic!("{text}"));
    after.1.split('"').next().unwrap().to_owned()
}

/// The look-ups of a stored list of numbers, and what their answers contain.
fn look_ups(handle: &str) -> [(&'static str, Value, &'static str); 4] {
    [
        (
            "spillgate_read",
            json!({"handle": handle, "start": 17000, "lines": 1}),
            "17000",
        ),
        (
            "spillgate_grep",
            json!({"handle": handle, "pattern": "^17001$"}),
            "17001",
        ),
        (
            "spillgate_search",
            json!({"handle": handle, "query": "17002"}),
            "17002",
        ),
        (
            "spillgate_query",
            json!({"handle": handle, "filter": "length"}),
            "20000",
        ),
    ]
}

#[test]
fn any_replica_answers_any_stateless_request() {
    let replicas = Replicas::new();
    let maker = replicas.start();
    let stored = handle(&maker.modern("tools/call", called("big", &json!({}))));
    let sound = maker.modern("tools/call", called("sound", &json!({})));
    let sound = &sound["result"]["content"][0]["uri"];
    // Each of these reaches a replica that has not answered anything yet.
    let first = |method, params: Value| replicas.start().modern(method, params);
    for (tool, arguments, part) in look_ups(&stored) {
        let answer = first("tools/call", called(tool, &arguments));
        assert!(text(&answer).contains(part), "{tool}: {answer}");
    }
    let read = first("resources/read", json!({"uri": sound}));
    let blob = read["result"]["contents"][0]["blob"].as_str();
    assert_eq!(blob.map(str::len), Some(60_000), "{read}");
    let page = json!({"uri": format!("spillgate://artifact/{stored}")});
    let page = first("resources/read", page);
    let page = page["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(page.contains("[lines 1-"), "{page}");
    for (method, list) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let answer = first(method, json!({}));
        assert_eq!(answer["result"][list], json!([]), "{answer}");
    }
    // The schema of the tool says that the argument is a number.
    let reference = json!({"n": {"$spill": stored, "lines": "17003-17003"}});
    let echoed = first("tools/call", called("echo", &reference));
    let received = &echoed["result"]["structuredContent"]["params"]["arguments"];
    assert_eq!(*received, json!({"n": 17003}), "{echoed}");
    // Whether this replica has stored something does not matter.
    let listed = first("tools/list", json!({}));
    assert!(listed.to_string().contains("spillgate_read"), "{listed}");
}

#[test]
fn sessions_read_what_sessions_of_other_replicas_stored() {
    let replicas = Replicas::new();
    let [maker, other] = [replicas.start(), replicas.start()];
    let [here, there] = [maker.begin(), other.begin()];
    let stored = handle(
        &maker
            .legacy(&here, "tools/call", &called("big", &json!({})))
            .1,
    );
    for (tool, arguments, part) in look_ups(&stored) {
        let (_, answer) = other.legacy(&there, "tools/call", &called(tool, &arguments));
        assert!(text(&answer).contains(part), "{tool}: {answer}");
    }
    // A session stays with its replica. Another replica answers 404, so that the client starts a new session.
    let (head, lost) = other.legacy(&here, "tools/list", &json!({}));
    assert!(head.contains(" 404 "), "{head}");
    let told = lost["error"]["message"].as_str().unwrap();
    assert!(told.contains("begin another with initialize"), "{told}");
}
