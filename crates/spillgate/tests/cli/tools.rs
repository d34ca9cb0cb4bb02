//! `spillgate tools`, spoken to as a client speaks, and by hand.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::session::{Session, names};
use super::tool::{Tool, sha256};

/// A directory with a small file and a large one.
fn root(tool: &Tool) -> PathBuf {
    let root = tool.home().join("root");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(root.join("large.log"), log(5000)).unwrap();
    fs::write(tool.home().join("secret"), "secret\n").unwrap();
    root
}

fn start(tool: &Tool, options: &[&str]) -> Session {
    let root = root(tool);
    let mut session = Session::of(
        tool.command(&[&["tools", "--root", root.to_str().unwrap()], options].concat()),
    );
    let client = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    session.send(1, "initialize", &client);
    let greeted = session.receive();
    assert_eq!(greeted["result"]["serverInfo"]["name"], "spillgate-tools");
    session.notify("notifications/initialized", &json!({}));
    session
}

fn listed(session: &mut Session) -> Value {
    session.send(2, "tools/list", &json!({}));
    session.receive()
}

#[test]
fn clients_are_told_what_each_tool_cannot_do_without() {
    let tool = Tool::new();
    let mut session = start(&tool, &[]);
    let list = listed(&mut session);
    let rows: Vec<String> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let hints = &tool["annotations"];
            format!(
                "{} required={} read_only={} open_world={} {}",
                tool["name"],
                tool["inputSchema"]["required"],
                hints["readOnlyHint"],
                hints["openWorldHint"],
                tool["_meta"],
            )
        })
        .collect();
    assert_snapshot!(rows.join("\n"), @"");
    session.end();
    let mut session = start(&tool, &["--only", "glob_files,read_file"]);
    assert_eq!(names(&listed(&mut session)), ["read_file", "glob_files"]);
    assert_snapshot!(session.call("execute_shell", &json!({"command": "id"})), @"");
    session.end();
}

#[test]
fn what_is_too_much_is_refused_with_what_to_do_instead() {
    let tool = Tool::new();
    let mut session = start(&tool, &[]);
    let read = |session: &mut Session, arguments: Value| session.call("read_file", &arguments);
    assert_snapshot!(read(&mut session, json!({"file_path": "large.log"})), @"");
    assert_snapshot!(read(&mut session, json!({"file_path": "large.log", "offset": "500", "limit": 1})), @"");
    assert_snapshot!(read(&mut session, json!({"file_path": "../secret"})), @"");
    assert_snapshot!(session.call("grep_content", &json!({"pattern": "processed"})), @"");
    assert_snapshot!(session.call("grep_content", &json!({"pattern": "quota", "max_results": 5})), @"");
    assert_snapshot!(session.call("execute_shell", &json!({"command": "cat large.log"})), @"");
    assert_snapshot!(session.call("execute_shell", &json!({"command": "tail -n 1 large.log; exit 3"})), @"");
    assert_snapshot!(session.call("web_fetch", &json!({"url": "http://169.254.169.254/latest"})), @"");
    assert_snapshot!(session.call("web_search", &json!({"query": "weather"})), @"");
    session.end();
}

#[test]
fn an_offloaded_output_is_stored_whole_and_can_be_looked_into() {
    let tool = Tool::new();
    let mut session = start(&tool, &["--on-overflow", "offload"]);
    let list = listed(&mut session);
    let ours = ["spillgate_read", "spillgate_grep", "spillgate_query"];
    assert!(ours.iter().all(|one| names(&list).contains(one)), "{list}");
    let told = session.call("execute_shell", &json!({"command": "seq 1 100000"}));
    assert!(
        told.starts_with("[spillgate] execute_shell returned 588895 bytes, 100001 lines"),
        "{told}"
    );
    let handle = told
        .split_once("stored whole as ")
        .unwrap()
        .1
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let line = session.call(
        "spillgate_read",
        &json!({"handle": handle, "start": 99999, "lines": 1}),
    );
    assert_snapshot!(line, @"");
    session.end();
    let stored = tool.run(&["cat", "--raw", &handle], b"").stdout;
    let whole: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(sha256(&stored), sha256(whole.as_bytes()));
}

#[test]
fn a_client_of_the_next_generation_needs_no_session() {
    let tool = Tool::new();
    let root = root(&tool);
    let mut session = Session::of(tool.command(&["tools", "--root", root.to_str().unwrap()]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call =
        json!({"name": "read_file", "arguments": {"file_path": "src/main.rs"}, "_meta": meta});
    session.send(1, "tools/call", &call);
    let answer = session.receive();
    assert_eq!(
        answer["result"]["content"][0]["text"], "fn main() {}\n",
        "{answer}"
    );
    session.end();
}

#[test]
fn tools_can_be_called_by_hand() {
    let tool = Tool::new();
    let root = root(&tool);
    let by_hand = |args: &[&str]| {
        let args = [&["tools", "--root", root.to_str().unwrap()], args].concat();
        let output = tool.run(&args, b"");
        let told = [output.stdout, output.stderr].concat();
        format!(
            "{} {}",
            output.status.code().unwrap(),
            String::from_utf8(told).unwrap()
        )
    };
    let all = [
        by_hand(&["--call", "read_file", r#"{"file_path": "src/main.rs"}"#]),
        by_hand(&["--call", "read_file", r#"{"file_path": "large.log"}"#]),
        by_hand(&["--call", "read_file", "src/main.rs"]),
        by_hand(&["--call", "read_files", "{}"]),
        by_hand(&[
            "--call",
            "execute_shell",
            r#"{"command": "echo hello"}"#,
            "--json",
        ]),
        by_hand(&["--only", "read_file", "--list"]),
    ];
    assert_snapshot!(all.join("\n---\n"), @"");
}

#[test]
fn what_is_set_wrongly_is_said_with_its_place() {
    let tool = Tool::new();
    let root = root(&tool);
    let told = |settings: &str| {
        let config = tool.home().join("guarded.toml");
        fs::write(&config, settings).unwrap();
        let args = [
            "tools",
            "--config",
            config.to_str().unwrap(),
            "--root",
            root.to_str().unwrap(),
            "--list",
        ];
        let output = tool.run(&args, b"");
        assert_ne!(output.status.code(), Some(0), "{settings}");
        String::from_utf8(output.stderr)
            .unwrap()
            .replace(config.to_str().unwrap(), "FILE")
    };
    let all = [
        told("[guarded]\ntools = [\"read_fiel\"]\n"),
        told("[guarded]\nmax_tokens = 0\n"),
        told("[guarded.shell]\ntimeout_seconds = 4000\n"),
        told("[guarded]\non_overflow = \"drop\"\n"),
        told("[guarded.web]\nalow = [\"127.0.0.1:80\"]\n"),
        told("[guarded.search]\nprovider = \"altavista\"\n"),
    ];
    assert_snapshot!(all.join("---\n"), @"");
    let nowhere = tool.run(&["tools", "--root", "nowhere"], b"");
    assert_snapshot!(String::from_utf8(nowhere.stderr).unwrap(), @"");
}
