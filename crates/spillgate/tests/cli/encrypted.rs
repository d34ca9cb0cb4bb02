//! Tests of an encrypted store at the command line: settings, keys, every way to read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::session::Session;
use super::tool::{Tool, feed, masked, sha256};

const KEY: &str = "SPILLGATE_STORE_KEY";

/// Returns a tool whose configuration turns the encryption on.
fn tool() -> Tool {
    let tool = Tool::new();
    let directory = tool.home().join(".config/spillgate");
    fs::create_dir_all(&directory).unwrap();
    fs::write(
        directory.join("spillgate.toml"),
        "[secrets]\nencrypt = true\n",
    )
    .unwrap();
    tool
}

fn run(tool: &Tool, key: &str, args: &[&str], stdin: &[u8]) -> Output {
    let mut command = tool.command(args);
    command.env(KEY, key);
    feed(command, stdin)
}

fn printed(tool: &Tool, key: &str, args: &[&str], stdin: &[u8]) -> String {
    let output = run(tool, key, args, stdin);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns what a command that fails prints.
fn said(tool: &Tool, key: &str, args: &[&str]) -> String {
    let output = run(tool, key, args, b"");
    let code = if args[0] == "grep" { 2 } else { 1 };
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn files(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    entries.flat_map(below).collect()
}

/// A JSON document of 4,000 records.
fn records() -> String {
    let record = |at: usize| format!("{{\"id\":{at},\"name\":\"heron number {at}\"}}");
    let records: Vec<String> = (0..4000).map(record).collect();
    format!("[{}]", records.join(","))
}

#[test]
fn every_command_reads_an_encrypted_output() {
    let (tool, key, text) = (tool(), "4b".repeat(32), records());
    let put = printed(&tool, &key, &["put", "--json"], text.as_bytes());
    let put: Value = serde_json::from_str(&put).unwrap();
    let handle = put["handle"].as_str().unwrap();
    for path in files(&tool.store()) {
        let bytes = fs::read(&path).unwrap();
        let has = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
        assert!(!has(b"heron") && !has(key.as_bytes()), "{path:?}");
    }
    let of = |args: &[&str]| printed(&tool, &key, args, b"");
    assert_eq!(
        sha256(of(&["cat", "--raw", handle]).as_bytes()),
        sha256(text.as_bytes())
    );
    assert!(of(&["read", handle, "--start", "2000"]).contains("heron number"));
    assert!(of(&["grep", handle, "number 3999"]).contains("heron number 3999"));
    assert!(of(&["search", handle, "heron 1234"]).contains("1234"));
    assert!(of(&["query", handle, ".[77].name"]).contains("heron number 77"));
    assert!(of(&["outline", handle]).contains("name"));
    assert!(of(&["verify"]).contains("whole"));
    assert!(of(&["ls"]).contains(handle));
}

#[test]
fn errors_name_the_variable_and_not_the_key() {
    let (tool, key) = (tool(), "4b".repeat(32));
    let run = ["run", "--", "seq", "100000"];
    assert_snapshot!(said(&tool, "", &run).replace(tool.home().to_str().unwrap(), "HOME"), @"
    error: HOME/.config/spillgate/spillgate.toml:2: `secrets.encrypt`: is on, and the environment variable SPILLGATE_STORE_KEY is not set
    hint: `openssl rand -hex 32` prints a new key; outputs that are encrypted can be read only with the key with which they were stored
    ");
    for wrong in ["4b4b", &key[1..], &"xy".repeat(32)] {
        let said = said(&tool, wrong, &run);
        assert!(!said.contains(wrong), "{said}");
        assert_eq!(said, self::said(&tool, wrong, &["ls"]));
        let expected = "error: the environment variable SPILLGATE_STORE_KEY is wrong: it is not a key of 64 hexadecimal digits";
        assert_eq!(said.lines().next(), Some(expected));
    }
    printed(&tool, &key, &run, b"");
    let put: Value = serde_json::from_str(&printed(&tool, &key, &["ls", "--json"], b"")).unwrap();
    let handle = put["handle"].as_str().unwrap();
    let other = "4c".repeat(32);
    assert_snapshot!(masked(&said(&tool, "", &["read", handle]), handle), @"
    error: the stored output HANDLE is encrypted, and spillgate was started without a key; the user has to start it with the key
    hint: set SPILLGATE_STORE_KEY to the key with which it was stored; `spillgate rm` removes it without the key
    ");
    assert_snapshot!(masked(&said(&tool, &other, &["grep", handle, "77"]), handle), @"
    error: the stored output HANDLE is encrypted, and spillgate was started with another key; the user has to start it with the key with which the output was stored
    hint: set SPILLGATE_STORE_KEY to the key with which it was stored; `spillgate rm` removes it without the key
    ");
    for key in ["", &other] {
        assert!(printed(&tool, key, &["ls"], b"").contains(handle));
        let checked = self::run(&tool, key, &["verify"], b"");
        assert_eq!(checked.status.code(), Some(1));
        let notes = String::from_utf8(checked.stderr).unwrap();
        assert_eq!(notes.trim_end(), "0 checked, 0 damaged, 1 not checked");
    }
    printed(&tool, "", &["rm", handle], b"");
    assert!(!printed(&tool, &key, &["ls"], b"").contains(handle));
}

#[test]
fn a_command_does_not_get_the_key() {
    let (tool, key) = (tool(), "4b".repeat(32));
    let line = format!("echo \"[${{{KEY}-unset}}]\"");
    assert_eq!(
        printed(&tool, &key, &["run", "--", "sh", "-c", &line], b""),
        "[unset]\n"
    );
}

#[test]
fn outputs_from_before_and_after_the_encryption_are_read() {
    let (plain, key) = (Tool::new(), "4b".repeat(32));
    let before = plain.put(records().as_bytes());
    let directory = plain.home().join(".config/spillgate");
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("spillgate.toml");
    fs::write(&file, "secrets.encrypt = true\n").unwrap();
    let put = printed(&plain, &key, &["put", "--json"], records().as_bytes());
    let put: Value = serde_json::from_str(&put).unwrap();
    fs::write(&file, "").unwrap();
    // With the setting off, the key still decrypts.
    for handle in [&*before, put["handle"].as_str().unwrap()] {
        let text = printed(&plain, &key, &["cat", "--raw", handle], b"");
        assert_eq!(text, records());
    }
}

/// A server with one tool. The tool's result says what the server knows of the key, in many lines.
const TELLING: &str = r#"
while read -r line; do
  case "$line" in
    *initialize*) echo '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}}}}';;
    *tools/call*) text=$(yes "[${SPILLGATE_STORE_KEY-unset}]" | head -n 5000 | tr '\n' ' '); echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"'$text'"}]}}';;
  esac
