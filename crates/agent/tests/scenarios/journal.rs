//! Tests the contents of a session's trace.

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use serde_json::json;
use spillgate_agent::{BATCH, Decided, Part, TOOL_OUTPUT, Trace, Until};
use spillgate_llm::{
    ChatModel, ErrorKind, LlmError, ModelLimits, OnDelta, Priced, Prices, ReplyFuture, Request,
    Scripted, Target,
};
use spillgate_testkit::in_slot;
use tokio_util::sync::CancellationToken;

use crate::results::Full;
use crate::stage::{By, Row, calls, done, give, tree};

/// A model for extraction that gives one answer for each chunk.
fn reader() -> Scripted {
    let script = |seen: &spillgate_llm::ScriptedRequest| {
        let answer = in_slot(&seen.request.system, "`line 1 of what the tool gives` [L1]");
        Ok(Scripted::says(answer))
    };
    Scripted::new(script).with_limits(8000, 1000)
}

fn extracting(extracts: Arc<dyn ChatModel>) -> Row {
    let ask = json!({"handle": "HANDLE-0", "extract": "the first line", "mode": "full-chunked"});
    Row {
        extracts: Some(extracts),
        ..Row::new(vec![
            calls(&[
                give(20),
                give(40_000),
                ("give", json!({"bytes": 20, "fails": true})),
            ]),
            calls(&[(TOOL_OUTPUT, ask)]),
            done(),
        ])
    }
}

