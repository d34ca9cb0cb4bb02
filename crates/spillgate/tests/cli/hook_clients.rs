//! Tests of `spillgate hook` with the events of each client: which results become previews, and what
//! the client is answered. The events are as the real clients send them (docs/hooks.md names the
//! versions); those of Cursor are as its documentation shows them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Output;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use crate::hook::{KEY, REFUSED, with_settings};
use crate::tool::{Tool, feed};

/// Gives an event to the hook of a client.
fn told(tool: &Tool, client: &str, event: &[u8]) -> Output {
    let mut command = tool.command(&["hook", client]);
    command
        .env_remove("CLAUDE_ENV_FILE")
        .env_remove("COPILOT_HOME")
        .env_remove("CODEX_HOME")
        .env("CURSOR_VERSION", "3.1.0")
        .env("TMPDIR", temporary(tool));
    feed(command, event)
}

/// Returns the directory for temporary files.
fn temporary(tool: &Tool) -> PathBuf {
    let directory = tool.home().join("tmp");
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Returns the answer to an event; `None` if the result passes.
fn answered(tool: &Tool, client: &str, event: &Value) -> Option<Value> {
    let output = told(tool, client, event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{client}: {output:?}");
    match output.stdout.is_empty() {
        true => None,
        false => Some(serde_json::from_slice(&output.stdout).unwrap()),
    }
}

/// Returns an event after a call of a tool.
fn event(client: &str, tool: &str, result: &Value) -> Value {
    let input = json!({"command": "make test"});
    match client {
        "copilot" => {
            json!({"sessionId": "s", "timestamp": 1, "cwd": "/w", "toolName": tool, "toolArgs": input,
                "toolResult": result})
        }
        "cursor" => {
            json!({"hook_event_name": "postToolUse", "conversation_id": "c", "tool_name": tool,
                "tool_input": input, "tool_use_id": "t", "tool_output": result.to_string(), "duration": 5})
        }
        _ => {
            let name = match client {
                "gemini" => "AfterTool",
                "codex" => "PostToolUse",
                _ => "tool.execute.after",
            };
            json!({"hook_event_name": name, "session_id": "s", "tool_name": tool, "tool_input": input,
                "tool_response": result})
        }
    }
}

/// Returns the bytes that a preview stands for.
fn stored(tool: &Tool, preview: &str) -> String {
    let (_, rest) = preview.split_once("stored whole as ").expect(preview);
    let raw = tool.run(&["cat", "--raw", &rest[..14]], b"").stdout;
    String::from_utf8(raw).unwrap()
}

fn blocks(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn gemini_shell(output: &str, rest: &str) -> Value {
    json!({
        "llmContent": format!("<untrusted_context>\nOutput: {output}\n{rest}\n</untrusted_context>"),
        "returnDisplay": output,
    })
}

/// A large result: the client, the tool, the result, where the preview is in the answer, how its first
/// line goes on after the tool, and what is stored.
type Case = (
    &'static str,
    &'static str,
    Value,
    &'static str,
    &'static str,
    String,
);

const FAILED: &str = "ended: exit code 3";
const COPILOT: &str = "/modifiedResult/textResultForLlm";

fn of_gemini_and_codex(text: &str) -> Vec<Case> {
    let wrapped = format!("<untrusted_context>\n{text}\n</untrusted_context>");
    let parts = json!({"llmContent": [{"text": wrapped}], "returnDisplay": "x"});
    let shell = gemini_shell(text, "Exit Code: 3\nProcess Group PGID: 9");
    let web = json!({"llmContent": text});
    let structured = json!({"a": text});
    let both =
        json!({"content": [{"type": "text", "text": "rows"}], "structuredContent": structured});
    let (at, text) = ("/reason", text.to_owned());
    vec![
        (
            "gemini",
            "run_shell_command",
            shell,
            at,
            FAILED,
            text.clone(),
        ),
        ("gemini", "mcp_a_b", parts, at, "returned", text.clone()),
        ("gemini", "web_fetch", web, at, "returned", text.clone()),
        ("codex", "Bash", json!(text), at, "returned", text.clone()),
        ("codex", "mcp__a__b", blocks(&text), at, "returned", text),
        (
            "codex",
            "mcp__a__b",
            both,
            at,
            "returned",
            structured.to_string(),
        ),
    ]
}

fn of_the_others(text: &str) -> Vec<Case> {
    let image = json!({"type": "image", "data": "AAAA"});
    let with_image = json!({"content": [{"type": "text", "text": text}, image]});
    let shell = json!({"title": "t", "output": text, "metadata": {"exit": 3, "truncated": false}});
    let web = json!({"output": text});
    let ended = format!("{text}\n<shellId: 1 completed with exit code 3>");
    let bash = json!({"resultType": "success", "textResultForLlm": ended});
    let server = json!({"resultType": "success", "textResultForLlm": text});
    let cursor = "/updated_mcp_tool_output/content/0/text";
    let text = text.to_owned();
    vec![
        ("opencode", "bash", shell, "/output", FAILED, text.clone()),
        (
            "opencode",
            "webfetch",
            web,
            "/output",
            "returned",
            text.clone(),
        ),
        (
            "opencode",
            "a_b",
            with_image,
            "/content/0/text",
            "returned",
            text.clone(),
        ),
        (
            "cursor",
            "MCP:b",
            blocks(&text),
            cursor,
            "returned",
            text.clone(),
        ),
        ("copilot", "bash", bash, COPILOT, FAILED, text.clone()),
        ("copilot", "a-b", server, COPILOT, "returned", text),
    ]
}

#[test]
fn a_large_result_becomes_a_preview_in_the_clients_own_answer() {
    let text = log(3000);
    let text = text.trim_end();
    let cases = [of_gemini_and_codex(text), of_the_others(text)].concat();
    for (client, name, result, at, begins, holds) in cases {
        let tool = Tool::new();
        let answer = answered(&tool, client, &event(client, name, &result)).expect(client);
        let preview = answer.pointer(at).and_then(Value::as_str).expect(client);
        let what = format!("{client} {name}: {preview}");
        assert!(
            preview.contains(&format!("[spillgate] {name} {begins}")),
            "{what}"
        );
        assert!(preview.len() < 4000, "{what}");
        assert!(preview.contains("--max-tokens 2500"), "{what}");
        assert!(!preview.contains("PGID"), "{what}");
        assert_eq!(stored(&tool, preview), holds, "{client} {name}");
    }
}

#[test]
fn answers_have_the_documented_members() {
    let text = log(3000);
    for (client, name, result) in [
        ("gemini", "mcp_a_b", json!({"llmContent": text})),
        ("codex", "mcp__a__b", blocks(&text)),
        ("opencode", "a_b", blocks(&text)),
        (
            "cursor",
            "MCP:b",
            json!({"content": [{"type": "text", "text": text}], "structuredContent": {"a": text}, "isError": false}),
        ),
        (
            "copilot",
            "a-b",
            json!({"resultType": "success", "textResultForLlm": text, "toolTelemetry": {"a": 1}}),
        ),
    ] {
        let tool = Tool::new();
        let mut answer = answered(&tool, client, &event(client, name, &result)).expect(client);
        let at = [
            "/reason",
            "/content/0/text",
            "/updated_mcp_tool_output/content/0/text",
            "/modifiedResult/textResultForLlm",
        ];
        for at in at {
            if let Some(text) = answer.pointer_mut(at) {
                *text = json!("PREVIEW");
            }
        }
        let golden = match client {
            "gemini" => json!({"decision": "deny", "reason": "PREVIEW"}),
            "codex" => json!({"decision": "block", "reason": "PREVIEW"}),
            "opencode" => blocks("PREVIEW"),
            "cursor" => {
                json!({"updated_mcp_tool_output": {"content": [{"type": "text", "text": "PREVIEW"}], "isError": false}})
            }
            _ => {
                json!({"modifiedResult": {"resultType": "success", "textResultForLlm": "PREVIEW", "toolTelemetry": {"a": 1}}})
            }
        };
        assert_eq!(answer, golden, "{client}");
    }
}

#[test]
fn what_must_not_be_stored_is_not_shown() {
    let cases = |text: &str| [of_gemini_and_codex(text), of_the_others(text)].concat();
    let large = format!("key {KEY}\n{}", log(3000));
    let texts = [large.trim_end().to_owned(), format!("key {KEY}")];
    for (client, name, result, at, ..) in texts.iter().flat_map(|text| cases(text)) {
        let tool = with_settings(REFUSED);
        let answer = answered(&tool, client, &event(client, name, &result)).expect(client);
        let message = answer.pointer(at).and_then(Value::as_str).expect(client);
        let begins = format!("[spillgate] {name} returned ");
        assert!(message.starts_with(&begins), "{client}: {message}");
        let said = "nothing of it is stored or shown";
        assert!(message.contains(said), "{client}: {message}");
        assert!(!answer.to_string().contains(KEY), "{client}: {answer}");
    }
}

/// Returns the result of a tool of a server.
fn of_server(client: &str, text: &str) -> Value {
    match client {
        "gemini" => json!({"llmContent": text}),
        "copilot" => json!({"textResultForLlm": text}),
        _ => blocks(text),
    }
}

#[test]
fn a_tool_is_ours_by_its_server_and_its_name() {
    let tool = with_settings(REFUSED);
    let gateway = json!({"command": "spillgate", "args": ["mcp", "--", "db"]});
    let lookups = json!({"command": "spillgate", "args": ["mcp", "--lookups"]});
    let servers =
        json!({"mcpServers": {"my db": gateway, "pages": lookups, "x": {"command": "x"}}});
    for file in [".gemini/settings.json", ".copilot/mcp-config.json"] {
        let file = tool.home().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, servers.to_string()).unwrap();
    }
    let text = format!("key {KEY}");
    for (client, name, is_ours) in [
        ("codex", "mcp__db__spillgate_read", true),
        ("codex", "mcp__ci__get_tool_output", false),
        ("codex", "mcp__x__my_spillgate_read", false),
        ("gemini", "mcp_spillgate_tool_output", true),
        ("gemini", "mcp_spillgate_lookups_spillgate_read", true),
        ("gemini", "mcp_pages_spillgate_read", true),
        ("gemini", "mcp_my_db_spillgate_grep", true),
        ("gemini", "mcp_x_spillgate_read", false),
        ("gemini", "mcp_x_spillgate_spillgate_read", false),
        ("gemini", "mcp_ci_get_tool_output", false),
        ("gemini", "mcp_spillgate_get_tool_output", false),
        ("opencode", "spillgate_spillgate_search", true),
        ("opencode", "ci_get_tool_output", false),
        ("opencode", "x_spillgate_search", false),
        ("opencode", "xspillgate_spillgate_search", false),
        ("copilot", "spillgate-tool_output", true),
        ("copilot", "pages-spillgate_query", true),
        ("copilot", "x-spillgate_query", false),
        ("copilot", "ci-get_tool_output", false),
        ("cursor", "MCP:tool_output", true),
        ("cursor", "MCP:get_tool_output", false),
        ("cursor", "MCP:my_spillgate_read", false),
    ] {
        let event = event(client, name, &of_server(client, &text));
        let answer = answered(&tool, client, &event);
        assert_eq!(answer.is_none(), is_ours, "{client} {name}");
    }
}

#[test]
fn nothing_of_cursors_structured_content_is_lost() {
    let text = log(3000);
    let rows = json!({"rows": text});
    let number = format!(r#"{{"n":12345678901234567890123,"rows":{}}}"#, json!(text));
    let large = |json: &Value| json.to_string();
    let block = |text: &str| json!({"type": "text", "text": text});
    for (texts, structured, holds) in [
        // It says what the text says.
        (
            vec![text.clone()],
            large(&json!({"result": text})),
            text.clone(),
        ),
        (vec![rows.to_string()], large(&rows), rows.to_string()),
        (
            vec![rows.to_string()],
            large(&json!({"result": rows})),
            rows.to_string(),
        ),
        (
            vec![text.clone(), "{\"b\":2}".into()],
            large(&json!({"result": [text, {"b": 2}]})),
            format!("{text}\n{{\"b\":2}}"),
        ),
        (vec![text.clone()], "null".into(), text.clone()),
        // It says more, or something else.
        (
            vec![text.clone()],
            "{\"a\":1}".into(),
            format!("{text}\n{{\"a\":1}}"),
        ),
        (
            vec![text.clone()],
            large(&json!({"a": 1, "text": text})),
            format!("{text}\n{}", json!({"a": 1, "text": text})),
        ),
        (
            vec!["3 rows".into()],
            large(&rows),
            format!("3 rows\n{rows}"),
        ),
        (
            vec!["a".into(), "b".into()],
            large(&json!([text])),
            format!("a\nb\n{}", json!([text])),
        ),
        (
            vec!["3 rows".into()],
            number.clone(),
            format!("3 rows\n{number}"),
        ),
    ] {
        let tool = Tool::new();
        let content: Vec<Value> = texts.iter().map(|text| block(text)).collect();
        let result = format!(
            r#"{{"content":{},"structuredContent":{structured}}}"#,
            json!(content)
        );
        let mut event = event("cursor", "MCP:b", &Value::Null);
        event["tool_output"] = json!(result);
        let answer = answered(&tool, "cursor", &event).unwrap();
        let now = &answer["updated_mcp_tool_output"];
        assert!(now["structuredContent"].is_null(), "{structured:.60}");
        let preview = now["content"][0]["text"].as_str().unwrap();
        assert_eq!(stored(&tool, preview), holds, "{structured:.60}");
    }
    // A small result stays as it is.
    let small = json!({"content": [block("a")], "structuredContent": {"b": 1}});
    let event = event("cursor", "MCP:b", &small);
    assert_eq!(answered(&Tool::new(), "cursor", &event), None);
}

#[test]
fn what_passes_prints_nothing() {
    let tool = Tool::new();
    let text = log(3000);
    let image = json!([{"text": text}, {"inlineData": {"data": "AAAA"}}]);
    let with_image = json!({"content": [{"type": "text", "text": text}, {"type": "image"}]});
    for (client, name, result) in [
        (
            "gemini",
            "run_shell_command",
            gemini_shell("small", "Process Group PGID: 1"),
        ),
        ("gemini", "read_file", json!({"llmContent": text})),
        ("gemini", "read_many_files", json!({"llmContent": [text]})),
        ("gemini", "replace", json!({"llmContent": text})),
        ("gemini", "mcp_a_b", json!({"llmContent": image})),
        ("gemini", "mcp_a_b", json!({"llmContent": []})),
        ("gemini", "mcp_a_b", json!([text])),
        (
            "gemini",
            "mcp_spillgate_spillgate_read",
            json!({"llmContent": text}),
        ),
        ("codex", "Bash", json!("small")),
        ("codex", "apply_patch", json!(text)),
        ("codex", "mcp__a__b", with_image),
        ("codex", "mcp__a__b", json!(null)),
        ("codex", "mcp__spillgate__spillgate_grep", blocks(&text)),
        (
            "opencode",
            "bash",
            json!({"output": "small", "metadata": {"exit": 0}}),
        ),
        ("opencode", "read", json!({"output": text})),
        ("opencode", "edit", json!({"output": text})),
        ("opencode", "bash", json!({"output": [text]})),
        ("opencode", "spillgate_spillgate_query", blocks(&text)),
        ("cursor", "Shell", blocks(&text)),
        ("cursor", "Read", blocks(&text)),
        ("cursor", "MCP:b", blocks("small")),
        ("cursor", "MCP:b", json!({"rows": text})),
        ("cursor", "MCP:spillgate_read", blocks(&text)),
        ("copilot", "bash", json!({"textResultForLlm": "small"})),
        ("copilot", "view", json!({"textResultForLlm": text})),
        ("copilot", "a-b", json!({"text": text})),
        (
            "copilot",
            "spillgate-spillgate_search",
            json!({"textResultForLlm": text}),
        ),
    ] {
        let event = event(client, name, &result);
        assert_eq!(answered(&tool, client, &event), None, "{client} {name}");
    }
    assert!(!tool.store().exists(), "what passes opens no store");
}

#[test]
fn all_of_an_output_that_the_client_keeps_in_a_file_is_stored() {
    let tool = Tool::new();
    let all = log(9000);
    let mine = tool.home().join("secret");
    fs::write(&mine, &all).unwrap();
    let opencode = tool.home().join(".local/share/opencode/tool-output");
    fs::create_dir_all(&opencode).unwrap();
    let copilot = temporary(&tool);
    let names = [
        (opencode.join("tool_1"), "opencode"),
        (copilot.join("17-copilot-tool-output-1.txt"), "copilot"),
    ];
    for (kept, client) in &names {
        let result = |path: &str| match *client {
            "opencode" => {
                json!({"output": "…\n\n<shell_metadata>\nended by its time limit\n</shell_metadata>",
                "metadata": {"outputPath": path, "truncated": true, "exit": 1}})
            }
            _ => json!({"resultType": "success", "textResultForLlm": format!(
                "Output too large to read at once (1 KB). Saved to: {path}\nPreview\n<shellId: 0 completed with exit code 1>")}),
        };
        let of = |path: &str| answered(&tool, client, &event(client, "bash", &result(path)));
        fs::write(kept, &all).unwrap();
        let answer = of(kept.to_str().unwrap()).expect(client);
        let shown = answer["output"]
            .as_str()
            .or(answer["modifiedResult"]["textResultForLlm"].as_str());
        let preview = shown.unwrap();
        assert!(preview.contains("bash ended: exit code 1"), "{preview}");
        assert_eq!(stored(&tool, preview), all, "{client}");
        let last = match *client {
            "opencode" => "\n<shell_metadata>\nended by its time limit\n</shell_metadata>",
            _ => "\n<shellId: 0 completed with exit code 1>",
        };
        assert!(preview.ends_with(last), "{preview}");
        // Only a regular file of the client is read.
        fs::remove_file(kept).unwrap();
        symlink(&mine, kept).unwrap();
        let up = kept
            .parent()
            .unwrap()
            .join("..")
            .join("tmp")
            .join(kept.file_name().unwrap());
        for path in [
            kept,
            &mine,
            &up,
            &PathBuf::from("/dev/zero"),
            &PathBuf::from("b.txt"),
        ] {
            assert_eq!(of(path.to_str().unwrap()), None, "{client} {path:?}");
        }
    }
}

#[test]
fn a_file_that_the_client_still_writes_is_awaited() {
    let tool = Tool::new();
    let all = log(9000);
    let kept = tool.home().join(".local/share/opencode/tool-output/tool_1");
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    let end = &all[all.len() - 500..];
    let output = format!(
        "...output truncated...\n\nFull output saved to: {}\n\n{end}",
        kept.display()
    );
    let result =
        json!({"output": output, "metadata": {"outputPath": kept, "truncated": true, "exit": 0}});
    let event = event("opencode", "bash", &result);
    let half = &all[..all.len() / 2];
    fs::write(&kept, half).unwrap();
    let answer = std::thread::scope(|scope| {
        let late = scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(150));
            fs::write(&kept, &all).unwrap();
        });
        let answer = answered(&tool, "opencode", &event);
        late.join().unwrap();
        answer
    });
    let answer = answer.expect("the file is complete in time");
    assert_eq!(stored(&tool, answer["output"].as_str().unwrap()), all);
    // A part of an output is not stored in place of the output.
    fs::write(&kept, half).unwrap();
    assert_eq!(answered(&tool, "opencode", &event), None);
}

