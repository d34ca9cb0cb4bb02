//! Tests of profiles and templates, on the command line and in a configuration.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::tool::{Tool, feed};

fn text(object: &Value) -> &str {
    object["text"].as_str().unwrap()
}

#[test]
fn slices_from_the_command_line() {
    let tool = Tool::new();
    let whole: String = (0..900).map(|i| format!("zeile {i} äöü\n")).collect();
    let args = ["put", "--profile", "continuation", "--id", "call_7"];
    let first = tool.run(&args, whole.as_bytes()).stdout;
    let first = String::from_utf8(first).unwrap();
    let (mut slices, marker) = cut(&first);
    assert!(
        marker.contains("tool_call_id=\"call_7\" to read more]"),
        "{marker}"
    );
    loop {
        let offset = slices.chars().count().to_string();
        let args = ["continue", "call_7", "--offset", &offset];
        let more = String::from_utf8(tool.run(&args, b"").stdout).unwrap();
        let (slice, marker) = cut(&more);
        slices.push_str(&slice);
        if marker.is_empty() {
            break;
        }
    }
    assert_eq!(slices, whole);
    // Without an offset it continues where the first slice ended.
    let second = tool.json(&["continue", "call_7"], b"");
    let chars: Vec<char> = whole.chars().collect();
    let wanted: String = chars[4000..8000].iter().collect();
    assert!(text(&second).starts_with(&wanted));
}

/// Splits a text into a slice and its marker.
fn cut(shown: &str) -> (String, String) {
    let at = shown.rfind("\n\n[truncated").unwrap_or(shown.len());
    (shown[..at].to_owned(), shown[at..].to_owned())
}

