//! Tests for files that change while they are read.

use std::fs::{self, File};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use crate::escapes::Ends;
use crate::{call, tools};

/// Runs `check` on answers about a file while `change` modifies it.
fn while_changing(change: impl Fn(&mut File) + Sync, check: impl Fn(&str)) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log");
    fs::write(&path, "a line\n").unwrap();
    let tools = tools(dir.path());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = File::options().append(true).open(&path).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                change(&mut file);
            }
        });
        let _ends = Ends(&is_over);
        for read in 0..300u32 {
            let arguments = match read % 3 {
                0 => json!({"file_path": "log"}),
                1 => json!({"file_path": "log", "offset": read % 7, "limit": 5000}),
                _ => json!({"file_path": "log", "offset": read % 5}),
            };
            check(&call(&tools, "read_file", &arguments).0);
        }
    });
}

/// Every answer consists of lines of the file, except perhaps its last line, and is within the
/// limit (`call` checks the limit).
fn is_honest(answer: &str) {
    if answer.starts_with("Error: ") {
        let known = [
            "exceeds maximum",
            "changed while it was read",
            "is past the end",
        ];
        assert!(known.iter().any(|known| answer.contains(known)), "{answer}");
        return;
    }
    let body = answer.lines().skip_while(|line| line.starts_with('['));
    for (number, line) in body.enumerate() {
        assert!(
            "a line".starts_with(line) || line == "a line",
            "{number}: {line}"
        );
    }
}

#[test]
fn a_file_that_grows() {
    while_changing(|file| file.write_all(b"a line\n").unwrap(), is_honest);
}

#[test]
fn a_file_that_grows_and_is_emptied() {
    while_changing(
        |file| {
            file.write_all(&b"a line\n".repeat(500)).unwrap();
            if file.metadata().unwrap().len() > 90_000 {
                file.set_len(0).unwrap();
            }
        },
        is_honest,
    );
}

#[test]
fn what_is_read_again_is_counted_again() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log");
    let tools = tools(dir.path());
    for round in 1..20 {
        // The same length, but with the line break elsewhere.
        let text = format!("{}\n{}\n", "x".repeat(round), "y".repeat(20 - round));
        fs::write(&path, &text).unwrap();
        let arguments = json!({"file_path": "log", "offset": 1, "limit": 1});
        let (answer, _) = call(&tools, "read_file", &arguments);
        assert_eq!(
            answer,
            format!("[Lines 2-2 of 2]\n{}\n", "y".repeat(20 - round))
        );
    }
}
