//! Tests for what a walk skips, and for failures of its threads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::workspace::Workspace;
use spillgate_artifact::Interrupt;

/// Collects names.
#[derive(Default)]
struct Notes(Vec<String>);

impl Visitor for Notes {
    fn visit(&mut self, folder: &Folder, found: &[Entry], _: &Deadline<'_>) {
        for entry in found {
            let path = [&folder.path, entry.name.to_bytes()].concat();
            self.0.push(shown(&path));
        }
    }
}

/// The sorted paths below `path` in a tree with these files.
fn names(files: &[(&str, &str)], path: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let workspace = Workspace::open(dir.path()).unwrap();
    let SearchRoot::Directory(base) = start(&workspace, path).unwrap() else {
        panic!("no directory");
    };
    let stop = Interrupt::default();
    let deadline = Deadline::new(&stop, TIME_LIMIT);
    let walked = walk(&base, Scope::default(), &deadline, Notes::default);
    let mut names: Vec<_> = walked
        .visitors
        .into_iter()
        .flat_map(|notes| notes.0)
        .collect();
    names.sort_unstable();
    names.join(" ")
}

/// ripgrep behaves in the same way, except for repositories inside other repositories, where we
/// follow git.
#[test]
fn ignore_files() {
    let files = [
        ("a.log", ""),
        ("a.rs", ""),
        ("d/a.log", ""),
        ("d/b.rs", ""),
        ("d/e/c.rs", ""),
    ];
    for (rules, path, found) in [
        (&[][..], "", "a.log a.rs d/a.log d/b.rs d/e/c.rs"),
        (&[(".gitignore", "*.log")], "", "a.rs d/b.rs d/e/c.rs"),
        (
            &[(".gitignore", "\u{feff}*.log\r\n")],
            "",
            "a.rs d/b.rs d/e/c.rs",
        ),
        // Ignore files in directories above the starting point apply, too.
        (&[(".gitignore", "*.log\n/d/e")], "d", "d/b.rs"),
        (&[(".gitignore", "*.log\n/d/e")], "d/../d", "d/b.rs"),
        // A path that the caller names is searched even if it is ignored.
        (&[(".gitignore", "e/")], "d/e", "d/e/c.rs"),
        (
            &[(".gitignore", "*.log"), ("d/.gitignore", "!a.log")],
            "",
            "a.rs d/a.log d/b.rs d/e/c.rs",
        ),
        (
            &[(".gitignore", "!*.log"), (".ignore", "*.log")],
            "",
            "a.rs d/b.rs d/e/c.rs",
        ),
        (&[(".gitignore", "[\n*.rs")], "", "a.log d/a.log"),
        (&[(".git/info/exclude", "d/")], "", "a.log a.rs"),
        // A nested repository has only its own `.gitignore` rules.
        (
            &[(".gitignore", "*.log"), ("d/.git/HEAD", "")],
            "",
            "a.rs d/a.log d/b.rs d/e/c.rs",
        ),
        (
            &[(".ignore", "*.log"), ("d/.git/HEAD", "")],
            "",
            "a.rs d/b.rs d/e/c.rs",
        ),
    ] {
        let found = found.to_owned();
        assert_eq!(
            names(&[&files, rules].concat(), path),
            found,
            "{rules:?} in {path:?}"
        );
    }
}

/// Ignore files that would take gigabytes and minutes to compile have no effect. Ignore files with
/// long lists of plain names work.
#[test]
fn ignore_files_that_are_large() {
    let numbered = |before: &str, count: u32, after: &str| -> String {
        (0..count)
            .map(|number| format!("{before}{number}{after}\n"))
            .collect()
    };
    let cases = [
        (format!("{}\n*.log\n", "*".repeat(100_000)), "a.rs"),
        (numbered("*a", 10_000, "*b?c") + "*.log\n", "a.log a.rs"),
        (numbered("/data/img", 30_000, ".png") + "*.log\n", "a.rs"),
        (numbered("*.img", 30_000, "") + "*.log\n", "a.rs"),
        ("# what? *\n".repeat(30_000) + "*.log\n", "a.rs"),
    ];
    for (rules, found) in cases {
        let files = [("a.log", ""), ("a.rs", ""), (".gitignore", &rules)];
        assert_eq!(names(&files, ""), found, "{rules:.20}");
    }
    // Ignore files of directories above count toward the bound, those of other directories do not.
    let rules = numbered("*a", 4000, "*b?c") + "*.log\n";
    let files = [
        ("a/.gitignore", &rules[..]),
        ("a/b/.gitignore", &rules.replace("log", "rs")),
        ("a/b/a.log", ""),
        ("a/b/a.rs", ""),
        ("c/.gitignore", &rules),
        ("c/a.log", ""),
    ];
    assert_eq!(names(&files, ""), "a/b/a.rs");
}

/// A tree deeper than one path can address.
#[test]
fn a_deep_tree() {
    let dir = tempfile::tempdir().unwrap();
    let name = "n".repeat(200);
    let mut here =
        cap_std::fs::Dir::open_ambient_dir(dir.path(), cap_std::ambient_authority()).unwrap();
    for _ in 0..30 {
        here.create_dir(&name).unwrap();
        here = here.open_dir(&name).unwrap();
    }
    here.write("deep", "").unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    let SearchRoot::Directory(base) = start(&workspace, "").unwrap() else {
        panic!("no directory");
    };
    let stop = Interrupt::default();
    let deadline = Deadline::new(&stop, TIME_LIMIT);
    let walked = walk(&base, Scope::default(), &deadline, Notes::default);
    let names: Vec<_> = walked
        .visitors
        .into_iter()
        .flat_map(|notes| notes.0)
        .collect();
    assert_eq!(names.len(), 1);
    assert_eq!(names[0].len(), 30 * 201 + 4);
    assert!(base.reopen(names[0].as_bytes()).is_some());
}

/// Tests that a panic in one thread ends the walk, and that no thread waits for ever.
#[test]
fn a_failure_ends_the_walk() {
    struct Fails;
    impl Visitor for Fails {
        fn visit(&mut self, _: &Folder, _: &[Entry], _: &Deadline<'_>) {
            panic!("as it should");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    let SearchRoot::Directory(base) = start(&workspace, ".").unwrap() else {
        panic!("no directory");
    };
    let stop = Interrupt::default();
    let deadline = Deadline::new(&stop, TIME_LIMIT);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        walk(&base, Scope::default(), &deadline, || Fails);
    }));
    assert!(ended.is_err());
}

/// Directories without permission are reported. The superuser can read everything.
#[test]
fn a_directory_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let shut = dir.path().join("shut");
    fs::create_dir(&shut).unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
    let is_kept_out = fs::read_dir(&shut).is_err();
    let workspace = Workspace::open(dir.path()).unwrap();
    let SearchRoot::Directory(base) = start(&workspace, "").unwrap() else {
        panic!("no directory");
    };
    let stop = Interrupt::default();
    let deadline = Deadline::new(&stop, TIME_LIMIT);
    let walked = walk(&base, Scope::default(), &deadline, Notes::default);
    let told = walked.skipped.unreadable.note("directory", "directories");
    assert_eq!(told, is_kept_out.then(|| "1 directory: shut/".to_owned()));
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn names_are_counted_and_the_first_told() {
    let mut all = NameList::default();
    for name in ["g", "b", "a", "f", "c", "e", "d"] {
        let mut one = NameList::default();
        one.push(name.to_owned());
        all.add(one);
    }
    let told = all.note("file", "files");
    assert_eq!(told.as_deref(), Some("7 files: a, b, c, d, e and 2 more"));
}
