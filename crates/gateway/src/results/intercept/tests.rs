//! Tests of what a client receives in place of a result.

mod forms;
mod programs;

use insta::assert_snapshot;
use spillgate_artifact::ContentKind;
use spillgate_offload::Rule;
use spillgate_testkit::{log, records};

use super::*;
use crate::fixture::{offloader, offloader_with, replaced, without_handles, without_previews};
use spillgate_mcp::messages;

/// Returns the case of a result of the tool `dump`.
fn case_of(offloader: &Offloader) -> Case {
    let origin = Origin::tool("dump");
    Case {
        form: Form::Call,
        links: true,
        shown_part: ShownPart::default(),
        limits: offloader.limits(&origin),
        origin,
        history: None,
    }
}

/// Returns the frame that the client receives, and the artifact that the frame names.
fn passed_on(frame: &str) -> (String, Option<String>) {
    let offloader = offloader();
    let mut splice = ByteEdits::default();
    for envelope in messages(frame.as_bytes()) {
        let Some(result) = envelope.result else {
            continue;
        };
        let case = case_of(&offloader);
        splice.merge(replaced(&offloader, case, frame.as_bytes(), result.get()).0);
    }
    let stored = offloader.store().list().unwrap();
    let raw = stored.first().map(|listed| {
        let artifact = offloader.artifact(listed.manifest.handle).unwrap();
        let raw = artifact.raw().bytes(0, u64::MAX).unwrap();
        String::from_utf8(raw).unwrap()
    });
    (
        String::from_utf8(splice.apply(frame.as_bytes())).unwrap(),
        raw,
    )
}

