//! Tests that killed processes, full disks and read-only directories lead to an error, and never to
//! a partial artifact or to a handle without an artifact.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use spillgate_testkit::log;

use crate::tool::{Tool, feed};

/// Returns the files of artifacts and drafts in the store.
pub(crate) fn files(store: &Path) -> Vec<PathBuf> {
    let paths = |directory: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    };
    let is_draft = |path: &PathBuf| path.to_string_lossy().contains(".draft-");
    let mut files: Vec<PathBuf> = paths(store).into_iter().filter(is_draft).collect();
    for directory in paths(store) {
        files.extend(paths(&directory));
    }
    files
}

#[test]
fn killed_while_storing() {
    let tool = Tool::new();
    let mut child = tool
        .command(&["put"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(log(50_000).as_bytes()).unwrap();
    let started = Instant::now();
    while files(&tool.store()).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "no draft came");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        tool.run(&["ls", "--json"], b"").stdout,
        b"",
        "half an artifact is listed"
    );
    let left = files(&tool.store());
    assert!(
        left.iter()
            .all(|file| file.to_string_lossy().contains(".draft-"))
    );
    // The next command that stores something removes drafts that are older than a minute.
    for file in &left {
        let touched = fs::File::open(file).unwrap();
        let earlier = touched.metadata().unwrap().modified().unwrap() - Duration::from_secs(120);
        touched.set_modified(earlier).unwrap();
    }
    tool.put(log(5000).as_bytes());
    assert!(left.iter().all(|file| !file.exists()));
    assert_eq!(files(&tool.store()).len(), 3);
}

/// Runs `put` while no file may grow beyond `blocks` of 512 bytes, as on a full disk.
fn put_with_limit(tool: &Tool, blocks: u32, options: &str, input: &str) -> std::process::Output {
    let line = format!("ulimit -f {blocks}; exec \"$SPILLGATE\" put {options}");
    feed(tool.shell(&line), input.as_bytes())
}

#[test]
fn a_full_disk() {
    let tool = Tool::new();
    let input = log(60_000);
    let output = put_with_limit(&tool, 1000, "--json", &input);
    assert_eq!(output.status.code(), Some(1));
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["offloaded"], false);
    assert!(object["handle"].is_null());
    assert_eq!(object["reason"], "store_failed");
    assert_eq!(object["error"]["kind"], "store_full");
    assert_eq!(object["bytes"], input.len());
    let text = object["text"].as_str().unwrap();
    assert!(
        text.contains("it could not be stored: the disk is full"),
        "{text}"
    );
    assert!(
        text.contains("BYTES]") && text.contains("bytes···]"),
        "{text}"
    );
    assert!(
        text.len() <= 12_288 && !text.contains("stored whole as"),
        "{text}"
    );
    assert!(
        text.trim_end().ends_with(input.lines().last().unwrap()),
        "{text}"
    );
    assert!(files(&tool.store()).is_empty());
    // The outcome is the same if only the view or the last small file does not fit.
    for blocks in [0, 1, 8] {
        let plain = put_with_limit(&tool, blocks, "", &log(3000));
        assert_eq!(plain.status.code(), Some(1));
        let said = String::from_utf8(plain.stderr).unwrap();
        assert!(
            said.contains("is full") && said.contains("hint: "),
            "{said}"
        );
        assert!(files(&tool.store()).is_empty());
    }
}

#[test]
fn a_store_that_cannot_be_made() {
    let tool = Tool::new();
    fs::write(tool.store(), b"a file in the store's place").unwrap();
    let output = tool.run(&["put"], log(5000).as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("it could not be stored") && !text.contains("stored whole"),
        "{text}"
    );
    // The command is still run, and its exit code is kept.
    let script = "yes 0123456789 | head -n 90000; exit 5";
    let output = tool.run(&["run", "--", "sh", "-c", script], b"");
    assert_eq!(output.status.code(), Some(5));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("error: ")
    );
}

#[test]
fn a_read_only_store_is_still_read() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    let read_only = |mode| {
        use std::os::unix::fs::PermissionsExt;
        for file in files(&tool.store()) {
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    read_only(0o400);
    let page = tool.json(&["read", &handle, "--lines", "1"], b"");
    assert_eq!(page["lines"][1], 1);
}

#[test]
fn many_writers_and_readers_at_once() {
    let tool = Tool::new();
    let first = tool.put(log(5000).as_bytes());
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let (tool, first) = (&tool, &first);
            scope.spawn(move || {
                let text = format!("writer {writer}\n").repeat(5000);
                let handle = tool.put(text.as_bytes());
                assert_eq!(
                    tool.run(&["cat", "--raw", &handle], b"").stdout,
                    text.as_bytes()
                );
                assert_eq!(tool.json(&["grep", first, "E4217"], b"")["total"], 1);
            });
        }
    });
    let listed = tool.run(&["ls", "--json"], b"").stdout;
    assert_eq!(String::from_utf8(listed).unwrap().lines().count(), 7);
}
