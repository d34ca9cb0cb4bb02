//! Tests of `spillgate agent` with a real language model and real MCP servers.
//!
//! The model is too small to choose tools by itself. So the task lists the calls, and the form
//! `held` forces the agent's turns to make exactly these calls (xtask/models/forms.py). The model
//! writes the content: what to extract, what was extracted, and the report. The tests do not judge
//! the content.
//!
//! The tests cover five cases: `auto` that reads in chunks, `auto` that greps, and the three modes
//! by name.

use serde_json::{Value, json};

use crate::agent_lab::{Agent, sum};
use crate::lab::ReplyForm;
use crate::servers::Server;

fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Returns a call of `tool_output`. The model chooses what to extract, and uses the handle that it
/// was shown.
fn extract(mode: &str) -> Value {
    call("tool_output", &json!({"mode": mode}))
}

fn report() -> Value {
    call("agent__final_report", &json!({}))
}

#[test]
fn a_tree_of_thousands_of_files_is_grepped() {
    let agent = Agent::new(ReplyForm::Held, Server::files(), "maxChunks: 1");
    let arguments = json!({"path": agent.server().path("")});
    let look = call("directory_tree", &arguments);
    // Without a mode, `auto` applies.
    let extract = call("tool_output", &json!({}));
    let run = agent.run(
        "Which parts have notes?",
        &[look, extract, report()],
        &["--keep"],
    );
    run.reported_by("tool");
    run.routed("auto", "read-grep");
    let asked = run.extracted("directory_tree", "read-grep");
    assert!(asked >= 2, "a call of a tool, then the answer: {run:?}");
    // The store contains the server's result, byte for byte.
    let says = agent.server().says("directory_tree", &arguments);
    assert_eq!(run.bytes_of("directory_tree"), says.len() as u64);
    let stored = agent.sum_of_stored(run.stored("directory_tree"));
    assert_eq!(stored, sum(says.as_bytes()));
}

#[test]
fn a_long_history_is_grepped_by_name() {
    let agent = Agent::new(ReplyForm::Held, Server::git(), "maxChunks: 1");
    let arguments = json!({"repo_path": agent.server().path(""), "max_count": 3000});
    let steps = [call("git_log", &arguments), extract("read-grep")];
    // The task does not list a report, so the model writes the report in its wrapper.
    let run = agent.run("Which error was fixed last?", &steps, &["--keep"]);
    run.reported_by("wrapper");
    run.routed("read-grep", "read-grep");
    let asked = run.extracted("git_log", "read-grep");
    assert!(asked >= 2, "a call of a tool, then the answer: {run:?}");
    let says = agent.server().says("git_log", &arguments);
    assert_eq!(
        agent.sum_of_stored(run.stored("git_log")),
        sum(says.as_bytes())
    );
}

#[test]
fn a_short_history_is_read_whole() {
    let agent = Agent::new(ReplyForm::Held, Server::git(), "maxChunks: 1");
    let arguments = json!({"repo_path": agent.server().path(""), "max_count": 8});
    let steps = [call("git_log", &arguments), extract("auto"), report()];
    let run = agent.run("Which error was fixed last?", &steps, &[]);
    run.reported_by("tool");
    run.routed("auto", "full-chunked");
    run.extracted("git_log", "full-chunked");
    assert_eq!(run.asked(), ["map 1/1"], "{run:?}");
    assert!(agent.left().is_empty(), "{:?}", agent.left());
}

#[test]
fn a_log_is_read_in_chunks_by_name() {
    let chunks = "maxChunks: 4\n  parallel: 2\n  chunkTokens: 250";
    let agent = Agent::new(ReplyForm::Sure, Server::files(), chunks);
    let arguments = json!({"path": agent.server().path("today.log")});
    let steps = [
        call("read_text_file", &arguments),
        extract("full-chunked"),
        report(),
    ];
    let run = agent.run("Which worker failed?", &steps, &[]);
    run.reported_by("tool");
    run.routed("full-chunked", "full-chunked");
    run.extracted("read_text_file", "full-chunked");
    let asked = run.asked();
    let maps = asked.iter().filter(|name| name.starts_with("map ")).count();
    assert!(maps >= 2, "{run:?}");
    assert!(asked.len() > maps, "maps and a reduce: {run:?}");
    assert!(agent.left().is_empty(), "{:?}", agent.left());
}

#[test]
fn a_log_of_megabytes_is_truncated_by_name() {
    let agent = Agent::new(ReplyForm::Held, Server::files(), "truncateTokens: 120");
    let arguments = json!({"path": agent.server().path("app.log")});
    let steps = [
        call("read_text_file", &arguments),
        extract("truncate"),
        report(),
    ];
    let run = agent.run("Which worker failed?", &steps, &[]);
    run.reported_by("tool");
    run.routed("truncate", "truncate");
    let asked = run.extracted("read_text_file", "truncate");
    assert_eq!(asked, 0, "it asks nobody: {run:?}");
    assert!(run.bytes_of("read_text_file") > 4 << 20, "{run:?}");
    assert!(agent.left().is_empty(), "{:?}", agent.left());
}

#[test]
fn a_model_that_nobody_holds_ends_with_a_report_or_with_what_is_known() {
    let agent = Agent::new(ReplyForm::Free, Server::files(), "maxChunks: 1");
    let question = format!("Which parts of {} have notes?", agent.server().path(""));
    let run = agent.run(
        &question,
        &[],
        &["--max-turns", "3", "--max-output-tokens", "64"],
    );
    if run.said("/ending/status") == "success" {
        assert_eq!(run.code(), 0, "{run:?}");
    } else {
        assert_eq!(run.code(), 1, "{run:?}");
        assert_eq!(run.said("/report/source"), "synthetic", "{run:?}");
        assert_eq!(run.said("/error/kind"), "no_report", "{run:?}");
    }
    assert!(agent.left().is_empty(), "{:?}", agent.left());
}
