//! Tests of a gateway that is killed while it stores, and of clients that read slowly, share a
//! server, or vanish.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_testkit::log;

use super::faults::files;
use super::raw::{Front, rest, until};
use super::run::high_water_kib;
use super::session::{SILENT, Session};
use super::tool::Tool;

/// Size of a result that is passed on whole, in bytes.
const BYTES: usize = 32 << 20;

/// Maximum memory of the gateway in KiB. Two results in memory would exceed it.
const MOST_KIB: u64 = 60 << 10;

/// A server that notes its process id. It has a result of 32 MiB, and a result that begins like it
/// and never ends.
fn server(tool: &Tool) -> String {
    let noted = tool.home().join("servers");
    fs::create_dir_all(&noted).unwrap();
    let noted = noted.display();
    format!(
        r#"touch '{noted}'/$$
while read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
  say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s' "$id" "$1"; }}
  begin='{{"content":[{{"type":"text","text":"'
  case "$line" in
    *'"server/discover"'*) say '{{"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"resultType":"complete"}}}}'; echo;;
    *'"initialize"'*) say '{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}}}}}}'; echo;;
    *'"whole"'*) say "$begin"; yes 0123456 | tr '\n' . | head -c {BYTES}; echo '"}}]}}}}';;
    *'"half"'*) say "$begin"; yes 0123456 | tr '\n' . | head -c {BYTES}; read -r never;;
    *'"small"'*) say "$begin"; echo 'small"}}]}}}}';;
  esac
done"#
    )
}

/// Starts the gateway in front of the server for many clients. Results are not replaced.
fn front(tool: &Tool, http: &str) -> Front {
    let config = tool.home().join("spillgate.toml");
    fs::write(&config, format!("max_tokens = 0\n[http]\n{http}")).unwrap();
    let script = server(tool);
    let config = config.to_str().unwrap();
    let args = ["mcp", "--config", config, "--http", "127.0.0.1:0", "--"];
    Front::of(tool.command(&[&args[..], &["sh", "-c", &script]].concat()))
}

/// Returns how many of the started servers still run.
fn running(tool: &Tool) -> usize {
    let noted = fs::read_dir(tool.home().join("servers")).unwrap();
    let is_there = |id: &PathBuf| PathBuf::from("/proc").join(id).join("exe").exists();
    let ids = noted.map(|entry| PathBuf::from(entry.unwrap().file_name()));
    ids.filter(is_there).count()
}

fn call(name: &str) -> Value {
    json!({"name": name, "arguments": {}})
}

#[test]
fn a_gateway_killed_amid_storing() {
    let tool = Tool::new();
    let text = log(5000);
    let other = tool.put(text.as_bytes());
    let whole = files(&tool.store());
    let mut session = Session::start(&tool, &[], &server(&tool));
    session.send(3, "tools/call", &call("half"));
    let leftovers = || -> Vec<PathBuf> {
        let all = files(&tool.store()).into_iter();
        all.filter(|file| !whole.contains(file)).collect()
    };
    until("a draft is there", || !leftovers().is_empty());
    session.kill();
    // The interrupted result did not become an artifact, and the other artifact is unchanged.
    let listed = || tool.run(&["ls", "--json"], b"").stdout;
    let is_intact = || tool.run(&["cat", "--raw", &other], b"").stdout == text.as_bytes();
    assert_eq!(String::from_utf8(listed()).unwrap().lines().count(), 1);
    assert!(is_intact());
    let is_draft = |file: &PathBuf| file.to_string_lossy().contains(".draft-");
    assert!(leftovers().iter().all(is_draft), "{:?}", leftovers());
    // A gateway that starts more than a minute later removes the draft, even if the store was swept
    // recently.
    for file in leftovers() {
        let file = fs::File::open(file).unwrap();
        let touched = file.metadata().unwrap().modified().unwrap();
        file.set_modified(touched - Duration::from_mins(2)).unwrap();
    }
    let session = Session::start(&tool, &[], SILENT);
    until("it is cleared away", || leftovers().is_empty());
    session.end();
    assert_eq!(String::from_utf8(listed()).unwrap().lines().count(), 1);
    assert!(is_intact());
    until("its server ended, too", || running(&tool) == 0);
}

#[test]
fn a_slow_reader_holds_up_nobody() {
    let tool = Tool::new();
    let front = front(&tool, "");
    let (slow, other) = (front.begin(), front.begin());
    let mut stream = slow.send("tools/call", &call("whole"));
    let mut read = vec![0; 1024];
    stream.read_exact(&mut read).unwrap();
    // The rest of the answer waits on the disk. Meanwhile other clients, and other requests of the
    // same session, are served.
    for _ in 0..20 {
        for client in [&slow, &other] {
            let (_, body) = client.ask("resources/list", &json!({}));
            assert!(!body.is_empty());
        }
        let (_, body) = other.ask("tools/call", &call("small"));
        assert!(body.contains("small"), "{body}");
        let mut more = [0; 1024];
        stream.read_exact(&mut more).unwrap();
        read.extend_from_slice(&more);
    }
    let peak = high_water_kib(&format!("/proc/{}/status", front.id()));
    assert!(peak > 1000 && peak < MOST_KIB, "peak of {peak} KiB");
    // The slow client still gets its whole answer.
    let (_, body) = rest(stream, read);
    let answer: Value = serde_json::from_str(&body).unwrap();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text == "0123456.".repeat(BYTES / 8));
    until("nothing is kept", || files(&tool.store()).is_empty());
}

#[test]
fn a_client_that_is_gone_without_a_word() {
    let tool = Tool::new();
    let front = front(&tool, "stall_seconds = 1\nsession_idle_seconds = 1\n");
    let client = front.begin();
    // The connection stays open, but nothing reads from it. Once the kernel's buffers are full,
    // nothing more can be sent.
    let _silent = client.send("tools/call", &call("whole"));
    until("the answer waits on the disk", || {
        !files(&tool.store()).is_empty()
    });
    until("it is given up", || files(&tool.store()).is_empty());
    until("its server has ended", || running(&tool) == 0);
    let (head, _) = client.ask("tools/call", &call("small"));
    assert!(head.starts_with("HTTP/1.0 404"), "{head}");
}

#[test]
fn a_large_answer_finds_its_client_among_those_that_share_a_server() {
    let tool = Tool::new();
    let front = front(&tool, "");
    let (one, other) = (front.stateless(), front.stateless());
    // Both clients use the same request id, and both share one server process.
    let large = one.send("tools/call", &call("whole"));
    let small = other.send("tools/call", &call("small"));
    for (stream, text) in [
        (large, "0123456.".repeat(BYTES / 8)),
        (small, "small".to_owned()),
    ] {
        let (_, body) = rest(stream, Vec::new());
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(answer["id"], 1);
        assert!(
            answer["result"]["content"][0]["text"] == text,
            "{body:.300}"
        );
    }
    assert_eq!(running(&tool), 1);
}
