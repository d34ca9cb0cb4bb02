//! Tests for which names a text file is opened, and which names are refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use spillgate_artifact::Interrupt;
use spillgate_files::{Files, Root};
use tempfile::TempDir;

use super::{call, pinned, root, tools};

/// Returns a directory that contains the root `in` and, beside it, a file outside the root.
fn house() -> (TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let inside = dir.path().join("in");
    fs::create_dir_all(inside.join("sub")).unwrap();
    fs::write(dir.path().join("secret"), "secret\n").unwrap();
    fs::write(inside.join("sub/b"), "b\n").unwrap();
    let root = root(
        &inside,
        &[("a", b"a\n"), ("with space", b"s\n"), ("...", b"dots\n")],
    );
    let link = |to: &str, name: &str| symlink(to, inside.join(name)).unwrap();
    link("sub/b", "inner");
    link("../secret", "outer");
    link("sub/../../secret", "winding");
    link("/etc/passwd", "absolute");
    link("outer", "chain");
    link("..", "up");
    link("/", "top");
    link("loop", "loop");
    link("nothing", "dangling");
    link("/dev/zero", "device");
    link("/proc/self/root", "proc");
    let made = Command::new("mkfifo").arg(inside.join("pipe")).status();
    assert!(made.unwrap().success());
    drop(UnixListener::bind(inside.join("socket")).unwrap());
    (dir, root)
}

#[test]
fn names_that_lead_to_files() {
    let (_dir, root) = house();
    for (name, bytes) in [
        ("a", 2),
        ("./a", 2),
        ("sub/b", 2),
        ("sub//b", 2),
        ("./sub/./b", 2),
        ("inner", 2),
        ("with space", 2),
        ("...", 5),
    ] {
        let opened = root
            .open(name, &Interrupt::default())
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(opened.lines().bytes(), bytes, "{name}");
    }
}

const EMPTY: &str = "file must be non-empty";
const ABSOLUTE: &str = "absolute paths are not allowed";
const PARENT: &str = "\"..\" is not allowed";
const CONTROL: &str = "control characters are not allowed";
const ABSENT: &str = "F: no such file";
const NOT_REGULAR: &str = "F: not a regular file";
const OUTSIDE: &str = "F: leads out of the root";

/// Names that lead out of the root or to something that is not a file, each with the expected
/// error. In an error, `F` stands for the name.
const ATTEMPTS: [(&str, &str); 40] = [
    ("", EMPTY),
    ("  ", EMPTY),
    ("/etc/passwd", ABSOLUTE),
    ("//etc/passwd", ABSOLUTE),
    ("\\etc\\passwd", ABSOLUTE),
    ("\\\\server\\share", ABSOLUTE),
    ("C:\\secret", ABSOLUTE),
    ("c:secret", ABSOLUTE),
    ("..", PARENT),
    ("../secret", PARENT),
    ("sub/../../secret", PARENT),
    ("sub/../a", PARENT),
    ("./../secret", PARENT),
    ("..\\secret", PARENT),
    ("sub\\..\\..\\secret", PARENT),
    ("up/../secret", PARENT),
    ("a\0", CONTROL),
    ("a\0/../../secret", CONTROL),
    ("a\n", CONTROL),
    ("\u{1b}[31ma", CONTROL),
    ("outer", OUTSIDE),
    ("winding", OUTSIDE),
    ("absolute", OUTSIDE),
    ("chain", OUTSIDE),
    ("up/secret", OUTSIDE),
    ("up/in/a", OUTSIDE),
    ("top/etc/passwd", OUTSIDE),
    ("device", OUTSIDE),
    ("proc/etc/passwd", OUTSIDE),
    ("nothing", ABSENT),
    ("dangling", ABSENT),
    ("a/b", ABSENT),
    ("~/secret", ABSENT),
    ("%2e%2e/secret", ABSENT),
    ("．．/secret", ABSENT),
    ("file:///etc/passwd", ABSENT),
    (".", NOT_REGULAR),
    ("sub", NOT_REGULAR),
    ("pipe", NOT_REGULAR),
    ("socket", NOT_REGULAR),
];

#[test]
fn names_that_lead_nowhere() {
    let (_dir, root) = house();
    let (sent, received) = std::sync::mpsc::channel();
    // Opening a pipe would block forever, so a thread makes the attempts.
    std::thread::spawn(move || {
        for (name, want) in ATTEMPTS {
            let error = root
                .open(name, &Interrupt::default())
                .unwrap_err()
                .to_string();
            let want = match want {
                want if want.starts_with("F:") => format!("{name}{}", &want[1..]),
                want => want.to_owned(),
            };
            assert_eq!(error, want, "{name:?}");
        }
        let tangled = root
            .open("loop", &Interrupt::default())
            .unwrap_err()
            .to_string();
        assert!(tangled.starts_with("loop: "), "{tangled}");
        sent.send(()).unwrap();
    });
    received.recv_timeout(Duration::from_secs(20)).unwrap();
}

#[test]
fn long_names_are_refused_and_not_repeated() {
    let (_dir, root) = house();
    let error = |name: String| {
        root.open(&name, &Interrupt::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("x".repeat(4097)),
        "file must have at most 4096 characters"
    );
    let long = error("é/".repeat(2048));
    assert!(
        long.ends_with("bytes): no such file") && long.len() < 600,
        "{long}"
    );
}

#[test]
fn a_pinned_output_is_the_only_one() {
    let (pinned, handle) = pinned("one\n");
    let other = super::pinned("other\n").1.to_string();
    let handle = handle.to_string();
    let (session, file) = handle.split_once('/').unwrap();
    let tools = tools(pinned, 500);
    let read = |file: &str| call(&tools, "Read", &json!({"file": file}));
    for name in ["out", "./out", &handle, file, " out "] {
        assert_eq!(read(name), format!("{name} [head 1-1/1]\n   1 one"));
    }
    let in_session = format!("{session}/out");
    for name in [
        "ou",
        "OUT",
        "out/",
        "x/out",
        session,
        other.as_str(),
        in_session.as_str(),
    ] {
        assert_eq!(read(name), format!("error: {name}: no such file"));
    }
    for (name, error) in [
        ("", EMPTY),
        ("/out", ABSOLUTE),
        ("../out", PARENT),
        ("out\0", CONTROL),
    ] {
        assert_eq!(read(name), format!("error: {error}"));
    }
}
