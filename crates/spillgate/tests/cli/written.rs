//! Tests that this version reads the files that an earlier version wrote.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::Value;

use crate::tool::{Tool, sha256};

fn written(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/written")
        .join(name)
}

/// Copies a directory with the permissions of a store.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

fn said(tool: &Tool, args: &[&str]) -> String {
    let output = tool.run(args, b"");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_store_and_its_ledger() {
    let tool = Tool::new();
    copy(&written("store"), &tool.store());
    let handles: Value = serde_json::from_slice(&fs::read(written("store.json")).unwrap()).unwrap();
    let handle = |name: &str| handles[name]["handle"].as_str().unwrap().to_owned();
    for (name, one) in handles.as_object().unwrap() {
        let raw = tool.run(&["cat", "--raw", &handle(name)], b"");
        let is_there = name != "removed";
        assert_eq!(raw.status.success(), is_there, "{name}: {raw:?}");
        assert_eq!(sha256(&raw.stdout), one["sha256"], "{name}");
        let verified = tool.run(&["verify", &handle(name)], b"");
        assert_eq!(verified.status.success(), is_there, "{name}: {verified:?}");
    }
    let read = |name: &str, lines: &str| said(&tool, &["read", &handle(name), "--lines", lines]);
    assert_snapshot!(read("text", "1"), @"2026-01-02T10:00:00 INFO request 0");
    assert_snapshot!(read("utf16", "2"), @"
    строка: ошибка
    строка: ошибка
    ");
    assert_snapshot!(read("ansi", "2"), @"
    red 0
    red 1
    ");
    assert_snapshot!(read("gateway", "2"), @"
    row 0 ä
    row 1 ä
    ");
    assert_snapshot!(said(&tool, &["query", &handle("json"), ".items[3]"]), @r#"{"id":3,"name":"item 3"}"#);
    assert_snapshot!(said(&tool, &["grep", &handle("failed"), "^40"]), @"
    40:40
    400:400
    ");
    let shown = tool.json(&["show", &handle("gateway")], b"");
    let told =
        ["server", "tool", "arguments", "is_error", "form"].map(|key| shown[key].to_string());
    assert_snapshot!(told.join("\n"), @r#"
    "shop"
    "big"
    "{\"n\": 1}"
    true
    {"parts":[{"end":3129,"is_string":true,"start":39},{"end":3171,"is_string":true,"start":3159}]}
    "#);
    assert_eq!(tool.json(&["show", &handle("pinned")], b"")["pinned"], true);
    let (gone, _) = tool.error(&["read", &handle("removed")]);
    let gone = gone["message"].as_str().unwrap();
    assert!(gone.contains("It was removed"), "{gone}");
    let stats = tool.json(&["stats"], b"");
    let told = ["stdin", "shop/big", "sh"].map(|tool| {
        let of = &stats["tools"][tool];
        let told = ["offloaded", "tokens_in", "retrievals"].map(|key| of[key].to_string());
        format!("{tool}: {}", told.join(" "))
    });
    assert_eq!(stats["artifacts"], 10);
    assert_snapshot!(told.join("\n"), @"
    stdin: 9 21549 5
    shop/big: 1 1002 1
    sh: 1 800 1
    ");
}

#[test]
fn wrapped_files() {
    for (client, file) in [
        ("cursor", ".cursor/mcp.json"),
        ("gemini", ".gemini/settings.json"),
    ] {
        let tool = Tool::new();
        let home = tool.home().canonicalize().unwrap();
        let read = |name: &str| {
            let text = fs::read_to_string(written("wrapped").join(client).join(name)).unwrap();
            text.replace("/HOME", home.to_str().unwrap())
        };
        let file = home.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, read("wrapped")).unwrap();
        // The names and hashes in the record depend on the home directory, so they are set to those
        // of this one.
        let mut record: Value = serde_json::from_str(&read("record.json")).unwrap();
        record["written"] = sha256(read("wrapped").as_bytes()).into();
        let key = sha256(file.to_str().unwrap().as_bytes());
        let before = &record["original"].as_str().unwrap()[..16];
        let records = home.join(".local/state/spillgate-clients");
        fs::create_dir_all(&records).unwrap();
        let backup = records.join(format!("{}.{before}.bak", &key[..16]));
        fs::write(backup, read("original")).unwrap();
        fs::write(
            records.join(format!("{}.json", &key[..16])),
            record.to_string(),
        )
        .unwrap();

        let mut unwrap = tool.command(&["unwrap", client]);
        let output = unwrap.current_dir(&home).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            read("original"),
            "{client}"
        );
    }
}

#[test]
fn a_trace() {
    let tool = Tool::new();
    let trace = written("trace.json");
    let view = |part: &str| {
        said(
            &tool,
            &["agent", "view", trace.to_str().unwrap(), "--part", part],
        )
    };
    assert_snapshot!(view("tree"), @"
    operation                             took     in  out       cost
    agent                               571 ms
      turn 1                             30 ms
        model                             3 ms  1,000   20  $0.001560  mock/reader
        log (lab)                        21 ms                         40,893 bytes, stored as session-e72874b5-2f0e-4df9-ad58-bd521e61dfc9/9b3cd3c8-128b-4024-9534-b9f78bf2c1ad (over the size cap)
      turn 2                            134 ms
        model                             5 ms  1,000   20  $0.001560  mock/reader
        tool_output                     127 ms                         339 bytes, shown (121 tokens)
          tool_output                    87 ms
            route auto to full-chunked   14 ms
            full-chunked                 21 ms
              map 1/1                    10 ms  1,000   20  $0.001560  mock/reader
            ground                       51 ms
      turn 3                              7 ms
        model                             7 ms  1,000   20  $0.001560  mock/reader
    ");
    assert_snapshot!(view("accounting"), @"
    asked by     model        calls  unanswered     in  cached  out       cost
    the agent    mock/reader      3              3,000   1,200   60  $0.004680
    tool_output  mock/reader      1              1,000     400   20  $0.001560
    all                           4              4,000   1,600   80  $0.006240

    tool         calls  failed  cached  stored  cut  dropped   bytes  tokens shown
    tool_output      1                                           339           121
    log (lab)        1                       1                40,893           101

    extractions: full-chunked 1, fell back 0, failed 0
    ");
    assert_snapshot!(view("report"), @"found");
}
