//! Tests of results that are too large to be held in the gateway's memory.

use serde_json::json;

use super::run::high_water_kib;
use super::session::Session;
use super::tool::Tool;

/// One line of the text, encoded as JSON: 32 bytes.
const LINE: &str = r"worker 7 did batch 4711: all o\n";

/// Bytes of the text in JSON.
const BYTES: usize = 96 << 20;

/// Maximum memory of the gateway in KiB; most of it is the tokenizer's vocabulary. If the gateway
/// held the frame, the raw bytes and the text in memory, it would need three times the size of the
/// result.
const MOST_KIB: u64 = 80 << 10;

/// A server with one tool whose result is one line of 96 MiB.
fn server() -> String {
    format!(
        r#"while read -r line; do
  case "$line" in
    *tools/call*)
      printf '{{"jsonrpc":"2.0","id":3,"result":{{"content":[{{"type":"text","text":"'
      yes '{LINE}' | tr -d '\n' | head -c {BYTES}
      printf '"}}]}}}}\n';;
  esac
done"#
    )
}

#[test]
fn a_huge_result_is_stored_whole_in_little_memory() {
    let tool = Tool::new();
    let mut session = Session::start(&tool, &[], &server());
    session.send(3, "tools/call", &json!({"name": "big", "arguments": {}}));
    let answer = session.receive();
    let peak = high_water_kib(&format!("/proc/{}/status", session.id()));
    session.end();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let bytes = BYTES - BYTES / LINE.len();
    let lines = BYTES / LINE.len() + 1;
    let first = format!("[spillgate] big returned {bytes} bytes, {lines} lines, ");
    assert!(text.starts_with(&first), "{text:.200}");
    assert!(peak > 1000 && peak < MOST_KIB, "peak of {peak} KiB");
    let (_, handle) = text.split_once("stored whole as ").unwrap();
    let (handle, _) = handle.split_once('\n').unwrap();
    let raw = tool.run(&["cat", "--raw", handle], b"").stdout;
    let want = LINE.repeat(BYTES / LINE.len());
    let want = format!(r#"{{"content":[{{"type":"text","text":"{want}"}}]}}"#);
    assert!(raw == want.as_bytes());
}
