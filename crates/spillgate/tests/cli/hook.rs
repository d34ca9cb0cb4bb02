//! Tests of `spillgate hook`: which responses of tools become previews, and in what shape.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use crate::tool::{Tool, feed};

/// Gives an event to the hook.
fn told(tool: &Tool, event: &[u8]) -> Output {
    let mut command = tool.command(&["hook", "claude-code"]);
    command
        .env_remove("CLAUDE_ENV_FILE")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CURSOR_VERSION");
    feed(command, event)
}

/// Returns the path of the session's transcript.
fn transcript(tool: &Tool) -> String {
    let file = tool.home().join("projects/p/one.jsonl");
    file.to_str().unwrap().to_owned()
}

/// Returns the response that replaces this one; `None` if it passes.
fn replaced(tool: &Tool, name: &str, response: &Value) -> Option<Value> {
    let event = json!({
        "hook_event_name": "PostToolUse",
        "session_id": "one",
        "transcript_path": transcript(tool),
        "tool_name": name,
        "tool_input": {"command": "make test"},
        "tool_use_id": "t1",
        "tool_response": response,
    });
    let output = told(tool, event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    if output.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = &answer["hookSpecificOutput"];
    assert_eq!(answer["hookEventName"], "PostToolUse");
    Some(answer["updatedToolOutput"].clone())
}

/// Returns the lines that the hook writes for the client's shell at the start of a session.
pub(crate) fn session_start(tool: &Tool) -> String {
    let file = tool.home().join("env.sh");
    for _ in 0..2 {
        let mut command = tool.command(&["hook", "claude-code"]);
        command
            .env("CLAUDE_ENV_FILE", &file)
            .env_remove("CURSOR_VERSION");
        let output = feed(
            command,
            br#"{"hook_event_name":"SessionStart","source":"startup"}"#,
        );
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{output:?}"
        );
    }
    fs::read_to_string(file).unwrap()
}

/// Returns the bytes that a preview stands for.
fn stored(tool: &Tool, preview: &str) -> Vec<u8> {
    let (_, rest) = preview.split_once("stored whole as ").expect(preview);
    tool.run(&["cat", "--raw", &rest[..14]], b"").stdout
}

#[test]
fn a_large_text_is_replaced_in_the_shape_of_its_tool() {
    let tool = Tool::new();
    let text = log(3000);
    let image = json!({"type": "image", "source": {"data": "AAAA"}});
    let block = |text: &str| json!({"type": "text", "text": text});
    let shell = json!({"stdout": text, "stderr": "e", "interrupted": false, "isImage": false});
    for (name, response, at, bytes) in [
        ("Bash", shell, "/stdout", text.clone()),
        (
            "WebFetch",
            json!({"bytes": 9, "result": text}),
            "/result",
            text.clone(),
        ),
        (
            "Grep",
            json!({"mode": "content", "content": text}),
            "/content",
            text.clone(),
        ),
        (
            "Agent",
            json!({"status": "completed", "content": [block(&text)]}),
            "/content/0/text",
            text.clone(),
        ),
        ("mcp__a__b", json!(text), "", text.clone()),
        (
            "mcp__a__b",
            json!([block("x"), image, block(&text)]),
            "/0/text",
            format!("x\n{text}"),
        ),
    ] {
        let now = replaced(&tool, name, &response).expect(name);
        let preview = now.pointer(at).unwrap().as_str().unwrap();
        assert!(
            preview.starts_with(&format!("[spillgate] {name} returned")),
            "{preview}"
        );
        assert!(preview.contains("next: spillgate search "), "{preview}");
        assert_eq!(stored(&tool, preview), bytes.as_bytes(), "{name}");
        // All but the text is as it was.
        let mut expected = response.clone();
        match response.as_array() {
            Some(_) => expected = json!([block(preview), image]),
            None => *expected.pointer_mut(at).unwrap() = json!(preview),
        }
        assert_eq!(now, expected, "{name}");
    }
}