done"#;

#[test]
fn a_gateway_encrypts_and_its_server_does_not_get_the_key() {
    let (tool, key) = (tool(), "4b".repeat(32));
    let mut session = Session::start_with(&tool, &[(KEY, &key)], Stdio::inherit(), TELLING);
    session.send(1, "initialize", &json!({}));
    session.receive();
    session.send(
        2,
        "tools/call",
        &json!({"name": "tell", "arguments": {"about": "herons"}}),
    );
    let shown = session.receive().to_string();
    assert!(shown.contains("[unset] [unset]"), "{shown}");
    let listed = printed(&tool, &key, &["ls", "--json"], b"");
    let listed: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let handle = listed["handle"].as_str().unwrap();
    // Without the key, the arguments are not shown, and they are in no file.
    for (key, is_shown) in [(&*key, true), ("", false)] {
        let text = printed(&tool, key, &["show", handle], b"");
        assert_eq!(text.contains("herons"), is_shown, "{text}");
    }
    for path in files(&tool.store()) {
        let bytes = fs::read(&path).unwrap();
        for word in [&b"herons"[..], b"[unset]"] {
            assert!(
                !bytes.windows(word.len()).any(|part| part == word),
                "{path:?}"
            );
        }
    }
    let arguments = json!({"handle": handle});
    session.send(
        3,
        "tools/call",
        &json!({"name": "spillgate_read", "arguments": arguments}),
    );
    let page = session.receive().to_string();
    assert!(page.contains("[unset]"), "{page}");
}

#[test]
fn a_changed_block_is_an_error_of_every_command_that_reads_it() {
    let (tool, key) = (tool(), "4b".repeat(32));
    let put = printed(&tool, &key, &["put", "--json"], records().as_bytes());
    let put: Value = serde_json::from_str(&put).unwrap();
    let handle = put["handle"].as_str().unwrap();
    for path in files(&tool.store()) {
        let mut bytes = fs::read(&path).unwrap();
        // The second block of the raw bytes and of the view.
        if bytes.len() > 150_000 {
            bytes[100_000] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    for args in [
        &["query", handle, "length"][..],
        &["grep", handle, "number 3999"],
        &["cat", "--raw", handle],
        &["search", handle, "heron 3999"],
    ] {
        let said = said(&tool, &key, args);
        assert!(
            said.contains("the encrypted bytes from 65536 on were changed"),
            "{args:?}: {said}"
        );
    }
    let checked = run(&tool, &key, &["verify"], b"");
    let checked = String::from_utf8(checked.stdout).unwrap();
    assert!(
        checked.contains("DAMAGED: raw bytes: the encrypted bytes from 65536"),
        "{checked}"
    );
    // The rest can still be read.
    let page = printed(&tool, &key, &["read", handle, "--lines", "5"], b"");
    assert!(page.contains("heron number 0"), "{page}");
}