#[test]
fn the_model_is_told_what_the_client_did_before() {
    let tool = Tool::new();
    let rest = "Error: no such process\nExit Code: 1\nBackground PIDs: 7, 8\nProcess Group PGID: 9";
    let answer = answered(
        &tool,
        "gemini",
        &event(
            "gemini",
            "run_shell_command",
            &gemini_shell(&log(3000), rest),
        ),
    );
    let reason = answer.unwrap()["reason"].as_str().unwrap().to_owned();
    let first = reason.lines().next().unwrap();
    assert_snapshot!(first, @"This is no error: the tool ran, and this is its result, shortened. Gemini CLI passes text on without the line ends at its end.");
    assert!(
        reason.ends_with("\nError: no such process\nBackground PIDs: 7, 8"),
        "{reason}"
    );
    let cut = format!(
        "Warning: truncated output (original token count: 75000)\nTotal output lines: 25000\n\n{}",
        log(300)
    );
    let answer = answered(&tool, "codex", &event("codex", "Bash", &json!(cut)));
    let reason = answer.unwrap()["reason"].as_str().unwrap().to_owned();
    assert_snapshot!(reason.lines().next_back().unwrap(), @"Codex cut the middle out of this output before: only the rest is stored. Direct large outputs to a file to keep all of them.");
}

