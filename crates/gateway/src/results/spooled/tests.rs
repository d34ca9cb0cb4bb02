//! Tests that a result is replaced in the same way when it is streamed, in memory, or read through
//! its skeleton.

use std::io;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_artifact::{ByteSource, Facts, Handle, HandleForm, Manifest, Origin, Timestamp};
use spillgate_mcp::ObjectView;
use spillgate_offload::{NoLedger, Policy, Profile, ResultMode, Rule};
use spillgate_retrieval::audience;
use spillgate_store::{ArtifactStore, Draft, Gone, Listed, MemoryStore, Receipt, Stored};
use spillgate_testkit::{StoppedClock, log, records};
use spillgate_text::Tokenizer;
use spillgate_transport::{Frame, FrameReader};

use super::*;
use crate::fixture::{offloader, offloader_with, replaced, without_handles};
use crate::results::client_view::ShownPart;
use crate::results::found::Form;
use crate::results::intercept::intercept_from;
use spillgate_retrieval::RETRIEVAL_MARK;

mod forms;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// The kind of a result, and whether the client supports links.
#[derive(Debug, Clone, Copy)]
struct Asked {
    form: Form,
    links: bool,
}

/// A tool's result.
const CALL: Asked = Asked {
    form: Form::Call,
    links: true,
};

impl Asked {
    fn case(self, offloader: &Offloader) -> Case {
        Case {
            form: self.form,
            links: self.links,
            shown_part: ShownPart::default(),
            limits: offloader.limits(&Origin::tool("dump")),
            origin: Origin::tool("dump"),
            history: None,
        }
    }
}

/// Returns the outcome for a frame that arrives in blocks of `step` bytes: the frame for the
/// client, and whether a result was stored.
fn streamed(
    offloader: &Offloader,
    kind: Asked,
    frame: &str,
    spool_at: usize,
    step: usize,
) -> (String, bool) {
    let frame_reader = FrameReader::new(Arc::clone(offloader.store())).spooling_at(spool_at);
    run(async {
        let mut taking = frame_reader.begin();
        for block in frame.as_bytes().chunks(step) {
            taking.feed(block).await.unwrap();
        }
        let (mut pieces, stored) = match taking.finish().await {
            Frame::Spooled(spooled) => {
                let case = |_: &Envelope<'_>| Some(kind.case(offloader));
                intercept_spooled(offloader, *spooled, &case, &|_| ByteEdits::default()).unwrap()
            }
            // The frame fits in memory, so nothing was stored while it arrived.
            _ => return at_once(offloader, kind, frame),
        };
        let mut written = Vec::new();
        while let Some(block) = pieces.next().await.unwrap() {
            written.extend_from_slice(&block);
        }
        (String::from_utf8(written).unwrap(), stored)
    })
}

/// Returns the outcome for the same frame in memory, with its results read through their skeletons.
fn reduced(offloader: &Offloader, kind: Asked, frame: &str) -> (String, bool) {
    let bytes = Bytes::copy_from_slice(frame.as_bytes());
    let mut splice = ByteEdits::default();
    let mut stored = false;
    for envelope in messages(&bytes) {
        let (Some(result), case) = (envelope.result, kind.case(offloader)) else {
            continue;
        };
        let (edits, left) = intercept_from(0, offloader, case, &bytes, result.get()).unwrap();
        splice.merge(edits);
        stored |= left.is_stored();
    }
    let made = splice.apply(&bytes);
    (String::from_utf8(made).unwrap(), stored)
}

/// Returns the outcome for the same frame in memory.
fn at_once(offloader: &Offloader, kind: Asked, frame: &str) -> (String, bool) {
    let mut splice = ByteEdits::default();
    let mut stored = false;
    for envelope in messages(frame.as_bytes()) {
        let (Some(result), case) = (envelope.result, kind.case(offloader)) else {
            continue;
        };
        let (edits, is_stored) = replaced(offloader, case, frame.as_bytes(), result.get());
        splice.merge(edits);
        stored |= is_stored;
    }
    let made = splice.apply(frame.as_bytes());
    (String::from_utf8(made).unwrap(), stored)
}