#[test]
fn errors_of_continue_are_the_seeds() {
    let tool = Tool::new();
    tool.run(
        &["put", "--profile", "continuation", "--id", "c"],
        &[b'x'; 4001],
    );
    let cases: [&[&str]; 4] = [
        &["continue", "nope"],
        &["continue", "c", "--offset", "4001"],
        &["continue", "c", "--offset", "-1"],
        &["continue", "../../etc/passwd"],
    ];
    let all: Vec<String> = cases
        .iter()
        .map(|args| {
            let output = tool.run(args, b"");
            assert_eq!(output.status.code(), Some(1), "{args:?}");
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    assert_snapshot!(all.join("\n"), @r#"
    {"error": "No cached result for tool_call_id 'nope'"}
    {"error": "Offset beyond end of result"}
    {"error": "offset must be a non-negative integer"}
    {"error": "No cached result for tool_call_id '../../etc/passwd'"}
    "#);
    let (error, code) = tool.error(&["continue", "nope"]);
    assert_eq!((&error["kind"], code), (&json!("not_found"), 1));
}

#[test]
fn short_ids_outlive_the_process() {
    let tool = Tool::new();
    let config = tool.home().join("c.toml");
    fs::write(
        &config,
        "profile = \"continuation\"\ncontinuation.short_ids = true\n",
    )
    .unwrap();
    let config = config.to_str().unwrap();
    for (id, byte) in [("1", b'a'), ("2", b'b')] {
        let shown = tool.json(&["put", "--config", config], &[byte; 4001]);
        assert!(text(&shown).contains(&format!("tool_call_id=\"{id}\"")));
    }
    assert_eq!(text(&tool.json(&["continue", "1"], b"")), "a");
    assert_eq!(text(&tool.json(&["continue", "2"], b"")), "b");
}

#[test]
fn the_funnels_file_is_for_other_programs() {
    let tool = Tool::new();
    let line = "$SPILLGATE run --profile funnel --json -- seq 1 100000";
    let object: Value = serde_json::from_slice(&feed(tool.shell(line), b"").stdout).unwrap();
    let summary = &object["summary"];
    let path = summary["full_output_saved_to"].as_str().unwrap();
    let found = std::process::Command::new("grep")
        .args(["-c", "^7", path])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap().trim(), "11111");
    assert!(text(&object).contains(path));
    assert_eq!(
        (
            &object["status"],
            &object["output"],
            &object["error"],
            &object["cost"]
        ),
        (
            &json!("success"),
            &object["text"],
            &Value::Null,
            &Value::Null
        )
    );
    assert!(object["duration_ms"].is_u64());
    assert_eq!(
        (
            &summary["total_lines"],
            &summary["total_chars"],
            &summary["status_flag"]
        ),
        (&json!(100_001), &json!(588_895), &json!("success"))
    );
    // The file is removed with the artifact.
    tool.run(&["rm", object["handle"].as_str().unwrap()], b"");
    assert!(fs::symlink_metadata(path).is_err());
}

#[test]
fn a_command_that_fails_is_a_failure_in_the_funnel() {
    let tool = Tool::new();
    let line = "$SPILLGATE run --profile funnel --json -- sh -c 'seq 1 100; exit 3'";
    let object: Value = serde_json::from_slice(&feed(tool.shell(line), b"").stdout).unwrap();
    assert_eq!(object["offloaded"], true);
    let flag = &object["summary"]["status_flag"];
    assert_eq!(
        (
            &object["status"],
            &object["error"],
            flag,
            &object["exit_code"]
        ),
        (
            &json!("failure"),
            &json!("exit code 3"),
            &json!("failure"),
            &json!(3)
        )
    );
}

#[test]
fn reject_shows_numbers_and_no_data() {
    let tool = Tool::new();
    let put = |bytes: usize| {
        let args = ["put", "--tool", "read_file", "--profile", "reject"];
        tool.json(&args, &vec![b'x'; bytes])
    };
    assert_eq!(put(100_003)["offloaded"], false);
    assert_snapshot!(text(&put(100_004)), @"Error: File content (~25001 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.");
}

#[test]
fn reject_says_what_is_there_where_it_is_told_to() {
    let tool = Tool::new();
    let file = tool.home().join("c.toml");
    let toml = "profile = \"reject\"\n[tools.journal]\ndetailed_recovery = true\n";
    fs::write(&file, toml).unwrap();
    let file = file.to_str().unwrap();
    let put = |name: &str, more: &[&str], variable: &str| {
        let args = ["put", "--json", "--config", file, "--tool", name];
        let mut command = tool.command(&[&args, more].concat());
        command.env("SPILLGATE_DETAILED_RECOVERY", variable);
        let object: Value =
            serde_json::from_slice(&feed(command, log(3000).as_bytes()).stdout).unwrap();
        assert_eq!(object["offloaded"], true, "{object}");
        text(&object).replace(object["handle"].as_str().unwrap(), "HANDLE")
    };
    for (name, more, variable, is_told) in [
        ("journal", &[][..], "", true),
        ("journal", &[], "false", true),
        ("other", &[], "", false),
        ("other", &[], "true", true),
        ("other", &["--detailed-recovery"], "", true),
        ("journal", &["--profile", "handle"], "true", false),
    ] {
        let shown = put(name, more, variable);
        let has_block = shown.contains("\n\n--- Recovery Options ---\nTool: ");
        assert_eq!(has_block, is_told, "{name} {more:?} {variable}: {shown}");
    }
    assert_snapshot!(put("journal", &[], ""), @"
    Error: Tool output (~47478 tokens) exceeds maximum allowed tokens (25000). Please ask the tool for less.

    --- Recovery Options ---
    Tool: journal | 3001 lines, 189,914 chars (log)

    Structure:
      - levels: ERROR 1, INFO 2,999
      - from 2026-11-21T10:00:00Z to 2026-11-21T10:49:59Z
      - 2,999× (line 1) <*> INFO worker-<*> processed batch id=<*> ok
      - 1× (line 501) <*> ERROR worker-<*> code=<*> disk quota exceeded on /data/<*>

    Commands:
      • spillgate search HANDLE WORDS
      • or, likewise: grep HANDLE REGEX, read HANDLE --start LINE --lines N
    ");
    let mut command = tool.command(&["put", "--json"]);
    command.env("SPILLGATE_DETAILED_RECOVERY", "perhaps");
    let wrong: Value = serde_json::from_slice(&feed(command, b"").stdout).unwrap();
    assert_snapshot!(text(&json!({"text": wrong["error"]["message"]})), @r#"SPILLGATE_DETAILED_RECOVERY = "perhaps" is neither true nor false"#);
}

#[test]
fn a_template_of_ones_own_for_one_tool() {
    let tool = Tool::new();
    let config = tool.home().join("c.toml");
    let toml = r#"
        [tools."jour*"]
        profile = "short"
        [templates]
        short = """
{{ tool }}: {{ lines }} lines of {{ kind }} & {{ tokens }} tokens, kept as {{ handle }}
{% for line in shape %}{{ line }}
{% endfor %}{{ next | join("\n") }}"""
    "#;
    fs::write(&config, toml).unwrap();
    let config = config.to_str().unwrap();
    let put = |name: &str| {
        let args = ["put", "--config", config, "--tool", name];
        let object = tool.json(&args, log(3000).as_bytes());
        text(&object).replace(object["handle"].as_str().unwrap(), "HANDLE")
    };
    let shown = put("journal");
    let first: Vec<&str> = shown.lines().take(2).collect();
    assert_snapshot!(first.join("\n"), @"
    journal: 3001 lines of log & 74976 tokens, kept as HANDLE
      501: ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    ");
    assert!(put("other").starts_with("[spillgate] other"));
}

#[test]
fn a_template_keeps_to_its_budget() {
    let tool = Tool::new();
    let config = tool.home().join("c.toml");
    let toml = "profile = \"long\"\npreview_tokens = 300\n[templates]\nlong = \"{% for i in range(2000) %}{{ i }} {{ handle }}\\n{% endfor %}\"\n";
    fs::write(&config, toml).unwrap();
    let args = ["put", "--config", config.to_str().unwrap()];
    let object = tool.json(&args, log(3000).as_bytes());
    let end = text(&object).lines().last().unwrap();
    assert_eq!(end, "[cut: the template is over its token budget]");
    assert!(text(&object).len() < 2500);
}

#[test]
fn an_unknown_profile_is_refused() {
    let tool = Tool::new();
    let (error, code) = tool.error(&["put", "--profile", "shout"]);
    assert_eq!((&error["kind"], code), (&json!("config"), 1));
    assert_snapshot!(error["message"].as_str().unwrap(), @"--profile: unknown profile `shout`; known are preview, handle, continuation, funnel, reject, truncate");
}

#[test]
fn the_prompt_for_the_funnel() {
    let shown = Tool::new().run(&["prompt", "funnel"], b"").stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(
        shown.starts_with("## The Principle of Large Output Handling\n"),
        "{shown}"
    );
}