#[test]
fn every_client_fails_open() {
    let tool = Tool::new();
    let deep = "[".repeat(100_000);
    for client in [
        "claude-code",
        "codex",
        "gemini",
        "cursor",
        "opencode",
        "copilot",
    ] {
        for bytes in [
            "",
            "{}",
            "[]",
            "null",
            "\u{0}",
            &deep,
            r#"{"hook_event_name":7}"#,
        ] {
            let output = told(&tool, client, bytes.as_bytes());
            assert_eq!(output.status.code(), Some(0), "{client} {bytes:.40}");
            assert!(output.stdout.is_empty(), "{client} {bytes:.40}");
        }
        for name in ["PreToolUse", "SessionStart", "AfterModel", "stop"] {
            let output = told(
                &tool,
                client,
                json!({"hook_event_name": name}).to_string().as_bytes(),
            );
            assert!(
                output.status.success() && output.stdout.is_empty(),
                "{client} {name}"
            );
        }
    }
}

#[test]
fn previews_name_the_tools_that_the_client_has() {
    let tool = Tool::new();
    let entry = json!({"command": "spillgate", "args": ["mcp", "--lookups"]});
    let file = tool.home().join(".gemini/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(
        &file,
        json!({"mcpServers": {"spillgate": entry}}).to_string(),
    )
    .unwrap();
    let event = event("gemini", "mcp_a_b", &json!({"llmContent": log(3000)}));
    let answer = answered(&tool, "gemini", &event).unwrap();
    let reason = answer["reason"].as_str().unwrap();
    assert!(
        reason.contains("next: spillgate_search(handle="),
        "{reason}"
    );
}
