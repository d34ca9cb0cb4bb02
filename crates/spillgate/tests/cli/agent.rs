//! `spillgate agent`: a run from its prompt file to its report.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::agent_lab::{Lab, Step, trace};
use super::tool::feed;

/// A large result, something out of it, and the report.
fn offloading() -> Vec<Step> {
    vec![
        Step::Calls(vec![("log", json!({})), ("note", json!({"name": "x"}))]),
        Step::Calls(vec![(
            "tool_output",
            json!({"handle": "HANDLE", "extract": "line 500", "mode": "truncate"}),
        )]),
        Step::Reports("Line 500 is there."),
    ]
}

/// What a request's messages are, one a line.
fn conversation(lab: &Lab, request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let told = messages.iter().skip(1).map(|message| {
        let role = message["role"].as_str().unwrap();
        let text = message["content"].as_str().unwrap_or_default();
        let text = match text.lines().count() > 8 {
            true => format!(
                "{} lines: {}",
                text.lines().count(),
                text.lines().next().unwrap()
            ),
            false => text.to_owned(),
        };
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| {
            let call = &call["function"];
            format!(
                "{} {}",
                call["name"].as_str().unwrap(),
                call["arguments"].as_str().unwrap()
            )
        });
        format!("{role}: {text}{}", calls.collect::<Vec<_>>().join("; "))
    });
    lab.steady(&told.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_run_with_a_large_result() {
    let lab = Lab::new(offloading());
    let output = lab.run(&["agent.ai", "find line 500"]);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "Line 500 is there.\n"
    );
    let asked = lab.script.asked();
    assert_eq!(asked.len(), 3);
    assert_snapshot!(conversation(&lab, &asked[2]), @"");
    let said = without_times(&lab.steady(&String::from_utf8(output.stderr).unwrap()));
    assert_snapshot!(said, @"");
    assert_eq!(output.status.code(), Some(0));
    assert!(lab.left().is_empty(), "the directory of the run is gone");
}

/// Times differ from run to run.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.ends_with("ms") || word == "s" || word == "ms";
    let lines = text.lines().map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        if words.last().is_some_and(|last| is_time(last)) {
            let at = words.len() - 2;
            words[at] = "TIME";
        }
        words.join(" ")
    });
    let mut lines: Vec<String> = lines.collect();
    // Two calls at once come back in any order.
    let came = lines.iter().position(|line| line.contains('←'));
    if let Some(came) = came {
        let end = lines[came..]
            .iter()
            .take_while(|line| line.contains('←'))
            .count();
        lines[came..came + end].sort();
    }
    lines.join("\n")
}

#[test]
fn the_task_comes_by_standard_input_and_the_file_is_a_command() {
    let lab = Lab::new(vec![Step::Reports("done")]);
    for args in [&["agent.ai"][..], &["agent.ai", "-"]] {
        let output = feed(lab.command(args), b"find it\n");
        assert_eq!(output.stdout, b"done\n", "{output:?}");
    }
    let binary = env!("CARGO_BIN_EXE_spillgate");
    lab.write(
        "own",
        &format!(
            "#!/usr/bin/env -S {binary} agent --quiet\n{}",
            super::agent_lab::PROMPT
        ),
    );
    let file = lab.path("own");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let command = lab.command(&[]);
    let mut own = Command::new(&file);
    own.arg("find it").current_dir(lab.path(""));
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            own.env(name, value);
        }
    }
    let output = feed(own, b"");
    assert_eq!(
        (output.stdout, output.stderr),
        (b"done\n".to_vec(), Vec::new())
    );
    for asked in lab.script.asked() {
        assert_eq!(asked["messages"][1]["content"], "find it");
    }
}

#[test]
fn json_has_the_report_and_the_account() {
    let lab = Lab::new(offloading());
    let output = lab.run(&["agent.ai", "find it", "--json", "--trace", "t.json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trace = trace(&lab.path("t.json"));
    assert_eq!(
        object["report"],
        json!({"format": "text", "content": "Line 500 is there.", "source": "tool"})
    );
    assert_eq!(object["ending"], json!({"status": "success"}));
    assert_eq!(object["accounting"], trace["accounting"]);
    assert_eq!(object["accounting"]["total"]["calls"], 3);
    assert!(
        object["session"].as_str().unwrap().starts_with("session-"),
        "{object}"
    );
    assert_eq!(trace["report"], object["report"]);
    let mode = fs::metadata(lab.path("t.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_report_is_what_it_has_to_be() {
    let steps = vec![
        Step::Calls(vec![(
            "agent__final_report",
            json!({"content_json": {"n": "one"}}),
        )]),
        Step::Calls(vec![(
            "agent__final_report",
            json!({"content_json": {"n": 1}}),
        )]),
    ];
    let lab = Lab::new(steps);
    lab.write(
        "n.json",
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#,
    );
    let output = lab.run(&["agent.ai", "count", "--schema", "n.json", "--quiet"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"n\":1}\n");
    assert_eq!(output.stderr, b"");
}

#[test]
fn without_a_report_the_exit_code_says_so() {
    let lab = Lab::new(vec![Step::Says("I do not know."), Step::Says("Still not.")]);
    assert_snapshot!(lab.said(&["agent.ai", "find it", "--max-turns", "2", "--quiet"], ""), @"");
    let output = lab.run(&["agent.ai", "find it", "--max-turns", "2", "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&object["report"]["source"], output.status.code()),
        (&json!("synthetic"), Some(1))
    );
}

#[test]
fn an_agent_calls_another() {
    let lab = Lab::of(vec![
        (
            "You ask others.",
            vec![
                Step::Calls(vec![("counter", json!({"prompt": "count"}))]),
                Step::Reports("There are two."),
            ],
        ),
        (
            "You count.",
            vec![Step::Calls(vec![("note", json!({}))]), Step::Reports("two")],
        ),
    ]);
    lab.write(
        "chief.ai",
        "---\nmodels: mock/reader\nagents: [counter.ai]\n---\nYou ask others.\n",
    );
    lab.write(
        "counter.ai",
        "---\ndescription: counts things\ntools: [lab]\nmodels: mock/reader\n---\nYou count.\n",
    );
    let output = lab.run(&["chief.ai", "how many?", "--trace", "t.json"]);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "There are two.\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let trace = trace(&lab.path("t.json"));
    let accounting = &trace["accounting"];
    assert_eq!(accounting["total"]["calls"], 4);
    assert_eq!(accounting["agents"]["counter"]["total"]["calls"], 2);
    let view = lab.run(&["view", "t.json", "--part", "tree"]);
    assert_snapshot!(without_columns(&String::from_utf8(view.stdout).unwrap()), @"");
    assert!(lab.left().is_empty());
}

/// The names of a tree alone.
fn without_columns(text: &str) -> String {
    let lines = text.lines().skip(1).map(|line| {
        let indent = line.len() - line.trim_start().len();
        let name = line.trim_start().split("  ").next().unwrap();
        format!("{}{name}", " ".repeat(indent))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_is_started_by_a_dry_run() {
    let lab = Lab::new(Vec::new());
    lab.write("server.sh", "echo started >> \"$MARK\"");
    assert_snapshot!(lab.said(&["agent.ai", "find it", "--dry-run", "--max-turns", "3"], ""), @"");
    let output = feed(
        lab.command(&["agent.ai", "find it", "--dry-run", "--json"]),
        b"",
    );
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["task"], "find it");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("sk-mock"));
    assert!(lab.script.asked().is_empty());
    assert!(!lab.path("called").exists() && lab.left().is_empty());
}
