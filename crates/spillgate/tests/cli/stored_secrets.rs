//! Tests of the setting `stored` of `[secrets]` at the edges: `put`, `run` and the gateway.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::session::Session;
use super::tool::{Tool, masked};

const KEY: &str = "AKIAQ3EGXZ7LKTPNWB5M";

/// Returns a tool with `settings`, and the path of its configuration file.
fn with(settings: &str) -> (Tool, String) {
    let tool = Tool::new();
    let config = tool.home().join("spillgate.toml");
    fs::write(&config, settings).unwrap();
    let config = config.to_str().unwrap().to_owned();
    (tool, config)
}

/// Masks the handle, if there is one.
fn without(text: &str, handle: &str) -> String {
    match handle.is_empty() {
        true => text.to_owned(),
        false => masked(text, handle),
    }
}

fn text() -> String {
    let lines = "nothing to see in this line\n".repeat(900);
    format!("first line\nkey {KEY}\n{lines}")
}

/// Returns the number of files of a store that contain the key.
fn files_with_key(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let count = |path: &Path| {
        if path.is_dir() {
            return files_with_key(path);
        }
        let bytes = fs::read(path).unwrap_or_default();
        usize::from(memchr::memmem::find(&bytes, KEY.as_bytes()).is_some())
    };
    entries.map(|entry| count(&entry.path())).sum()
}

