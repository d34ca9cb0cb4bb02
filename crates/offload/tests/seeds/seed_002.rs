//! Tests that the profile `continuation` and its tool `get_continuation` behave as in the original
//! design. Where that design says "chars", it means Unicode code points.

use insta::assert_snapshot;
use proptest::prelude::*;
use spillgate_artifact::Origin;
use spillgate_offload::{Offloader, Outcome, Profile, Rule};

use super::{offer_as, offloader, with_rule};

/// The design's `MAX_TOOL_RESULT_CHARS`.
const MAX: usize = 4000;

fn origin(call_id: &str) -> Origin {
    Origin {
        call_id: Some(call_id.to_owned()),
        ..Origin::tool("transcribe_audio")
    }
}

/// Returns the first message for the result of the call `call_id`.
fn first(offloader: &Offloader, call_id: &str, text: &str) -> Option<String> {
    match offer_as(offloader, origin(call_id), text) {
        Outcome::Offloaded(offloaded) => Some(offloaded.shown.text().to_owned()),
        _ => None,
    }
}

/// Returns what the tool returns: a slice, or its error as JSON.
fn continued(offloader: &Offloader, id: &str, offset: Option<&str>) -> String {
    match offloader.continuation(id, offset) {
        Ok(shown) => shown.text().to_owned(),
        Err(error) => error.to_json(),
    }
}

/// Task 1, `test_truncate_tool_result_with_tool_call_id`: the first `MAX`
/// characters, then the marker with the id and both counts.
#[test]
fn the_first_slice_and_its_marker() {
    let offloader = offloader(Profile::Continuation);
    let shown = first(&offloader, "call_abc", &"x".repeat(MAX + 500)).unwrap();
    let marker = shown.strip_prefix(&"x".repeat(MAX)).unwrap();
    assert_eq!(
        marker,
        "\n\n[truncated — showing 4000/4500 chars. \
         Call get_continuation with tool_call_id=\"call_abc\" to read more]"
    );
}

/// Task 1, `test_truncate_tool_result_short_with_id`: `len(result) <=
/// MAX_TOOL_RESULT_CHARS` passes unchanged; code points, not bytes.
#[test]
fn strictly_more_triggers() {
    let offloader = offloader(Profile::Continuation);
    for (character, count, is_cut) in [
        ("x", MAX, false),
        ("x", MAX + 1, true),
        ("漢", MAX, false),
        ("漢", MAX + 1, true),
        ("🚀", MAX + 1, true),
    ] {
        let text = character.repeat(count);
        let found = first(&offloader, "call_1", &text).is_some();
        assert_eq!(found, is_cut, "{count} × {character}");
    }
}

/// Task 2, `_handle_get_continuation`: the design's 8000 characters, A, B and C.
#[test]
fn later_slices_and_the_last_one_without_a_marker() {
    let offloader = offloader(Profile::Continuation);
    let result = "A".repeat(3000) + &"B".repeat(3000) + &"C".repeat(3000);
    first(&offloader, "call_transcribe", &result).unwrap();
    let second = continued(&offloader, "call_transcribe", Some("4000"));
    let marker = second
        .strip_prefix(&("B".repeat(2000) + &"C".repeat(2000)))
        .unwrap();
    assert_eq!(
        marker,
        "\n\n[truncated — showing 4000-8000/9000 chars. 1000 chars remaining. \
         Call get_continuation with tool_call_id=\"call_transcribe\" offset=8000 to read more]"
    );
    let last = continued(&offloader, "call_transcribe", Some("8000"));
    assert_eq!(last, "C".repeat(1000));
}

/// Task 2: `offset = arguments.get("offset", MAX_TOOL_RESULT_CHARS)`. The first marker names no
/// offset, so the default must be the end of the shown slice, even if the configuration changed
/// since.
#[test]
fn the_default_offset_is_the_end_of_the_first_slice() {
    let offloader = with_rule(Rule {
        profile: Some(Profile::Continuation),
        max_chars: Some(10),
        ..Rule::default()
    });
    first(&offloader, "call_1", "0123456789abcdefghijKLM").unwrap();
    let second = continued(&offloader, "call_1", None);
    assert!(second.starts_with("abcdefghij\n\n[truncated — showing 10-20/23 chars."));
}

