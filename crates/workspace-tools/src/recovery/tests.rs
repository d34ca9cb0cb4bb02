//! Tests for recovery blocks of each kind.

mod files;

use std::fmt::Write as _;
use std::io::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::{Rules, ShellRules, Workspace, Writable};

/// Creates tools with these rules below a temporary directory.
fn shared(rules: Rules) -> (tempfile::TempDir, Shared) {
    let root = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    (root, Shared::new(workspace, rules))
}

fn detailed() -> Rules {
    Rules {
        detailed_recovery: true,
        shell: Some(ShellRules::default()),
        ..Rules::default()
    }
}

fn printed(head: &[u8]) -> RefusedOutput<'_> {
    RefusedOutput {
        bytes: 1 << 40,
        lines: 7,
        head,
        has_ended: true,
    }
}

fn of_file(name: &str, text: &[u8]) -> String {
    let (_root, shared) = shared(detailed());
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    for_file(&shared, name, &file, None)
}

#[test]
fn commands() {
    let (_root, shared) = shared(detailed());
    let output = format!(
        "running 2000 tests\n{}test b ... FAILED\n\nfailures:\n\n---- b stdout ----\nthread 'b' panicked at src/lib.rs:7:5:\nit broke\n\ntest result: FAILED. 1999 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
        "test a ... ok\n".repeat(1999)
    );
    let printed = |has_ended| RefusedOutput {
        bytes: 200_000_000,
        lines: 4_000_000,
        head: output.as_bytes(),
        has_ended,
    };
    let told = |command: &str| for_command(&shared, command, &printed(true));
    let endless = for_command(&shared, "yes", &printed(false));
    assert!(endless.contains("(yes) 2>&1 | head -n 100"), "{endless}");
    assert_snapshot!(told("cd x && cargo test"), @r#"
    --- Recovery Options ---
    Command: cd x && cargo test | 4000000 lines, 200,000,000 bytes

    Structure of the first 28 KiB:
      - 2001: test b ... FAILED
      - 2003: failures:
      - 2005: ---- b stdout ----
      - 2006: thread 'b' panicked at src/lib.rs:7:5:
      - 2007: it broke
      - 2009: test result: FAILED. 1999 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
      - 1,999× (line 2) test a ... ok
      - 1× (line 1) running <*> tests
      - 1× (line 2001) test b ... FAILED
      - 1× (line 2003) failures:
      (… 4 more)

    Commands:
      • execute_shell(command="(cd x && cargo test) 2>&1 | tail -n 100")
      • execute_shell(command="(cd x && cargo test) 2>&1 | grep -n -i -E 'error|fail|warn|fatal|panic' | head -n 100")
    "#);
    // Commands that would mean something else in parentheses are not repeated.
    for command in [
        "sleep 9 &",
        "cat <<E\nx\nE",
        "ls # all",
        "echo \\",
        &"x".repeat(101),
    ] {
        assert!(!told(command).contains("execute_shell"), "{command}");
    }
}

/// Files or directories with decreasing counts.
fn top(unit: &str, most: u64) -> Vec<PathCount> {
    let names = (0..12).map(|at| (format!("src/{unit}{at}").into_bytes(), most - at));
    names.collect()
}

fn asked<'p>(pattern: &'p str, more: &[(&'static str, Value)]) -> RefusedSearch<'p> {
    RefusedSearch {
        pattern,
        path: ".".to_owned(),
        mode: None,
        more: more.to_vec(),
    }
}

#[test]
fn searches() {
    let (_root, shared) = shared(detailed());
    let of_files = RefusedSearch {
        mode: Some("files"),
        ..asked("x", &[("hidden", json!(true))])
    };
    let of_lines = asked("fn \"x\"\n", &[]);
    let all = [
        for_search(&shared, &of_lines, (Some(12_000), 340), &top("f", 900)),
        for_search(&shared, &of_files, (None, 9000), &[]),
    ];
    assert_snapshot!(all.join("\n\n"), @r#"
    --- Recovery Options ---
    Search: fn "x"  | 12000 matches, 340 files

    Structure:
      - src/f0 (900 matches)
      - src/f1 (899 matches)
      - src/f2 (898 matches)
      - src/f3 (897 matches)
      - src/f4 (896 matches)
      - src/f5 (895 matches)
      - src/f6 (894 matches)
      - src/f7 (893 matches)
      - src/f8 (892 matches)
      - src/f9 (891 matches)

    Commands:
      • grep_content(pattern="fn \"x\"\n", path="src/f0", max_results=40)
      • grep_content(pattern="fn \"x\"\n", path=".", mode="count", max_results=100)
      • grep_content(pattern="fn \"x\"\n", path=".", max_results=40)

    --- Recovery Options ---
    Search: x | 9000 files

    Commands:
      • grep_content(pattern="x", path=".", hidden=true, mode="files", max_results=100)
    "#);
}

#[test]
fn lists() {
    let (_root, shared) = shared(detailed());
    let (any, path) = (
        asked("*.rs", &[("hidden", json!(true))]),
        asked("**/*.rs", &[]),
    );
    let all = [
        for_list(&shared, &any, 120_000, &top("d", 900)),
        for_list(&shared, &any, 1001, &top("d", 90)),
        for_list(&shared, &path, 1001, &[(b"\xff".to_vec(), 1)]),
    ];
    assert_snapshot!(all.join("\n\n"), @r#"
    --- Recovery Options ---
    Pattern: *.rs | 120000 files

    Structure:
      - src/d0 (900 files)
      - src/d1 (899 files)
      - src/d2 (898 files)
      - src/d3 (897 files)
      - src/d4 (896 files)
      - src/d5 (895 files)
      - src/d6 (894 files)
      - src/d7 (893 files)
      - src/d8 (892 files)
      - src/d9 (891 files)

    Commands:
      • glob_files(pattern="*.rs", path="src/d0", hidden=true, max_results=100)
      • glob_files(pattern="*.rs", path=".", hidden=true, max_results=100)

    --- Recovery Options ---
    Pattern: *.rs | 1001 files

    Structure:
      - src/d0 (90 files)
      - src/d1 (89 files)
      - src/d2 (88 files)
      - src/d3 (87 files)
      - src/d4 (86 files)
      - src/d5 (85 files)
      - src/d6 (84 files)
      - src/d7 (83 files)
      - src/d8 (82 files)
      - src/d9 (81 files)

    Commands:
      • glob_files(pattern="*.rs", path="src/d0", hidden=true)
      • glob_files(pattern="*.rs", path=".", hidden=true, max_results=100)

    --- Recovery Options ---
    Pattern: **/*.rs | 1001 files

    Structure:
      - � (1 file)

    Commands:
      • glob_files(pattern="**/*.rs", path=".", max_results=100)
    "#);
}

#[test]
fn pages() {
    let mut page = "# Reference\n\n".to_owned();
    for part in 1..30 {
        writeln!(page, "## Part {part}\n\n{}\n", "Words of it. ".repeat(400)).unwrap();
    }
    let (_root, writable) = shared(detailed());
    let (_root, fixed) = shared(Rules {
        writable: Writable::Nowhere,
        ..detailed()
    });
    let (_root, below) = shared(Rules {
        writable: Writable::Below(vec!["notes/".into()]),
        ..detailed()
    });
    let told = for_page(&below, "https://example.org/a", &page, true);
    assert!(
        told.contains("save_to=\"notes/page.md\", raw=true)"),
        "{told}"
    );
    let all =
        [&writable, &fixed].map(|shared| for_page(shared, "https://example.org/a", &page, false));
    assert_snapshot!(all.join("\n\n"), @r#"
    --- Recovery Options ---
    Page: https://example.org/a | 118 lines, 151,210 chars

    Structure:
      - # Reference (line 1)
      - ## Part 1 (line 3)
      - ## Part 2 (line 12)
      - ## Part 3 (line 21)
      - ## Part 4 (line 30)
      - ## Part 5 (line 39)
      - ## Part 6 (line 48)
      - ## Part 7 (line 57)
      - ## Part 8 (line 66)
      - ## Part 9 (line 75)
      (… 20 more)

    Commands:
      • web_fetch(url="https://example.org/a", save_to="page.md")
      • grep_content(pattern="^#+ ", path="page.md", max_results=40)

    --- Recovery Options ---
    Page: https://example.org/a | 118 lines, 151,210 chars

    Structure:
      - # Reference (line 1)
      - ## Part 1 (line 3)
      - ## Part 2 (line 12)
      - ## Part 3 (line 21)
      - ## Part 4 (line 30)
      - ## Part 5 (line 39)
      - ## Part 6 (line 48)
      - ## Part 7 (line 57)
      - ## Part 8 (line 66)
      - ## Part 9 (line 75)
      (… 20 more)
    "#);
}

#[test]
fn a_small_limit_holds_for_it_too() {
    let text = b"class A:\n    pass\n".repeat(9);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&text).unwrap();
    for max_tokens in [0, 40, 60, 1000] {
        let (_root, shared) = shared(Rules {
            max_tokens,
            ..detailed()
        });
        let block = for_file(&shared, "a.py", &file, None);
        assert!(COUNTER.count(&block) <= max_tokens, "{max_tokens}: {block}");
        assert_eq!(block.is_empty(), max_tokens == 0, "{max_tokens}: {block}");
    }
}

#[test]
fn nothing_where_it_is_not_asked_for() {
    let (_root, shared) = shared(Rules::default());
    let file = tempfile::tempfile().unwrap();
    let asked = asked("a", &[]);
    let all = [
        for_file(&shared, "a", &file, None),
        for_command(&shared, "a", &printed(b"a")),
        for_search(&shared, &asked, (Some(1), 1), &[(b"a".to_vec(), 1)]),
        for_list(&shared, &asked, 1, &[(b"a".to_vec(), 1)]),
        for_page(&shared, "https://a.example", "# a\n", false),
    ];
    assert_eq!(all.concat(), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn it_is_small_whatever_the_text(
        name in any::<String>(),
        text in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..3000),
            "(class [a-zé]{1,300}:\n|# [^\n]{0,400}\n|\\{\"[a-z]{1,90}\":1\\}\n){0,40}".prop_map(String::into_bytes),
        ],
    ) {
        let (_root, shared) = shared(detailed());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&text).unwrap();
        let text = String::from_utf8_lossy(&text);
        for block in [
            for_file(&shared, &name, &file, None),
            for_command(&shared, &name, &printed(text.as_bytes())),
            for_page(&shared, &name, &text, false),
        ] {
            prop_assert!(COUNTER.count(&block) <= RECOVERY_TOKENS);
            prop_assert!(block.lines().all(|line| line.chars().count() <= 200), "{block}");
        }
    }
}
