//! Tests of the logs and traces of a gateway.

use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path_regex};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::agent_lab::{Lab, Step};
use super::session::{LARGE, Session};
use super::tool::Tool;

/// A text that must appear in no log and no trace.
const CANARY: &str = "canary-4711";

/// The ids of the client's trace and of its span.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// A server with one tool whose result contains the canary.
fn server() -> String {
    LARGE.replace("$(seq -s, 1 20000)", &format!("{CANARY}$(seq -s, 1 20000)"))
}

/// Calls the tool as a client does.
fn converse(session: &mut Session) {
    session.send(1, "initialize", &json!({}));
    session.receive();
    let meta = json!({"traceparent": format!("00-{TRACE}-{SPAN}-01")});
    let arguments = json!({"password": CANARY});
    let call = json!({"name": "big", "arguments": arguments, "_meta": meta});
    session.send(3, "tools/call", &call);
    let answer = session.receive().to_string();
    assert!(answer.contains(CANARY), "the preview has it: {answer}");
}

#[test]
fn logs_tell_of_requests_but_not_of_contents() {
    let tool = Tool::new();
    let log = tool.home().join("log");
    let stderr = Stdio::from(std::fs::File::create(&log).unwrap());
    let all = [("SPILLGATE_LOG", "trace"), ("SPILLGATE_LOG_FORMAT", "json")];
    let prompt = r#"*prompts/get*) echo '{"jsonrpc":"2.0","id":4,"result":{"messages":[]}}';;"#;
    let server = server().replace("esac", &format!("  {prompt}\n  esac"));
    let mut session = Session::start_with(&tool, &all, stderr, &server);
    converse(&mut session);
    let params = json!({"name": "greet", "arguments": {"whom": CANARY}});
    session.send(4, "prompts/get", &params);
    session.receive();
    session.end();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains(CANARY), "{log}");
    let lines = log.lines();
    let entries: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let is_over = |entry: &&Value| entry["fields"]["message"] == "a request ended";
    let over = entries.iter().filter(is_over).map(|entry| {
        let fields = &entry["fields"];
        let names = |value: &Value| {
            let members = value.as_object().unwrap();
            members.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        let (told, span) = (names(fields), &entry["span"]);
        let of = [
            &span["server"],
            &span["mcp.method.name"],
            &span["gen_ai.tool.name"],
            &span["gen_ai.prompt.name"],
        ];
        format!(
            "{} {of:?} {}\n  {told}\n  {}\n",
            fields["outcome"],
            span["name"],
            names(span)
        )
    });
    assert_snapshot!(over.collect::<String>(), @r#"
    "ok" [String("sh"), String("initialize"), Null, Null] "request"
      added_us message outcome request_bytes response_bytes upstream_us
      id mcp.method.name name otel.kind otel.name server
    "ok" [String("sh"), String("tools/call"), String("big"), Null] "request"
      added_us message outcome request_bytes response_bytes upstream_us
      gen_ai.operation.name gen_ai.tool.name id mcp.method.name name otel.kind otel.name server
    "ok" [String("sh"), String("prompts/get"), Null, String("greet")] "request"
      added_us message outcome request_bytes response_bytes upstream_us
      gen_ai.prompt.name id mcp.method.name name otel.kind otel.name server
    "#);
}

/// Starts a mock OTLP collector on `runtime`.
fn collector(runtime: &tokio::runtime::Runtime) -> MockServer {
    runtime.block_on(async {
        let collector = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path_regex("^/v1/(logs|metrics|traces)$"))
            .and(header("content-type", "application/x-protobuf"))
            .respond_with(ResponseTemplate::new(200))
            .mount(&collector)
            .await;
        collector
    })
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn has(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[test]
fn spans_join_the_clients_trace() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let collector = collector(&runtime);
    let tool = Tool::new();
    let (endpoint, headers) = (collector.uri(), format!("x-key={CANARY}-key"));
    let all = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", &*headers),
        ("OTEL_SERVICE_NAME", "the-gateway"),
        ("SPILLGATE_LOG", "trace"),
    ];
    let log = tool.home().join("log");
    let stderr = Stdio::from(std::fs::File::create(&log).unwrap());
    let mut session = Session::start_with(&tool, &all, stderr, &server());
    converse(&mut session);
    session.end();
    let mut told = String::new();
    let mut file = std::fs::File::open(log).unwrap();
    file.read_to_string(&mut told).unwrap();
    assert!(!told.contains(CANARY), "{told}");
    let requests = runtime.block_on(collector.received_requests()).unwrap();
    let key = requests[0].headers.get("x-key").unwrap();
    assert_eq!(key.to_str().unwrap(), format!("{CANARY}-key"));
    let body: Vec<u8> = requests.iter().flat_map(|one| one.body.clone()).collect();
    assert!(!has(&body, CANARY.as_bytes()));
    for word in [
        "the-gateway",
        "tools/call big",
        "mcp.method.name",
        "gen_ai.tool.name",
        "execute_tool",
        "network.transport",
        "pipe",
        "store",
    ] {
        assert!(has(&body, word.as_bytes()), "{word}");
    }
    // In an encoded span, field 1 is the trace id (16 bytes) and field 4 the id of the parent (8
    // bytes).
    let joined = [&[0x0a, 16][..], &bytes_of(TRACE)].concat();
    let child = [&[0x22, 8][..], &bytes_of(SPAN)].concat();
    assert!(has(&body, &joined) && has(&body, &child));
}

