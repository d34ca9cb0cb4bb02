//! Tests of `wrap`, `unwrap` and `doctor` on the configurations of clients.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use insta::assert_snapshot;
use serde_json::Value;

use crate::tool::{Tool, feed};

/// A server with one tool.
const SERVER: &str = r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}';;
    *tools/list*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"big","inputSchema":{"type":"object"}}]}}';;
  esac
done"#;

const CURSOR: &str = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"true\"}, // a\n    \"b\": {\"url\": \"https://b.example/mcp\", \"auth\": {}}\n  }\n}\n";

fn house(file: &str, text: &str) -> (Tool, PathBuf) {
    let tool = Tool::new();
    let file = tool.home().join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    (tool, file)
}

fn run(tool: &Tool, args: &[&str]) -> Output {
    let mut command = tool.command(args);
    command
        .current_dir(tool.home())
        .env_remove("CODEX_HOME")
        .env_remove("CLAUDE_CONFIG_DIR");
    feed(command, b"")
}

/// Returns the output, with the names of this machine masked, and the exit code.
fn said(tool: &Tool, args: &[&str]) -> String {
    let output = run(tool, args);
    let text = |bytes: &[u8]| masked(tool, &String::from_utf8_lossy(bytes));
    format!(
        "{}--- {}\n{}",
        text(&output.stdout),
        output.status.code().unwrap(),
        text(&output.stderr)
    )
}

fn masked(tool: &Tool, text: &str) -> String {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_spillgate"));
    let text = text
        .replace(
            binary.canonicalize().unwrap().to_str().unwrap(),
            "/SPILLGATE",
        )
        .replace(binary.to_str().unwrap(), "/SPILLGATE")
        .replace(tool.home().to_str().unwrap(), "/HOME")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let names = text
        .split_inclusive('\n')
        .map(|line| match line.find("/spillgate-clients/") {
            Some(at) => format!("{}/spillgate-clients/…\n", &line[..at]),
            None => match line
                .rsplit_once(" in ")
                .filter(|(_, rest)| rest.ends_with(" ms\n"))
            {
                Some((line, _)) => format!("{line} in … ms\n"),
                None => line.to_owned(),
            },
        });
    names.collect()
}