/// Task 2, `test_agent_turn_get_continuation_invalid_id`, and Spillgate's own errors
/// (docs/spec/texts.md, "Continuation tool").
#[test]
fn errors_are_json() {
    let offloader = offloader(Profile::Continuation);
    first(&offloader, "call_1", &"x".repeat(MAX + 1)).unwrap();
    let all = [
        continued(&offloader, "nonexistent", Some("0")),
        continued(&offloader, "", None),
        continued(&offloader, "call_1", Some("4001")),
        continued(&offloader, "call_1", Some("99999999999999")),
        continued(&offloader, "call_1", Some("-1")),
        continued(&offloader, "call_1", Some("1.5")),
        continued(&offloader, "call_1", Some("many")),
    ];
    for error in &all {
        serde_json::from_str::<serde_json::Value>(error).unwrap();
    }
    assert_snapshot!(all.join("\n"), @r#"
    {"error": "No cached result for tool_call_id 'nonexistent'"}
    {"error": "No cached result for tool_call_id ''"}
    {"error": "Offset beyond end of result"}
    {"error": "Offset beyond end of result"}
    {"error": "offset must be a non-negative integer"}
    {"error": "offset must be a non-negative integer"}
    {"error": "offset must be a non-negative integer"}
    "#);
}

/// Numbers as models write them.
#[test]
fn numbers_as_models_write_them() {
    let offloader = offloader(Profile::Continuation);
    first(&offloader, "call_1", &"x".repeat(MAX + 1)).unwrap();
    for offset in ["4000", " 4000 ", "4000.0"] {
        assert_eq!(continued(&offloader, "call_1", Some(offset)), "x");
    }
}

/// `continuation.short_ids`, because models corrupt long ids. A handle always works, too.
#[test]
fn ids_of_calls_short_ids_and_handles() {
    let offloader = offloader(Profile::Continuation).with_short_ids(true);
    let long = "x".repeat(MAX + 1);
    for id in ["1", "2"] {
        let Outcome::Offloaded(stored) = offer_as(&offloader, Origin::tool("tool"), &long) else {
            panic!("it is one too long");
        };
        let marker = format!("tool_call_id=\"{id}\" to read more]");
        assert!(stored.shown.text().ends_with(&marker));
        for id in [id, &stored.receipt.handle().to_string()] {
            assert_eq!(continued(&offloader, id, None), "x");
        }
    }
    // A result whose call has an id keeps it.
    assert!(
        first(&offloader, "call_9", &long)
            .unwrap()
            .contains("\"call_9\"")
    );
}

/// Without short ids and without a call id, the handle is the id.
#[test]
fn a_handle_is_the_id_where_there_is_no_other() {
    let offloader = offloader(Profile::Continuation);
    let text = "x".repeat(MAX + 1);
    let Outcome::Offloaded(stored) = offer_as(&offloader, Origin::tool("tool"), &text) else {
        panic!("it is one too long");
    };
    let handle = stored.receipt.handle();
    assert!(
        stored
            .shown
            .text()
            .contains(&format!("tool_call_id=\"{handle}\""))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The first slice and all later slices, without their markers, make up the text
    /// (docs/spec/texts.md, "Continuation profile").
    #[test]
    fn slices_put_together_are_the_text(text in "(\\PC|\n){30,300}", size in 1u64..25) {
        let offloader = with_rule(Rule {
            profile: Some(Profile::Continuation),
            max_chars: Some(size),
            ..Rule::default()
        });
        let slice_of = |shown: &str| match shown.rfind("\n\n[truncated — showing ") {
            Some(at) => (shown[..at].to_owned(), true),
            None => (shown.to_owned(), false),
        };
        let shown = first(&offloader, "call_1", &text).unwrap();
        let (mut whole, mut more) = slice_of(&shown);
        while more {
            let offset = whole.chars().count().to_string();
            let shown = offloader.continuation("call_1", Some(&offset)).unwrap();
            let (slice, is_more) = slice_of(shown.text());
            prop_assert!(!slice.is_empty());
            whole.push_str(&slice);
            more = is_more;
        }
        prop_assert_eq!(whole, text);
    }
}