/// Writes a configuration, and returns its path.
fn configured(tool: &Tool, text: &str) -> String {
    let path = tool.home().join("c.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn the_audit_log_is_sent_to_a_collector() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let collector = collector(&runtime);
    let tool = Tool::new();
    let config = configured(&tool, "[audit]\nto = \"otlp\"\n");
    let endpoint = format!("{}/v1/logs", collector.uri());
    let all = [
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", &*endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=the-key"),
        ("SPILLGATE_CONFIG", &*config),
    ];
    let mut session = Session::start_with(&tool, &all, Stdio::null(), &server());
    converse(&mut session);
    session.end();
    let requests = runtime.block_on(collector.received_requests()).unwrap();
    let key = requests[0].headers.get("x-key").unwrap();
    assert_eq!(key.to_str().unwrap(), "the-key");
    let body: Vec<u8> = requests.iter().flat_map(|one| one.body.clone()).collect();
    for word in [
        "spillgate.audit",
        r#""event":"store","principal":"local","session":"session-"#,
        r#""tool":"big""#,
    ] {
        assert!(has(&body, word.as_bytes()), "{word}");
    }
    assert!(!has(&body, CANARY.as_bytes()));
}

#[test]
fn an_audit_log_without_a_collector_is_refused() {
    let tool = Tool::new();
    let config = configured(&tool, "[audit]\nto = \"otlp\"\n");
    let mut command = tool.command(&["mcp", "--", "cat"]);
    let output = command.env("SPILLGATE_CONFIG", &config).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("none is named"),
        "{said}"
    );
    // Commands that people use do not need one.
    let mut command = tool.command(&["ls"]);
    let output = command.env("SPILLGATE_CONFIG", &config).output().unwrap();
    assert!(output.status.success());
}

#[test]
fn metrics_are_sent_to_a_collector() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let collector = collector(&runtime);
    let tool = Tool::new();
    let config = configured(&tool, "[telemetry]\nmetrics_interval = \"1h\"\n");
    let endpoint = format!("{}/v1/metrics", collector.uri());
    let all = [
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", &*endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=the%20key"),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment.name=test",
        ),
        ("SPILLGATE_CONFIG", &*config),
    ];
    let mut session = Session::start_with(&tool, &all, Stdio::null(), &server());
    converse(&mut session);
    session.end();
    // Those at the end.
    let requests = runtime.block_on(collector.received_requests()).unwrap();
    assert_eq!(requests.len(), 1);
    let key = requests[0].headers.get("x-key").unwrap();
    assert_eq!(key.to_str().unwrap(), "the key");
    for word in [
        "spillgate_requests_total",
        "spillgate_upstream_seconds",
        "spillgate_results_total",
        "offloaded",
        "tools/call",
        "deployment.environment.name",
    ] {
        assert!(has(&requests[0].body, word.as_bytes()), "{word}");
    }
    assert!(!has(&requests[0].body, CANARY.as_bytes()));
}

#[test]
fn metrics_without_a_collector_are_refused() {
    let tool = Tool::new();
    let config = configured(&tool, "[telemetry]\nmetrics_interval = \"1m\"\n");
    let mut command = tool.command(&["mcp", "--", "cat"]);
    let output = command.env("SPILLGATE_CONFIG", &config).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("no collector is named"),
        "{said}"
    );
}

#[test]
fn spans_of_agents_have_the_names_of_the_conventions() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let collector = collector(&runtime);
    let lab = Lab::new(vec![
        Step::Calls(vec![("note", json!({"name": CANARY}))]),
        Step::Reports("done"),
    ]);
    let mut command = lab.command(&["agent.ai", "go"]);
    let command = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.uri());
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"done\n");
    let requests = runtime.block_on(collector.received_requests()).unwrap();
    let body: Vec<u8> = requests.iter().flat_map(|one| one.body.clone()).collect();
    for word in [
        "invoke_agent agent",
        "chat reader",
        "execute_tool note",
        "gen_ai.usage.input_tokens",
        "gen_ai.provider.name",
    ] {
        assert!(has(&body, word.as_bytes()), "{word}");
    }
    assert!(!has(&body, CANARY.as_bytes()));
}
