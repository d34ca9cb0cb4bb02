//! Tests of what a person sees at a terminal, which `script` provides.

use std::process::{Command, Stdio};

use spillgate_testkit::log;

use crate::tool::{Tool, feed};

/// Runs a line at a terminal; returns what it shows. `None` without the program `script`.
fn seen(tool: &Tool, line: &str, typed: &str) -> Option<String> {
    let is_there = Command::new("script")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_there {
        return None;
    }
    let mut command = tool.shell("stty cols 80; exec script -qec \"$LINE\" /dev/null");
    command
        .env(
            "LINE",
            line.replace("spillgate", env!("CARGO_BIN_EXE_spillgate")),
        )
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .env_remove("PAGER")
        .current_dir(tool.home());
    let output = feed(command, typed.as_bytes());
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .replace("\r\n", "\n"),
    )
}

#[test]
fn the_output_of_a_command_appears_while_it_runs() {
    let tool = Tool::new();
    let line = "spillgate run -- sh -c 'printf \"Name? \"; read name; echo hello $name; exit 3'";
    let Some(text) = seen(&tool, line, "Ada\n") else {
        return;
    };
    let prompt = text.find("Name? ").unwrap_or_else(|| panic!("{text}"));
    let answer = text.find("hello Ada").unwrap_or_else(|| panic!("{text}"));
    assert!(prompt < answer, "{text}");
    assert!(text.contains("[exit code 3 after "), "{text}");
    assert_eq!(text.matches("hello Ada").count(), 1, "{text}");

    let large = seen(&tool, "spillgate run -- seq 9000", "").unwrap();
    let preview = large.find("[spillgate] seq ended: exit code 0").unwrap();
    assert!(
        large.find("\n8500\n").is_some_and(|at| at < preview),
        "{large:.200}"
    );
    let quiet = seen(&tool, "spillgate run --quiet -- seq 9000", "").unwrap();
    assert!(quiet.starts_with("[spillgate] seq ended: "), "{quiet}");
    assert!(!quiet.contains("\n8500\n"));
}

#[test]
fn long_texts_go_through_the_pager() {
    let tool = Tool::new();
    tool.put(log(5000).as_bytes());
    for (line, is_paged) in [
        ("PAGER='sed s/^/P:/' spillgate read last --lines 3", true),
        ("PAGER='sed s/^/P:/' spillgate grep last E4217", true),
        (
            "PAGER='sed s/^/P:/' spillgate read last --lines 3 --no-pager",
            false,
        ),
        (
            "PAGER='sed s/^/P:/' TERM=dumb spillgate read last --lines 3",
            false,
        ),
        (
            "PAGER='sed s/^/P:/' spillgate read last --lines 3 --json",
            false,
        ),
        ("PAGER=cat spillgate read last --lines 3", false),
        ("PAGER= spillgate read last --lines 3", false),
        ("PAGER=no-such-pager spillgate read last --lines 3", false),
    ] {
        let Some(text) = seen(&tool, line, "") else {
            return;
        };
        assert_eq!(text.starts_with("P:"), is_paged, "{line}: {text}");
        assert!(
            text.lines().count() >= 1 && text.contains('2'),
            "{line}: {text}"
        );
    }
}

#[test]
fn a_terminal_gets_colours_and_lines_that_fit() {
    let tool = Tool::new();
    let words = "word ".repeat(40);
    tool.run(&["run", "sh", "-c", &format!("seq 9000; : {words}")], b"");
    let Some(list) = seen(&tool, "PAGER=cat spillgate ls", "") else {
        return;
    };
    assert!(list.contains("\u{1b}[36m"), "{list}");
    let plain = seen(&tool, "NO_COLOR=1 PAGER=cat spillgate ls", "").unwrap();
    assert!(!plain.contains('\u{1b}'), "{plain}");
    for line in plain.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(plain.starts_with("HANDLE "), "{plain}");
    let asked = seen(&tool, "spillgate rm --all", "n\n").unwrap();
    assert!(asked.contains("remove 1 stored output ("), "{asked}");
    assert!(asked.contains("nothing was removed"), "{asked}");
    let asked = seen(&tool, "spillgate rm --all", "y\n").unwrap();
    assert!(
        asked.contains("removed ") && !asked.contains("removed 1 "),
        "{asked}"
    );
}
