//! Tests that a page that `web_fetch` saves (`save_to`) is written only where it may be, and that a
//! failed save leaves nothing behind.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Draft, SaveTarget, SavedSize, failed};
use crate::tool_result::ToolError;
use crate::{Workspace, Writable};

fn place(root: &Path, writable: &Writable, name: &str) -> Result<SaveTarget, ToolError> {
    let place = SaveTarget::new(&Workspace::open(root).unwrap(), writable, name)?;
    place.check().map(|()| place)
}

fn saved(root: &Path, name: &str, text: &[u8]) -> Result<SavedSize, ToolError> {
    let mut draft = Draft::create(place(root, &Writable::Anywhere, name)?)?;
    draft.write(text)?;
    draft.keep()
}

/// Creates a root with a file, directories, a repository, and links inside and outside.
fn tree() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    for dir in ["notes", ".git/hooks", "sub/.git"] {
        fs::create_dir_all(at(dir)).unwrap();
    }
    fs::write(at("there"), "old").unwrap();
    symlink("/tmp", at("out")).unwrap();
    symlink("notes", at("in")).unwrap();
    symlink(".git", at("repository")).unwrap();
    symlink("missing", at("dangling")).unwrap();
    root
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Paths that lead out of the root, through a link, into a repository, or to something that exists.
const REFUSED: [&str; 22] = [
    "../x",
    "notes/../../x",
    "/etc/x",
    "/",
    "..",
    ".",
    "notes/",
    "notes",
    "there",
    "./notes/../there",
    "there/x",
    "out/x",
    "in/x",
    "dangling",
    "dangling/x",
    ".git/hooks/pre-commit",
    ".GIT/config",
    "sub/.git",
    "sub/.git/x",
    "repository/hooks/x",
    "a\nb",
    "a\0b",
];