#[test]
fn put_stores_what_the_setting_allows() {
    let mut shown = Vec::new();
    for settings in [
        "[secrets]\nstored = \"as-is\"\n",
        "[secrets]\nstored = \"redacted\"\n",
        "[secrets]\nstored = \"refused\"\n",
        "stored_secrets = \"refused\"\n",
        "[secrets]\nstored = \"refused\"\n[tools.stdin]\nstored_secrets = \"redacted\"\n",
        "[secrets]\nstored = \"never\"\n",
    ] {
        let (tool, config) = with(settings);
        let output = tool.run(&["put", "--config", &config], text().as_bytes());
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let told = told.replace(&config, "FILE");
        let first = told.lines().next().unwrap();
        let handle = first.split_once(" as ").map_or("", |(_, handle)| handle);
        let first = told.lines().filter(|line| !line.starts_with("  ")).take(4);
        let first = first.filter(|line| !line.ends_with("head:") && !line.starts_with("next"));
        let first: Vec<_> = first.collect();
        shown.push(format!(
            "{settings}→ code {}, {} files with the key\n{}\n",
            output.status.code().unwrap(),
            files_with_key(&tool.store()),
            without(&first.join("\n"), handle),
        ));
    }
    assert_snapshot!(shown.join("\n"), @r#"
    [secrets]
    stored = "as-is"
    → code 0, 1 files with the key
    [spillgate] stdin returned 25236 bytes, 903 lines, 6318 tokens (text); stored whole as HANDLE
    tail:
     895 nothing to see in this line

    [secrets]
    stored = "redacted"
    → code 0, 0 files with the key
    [spillgate] stdin returned 25242 bytes, 903 lines, 6312 tokens (text); stored with 1 secret redacted as HANDLE
    tail:
     895 nothing to see in this line

    [secrets]
    stored = "refused"
    → code 1, 0 files with the key
    [spillgate] stdin returned 25236 bytes, 903 lines (text); nothing of it is stored or shown: the output has secrets (1 × aws-access-key), and the user's setting `stored = "refused"` does not allow storing such an output. Ask for the part that has no secrets, or ask the user, who can change the setting.
    error: the output has secrets (1 × aws-access-key), and the user's setting `stored = "refused"` does not allow storing such an output
    hint: print less, or set `stored` in [secrets] to another value; docs/redaction.md says what each does

    stored_secrets = "refused"
    → code 1, 0 files with the key
    [spillgate] stdin returned 25236 bytes, 903 lines (text); nothing of it is stored or shown: the output has secrets (1 × aws-access-key), and the user's setting `stored = "refused"` does not allow storing such an output. Ask for the part that has no secrets, or ask the user, who can change the setting.
    error: the output has secrets (1 × aws-access-key), and the user's setting `stored = "refused"` does not allow storing such an output
    hint: print less, or set `stored` in [secrets] to another value; docs/redaction.md says what each does

    [secrets]
    stored = "refused"
    [tools.stdin]
    stored_secrets = "redacted"
    → code 0, 0 files with the key
    [spillgate] stdin returned 25242 bytes, 903 lines, 6312 tokens (text); stored with 1 secret redacted as HANDLE
    tail:
     895 nothing to see in this line

    [secrets]
    stored = "never"
    → code 1, 0 files with the key
    error: FILE:2: `secrets.stored`: "never" is none of as-is, redacted, refused
    hint: docs/configuration.md lists what each setting can be
    "#);
}

#[test]
fn an_output_with_marks_has_no_original() {
    let (tool, config) = with("[secrets]\nstored = \"redacted\"\n");
    let put = tool.run(&["put", "--config", &config], text().as_bytes());
    assert!(put.status.success());
    let raw = tool.run(&["cat", "--raw", "last"], b"").stdout;
    let want = text().replace(KEY, "[redacted: aws-access-key]");
    assert_eq!(String::from_utf8(raw).unwrap(), want);
    let show = tool.run(&["show", "last"], b"").stdout;
    let show = String::from_utf8(show).unwrap();
    let secrets = show.lines().skip_while(|line| !line.starts_with("secrets"));
    let secrets: Vec<_> = secrets
        .take(4)
        .filter(|line| !line.contains("rules:"))
        .collect();
    assert_snapshot!(secrets.join("\n"), @"
    secrets:
      removed:
        aws-access-key: 1
    ");
    let verified = tool.run(&["verify", "last"], b"");
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn run_neither_stores_nor_shows_what_is_refused() {
    let (tool, config) = with("[secrets]\nstored = \"refused\"\n");
    // Over the size from which on an output is written to a draft.
    let script =
        format!("yes 'a line without any key' | head -c 20000000; echo; echo {KEY}; exit 3");
    let run = ["run", "--config", &config, "--", "sh", "-c", &script];
    let output = tool.run(&run, b"");
    let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_snapshot!(told, @r#"
    [spillgate] sh returned 20000022 bytes, 869568 lines (text); nothing of it is stored or shown: the output has secrets (1 × aws-access-key), and the user's setting `stored = "refused"` does not allow storing such an output. Ask for the part that has no secrets, or ask the user, who can change the setting.
    error: the output has secrets (1 × aws-access-key), and the user's setting `stored = "refused"` does not allow storing such an output
    hint: print less, or set `stored` in [secrets] to another value; docs/redaction.md says what each does
    "#);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(files_with_key(&tool.store()), 0);
    let list = tool.run(&["ls", "--json"], b"").stdout;
    assert!(!String::from_utf8(list).unwrap().contains("handle"));
    // A command line with a secret is stored with a mark.
    let clean = format!("yes 'a line without any key' | head -c 20000; true {KEY}");
    let run = ["run", "--config", &config, "--", "sh", "-c", &clean];
    assert!(tool.run(&run, b"").status.success());
    let show = String::from_utf8(tool.run(&["show", "last"], b"").stdout).unwrap();
    assert!(show.contains("true [redacted: aws-access-key]"), "{show}");
    assert_eq!(files_with_key(&tool.store()), 0);
    let options = ["run", "--json", "--config", &config];
    let run = [&options[..], &["--", "sh", "-c", &script]].concat();
    let object: Value = serde_json::from_slice(&tool.run(&run, b"").stdout).unwrap();
    assert_eq!(object["error"]["kind"], "secrets_refused");
    assert_eq!(
        (&object["reason"], &object["sha256"]),
        (&json!("secrets"), &json!(null))
    );
}

/// A server with the tool `small`, whose result is held in memory, and the tool `big`, whose result
/// is written to a draft while it arrives.
fn server() -> String {
    format!(
        r#"while read -r line; do
  case "$line" in
    *tools/call*)
      id=3; n=20000
      case "$line" in *'"big"'*) id=4; n=6000000;; esac
      printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"text","text":"key {KEY}\\n' $id
      yes 'worker 7 did batch 4711: all o\n' | tr -d '\n' | head -c $((n / 32 * 32))
      printf '"}}],"structuredContent":{{"key":"{KEY}"}}}}}}\n';;
  esac
done"#
    )
}

#[test]
fn the_gateway_stores_what_the_setting_allows() {
    let mut shown = Vec::new();
    for stored in ["as-is", "redacted", "refused"] {
        let (tool, config) = with(&format!("[secrets]\nstored = \"{stored}\"\n"));
        let mut session = Session::start(&tool, &["--config", &config], &server());
        for (id, name) in [(3, "small"), (4, "big")] {
            session.send(id, "tools/call", &json!({"name": name, "arguments": {}}));
            let answer = session.receive().to_string();
            assert!(!answer.contains(KEY), "{answer}");
            let (_, text) = answer.split_once("[spillgate] ").unwrap();
            let line = text.split("\\n").next().unwrap();
            let handle = line.split_once(" as ").map_or("", |(_, handle)| handle);
            let line = line.split_once(" Ask").map_or(line, |(line, _)| line);
            let files = files_with_key(&tool.store());
            shown.push(format!(
                "{stored}, {files} files with the key: {}",
                without(line, handle)
            ));
        }
        session.end();
    }
    assert_snapshot!(shown.join("\n"), @r#"
    as-is, 2 files with the key: small returned 19431 bytes, 628 lines, 7532 tokens (text); stored whole as HANDLE
    as-is, 4 files with the key: big returned 5812556 bytes, 187503 lines, ≈2254387 tokens (text); stored whole as HANDLE
    redacted, 0 files with the key: small returned 19443 bytes, 628 lines, 7521 tokens (text); stored with 2 secrets redacted as HANDLE
    redacted, 0 files with the key: big returned 5812568 bytes, 187503 lines, ≈2253682 tokens (text); stored with 2 secrets redacted as HANDLE
    refused, 0 files with the key: small returned 19431 bytes, 628 lines (text); nothing of it is stored or shown: the output has secrets (2 × aws-access-key), and the user's setting `stored = \"refused\"` does not allow storing such an output.
    refused, 0 files with the key: big returned 5812556 bytes, 187503 lines (text); nothing of it is stored or shown: the output has secrets (2 × aws-access-key), and the user's setting `stored = \"refused\"` does not allow storing such an output.
    "#);
}
