//! Tests that a reader who sees only the outline of an output can ask the right question.
//!
//! Each case has an output, the parts of its outline that a reader uses, the command that the
//! reader writes, and the answer.

use std::fmt::Write;
use std::process::Command;

use serde_json::json;

use super::tool::Tool;

/// An output, and a command that answers a question about it. The command uses only what the
/// output's outline shows. `H` in it stands for the handle.
struct Case {
    output: String,
    /// Parts of the outline that the command uses.
    read: &'static [&'static str],
    command: &'static [&'static str],
    answer: &'static str,
}

impl Case {
    fn hold(&self) {
        let tool = Tool::new();
        let handle = tool.put(self.output.as_bytes());
        let outline = tool.run(&["outline", &handle], b"").stdout;
        let outline = String::from_utf8(outline).unwrap();
        for read in self.read {
            assert!(outline.contains(read), "{read:?} is not in\n{outline}");
        }
        let args: Vec<&str> = self
            .command
            .iter()
            .map(|word| if *word == "H" { handle.as_str() } else { word })
            .collect();
        let answer = tool.run(&args, b"").stdout;
        let answer = String::from_utf8(answer).unwrap();
        assert_eq!(answer.trim_end(), self.answer, "{args:?}\n{outline}");
    }
}

/// Answers the question "Which open issue has the label security?"
#[test]
fn issues_as_the_github_api_lists_them() {
    let issues: Vec<_> = (0..300)
        .map(|i| {
            let label = if i == 211 { "security" } else { "bug" };
            json!({
                "url": format!("https://api.github.com/repos/o/r/issues/{i}"),
                "id": 9_007_199_254_740_993_u64 + i, "number": i,
                "title": format!("Issue about thing {i}"),
                "user": {"login": format!("user{}", i % 40), "type": "User", "site_admin": false},
                "labels": [{"id": i % 5, "name": label, "default": true}],
                "state": if i % 3 == 1 { "open" } else { "closed" },
                "assignee": null, "comments": i % 7,
                "body": "long text ".repeat(20),
            })
        })
        .collect();
    Case {
        output: json!(issues).to_string(),
        read: &[".labels[]", ".name", ".title", ".state", "\"open\""],
        command: &[
            "query",
            "H",
            "-r",
            ".[] | select(.state == \"open\" and any(.labels[]; .name == \"security\")) | .title",
        ],
        answer: "Issue about thing 211",
    }
    .hold();
}

/// Answers the question "Which pods failed?"
#[test]
fn pods_as_kubernetes_lists_them() {
    let pods: Vec<_> = (0..400)
        .map(|i| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": format!("web-{i}"), "namespace": "shop", "labels": {"app": "web"}},
                "spec": {"nodeName": format!("node-{}", i % 9), "containers": [{"name": "c", "image": "web:1"}]},
                "status": {"phase": if i == 123 { "Failed" } else { "Running" }, "podIP": format!("10.0.0.{i}")},
            })
        })
        .collect();
    Case {
        output: json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string(),
        read: &[
            ".items[]",
            ".metadata",
            ".name",
            ".status",
            ".phase",
            "\"Failed\"",
        ],
        command: &[
            "query",
            "H",
            "-r",
            ".items[] | select(.status.phase == \"Failed\") | .metadata.name",
        ],
        answer: "web-123",
    }
    .hold();
}

/// Answers the question "Which licence does this crate have?" on real output of cargo.
#[test]
fn packages_as_cargo_lists_them() {
    let printed = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .unwrap();
    Case {
        output: String::from_utf8(printed.stdout).unwrap(),
        read: &[".packages[]", ".name", ".license"],
        command: &[
            "query",
            "H",
            "-r",
            ".packages[] | select(.name == \"spillgate-outline\") | .license",
        ],
        answer: "MIT OR Apache-2.0",
    }
    .hold();
}

/// Answers the question "What went wrong?" on a log in which one of twenty thousand lines says it.
#[test]
fn a_log_with_one_failure() {
    let mut log = String::new();
    for i in 0..20_000 {
        let line = match i {
            13_131 => "ERROR lost lease on shard 17 after 3 retries".to_owned(),
            _ if i % 50 == 0 => format!("WARN slow request took {i} ms"),
            _ => format!("INFO served /items/{i} in {} ms", i % 90),
        };
        writeln!(
            log,
            "2026-11-21T10:{:02}:{:02}Z {line}",
            i / 60 % 60,
            i % 60
        )
        .unwrap();
    }
    Case {
        output: log,
        read: &["ERROR", "lost lease on shard", "13132"],
        command: &["grep", "H", "lost lease"],
        answer: "13132:2026-11-21T10:38:51Z ERROR lost lease on shard 17 after 3 retries",
    }
    .hold();
}

/// Answers the question "Which orders were returned, and why?" on a table whose cells have several
/// lines.
#[test]
fn a_table_with_lines_in_its_cells() {
    let mut csv = "id,customer,state,note\n".to_owned();
    for i in 0..3000 {
        let state = if i % 1000 == 7 { "returned" } else { "sent" };
        writeln!(csv, "{i},\"c, {}\",{state},\"first\nsecond {i}\"", i % 11).unwrap();
    }
    Case {
        output: csv,
        read: &["3,000 rows", "id", "state", "returned", "note"],
        command: &["query", "H", "select(.state == \"returned\") | [.id, .note]"],
        answer: "[7,\"first\\nsecond 7\"]\n[1007,\"first\\nsecond 1007\"]\n[2007,\"first\\nsecond 2007\"]",
    }
    .hold();
}

/// Answers the question "Which test failed, and where?"
#[test]
fn what_cargo_test_prints() {
    let mut printed = "running 900 tests\n".to_owned();
    for i in 0..900 {
        let end = if i == 321 { "FAILED" } else { "ok" };
        writeln!(printed, "test store::tests::case_{i} ... {end}").unwrap();
    }
    printed.push_str(concat!(
        "\nfailures:\n\n---- store::tests::case_321 stdout ----\n\n",
        "thread 'store::tests::case_321' (7) panicked at crates/store/src/files.rs:99:5:\n",
        "assertion `left == right` failed\n  left: 1\n right: 2\n\n\n",
        "failures:\n    store::tests::case_321\n\n",
        "test result: FAILED. 899 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.10s\n",
    ));
    Case {
        output: printed,
        read: &["case_321", "899 passed"],
        command: &["grep", "H", "case_321.*panicked"],
        answer: "907:thread 'store::tests::case_321' (7) panicked at crates/store/src/files.rs:99:5:",
    }
    .hold();
}
