//! Tests of `spillgate serve` as a process: its addresses, its guard, and its end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::Value;
use spillgate_testkit::log;

use super::tool::Tool;

/// A running `spillgate serve` or `spillgate mcp --http`.
pub(crate) struct Served {
    pub(crate) child: Child,
    /// The lines that it printed about its addresses.
    said: Vec<String>,
    pub(crate) at: String,
}

impl Served {
    /// Starts a server that prints `lines` lines.
    pub(crate) fn of(mut command: Command, lines: usize) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut from = BufReader::new(child.stderr.take().unwrap());
        let mut said = Vec::new();
        for _ in 0..lines {
            let mut line = String::new();
            from.read_line(&mut line).unwrap();
            said.push(line);
        }
        let at = said[0].split_once("http://").expect("an address").1;
        let at = at.split_once('/').unwrap().0.to_owned();
        std::thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()));
        Self { child, said, at }
    }

    /// Sends a request, and returns the status and the body of the answer.
    pub(crate) fn ask(&self, line: &str, head: &str, body: &[u8]) -> (u16, String) {
        let (head, body) = self.answer(line, head, body);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body)
    }

    /// Asks the process to end.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
    }

    /// Sends a request, and returns the head and the body of the answer.
    pub(crate) fn answer(&self, line: &str, head: &str, body: &[u8]) -> (String, String) {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        let host = match head.contains("host:") {
            true => String::new(),
            false => format!("host: {}\r\n", self.at),
        };
        let length = body.len();
        let head = format!("{line} HTTP/1.0\r\n{host}{head}content-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn what_a_program_stores_the_command_line_reads() {
    let tool = Tool::new();
    let served = Served::of(tool.command(&["serve", "--listen", "0"]), 1);
    let whole = log(3000);
    let (status, body) = served.ask("POST /v1/offload?tool=journal", "", whole.as_bytes());
    assert_eq!(status, 201);
    let answer: Value = serde_json::from_str(&body).unwrap();
    let handle = answer["handle"].as_str().unwrap();
    let raw = tool.run(&["cat", "--raw", handle], b"");
    assert_eq!(raw.stdout, whole.as_bytes());
    // A filter runs in a process of its own.
    let document = format!("[{}0]", "12345,".repeat(4000));
    let (_, body) = served.ask("POST /v1/offload?tool=api", "", document.as_bytes());
    let answer: Value = serde_json::from_str(&body).unwrap();
    let handle = answer["handle"].as_str().unwrap();
    let path = format!("GET /v1/artifacts/{handle}/query?filter=length");
    let (_, body) = served.ask(&path, "accept: text/plain\r\n", b"");
    assert_snapshot!(body, @"
    [results 0-0 of 1, counted from 0]
    4001
    ");
    // Without servers, there is no MCP endpoint.
    assert_eq!(served.ask("POST /mcp", "", b"{}").0, 404);
    assert_eq!(served.ask("GET /healthz", "", b"").0, 200);
}

#[test]
fn one_guard_stands_before_the_api_and_the_mcp_endpoint() {
    let tool = Tool::new();
    let tokens = tool.home().join("tokens");
    fs::write(&tokens, "open-sesame\n").unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let config = tool.home().join("spillgate.toml");
    fs::write(&config, "[servers.files]\ncommand = \"cat\"\n").unwrap();
    let [tokens, config] = [&tokens, &config].map(|path| path.to_str().unwrap());
    let args = [
        "serve",
        "--listen",
        "0",
        "--config",
        config,
        "--token-file",
        tokens,
    ];
    let mut served = Served::of(tool.command(&args), 2);
    assert!(served.said[1].trim().ends_with("/mcp"), "{:?}", served.said);
    let token = "authorization: Bearer open-sesame\r\n";
    let mut all = Vec::new();
    for (line, head) in [
        ("GET /v1/artifacts", token.to_owned()),
        ("GET /v1/artifacts", String::new()),
        (
            "GET /v1/artifacts",
            "authorization: Bearer other\r\n".to_owned(),
        ),
        (
            "GET /v1/artifacts",
            format!("{token}host: evil.example\r\n"),
        ),
        (
            "GET /v1/artifacts",
            format!("{token}origin: https://evil.example\r\n"),
        ),
        ("POST /mcp", String::new()),
    ] {
        let (status, body) = served.ask(line, &head, b"");
        all.push(format!("{line} {status} {body}"));
    }
    assert_snapshot!(all.join("\n"), @r#"
    GET /v1/artifacts 200 {"artifacts":[]}
    GET /v1/artifacts 401 {"status":401,"title":"Unauthorized","kind":"unauthorized","fault":"caller","detail":"Unauthorized: a valid token is needed in the Authorization header"}
    GET /v1/artifacts 401 {"status":401,"title":"Unauthorized","kind":"unauthorized","fault":"caller","detail":"Unauthorized: a valid token is needed in the Authorization header"}
    GET /v1/artifacts 403 {"status":403,"title":"Forbidden","kind":"refused","fault":"caller","detail":"the Host header names another server; allow it with --allow-host if it is this one"}
    GET /v1/artifacts 403 {"status":403,"title":"Forbidden","kind":"refused","fault":"caller","detail":"pages of that Origin may not use this server; allow it with --allow-origin"}
    POST /mcp 401 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Unauthorized: a valid token is needed in the Authorization header"}}
    "#);
    served.terminate();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_open_address_needs_a_token() {
    let tool = Tool::new();
    let (error, code) = tool.error(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(code, 1);
    assert_snapshot!(format!("{}\n{}", error["message"], error["hint"]), @r#"
    "0.0.0.0:0 can be reached from other machines, and no authentication is configured"
    "have clients send a token (--token-file FILE, or [http.auth]), or listen on 127.0.0.1 and put a server with TLS in front; --insecure-no-auth lets everybody in"
    "#);
}

/// Waits until `/readyz` says this.
fn until_ready_says(served: &Served, status: u16, part: &str) {
    let start = Instant::now();
    loop {
        let (got, body) = served.ask("GET /readyz", "", b"");
        if got == status && body.contains(part) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{got} {body}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn after_sigterm_it_drains_and_then_ends() {
    let tool = Tool::new();
    let mut command = tool.command(&["serve"]);
    command
        .env("SPILLGATE_HTTP_LISTEN", "127.0.0.1:0")
        .env("SPILLGATE_HTTP_DRAIN_SECONDS", "1");
    let mut served = Served::of(command, 1);
    until_ready_says(&served, 200, r#"{"status":"ready"}"#);
    let start = Instant::now();
    served.terminate();
    until_ready_says(&served, 503, r#"{"status":"draining"}"#);
    assert_eq!(served.ask("GET /healthz", "", b"").0, 200);
    assert_eq!(
        served.ask("POST /v1/offload?tool=t", "", b"some text").0,
        200
    );
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let tool = Tool::new();
    let mut command = tool.command(&["serve", "--listen", "0"]);
    command.env("SPILLGATE_HTTP_DRAIN_SECONDS", "600");
    let mut served = Served::of(command, 1);
    served.terminate();
    until_ready_says(&served, 503, "draining");
    served.terminate();
    assert_eq!(served.child.wait().unwrap().code(), Some(128 + 15));
}

#[cfg(feature = "objects")]
#[test]
fn without_its_store_it_is_not_ready() {
    let tool = Tool::new();
    let config = tool.home().join("s.toml");
    let patience = "[objects]\nretry_time = \"100ms\"\nconnect_timeout = \"1s\"\n";
    fs::write(&config, patience).unwrap();
    let mut command = tool.command(&["serve", "--listen", "0"]);
    command
        .env("SPILLGATE_CONFIG", &config)
        .env("SPILLGATE_STORE", "s3://secret-bucket/a")
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "wJalr-secret");
    let served = Served::of(command, 1);
    let told = r#"{"reasons":["the store: store_unreachable"],"status":"not ready"}"#;
    until_ready_says(&served, 503, told);
    assert_eq!(served.ask("GET /healthz", "", b"").0, 200);
}

#[test]
fn a_container_is_configured_by_its_environment() {
    let tool = Tool::new();
    let tokens = tool.home().join("tokens");
    fs::write(&tokens, "open-sesame\n").unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = tool.command(&["serve"]);
    command
        .env("SPILLGATE_HTTP_LISTEN", "127.0.0.1:0")
        .env("SPILLGATE_HTTP_ALLOW_HOSTS", "one.example, other.example")
        .env("SPILLGATE_HTTP_TOKEN_FILES", &tokens);
    let served = Served::of(command, 1);
    let token = "authorization: Bearer open-sesame\r\n";
    for (head, status) in [
        (String::new(), 401),
        (token.to_owned(), 200),
        (format!("{token}host: other.example\r\n"), 200),
        (format!("{token}host: third.example\r\n"), 403),
    ] {
        assert_eq!(
            served.ask("GET /v1/artifacts", &head, b"").0,
            status,
            "{head}"
        );
    }
    let mut wrong = tool.command(&["config"]);
    wrong.env("SPILLGATE_HTTP_DRAIN_SECONDS", "soon");
    let told = String::from_utf8(wrong.output().unwrap().stderr).unwrap();
    assert_snapshot!(told, @r#"
    error: SPILLGATE_HTTP_DRAIN_SECONDS = "soon" is not a whole number
    hint: write a number, or unset it
    "#);
    let mut wrong = tool.command(&["config"]);
    wrong.env("SPILLGATE_HTTP_REPLICA", "a.b");
    let told = String::from_utf8(wrong.output().unwrap().stderr).unwrap();
    assert_snapshot!(told, @r#"
    error: SPILLGATE_HTTP_REPLICA: must be 1 to 64 letters, digits, `-` or `_`
    hint: docs/http.md lists what each can be
    "#);
}

#[test]
fn a_required_server_has_to_exist() {
    let tool = Tool::new();
    let config = tool.home().join("spillgate.toml");
    let servers = "[http]\nrequired_servers = [\"file\"]\n[servers.files]\ncommand = \"cat\"\n";
    fs::write(&config, servers).unwrap();
    let args = ["mcp", "--http", "0", "--config", config.to_str().unwrap()];
    let output = tool.command(&args).output().unwrap();
    assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @r#"
    error: `http.required_servers` names "file", and there is no such server
    hint: did you mean `files`?
    "#);
}
