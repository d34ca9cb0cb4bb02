//! Tests that every message is reproduced exactly, regardless of its structure and block sizes.

use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_artifact::{Clock, SystemClock};
use spillgate_store::{ArtifactStore, FileStore, Lifetime, MemoryStore};
use std::sync::Arc;

use super::*;
use crate::{Filled, Spooled};

/// Returns the frame of the message `json`, which is fed in blocks of `step` bytes.
async fn taken(store: Arc<dyn ArtifactStore>, json: &[u8], spool_at: usize, step: usize) -> Frame {
    let mut taking = FrameReader::new(store).spooling_at(spool_at).begin();
    for block in json.chunks(step) {
        taking.feed(block).await.unwrap();
    }
    taking.finish().await
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// Reads `json` into a frame and writes the frame again. Returns the spooled part, if any, and the
/// written bytes.
fn spooled(json: &[u8], spool_at: usize, step: usize) -> (Option<Seen>, Vec<u8>) {
    run(async {
        let store = Arc::new(MemoryStore::default());
        let frame = taken(store, json, spool_at, step).await;
        let seen = match &frame {
            Frame::Spooled(spooled) => Some(Seen::of(spooled)),
            _ => None,
        };
        let mut pieces = frame.into_pieces().unwrap();
        assert_eq!(pieces.len(), json.len() as u64);
        let mut written = Vec::new();
        while let Some(block) = pieces.next().await.unwrap() {
            written.extend_from_slice(&block);
        }
        (seen, written)
    })
}

struct Seen {
    is_sound: bool,
    stand_in: Vec<u8>,
    /// The stand-in after its placeholders were filled from the draft.
    filled: Vec<u8>,
    raw: Vec<u8>,
    sha256: String,
}

impl Seen {
    fn of(spooled: &Spooled) -> Self {
        let raw = spooled.draft().unwrap().read(spillgate_store::Part::Raw);
        let raw = raw.unwrap().bytes(0, u64::MAX).unwrap();
        let at = |at: u64| usize::try_from(at).unwrap();
        let filled = spooled.skeleton().fill(spooled.stand_in());
        let filled = filled.into_iter().flat_map(|part| match part {
            Filled::Bytes(range) => spooled.stand_in()[range].to_vec(),
            Filled::Raw(range) => raw[at(range.start)..at(range.end)].to_vec(),
        });
        Self {
            is_sound: spooled.is_sound(),
            stand_in: spooled.stand_in().to_vec(),
            filled: filled.collect(),
            sha256: spooled.sha256().to_owned(),
            raw,
        }
    }
}

#[tokio::test]
async fn a_message_has_an_end() {
    let json = format!("{{\"id\":1,\"result\":\"{}\"}}", "x".repeat(5000));
    let length = json.len() as u64;
    for (most, spool_at, is_taken) in [
        (length, 100_000, true),
        (length - 1, 100_000, false),
        (length, 500, true),
        (length - 1, 500, false),
        (2000, 500, false),
    ] {
        let store = Arc::new(MemoryStore::default());
        let frame_reader = FrameReader::new(store).spooling_at(spool_at).at_most(most);
        let mut taking = frame_reader.begin();
        let mut fed = Ok(());
        for block in json.as_bytes().chunks(700) {
            fed = fed.and(taking.feed(block).await);
        }
        assert_eq!(fed.is_ok(), is_taken, "{most} {spool_at}");
        assert!(fed == Ok(()) || fed == Err(TooLong { most }));
    }
}

fn large(n: usize) -> String {
    "line with \"quotes\", é, 漢 and \u{1f680}\n".repeat(n)
}

#[test]
fn the_skeleton_keeps_what_is_small() {
    let result = json!({
        "content": [
            {"type": "text", "text": large(200), "annotations": {"priority": 1}},
            {"type": "image", "data": "A".repeat(9000), "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x:y", "text": large(300)}},
            {"type": "text", "text": "small"},
        ],
        "structuredContent": {"rows": vec![1; 5000]},
        "_meta": {"a": {"b": []}},
        "isError": false,
    });
    let frame = json!({"jsonrpc": "2.0", "id": 7, "result": result}).to_string();
    let (seen, written) = spooled(frame.as_bytes(), 500, 64);
    let seen = seen.unwrap();
    assert_eq!(written, frame.as_bytes());
    assert_eq!(String::from_utf8(seen.raw).unwrap(), result.to_string());
    assert_eq!(String::from_utf8(seen.filled).unwrap(), frame);
    let small: Value = serde_json::from_slice(&seen.stand_in).unwrap();
    let small = &small["result"];
    let is_hole = |value: &Value| value.to_string().contains("spilled-");
    assert!(seen.stand_in.len() < 2000);
    assert!(is_hole(&small["content"][0]["text"]) && is_hole(&small["content"][1]["data"]));
    assert!(is_hole(&small["content"][2]["resource"]["text"]));
    assert!(is_hole(&small["structuredContent"]));
    assert!(small["structuredContent"].is_object());
    for kept in ["_meta", "isError"] {
        assert_eq!(small[kept], result[kept], "{kept}");
    }
    assert_eq!(small["content"][3], result["content"][3]);
}

