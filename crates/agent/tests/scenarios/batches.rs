//! Tests batches when there is little room, and batches of small results.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_agent::{BATCH, Decided, Format};
use spillgate_conversation::{Nonce, Slot};
use spillgate_llm::Scripted;

use crate::stage::{Row, calls, done, give};

/// A batch of `count` results of `bytes` bytes each.
fn batch(count: usize, bytes: u64) -> (&'static str, Value) {
    let call = |at| json!({"id": format!("{at}"), "tool": "give", "parameters": {"bytes": bytes}});
    (
        BATCH,
        json!({"calls": (1..=count).map(call).collect::<Vec<_>>()}),
    )
}

/// Plays a row and counts its calls: those whose results stayed in the conversation to the end,
/// those whose results were dropped, and all others.
async fn counted(row: Row) -> (usize, usize, usize) {
    let (_, trace) = row.played().await;
    let calls = trace.root.children.iter().flat_map(|turn| &turn.children);
    // The calls of a batch are below it.
    let calls = calls.flat_map(|call| std::iter::once(call).chain(&call.children));
    let mut counted = (0, 0, 0);
    for call in calls {
        match call.decided {
            Some(Decided::Shown) if !call.left_out => counted.0 += 1,
            Some(Decided::Dropped) if !call.left_out => counted.1 += 1,
            Some(_) => counted.2 += 1,
            None => {}
        }
    }
    counted
}

/// A row with a batch of 25 small results and a window of `window` tokens.
fn small_results(window: u64) -> Row {
    Row {
        window,
        calls_per_turn: 25,
        ..Row::new(vec![calls(&[batch(25, 60)]), done()])
    }
}

/// Returns the smallest window in which all results of a row are shown.
async fn smallest(row: fn(u64) -> Row, results: usize) -> u64 {
    let (mut too_small, mut enough) = (1000, 6000);
    while enough - too_small > 1 {
        let middle = u64::midpoint(too_small, enough);
        match counted(row(middle)).await == (results, 0, 0) {
            true => enough = middle,
            false => too_small = middle,
        }
    }
    enough
}

#[tokio::test]
async fn a_batch_that_is_over_by_a_few_tokens_keeps_the_rest() {
    let enough = smallest(small_results, 25).await;
    for (less, dropped) in [(0, 0), (1, 2), (20, 2), (200, 9)] {
        let counted = counted(small_results(enough - less)).await;
        assert_eq!(counted, (25 - dropped, dropped, 0), "{less} tokens less");
    }
}

fn few_results(window: u64) -> Row {
    Row {
        window,
        ..Row::new(vec![calls(&[batch(4, 120)]), done()])
    }
}