/// Returns everything that is stored, except for names.
fn kept(offloader: &Offloader) -> Vec<(Facts, [Vec<u8>; 3])> {
    let all = offloader.store().list().unwrap();
    let parts = all.into_iter().map(|listed| {
        let stored = offloader.store().open(listed.manifest.handle).unwrap();
        let bytes = |source: &dyn ByteSource| source.bytes(0, u64::MAX).unwrap();
        let parts = [bytes(&*stored.raw), bytes(&*stored.view), stored.index];
        (listed.manifest.facts, parts)
    });
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by(|one, other| one.1.cmp(&other.1));
    parts
}

/// Checks that a frame has the same outcome when it is streamed to the store, when it is in memory,
/// and when it is in memory and read through its skeleton.
fn same_in_all_ways(kind: Asked, rule: &Rule, frame: &str, spool_at: usize, step: usize) {
    let offloader = || offloader_with(rule.clone());
    let memory = offloader();
    let (expected, was_stored) = at_once(&memory, kind, frame);
    let expected = without_handles(&expected);
    for is_streamed in [true, false] {
        let one = offloader();
        let (made, is_stored) = match is_streamed {
            true => streamed(&one, kind, frame, spool_at, step),
            false => reduced(&one, kind, frame),
        };
        let made = without_handles(&made);
        assert!(
            made == expected,
            "streamed: {is_streamed}\n{}\n\n{}",
            short(&made),
            short(&expected)
        );
        assert_eq!(is_stored, was_stored);
        assert!(kept(&one) == kept(&memory), "stored: {}", short(frame));
    }
}

/// Checks that a program receives the bytes that the server sent: of the whole frame in the mode
/// `whole`, of `structuredContent` in the mode `structured`.
fn passes_to_programs(kind: Asked, rule: &Rule, frame: &str, spool_at: usize, step: usize) {
    let (left, stored) = streamed(&offloader_with(rule.clone()), kind, frame, spool_at, step);
    match rule.results {
        Some(ResultMode::Whole) => {
            assert!(!stored && left == frame, "{}", short(&left));
        }
        Some(ResultMode::Structured) if kind.form == Form::Call => {
            let structured = |frame: &str| {
                let result = messages(frame.as_bytes())[0].result.unwrap();
                let result = ObjectView::of(result).unwrap();
                let value = result.get("structuredContent");
                value.map(|value| value.get().to_owned())
            };
            assert!(structured(&left) == structured(frame), "{}", short(&left));
        }
        _ => {}
    }
}