/// Messages with one large value.
fn sound() -> Vec<(&'static str, String)> {
    let text = json!(large(300)).to_string();
    let crowd = vec!["{\"type\":\"text\",\"text\":\"a\"}"; 300_000].join(",");
    let call = |result: &str| format!("{{\"id\":1,\"result\":{result}}}");
    let batch = [call("{}"), call(&text), call("{}")].join(",");
    let crowd = call(&format!("{{\"content\":[{crowd}],\"isError\":true}}"));
    let escaped = call(&format!("{{\"\\u0063ontent\":[{{\"text\":{text}}}]}}"));
    vec![
        ("before", format!("{{\"result\":{text},\"id\":1}}\n")),
        (
            "after",
            format!("{{\"id\":1,\"result\" : {{\"a\":{text}}} }}"),
        ),
        (
            "params",
            format!("{{\"method\":\"m\",\"params\":[{text}]}}"),
        ),
        (
            "error",
            format!("{{\"error\":{{\"data\":{text}}},\"id\":1}}"),
        ),
        ("other", format!("{{\"x\":[[[{text}]]],\"result\":{{}}}}")),
        ("two", format!("{{\"result\":{text},\"error\":{text}}}")),
        ("batch", format!("[{batch}]")),
        ("crowd", crowd),
        ("escaped", escaped),
    ]
}

/// Messages with a large value that are not valid JSON, or nested too deeply.
fn broken() -> Vec<(&'static str, String)> {
    let text = json!(large(300)).to_string();
    let call = |result: &str| format!("{{\"id\":1,\"result\":{result}");
    vec![
        ("cut off", call(&text[..9000])),
        ("unbalanced", call(&format!("{{\"a\":{text}]}}"))),
        ("two values", call(&format!("{{\"a\":{text}}}}}}}"))),
        ("escape", call(&format!("{{\"a\":{text},\"b\":\"\\q\"}}}}"))),
        ("deep", call(&"[".repeat(2_000_000))),
    ]
}

#[test]
fn frames_in_any_shape_come_out_as_they_went_in() {
    let sound = sound().into_iter().map(|(name, frame)| (name, frame, true));
    let broken = broken()
        .into_iter()
        .map(|(name, frame)| (name, frame, false));
    for (name, frame, is_sound) in sound.chain(broken) {
        for (spool_at, step) in [(700, 100), (5000, 1000), (1700, 333)] {
            let (seen, written) = spooled(frame.as_bytes(), spool_at, step);
            assert!(written == frame.as_bytes(), "{name}");
            let seen = seen.unwrap();
            assert_eq!(seen.is_sound, is_sound, "{name} {spool_at}");
            if is_sound {
                assert!(seen.filled == frame.as_bytes(), "{name}");
                assert!(seen.stand_in.len() < 5 << 20, "{name}");
            }
        }
    }
    let latin = [b"{\"id\":1,\"result\":\"", &[0xe9; 9000][..], b"\"}"].concat();
    let (seen, written) = spooled(&latin, 100, 77);
    assert_eq!((seen.unwrap().is_sound, written), (false, latin));
}

#[test]
fn what_no_one_value_makes_large_comes_out_as_well() {
    let many = (0..300).map(|n| format!("{{\"id\":{n},\"result\":{{}}}}"));
    let many = format!("[{}]", many.collect::<Vec<_>>().join(","));
    for frame in [many, large(300)] {
        let (_, written) = spooled(frame.as_bytes(), 700, 100);
        assert!(written == frame.as_bytes(), "{frame:.40}");
    }
}

