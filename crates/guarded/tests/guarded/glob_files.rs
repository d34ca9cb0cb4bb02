//! What does `glob_files` list?

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use insta::assert_snapshot;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tools;
use crate::tree::{plant, refused, rg, rows, told, tree, trees, with};

const GLOB: &str = "glob_files";

/// Changes a file's time to so many seconds.
fn touch(house: &TempDir, name: &str, seconds: u64) {
    let file = File::options()
        .append(true)
        .open(house.path().join(name))
        .unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
        .unwrap();
}

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
    assert_snapshot!(ask(json!({"pattern": "*.rs"})), @"");
    assert_snapshot!(ask(json!({"pattern": "*.rs", "max_results": 2})), @"");
    assert_snapshot!(ask(json!({"pattern": "*.rs", "max_results": "2", "offset": 3})), @"");
    assert_snapshot!(ask(json!({"pattern": "*", "path": "src"})), @"");
    assert_snapshot!(ask(json!({"pattern": "*.txt"})), @"");
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
    assert_snapshot!(ask(json!({})), @"");
    assert_snapshot!(ask(json!({"pattern": "a[", "path": ""})), @"");
    assert_snapshot!(ask(json!({"pattern": "/etc/*"})), @"");
    assert_snapshot!(ask(json!({"pattern": "src/../../*"})), @"");
    assert_snapshot!(ask(json!({"pattern": "*", "path": "new.rs"})), @"");
    assert_snapshot!(ask(json!({"pattern": "*", "path": "/etc"})), @"");
    assert_snapshot!(ask(json!({"pattern": "*.rs", "offset": 4})), @"");
}

/// Links are listed where they lead to files inside.
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
    for name in ["dir/file"] {
        touch(&house, name, 7);
    }
    assert_snapshot!(told(&tools(root), GLOB, &json!({"pattern": "*"})), @"");
    assert_snapshot!(told(&tools(root), GLOB, &json!({"pattern": "*", "path": "to-dir"})), @"");
}

/// A thousand files and one are too many, and can be paged.
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
    assert_snapshot!(refused(&tools, GLOB, &asked), @"");
    let page = told(&tools, GLOB, &with(&asked, "max_results", 3));
    assert!(page.starts_with("[Files 1-3 of 1001]\n"), "{page}");
    // Names may be too much, too.
    let name = "long".repeat(60);
    for number in 0..500 {
        File::create(house.path().join(format!("{name}{number}"))).unwrap();
    }
    assert_snapshot!(refused(&tools, GLOB, &json!({"pattern": "long*"})), @"");
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
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// What ripgrep lists.
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