#[tokio::test]
async fn what_is_dropped_of_a_batch_is_told_once() {
    let enough = smallest(few_results, 4).await;
    assert_snapshot!(few_results(enough - 40).told().await, @r#"
    user: Find out.
    model: agent__batch {"calls":[{"id":"1","parameters":{"bytes":120},"tool":"give"},{"id":"2","parameters":{"bytes":120},"tool":"give"},{"id":"3","parameters":{"bytes":120},"tool":"give"},{"id":"4","parameters":{"bytes":120},"tool":"give"}]}
    tool: {"failed":[{"code":"EXECUTION_ERROR","ids":["3","4"],"message":"(tool failed: context window budget exceeded)"}],"results":[{"id":"1","ok":true,"output":"line 1 of what the tool gives\nline 2 of what the tool gives\nline 3 of what the tool gives\nline 4 of what the tool gives\n","tool":"give"},{"id":"2","ok":true,"output":"line 1 of what the tool gives\nline 2 of what the tool gives\nline 3 of what the tool gives\nline 4 of what the tool gives\n","tool":"give"}]}
    user: This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    Success: done
    "#);
}

#[tokio::test]
async fn what_is_smaller_than_its_handle_is_not_stored_for_want_of_room() {
    fn row(window: u64) -> Row {
        Row {
            window,
            ..Row::new(vec![calls(&vec![give(240); 5]), done()])
        }
    }
    let enough = smallest(row, 5).await;
    assert_eq!(counted(row(enough - 1)).await, (4, 1, 0));
    // The lines are sorted, because the calls run at the same time and end in any order.
    let told = row(enough - 1).told().await;
    let mut told: Vec<&str> = told.lines().collect();
    told.sort_unstable();
    assert_snapshot!(told.join("\n"), @r#"
    Success: done
    model: give {"bytes":240}; give {"bytes":240}; give {"bytes":240}; give {"bytes":240}; give {"bytes":240}
    tool!: (tool failed: context window budget exceeded)
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the tool gives ⏎ line 8 of what the tool gives ⏎ 
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the tool gives ⏎ line 8 of what the tool gives ⏎ 
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the tool gives ⏎ line 8 of what the tool gives ⏎ 
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the tool gives ⏎ line 8 of what the tool gives ⏎ 
    user: Find out.
    user: This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    "#);
}

#[tokio::test]
async fn the_calls_of_a_batch_count_among_those_of_its_reply() {
    let row = Row {
        calls_per_turn: 3,
        ..Row::new(vec![calls(&[batch(4, 10), give(20)]), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: agent__batch {"calls":[{"id":"1","parameters":{"bytes":10},"tool":"give"},{"id":"2","parameters":{"bytes":10},"tool":"give"},{"id":"3","parameters":{"bytes":10},"tool":"give"},{"id":"4","parameters":{"bytes":10},"tool":"give"}]}; give {"bytes":20}
    tool: {"results":[{"id":"1","ok":true,"output":"line 1 of ","tool":"give"},{"id":"2","ok":true,"output":"line 1 of ","tool":"give"},{"error":{"code":"EXECUTION_ERROR","message":"This call was not made: a reply may have 3 calls, those in batches among them. Call again if it is still needed."},"id":"3","ok":false,"tool":"give"},{"error":{"code":"EXECUTION_ERROR","message":"This call was not made: a reply may have 3 calls, those in batches among them. Call again if it is still needed."},"id":"4","ok":false,"tool":"give"}]}
    tool: line 1 of what the t
    Success: done
    "#);
}

#[tokio::test]
async fn handles_stay_longer_than_old_words() {
    let row = Row {
        window: 1700,
        ..Row::new(vec![
            calls(&[give(5000)]),
            Scripted::says("I think. ".repeat(200)),
            Scripted::says("I still think. ".repeat(150)),
            done(),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {}
    tool: Tool output is too large (5000 bytes, 160 lines, 1250 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    model: (left out)
    user: Your reply has neither a call nor a report. Call a tool, or finish: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    model: I still think. I still think. I still think. I still think.  … I still think. I still think. I still think. I still think.  (2250 bytes)
    user: Your reply has neither a call nor a report. This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    Success: done
    "#);
}

#[tokio::test]
async fn a_report_that_is_wrong_at_length_is_told_so_in_short() {
    let number = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {"a": number, "b": number, "c": number}});
    let slot = Slot::new(Nonce::of([1; 16])).of_format("json");
    let large = "wrong ".repeat(1500);
    let value = json!({"a": large, "b": large, "c": large});
    let written = format!("{}{value}{}", slot.opening(), slot.closing());
    let row = Row {
        window: 3500,
        format: Format::Json(Some(schema)),
        ..Row::new(vec![Scripted::says(written), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: (left out)
    user: The report is not of its schema: "wrong wrong wrong wrong wr … on"> and </ai-agent-01010101010101010101010101010101-FINAL>. (1229 bytes)
    model: agent__final_report {"report_content":"done"}
    Failed("the conversation was full, the last reply had no report (\"The report is not JSON: expected value at line 1 column 1.\")"): {"said":"<ai-agent-01010101010101010101010101010101-FINAL fo …  report is not JSON: expected value at line 1 column 1.\")"} (27308 bytes)
    "#);
}