#[test]
fn what_passes_prints_nothing() {
    let tool = Tool::new();
    let text = log(3000);
    for (name, response) in [
        ("Bash", json!({"stdout": "small", "stderr": ""})),
        ("Bash", json!({"stdout": text, "interrupted": true})),
        ("Bash", json!({"stdout": text, "isImage": true})),
        ("Bash", json!({"out": text})),
        ("Bash", json!([text])),
        ("Bash", json!(text)),
        ("Read", json!({"type": "text", "file": {"content": text}})),
        ("Edit", json!({"originalFile": text})),
        ("Unknown", json!(text)),
        ("WebFetch", json!({"result": [text]})),
        ("Agent", json!({"content": text})),
        ("mcp__a__b", json!({"rows": [text]})),
        ("mcp__a__b", json!([{"type": "image", "text": text}])),
        ("mcp__a__b", json!(null)),
        ("mcp__spillgate__spillgate_read", json!(text)),
        ("mcp__spillgate__tool_output", json!(text)),
    ] {
        assert_eq!(replaced(&tool, name, &response), None, "{name} {response}");
    }
    assert!(!tool.store().exists(), "what passes opens no store");
}

#[test]
fn all_of_an_output_that_the_client_keeps_in_a_file_is_stored() {
    let tool = Tool::new();
    let results = tool.home().join("projects/p/one/tool-results");
    fs::create_dir_all(&results).unwrap();
    let all = log(9000).into_bytes();
    let kept = results.join("b1.txt");
    fs::write(&kept, &all).unwrap();
    let elsewhere = tool.home().join("secret");
    fs::write(&elsewhere, &all).unwrap();
    symlink(&elsewhere, results.join("link.txt")).unwrap();
    let shell = |path: &str| json!({"stdout": "the beginning", "stderr": "", "persistedOutputPath": path, "persistedOutputSize": all.len()});
    let server = |path: &str| {
        json!(format!(
            "Error: result (1 characters) exceeds maximum allowed tokens. Output has been saved to {path}.\nMore"
        ))
    };
    let kept = kept.to_str().unwrap();
    let now = replaced(&tool, "Bash", &shell(kept)).unwrap();
    assert_eq!(now.as_object().unwrap().len(), 2, "{now}");
    assert_eq!(stored(&tool, now["stdout"].as_str().unwrap()), all);
    let now = replaced(&tool, "mcp__a__b", &server(kept)).unwrap();
    assert_eq!(stored(&tool, now.as_str().unwrap()), all);
    // Only a regular file in the session's own directory is read.
    let link = results.join("link.txt");
    let up = results.join("../tool-results/../../../../secret");
    let paths = [
        elsewhere,
        link,
        up,
        results,
        "/dev/zero".into(),
        "b1.txt".into(),
    ];
    for path in paths.iter().map(|path| path.to_str().unwrap()) {
        assert_eq!(replaced(&tool, "Bash", &shell(path)), None, "{path}");
        assert_eq!(replaced(&tool, "mcp__a__b", &server(path)), None, "{path}");
    }
}

#[test]
fn a_client_may_have_the_look_up_tools_from_elsewhere() {
    let tool = Tool::new();
    let event = json!({
        "hook_event_name": "PostToolUse",
        "tool_name": "mcp__a__b",
        "tool_response": log(3000),
    });
    for (value, way) in [
        ("1", "next: spillgate_search(handle="),
        ("0", "next: spillgate search "),
    ] {
        let mut command = tool.command(&["hook", "claude-code"]);
        command
            .env_remove("CURSOR_VERSION")
            .env("SPILLGATE_HOOK_LOOKUPS", value);
        let output = feed(command, event.to_string().as_bytes());
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(answer.contains(way), "{answer}");
    }
}

