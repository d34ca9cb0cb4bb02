//! Tests of how runs end: nothing is left behind, and the trace shows how far the run came.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use super::agent_lab::{Lab, PROMPT, Step, trace, until};

/// Creates a lab whose model gets a large result and then makes a call that never returns.
fn waiting() -> Lab {
    Lab::new(vec![
        Step::Calls(vec![("log", json!({}))]),
        Step::Calls(vec![("slow", json!({}))]),
    ])
}

fn send(child: &Child, signal: Signal) {
    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

/// Returns the operation of a tool in a trace.
fn tool<'a>(op: &'a Value, name: &str) -> Option<&'a Value> {
    if op["kind"] == "tool" && op["name"] == name {
        return Some(op);
    }
    let children = op["children"].as_array().into_iter().flatten();
    children.into_iter().find_map(|child| tool(child, name))
}

/// Checks the trace of a run that waited for `slow`.
fn is_complete(trace: &Value) {
    let log = tool(&trace["root"], "log").unwrap();
    assert_eq!(log["decided"]["as"], "stored", "{log}");
    assert_eq!(log["server"], "lab", "{log}");
    let slow = tool(&trace["root"], "slow").unwrap();
    assert_eq!(slow["unfinished"], true, "{slow}");
    assert_eq!(trace["accounting"]["total"]["calls"], 2);
}

#[test]
fn a_signal_ends_it_and_its_trace_is_complete() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let lab = waiting();
        let child = lab.waiting(&["agent.ai", "wait", "--trace", "t.json"]);
        assert_eq!(lab.left().len(), 1, "it has a directory meanwhile");
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert_eq!(output.stdout, b"");
        assert!(said.contains("error: cancelled"), "{said}");
        assert!(lab.left().is_empty(), "{:?}", lab.left());
        let trace = trace(&lab.path("t.json"));
        is_complete(&trace);
        assert_eq!(trace["ending"]["status"], "cancelled");
    }
}