#[test]
fn what_is_outside_linked_or_there_is_refused() {
    let root = tree();
    let before = names(root.path());
    let mut told = Vec::new();
    for name in REFUSED {
        let refused = saved(root.path(), name, b"new").unwrap_err();
        told.push(format!("{name:?}: {refused}"));
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    "../x": Error: save_to '../x' leads out of the root. Give a path relative to the root.
    "notes/../../x": Error: save_to 'notes/../../x' leads out of the root. Give a path relative to the root.
    "/etc/x": Error: save_to '/etc/x' leads out of the root. Give a path relative to the root.
    "/": Error: save_to '/' leads out of the root. Give a path relative to the root.
    "..": Error: save_to '..' leads out of the root. Give a path relative to the root.
    ".": Error: save_to '.' names a directory. Give the name of a file that is not there yet.
    "notes/": Error: save_to 'notes/' names a directory. Give the name of a file that is not there yet.
    "notes": Error: 'notes' is there already and is not written over. Give save_to a name that is not there yet.
    "there": Error: 'there' is there already and is not written over. Give save_to a name that is not there yet.
    "./notes/../there": Error: 'there' is there already and is not written over. Give save_to a name that is not there yet.
    "there/x": Error: 'there' in save_to 'there/x' is a link or no directory; nothing is saved through it. Give another path.
    "out/x": Error: 'out' in save_to 'out/x' is a link or no directory; nothing is saved through it. Give another path.
    "in/x": Error: 'in' in save_to 'in/x' is a link or no directory; nothing is saved through it. Give another path.
    "dangling": Error: 'dangling' is there already and is not written over. Give save_to a name that is not there yet.
    "dangling/x": Error: 'dangling' in save_to 'dangling/x' is a link or no directory; nothing is saved through it. Give another path.
    ".git/hooks/pre-commit": Error: save_to '.git/hooks/pre-commit' lies in a .git, where nothing is written. Give another path.
    ".GIT/config": Error: save_to '.GIT/config' lies in a .git, where nothing is written. Give another path.
    "sub/.git": Error: save_to 'sub/.git' lies in a .git, where nothing is written. Give another path.
    "sub/.git/x": Error: save_to 'sub/.git/x' lies in a .git, where nothing is written. Give another path.
    "repository/hooks/x": Error: 'repository' in save_to 'repository/hooks/x' is a link or no directory; nothing is saved through it. Give another path.
    "a\nb": Error: save_to has control characters in it. Give a plain path relative to the root.
    "a\0b": Error: save_to has control characters in it. Give a plain path relative to the root.
    "#);
    let long = "x".repeat(300);
    let refused = saved(root.path(), &long, b"new").unwrap_err().to_string();
    assert!(refused.contains("File name too long"), "{refused}");
    assert_eq!(names(root.path()), before);
    assert_eq!(fs::read(root.path().join("there")).unwrap(), b"old");
    assert_eq!(names(&root.path().join(".git/hooks")).len(), 0);
}

#[test]
fn an_absolute_name_may_begin_with_the_root_as_it_was_given() {
    let tree = tree();
    let given = tree.path().join("given");
    symlink("notes", &given).unwrap();
    let name = given.join("a.txt");
    saved(&given, name.to_str().unwrap(), b"new").unwrap();
    assert_eq!(fs::read(tree.path().join("notes/a.txt")).unwrap(), b"new");
}

#[test]
fn what_is_new_is_saved_with_the_directories_to_it() {
    let root = tree();
    let absolute = root.path().canonicalize().unwrap().join("b/../c.txt");
    for (name, at, text, lines) in [
        ("a.txt", "a.txt", "one\ntwo", 2),
        ("x/y/z.txt", "x/y/z.txt", "one\n", 1),
        ("./notes/../x/./b.txt", "x/b.txt", "", 0),
        (absolute.to_str().unwrap(), "c.txt", "\n\n", 2),
        (" .gitignore ", ".gitignore", "x", 1),
    ] {
        let expected = SavedSize {
            bytes: text.len() as u64,
            lines,
        };
        assert_eq!(
            saved(root.path(), name, text.as_bytes()),
            Ok(expected),
            "{name}"
        );
        let path = root.path().join(at);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{name}");
    }
    assert_eq!(names(&root.path().join("x")), ["b.txt", "y"]);
}

#[test]
fn nothing_is_left_of_what_is_not_kept() {
    let root = tree();
    let before = names(root.path());
    let place = place(root.path(), &Writable::Anywhere, "x/y/z.txt").unwrap();
    let mut draft = Draft::create(place).unwrap();
    draft.write(b"half of it").unwrap();
    assert_eq!(names(&root.path().join("x/y")).len(), 1);
    drop(draft);
    assert_eq!(names(root.path()), before);
}

#[test]
fn who_is_first_keeps_the_name() {
    let root = tree();
    let draft = |text: &[u8]| {
        let place = place(root.path(), &Writable::Anywhere, "x/one").unwrap();
        let mut draft = Draft::create(place).unwrap();
        draft.write(text).unwrap();
        draft
    };
    let (first, second) = (draft(b"first"), draft(b"second"));
    assert!(second.keep().is_ok());
    let refused = first.keep().unwrap_err().to_string();
    assert!(refused.contains("is there already"), "{refused}");
    assert_eq!(fs::read(root.path().join("x/one")).unwrap(), b"second");
    assert_eq!(names(&root.path().join("x")), ["one"]);
}

#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    let root = tree();
    let place = place(root.path(), &Writable::Anywhere, "notes/x").unwrap();
    fs::remove_dir(root.path().join("notes")).unwrap();
    symlink(".git/hooks", root.path().join("notes")).unwrap();
    assert!(Draft::create(place).is_err());
    assert_eq!(names(&root.path().join(".git/hooks")).len(), 0);
}

#[test]
fn the_rules_say_where() {
    let root = tree();
    let below = Writable::Below(vec![PathBuf::from("./notes/"), PathBuf::from("x/y")]);
    let may = |writable: &Writable, name: &str| place(root.path(), writable, name).map(drop);
    for (name, allowed) in [
        ("notes/a", true),
        ("notes/b/c", true),
        ("x/y/z", true),
        ("sub/../notes/a", true),
        ("notes/../a", false),
        ("notes2/a", false),
        ("x/a", false),
        ("a", false),
        ("notes/.git/x", false),
    ] {
        assert_eq!(may(&below, name).is_ok(), allowed, "{name}");
    }
    insta::assert_snapshot!(may(&below, "a").unwrap_err(), @"Error: save_to 'a' is not where files may be saved: ./notes/, x/y. Give a path below.");
    insta::assert_snapshot!(may(&Writable::Nowhere, "a").unwrap_err(), @"Error: Nothing may be saved here. Leave save_to out.");
}

#[test]
fn a_full_disk_is_told() {
    let told = |kind: ErrorKind| failed("a/b", &io::Error::from(kind)).to_string();
    insta::assert_snapshot!(told(ErrorKind::StorageFull), @"Error: There is no space left to save 'a/b'; nothing was kept. Save less, or make space.");
    insta::assert_snapshot!(told(ErrorKind::PermissionDenied), @"Error: 'a/b' may not be written: permission denied. Give save_to another path.");
    insta::assert_snapshot!(told(ErrorKind::Other), @"Error: 'a/b' could not be saved: other error; nothing was kept. Give save_to another path.");
}
