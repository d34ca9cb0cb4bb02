//! Tests of `spillgate agent`: a run from its prompt file to its report.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::agent_lab::{Lab, Step, trace};
use super::tool::feed;

/// The script of a model that gets a large result, extracts from it, and reports.
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

/// Formats the messages of a request, one per line.
pub(crate) fn conversation(lab: &Lab, request: &Value) -> String {
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
    let told = told.collect::<Vec<_>>().join("\n");
    lab.steady(&told).replace('\u{1b}', "ESC")
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
    assert_snapshot!(conversation(&lab, &asked[2]), @r#"
    user: find line 500
    assistant: log {}; note {"name":"x"}
    tool: Tool output is too large (40893 bytes, 2001 lines, 15001 tokens).
    Call tool_output(handle = "HANDLE", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    tool: a note ESC[31mwith a colour
    assistant: tool_output {"extract":"line 500","handle":"HANDLE","mode":"truncate"}
    tool: 334 lines: ABSTRACT FROM TOOL OUTPUT log WITH HANDLE HANDLE, STRATEGY:truncate:
    "#);
    let harmless = |byte: &u8| *byte == b'\n' || *byte >= b' ';
    assert!(
        output.stderr.iter().all(harmless),
        "nothing moves the cursor"
    );
    let said = without_times(&lab.steady(&String::from_utf8(output.stderr).unwrap()));
    assert_snapshot!(said, @r#"
    turn 1: mock/reader, 1,000 tokens in (400 cached), 20 out, $0.001560
      → log {}
      → note {"name":"x"}
      ← log: 40,893 bytes, stored as HANDLE (over the size cap), TIME
      ← note: 25 bytes, shown (N tokens), TIME
    turn 2: mock/reader, 1,000 tokens in (400 cached), 20 out, $0.001560
      → tool_output {"extract":"line 500","handle":"HANDLE","mode":"truncate"}
      ← tool_output: 6,873 bytes, shown (N tokens), TIME
    turn 3: mock/reader, 1,000 tokens in (400 cached), 20 out, $0.001560
    agent: 3 requests, 3 calls (1 stored), 3,000 tokens in (1,200 cached), 60 out, $0.004680, TIME
    "#);
    assert_eq!(output.status.code(), Some(0));
    assert!(lab.left().is_empty(), "the directory of the run is gone");
}

/// Replaces times and other values that differ from run to run.
fn without_times(text: &str) -> String {
    let is_timed = |line: &str| line.contains('←') || line.starts_with("agent: ");
    let lines = text.lines().map(|line| match line.rsplit_once(", ") {
        Some((before, _)) if is_timed(line) => format!("{before}, TIME"),
        _ => line.to_owned(),
    });
    // A handle is random, and so is its number of tokens.
    let lines = lines.map(|line| match line.split_once("shown (") {
        Some((before, after)) => {
            let (_, after) = after.split_once(" tokens)").unwrap();
            format!("{before}shown (N tokens){after}")
        }
        None => line,
    });
    let mut lines: Vec<String> = lines.collect();
    // Two calls that run at the same time return in any order.
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
        json!({"format": "markdown", "content": "Line 500 is there.", "source": "tool"})
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
    assert_snapshot!(lab.said(&["agent.ai", "find it", "--max-turns", "2", "--quiet"], ""), @r#"
    $ agent agent.ai find it --max-turns 2 --quiet
    --- 1
    error: no report: the turns were used up, the last reply had no report ("Your reply has neither a call nor a report.")
    hint: `--trace FILE` records what the agent does, and `spillgate agent view FILE` shows the record
    "#);
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
    assert_snapshot!(without_columns(&String::from_utf8(view.stdout).unwrap()), @"
    chief
      turn 1
        model
        counter
          counter
            turn 1
              model
              note (lab)
            turn 2
              model
      turn 2
        model
    ");
    assert!(lab.left().is_empty());
}

/// Removes the columns of a printed tree, so that only the names of operations remain.
fn without_columns(text: &str) -> String {
    let lines = text.lines().skip(1).map(|line| {
        let indent = line.len() - line.trim_start().len();
        let name = line.trim_start().split("  ").next().unwrap();
        format!("{}{name}", " ".repeat(indent))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the settings that differ from the built-in ones, the timeouts, and those that the model
/// decides.
fn without_defaults(text: &str) -> String {
    let is_kept = |line: &&str| {
        let is_shown = ["timeout", "the model's"]
            .iter()
            .any(|one| line.contains(one));
        !line.ends_with("  built-in") || is_shown
    };
    let lines: Vec<&str> = text.lines().filter(is_kept).collect();
    lines.join("\n")
}

#[test]
fn nothing_is_started_by_a_dry_run() {
    let lab = Lab::new(Vec::new());
    lab.write("server.sh", "echo started >> \"$MARK\"");
    let shown = lab.said(
        &["agent.ai", "find it", "--dry-run", "--max-turns", "3"],
        "",
    );
    assert_snapshot!(without_defaults(&shown), @r#"
    $ agent agent.ai find it --dry-run --max-turns 3
    agent (agent.ai)

    prompt:
      You find things out.

    settings:
      models                            mock/reader  agent.ai:2
      tools                             lab          agent.ai:3
      maxTurns                          3            command line
      maxOutputTokens                   the model's  built-in
      contextWindow                     the model's  built-in
      timeout                           30m          built-in

    models:
      mock/reader: 128,000 tokens of context: 4,096 for a reply, 8,192 of buffer (at most an eighth), 115,712 for the conversation

    tools from:
      lab (an MCP server, .ai-agent.json:1)
        {"args":["/HOME/server.sh"],"command":"sh","env":{"MARK":"[hidden]"}}

    task: find it
    --- 0
    "#);
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