/// Returns what a result becomes, with its previews masked. Checks that the result was either
/// stored unchanged or not changed at all.
fn becomes(result: &str) -> String {
    let frame = format!(r#"{{"id":1,"result":{result},"x":1.0}}"#);
    let (left, raw) = passed_on(&frame);
    match raw {
        Some(raw) => assert_eq!(raw, result),
        None => assert_eq!(left, frame),
    }
    without_previews(&left)
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
}

#[test]
fn a_large_text_becomes_a_preview() {
    let result = format!(r#"{{"content":[{}]}}"#, block(&log(600)));
    let (left, raw) = passed_on(&format!(r#"{{"id":1,"result":{result}}}"#));
    assert_eq!(raw.as_deref(), Some(&*result));
    let message: serde_json::Value = serde_json::from_str(&left).unwrap();
    let text = message["result"]["content"][0]["text"].as_str().unwrap();
    assert_snapshot!(without_handles(text), @r#"
    [spillgate] dump returned 37992 bytes, 601 lines, 9498 tokens (log); stored whole as HANDLE
    failure:
      501: ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    shape:
      levels: ERROR 1, INFO 599
      from 2026-11-21T10:00:00Z to 2026-11-21T10:09:59Z
      599× (line 1) <*> INFO worker-<*> processed batch id=<*> ok
    next: spillgate_search(handle="HANDLE", words="why did it fail?")
    next: spillgate_read(handle="HANDLE", start=491, lines=60)
    also, with the same handle: spillgate_grep(pattern=REGEX)
    "#);
}

#[test]
fn a_small_result_is_not_touched() {
    for result in [
        "{}",
        "[1]",
        "null",
        r#"{"content":[]}"#,
        r#"{"content":"odd"}"#,
        r#"{"content":[{"type":"text"}],"structuredContent":null}"#,
        r#"{"content":[{"type":"text","text":"small"}]}"#,
    ] {
        assert_eq!(
            becomes(result),
            format!(r#"{{"id":1,"result":{result},"x":1.0}}"#)
        );
    }
}

#[test]
fn text_and_structured_content_become_the_same() {
    let (log, records) = (log(600), records(400));
    let twin = format!(
        r#"{{"content":[{}],"structuredContent":{{"content":{}}}}}"#,
        block(&log),
        quoted(&log)
    );
    assert_snapshot!(becomes(&twin), @r#"{"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"structuredContent":{"spillgate":PREVIEW}},"x":1.0}"#);
    let same = format!(
        r#"{{"structuredContent":{records},"content":[{}]}}"#,
        block(&records)
    );
    assert_snapshot!(becomes(&same), @r#"{"id":1,"result":{"structuredContent":{"spillgate":PREVIEW},"content":[{"type":"text","text":PREVIEW}]},"x":1.0}"#);
    let only = format!(r#"{{"structuredContent":{records}}}"#);
    assert_snapshot!(becomes(&only), @r#"{"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}],"structuredContent":{"spillgate":PREVIEW}},"x":1.0}"#);
    let empty = format!(r#"{{"content":[], "structuredContent" : {records} }}"#);
    assert_snapshot!(becomes(&empty), @r#"{"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}], "structuredContent" : {"spillgate":PREVIEW} },"x":1.0}"#);
    let wrapped = format!(
        r#"{{"structuredContent":{{"result":{records}}},"_meta":{{"fastmcp":{{"wrap_result":true}}}},"content":[]}}"#
    );
    assert_snapshot!(becomes(&wrapped), @r#"{"id":1,"result":{"structuredContent":{"result":{"spillgate":PREVIEW}},"_meta":{"fastmcp":{"wrap_result":true}},"content":[{"text":PREVIEW,"type":"text"}]},"x":1.0}"#);
    let no_list = format!(r#"{{"content":null,"structuredContent":{records}}}"#);
    assert_snapshot!(becomes(&no_list), @r#"{"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}],"structuredContent":{"spillgate":PREVIEW}},"x":1.0}"#);
}

#[test]
fn what_is_said_twice_is_counted_once() {
    let lines: Vec<String> = log(200).lines().map(str::to_owned).collect();
    let text = lines.join("\n");
    let value = json!({"lines": lines, "n": 1});
    let blocks: Vec<String> = lines.iter().map(|line| block(line)).collect();
    let told = |result: String| {
        let offloader = offloader();
        let case = case_of(&offloader);
        assert!(replaced(&offloader, case, result.as_bytes(), &result).1);
        offloader.store().list().unwrap()[0]
            .manifest
            .facts
            .stats
            .bytes
    };
    let once = text.len() as u64;
    for result in [
        format!(
            r#"{{"content":[{}],"structuredContent":{{"result":{}}}}}"#,
            block(&text),
            quoted(&text)
        ),
        format!(
            r#"{{"content":[{}],"structuredContent":{value}}}"#,
            block(&serde_json::to_string_pretty(&value).unwrap())
        ),
        format!(
            r#"{{"content":[{}],"structuredContent":{value}}}"#,
            blocks.join(",")
        ),
    ] {
        assert!(
            (once..once * 3 / 2).contains(&told(result.clone())),
            "{result}"
        );
    }
    let another = format!(
        r#"{{"content":[{}],"structuredContent":{{"result":{}}}}}"#,
        block(&text),
        quoted(&text.replace("batch", "bunch"))
    );
    assert!(told(another) > 2 * once);
}

/// Returns rows in the form of `FastMCP`, in the form of the Python SDK 1.30, and as JSON.
fn rows(n: usize) -> (String, String, String) {
    let row = |id: usize| json!({"id": id, "state": "idle", "note": "Käse"});
    let rows: Vec<_> = (0..n).map(row).collect();
    let value = json!(rows).to_string();
    let pretty = rows
        .iter()
        .map(|row| block(&serde_json::to_string_pretty(row).unwrap()));
    let pretty: Vec<String> = pretty.collect();
    let (one, each) = (block(&json!(rows).to_string()), pretty.join(","));
    let result = |blocks: &str| {
        format!(
            r#"{{"content":[{blocks}],"structuredContent":{{"result":{value}}},"isError":false}}"#
        )
    };
    (result(&one), result(&each), value)
}

#[test]
fn one_value_in_two_forms_is_one_value_at_every_size() {
    for n in [100, 600, 1200, 5000] {
        let (one, each, value) = rows(n);
        for result in [one, each] {
            let offloader = offloader_with(Rule {
                max_tokens: Some(700),
                ..Rule::default()
            });
            let frame = format!(r#"{{"id":1,"result":{result}}}"#);
            let case = case_of(&offloader);
            let (splice, is_stored) = replaced(
                &offloader,
                case,
                frame.as_bytes(),
                &frame[17..frame.len() - 1],
            );
            // The rows are counted only once: 100 rows count 4.3 KB instead of 8.6 KB.
            let told = format!("dump returned {} bytes", value.len());
            let shown = String::from_utf8(splice.apply(frame.as_bytes())).unwrap();
            assert!(is_stored && shown.contains(&told), "{shown}");
            let stored = &offloader.store().list().unwrap()[0].manifest;
            let stats = &stored.facts.stats;
            assert_eq!(
                (stats.bytes, stats.kind),
                (value.len() as u64, ContentKind::Json)
            );
            let artifact = offloader.artifact(stored.handle).unwrap();
            assert_eq!(
                artifact.raw().bytes(0, u64::MAX).unwrap(),
                result.as_bytes()
            );
        }
    }
}

#[test]
fn the_limit_counts_what_the_client_shows() {
    // The limit is 2,500 tokens. One text has about 1,700 tokens, the other about 4,000.
    let (some, many) = (log(100), log(250));
    let shown = |shown_part, text: &str, value: &str, is_error: bool| {
        let frame = format!(
            r#"{{"id":1,"result":{{"content":[{}],"structuredContent":{{"told":{},"n":1}},"isError":{is_error}}}}}"#,
            block(text),
            quoted(value)
        );
        let offloader = offloader();
        let case = Case {
            shown_part,
            ..case_of(&offloader)
        };
        !replaced(
            &offloader,
            case,
            frame.as_bytes(),
            &frame[17..frame.len() - 1],
        )
        .1
    };
    let bunch = some.replace("batch", "bunch");
    for (shown_part, text, value, is_error, fits) in [
        // Each text fits by itself, but not both together.
        (ShownPart::Either, &some, &bunch, false, true),
        (ShownPart::Either, &some, &many, false, false),
        (ShownPart::Either, &many, &some, false, false),
        (ShownPart::Structured, &some, &bunch, false, true),
        (ShownPart::Structured, &some, &many, false, false),
        (ShownPart::Structured, &many, &some, false, true),
        (ShownPart::Structured, &many, &some, true, false),
    ] {
        assert_eq!(
            shown(shown_part, text, value, is_error),
            fits,
            "{shown_part:?} {is_error}"
        );
    }
}

#[test]
fn other_blocks_and_members_stay() {
    let log = log(600);
    let (text, half) = (block(&log), block(&log[..log.len() / 2]));
    let image = r#"{"data":"iVBORw0=","type":"image","mimeType":"image/png"}"#;
    let noted = format!(
        r#"{{"text":{}, "type":"text","annotations":{{"priority":1.0}}}}"#,
        quoted(&log)
    );
    assert_snapshot!(becomes(&format!(r#"{{"content":[{image},{text},{image}]}}"#)), @r#"{"id":1,"result":{"content":[{"data":"iVBORw0=","type":"image","mimeType":"image/png"},{"type":"text","text":PREVIEW},{"data":"iVBORw0=","type":"image","mimeType":"image/png"}]},"x":1.0}"#);
    assert_snapshot!(becomes(&format!(r#"{{"content":[{half}, {image},{half}]}}"#)), @r#"{"id":1,"result":{"content":[{"type":"text","text":PREVIEW},{"data":"iVBORw0=","type":"image","mimeType":"image/png"}]},"x":1.0}"#);
    let failed = format!(r#"{{"_meta":{{"x/y":1.0}},"content":[{noted}],"isError":true}}"#);
    assert_snapshot!(becomes(&failed), @r#"{"id":1,"result":{"_meta":{"x/y":1.0},"content":[{"text":PREVIEW, "type":"text","annotations":{"priority":1.0}}],"isError":true},"x":1.0}"#);
    let sloppy = format!(r#"{{"content":[{text}],"isError":"no"}}"#);
    assert_snapshot!(becomes(&sloppy), @r#"{"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"isError":"no"},"x":1.0}"#);
}

#[test]
fn a_lone_surrogate_is_stored_as_it_came() {
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"half \ud83d.\n{}"}}]}}"#,
        r"line with some words and a number 4711\n".repeat(600)
    );
    let (left, raw) = passed_on(&format!(r#"{{"result":{result},"id":"\u0061"}}"#));
    assert_eq!(raw.unwrap(), result);
    assert!(
        left.contains("half \u{fffd}.") && left.ends_with(r#","id":"\u0061"}"#),
        "{left}"
    );
}

#[test]
fn each_result_of_a_batch_is_judged_by_itself() {
    let (large, small) = (block(&log(600)), block("small"));
    let frame = format!(
        r#"[{{"id":1,"result":{{"content":[{large}]}}}}, {{"id":2,"result":{{"content":[{small}]}}}}]"#
    );
    assert_snapshot!(without_previews(&passed_on(&frame).0), @r#"[{"id":1,"result":{"content":[{"type":"text","text":PREVIEW}]}}, {"id":2,"result":{"content":[{"type":"text","text":"small"}]}}]"#);
}

#[test]
fn a_marked_retrieval_passes_up_to_a_size() {
    let marked = |lines: usize| {
        let text = block(&log(lines));
        becomes(&format!(
            r#"{{"content":[{text}],"_meta":{{"{RETRIEVAL_MARK}":true}}}}"#
        ))
    };
    assert!(!marked(600).contains("PREVIEW"));
    assert!(marked(2000).contains("PREVIEW"));
}