/// Returns the start of a frame.
fn short(frame: &str) -> String {
    let masked = frame.replace("AAAA", "").replace("//8A", "");
    masked.chars().take(1500).collect()
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn results_of_every_kind_become_the_same() {
    let (log, records) = (log(600), records(400));
    let value: Value = serde_json::from_str(&records).unwrap();
    let image = json!({"type": "image", "data": "A".repeat(20_000), "mimeType": "image/png"});
    let colored = log.replace("ERROR", "\u{1b}[31mERROR\u{1b}[0m");
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    let many: Vec<Value> = log.lines().map(text_block).collect();
    let lines: Vec<&str> = log.lines().collect();
    let results = [
        json!({"content": [text_block(&log)]}),
        json!({"content": [text_block(&log)], "isError": true, "_meta": {"a": [1.0]}}),
        json!({"content": [text_block(&log), image, text_block(&records)]}),
        json!({"content": [text_block(&colored)]}),
        json!({"content": [text_block(&records)]}),
        json!({"content": [text_block(&records)], "structuredContent": value}),
        json!({"content": [text_block(&pretty)], "structuredContent": value}),
        json!({"content": [text_block(&log)], "structuredContent": {"content": log}}),
        json!({"content": [text_block(&log)], "structuredContent": value}),
        json!({"content": [text_block(&log), text_block(&colored)], "structuredContent": {"a": [log], "b": colored}}),
        json!({"content": [text_block(&log), text_block(&colored)], "structuredContent": {"a": [colored], "b": log}}),
        json!({"content": many, "structuredContent": {"lines": lines}}),
        json!({"structuredContent": value}),
        json!({"content": [image]}),
        json!({"content": [{"type": "audio", "data": "A".repeat(20_000)}]}),
        // The MIME type is too long for the skeleton. It does not make the block an image.
        json!({"content": [{"type": "audio", "data": "A".repeat(20_000), "mimeType": format!("image/{}", "x".repeat(5000))}]}),
        json!({"content": null, "structuredContent": value}),
        json!({"content": log}),
        json!(log),
        json!([log]),
    ];
    for result in results {
        for frame in [
            format!("{{\"id\":1,\"result\":{result}}}"),
            format!("{{\"result\" : {result} ,\"id\":\"x\"}}"),
        ] {
            for profile in ["preview", "reject", "truncate", "handle", "funnel"] {
                let rule = Rule {
                    profile: Some(serde_json::from_value(json!(profile)).unwrap()),
                    max_tokens: Some(2500),
                    ..Rule::default()
                };
                same_in_all_ways(CALL, &rule, &frame, 1000, 777);
            }
        }
    }
}

#[test]
fn a_retrieval_is_known_by_its_mark_however_large_its_meta_is() {
    let meta =
        json!({"a": "A".repeat(20_000), RETRIEVAL_MARK: true, "b": {"c": "A".repeat(20_000)}});
    let result = json!({"content": [text_block(&log(600))], "_meta": meta});
    let frame = format!("{{\"id\":1,\"result\":{result}}}");
    same_in_all_ways(CALL, &Rule::default(), &frame, 1000, 777);
    let (left, stored) = streamed(&offloader(), CALL, &frame, 1000, 777);
    assert!(!stored && left == frame);
}

#[test]
fn a_large_image_becomes_a_link() {
    let data = "QUJD".repeat(25 << 20); // 100 MiB
    let image = json!({"type": "image", "data": data, "mimeType": "image/png"});
    let result = json!({"content": [text_block("small"), image]}).to_string();
    let frame = format!("{{\"id\":1,\"result\":{result}}}");
    let offloader = offloader();
    let (left, stored) = streamed(&offloader, CALL, &frame, 4 << 20, 1 << 20);
    assert!(stored);
    insta::assert_snapshot!(without_handles(&left), @r#"{"id":1,"result":{"content":[{"text":"small","type":"text"},{"type":"resource_link","uri":"spillgate://artifact/HANDLE/content/1","name":"image 2 of dump","size":78643200,"description":"78643200 bytes, stored whole: resources/read gives them","mimeType":"image/png"}]}}"#);
    assert!(kept(&offloader)[0].1[0] == result.as_bytes());
}

#[test]
fn blocks_without_number_are_shown_as_the_json_that_they_are() {
    let offloader = offloader();
    let blocks = vec![text_block("a").to_string(); 400_000].join(",");
    let result = format!(r#"{{"content":[{blocks}],"isError":true}}"#);
    let frame = format!(r#"{{"id":1,"result":{result}}}"#);
    let (left, stored) = streamed(&offloader, CALL, &frame, 1000, 1 << 20);
    assert!(stored);
    let message: Value = serde_json::from_str(&left).unwrap();
    let text = message["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("[400000]") || text.contains("400,000") || text.contains("400000"),
        "{text}"
    );
    assert_eq!(message["result"]["isError"], true);
    assert_eq!(kept(&offloader)[0].1[0], result.as_bytes());
}

/// A store whose drafts accept only a limited number of bytes.
#[derive(Debug)]
struct Full(MemoryStore, usize);

#[derive(Debug)]
struct FullDraft(Box<dyn Draft>, usize);

fn full() -> StoreError {
    StoreError::Full {
        path: "store".into(),
        source: io::ErrorKind::StorageFull.into(),
    }
}

impl Draft for FullDraft {
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError> {
        self.1 = self.1.checked_sub(bytes.len()).ok_or_else(full)?;
        self.0.write(part, bytes)
    }

    fn discard_view(&mut self) -> Result<(), StoreError> {
        self.0.discard_view()
    }

    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError> {
        self.0.read(part)
    }

    fn commit(
        self: Box<Self>,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Receipt, StoreError> {
        self.0.commit(facts, index, form)
    }
}

impl ArtifactStore for Full {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        Ok(Box::new(FullDraft(self.0.draft()?, self.1)))
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.0.open(handle)
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        self.0.manifest(handle)
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        self.0.list()
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        self.0.remove(handle, why, at)
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        self.0.pin(handle, pinned)
    }
}

#[test]
fn a_store_that_fails_midway_loses_the_middle_only() {
    let text = log(9000);
    let image = json!({"type": "image", "data": "A".repeat(9000), "mimeType": "image/png"});
    let result = json!({"content": [image, text_block(&text), text_block("the last words")]});
    let frame = format!(r#"{{"id":1,"result":{result},"x":1.0}}"#);
    // The store is full while the raw bytes arrive, or when the view is written.
    for room in [100_000, result.to_string().len() + 1000] {
        let offloader = Offloader::new(
            Arc::new(Full(MemoryStore::default(), room)),
            Policy::new(Rule::default(), [], []).unwrap(),
            Tokenizer::Heuristic.counter(),
            audience::usual_tools(),
            Arc::new(StoppedClock::default()),
            Arc::new(NoLedger),
        );
        let (left, stored) = streamed(&offloader, CALL, &frame, 1000, 8000);
        assert!(!stored && left.ends_with(r#","x":1.0}"#));
        let message: Value = serde_json::from_str(&left).unwrap();
        let blocks = message["result"]["content"].as_array().unwrap();
        assert_eq!(blocks.len(), 2);
        let told = "[spillgate] image/png, 6750 bytes, left out: it could not be stored";
        assert_eq!(blocks[0], text_block(told), "the image is lost, too");
        let text = blocks[1]["text"].as_str().unwrap();
        assert!(
            text.starts_with("[spillgate] dump returned "),
            "{text:.200}"
        );
        assert!(text.contains("it could not be stored: the disk is full"));
        assert!(
            text.contains("\n2026-11-21T10:00:00Z INFO worker-0"),
            "{text:.600}"
        );
        assert!(text.ends_with("the last words"), "{text}");
        assert!(offloader.store().list().unwrap().is_empty());
    }
}

#[test]
fn a_lost_message_that_is_no_result_is_an_error() {
    let store: Arc<dyn ArtifactStore> = Arc::new(Full(MemoryStore::default(), 1000));
    let offloader = offloader();
    let frame = json!({"id": 1, "method": "m", "params": {"a": "b".repeat(100_000)}}).to_string();
    let outcome = run(async {
        let mut taking = FrameReader::new(store).spooling_at(1000).begin();
        taking.feed(&frame.as_bytes()[..5000]).await.unwrap();
        taking.feed(&frame.as_bytes()[5000..]).await.unwrap();
        match taking.finish().await {
            Frame::Spooled(spooled) => {
                intercept_spooled(&offloader, *spooled, &|_| None, &|_| ByteEdits::default())
            }
            other => panic!("{other:?}"),
        }
    });
    assert!(matches!(outcome, Err(StoreError::Full { .. })));
}

fn any_text() -> impl Strategy<Value = String> {
    (
        prop_oneof![
            "[a-z \"\\\\{}\\[\\],:\n\t\r\u{1b}é漢\u{1f680}]{0,30}",
            Just("2026-11-21T10:00:00Z INFO worker-1 ok\n".to_owned()),
            Just("{\"a\": [1, 2.50, \"x\\ny\"]}\n".to_owned()),
        ],
        prop_oneof![Just(1usize), 1usize..900],
    )
        .prop_map(|(text, n)| text.repeat(n))
}

/// Generates Base64, some of it escaped as PHP does and some of it padded.
fn any_base64() -> impl Strategy<Value = Value> {
    let unit = prop_oneof![Just("AAAA"), Just("//8A"), Just("=")];
    let end = prop_oneof![Just(""), Just("AA=="), Just("AAA=")];
    (unit, 1usize..2500, end).prop_map(|(unit, n, end)| json!(unit.repeat(n) + end))
}

/// Generates short strings, such as those for MIME types and URIs.
fn any_word() -> impl Strategy<Value = Value> {
    let words = "(image/png|audio/wav|file:///é|\n|[a-z]{0,9})";
    let times = prop_oneof![9 => 0usize..3, 1 => 400usize..30_000];
    (words, times).prop_map(|(word, n)| json!(word.repeat(n)))
}

/// Generates objects with annotations and some of these members.
fn any_object(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let named = members.into_iter().map(|(name, value)| {
        let value = proptest::option::weighted(0.9, value);
        value.prop_map(move |value| (name.to_owned(), value))
    });
    let named: Vec<_> = named.collect();
    let objects = (named, proptest::option::weighted(0.1, any_word()));
    let object = |(members, note): (Vec<(String, Option<Value>)>, Option<Value>)| {
        let note = note.map(|note| ("annotations".to_owned(), json!({"a": note})));
        let members = members
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        Value::Object(members.chain(note).collect())
    };
    objects.prop_map(object).boxed()
}

fn any_string() -> BoxedStrategy<Value> {
    any_text().prop_map(Value::from).boxed()
}

fn any_contents() -> BoxedStrategy<Value> {
    let (word, base64) = (any_word().boxed(), any_base64().boxed());
    let common = vec![("uri", word.clone()), ("mimeType", word)];
    let text = [common.clone(), vec![("text", any_string())]].concat();
    let blob = [common, vec![("blob", base64)]].concat();
    prop_oneof![any_object(text), any_object(blob)].boxed()
}

fn any_block() -> BoxedStrategy<Value> {
    let of = |kind: &'static str| ("type", Just(json!(kind)).boxed());
    let (word, base64) = (any_word().boxed(), any_base64().boxed());
    let bytes = vec![("data", base64), ("mimeType", word.clone())];
    prop_oneof![
        3 => any_object(vec![of("text"), ("text", any_string())]),
        1 => any_object(vec![of("resource_link"), ("uri", any_string()), ("name", word)]),
        2 => any_object([vec![of("image")], bytes.clone()].concat()),
        1 => any_object([vec![of("audio")], bytes].concat()),
        2 => any_object(vec![of("resource"), ("resource", any_contents())]),
        1 => any_string(),
    ]
    .boxed()
}

fn any_kind() -> impl Strategy<Value = Asked> {
    let forms = prop_oneof![Just(Form::Call), Just(Form::Prompt), Just(Form::Read)];
    (forms, any::<bool>()).prop_map(|(form, links)| Asked { form, links })
}

fn any_result(form: Form) -> BoxedStrategy<Value> {
    let structured = prop_oneof![
        Just(None),
        any_text().prop_map(|text| Some(json!({"text": text}))),
        Just(Some(json!("twin"))),
    ];
    let block = match form {
        Form::Call => any_block(),
        Form::Prompt => any_object(vec![
            ("role", Just(json!("user")).boxed()),
            ("content", any_block()),
        ]),
        Form::Read => any_contents(),
    };
    let blocks = proptest::collection::vec(block, 0..6);
    (blocks, structured, any::<Option<bool>>())
        .prop_map(move |(blocks, structured, flag)| {
            let mut result = json!({form.list(): blocks});
            result["structuredContent"] = match structured {
                Some(Value::String(_)) => {
                    json!({"all": blocks.iter().map(|b| &b["text"]).collect::<Vec<_>>()})
                }
                Some(other) => other,
                None => return result,
            };
            if let Some(flag) = flag {
                result["isError"] = json!(flag);
            }
            result
        })
        .boxed()
}

fn any_kind_and_result() -> impl Strategy<Value = (Asked, Value)> {
    any_kind().prop_flat_map(|kind| (Just(kind), any_result(kind.form)))
}

/// Escapes all non-ASCII characters, without surrogate pairs. JavaScript writes text that is not
/// valid Unicode in this way.
fn ascii(json: &str) -> String {
    let escaped = json.chars().map(|c| match c {
        ' '..='~' => c.to_string(),
        '\u{1f680}' => r"\ud83d \ude80 \ud83d\ude80".to_owned(),
        _ => format!("\\u{:04x}", u32::from(c)),
    });
    escaped.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn any_result_becomes_the_same(
        (kind, result) in any_kind_and_result(),
        is_ascii: bool,
        id_first: bool,
        spool_at in 100usize..4000,
        step in 1usize..5000,
        profile in 0usize..4,
        results in proptest::option::of(0usize..3),
    ) {
        let result = match is_ascii {
            true => ascii(&result.to_string()),
            false => result.to_string(),
        };
        let frame = match id_first {
            true => format!("{{\"id\":1,\"result\":{result}}}\n"),
            false => format!("{{\"result\":{result},\"id\":1}}\n"),
        };
        let profiles = [Profile::default(), Profile::Reject, Profile::Truncate, Profile::Handle];
        let modes = [ResultMode::Preview, ResultMode::Structured, ResultMode::Whole];
        let results = results.map(|mode| modes[mode]);
        let rule = Rule { profile: Some(profiles[profile].clone()), max_tokens: Some(700), results, ..Rule::default() };
        same_in_all_ways(kind, &rule, &frame, spool_at, step);
        passes_to_programs(kind, &rule, &frame, spool_at, step);
    }
}
