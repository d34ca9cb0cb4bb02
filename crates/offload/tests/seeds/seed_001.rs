//! Tests of what the report of the extraction design requires (docs/spec/sources.md), up to the point
//! where the model asks. The tests of the extraction itself (sections 3 and 3a) are in
//! `spillgate-extract`.

use insta::assert_snapshot;
use spillgate_artifact::{Handle, TextPart};
use spillgate_offload::{Choice, Outcome, Profile, Rule};

use super::{offer, offloader, shown, with_rule, without_handles};

/// "2a) LLM-visible tool result when output is too large (exact message)". The
/// tokens follow ai-agent's rule: the tokenizer's count, but at least a quarter
/// of the characters.
#[test]
fn the_message_is_exact() {
    let offloader = offloader(Profile::Handle);
    let text = shown(&offloader, "tool", &"x".repeat(20_000)).unwrap();
    assert_snapshot!(without_handles(&text), @r#"
    Tool output is too large (20000 bytes, 1 lines, 5000 tokens).
    Call tool_output(handle = "HANDLE", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    "#);
}

/// "Handles are `session-<uuid>/<file-uuid>`", and the text that the shipped tests search for: the
/// prefix and `tool_output(handle = "…"`.
#[test]
fn the_handle_can_be_read_from_the_message() {
    let offloader = offloader(Profile::Handle);
    let text = shown(&offloader, "tool", &"y\n".repeat(20_000)).unwrap();
    assert!(text.starts_with("Tool output is too large ("));
    let (_, rest) = text.split_once("tool_output(handle = \"").unwrap();
    let handle: Handle = rest.split_once('"').unwrap().0.parse().unwrap();
    assert!(offloader.artifact(handle).is_ok());
}

/// `toolResponseMaxBytes` (12,288): a result is oversized if it strictly exceeds this limit.
#[test]
fn the_size_cap_is_in_bytes() {
    let offloader = offloader(Profile::Handle);
    for (bytes, is_offloaded) in [(12_288, false), (12_289, true)] {
        let text = "é".repeat(bytes / 2) + &"x".repeat(bytes % 2);
        assert_eq!(text.len(), bytes);
        let found = shown(&offloader, "tool", &text).is_some();
        assert_eq!(found, is_offloaded, "{bytes} bytes");
    }
}

/// "Feasibility: run-test-8 (cap 256)": a small limit holds.
#[test]
fn a_cap_of_256_bytes_holds() {
    let rule = Rule {
        profile: Some(Profile::Handle),
        max_bytes: Some(256),
        ..Rule::default()
    };
    let offloader = with_rule(rule);
    assert!(shown(&offloader, "tool", &"z".repeat(257)).is_some());
    assert!(shown(&offloader, "tool", &"z".repeat(256)).is_none());
}

/// A failed result keeps to the limits like any other, in every profile, and is stored with its
/// flag. The design let it pass at any size (docs/spec/sources.md, "Corrections").
#[test]
fn a_failed_result_is_bounded() {
    let text = "boom ".repeat(4000);
    let raw = format!("\"{text}\"").into_bytes();
    let part = TextPart {
        start: 1,
        end: raw.len() as u64 - 1,
        is_string: true,
    };
    for profile in Profile::BUILT_IN {
        let offloader = with_rule(Rule {
            profile: Some(profile.clone()),
            max_bytes: Some(12_288),
            ..Rule::default()
        });
        for is_error in [true, false] {
            let origin = spillgate_artifact::Origin::tool("tool");
            let raw = spillgate_offload::JsonResult::from(bytes::Bytes::from(raw.clone()));
            let limits = offloader.limits(&origin);
            let captured = offloader.capture_json(origin, is_error, raw, vec![part]);
            let pending = offloader.submit(captured, limits);
            let outcome = pending.settle(Choice::Limits { is_over: None });
            let Outcome::Offloaded(offloaded) = outcome else {
                panic!("{profile}, is_error: {is_error}: {outcome:?}");
            };
            assert!(offloaded.shown.text().len() <= 12_288, "{profile}");
            assert_eq!(offloaded.receipt.manifest().facts.is_error, is_error);
        }
    }
}

/// "Decision 4: truncate": the two numbers of a truncation agree, and one budget covers the whole
/// message. The shipped system cut twice (docs/spec/texts.md, "Truncated text").
#[test]
fn a_truncation_keeps_to_its_cap() {
    let offloader = offloader(Profile::Truncate);
    let text: String = (0..9000).map(|i| format!("line {i}\n")).collect();
    let cut = shown(&offloader, "tool", &text).unwrap();
    assert!(cut.len() <= 12_288, "{} bytes", cut.len());
    let (first, rest) = cut.split_once('\n').unwrap();
    let n = first.strip_prefix("[TRUNCATED IN THE MIDDLE BY ~").unwrap();
    let n: usize = n.strip_suffix(" BYTES]").unwrap().parse().unwrap();
    let marker = format!("\n[···TRUNCATED {n} bytes···]\n");
    let (head, tail) = rest.split_once(&marker).unwrap();
    assert_eq!(head.len() + tail.len() + n, text.len());
    assert!(text.starts_with(head) && text.ends_with(tail));
}

/// "Store outputs on disk with a handle and only for oversized cases".
#[test]
fn what_fits_is_not_stored() {
    let offloader = offloader(Profile::Handle);
    assert!(matches!(
        offer(&offloader, "tool", "small"),
        Outcome::Inline(_)
    ));
    assert!(offloader.store().list().unwrap().is_empty());
}
