//! Tests for what `glob_files` lists.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tools;
use crate::tree::{plant, refused, rg, rows, told, touch, tree, trees, with};

const GLOB: &str = "glob_files";

fn house() -> TempDir {
    let files = [
        "old.rs",
        "new.rs",
        "src/mid.rs",
        "src/also-mid.rs",
        "target/x.rs",
        ".h/y.rs",
        "z.py",
    ];
    let house = tree(&files.map(|name| (name, "")));
    fs::write(house.path().join(".gitignore"), "target\n").unwrap();
    for (name, seconds) in [
        ("old.rs", 1),
        ("new.rs", 9),
        ("src/mid.rs", 5),
        ("src/also-mid.rs", 5),
    ] {
        touch(&house, name, seconds);
    }
    house
}

#[test]
fn the_forms_of_answers() {
    let house = house();
    let ask = |arguments: Value| told(&tools(house.path()), GLOB, &arguments);
    assert_snapshot!(ask(json!({"pattern": "*.rs"})), @"
    new.rs
    src/also-mid.rs
    src/mid.rs
    old.rs
    ");
    assert_snapshot!(ask(json!({"pattern": "*.rs", "max_results": 2})), @"
    [Files 1-2 of 4]
    new.rs
    src/also-mid.rs
    ");
    assert_snapshot!(ask(json!({"pattern": "*.rs", "max_results": "2", "offset": 3})), @"
    [Files 4-4 of 4]
    old.rs
    ");
    assert_snapshot!(ask(json!({"pattern": "*", "path": "src"})), @"
    src/also-mid.rs
    src/mid.rs
    ");
    assert_snapshot!(ask(json!({"pattern": "*.txt"})), @"No files found. 5 files do not match. Passed by: 2 hidden (hidden: true takes them in), 1 ignored (no_ignore: true takes them in).");
    assert_eq!(
        ask(json!({"pattern": "*.rs", "max_results": 4})),
        ask(json!({"pattern": "*.rs"}))
    );
    let all = ask(json!({"pattern": "**", "hidden": true, "no_ignore": true}));
    assert_eq!(rows(&all).len(), 8, "{all}");
}

#[test]
fn what_cannot_be_meant() {
    let house = house();
    let ask = |arguments: Value| refused(&tools(house.path()), GLOB, &arguments);
    assert_snapshot!(ask(json!({})), @"Error: pattern is missing. Please give a glob, as '*.py'.");
    assert_snapshot!(ask(json!({"pattern": "a[", "path": ""})), @"Error: Glob 'a[' cannot be read: unclosed character class; missing ']'. Please put special characters in brackets, as in '[[]'.");
    assert_snapshot!(ask(json!({"pattern": "/etc/*"})), @"Error: Glob '/etc/*' leads out of path '.'. Please give path, and a glob below it.");
    assert_snapshot!(ask(json!({"pattern": "src/../../*"})), @"Error: Glob 'src/../../*' leads out of path '.'. Please give path, and a glob below it.");
    assert_snapshot!(ask(json!({"pattern": "*", "path": "new.rs"})), @"Error: 'new.rs' is a file, not a directory. Please give the directory that it is in.");
    assert_snapshot!(ask(json!({"pattern": "*", "path": "/etc"})), @"Error: '/etc' leads out of the root. Give a path from the root to something inside it.");
    assert_snapshot!(ask(json!({"pattern": "*.rs", "offset": 4})), @"Error: offset 4 is past the last file: there are 4. Please use a smaller offset.");
}

/// A pattern that is a plain path gets advice, no matter where the path leads.
#[test]
fn names_of_what_is_not_listed() {
    let house = tree(&[
        (".git/config", ""),
        (".gitignore", "/target"),
        ("target/out", ""),
        ("src/deep/a.rs", ""),
    ]);
    let tools = tools(house.path());
    let ask = |pattern: &str, path: &str| {
        let text = told(&tools, GLOB, &json!({"pattern": pattern, "path": path}));
        let (_, there) = text.split_once("match.").unwrap();
        there
            .split_once(" Passed by")
            .map_or(there, |(there, _)| there)
            .to_owned()
    };
    let root = house.path().join("src").display().to_string();
    let cases = [
        (
            "src",
            "",
            " 'src' is a directory: path 'src' and pattern '*' find what is in it.",
        ),
        (
            "deep",
            "src",
            " 'src/deep' is a directory: path 'src/deep' and pattern '*' find what is in it.",
        ),
        (
            ".git",
            ".",
            " '.git' is a directory: path '.git' and pattern '*' find what is in it.",
        ),
        (
            "target",
            ".",
            " 'target' is a directory: path 'target' and pattern '*' find what is in it.",
        ),
        (".git/config", "", " '.git/config' is there, but passed by."),
        ("target/out", "", " 'target/out' is there, but passed by."),
        ("absent", "", ""),
        ("*.py", "", ""),
    ];
    for (pattern, path, there) in cases {
        assert_eq!(ask(pattern, path), there, "{pattern} in {path:?}");
    }
    assert!(ask(&root, "").contains("/src' is a directory: path '"));
    for (path, found) in [
        (".git", ".git/config\n"),
        ("target", "target/out\n"),
        (&root, "src/deep/a.rs\n"),
    ] {
        assert_eq!(
            told(&tools, GLOB, &json!({"pattern": "*", "path": path})),
            found
        );
    }
}

/// Links are listed if they lead to files inside the root.
#[test]
fn links_and_what_is_no_file() {
    let outside = tree(&[("secret", "")]);
    let house = tree(&[("dir/file", "")]);
    let root = house.path();
    for (target, name) in [
        ("dir/file", "to-file"),
        ("dir", "to-dir"),
        ("nowhere", "to-nothing"),
        ("to-itself", "to-itself"),
        (outside.path().to_str().unwrap(), "out"),
        (outside.path().join("secret").to_str().unwrap(), "out-file"),
        ("/dev/null", "null"),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
    mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    touch(&house, "dir/file", 7);
    assert_snapshot!(told(&tools(root), GLOB, &json!({"pattern": "*"})), @"
    dir/file
    to-file
    ");
    assert_snapshot!(told(&tools(root), GLOB, &json!({"pattern": "*", "path": "to-dir"})), @"to-dir/file");
}

/// A list of 1,001 files is too long, but its pages are not.
#[test]
fn too_many() {
    let house = tempfile::tempdir().unwrap();
    for number in 0..1000 {
        File::create(house.path().join(format!("{number:04}.txt"))).unwrap();
    }
    let tools = tools(house.path());
    let asked = json!({"pattern": "*.txt"});
    assert_eq!(rows(&told(&tools, GLOB, &asked)).len(), 1000);
    File::create(house.path().join("1000.txt")).unwrap();
    assert_snapshot!(refused(&tools, GLOB, &asked), @"Error: File list (1001 files) exceeds maximum allowed files (1000). Please use a more specific pattern or limit results with max_results parameter.");
    let page = told(&tools, GLOB, &with(&asked, "max_results", 3));
    assert!(page.starts_with("[Files 1-3 of 1001]\n"), "{page}");
    // Fewer files also exceed the limit if their names are long.
    let name = "long".repeat(60);
    for number in 0..500 {
        File::create(house.path().join(format!("{name}{number}"))).unwrap();
    }
    assert_snapshot!(refused(&tools, GLOB, &json!({"pattern": "long*"})), @"Error: File list (~30472 tokens) exceeds maximum allowed tokens (25000). Please use a more specific pattern. Or list fewer at a time with max_results and offset parameters.");
}

#[test]
fn many_files() {
    let house = tempfile::tempdir().unwrap();
    for number in 0..20_000 {
        let path = house
            .path()
            .join(format!("d{}/e{}", number % 7, number % 31));
        fs::create_dir_all(&path).unwrap();
        File::create(path.join(format!("f{number}.txt"))).unwrap();
    }
    let tools = tools(house.path());
    let page = |offset, count| {
        let asked = json!({"pattern": "*.txt", "offset": offset, "max_results": count});
        rows(&told(&tools, GLOB, &asked))
    };
    let newest = page(0, 1000);
    assert_eq!(page(500, 500), newest[500..]);
    let mut all: Vec<String> = (0..20).flat_map(|n| page(n * 1000, 1000)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 20_000);
    let text = refused(&tools, GLOB, &json!({"pattern": "*1*"}));
    assert!(
        text.contains("files) exceeds maximum allowed files (1000)"),
        "{text}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares with what ripgrep lists.
    #[test]
    fn nothing_is_missed(files in trees()) {
        let house = plant(&files);
        let tools = tools(house.path());
        for (flags, asked) in [
            (&[][..], json!({})),
            (&["--hidden"], json!({"hidden": true})),
            (&["--no-ignore"], json!({"no_ignore": true})),
            (&["--hidden", "--no-ignore"], json!({"hidden": true, "no_ignore": true})),
        ] {
            let Some(expected) = rg(house.path(), &[&["--files"], flags].concat()) else { return Ok(()) };
            let mut found = rows(&told(&tools, GLOB, &with(&asked, "pattern", "**")));
            found.retain(|row| !row.starts_with("No files found"));
            found.sort_unstable();
            prop_assert_eq!(found, expected, "{:?}", flags);
        }
    }
}
