//! Tests of `spillgate mcp --lookups`: the look-up tools as a server of their own in a client's
//! configuration.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::session::{LARGE, Session, names};
use super::tool::{Tool, feed};

/// A client's file with one wrapped server.
fn wrapped() -> (Tool, PathBuf) {
    let tool = Tool::new();
    let file = tool.home().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let servers = json!({"mcpServers": {"a": {"command": "sh", "args": ["-c", LARGE]}}});
    fs::write(&file, servers.to_string()).unwrap();
    let output = tool.run(&["wrap", "cursor"], b"");
    assert!(output.status.success(), "{output:?}");
    (tool, file)
}

/// Starts a server as its client does.
fn started(tool: &Tool, file: &PathBuf, name: &str) -> Session {
    let values: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let args = values["mcpServers"][name]["args"].as_array().unwrap();
    let args: Vec<&str> = args.iter().map(|one| one.as_str().unwrap()).collect();
    let mut session = Session::of(tool.command(&args));
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    session.send(1, "initialize", &hello);
    assert!(session.receive()["result"]["capabilities"]["tools"].is_object());
    // The gateway would forward the notification to the server `a`, a shell script that would answer
    // it like `initialize`.
    if name == "spillgate" {
        session.notify("notifications/initialized", &json!({}));
    }
    session
}

/// Returns the names of the wrapped server's tools with the look-ups that a preview names, and the
/// handle of the previewed result.
fn ways_on(tool: &Tool, file: &PathBuf) -> (String, String) {
    let mut session = started(tool, file, "a");
    session.send(2, "tools/list", &json!({}));
    let listed = names(&session.receive()).join(" ");
    session.send(3, "tools/call", &json!({"name": "big", "arguments": {}}));
    let result = session.receive();
    let text = result["result"]["content"][0]["text"].as_str().unwrap();
    let next: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("next:"))
        .collect();
    let handle = text.lines().next().unwrap().rsplit(' ').next().unwrap();
    session.end();
    (
        format!("{listed}\n{}", next.join("\n").replace(handle, "HANDLE")),
        handle.to_owned(),
    )
}

#[test]
fn previews_name_what_can_be_reached() {
    let (tool, file) = wrapped();
    let (with, handle) = ways_on(&tool, &file);
    let mut lookups = started(&tool, &file, "spillgate");
    lookups.send(2, "tools/list", &json!({}));
    let listed = names(&lookups.receive()).join(" ");
    let found = lookups.call(
        "spillgate_grep",
        &json!({"handle": handle, "pattern": "777[0-2]"}),
    );
    assert!(found.contains("7771"), "{found}");
    lookups.end();
    // First the entry is switched off, then it is removed.
    let text = fs::read_to_string(&file).unwrap();
    let mut values: Value = serde_json::from_str(&text).unwrap();
    values["mcpServers"]["spillgate"]["disabled"] = true.into();
    fs::write(&file, values.to_string()).unwrap();
    let (off, _) = ways_on(&tool, &file);
    let report = tool.run(&["doctor", "cursor", "--no-start"], b"");
    let told = String::from_utf8(report.stdout).unwrap();
    let broken: Vec<&str> = told
        .lines()
        .skip_while(|line| !line.contains("broken"))
        .take(2)
        .collect();
    values["mcpServers"]
        .as_object_mut()
        .unwrap()
        .remove("spillgate");
    fs::write(&file, values.to_string()).unwrap();
    assert_eq!(ways_on(&tool, &file).0, off);
    let store = tool.store().display().to_string();
    assert_snapshot!(format!("{with}\n---\n{listed}\n---\n{}\n---\n{}", off.replace(&store, "STORE"), broken.join("\n")), @r#"
    big
    next: spillgate_read(handle="HANDLE", start=71, lines=40)
    ---
    spillgate_read spillgate_grep spillgate_query spillgate_search
    ---
    big
    next: spillgate read HANDLE --start 71 --lines 40
    ---
      broken "spillgate", which offers the look-up tools, is switched off; until this is corrected, previews name `spillgate` commands in place of tools
             fix: switch "spillgate" on in Cursor
    "#);
}

#[test]
fn without_servers_there_are_the_look_up_tools() {
    let tool = Tool::new();
    // The client closes its input without a message.
    let output = feed(tool.command(&["mcp"]), b"");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("only the look-up tools are offered"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let mut session = Session::of(tool.command(&["mcp"]));
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    session.send(1, "initialize", &hello);
    session.receive();
    session.notify("notifications/initialized", &json!({}));
    session.send(2, "tools/list", &json!({}));
    assert_snapshot!(names(&session.receive()).join(" "), @r#"spillgate_read spillgate_grep spillgate_query spillgate_search"#);
    session.end();
}