#[test]
fn an_agent_below_ends_with_it() {
    let lab = Lab::of(vec![
        (
            "You ask others.",
            vec![Step::Calls(vec![("waiter", json!({"prompt": "wait"}))])],
        ),
        ("You find", vec![Step::Calls(vec![("slow", json!({}))])]),
    ]);
    lab.write(
        "chief.ai",
        "---\nmodels: mock/reader\nagents: [waiter.ai]\n---\nYou ask others.\n",
    );
    lab.write("waiter.ai", PROMPT);
    let server = fs::read_to_string(lab.path("server.sh")).unwrap();
    lab.write("server.sh", &format!("echo $$ > \"$MARK.pid\"\n{server}"));
    let child = lab.waiting(&["chief.ai", "wait", "--trace", "t.json"]);
    let server: i32 = fs::read_to_string(lab.path("called.pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let server = Pid::from_raw(server).unwrap();
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(lab.left().is_empty());
    until(|| test_kill_process(server).is_err(), "its server ends");
    let trace = trace(&lab.path("t.json"));
    let waiter = tool(&trace["root"], "waiter").unwrap();
    assert_eq!(waiter["unfinished"], true);
    assert_eq!(
        tool(waiter, "slow").unwrap()["unfinished"],
        true,
        "{waiter}"
    );
    assert_eq!(trace["accounting"]["agents"]["waiter"]["total"]["calls"], 1);
}

#[test]
fn its_time_is_over() {
    let lab = waiting();
    let output = lab.run(&["agent.ai", "wait", "--timeout", "3s", "--trace", "t.json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(124), "{said}");
    assert!(lab.left().is_empty());
    assert_eq!(trace(&lab.path("t.json"))["ending"]["status"], "timed-out");
}

/// Waits until the trace of a running agent contains the call of `slow`, and returns the trace.
fn trace_meanwhile(lab: &Lab) -> Value {
    let path = lab.path("t.json");
    let has_it = |path: &PathBuf| {
        let text = fs::read(path).ok()?;
        let trace: Value = serde_json::from_slice(&text).unwrap();
        tool(&trace["root"], "slow")?;
        Some(trace)
    };
    let mut found = None;
    until(
        || {
            found = has_it(&path);
            found.is_some()
        },
        "the trace has the slow call",
    );
    found.unwrap()
}

#[test]
fn killed_it_leaves_a_trace_and_the_next_run_clears_away() {
    let lab = waiting();
    let mut child = lab.waiting(&["agent.ai", "wait", "--trace", "t.json"]);
    is_complete(&trace_meanwhile(&lab));
    let living = lab.left();
    assert_eq!(living.len(), 1);
    // Runs that start meanwhile do not touch the directory of a living run.
    lab.write("quick.ai", PROMPT);
    let other = lab.run(&["quick.ai", "go", "--max-turns", "1"]);
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    assert_eq!(lab.left(), living);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(lab.left(), living, "nobody cleared it away");
    let trace = trace(&lab.path("t.json"));
    is_complete(&trace);
    assert!(trace.get("ending").is_none() && trace.get("ended").is_none());
    let view = lab.run(&["view", "t.json"]);
    let view = String::from_utf8(view.stdout).unwrap();
    assert!(
        view.contains("not finished: under way, or killed"),
        "{view}"
    );
    assert!(view.contains("slow (lab)"), "{view}");
    lab.run(&["quick.ai", "go", "--max-turns", "1"]);
    assert!(lab.left().is_empty(), "{:?}", lab.left());
}

#[test]
fn a_second_signal_does_not_wait() {
    // The server does not end when its input closes, so the first signal takes a while.
    let lab = waiting();
    lab.write(
        "server.sh",
        &format!(
            "trap '' TERM HUP INT\n{}\nsleep 60",
            fs::read_to_string(lab.path("server.sh")).unwrap()
        ),
    );
    let mut child = lab.waiting(&["agent.ai", "wait"]);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    let mut signals = 0;
    until(
        || {
            // A signal is lost if the same signal is already pending, so it is sent again.
            signals += 1;
            if signals % 50 == 0 {
                send(&child, Signal::TERM);
            }
            child.try_wait().unwrap().is_some()
        },
        "it ends",
    );
    assert!(lab.left().is_empty());
}

#[test]
fn failures_leave_nothing_and_keep_keeps() {
    let lab = Lab::new(vec![
        Step::Calls(vec![("log", json!({}))]),
        Step::Reports("done"),
    ]);
    let failed = lab.run(&["agent.ai", "go", "--max-turns", "1"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(lab.left().is_empty());
    let output = lab.run(&["agent.ai", "go", "--keep"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let kept = lab.left();
    assert_eq!(kept.len(), 1);
    assert!(said.contains(&kept[0].display().to_string()), "{said}");
    // Later runs do not remove the directory, and its stored results can be read.
    lab.run(&["agent.ai", "go", "--store-dir", "elsewhere"]);
    assert_eq!(lab.left(), kept);
    assert!(
        fs::read_dir(lab.path("elsewhere"))
            .unwrap()
            .next()
            .is_none()
    );
    let ls = lab
        .tool
        .run(&["ls", "--json", "--store", kept[0].to_str().unwrap()], b"");
    assert!(String::from_utf8(ls.stdout).unwrap().contains("\"log\""));
}

#[test]
fn all_agents_and_extractions_of_a_run_share_its_limit_of_requests() {
    let find = |name| Step::Calls(vec![(name, json!({"prompt": "find"}))]);
    let asks = json!({"handle": "HANDLE", "extract": "the errors", "mode": "full-chunked"});
    let lab = Lab::of(vec![
        ("You ask others.", vec![find("finder"), find("finder")]),
        (
            "You find",
            vec![
                Step::Calls(vec![("log", json!({}))]),
                Step::Calls(vec![("tool_output", asks)]),
            ],
        ),
    ]);
    lab.write(
        "chief.ai",
        "---\nmodels: mock/reader\nagents: [finder.ai]\nmaxRequests: 4\n---\nYou ask others.\n",
    );
    lab.write("finder.ai", PROMPT);
    let output = lab.run(&["chief.ai", "find", "--json", "--trace", "t.json"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reached = "the run's limit of 4 model requests was reached";
    assert_eq!(said["ending"]["status"], "used-up", "{said}");
    assert!(said["ending"]["why"].as_str().unwrap().starts_with(reached));
    assert_eq!(said["error"]["kind"], "limit_reached", "{said}");
    // The agent `chief` makes one request, the agent `finder` two, the extraction none, and `chief`
    // one last request.
    assert_eq!(lab.script.asked().len(), 4);
    let trace = trace(&lab.path("t.json"));
    let finder = tool(&trace["root"], "finder").unwrap();
    assert!(
        finder["error"].as_str().unwrap().contains(reached),
        "{finder}"
    );
    let extraction = tool(finder, "tool_output").unwrap().to_string();
    assert!(extraction.contains(reached), "{extraction}");
    assert!(lab.left().is_empty());
}
