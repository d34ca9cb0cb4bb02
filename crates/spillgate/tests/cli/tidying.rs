//! Tests of the commands that list, remove and export stored outputs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use spillgate_testkit::log;

use crate::tool::{Tool, feed, sha256};

fn listed(tool: &Tool, args: &[&str]) -> String {
    let output = tool.run(&[&["ls"], args].concat(), b"");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a list without handles and ages.
fn rows(list: &str) -> String {
    let rows = list.lines().map(|line| {
        let mut words = line.split_whitespace().skip(2);
        let figures: Vec<&str> = words.by_ref().take(2).collect();
        format!(
            "{} {}\n",
            figures.join(" "),
            words.collect::<Vec<_>>().join(" ")
        )
    });
    rows.collect()
}

fn with_outputs() -> Tool {
    let tool = Tool::new();
    tool.put(log(3000).as_bytes());
    tool.json(
        &["put", "--tool", "read_log", "--failed"],
        log(3000).as_bytes(),
    );
    tool.run(&["run", "sh", "-c", "seq 9000; exit 3"], b"");
    tool.run(&["run", "seq", "1", "9000"], b"");
    tool
}

#[test]
fn the_list_is_newest_first_and_can_be_filtered() {
    let tool = with_outputs();
    assert_snapshot!(rows(&listed(&tool, &[])), @"
    26,001 text exit 0 seq 1 9000
    26,001 text exit 3 sh -c seq 9000; exit 3
    74,976 log error read_log
    74,976 log - stdin
    ");
    for (args, count) in [
        (&["--tool", "s"][..], 3),
        (&["--tool", "seq"], 1),
        (&["--server", "x"], 0),
        (&["--failed"], 2),
        (&["--kind", "log"], 2),
        (&["--kind", "json"], 0),
        (&["--since", "1h"], 4),
        (&["--since", "0s"], 0),
        (&["-n", "3"], 3),
        (&["-n", "9", "--failed", "--json"], 2),
    ] {
        // An output is at least a moment old.
        std::thread::sleep(std::time::Duration::from_millis(if args[0] == "--since" {
            1100
        } else {
            0
        }));
        assert_eq!(listed(&tool, args).lines().count(), count, "{args:?}");
    }
    let newest = listed(&tool, &["-n", "1", "--json"]);
    let newest: serde_json::Value = serde_json::from_str(&newest).unwrap();
    assert_eq!(newest["tool"], "seq");
}

#[test]
fn a_secret_is_not_shown_by_a_list_that_is_cut() {
    let tool = Tool::new();
    let key = crate::redaction::KEY;
    for filler in 40..80 {
        let word = "x".repeat(filler);
        tool.run(
            &[
                "run",
                "seq",
                "-s",
                &format!(" {word} AWS_ACCESS_KEY_ID={key} "),
                "900",
            ],
            b"",
        );
    }
    let list = listed(&tool, &[]);
    assert_eq!(list.lines().count(), 40);
    assert!(!list.contains(&key[..8]), "{list}");
}

#[test]
fn outputs_are_removed_by_age_or_all() {
    let tool = with_outputs();
    let of = |args: &[&str]| {
        let output = tool.run(args, b"y\n");
        let text = String::from_utf8(output.stderr).unwrap();
        format!(
            "{} {}",
            output.status.code().unwrap(),
            text.lines().next().unwrap_or_default()
        )
    };
    assert!(tool.run(&["pin", "last"], b"").status.success());
    assert_eq!(
        of(&["rm", "--older-than", "1h"]),
        "0 removed 0 outputs, 0 B"
    );
    // Without a terminal nobody can be asked.
    assert!(of(&["rm", "--all"]).starts_with("2 error: this would remove 3 stored outputs ("));
    assert_eq!(listed(&tool, &[]).lines().count(), 4);
    let removed = of(&["rm", "--all", "--yes"]);
    assert!(
        removed.starts_with("0 removed 3 outputs, ") && removed.contains("1 pinned"),
        "{removed}"
    );
    assert_eq!(listed(&tool, &[]).lines().count(), 1);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let removed = of(&["rm", "--older-than", "1s", "--pinned"]);
    let is_named = |text: &str| text.starts_with("0 removed ") && !text.contains("output");
    assert!(is_named(&removed), "{removed}");
    assert!(listed(&tool, &[]).is_empty());
    assert!(of(&["rm", "--all", "last"]).starts_with("2 error: "));
}

#[test]
fn an_exported_file_is_whole_and_private() {
    let tool = Tool::new();
    let bytes = log(5000).into_bytes();
    let handle = tool.put(&bytes);
    let to = tool.home().join("out");
    let export = |more: &[&str]| {
        let args = [&["export", &handle, "-o", to.to_str().unwrap()], more].concat();
        let output = tool.run(&args, b"");
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, told) = export(&[]);
    assert!(code == 0 && told.contains(&sha256(&bytes)), "{told}");
    assert_eq!(fs::read(&to).unwrap(), bytes);
    assert_eq!(
        fs::metadata(&to).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::write(&to, "mine").unwrap();
    assert_eq!(export(&[]).0, 1);
    assert_eq!(fs::read(&to).unwrap(), b"mine");
    assert_eq!(export(&["--force"]).0, 0);
    assert_eq!(fs::read(&to).unwrap(), bytes);
    // Bytes that were changed are not written, and nothing is left of them.
    fs::remove_file(&to).unwrap();
    let stored = tool.store().join(&handle[..1]).join(&handle);
    let mut damaged = fs::read(&stored).unwrap();
    damaged[100] ^= 1;
    fs::set_permissions(&stored, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&stored, damaged).unwrap();
    let (code, told) = export(&[]);
    assert!(code == 1 && told.contains("damaged"), "{told}");
    assert!(!to.exists());
    let left = fs::read_dir(tool.home()).unwrap().filter(|one| {
        one.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".spillgate-")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn secrets_are_exported_only_with_marks_where_no_terminal_is() {
    let tool = Tool::new();
    let key = crate::redaction::KEY;
    let handle = tool.put(format!("{}AWS_ACCESS_KEY_ID={key}\n", log(5000)).as_bytes());
    let to = tool.home().join("out");
    let to = to.to_str().unwrap();
    let (error, _) = tool.error(&["export", &handle, "-o", to]);
    assert_eq!(error["kind"], "secrets");
    assert!(
        tool.run(&["export", &handle, "-o", to, "--view"], b"")
            .status
            .success()
    );
    let text = fs::read_to_string(to).unwrap();
    assert!(text.contains("[redacted: ") && !text.contains(key));
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let tool = with_outputs();
    let coloured = |args: &[&str], no_color: &str| {
        let mut command = tool.command(args);
        command.env("NO_COLOR", no_color);
        feed(command, b"").stdout.contains(&0x1b)
    };
    assert!(!coloured(&["ls"], ""));
    assert!(coloured(&["ls", "--color", "always"], "1"));
    assert!(coloured(&["grep", "last", "7", "--color", "always"], ""));
    assert!(!coloured(&["ls", "--color", "always", "--json"], ""));
    assert!(!coloured(&["ls", "--color", "never"], ""));
    let matched = tool
        .run(&["grep", "last", "^9000", "--color", "always"], b"")
        .stdout;
    assert_eq!(
        String::from_utf8(matched).unwrap(),
        "\u{1b}[36m9000\u{1b}[0m\u{1b}[2m:\u{1b}[0m\u{1b}[1;31m9000\u{1b}[0m\n"
    );
}