#[tokio::test]
async fn a_trace_has_everything_and_can_be_read_again() {
    let prices = Prices {
        input: 1.0,
        output: 10.0,
        cached_input: None,
        cache_write: None,
    };
    let (_, trace) = extracting(Arc::new(Priced::new(reader(), prices)))
        .played()
        .await;
    assert_snapshot!(tree(&trace.root), @"
    Agent test
      Turn turn 1
        Llm model, 2 messages, gave 75 bytes
        Tool give, of test, gave 20 bytes, Shown, 5 tokens shown
        Tool give, of test, gave 40000 bytes, Stored (size_cap), 74 tokens shown
        Tool give, of test, gave 20 bytes, Failed, 5 tokens shown, error: line 1 of what the t
      Turn turn 2
        Llm model, 4 messages, gave 157 bytes
        Tool tool_output, gave 328 bytes, Shown, 82 tokens shown
          Session tool_output
            Internal route full-chunked to full-chunked
            Session full-chunked
              Llm map 1/3, 2 messages, gave 149 bytes
              Llm map 2/3, 2 messages, gave 149 bytes
              Llm map 3/3, 2 messages, gave 149 bytes
              Llm reduce 1.1/1, 2 messages, gave 149 bytes
            Internal ground
      Turn turn 3
        Llm model, 6 messages, gave 47 bytes
    ");
    let account = &trace.accounting;
    let extraction = account.of_part(Part::ToolOutput);
    assert!(extraction.calls >= 2 && extraction.usage.cost.is_some());
    assert_eq!(account.of_part(Part::Own).calls, 3);
    assert_eq!(account.total.calls, 3 + extraction.calls);
    let tools: Vec<_> = account
        .tools
        .iter()
        .map(|one| (&*one.tool, one.calls, one.failures, one.stored, one.bytes))
        .collect();
    assert_eq!(tools[1], ("give", 3, 1, 1, 40_040));
    let text = serde_json::to_string(&trace).unwrap();
    assert_eq!(serde_json::from_str::<Trace>(&text).unwrap(), trace);
}

/// A model that refuses every request.
fn failing() -> Scripted {
    let script = |_: &spillgate_llm::ScriptedRequest| {
        let target = Target::new("scripted", "model");
        Err(LlmError::new(ErrorKind::Provider, target, "HTTP 400"))
    };
    Scripted::new(script).with_limits(8000, 1000)
}

#[tokio::test]
async fn extractions_are_counted_by_strategy_and_fallbacks() {
    let mut told = Vec::new();
    for model in [reader(), failing()] {
        let (_, trace) = extracting(Arc::new(model)).played().await;
        told.push(json!(trace.accounting)["extractions"].to_string());
    }
    assert_snapshot!(told.join("\n"), @r#"
    {"failures":0,"fallbacks":0,"strategies":{"full-chunked":1}}
    {"failures":0,"fallbacks":1,"strategies":{"truncate":1}}
    "#);
}

/// Returns the decisions about the results of a row in a fixed order, because the calls race.
async fn decided(row: Row) -> String {
    let (_, trace) = row.played().await;
    let calls = trace.root.children.iter().flat_map(|turn| &turn.children);
    let calls = calls.flat_map(|call| std::iter::once(call).chain(&call.children));
    let mut decided: Vec<String> = calls
        .filter_map(|call| {
            let decided = match call.decided? {
                Decided::Stored { reason, .. } => format!("Stored ({reason})"),
                Decided::NotStored { reason } => format!("NotStored ({reason})"),
                other => format!("{other:?}"),
            };
            let then = if call.left_out { ", left out" } else { "" };
            Some(format!("{decided}{then}"))
        })
        .collect();
    decided.sort();
    decided.join("; ")
}

#[tokio::test]
async fn what_became_of_each_result_is_in_the_trace() {
    let quotes = json!({"calls": [{"id": "1", "tool": "quotes", "parameters": {"bytes": 1800}}]});
    let rows = [
        Row::new(vec![calls(&[give(20), give(5000)]), done()]),
        Row {
            by: By::Nothing,
            ..Row::new(vec![calls(&[give(5000)]), done()])
        },
        Row {
            cap: 50_000,
            window: 1300,
            ..Row::new(vec![calls(&vec![give(700); 5]), done()])
        },
        Row {
            cap: 0,
            window: 1300,
            by: By::Nothing,
            ..Row::new(vec![calls(&vec![give(4000); 5]), done()])
        },
        Row {
            cap: 50_000,
            window: 1800,
            ..Row::new(vec![calls(&[(BATCH, quotes)]), done()])
        },
        Row {
            store: Arc::new(Full),
            ..Row::new(vec![calls(&[give(5000)]), done()])
        },
    ];
    let mut told = Vec::new();
    for row in rows {
        told.push(decided(row).await);
    }
    assert_snapshot!(told.join("\n"), @"
    Shown; Stored (size_cap)
    Cut
    Shown, left out; Stored (token_budget); Stored (token_budget); Stored (token_budget); Stored (token_budget)
    Dropped; Dropped; Dropped; Dropped; NotMade
    Stored (reserve_failed)
    NotStored (size_cap)
    ");
}

#[tokio::test]
async fn the_document() {
    let (_, trace) = Row::new(vec![calls(&[give(5000)]), done()]).played().await;
    let document = serde_json::to_value(&trace).unwrap();
    let keys = document.as_object().unwrap().iter();
    let told: Vec<String> = keys
        .map(|(key, value)| match key.as_str() {
            "root" => "root: …".to_owned(),
            _ => format!("{key}: {value}"),
        })
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    accounting: {"models":[{"calls":2,"part":"own","target":"scripted/model","unanswered":0,"usage":{"cache_write":0,"cached_input":0,"input":977,"output":0}}],"tools":[{"bytes":5000,"cached":0,"calls":1,"cut":0,"dropped":0,"failures":0,"server":"test","stored":1,"tokens_shown":73,"tool":"give"}],"total":{"calls":2,"unanswered":0,"usage":{"cache_write":0,"cached_input":0,"input":977,"output":0}}}
    agent: "test"
    ended: "2027-01-15T08:00:00Z"
    ending: {"status":"success"}
    report: {"content":"done","format":"text","source":"tool"}
    root: …
    setup: {"calls_per_turn":5,"format":"text","max_turns":5,"models":["scripted/model"],"retrieval":"tool_output","tools":3,"window":{"buffer":100,"max_output":200,"window":6000}}
    started: "2027-01-15T08:00:00Z"
    task: "Find out."
    task_bytes: 9
    version: 1
    "#);
}

/// A model that answers once. On the next request it never answers, and the session is cancelled.
#[derive(Debug)]
struct Stuck {
    reader: Scripted,
    cancels: Mutex<(usize, CancellationToken)>,
}

impl ChatModel for Stuck {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        let mut cancels = self.cancels.lock().unwrap();
        cancels.0 += 1;
        if cancels.0 > 1 {
            cancels.1.cancel();
            return Box::pin(std::future::pending());
        }
        self.reader.chat(request, deltas)
    }

    fn target(&self) -> Target {
        self.reader.target()
    }

    fn limits(&self) -> ModelLimits {
        self.reader.limits()
    }
}

#[tokio::test]
async fn an_extraction_that_is_cut_off_is_in_the_trace_up_to_there() {
    let cancels = CancellationToken::new();
    let stuck = Stuck {
        reader: reader(),
        cancels: Mutex::new((0, cancels.clone())),
    };
    let mut row = extracting(Arc::new(stuck));
    row.until = Until {
        cancelled: Some(cancels.clone()),
        ..Until::default()
    };
    let (_, trace) = row.played().await;
    assert_snapshot!(tree(&trace.root), @"
    Agent test, error: it was cancelled
      Turn turn 1
        Llm model, 2 messages, gave 75 bytes
        Tool give, of test, gave 20 bytes, Shown, 5 tokens shown
        Tool give, of test, gave 40000 bytes, Stored (size_cap), 74 tokens shown
        Tool give, of test, gave 20 bytes, Failed, 5 tokens shown, error: line 1 of what the t
      Turn turn 2, unfinished
        Llm model, 4 messages, gave 157 bytes
        Tool tool_output, unfinished
          Session tool_output, unfinished
            Internal route full-chunked to full-chunked
            Session full-chunked, unfinished
              Llm map 1/3, 2 messages, gave 149 bytes
              Llm map 2/3, 2 messages, unfinished
    ");
}

#[tokio::test]
async fn a_trace_does_not_grow_with_what_was_read() {
    let bytes = |bytes| async move {
        let row = Row {
            cap: 0,
            window: 3000,
            by: By::Nothing,
            ..Row::new(vec![calls(&[give(bytes)]), done()])
        };
        let (_, trace) = row.played().await;
        serde_json::to_string(&trace).unwrap().len()
    };
    let (small, large) = (bytes(100_000).await, bytes(3_000_000).await);
    assert!(large.abs_diff(small) < 100, "{small} {large}");
}

#[tokio::test]
async fn batches_and_calls_that_are_refused_are_in_the_tree() {
    let batch = json!({"calls": [
        {"id": "a", "tool": "give", "parameters": {"bytes": 20}},
        {"id": "b", "tool": "agent__final_report", "parameters": {}},
        {"id": "c", "tool": "nobody", "parameters": {}},
    ]});
    let row = Row {
        max_turns: 2,
        ..Row::new(vec![
            calls(&[(BATCH, batch), ("nobody", json!({}))]),
            calls(&[give(1), ("tool_output", json!({}))]),
        ])
    };
    let (told, trace) = row.played().await;
    assert_eq!(
        trace
            .accounting
            .tools
            .iter()
            .map(|tool| (&*tool.tool, tool.calls, tool.failures))
            .collect::<Vec<_>>(),
        [
            ("agent__final_report", 1, 1),
            ("give", 1, 1),
            ("nobody", 2, 2),
            ("tool_output", 1, 1),
            ("give", 1, 0)
        ]
    );
    let ending = told.lines().last().unwrap_or_default();
    assert_snapshot!(format!("{ending}\n---\n{}", tree(&trace.root)), @r#"
    Failed("the turns were used up, the last reply had no report (\"Your reply called give, tool_output, but the final turn takes nothing but the report.\")"): No final report: the turns were used up, the last reply had no report ("Your reply called give, tool_output, but the final turn takes nothing but the report.").
    ---
    Agent test, error: the turns were used up, the last reply had no report ("Your 
      Turn turn 1
        Llm model, 2 messages, gave 188 bytes
        Tool agent__batch
          Tool agent__final_report, Refused, error: INTERNAL_NOT_ALLOWED: It cannot be called within a batch.
          Tool nobody, Refused, error: There is no tool 'nobody'; there are give, hang, quotes, age
          Tool give, of test, gave 20 bytes, Shown, 5 tokens shown
        Tool nobody, Refused, error: There is no tool 'nobody'; there are give, hang, quotes, age
      Turn turn 2
        Llm model, 5 messages, gave 35 bytes
        Tool give, Refused, error: Your reply called give, tool_output, but the final turn take
        Tool tool_output, Refused, error: Your reply called give, tool_output, but the final turn take
    "#);
}