#[test]
fn a_small_message_stays_in_memory() {
    let frame = json!({"id": 1, "result": large(10)}).to_string();
    let (seen, written) = spooled(frame.as_bytes(), 1000, 64);
    assert!(seen.is_none());
    assert_eq!(written, frame.as_bytes());
}

#[test]
fn a_broken_off_message_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let base = directory.path().join("store");
    let store = Arc::new(FileStore::new(&base, Lifetime::Durable, clock));
    let frame = json!({"id": 1, "result": large(40_000)}).to_string();
    run(async {
        let mut taking = FrameReader::new(store).spooling_at(1000).begin();
        taking.feed(&frame.as_bytes()[..1_000_000]).await.unwrap();
        // The message is dropped here, before it is complete.
    });
    // Dropping the runtime has waited until the worker thread ended.
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        ("[a-z\"\\\\{}\\[\\],: \n漢\u{1f680}]{0,8}", 1usize..900)
            .prop_map(|(text, n)| Value::from(text.repeat(n))),
    ];
    let name = "content|messages|contents|resource|text|[a-z\"]{0,3}";
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map(name, inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn a_filled_skeleton_is_the_message(
        value in any_json(),
        pretty: bool,
        spool_at in 20usize..600,
        step in 1usize..700,
    ) {
        let message = json!({"id": 1, "result": {"content": value}, "z": [1, "x"]});
        let frame = match pretty {
            true => serde_json::to_string_pretty(&message),
            false => serde_json::to_string(&message),
        };
        let frame = frame.unwrap();
        let (seen, written) = spooled(frame.as_bytes(), spool_at, step);
        prop_assert_eq!(&written, frame.as_bytes());
        if let Some(seen) = seen {
            prop_assert!(seen.is_sound);
            prop_assert_eq!(&seen.filled, frame.as_bytes());
            prop_assert_eq!(seen.sha256.len(), 64);
        }
    }
}

#[tokio::test]
async fn a_frame_that_is_too_long_is_left_out() {
    let long = "x".repeat(3 * BUFFER);
    for (stream, want) in [
        ("a\nbcd\ne".to_owned(), vec![Some("a\n"), None, Some("e")]),
        ("abc\n".to_owned(), vec![None]),
        ("abc".to_owned(), vec![Some("abc")]),
        ("abcd".to_owned(), vec![None]),
        (format!("{long}\nab\n"), vec![None, Some("ab\n")]),
    ] {
        let mut frames = Frames::new(Box::new(io::Cursor::new(stream.into_bytes())));
        let mut all = Vec::new();
        while let Some(next) = frames.next(3).await.transpose() {
            let kind = io::ErrorKind::FileTooLarge;
            all.push(
                next.inspect_err(|error| assert_eq!(error.kind(), kind))
                    .ok(),
            );
        }
        let want: Vec<_> = want
            .into_iter()
            .map(|one| one.map(|text| text.as_bytes().to_vec()))
            .collect();
        assert_eq!(all, want);
    }
}

#[tokio::test]
async fn half_a_message_is_none() {
    let frame_reader = FrameReader::new(Arc::new(MemoryStore::default())).spooling_at(20);
    let half = "{\"id\":1,\"result\":{\"text\":\"0123456789";
    for (stream, frames, is_whole) in [
        ("", 0, true),
        ("{}\n{}\n", 2, true),
        ("{}\nnonsense\n", 2, true),
        ("{}\n{\"id\":1}", 2, true),
        ("{}\n{\"id\":", 1, false),
        ("{}\nnonsense", 1, false),
        (&format!("{{}}\n{half}\"}}}}"), 2, true),
        (&format!("{{}}\n{half}"), 1, false),
    ] {
        let bytes = io::Cursor::new(stream.as_bytes().to_vec());
        let mut all = Frames::new(Box::new(bytes));
        let mut count = 0;
        let is_end = loop {
            match all.take_in(&frame_reader).await {
                Ok(Some(_)) => count += 1,
                Ok(None) => break true,
                Err(error) => break error.kind() != io::ErrorKind::UnexpectedEof,
            }
        };
        assert_eq!((count, is_end), (frames, is_whole), "{stream}");
    }
}