#[test]
fn a_hook_fails_open() {
    let tool = Tool::new();
    let deep = "[".repeat(100_000);
    let half =
        r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{"stdout":"\ud800"#;
    for event in [
        "",
        "{}",
        "[]",
        "null",
        "\u{0}",
        half,
        &deep,
        r#"{"hook_event_name":7}"#,
    ] {
        let output = told(&tool, event.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{event:.40}");
        assert!(output.stdout.is_empty(), "{event:.40}");
        assert!(
            output.stderr.starts_with(b"spillgate hook: "),
            "{event:.40}"
        );
    }
    for event in [
        "Stop",
        "PreToolUse",
        "PostToolUseFailure",
        "SessionStart",
        "PostToolUse",
    ] {
        let output = told(
            &tool,
            json!({"hook_event_name": event}).to_string().as_bytes(),
        );
        assert_eq!(output.status.code(), Some(0), "{event}");
        assert!(
            output.stdout.is_empty() && output.stderr.is_empty(),
            "{event}"
        );
    }
    // A store that cannot be written.
    fs::write(tool.store(), "no directory").unwrap();
    assert_eq!(replaced(&tool, "mcp__a__b", &json!(log(3000))), None);
    // Exit code 2 would refuse the call.
    let output = feed(tool.command(&["hook", "no-client"]), b"");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_editor_that_runs_the_hooks_of_another_client_is_left_alone() {
    let tool = Tool::new();
    let event = json!({"hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_response": log(3000)});
    let mut command = tool.command(&["hook", "claude-code"]);
    command.env("CURSOR_VERSION", "3");
    let output = feed(command, event.to_string().as_bytes());
    assert!(output.status.success() && output.stdout.is_empty());
}

/// Returns a tool whose user has these settings.
pub(crate) fn with_settings(settings: &str) -> Tool {
    let tool = Tool::new();
    let config = tool.home().join(".config/spillgate/spillgate.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, settings).unwrap();
    tool
}

/// A key that the scan for secrets finds.
pub(crate) const KEY: &str = "AKIAQ3EGXZ7LKTPNWB5M";

/// Settings with which nothing of any output with a secret is stored or shown.
pub(crate) const REFUSED: &str = "redact = \"all\"\n[secrets]\nstored = \"refused\"\n";

#[test]
fn what_must_not_be_stored_is_not_shown() {
    let large = format!("key {KEY}\n{}", log(3000));
    let small = format!("key {KEY}");
    let only_large = "[secrets]\nstored = \"refused\"\n";
    for (settings, text) in [(only_large, &large), (REFUSED, &large), (REFUSED, &small)] {
        for (name, response, at) in [
            ("Bash", json!({"stdout": text, "stderr": ""}), "/stdout"),
            ("WebFetch", json!({"result": text}), "/result"),
            (
                "mcp__a__b",
                json!([{"type": "text", "text": text}]),
                "/0/text",
            ),
        ] {
            let tool = with_settings(settings);
            let now = replaced(&tool, name, &response).expect(name);
            let message = now.pointer(at).unwrap().as_str().unwrap();
            let begins = format!("[spillgate] {name} returned {} bytes", text.len());
            assert!(message.starts_with(&begins), "{message}");
            assert!(
                message.contains("nothing of it is stored or shown"),
                "{message}"
            );
            assert!(!now.to_string().contains(KEY), "{now}");
        }
    }
}

#[test]
fn another_servers_tool_is_not_ours() {
    let (large, small) = (log(3000), format!("key {KEY}"));
    for (settings, text) in [("", &large), (REFUSED, &small)] {
        let tool = with_settings(settings);
        for name in [
            "mcp__ci__get_tool_output",
            "mcp__x__my_spillgate_read",
            "mcp__x__spillgate_read_all",
            "mcp__tool_output",
        ] {
            assert!(replaced(&tool, name, &json!(text)).is_some(), "{name}");
        }
        for name in ["mcp__db__spillgate_read", "mcp__a__b__tool_output"] {
            assert_eq!(replaced(&tool, name, &json!(text)), None, "{name}");
        }
    }
}

#[test]
fn rules_for_tools_hold() {
    let tool = with_settings("[tools.\"mcp__db__*\"]\nmax_tokens = 0\n");
    let text = json!(log(3000));
    assert_eq!(replaced(&tool, "mcp__db__rows", &text), None);
    assert!(replaced(&tool, "mcp__a__b", &text).is_some());
}

#[test]
fn previews_name_the_tools_that_the_client_has() {
    let tool = Tool::new();
    let entry = json!({"mcpServers": {"spillgate": {"command": "spillgate", "args": ["mcp", "--lookups"]}}});
    fs::write(tool.home().join(".claude.json"), entry.to_string()).unwrap();
    let now = replaced(&tool, "mcp__a__b", &json!(log(3000))).unwrap();
    let preview = now.as_str().unwrap();
    assert!(
        preview.contains("next: spillgate_search(handle="),
        "{preview}"
    );
}

#[test]
fn the_lines_for_the_shell_are_written_once() {
    let tool = Tool::new();
    let lines = session_start(&tool);
    let program = env!("CARGO_BIN_EXE_spillgate");
    let lines = lines.replace(program, "/SPILLGATE");
    let directory = std::path::Path::new(program).parent().unwrap();
    let lines = lines.replace(directory.to_str().unwrap(), "/DIRECTORY");
    assert_snapshot!(lines, @r#"\builtin export PATH="$PATH":/DIRECTORY && \builtin export SPILLGATE_PAGE_TOKENS=2500 && \builtin trap '{ /SPILLGATE hook claude-code --shell-end "$?" >&3 || :; } 2>/dev/null 3>&1 >/dev/null' EXIT"#);
}
