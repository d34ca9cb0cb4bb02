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

/// The file with the hooks of each client, below the home; what may be in it before; and how often
/// the command is in it afterwards.
const FILES: [(&str, &str, Option<&str>, usize); 6] = [
    ("claude-code", ".claude/settings.json", Some(SETTINGS), 2),
    (
        "gemini",
        ".gemini/settings.json",
        Some("{\n  // mine\n  \"hooks\": {\"AfterTool\": []}, \"mcpServers\": {}\n}"),
        1,
    ),
    ("codex", ".codex/hooks.json", Some("{\"hooks\": {}}\n"), 1),
    (
        "cursor",
        ".cursor/hooks.json",
        Some("{\"version\": 1, \"hooks\": {\"postToolUse\": [{\"command\": \"fmt\"}]}}"),
        1,
    ),
    ("opencode", ".config/opencode/plugins/spillgate.js", None, 1),
    ("copilot", ".copilot/hooks/spillgate.json", None, 1),
];

#[test]
fn the_settings_of_every_client_are_restored_byte_for_byte() {
    for (client, name, text, count) in FILES {
        for before in [None, text] {
            let tool = Tool::new();
            let file = tool.home().join(name);
            if let Some(text) = before {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, text).unwrap();
            }
            let now = || fs::read_to_string(&file).ok();
            let wrap = ["wrap", client, "--hooks"];
            let dry = [&wrap[..], &["--dry-run"]].concat();
            let (diff, code) = run(&tool, &dry);
            assert_eq!((code, now().as_deref()), (Some(0), before), "{client}");
            assert!(diff.contains(&format!("hook {client}")), "{diff}");
            for _ in 0..2 {
                assert_eq!(run(&tool, &wrap).1, Some(0), "{client}");
            }
            let after = now().unwrap();
            let runs = format!(" hook {client}");
            let is_run = |line: &&str| line.contains('"') && line.contains(&runs);
            let found = after.lines().filter(is_run).count();
            assert_eq!(found, count, "{client}: {after}");
            let (said, code) = run(&tool, &["doctor", client, "--no-start"]);
            assert_eq!(code, Some(0), "{said}");
            let good = format!("ok     a hook runs `/SPILLGATE hook {client}`");
            assert!(said.contains(&good), "{said}");
            let undo = ["unwrap", client];
            let dry = [&undo[..], &["--dry-run"]].concat();
            assert_eq!(run(&tool, &dry).1, Some(0), "{client}");
            assert_eq!(now(), Some(after), "{client}");
            assert_eq!(run(&tool, &undo).1, Some(0), "{client}");
            assert_eq!(now().as_deref(), before, "{client}");
        }
    }
}

#[test]
fn a_dry_run_shows_the_file_that_would_be_created() {
    let mut shown = Vec::new();
    for (client, ..) in FILES {
        let tool = Tool::new();
        shown.push(run(&tool, &["wrap", client, "--hooks", "--dry-run"]).0);
    }
    let [claude, gemini, codex, cursor, opencode, copilot] = &shown[..] else {
        panic!("{shown:?}")
    };
    assert!(
        claude.starts_with("--- /dev/null\n+++ /HOME/.claude/settings.json\n"),
        "{claude}"
    );
    assert_snapshot!(gemini, @r#"
--- /dev/null
+++ /HOME/.gemini/settings.json
@@ -0,0 +1,16 @@
+{
+  "hooks": {
+    "AfterTool": [
+      {
+        "hooks": [
+          {
+            "command": "exec /SPILLGATE hook gemini 2>/dev/null",
+            "timeout": 60000,
+            "type": "command"
+          }
+        ],
+        "matcher": "run_shell_command|web_fetch|google_web_search|grep_search|mcp_.*"
+      }
+    ]
+  }
+}
"#);
    assert_snapshot!(codex, @r#"
--- /dev/null
+++ /HOME/.codex/hooks.json
@@ -0,0 +1,16 @@
+{
+  "hooks": {
+    "PostToolUse": [
+      {
+        "hooks": [
+          {
+            "command": "/SPILLGATE hook codex",
+            "timeout": 60,
+            "type": "command"
+          }
+        ],
+        "matcher": "Bash|mcp__.*"
+      }
+    ]
+  }
+}
"#);
    assert_snapshot!(cursor, @r#"
--- /dev/null
+++ /HOME/.cursor/hooks.json
@@ -0,0 +1,12 @@
+{
+  "hooks": {
+    "postToolUse": [
+      {
+        "command": "/SPILLGATE hook cursor",
+        "matcher": "MCP:.*",
+        "timeout": 60
+      }
+    ]
+  },
+  "version": 1
+}
"#);
    let command = r#"+const COMMAND = ["/bin/sh","-c","exec /SPILLGATE hook opencode"]"#;
    assert!(opencode.contains(command), "{opencode}");
    assert_snapshot!(copilot, @r#"
--- /dev/null
+++ /HOME/.copilot/hooks/spillgate.json
@@ -0,0 +1,12 @@
+{
+  "hooks": {
+    "postToolUse": [
+      {
+        "bash": "/SPILLGATE hook copilot",
+        "timeoutSec": 60,
+        "type": "command"
+      }
+    ]
+  },
+  "version": 1
+}
"#);
}

#[test]
fn a_file_of_the_user_stays() {
    for (client, name, _, _) in &FILES[4..] {
        let tool = Tool::new();
        let file = tool.home().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine").unwrap();
        let (said, code) = run(&tool, &["wrap", client, "--hooks"]);
        assert_eq!(code, Some(0));
        assert!(
            said.contains("there is another file of this name"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        // Ours, changed by the user.
        fs::remove_file(&file).unwrap();
        assert_eq!(run(&tool, &["wrap", client, "--hooks"]).1, Some(0));
        let changed = format!("{} ", fs::read_to_string(&file).unwrap());
        fs::write(&file, &changed).unwrap();
        let (said, _) = run(&tool, &["unwrap", client]);
        assert!(said.contains("it was changed since"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), changed);
    }
}

#[test]
fn a_created_file_to_which_the_user_adds_something_stays() {
    let (tool, file) = settings(None);
    assert_eq!(run(&tool, &WRAP).1, Some(0));
    let now = fs::read_to_string(&file)
        .unwrap()
        .replacen('{', "{\"mine\": 1,", 1);
    fs::write(&file, now).unwrap();
    assert_eq!(run(&tool, &WRAP).1, Some(0));
    assert_eq!(run(&tool, &["unwrap", "claude-code"]).1, Some(0));
    let now: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(now["mine"], 1, "{now}");
    assert!(!now.to_string().contains("spillgate"), "{now}");
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
    assert_eq!(run(&tool, &["wrap", "vscode", "--hooks"]).1, Some(1));
}
