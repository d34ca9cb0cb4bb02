//! Tests of `wrap --hooks`, and of `unwrap` and `doctor` on a client's hooks.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use crate::tool::{Tool, feed};

/// Settings with a comment, hooks of the user, and odd spaces.
const SETTINGS: &str = "{\n  // mine\n  \"model\" : \"opus\",\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\"matcher\": \"Edit\", \"hooks\": [{\"type\": \"command\", \"command\": \"fmt\"}]}\n    ]\n  }\n}\n";

fn settings(text: Option<&str>) -> (Tool, PathBuf) {
    let tool = Tool::new();
    let file = tool.home().join(".claude/settings.json");
    if let Some(text) = text {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    (tool, file)
}

/// Runs a command; returns its standard output and its exit code.
fn run(tool: &Tool, args: &[&str]) -> (String, Option<i32>) {
    let mut command = tool.command(args);
    command
        .current_dir(tool.home())
        .env_remove("CLAUDE_CONFIG_DIR");
    let output = feed(command, b"");
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.replace(env!("CARGO_BIN_EXE_spillgate"), "/SPILLGATE");
    (
        text.replace(tool.home().to_str().unwrap(), "/HOME"),
        output.status.code(),
    )
}

const WRAP: [&str; 3] = ["wrap", "claude-code", "--hooks"];

#[test]
fn a_dry_run_shows_the_hooks() {
    let (tool, file) = settings(Some(SETTINGS));
    let (diff, code) = run(&tool, &["wrap", "claude-code", "--hooks", "--dry-run"]);
    assert_eq!(code, Some(0));
    assert_snapshot!(diff, @r#"
--- /HOME/.claude/settings.json
+++ /HOME/.claude/settings.json
@@ -3,7 +3,28 @@
   "model" : "opus",
   "hooks": {
     "PostToolUse": [
+      {
+        "hooks": [
+          {
+            "command": "/SPILLGATE hook claude-code",
+            "timeout": 60,
+            "type": "command"
+          }
+        ],
+        "matcher": "Bash|WebFetch|Grep|Agent|Task|mcp__.*"
+      },
       {"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}
+    ],
+    "SessionStart": [
+      {
+        "hooks": [
+          {
+            "command": "/SPILLGATE hook claude-code",
+            "timeout": 60,
+            "type": "command"
+          }
+        ]
+      }
     ]
   }
 }
"#);
    assert_eq!(fs::read_to_string(file).unwrap(), SETTINGS);
}

#[test]
fn settings_are_restored_byte_for_byte() {
    for text in [
        SETTINGS,
        "{}",
        "{\n\t\"permissions\": {\"allow\": [\"mcp__a\"]}\n}",
    ] {
        let (tool, file) = settings(Some(text));
        for _ in 0..2 {
            assert_eq!(run(&tool, &WRAP).1, Some(0));
        }
        let now = fs::read_to_string(&file).unwrap();
        assert_eq!(now.matches("hook claude-code").count(), 2, "{now}");
        assert_eq!(run(&tool, &["unwrap", "claude-code"]).1, Some(0));
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn hooks_and_servers_are_undone_together_but_not_a_server_alone() {
    let text = "{\"permissions\": {\"allow\": [\"mcp__a\"]}}";
    let (tool, file) = settings(Some(text));
    let servers = tool.home().join(".claude.json");
    let before = "{\"mcpServers\": {\"a\": {\"command\": \"true\"}}}";
    fs::write(&servers, before).unwrap();
    assert_eq!(run(&tool, &WRAP).1, Some(0));
    assert_eq!(fs::read_to_string(&servers).unwrap(), before);
    let wrap = ["wrap", "claude-code"];
    assert_eq!(run(&tool, &wrap).1, Some(0));
    let now = fs::read_to_string(&file).unwrap();
    assert!(
        now.contains("mcp__spillgate") && now.contains("hook claude-code"),
        "{now}"
    );
    assert_eq!(
        run(&tool, &["unwrap", "claude-code", "--server", "a"]).1,
        Some(0)
    );
    let now = fs::read_to_string(&file).unwrap();
    assert_eq!(now.matches("hook claude-code").count(), 2, "{now}");
    assert_eq!(run(&tool, &wrap).1, Some(0));
    assert_eq!(run(&tool, &["unwrap", "claude-code"]).1, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(fs::read_to_string(&servers).unwrap(), before);
}

#[test]
fn only_our_hooks_are_removed_from_settings_that_changed() {
    let (tool, file) = settings(Some(SETTINGS));
    assert_eq!(run(&tool, &WRAP).1, Some(0));
    let now = fs::read_to_string(&file).unwrap().replace("opus", "sonnet");
    fs::write(&file, now).unwrap();
    assert_eq!(run(&tool, &["unwrap", "claude-code"]).1, Some(0));
    let now = fs::read_to_string(&file).unwrap();
    assert!(now.contains("sonnet") && now.contains("fmt"), "{now}");
    assert!(!now.contains("spillgate"), "{now}");
}

#[test]
fn settings_are_created_where_there_are_none() {
    let (tool, file) = settings(None);
    let mut dry = tool.command(&["wrap", "claude-code", "--hooks", "--dry-run"]);
    dry.current_dir(tool.home()).env_remove("CLAUDE_CONFIG_DIR");
    let dry = feed(dry, b"");
    assert_eq!(dry.status.code(), Some(0));
    let told = String::from_utf8(dry.stderr).unwrap();
    let told = told.replace(env!("CARGO_BIN_EXE_spillgate"), "/SPILLGATE");
    assert_snapshot!(told.replace(tool.home().to_str().unwrap(), "/HOME"), @"without --dry-run, /HOME/.claude/settings.json would be created, with hooks that run `/SPILLGATE hook claude-code`");
    assert!(!file.exists());
    assert_eq!(run(&tool, &WRAP).1, Some(0));
    let now: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(now["hooks"]["SessionStart"][0]["hooks"][0]["command"].is_string());
    assert_eq!(run(&tool, &["unwrap", "claude-code"]).1, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
}

#[test]
fn hooks_of_a_project_are_in_its_own_file() {
    let (tool, _) = settings(None);
    let wrap = ["wrap", "claude-code", "--hooks", "--scope", "local"];
    assert_eq!(run(&tool, &wrap).1, Some(0));
    assert!(tool.home().join(".claude/settings.local.json").exists());
}

#[test]
fn doctor_finds_hooks_that_cannot_run() {
    let (tool, file) = settings(Some("{}"));
    assert_eq!(run(&tool, &WRAP).1, Some(0));
    let (said, code) = run(&tool, &["doctor", "claude-code", "--no-start"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("ok     a hook runs `/SPILLGATE hook claude-code`"),
        "{said}"
    );
    let mut now: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    now["disableAllHooks"] = true.into();
    now["hooks"]["SessionStart"] = Value::Array(Vec::new());
    let text = now
        .to_string()
        .replace(env!("CARGO_BIN_EXE_spillgate"), "/gone/spillgate");
    fs::write(&file, text).unwrap();
    let (said, code) = run(&tool, &["doctor", "claude-code", "--no-start"]);
    assert_eq!(code, Some(1), "{said}");
    for what in [
        "whose program does not exist",
        "no hook for SessionStart",
        "turns all hooks off",
    ] {
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn clients_without_hooks_are_refused() {
    let (tool, _) = settings(None);
    assert_eq!(run(&tool, &["wrap", "cursor", "--hooks"]).1, Some(1));
}
