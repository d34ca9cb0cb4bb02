//! Tests what happens to a result: it is shown, stored, cut or dropped.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_agent::{BATCH, CallId, OpKind, Planned, Span, TOOL_OUTPUT};
use spillgate_artifact::{Handle, Manifest, Timestamp};
use spillgate_llm::ToolCall;
use spillgate_store::{ArtifactStore, Draft, Gone, Listed, StoreError, Stored};

use crate::stage::{By, Row, calls, done, give};

#[tokio::test]
async fn a_result_within_the_cap_is_shown() {
    let row = Row::new(vec![calls(&[give(90)]), done()]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":90}
    tool: line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ 
    Success: done
    "#);
}

#[tokio::test]
async fn over_the_size_cap_there_is_a_handle_and_tool_output_reads_it() {
    let row = Row::new(vec![
        calls(&[give(5000)]),
        calls(&[(
            TOOL_OUTPUT,
            json!({"handle": "HANDLE-0", "extract": "the line", "mode": "truncate"}),
        )]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: Tool output is too large (5000 bytes, 160 lines, 1250 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    model: tool_output {"extract":"the line","handle":"HANDLE-0","mode":"truncate"}
    tool: ABSTRACT FROM TOOL OUTPUT give WITH HANDLE HANDLE-0, STRATEG … ves ⏎ line 159 of what the tool gives ⏎ line 160 of what the (1073 bytes)
    Success: done
    "#);
}

#[tokio::test]
async fn over_the_token_budget_it_is_stored_too() {
    let row = Row {
        cap: 50_000,
        window: 3000,
        ..Row::new(vec![calls(&[give(10_000)]), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":10000}
    tool: Tool output is too large (10000 bytes, 316 lines, 2500 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    Success: done
    "#);
}

#[tokio::test]
async fn of_two_that_fit_alone_one_is_stored() {
    let row = Row {
        cap: 50_000,
        window: 3000,
        ..Row::new(vec![calls(&[give(6_000), give(6_000)]), done()])
    };
    let told = row.told().await;
    // The two calls race for the room: the first result to arrive is shown.
    assert_eq!(told.matches("(6000 bytes)").count(), 1);
    assert_eq!(
        told.matches("Tool output is too large (6000 bytes, ")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_batch_takes_the_same_way() {
    let row = Row::new(vec![
        calls(&[(
            BATCH,
            json!({"calls": [
                {"id": "a", "tool": "give", "parameters": {"bytes": 5000}},
                {"id": "b", "tool": "give", "parameters": {"bytes": 100}},
                {"id": "c", "tool": TOOL_OUTPUT, "parameters": {"handle": "x/y", "extract": "z"}},
            ]}),
        )]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: agent__batch {"calls":[{"id":"a","parameters":{"bytes":5000},"tool":"give"},{"id":"b","parameters":{"bytes":100},"tool":"give"},{"id":"c","parameters":{"extract":"z","handle":"x/y"},"tool":"tool_output"}]}
    tool: {"results":[{"id":"a","ok":true,"output":"Tool output is too large (5000 bytes, 160 lines, 1250 tokens).\nCall tool_output(handle = \"HANDLE-0\", extract = \"what to extract\").\nProvide precise and detailed instructions in `extract` about what you are looking for.","tool":"give"},{"id":"b","ok":true,"output":"line 1 of what the tool gives\nline 2 of what the tool gives\nline 3 of what the tool gives\nline 4 of ","tool":"give"},{"error":{"code":"EXECUTION_ERROR","message":"There is no tool 'tool_output'; there are give, hang, quotes, agent__final_report, agent__batch."},"id":"c","ok":false,"tool":"tool_output"}]}
    Success: done
    "#);
}

#[tokio::test]
async fn a_handle_that_overflows_itself_ends_it() {
    let row = Row {
        cap: 50_000,
        window: 1140,
        ..Row::new(vec![
            calls(&[give(700), give(700), give(700), give(700)]),
            done(),
        ])
    };
    // It is not known which of the four results arrives first.
    let told = row.told().await;
    let mut told: Vec<&str> = told.lines().collect();
    told[2..6].sort_unstable_by_key(|line| line.starts_with("tool!"));
    assert_snapshot!(told.join("\n"), @r#"
    user: Find out.
    model: give {}; give {}; give {}; give {}
    tool: Tool output is too large (700 bytes, 23 lines, 175 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    tool: Tool output is too large (700 bytes, 23 lines, 175 tokens). ⏎ Call tool_output(handle = "HANDLE-1", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    tool!: (tool failed: context window budget exceeded)
    tool!: (tool failed: context window budget exceeded)
    user: This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    Success: done
    "#);
}

#[tokio::test]
async fn switched_off_the_middle_is_cut() {
    let row = Row {
        by: By::Nothing,
        ..Row::new(vec![calls(&[give(5000)]), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: [TRUNCATED IN THE MIDDLE BY ~4077 BYTES] ⏎ line 1 of what th … ves ⏎ line 159 of what the tool gives ⏎ line 160 of what the (1000 bytes)
    Success: done
    "#);
}

#[tokio::test]
async fn on_the_final_turn_only_the_report_is_left() {
    let row = Row {
        max_turns: 2,
        ..Row::new(vec![calls(&[give(5000)]), calls(&[give(1)])])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: Tool output is too large (5000 bytes, 160 lines, 1250 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    user: This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    model: give {"bytes":1}
    Failed("the turns were used up, the last reply had no report (\"Your reply called give, but the final turn takes nothing but the report.\")"): No final report: the turns were used up, the last reply had no report ("Your reply called give, but the final turn takes nothing but the report.").
    "#);
}

#[tokio::test]
async fn a_failure_is_stored_and_stays_a_failure() {
    let fails = ("give", json!({"bytes": 5000, "fails": true}));
    let inner = json!({"id": "a", "tool": "give", "parameters": fails.1});
    let row = Row::new(vec![
        calls(std::slice::from_ref(&fails)),
        calls(&[(BATCH, json!({"calls": [inner]}))]),
        done(),
    ]);
    let (told, trace) = row.played().await;
    let tool = &trace.accounting.tools[0];
    assert_eq!((tool.failures, tool.stored, tool.cut), (2, 2, 0));
    assert_snapshot!(told, @r#"
    user: Find out.
    model: give {"bytes":5000,"fails":true}
    tool!: Tool output is too large (5000 bytes, 160 lines, 1250 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    model: agent__batch {"calls":[{"id":"a","parameters":{"bytes":5000,"fails":true},"tool":"give"}]}
    tool: {"results":[{"error":{"code":"EXECUTION_ERROR","message":"Tool output is too large (5000 bytes, 160 lines, 1250 tokens).\nCall tool_output(handle = \"HANDLE-1\", extract = \"what to extract\").\nProvide precise and detailed instructions in `extract` about what you are looking for."},"id":"a","ok":false,"tool":"give"}]}
    Success: done
    "#);
    // If results are not stored, the middle of this result is cut out, and the account counts it as
    // cut.
    let row = Row {
        by: By::Nothing,
        ..Row::new(vec![calls(&[fails]), done()])
    };
    let (told, trace) = row.played().await;
    let tool = &trace.accounting.tools[0];
    assert_eq!((tool.failures, tool.stored, tool.cut), (1, 0, 1));
    assert_snapshot!(told, @r#"
    user: Find out.
    model: give {"bytes":5000,"fails":true}
    tool!: [TRUNCATED IN THE MIDDLE BY ~4077 BYTES] ⏎ line 1 of what th … ves ⏎ line 159 of what the tool gives ⏎ line 160 of what the (1000 bytes)
    Success: done
    "#);
}

#[tokio::test]
async fn a_failure_without_room_is_stored_too() {
    let row = Row {
        cap: 50_000,
        window: 3000,
        ..Row::new(vec![
            calls(&[("give", json!({"bytes": 10_000, "fails": true}))]),
            done(),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":10000,"fails":true}
    tool!: Tool output is too large (10000 bytes, 316 lines, 2500 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    Success: done
    "#);
}

#[tokio::test]
async fn an_empty_result_is_a_space() {
    let row = Row::new(vec![calls(&[give(0)]), done()]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":0}
    tool:  
    Success: done
    "#);
}

#[tokio::test]
async fn what_may_not_be_stored_and_does_not_fit_is_dropped_though_the_tool_succeeded() {
    let row = Row {
        cap: 0,
        window: 3000,
        by: By::Nothing,
        ..Row::new(vec![calls(&[give(12_000)]), calls(&[give(1)])])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":12000}
    tool!: (tool failed: context window budget exceeded)
    user: This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    model: give {"bytes":1}
    Failed("the conversation was full, the last reply had no report (\"Your reply called give, but the final turn takes nothing but the report.\")"): No final report: the conversation was full, the last reply had no report ("Your reply called give, but the final turn takes nothing but the report.").
    "#);
}

#[tokio::test]
async fn in_a_batch_tool_output_reads_what_is_stored() {
    let row = Row::new(vec![
        calls(&[give(5000)]),
        calls(&[(
            BATCH,
            json!({"calls": [
                {"id": "a", "tool": TOOL_OUTPUT, "parameters": {"handle": "HANDLE-0", "extract": "the first line", "mode": "search"}},
                {"id": "b", "tool": "give", "parameters": {"bytes": 20}},
            ]}),
        )]),
        done(),
    ]);
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: Tool output is too large (5000 bytes, 160 lines, 1250 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    model: agent__batch {"calls":[{"id":"a","parameters":{"extract":"the first line","handle":"HANDLE-0","mode":"search"},"tool":"tool_output"},{"id":"b","parameters":{"bytes":20},"tool":"give"}]}
    tool: {"results":[{"id":"a","ok":true,"output":"ABSTRACT FROM TOOL … ","ok":true,"output":"line 1 of what the t","tool":"give"}]} (1345 bytes)
    Success: done
    "#);
}

#[tokio::test]
async fn what_tool_output_gives_is_never_stored() {
    let ask = json!({"handle": "HANDLE-0", "extract": "all of it", "mode": "truncate"});
    let row = Row {
        cap: 600,
        ..Row::new(vec![
            calls(&[give(50_000)]),
            calls(&[(TOOL_OUTPUT, ask)]),
            done(),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":50000}
    tool: Tool output is too large (50000 bytes, 1549 lines, 12500 tokens). ⏎ Call tool_output(handle = "HANDLE-0", extract = "what to extract"). ⏎ Provide precise and detailed instructions in `extract` about what you are looking for.
    model: tool_output {"extract":"all of it","handle":"HANDLE-0","mode":"truncate"}
    tool: ABSTRACT FROM TOOL OUTPUT give WITH HANDLE HANDLE-0, STRATEGY:truncate: ⏎  ⏎ [TRUNCATED IN THE MIDDLE BY ~49506 BYTES] ⏎ line 1 of what the tool gives ⏎ line 2 of what the tool gives ⏎ line 3 of what the tool gives ⏎ line 4 of what the tool gives ⏎ line 5 of what the tool gives ⏎ line 6 of what the tool gives ⏎ line 7 of what the tool gives ⏎ line 8 of what the tool gives ⏎ [···TRUNCATED 49506 bytes···] ⏎ line 1542 of what the tool gives ⏎ line 1543 of what the tool gives ⏎ line 1544 of what the tool gives ⏎ line 1545 of what the tool gives ⏎ line 1546 of what the tool gives ⏎ line 1547 of what the tool gives ⏎ line 1548 of what the tool gives ⏎ line 1549 of what the t
    Success: done
    "#);
}

/// A store that is full.
#[derive(Debug)]
pub(crate) struct Full;

fn full() -> StoreError {
    StoreError::Full {
        path: PathBuf::from("/full"),
        source: io::ErrorKind::StorageFull.into(),
    }
}

impl ArtifactStore for Full {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        Err(full())
    }

    fn open(&self, _: Handle) -> Result<Stored, StoreError> {
        Err(full())
    }

    fn manifest(&self, _: Handle) -> Result<Manifest, StoreError> {
        Err(full())
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }

    fn remove(&self, _: Handle, _: Gone, _: Timestamp) -> Result<(), StoreError> {
        Err(full())
    }

    fn pin(&self, _: Handle, _: bool) -> Result<(), StoreError> {
        Err(full())
    }
}

#[tokio::test]
async fn without_room_in_the_store_the_ends_are_shown_and_nothing_to_call() {
    // The first result would be held in memory, the second would stream into a draft.
    let row = Row {
        store: Arc::new(Full),
        ..Row::new(vec![calls(&[give(5000)]), calls(&[give(400_000)]), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: give {"bytes":5000}
    tool: [spillgate] give returned 5000 bytes, 160 lines, 1250 tokens … ves ⏎ line 159 of what the tool gives ⏎ line 160 of what the (1000 bytes)
    model: give {"bytes":400000}
    tool: [spillgate] give returned 400000 bytes, 12092 lines, ≈100000 … ool gives ⏎ line 12091 of what the tool gives ⏎ line 12092 o (1000 bytes)
    Success: done
    "#);
}

#[tokio::test]
async fn a_tool_that_has_a_name_of_ours_is_not_offered() {
    let row = Row::new(Vec::new());
    let tools = row.orchestrator().tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["give", "hang", "quotes"]);
}

#[tokio::test]
async fn what_is_stored_for_its_size_is_neither_read_nor_counted() {
    let (_, arguments) = give(5_000_000);
    let call = ToolCall {
        id: "1".into(),
        name: "give".into(),
        arguments: arguments.to_string(),
    };
    let planned = Planned {
        id: CallId::of(&call),
        call,
    };
    let span = Span::root(OpKind::Tool, "give");
    let orchestrator = Row::new(Vec::new()).orchestrator();
    let returned = orchestrator.call(&planned, span.scope()).await;
    assert!(returned.is_over);
    assert_eq!((returned.whole, returned.cut), (None, None));
    let preview = span.scope().snapshot().response_preview;
    assert_eq!(preview.map(|text| text.len()), Some(4096));
}
