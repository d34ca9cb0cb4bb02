//! Tests of real coding agents between a scripted model and the gateway.
//!
//! `cargo xtask peers` installs the agents if the machine allows it. Without them, `cargo xtask
//! test` skips these tests and says so.

use crate::lab::{Lab, Verdict};

#[test]
fn claude_code_shows_its_model_a_preview_and_looks_into_what_was_stored() {
    shows("claude");
}

#[test]
fn codex_shows_its_model_a_preview_and_looks_into_what_was_stored() {
    shows("codex");
}

#[test]
fn claude_code_reaches_its_servers_through_what_wrap_wrote() {
    is_wrapped("claude");
}

#[test]
fn codex_reaches_its_servers_through_what_wrap_wrote() {
    is_wrapped("codex");
}

#[test]
fn claude_code_is_refused_what_is_too_much_and_gets_the_rest_whole() {
    is_guarded("claude");
}

#[test]
fn codex_is_refused_what_is_too_much_and_gets_the_rest_whole() {
    is_guarded("codex");
}

#[test]
fn claude_code_shows_its_model_previews_of_its_own_tools() {
    let verdict = hooked("claude");
    verdict.shows(&[
        "agents: the report is a preview",
        "agents: the report is nowhere",
        "background: all of its output is there",
        "exec: it is a preview",
    ]);
}

#[test]
fn codex_shows_its_model_previews_of_its_own_tools() {
    hooked("codex");
}

#[test]
fn hooks_save_tokens_and_keep_the_prompt_cache() {
    let lab = Lab::new("hook-session");
    let verdict = lab.drive("hook_session", &lab.shelf_server());
    verdict.shows(&[
        "without: every step was made",
        "with: every step was made",
        "with: each request begins with the one before",
        "the model is sent less",
    ]);
}

/// Runs a client with our hooks; returns the verdict.
pub(crate) fn hooked(client: &str) -> Verdict {
    let lab = Lab::new(&format!("hooked-{client}"));
    let verdict = lab.drive_with("hooked", &["--only", client], &lab.shelf_server());
    verdict.shows(&[
        "every step was made",
        "success: it is a preview",
        "failure: it is a preview",
        "server: it is a preview",
        "server: the stored bytes are those of the output",
        "the large output is nowhere",
        "all else is the same",
        "commands: a look-up finds the line",
        "tools: a look-up finds the line",
        "missing: as without hooks",
        "crash: as without hooks",
        "panic: as without hooks",
        "hang: as without hooks",
        "permissions: allow is as without hooks",
        "permissions: ask is as without hooks",
        "permissions: deny is as without hooks",
        "permissions: none is as without hooks",
        "settings: unwrap restores them",
    ]);
    // Codex cuts the outputs of commands before its hook gets them.
    if client != "codex" {
        verdict.shows(&[
            "success: the stored bytes are those of the output",
            "failure: the stored bytes are those of the output",
            "failure: the exit code is told",
        ]);
    }
    verdict
}

fn is_guarded(agent: &str) {
    let lab = lab(&format!("guarded-{agent}"));
    let verdict = lab.drive_with("guarded", &["--only", agent], &[]);
    verdict.shows(&[
        "every step was made",
        "a file that is too large is refused",
        "a page arrives whole",
        "too many matches are refused",
        "a few matches arrive",
        "an output that is too large is refused",
        "its end arrives",
        "names arrive",
        "nothing outside is read",
    ]);
}

fn is_wrapped(agent: &str) {
    let lab = lab(&format!("wrapped-{agent}"));
    let verdict = lab.drive_with("wrapped", &["--only", agent], &lab.filesystem_server());
    verdict.shows(&[
        "both servers are listed before",
        "none is behind the gateway before",
        "a dry run writes nothing",
        "wrap",
        "the token is in no file",
        "both servers answer through the gateway",
        "doctor finds nothing broken",
        "unwrap",
        "the file is what it was",
        "none is behind the gateway after",
    ]);
}

fn lab(test: &str) -> Lab {
    let lab = Lab::new(test);
    assert!(
        lab.peers.join("agents/stamp").is_file(),
        "no agents here: run `cargo xtask peers` first"
    );
    lab
}

fn shows(agent: &str) {
    let lab = lab(&format!("agent-{agent}"));
    let verdict = lab.drive_with("agents", &["--only", agent], &lab.shelf_server());
    let checks = [
        "every step was made",
        "a small result is whole",
        "journal is a preview",
        // This preview is structured content, which both agents show instead of the text.
        "rows is a preview",
        "rows is short",
        "the large text is nowhere",
        "the large rows are nowhere",
        "grep finds the needle",
        "read gives the lines",
        "the last tool answers",
        "query gives the row",
        "nothing is cut",
    ];
    for run in ["search", "extract"] {
        let names = checks.map(|check| format!("{run}: {check}"));
        verdict.shows(&names.each_ref().map(String::as_str));
    }
    verdict.shows(&[
        "search: our tools are listed",
        "extract: the other model read it",
        "extract: tool_output stands for the search",
    ]);
}
