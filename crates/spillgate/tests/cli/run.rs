//! Tests of `spillgate run`: output, exit codes and signals of commands.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::tool::{Tool, feed};

fn code(tool: &Tool, script: &str) -> Option<i32> {
    tool.run(&["run", "--", "sh", "-c", script], b"")
        .status
        .code()
}

#[test]
fn small_output_is_printed_as_the_command_did() {
    let tool = Tool::new();
    let output = tool.run(&["run", "--", "printf", "a\\nb\\033[1m\\r"], b"");
    assert_eq!(output.stdout, b"a\nb\x1b[1m\r");
    assert_eq!(output.stderr, b"");
}

#[test]
fn the_commands_exit_code_is_ours() {
    let tool = Tool::new();
    for wanted in [0, 1, 3, 42, 255] {
        assert_eq!(code(&tool, &format!("exit {wanted}")), Some(wanted));
    }
    assert_eq!(code(&tool, "kill -TERM $$"), Some(128 + 15));
    assert_eq!(
        code(&tool, "yes 0123456789 | head -n 90000; exit 7"),
        Some(7)
    );
    let missing = tool.error(&["run", "/no/such/command"]);
    assert_eq!(
        (missing.1, &missing.0["kind"]),
        (127, &json!("command_not_started"))
    );
    assert_eq!(tool.error(&["run", "/etc/passwd"]).1, 126);
}

#[test]
fn both_streams_come_as_they_came() {
    let tool = Tool::new();
    let script = "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done";
    let output = tool.run(&["run", "--", "sh", "-c", script], b"");
    let want: String = (1..=5).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), want);
    let split = tool.run(&["run", "--split", "--", "sh", "-c", script], b"");
    let only = |name: &str| (1..=5).map(|i| format!("{name} {i}\n")).collect::<String>();
    assert_eq!(String::from_utf8(split.stdout).unwrap(), only("out"));
    assert_eq!(String::from_utf8(split.stderr).unwrap(), only("err"));
    let object = tool.json(&["run", "--split", "--", "sh", "-c", script], b"");
    assert_eq!(object["stderr"]["text"], only("err"));
    assert_eq!(object["exit_code"], 0);
}

#[test]
fn standard_input_is_the_commands() {
    let tool = Tool::new();
    let output = tool.run(&["run", "--", "tr", "a-z", "A-Z"], b"shout\n");
    assert_eq!(output.stdout, b"SHOUT\n");
}

#[test]
fn a_signal_is_passed_on() {
    let tool = Tool::new();
    let ready = tool.home().join("ready");
    let script = format!(
        "trap 'echo got it; exit 9' TERM; echo ready; touch {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let mut child = tool
        .command(&["run", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !ready.exists() {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "it never began"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "ready\ngot it\n");
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn memory_is_bounded_however_much_is_printed() {
    const PRINTED: u64 = 400 << 20;
    let tool = Tool::new();
    let script = format!("yes 'a line of some length, as logs have' | head -c {PRINTED}");
    let mut child = tool
        .command(&["run", "--json", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut peak, started) = (0, Instant::now());
    while child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(120), "it hangs");
        peak = peak.max(high_water_kib(&status));
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(object["bytes"], PRINTED);
    assert!(peak > 1000 && peak < 48 << 10, "peak of {peak} KiB");
}

/// Returns the peak memory of a process in KiB; `status` is its `/proc/PID/status`. The pages of
/// the program itself are not counted, because an unoptimized program has many more. Files that the
/// process maps are counted.
pub(crate) fn high_water_kib(status: &str) -> u64 {
    // The program's pages must be read first: if the process ends in between, the second figure is
    // 0, and the difference is 0, too.
    match program_kib(status) {
        0 => 0,
        program => kib(status, "VmHWM:").saturating_sub(program),
    }
}

/// Returns the pages of its own program that the process has in memory, in KiB.
fn program_kib(status: &str) -> u64 {
    let process = Path::new(status).parent().unwrap();
    let program = std::fs::read_link(process.join("exe")).unwrap_or_default();
    let program = program.to_string_lossy();
    let maps = std::fs::read_to_string(process.join("smaps")).unwrap_or_default();
    let (mut is_its, mut sum) = (false, 0);
    for line in maps.lines() {
        let first = line.split(' ').next().unwrap_or_default();
        if !first.ends_with(':') {
            // The first line of a mapping: it begins with the addresses and ends with the file.
            is_its = line.ends_with(&*program);
        } else if first == "Rss:" && is_its {
            sum += figure(&line[first.len()..]);
        }
    }
    sum
}

/// Returns a figure of a status file.
fn kib(status: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, figure)
}

fn figure(text: &str) -> u64 {
    text.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let tool = Tool::new();
    let handle = tool.put("line\n".repeat(100_000).as_bytes());
    let output = feed(
        tool.shell(&format!("\"$SPILLGATE\" cat {handle} | head -n 1")),
        b"",
    );
    assert_eq!(output.stdout, b"line\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
