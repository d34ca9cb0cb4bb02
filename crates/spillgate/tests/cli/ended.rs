//! Tests of look-ups that are cancelled or time out while the gateway continues.

use std::fs::File;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_testkit::log;

use super::faults::files;
use super::session::{SILENT, Session};
use super::tool::Tool;

/// A pattern that would take gigabytes when it is compiled.
const TOO_LARGE: &str = "(?:a{0,1000}){0,1000}";

/// A pattern that can be compiled, but takes minutes on 300 KB of `a`.
const COSTLY: &str = "(?:a{0,300}){0,300}b";

#[test]
fn a_pattern_that_would_take_all_memory_is_refused() {
    let tool = Tool::new();
    let handle = tool.put(log(600).as_bytes());
    let (error, code) = tool.error(&["grep", &handle, TOO_LARGE]);
    assert_eq!((&error["kind"], code), (&json!("bad_pattern"), 2));
    let mut session = Session::start(&tool, &[], SILENT);
    let asked = json!({"handle": handle, "pattern": TOO_LARGE});
    assert_snapshot!(session.call("spillgate_grep", &asked), @"error: the pattern is too large: compiled, it takes more than 16 MiB. Use smaller repetitions");
    session.end();
}

#[test]
fn cancelled_look_ups_leave_their_turns_to_others() {
    let tool = Tool::new();
    let handle = tool.put("a".repeat(300_000).as_bytes());
    let forever = [("SPILLGATE_LOOKUP_TIMEOUT", "1h")];
    let mut session = Session::start_with(&tool, &forever, Stdio::null(), SILENT);
    let asked = |pattern| {
        let arguments = json!({"handle": handle, "pattern": pattern});
        json!({"name": "spillgate_grep", "arguments": arguments})
    };
    for id in 20..30 {
        session.send(id, "tools/call", &asked(COSTLY));
    }
    sleep(Duration::from_millis(300));
    for id in 20..30 {
        session.notify("notifications/cancelled", &json!({"requestId": id}));
    }
    // If one of the cancelled look-ups were still running, this one would wait for hours.
    session.send(40, "tools/call", &asked("^a"));
    assert_eq!(session.receive()["id"], 40);
    session.end();
}

#[test]
fn a_look_up_that_takes_too_long_is_told_so() {
    let tool = Tool::new();
    let handle = tool.put("a".repeat(300_000).as_bytes());
    let short = [("SPILLGATE_LOOKUP_TIMEOUT", "500ms")];
    let mut session = Session::start_with(&tool, &short, Stdio::null(), SILENT);
    let asked = json!({"handle": handle, "pattern": COSTLY});
    assert_snapshot!(session.call("spillgate_grep", &asked), @"error: the look-up was ended: it took longer than the 0.5 s it may take. Ask for less at a time: a part (`start`), or a simpler pattern");
    session.end();
}

#[test]
fn a_stored_file_that_is_shortened_ends_the_call_and_not_the_gateway() {
    let tool = Tool::new();
    let other = tool.put(log(600).as_bytes());
    for pause in [0, 20, 100] {
        let text = "2026-11-21T10:00:00Z INFO all is well\n".repeat(2_000_000);
        let before = files(&tool.store());
        let handle = tool.put(text.as_bytes());
        let mut session = Session::start(&tool, &[], SILENT);
        let arguments = json!({"handle": handle, "pattern": r"\w{400}nowhere"});
        session.send(
            8,
            "tools/call",
            &json!({"name": "spillgate_grep", "arguments": arguments}),
        );
        sleep(Duration::from_millis(pause));
        for path in files(&tool.store()) {
            if !before.contains(&path) && path.extension().is_none() {
                let file = File::options().write(true).open(path).unwrap();
                file.set_len(1000).unwrap();
            }
        }
        let answer = session.receive();
        assert_eq!(answer["id"], 8);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let next = json!({"handle": other, "pattern": "E4217"});
        assert!(session.call("spillgate_grep", &next).contains("501:"));
        session.end();
    }
}
