//! Tests for the answers of `grep_content`.

use std::fs;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::tools;
use crate::tree::{all_files, plant, refused, rg, rows, told, tree, trees, with};

const GREP: &str = "grep_content";

fn house() -> tempfile::TempDir {
    tree(&[
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        (
            "src/run.rs",
            "// runs\npub fn run() {\n    stop();\n}\n\nfn stop() {}\n",
        ),
        ("notes.txt", "run once\r\nRun twice\r\n"),
        ("target/out.txt", "run run\n"),
        (".gitignore", "/target\n"),
        (".hidden/run", "run\n"),
    ])
}

#[test]
fn the_forms_of_answers() {
    let house = house();
    let ask = |arguments: Value| told(&tools(house.path()), GREP, &arguments);
    assert_snapshot!(ask(json!({"pattern": r"\brun\b"})), @"
    Found 3 matching lines in 3 files
    notes.txt:1:run once
    src/main.rs:2:    run();
    src/run.rs:2:pub fn run() {
    ");
    assert_snapshot!(ask(json!({"pattern": "fn (run|stop)", "context": 1, "path": "src"})), @"
    Found 2 matching lines in 1 file
    src/run.rs-1-// runs
    src/run.rs:2:pub fn run() {
    src/run.rs-3-    stop();
    --
    src/run.rs-5-
    src/run.rs:6:fn stop() {}
    ");
    assert_snapshot!(ask(json!({"pattern": "run", "ignore_case": true, "mode": "count"})), @"
    Found 5 matching lines in 3 files
    notes.txt:2
    src/main.rs:1
    src/run.rs:2
    ");
    assert_snapshot!(ask(json!({"pattern": "run", "mode": "files", "hidden": true})), @"
    Found 4 files
    .hidden/run
    notes.txt
    src/main.rs
    src/run.rs
    ");
    assert_snapshot!(ask(json!({"pattern": "run", "path": "notes.txt"})), @"
    Found 1 matching line in 1 file
    notes.txt:1:run once
    ");
    assert_snapshot!(ask(json!({"pattern": r"\{\n\s+run", "multiline": "true"})), @"
    Found 1 match in 1 file
    src/main.rs:1:fn main() {
    src/main.rs:2:    run();
    ");
    assert_snapshot!(ask(json!({"pattern": r"once$\s+Run", "multiline": true})), @"
    Found 1 match in 1 file
    notes.txt:1:run once
    notes.txt:2:Run twice
    ");
    assert_snapshot!(ask(json!({"pattern": r"\(\) \{$\n +stop", "multiline": true})), @"
    Found 1 match in 1 file
    src/run.rs:2:pub fn run() {
    src/run.rs:3:    stop();
    ");
    assert_snapshot!(ask(json!({"pattern": "once$", "glob": "*.txt", "no_ignore": true})), @"
    Found 1 matching line in 1 file
    notes.txt:1:run once
    ");
    assert_snapshot!(ask(json!({"pattern": "absent"})), @"No matches found. 3 files were searched. Passed by: 2 hidden (hidden: true takes them in), 1 ignored (no_ignore: true takes them in).");
    assert_snapshot!(ask(json!({"pattern": "run", "glob": "*.py"})), @"No matches found. 0 files were searched. Passed by: 3 that glob '*.py' leaves out, 2 hidden (hidden: true takes them in), 1 ignored (no_ignore: true takes them in).");
}

#[test]
fn what_cannot_be_meant() {
    let house = house();
    let ask = |arguments: Value| refused(&tools(house.path()), GREP, &arguments);
    assert_snapshot!(ask(json!({})), @"Error: pattern is missing. Please give the regular expression to search for.");
    assert_snapshot!(ask(json!({"pattern": "run("})), @r"Error: Pattern 'run(' cannot be read: unclosed group. Please escape special characters to search for them as they are, as in 'f\('.");
    assert_snapshot!(ask(json!({"pattern": r"a\nb"})), @r#"Error: Pattern 'a\nb' cannot be read: the literal "\n" is not allowed in a regex. Please set multiline: true to search over lines."#);
    assert_snapshot!(ask(json!({"pattern": "(?=a)b"})), @"Error: Pattern '(?=a)b' cannot be read: look-around, including look-ahead and look-behind, is not supported. Please search for a part of it without them.");
    assert_snapshot!(ask(json!({"pattern": "(a{900}){900}"})), @"Error: Pattern '(a{900}){900}' cannot be read: compiled, it takes more than 16 MiB. Please use smaller repetitions.");
    assert_snapshot!(ask(json!({"pattern": "x".repeat(10_001)})), @"Error: pattern has 10001 characters; 10000 are allowed. Please use a shorter one.");
    assert_snapshot!(ask(json!({"pattern": "a", "path": "../"})), @"Error: '../' leads out of the root. Give a path from the root to something inside it.");
    assert_snapshot!(ask(json!({"pattern": "a", "path": "scr"})), @"Error: File 'scr' not found. Did you mean 'src'?");
    assert_snapshot!(ask(json!({"pattern": "a", "glob": "../*"})), @"Error: Glob '../*' leads out of path '.'. Please give path, and a glob below it.");
    assert_snapshot!(ask(json!({"pattern": "a", "glob": "{a"})), @"Error: Glob '{a' cannot be read: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?). Please put special characters in brackets, as in '[[]'.");
    assert_snapshot!(ask(json!({"pattern": "a", "mode": "x"})), @"Error: mode must be lines, files or count");
    assert_snapshot!(ask(json!({"pattern": "a", "context": 5000})), @"Error: context is at most 1000 lines; read_file reads more around a match");
}

/// Argument names of similar tools are accepted.
#[test]
fn aliases() {
    let house = house();
    let tools = tools(house.path());
    for (one, other) in [
        (json!({"glob": "*.rs"}), json!({"file_pattern": "*.rs"})),
        (
            json!({"mode": "files"}),
            json!({"output_mode": "files_with_matches"}),
        ),
        (json!({"max_results": 1}), json!({"head_limit": "1"})),
        (json!({"ignore_case": true}), json!({"-i": true})),
        (json!({"context": 2}), json!({"-C": 2})),
        (json!({"before": 1}), json!({"-B": 1})),
        (
            json!({"max_results": 0, "path": " ", "glob": ""}),
            json!({"glob": null}),
        ),
        (
            json!({"path": "src/../src"}),
            json!({"path": house.path().join("src")}),
        ),
        (
            json!({"glob": "src/*.rs"}),
            json!({"glob": house.path().join("src/*.rs")}),
        ),
    ] {
        let [one, other] =
            [one, other].map(|asked| told(&tools, GREP, &with(&asked, "pattern", "run")));
        assert_eq!(one, other);
    }
}

#[test]
fn globs() {
    let files = [
        "a.rs",
        "b.py",
        "src/a.rs",
        "src/deep/a.rs",
        "src/deep/b.ts",
        ".github/x.yml",
    ];
    let house = tree(&files.map(|name| (name, "run\n")));
    let tools = tools(house.path());
    for (path, glob, found) in [
        (".", "*.rs", &["a.rs", "src/a.rs", "src/deep/a.rs"][..]),
        (".", "**/*.rs", &["a.rs", "src/a.rs", "src/deep/a.rs"]),
        (".", "src/*.rs", &["src/a.rs"]),
        (
            ".",
            "./src/**",
            &["src/a.rs", "src/deep/a.rs", "src/deep/b.ts"],
        ),
        (".", "src/", &["src/a.rs", "src/deep/a.rs", "src/deep/b.ts"]),
        (".", "*.{py,ts}", &["b.py", "src/deep/b.ts"]),
        (".", "!*.rs", &["b.py", "src/deep/b.ts"]),
        // Excluding a directory excludes everything in it.
        (".", "!src", &["a.rs", "b.py"]),
        (".", "!deep/", &["a.rs", "b.py", "src/a.rs"]),
        (".", "!src/d*p", &["a.rs", "b.py", "src/a.rs"]),
        (
            ".",
            "!sr",
            &["a.rs", "b.py", "src/a.rs", "src/deep/a.rs", "src/deep/b.ts"],
        ),
        (
            ".",
            "[ab].??",
            &["a.rs", "b.py", "src/a.rs", "src/deep/a.rs", "src/deep/b.ts"],
        ),
        (".", ".github/*", &[".github/x.yml"]),
        ("src", "*.rs", &["src/a.rs", "src/deep/a.rs"]),
        ("src", "deep/*", &["src/deep/a.rs", "src/deep/b.ts"]),
        ("src/deep", "src/*", &[]),
    ] {
        let asked = json!({"pattern": "run", "mode": "files", "path": path, "glob": glob});
        assert_eq!(rows(&told(&tools, GREP, &asked)), found, "{glob} in {path}");
    }
}

#[test]
fn binary_files_and_encodings() {
    let house = tree(&[("text", "needle\n")]);
    let utf16: Vec<u8> = "\u{feff}needle ü\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut late = b"needle first\n".repeat(20_000);
    late.extend(b"\0 needle\n");
    for (name, bytes) in [
        ("utf16", &utf16[..]),
        ("latin1", b"needle \xfc\n"),
        ("binary", b"\0\x01 needle\n"),
        ("late", &late),
    ] {
        fs::write(house.path().join(name), bytes).unwrap();
    }
    let ask = |arguments: Value| told(&tools(house.path()), GREP, &arguments);
    assert_snapshot!(ask(json!({"pattern": "needle", "glob": "!late"})), @"
    Found 3 matching lines in 3 files
    latin1:1:needle �
    text:1:needle
    utf16:1:needle ü
    ");
    assert_snapshot!(ask(json!({"pattern": "needle", "mode": "count"})), @"
    Found 15126 matching lines in 4 files
    late:15123
    latin1:1
    text:1
    utf16:1
    [Binary (holds NUL bytes), searched in part only: 1 file: late]
    ");
    assert_snapshot!(ask(json!({"pattern": "needle", "path": "binary"})), @"Found 1 matching line in 1 file\nbinary:2:\u{1} needle\n[Binary (holds NUL bytes, each counted as a line's end), shown as text: 1 file: binary]");
    assert_snapshot!(ask(json!({"pattern": "absent", "path": "binary"})), @"No matches found. 1 file was searched. It is binary (holds NUL bytes) and was searched as text.");
    assert_snapshot!(ask(json!({"pattern": "absent", "glob": "b*"})), @"No matches found. 1 file was searched. Passed by: 4 that glob 'b*' leaves out, 1 binary.");
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let long = format!(
        "{}needle{}\nshort needle\n",
        "ä".repeat(3000),
        "b".repeat(9000)
    );
    let house = tree(&[("min.js", &long)]);
    let text = told(&tools(house.path()), GREP, &json!({"pattern": "needle"}));
    let row = text.lines().nth(1).unwrap();
    assert!(row.len() < 2100 && row.contains("ääneedlebb"), "{row}");
    assert!(row.starts_with("min.js:1:[5500 bytes cut]ä"), "{row}");
    assert!(row.ends_with("b[7506 bytes cut]"), "{row}");
    assert!(text.ends_with("min.js:2:short needle\n"), "{text}");
}

#[test]
fn what_is_no_file_is_not_opened() {
    let house = tree(&[("a/file", "needle\n")]);
    let (root, fifo) = (house.path(), |name: &str| {
        mknodat(CWD, house.path().join(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
    });
    for name in ["pipe", ".gitignore", "a/.ignore"] {
        fifo(name);
    }
    let outside = tree(&[("secret", "needle secret\n")]);
    symlink(outside.path(), root.join("out")).unwrap();
    symlink(outside.path().join("secret"), root.join("link")).unwrap();
    symlink(".", root.join("circle")).unwrap();
    symlink(outside.path().join("secret"), root.join("a/.gitignore")).unwrap();
    let tools = tools(root);
    assert_snapshot!(told(&tools, GREP, &json!({"pattern": "needle", "hidden": true})), @"
    Found 1 matching line in 1 file
    a/file:1:needle
    ");
    assert_snapshot!(told(&tools, GREP, &json!({"pattern": "absent", "hidden": true})), @"No matches found. 1 file was searched. Passed by: 4 links, 3 pipes, sockets or devices.");
    for path in ["out", "link", "out/secret", "pipe"] {
        let text = refused(&tools, GREP, &json!({"pattern": "needle", "path": path}));
        assert!(!text.contains("needle"), "{text}");
    }
}

/// A file name cannot forge a row.
#[test]
fn names_stay_on_their_line() {
    let house = tree(&[("a\nFound 9 files\nb.rs", "needle\n")]);
    assert_snapshot!(told(&tools(house.path()), GREP, &json!({"pattern": "needle"})), @r"
    Found 1 matching line in 1 file
    a\nFound 9 files\nb.rs:1:needle
    ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without ignore rules, every line that contains the text is found. With ignore rules, the
    /// same lines are found as by ripgrep.
    #[test]
    fn nothing_is_missed(files in trees(), context in 0..3_u8) {
        let house = plant(&files);
        let tools = tools(house.path());
        let mut lines = Vec::new();
        for name in all_files(house.path()) {
            let text = fs::read_to_string(house.path().join(&name)).unwrap();
            let numbered = text.lines().zip(1..).filter(|(line, _)| line.contains("foo"));
            lines.extend(numbered.map(|(line, number)| format!("{name}:{number}:{line}")));
        }
        let asked = json!({"pattern": "foo", "hidden": true, "no_ignore": true});
        prop_assert_eq!(rows(&told(&tools, GREP, &asked)), lines);

        let number = context.to_string();
        for (flags, asked) in [
            (&["-n"][..], json!({})),
            (&["-n", "--hidden"], json!({"hidden": true})),
            (&["-n", "-i", "--no-ignore"], json!({"ignore_case": true, "no_ignore": true})),
            (&["-n", "-C", &number], json!({"context": context})),
            (&["-c"], json!({"mode": "count"})),
            (&["-l"], json!({"mode": "files"})),
        ] {
            let arguments = [flags, &["foo", "./"]].concat();
            let Some(expected) = rg(house.path(), &arguments) else { return Ok(()) };
            let mut found = rows(&told(&tools, GREP, &with(&asked, "pattern", "foo")));
            found.sort_unstable();
            // The rows are equal, including the `--` between groups and files.
            prop_assert_eq!(found, expected, "{:?}", flags);
        }
    }
}
