//! Tests for resolving paths, and for the errors of paths that lead nowhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};
use tempfile::TempDir;

use super::*;

/// Creates a root `in` with all kinds of entries, and a file beside the root.
fn house() -> (TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("in");
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::write(dir.path().join("beside"), "beside").unwrap();
    for name in ["README.md", "src/main.rs", "src/deep/er.txt"] {
        fs::write(root.join(name), name).unwrap();
    }
    symlink("../beside", root.join("out")).unwrap();
    symlink("circle", root.join("circle")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    mknodat(CWD, root.join("pipe"), Kind::Fifo, Mode::RWXU, 0).unwrap();
    drop(UnixListener::bind(root.join("socket")).unwrap());
    let workspace = Workspace::open(&root).unwrap();
    (dir, workspace)
}

#[test]
fn what_names_mean() {
    let (dir, workspace) = house();
    let root = dir.path().join("in").display().to_string();
    let cases = [
        ("a", "a"),
        ("./a", "a"),
        ("a//b/./c", "a/b/c"),
        ("a/../b", "a/../b"),
        ("", "."),
        ("  ", "."),
        (".", "."),
        ("./", "."),
        ("a/", "a/"),
        ("~", "~"),
        ("a\\b", "a\\b"),
        (&format!("{root}/a/b"), "a/b"),
        (&format!("{root}//a"), "a"),
        (&root, "."),
    ];
    for (name, relative) in cases {
        let found = workspace.relative(name).unwrap();
        assert_eq!(found.to_str(), Some(relative), "{name:?}");
    }
    for name in ["/", "/etc/passwd", "//a", &format!("{root}side/a")] {
        let found = workspace.relative(name);
        assert!(matches!(found, Err(PathError::Outside(_))), "{name:?}");
    }
}

#[test]
fn files_and_directories() {
    let (_dir, workspace) = house();
    for name in ["README.md", "src/../README.md", "./src/main.rs"] {
        let opened = workspace.file(name);
        assert!(opened.is_ok(), "{name}: {opened:?}");
    }
    for (name, relative) in [
        ("src", "src"),
        ("src/", "src"),
        ("", "."),
        ("src/deep/..", "src/deep/.."),
    ] {
        let (opened, found) = workspace.directory(name).unwrap();
        assert_eq!(found.to_str(), Some(relative));
        assert!(opened.entries().is_ok());
    }
    assert!(matches!(
        workspace.open_path("src"),
        Ok(OpenedPath::Directory(..))
    ));
    assert!(matches!(
        workspace.open_path("README.md"),
        Ok(OpenedPath::File(..))
    ));
}

#[test]
fn what_is_said() {
    let (_dir, workspace) = house();
    let long = format!("{}/", "a".repeat(99)).repeat(50);
    let part = "a".repeat(300);
    let names = [
        "nothing",
        "readme.MD",
        "REDME.md",
        "source/main.rs",
        "src/mian.rs",
        "scr/main.rs",
        "src\\main.rs",
        "in/src/main.rs",
        "README.md/",
        "src",
        "out",
        "../beside",
        "/etc/passwd",
        "circle",
        "zero",
        "pipe",
        "socket",
        "a\0b",
        "a\nError: b",
        &long,
        &part,
    ];
    let said = names.map(|name| workspace.file(name).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @r"
    File 'nothing' not found. Use glob_files to find it.
    File 'readme.MD' not found. Did you mean 'README.md'?
    File 'REDME.md' not found. Did you mean 'README.md'?
    File 'source/main.rs' not found. Use glob_files to find it.
    File 'src/mian.rs' not found. Did you mean 'src/main.rs'?
    File 'scr/main.rs' not found. Did you mean 'src/main.rs'?
    File 'src\main.rs' not found. Did you mean 'src/main.rs'?
    File 'in/src/main.rs' not found. Did you mean 'src/main.rs'?
    File 'README.md/' not found. Did you mean 'README.md'?
    'src' is a directory. Use glob_files to list what is in it.
    'out' leads out of the root. Give a path from the root to something inside it.
    '../beside' leads out of the root. Give a path from the root to something inside it.
    '/etc/passwd' leads out of the root. Give a path from the root to something inside it.
    'circle' is a link that leads in a circle. Give the path of a file itself.
    'zero' leads out of the root. Give a path from the root to something inside it.
    'pipe' is a named pipe, not a file, and is not opened. Give a regular file.
    'socket' is a socket, not a file, and is not opened. Give a regular file.
    The path contains a NUL character, which no path may contain. Give the path as glob_files lists it.
    File 'a\nError: b' not found. Use glob_files to find it.
    The path is too long (5000 bytes) for the operating system. Give the path as glob_files lists it.
    The path is too long (300 bytes) for the operating system. Give the path as glob_files lists it.
    ");
    let said = ["README.md", "pipe", "sources", "../in/../.."]
        .map(|name| workspace.directory(name).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    'README.md' is a file, not a directory. Give the directory that it is in.
    'pipe' is a named pipe, not a file, and is not opened. Give a regular file.
    Directory 'sources' not found. Use glob_files to find it.
    '../in/../..' leads out of the root. Give a path from the root to something inside it.
    ");
}
