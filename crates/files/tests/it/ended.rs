//! Tests for calls that end early.
//!
//! Files are truncated while they are read, calls take too long, or callers stop waiting.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_artifact::Interrupt;
use spillgate_files::{FileError, Files, OpenedFile, Root};
use tempfile::TempDir;

use super::{call, root, tools};

/// A root whose file is truncated right after its lines were counted, as by log rotation.
#[derive(Debug)]
struct Rotated {
    root: Root,
    file: PathBuf,
}

impl Files for Rotated {
    fn open(&self, name: &str, interrupt: &Interrupt) -> Result<OpenedFile, FileError> {
        let opened = self.root.open(name, interrupt)?;
        let file = File::options().write(true).open(&self.file).unwrap();
        file.set_len(1000).unwrap();
        Ok(opened)
    }
}

#[test]
fn a_file_that_is_shortened_meanwhile_ends_the_call() {
    let log = "2026-11-21T10:00:00Z INFO all is well\n".repeat(500_000);
    for (name, arguments) in [
        ("Grep", json!({"file": "log", "regex": "nothing of this"})),
        (
            "Grep",
            json!({"file": "log", "regex": "INFO", "start": 400_000}),
        ),
        ("Read", json!({"file": "log", "start": 400_000})),
        (
            "Read",
            json!({"file": "log", "headOrTail": "tail", "lines": 3}),
        ),
    ] {
        let dir = TempDir::new().unwrap();
        let rotated = Rotated {
            root: root(dir.path(), &[("log", log.as_bytes())]),
            file: dir.path().join("log"),
        };
        let answer = call(&tools(rotated, 2000), name, &arguments);
        assert!(
            answer.starts_with(
                "error: log: it was shortened while it was read: it had 19000000 bytes"
            ),
            "{name} {arguments}: {answer}"
        );
    }
}

#[test]
fn calls_end_when_they_must() {
    let dir = TempDir::new().unwrap();
    let files = tools(root(dir.path(), &[("log", b"one\ntwo\n")]), 2000);
    let gone = Interrupt::default();
    gone.cancel();
    let asked = json!({"file": "log", "regex": "o"}).to_string();
    let mut told = Vec::new();
    for interrupt in [gone, Interrupt::after(Duration::ZERO)] {
        for name in ["Read", "Grep"] {
            let answer = files.call(name, &asked, &interrupt);
            assert!(answer.is_error);
            told.push(answer.text);
        }
    }
    told.dedup();
    assert_snapshot!(told.join("\n"), @"
    log: the call was ended: it was cancelled
    log: the call was ended: it took longer than the 0 s it may take. Use a simpler regex, or a part of the file
    ");
}

#[test]
fn a_pattern_that_would_take_all_memory_is_refused() {
    let dir = TempDir::new().unwrap();
    let files = tools(root(dir.path(), &[("log", b"one\ntwo\n")]), 2000);
    let asked = json!({"file": "log", "regex": "(?:a{0,1000}){0,1000}"});
    assert_snapshot!(call(&files, "Grep", &asked), @"error: the pattern is too large: compiled, it takes more than 16 MiB. Use smaller repetitions");
}
