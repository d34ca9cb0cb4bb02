//! Tests the profile `continuation`, with which results are read page by page.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_agent::{BATCH, GET_CONTINUATION, MAX_PAGING_TURNS};
use spillgate_artifact::Origin;
use spillgate_llm::{Message, Reply};

use crate::stage::{By, Row, calls, done, give, scripted};
use crate::tools::lines;

fn row(says: Vec<Reply>) -> Row {
    Row {
        by: By::Pages { short_ids: false },
        cap: 100,
        ..Row::new(says)
    }
}

fn page(id: &str, offset: &Value) -> Reply {
    calls(&[(
        GET_CONTINUATION,
        json!({"tool_call_id": id, "offset": offset}),
    )])
}

#[tokio::test]
async fn pages_are_not_counted_and_give_the_whole() {
    let row = Row {
        max_turns: 3,
        ..row(vec![
            calls(&[give(330)]),
            page("call_0", &json!(null)),
            page("call_0", &json!("200")),
            page("call_0", &json!(300.0)),
            done(),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":330}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/330 chars. Call get_continuation with tool_call_id="call_0" to read more]
    model: get_continuation {"offset":null,"tool_call_id":"call_0"}
    tool: what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the t ⏎  ⏎ [truncated — showing 100-200/330 chars. 130 chars remaining. Call get_continuation with tool_call_id="call_0" offset=200 to read more]
    model: get_continuation {"offset":"200","tool_call_id":"call_0"}
    tool: ool gives ⏎ line 8 of what the tool gives ⏎ line 9 of what the tool gives ⏎ line 10 of what the tool gives ⏎  ⏎ [truncated — showing 200-300/330 chars. 30 chars remaining. Call get_continuation with tool_call_id="call_0" offset=300 to read more]
    model: get_continuation {"offset":300.0,"tool_call_id":"call_0"}
    tool:  ⏎ line 11 of what the tool give
    Success: done
    "#);
}

#[tokio::test]
async fn the_tool_is_there_before_anything_is_stored() {
    // This is `test_agent_turn_get_continuation_invalid_id` of the specification.
    let row = row(vec![page("call_9", &json!(null)), done()]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: get_continuation {"offset":null,"tool_call_id":"call_9"}
    tool!: {"error": "No cached result for tool_call_id 'call_9'"}
    Success: done
    "#);
}

#[tokio::test]
async fn a_failure_is_paged_like_any_result() {
    let row = row(vec![
        calls(&[("give", json!({"bytes": 330, "fails": true}))]),
        page("call_0", &json!(300)),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":330,"fails":true}
    tool!: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/330 chars. Call get_continuation with tool_call_id="call_0" to read more]
    model: get_continuation {"offset":300,"tool_call_id":"call_0"}
    tool:  ⏎ line 11 of what the tool give
    Success: done
    "#);
}

#[tokio::test]
async fn all_pages_together_are_the_result() {
    let mut says = vec![calls(&[give(950)])];
    says.extend((1..10).map(|at| page("call_0", &json!(at * 100))));
    says.push(done());
    let row = row(says);
    let model = scripted(row.says.clone(), Arc::default());
    let stage = row.stage(&model, None);
    let (_, session) = stage.run(&model, row.until.clone()).await;
    let texts = session
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tools(replies) => Some(replies[0].text.clone()),
            _ => None,
        });
    let whole: String = texts
        .map(|text| match text.split_once("\n\n[truncated") {
            Some((page, _)) => page.to_owned(),
            None => text,
        })
        .collect();
    assert_eq!(whole, lines(950));
}

#[tokio::test]
async fn the_same_page_twice_is_told() {
    let row = row(vec![
        calls(&[give(330)]),
        page("call_0", &json!(100)),
        calls(&[(
            GET_CONTINUATION,
            json!({"offset": 100, "tool_call_id": "call_0"}),
        )]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":330}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/330 chars. Call get_continuation with tool_call_id="call_0" to read more]
    model: get_continuation {"offset":100,"tool_call_id":"call_0"}
    tool: what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the t ⏎  ⏎ [truncated — showing 100-200/330 chars. 130 chars remaining. Call get_continuation with tool_call_id="call_0" offset=200 to read more]
    model: get_continuation {"offset":100,"tool_call_id":"call_0"}
    tool: Duplicate call: you just called get_continuation with the same arguments and it returned: what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the t ⏎  ⏎ [truncated — showing 100-200/330 chars. 130 chars remaining. Call get_continuation with tool_call_id="call_0" offset=200 to read more] ⏎ If the operation isn't working as expected, try a different approach.
    Success: done
    "#);
}

#[tokio::test]
async fn whoever_only_pages_comes_to_an_end() {
    let mut says = vec![calls(&[give(5000)])];
    says.extend((1..200).map(|at| page("call_0", &json!(at))));
    let row = Row {
        window: 60_000,
        max_turns: 3,
        ..row(says)
    };
    let model = scripted(row.says.clone(), Arc::default());
    let stage = row.stage(&model, None);
    let (finished, _) = stage.run(&model, row.until.clone()).await;
    assert_eq!(finished.turns, 3 + MAX_PAGING_TURNS);
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_seeds_json() {
    let row = row(vec![
        calls(&[give(330)]),
        page("call_9", &json!(100)),
        page("call_0", &json!(330)),
        page("call_0", &json!(-1)),
        calls(&[(GET_CONTINUATION, json!({}))]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":330}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/330 chars. Call get_continuation with tool_call_id="call_0" to read more]
    model: get_continuation {"offset":100,"tool_call_id":"call_9"}
    tool!: {"error": "No cached result for tool_call_id 'call_9'"}
    model: get_continuation {"offset":330,"tool_call_id":"call_0"}
    tool!: {"error": "Offset beyond end of result"}
    model: get_continuation {"offset":-1,"tool_call_id":"call_0"}
    tool!: {"error": "offset must be a non-negative integer"}
    model: get_continuation {}
    tool!: {"error": "No cached result for tool_call_id ''"}
    Success: done
    "#);
}

#[tokio::test]
async fn results_of_the_same_id_are_told_apart() {
    let twice = |short_ids, second: &str| Row {
        by: By::Pages { short_ids },
        ..row(vec![
            calls(&[give(330)]),
            calls(&[give(430)]),
            page(second, &json!(400)),
            done(),
        ])
    };
    let long = twice(false, "HANDLE-0").told().await;
    let short = twice(true, "2").told().await;
    assert_snapshot!(format!("{long}\n--- short ids\n{short}"), @r#"
    user: Find out.
    model: give {"bytes":330}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/330 chars. Call get_continuation with tool_call_id="call_0" to read more]
    model: give {"bytes":430}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/430 chars. Call get_continuation with tool_call_id="HANDLE-0" to read more]
    model: get_continuation {"offset":400,"tool_call_id":"HANDLE-0"}
    tool: 4 of what the tool gives ⏎ line 
    Success: done
    --- short ids
    user: Find out.
    model: give {"bytes":330}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/330 chars. Call get_continuation with tool_call_id="1" to read more]
    model: give {"bytes":430}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/430 chars. Call get_continuation with tool_call_id="2" to read more]
    model: get_continuation {"offset":400,"tool_call_id":"2"}
    tool: 4 of what the tool gives ⏎ line 
    Success: done
    "#);
}

#[tokio::test]
async fn pages_within_a_batch() {
    let row = row(vec![
        calls(&[give(330)]),
        calls(&[(
            BATCH,
            json!({"calls": [
                {"id": "a", "tool": GET_CONTINUATION, "parameters": {"tool_call_id": "call_0", "offset": 100}},
                {"id": "b", "tool": GET_CONTINUATION, "parameters": {"tool_call_id": "call_0", "offset": 300}},
            ]}),
        )]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":330}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of  ⏎  ⏎ [truncated — showing 100/330 chars. Call get_continuation with tool_call_id="call_0" to read more]
    model: agent__batch {"calls":[{"id":"a","parameters":{"offset":100,"tool_call_id":"call_0"},"tool":"get_continuation"},{"id":"b","parameters":{"offset":300,"tool_call_id":"call_0"},"tool":"get_continuation"}]}
    tool: {"results":[{"id":"a","ok":true,"output":"what the tool gives\nline 5 of what the tool gives\nline 6 of what the tool gives\nline 7 of what the t\n\n[truncated — showing 100-200/330 chars. 130 chars remaining. Call get_continuation with tool_call_id=\"call_0\" offset=200 to read more]","tool":"get_continuation"},{"id":"b","ok":true,"output":"\nline 11 of what the tool give","tool":"get_continuation"}]}
    Success: done
    "#);
}

#[tokio::test]
async fn of_what_would_overflow_a_part_is_shown() {
    let row = Row {
        cap: 4000,
        window: 1480,
        ..row(vec![
            calls(&[give(2400)]),
            page("call_0", &json!(600)),
            done(),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":2400}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool give … ll get_continuation with tool_call_id="call_0" to read more] (703 bytes)
    model: get_continuation {"offset":600,"tool_call_id":"call_0"}
    tool: tool gives ⏎ line 21 of what the tool gives ⏎ line 22 of wha … nuation with tool_call_id="call_0" offset=1200 to read more] (742 bytes)
    Success: done
    "#);
}

#[tokio::test]
async fn only_what_this_session_stored_can_be_paged_through() {
    let row = row(vec![
        calls(&[give(330)]),
        page("another", &json!(100)),
        done(),
    ]);
    let origin = Origin {
        call_id: Some("another".into()),
        ..Origin::tool("another session's")
    };
    let text = lines(500);
    let outcome = row
        .offloader()
        .stream(origin, &mut text.as_bytes(), &mut |_| {});
    assert!(outcome.is_ok());
    let told = row.told().await;
    assert!(
        told.contains(r#"{"error": "No cached result for tool_call_id 'another'"}"#),
        "{told}"
    );
}