#[test]
fn a_dry_run_writes_nothing() {
    let (tool, file) = house(".cursor/mcp.json", CURSOR);
    assert_snapshot!(said(&tool, &["wrap", "cursor", "--dry-run"]), @r#"
    --- /HOME/.cursor/mcp.json
    +++ /HOME/.cursor/mcp.json
    @@ -1,6 +1,13 @@
     {
       "mcpServers": {
    -    "a": {"command": "true"}, // a
    -    "b": {"url": "https://b.example/mcp", "auth": {}}
    +    "a": {
    +      "command": "/SPILLGATE",
    +      "args": ["mcp", "--name", "a", "--lookups-in", "cursor=/HOME/.cursor/mcp.json", "--", "true"]
    +    }, // a
    +    "b": {"url": "https://b.example/mcp", "auth": {}},
    +    "spillgate": {
    +      "args": ["mcp", "--lookups"],
    +      "command": "/SPILLGATE"
    +    }
       }
     }
    --- 0
    /HOME/.cursor/mcp.json
      wrapped         a (user)
      left alone      b (user): the client logs in to it by OAuth (`auth`)
      added           spillgate (user): it offers the look-up tools
    nothing was written
    "#);
    assert_eq!(fs::read_to_string(&file).unwrap(), CURSOR);
    assert!(!tool.home().join(".local").exists());
    run(&tool, &["wrap", "cursor"]);
    assert_snapshot!(said(&tool, &["unwrap", "cursor", "--dry-run"]), @r#"
    --- /HOME/.cursor/mcp.json
    +++ /HOME/.cursor/mcp.json
    @@ -1,13 +1,6 @@
     {
       "mcpServers": {
    -    "a": {
    -      "command": "/SPILLGATE",
    -      "args": ["mcp", "--name", "a", "--lookups-in", "cursor=/HOME/.cursor/mcp.json", "--", "true"]
    -    }, // a
    -    "b": {"url": "https://b.example/mcp", "auth": {}},
    -    "spillgate": {
    -      "args": ["mcp", "--lookups"],
    -      "command": "/SPILLGATE"
    -    }
    +    "a": {"command": "true"}, // a
    +    "b": {"url": "https://b.example/mcp", "auth": {}}
       }
     }
    --- 0
    /HOME/.cursor/mcp.json
      restored        a (user)
      removed         spillgate (user)
      the file is restored byte for byte
    nothing was written
    "#);
}

#[test]
fn there_and_back() {
    let (tool, file) = house(".cursor/mcp.json", CURSOR);
    assert_snapshot!(said(&tool, &["wrap", "cursor"]), @r#"
    /HOME/.cursor/mcp.json
      wrapped         a (user)
      left alone      b (user): the client logs in to it by OAuth (`auth`)
      added           spillgate (user): it offers the look-up tools
      backup: /HOME/.local/state/spillgate-clients/…
    --- 0
    restart Cursor to apply the change
    "#);
    let wrapped = fs::read_to_string(&file).unwrap();
    assert_snapshot!(said(&tool, &["wrap", "cursor"]), @r#"
    /HOME/.cursor/mcp.json
      already wrapped a (user)
      left alone      b (user): the client logs in to it by OAuth (`auth`)
      already wrapped spillgate (user)
    --- 0
    nothing to change
    "#);
    assert_eq!(fs::read_to_string(&file).unwrap(), wrapped);
    assert_snapshot!(said(&tool, &["unwrap", "cursor"]), @r#"
    /HOME/.cursor/mcp.json
      restored        a (user)
      removed         spillgate (user)
      the file is restored byte for byte
    --- 0
    restart Cursor to apply the change
    "#);
    assert_eq!(fs::read_to_string(&file).unwrap(), CURSOR);
    assert_snapshot!(said(&tool, &["unwrap", "cursor"]), @"
    /HOME/.cursor/mcp.json
      no server of ours
    --- 0
    nothing to change
    ");
}

#[test]
fn flags_are_handed_on() {
    let (tool, file) = house("x/mcp.json", CURSOR);
    let args = [
        "wrap",
        "cursor",
        "--file",
        "x/mcp.json",
        "--store",
        "here",
        "--tokenizer",
        "heuristic",
        "--gateway-arg=--max-tokens",
        "--gateway-arg",
        "5000",
        "--json",
    ];
    let output = run(&tool, &args);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["changes"], true);
    assert_eq!(told["files"][0]["servers"][0]["state"], "wrapped");
    assert_eq!(told["files"][0]["servers"][1]["state"], "left");
    assert_snapshot!(masked(&tool, &fs::read_to_string(&file).unwrap()), @r#"
    {
      "mcpServers": {
        "a": {
          "command": "/SPILLGATE",
          "args": ["mcp", "--name", "a", "--lookups-in", "cursor=/HOME/x/mcp.json", "--store", "/HOME/here", "--tokenizer", "heuristic", "--max-tokens", "5000", "--", "true"]
        }, // a
        "b": {"url": "https://b.example/mcp", "auth": {}},
        "spillgate": {
          "args": ["mcp", "--lookups", "--store", "/HOME/here", "--tokenizer", "heuristic", "--max-tokens", "5000"],
          "command": "/SPILLGATE"
        }
      }
    }
    "#);
    // A file outside of the current directory is found by its record.
    let output = run(&tool, &["unwrap", "cursor", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["files"][0]["byte_for_byte"], true);
    assert_eq!(fs::read_to_string(&file).unwrap(), CURSOR);
}

#[test]
fn a_project_is_wrapped_when_asked_for() {
    let (tool, file) = house(
        ".mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}",
    );
    let before = fs::read_to_string(&file).unwrap();
    assert_snapshot!(said(&tool, &["wrap", "claude-code"]), @"
    --- 1
    error: Claude Code has no configuration file; looked for /HOME/.claude.json
    hint: /HOME/.mcp.json is there, but everyone who works on the project shares it: --scope project includes it; --hooks covers the client's own tools, such as its shell
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    assert_snapshot!(said(&tool, &["wrap", "claude-code", "--scope", "project", "--server", "b"]), @r#"
    --- 1
    error: the files contain no server "b"; known servers: a
    hint: name one of these, or look in another --scope
    "#);
    let wrapped = run(
        &tool,
        &["wrap", "claude-code", "--scope", "all", "--server", "a"],
    );
    assert!(wrapped.status.success());
    assert_ne!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn malformed_files_stop_everything() {
    let (tool, file) = house(".codex/config.toml", "[mcp_servers.a]\ncommand = 'a\n");
    assert_snapshot!(said(&tool, &["wrap", "codex"]), @"
    --- 1
    error: /HOME/.codex/config.toml:2: invalid literal string, expected `'`
    hint: correct line 2 of /HOME/.codex/config.toml, then try again
    ");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "[mcp_servers.a]\ncommand = 'a\n"
    );
}

/// Servers of goose: one that answers, one that does not exist, and two that are not started.
fn goose() -> (Tool, PathBuf) {
    let script = SERVER.replace('\n', "\n      ");
    let text = format!(
        "extensions:\n  shell:\n    type: stdio\n    cmd: sh\n    args:\n    - -c\n    - |\n      {script}\n  gone:\n    type: stdio\n    cmd: /no/such/program\n    args: []\n  bare:\n    type: stdio\n    cmd: bare\n  off:\n    type: stdio\n    cmd: off\n    enabled: false\n"
    );
    let (tool, file) = house(".config/goose/config.yaml", &text);
    let wrapped = run(&tool, &["wrap", "goose", "--server", "shell"]);
    assert!(wrapped.status.success(), "{wrapped:?}");
    (tool, file)
}

#[test]
fn doctor_starts_what_is_configured() {
    let (tool, _) = goose();
    assert_snapshot!(said(&tool, &["doctor", "goose"]), @r#"
    This machine
      ok     the store can be written: /HOME/store

    goose
      note   what goose itself does with large results: a result of 300 KB became a note and a file; the gateway's messages are smaller
    /HOME/.config/goose/config.yaml
      ok     it can be read; 1 of 4 servers are behind the gateway
      ok     the backup exists; `unwrap` restores the file byte for byte
      ok     /SPILLGATE is version VERSION
      note   bare: not behind the gateway
             fix: spillgate wrap goose --scope user --server "bare"
      note   gone: not behind the gateway
             fix: spillgate wrap goose --scope user --server "gone"
      note   off: not behind the gateway: it is disabled; docs/clients.md says what can be done by hand
      ok     shell: answered as shell 1 with 1 tools in … ms
      ok     spillgate: answered as spillgate VERSION with 4 tools in … ms

    all is well
    --- 0
    "#);
}

#[test]
fn doctor_tells_what_is_broken() {
    let (tool, file) = goose();
    run(&tool, &["wrap", "goose", "--server", "gone"]);
    assert_snapshot!(said(&tool, &["doctor", "--no-start"]), @r#"
    This machine
      ok     the store can be written: /HOME/store

    goose
      note   what goose itself does with large results: a result of 300 KB became a note and a file; the gateway's messages are smaller
    /HOME/.config/goose/config.yaml
      ok     it can be read; 2 of 4 servers are behind the gateway
      ok     the backup exists; `unwrap` restores the file byte for byte
      ok     /SPILLGATE is version VERSION
      note   bare: not behind the gateway
             fix: spillgate wrap goose --scope user --server "bare"
      note   off: not behind the gateway: it is disabled; docs/clients.md says what can be done by hand

    all is well
    --- 0
    "#);
    let text = fs::read_to_string(&file).unwrap();
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_spillgate"));
    let binary = binary.canonicalize().unwrap();
    fs::write(
        &file,
        text.replace(binary.to_str().unwrap(), "/gone/spillgate"),
    )
    .unwrap();
    assert_snapshot!(said(&tool, &["doctor"]), @r#"
    This machine
      ok     the store can be written: /HOME/store

    goose
      note   what goose itself does with large results: a result of 300 KB became a note and a file; the gateway's messages are smaller
    /HOME/.config/goose/config.yaml
      ok     it can be read; 2 of 4 servers are behind the gateway
      note   it was changed after it was wrapped: `unwrap` undoes only Spillgate's entries; the backup is /HOME/.local/state/spillgate-clients/…
      broken "/gone/spillgate" does not exist or is not executable
             fix: spillgate unwrap goose && spillgate wrap goose, with the `spillgate` that the client is to start
      note   bare: not behind the gateway
             fix: spillgate wrap goose --scope user --server "bare"
      broken gone: "/gone/spillgate" could not be started: No such file or directory
             fix: check the command in the configuration
      note   off: not behind the gateway: it is disabled; docs/clients.md says what can be done by hand
      broken shell: "/gone/spillgate" could not be started: No such file or directory
             fix: check the command in the configuration
      broken spillgate: "/gone/spillgate" could not be started: No such file or directory
             fix: check the command in the configuration

    4 things are broken
    --- 1
    "#);
}

#[test]
fn every_finding_says_what_to_do() {
    let (tool, _) = goose();
    run(&tool, &["wrap", "goose", "--server", "gone"]);
    let output = run(&tool, &["doctor", "goose", "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &told["broken"]),
        (Some(1), &Value::from(1))
    );
    let findings = told["findings"].as_array().unwrap();
    let broken = findings
        .iter()
        .find(|one| one["level"] == "broken")
        .unwrap();
    assert_eq!(broken["server"], "gone");
    // What works needs no fix, and what is only worth knowing may need none.
    for one in findings {
        let needs_one = one["level"] == "broken";
        assert!(!needs_one || one["fix"].is_string(), "{one}");
        let says_nothing = one["fix"]
            .as_str()
            .is_some_and(|fix| fix.starts_with("nothing"));
        assert!(!says_nothing, "{one}");
    }
}

#[test]
fn doctor_without_anything() {
    let tool = Tool::new();
    assert_snapshot!(said(&tool, &["doctor"]), @"
    This machine
      note   no MCP client has a configuration file here; commands such as `spillgate run` need none
             fix: to use the gateway, add a server in a client, then run `spillgate wrap CLIENT`
      ok     the store can be written: /HOME/store

    all is well
    --- 0
    ");
    assert_snapshot!(said(&tool, &["doctor", "zed"]), @"
    This machine
      ok     the store can be written: /HOME/store

    Zed
      broken there is no configuration file; looked for /HOME/.config/zed/settings.json, /HOME/.zed/settings.json
             fix: add a server in the client first

    1 thing is broken
    --- 1
    ");
    let (tool, _) = house(".gemini/settings.json", "{\n");
    assert_snapshot!(said(&tool, &["doctor"]), @"
    This machine
      ok     the store can be written: /HOME/store

    Gemini CLI
      note   what Gemini CLI itself does with large results: the first 8,000 and the last 32,000 characters and a file; the gateway's messages are smaller
    /HOME/.gemini/settings.json
      broken /HOME/.gemini/settings.json:1: Unterminated object
             fix: correct line 1 of /HOME/.gemini/settings.json, then try again

    1 thing is broken
    --- 1
    ");
}
