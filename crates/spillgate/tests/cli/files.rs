//! Tests of `fs-mcp` with frames on standard streams, as a client sends them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::tool::Tool;

/// A running server on the directory `root`, beside which there is a file `secret`.
struct Session {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Session {
    fn start(tool: &Tool, options: &[&str]) -> Self {
        let root = tool.home().join("root");
        fs::create_dir_all(&root).unwrap();
        fs::write(tool.home().join("secret"), "secret\n").unwrap();
        fs::write(root.join("log.txt"), log(1000)).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        let args = [&["fs-mcp", "--root", root.to_str().unwrap()], options].concat();
        let mut command = tool.command(&args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        Self { child, to, from }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let frame = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        writeln!(self.to, "{frame}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(answer["id"], 7);
        answer["result"].clone()
    }

    fn initialize(&mut self) -> Value {
        let client = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let initialized = self.ask("initialize", &client);
        let frame = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(self.to, "{frame}").unwrap();
        initialized
    }

    fn call(&mut self, name: &str, arguments: &Value) -> String {
        let result = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap();
        match result["isError"] == true {
            true => format!("error: {text}"),
            false => text.to_owned(),
        }
    }

    fn end(mut self) {
        drop(self.to);
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_session_reads_and_greps_and_does_not_get_out() {
    let tool = Tool::new();
    let mut session = Session::start(&tool, &["--max-tokens", "300"]);
    let initialized = session.initialize();
    assert_eq!(initialized["protocolVersion"], "2025-11-25");
    assert_eq!(initialized["serverInfo"]["name"], "spillgate-fs");
    let listed = session.ask("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Read", "Grep"]);
    assert!(
        tools
            .iter()
            .all(|tool| tool["annotations"]["readOnlyHint"] == true)
    );
    let read = json!({"file": "log.txt", "start": "500", "lines": 1});
    assert_snapshot!(session.call("Read", &read), @"
    log.txt [head 501-501/1000]
     501 2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    ");
    assert_snapshot!(session.call("Grep", &json!({"file": "log.txt", "regex": "e\\d{4}", "before": 1, "after": 1})), @"
    500-2026-11-21T10:08:19Z INFO worker-6 processed batch id=51464 ok
    501→2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    502-2026-11-21T10:08:21Z INFO worker-8 processed batch id=67302 ok
    ");
    assert_snapshot!(session.call("Read", &json!({"file": "log.txt"})), @"
    log.txt [head 1-8/1000]
       1 2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok
       2 2026-11-21T10:00:01Z INFO worker-1 processed batch id=7919 ok
       3 2026-11-21T10:00:02Z INFO worker-2 processed batch id=15838 ok
       4 2026-11-21T10:00:03Z INFO worker-3 processed batch id=23757 ok
       5 2026-11-21T10:00:04Z INFO worker-4 processed batch id=31676 ok
       6 2026-11-21T10:00:05Z INFO worker-5 processed batch id=39595 ok
       7 2026-11-21T10:00:06Z INFO worker-6 processed batch id=47514 ok
       8 2026-11-21T10:00:07Z INFO worker-7 processed batch id=55433 ok
    [cut: lines 9-1000 left; Read with start=8]
    ");
    for (file, error) in [
        ("../secret", "\"..\" is not allowed"),
        ("/etc/passwd", "absolute paths are not allowed"),
        ("out", "out: leads out of the root"),
        (".", ".: not a regular file"),
        ("secret", "secret: no such file"),
    ] {
        for name in ["Read", "Grep"] {
            let arguments = json!({"file": file, "regex": "."});
            assert_eq!(session.call(name, &arguments), format!("error: {error}"));
        }
    }
    assert!(
        session
            .call("Write", &json!({"file": "new"}))
            .starts_with("error: there is no such tool")
    );
    session.end();
}

#[test]
fn a_client_of_the_next_generation_needs_no_session() {
    let tool = Tool::new();
    let mut session = Session::start(&tool, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = session.ask("server/discover", &json!({"_meta": meta}));
    let versions = discovered["supportedVersions"].as_array().unwrap();
    assert!(
        versions.iter().any(|version| version == "2026-07-28"),
        "{discovered}"
    );
    let call = json!({"name": "Read", "arguments": {"file": "log.txt", "lines": 1}, "_meta": meta});
    let result = session.ask("tools/call", &call);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("log.txt [head 1-1/1000]\n   1 "), "{text}");
    session.end();
}

#[test]
fn a_root_must_be_a_directory() {
    let tool = Tool::new();
    let (error, code) = tool.error(&["fs-mcp", "--root", "/nowhere/at/all"]);
    assert_eq!((error["kind"].as_str(), code), (Some("root"), 1));
    let file = tool.home().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(
        tool.error(&["fs-mcp", "--root", file.to_str().unwrap()]).1,
        1
    );
}
