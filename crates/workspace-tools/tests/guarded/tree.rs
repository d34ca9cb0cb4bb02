//! Creates file trees for tests of the searching tools, and runs `rg` for comparison.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_workspace_tools::WorkspaceTools;
use tempfile::TempDir;

/// Creates a directory with these files.
pub(crate) fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// Sets a file's modification time to `seconds` since 1970.
pub(crate) fn touch(dir: &TempDir, name: &str, seconds: u64) {
    let path = dir.path().join(name);
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
        .unwrap();
}

/// Makes a call that must succeed, and returns its text.
pub(crate) fn told(tools: &WorkspaceTools, name: &str, arguments: &Value) -> String {
    let (text, is_error) = crate::call(tools, name, arguments);
    assert!(!is_error, "{text}");
    text
}

/// Makes a call that must fail, and returns its text.
pub(crate) fn refused(tools: &WorkspaceTools, name: &str, arguments: &Value) -> String {
    let (text, is_error) = crate::call(tools, name, arguments);
    assert!(is_error, "{text}");
    text
}

/// The rows of an answer, without its header and notes.
pub(crate) fn rows(answer: &str) -> Vec<String> {
    let rows = answer.lines().filter(|row| !row.starts_with('['));
    rows.skip_while(|row| row.starts_with("Found ") || row.starts_with("No matches"))
        .map(str::to_owned)
        .collect()
}

/// Random trees with few names, so that names collide with each other and match ignore rules.
pub(crate) fn trees() -> impl Strategy<Value = Vec<(String, String)>> {
    let directory = prop::sample::select(vec!["", "a/", "a/b/", "a/c/", "build/", ".h/", "b/a/"]);
    let name = prop::sample::select(vec!["one.rs", "two.py", "x.log", "build", ".env", "k.txt"]);
    let line = prop::sample::select(vec!["foo", "bar foo", "FOO", "", "x1", "x22 foo", "größe"]);
    let text = prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"));
    let file = (directory, name, text).prop_map(|(dir, name, text)| (format!("{dir}{name}"), text));
    let rule = prop::sample::select(vec![
        "*.log", "build", "build/", "/a/b", "!x.log", "a/*.rs", "**/c", "# no", "!.env", "*.py",
    ]);
    let place = prop::sample::select(vec![".gitignore", "a/.gitignore", ".ignore", "a/.ignore"]);
    let rules = prop::collection::vec(rule, 0..4).prop_map(|rules| rules.join("\n"));
    let ignoring = (place, rules).prop_map(|(place, rules)| (place.to_owned(), rules));
    let files = prop::collection::vec(file, 0..14);
    (files, prop::collection::vec(ignoring, 0..3))
        .prop_map(|(files, ignoring)| files.into_iter().chain(ignoring).collect())
}

/// Creates the files of a random tree, except where a directory already has the name.
pub(crate) fn plant(files: &[(String, String)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
            fs::write(path, text).unwrap();
        }
    }
    dir
}

/// All regular files below `dir`, sorted, found by a walk without rules.
pub(crate) fn all_files(dir: &Path) -> Vec<String> {
    fn below(dir: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => below(&entry.path(), root, found),
                kind if kind.is_file() => {
                    let path = entry.path();
                    let name = path.strip_prefix(root).unwrap();
                    found.push(name.to_str().unwrap().to_owned());
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    below(dir, dir, &mut found);
    found.sort_unstable();
    found
}

/// What `rg` prints below `dir`, sorted; `None` if it is not installed.
pub(crate) fn rg(dir: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let mut rg = std::process::Command::new("rg");
    rg.current_dir(dir)
        .args(["--no-config", "--no-require-git"]);
    rg.args([
        "--no-ignore-global",
        "--no-ignore-parent",
        "--no-messages",
        "--color=never",
    ]);
    let output = rg.args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text
        .lines()
        .map(|line| line.strip_prefix("./").unwrap_or(line));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort_unstable();
    Some(lines)
}

/// Adds a member to `arguments`.
pub(crate) fn with(arguments: &Value, name: &str, value: impl Into<Value>) -> Value {
    let mut arguments = arguments.clone();
    arguments[name] = json!(value.into());
    arguments
}
