//! What a person is told who starts an agent wrongly, before anything is started.

use insta::assert_snapshot;
use serde_json::json;

use super::agent_lab::{Lab, PROMPT};
use super::tool::feed;

#[test]
fn arguments() {
    let lab = Lab::new(Vec::new());
    let cases: [(&[&str], &str); 9] = [
        (&[], ""),
        (&["agent.ai"], ""),
        (&["agent.ai", ""], ""),
        (&["agent.ai", "a", "b"], ""),
        (&["agent.ai", "a", "-"], "b"),
        (&["agent.ai", "a"], "b"),
        (&["nothing.ai", "a"], ""),
        (&["agent.ai", "a", "--max-turns", "0"], ""),
        (&["agent.ai", "a", "--trace", "."], ""),
    ];
    let said = cases.map(|(args, stdin)| lab.said(args, stdin));
    assert_snapshot!(said.join("\n"), @"");
    nothing_was_started(&lab);
}

fn nothing_was_started(lab: &Lab) {
    assert!(lab.script.asked().is_empty());
    assert!(lab.left().is_empty());
}

#[test]
fn files() {
    let lab = Lab::new(Vec::new());
    let prompt = |lines: &str| PROMPT.replace("tools: [lab]\n", lines);
    let files = [
        ("turns.ai", prompt("maxTurns: ten\ntols: [lab]\n")),
        ("model.ai", PROMPT.replace("mock/reader", "mokc/reader")),
        ("none.ai", "---\ntools: [lab]\n---\nx\n".to_owned()),
        ("tool.ai", PROMPT.replace("[lab]", "[lap]")),
        ("round.ai", prompt("agents: [other.ai]\n")),
        ("other.ai", prompt("agents: [round.ai]\n")),
        ("absent.ai", prompt("agents: [not-there.ai]\n")),
    ];
    for (name, text) in &files {
        lab.write(name, text);
    }
    let said = [
        "turns.ai",
        "model.ai",
        "none.ai",
        "tool.ai",
        "round.ai",
        "absent.ai",
    ]
    .map(|file| lab.said(&[file, "find it"], ""));
    assert_snapshot!(said.join("\n"), @"");
    nothing_was_started(&lab);
}

#[test]
fn configurations() {
    let lab = Lab::new(Vec::new());
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut config = lab.config("");
        change(&mut config);
        lab.write("c.json", &serde_json::to_string_pretty(&config).unwrap());
        let mut command = lab.command(&["agent.ai", "find it", "--agent-config", "c.json"]);
        command.env_remove("MOCK_KEY");
        let output = feed(command, b"");
        lab.steady(&format!(
            "{}{}",
            String::from_utf8(output.stderr).unwrap(),
            output.status.code().unwrap()
        ))
    };
    let said = [
        with(&|_| {}),
        with(&|config| config["providers"]["mock"]["kind"] = json!("opneai")),
        with(&|config| config["mcpServers"]["lab"]["command"] = json!(7)),
        with(&|config| config["mcpServers"]["lab"]["command"] = json!("${NO_SUCH_VARIABLE}")),
        with(&|config| config["mcpServer"] = json!({})),
        with(&|config| config["toolOutput"] = json!({"overlapPercent": 60})),
    ];
    assert_snapshot!(said.join("\n---\n"), @"");
    nothing_was_started(&lab);
}

#[test]
fn servers() {
    let lab = Lab::new(Vec::new());
    let mut config = lab.config("");
    config["mcpServers"]["lab"]["command"] = json!("no-such-program");
    lab.write(".ai-agent.json", &config.to_string());
    let missing = lab.said(&["agent.ai", "find it"], "");
    lab.write(".ai-agent.json", &lab.config("").to_string());
    lab.write("server.sh", "echo what a pity >&2; exit 3");
    let ended = lab.said(&["agent.ai", "find it"], "");
    assert_snapshot!(format!("{missing}\n{ended}"), @"");
    assert!(lab.script.asked().is_empty() && lab.left().is_empty());
}

#[test]
fn traces() {
    let lab = Lab::new(Vec::new());
    lab.write("text", "no trace");
    lab.write("list.json", "[1, 2]");
    lab.write("newer.json", r#"{"version": 99}"#);
    let said = ["text", "list.json", "newer.json", "absent.json"]
        .map(|file| lab.said(&["view", file], ""));
    assert_snapshot!(said.join("\n"), @"");
}
