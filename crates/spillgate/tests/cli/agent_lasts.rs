//! Tests that a run's outcome is not lost, and that nothing that the run started outlives it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use super::agent_lab::{Lab, PROMPT, Step, trace, until};
use super::tool::feed;

/// Adds commands before and after the loop of the lab's server, which is a shell script.
fn server(lab: &Lab, before: &str, behind: &str) {
    let own = fs::read_to_string(lab.path("server.sh")).unwrap();
    lab.write("server.sh", &format!("{before}\n{own}\n{behind}"));
}

fn process(lab: &Lab, file: &str) -> Option<Pid> {
    let text = fs::read_to_string(lab.path(file)).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

#[test]
fn a_report_outlives_its_trace() {
    let lab = Lab::new(vec![
        Step::Calls(vec![("note", json!({}))]),
        Step::Reports("done"),
    ]);
    fs::create_dir(lab.path("traces")).unwrap();
    let traces = lab.path("traces").display().to_string();
    let own = fs::read_to_string(lab.path("server.sh")).unwrap();
    let gone = format!("*'\"name\":\"note\"'*) rm -r {traces}; ");
    lab.write("server.sh", &own.replace("*'\"name\":\"note\"'*) ", &gone));
    let output = lab.run(&["agent.ai", "go", "--trace", "traces/t.json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.stdout, output.status.code()),
        (b"done\n".to_vec(), Some(1)),
        "{said}"
    );
    assert!(
        said.contains("error: the trace could not be written"),
        "{said}"
    );
}

#[test]
fn a_report_does_not_wait_for_servers() {
    let lab = Lab::new(vec![Step::Reports("done")]);
    server(
        &lab,
        "echo $$ > \"$MARK.pid\"; trap '' TERM HUP INT",
        "while :; do sleep 1; done",
    );
    let mut command = lab.command(&["agent.ai", "go"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut report = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut report).unwrap();
    assert_eq!(report, "done\n");
    let server = process(&lab, "called.pid").unwrap();
    assert!(test_kill_process(server).is_ok(), "it has not ended yet");
    // The signal says that the user does not want to wait: the server is killed, and the report is
    // still valid.
    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    until(|| test_kill_process(server).is_err(), "its server ends");
    assert!(lab.left().is_empty());
}

#[test]
fn time_is_over_and_signals_come_while_tools_start() {
    let lab = Lab::new(Vec::new());
    lab.write("server.sh", "sleep 986 & echo $! > \"$MARK.pid\"; wait");
    lab.write("t.json", "of a former run");
    let output = lab.run(&["agent.ai", "go", "--timeout", "1s", "--trace", "t.json"]);
    assert_eq!(output.status.code(), Some(124), "{output:?}");
    assert_eq!(trace(&lab.path("t.json"))["ending"]["status"], "timed-out");
    let launched = process(&lab, "called.pid").unwrap();
    until(
        || test_kill_process(launched).is_err(),
        "what a launcher started ends",
    );
    fs::remove_file(lab.path("called.pid")).unwrap();
    let mut command = lab.command(&["agent.ai", "go", "--trace", "t.json"]);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    until(|| process(&lab, "called.pid").is_some(), "it is started");
    let launched = process(&lab, "called.pid").unwrap();
    assert!(
        trace(&lab.path("t.json")).get("ending").is_none(),
        "of this run"
    );
    kill_process(
        Pid::from_raw(child.id().try_into().unwrap()).unwrap(),
        Signal::TERM,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    until(
        || test_kill_process(launched).is_err(),
        "what a launcher started ends",
    );
    assert_eq!(trace(&lab.path("t.json"))["ending"]["status"], "cancelled");
    assert!(lab.left().is_empty());
}

#[test]
fn what_was_ignored_stays_so() {
    let lab = Lab::new(vec![Step::Calls(vec![("slow", json!({}))])]);
    let mut command = lab
        .tool
        .shell("trap '' HUP; exec \"$SPILLGATE\" agent agent.ai go");
    for (name, value) in lab.command(&[]).get_envs() {
        value.map(|value| command.env(name, value));
    }
    let command = command.env("SPILLGATE", env!("CARGO_BIN_EXE_spillgate"));
    let mut child = command
        .current_dir(lab.path(""))
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    until(|| lab.path("called").exists(), "the slow tool is called");
    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(id, Signal::HUP).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143), "not 129");
}

#[test]
fn the_cache_tells_projects_and_agents_apart() {
    let lab = Lab::of(vec![
        (
            "You ask others.",
            vec![
                Step::Calls(vec![("other", json!({"prompt": "x"}))]),
                Step::Reports("done"),
            ],
        ),
        (
            "You find",
            vec![
                Step::Calls(vec![("note", json!({}))]),
                Step::Reports("done"),
            ],
        ),
        ("", vec![Step::Reports("done")]),
    ]);
    let mut config = lab.config("");
    config["cache"] = json!({"ttl": "1h", "dir": lab.path("kept")});
    lab.write(
        "chief.ai",
        "---\nmodels: mock/reader\nagents: [other.ai]\n---\nYou ask others.\n",
    );
    lab.write("other.ai", "---\nmodels: mock/reader\n---\nYou help.\n");
    lab.write("c.json", &config.to_string());
    let config = lab.path("c.json").display().to_string();
    lab.write("other-place", "");
    fs::create_dir(lab.path("b")).unwrap();
    let prompt = lab.path("agent.ai").display().to_string();
    let chief = lab.path("chief.ai").display().to_string();
    let cached = |prompt: &str, at: &str| {
        let mut command =
            lab.command(&[prompt, "go", "--agent-config", &config, "--trace", "t.json"]);
        command.current_dir(lab.path(at));
        let output = feed(command, b"");
        assert!(output.status.success(), "{output:?}");
        trace(&lab.path(at).join("t.json"))
            .to_string()
            .contains("\"cached\":true")
    };
    assert_eq!(
        [
            cached(&prompt, ""),
            cached(&prompt, ""),
            cached(&prompt, "b")
        ],
        [false, true, false]
    );
    assert_eq!([cached(&chief, ""), cached(&chief, "")], [false, false]);
}

#[test]
fn one_name_is_of_one() {
    let lab = Lab::new(Vec::new());
    lab.write("lab.ai", PROMPT);
    lab.write(
        "chief.ai",
        &PROMPT.replace("tools:", "agents: [lab.ai]\ntools:"),
    );
    let said = lab.said(&["chief.ai", "go", "--dry-run"], "");
    assert!(said.contains("are both called `lab`"), "{said}");
}
