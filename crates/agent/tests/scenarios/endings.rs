//! Tests how sessions end, and what they leave behind.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_agent::{BATCH, Ending, Event, FINAL_REPORT, Format, Host, Status, Until, Watcher};
use spillgate_llm::{ChatModel, ErrorKind, LlmError, Request, Scripted, Target};
use spillgate_store::{FileStore, Lifetime};
use spillgate_testkit::StoppedClock;
use tokio_util::sync::CancellationToken;

use crate::stage::{Row, calls, done, give, scripted, tree};
use crate::tools::Tools;

#[tokio::test]
async fn a_report_of_json_is_mended_until_it_is_of_its_schema() {
    let schema =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let reports =
        |content: serde_json::Value| calls(&[(FINAL_REPORT, json!({"content_json": content}))]);
    let row = Row {
        format: Format::Json(Some(schema)),
        ..Row::new(vec![
            reports(json!({"n": "many"})),
            reports(json!("```json\n{\"n\": 3}\n```")),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: agent__final_report {"content_json":{"n":"many"}}
    tool!: The report is not of its schema: "many" is not of type "integer" at '/n'.
    Success: {"n":3}
    "#);
}

#[tokio::test]
async fn without_a_report_there_is_a_synthetic_one() {
    let row = Row {
        max_turns: 2,
        ..Row::new(vec![
            Scripted::says("Let me think."),
            Scripted::says("I cannot."),
        ])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: Let me think.
    user: Your reply has neither a call nor a report. This is the final turn: no other tool can be called any more. Finish now, from what you have seen: `agent__final_report`, or the report between <ai-agent-01010101010101010101010101010101-FINAL format="text"> and </ai-agent-01010101010101010101010101010101-FINAL>.
    model: I cannot.
    Failed("the turns were used up, the last reply had no report (\"Your reply has neither a call nor a report.\")"): No final report: the turns were used up, the last reply had no report ("Your reply has neither a call nor a report."). The model's last words: ⏎  ⏎ I cannot.
    "#);
}

fn failing(name: &str, kind: ErrorKind) -> Arc<dyn ChatModel> {
    let target = Target::new("p", name);
    Arc::new(Scripted::new(move |_| {
        Err(LlmError::new(kind, target.clone(), "it is down"))
    }))
}

#[tokio::test]
async fn the_next_target_answers_for_one_that_fails() {
    let row = Row {
        before: vec![failing("first", ErrorKind::Provider)],
        ..Row::new(vec![calls(&[give(20)]), done()])
    };
    let (told, trace) = row.played().await;
    let rows: Vec<_> = trace
        .accounting
        .models
        .iter()
        .map(|row| (&*row.target, row.spent.calls))
        .collect();
    assert_eq!(rows, [("scripted/model", 2)]);
    assert_snapshot!(told, @r#"
    user: Find out.
    model: give {"bytes":20}
    tool: line 1 of what the t
    Success: done
    "#);
}

#[tokio::test]
async fn when_no_target_answers_it_fails() {
    let too_long = failing("second", ErrorKind::ContextLength);
    let row = Row {
        before: vec![failing("first", ErrorKind::Auth), too_long],
        ..Row::new(vec![done()])
    };
    let (told, trace) = row.played().await;
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @r#"
    user: Find out.
    Failed("the model could not be asked: p/second: it is down; tried before: p/first: it is down"): No final report: the model could not be asked: p/second: it is down; tried before: p/first: it is down.
    ---
    Agent test, error: the model could not be asked: p/second: it is down; tried be
      Turn turn 1
        Llm model, 2 messages, error: p/second: it is down; tried before: p/first: it is down
    "#);
}

/// A row whose session is cancelled when its model calls `hang`.
pub(crate) fn hanging() -> Row {
    let cancels = CancellationToken::new();
    let tools = Tools {
        cancels: Mutex::new(Some(cancels.clone())),
        ..Tools::default()
    };
    Row {
        hosts: vec![Arc::new(tools) as Arc<dyn Host>],
        until: Until {
            cancelled: Some(cancels.clone()),
            ..Until::default()
        },
        ..Row::new(vec![
            calls(&[give(20)]),
            calls(&[("hang", json!({}))]),
            done(),
        ])
    }
}

#[tokio::test]
async fn a_session_that_is_cancelled_in_mid_call_has_a_trace_up_to_there() {
    let (told, trace) = hanging().played().await;
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @r#"
    user: Find out.
    model: give {"bytes":20}
    tool: line 1 of what the t
    model: hang {}
    Cancelled: No final report: the session was cancelled.
    ---
    Agent test, error: it was cancelled
      Turn turn 1
        Llm model, 2 messages, gave 19 bytes
        Tool give, of test, gave 20 bytes, Shown, 5 tokens shown
      Turn turn 2, unfinished
        Llm model, 4 messages, gave 9 bytes
        Tool hang, of test, unfinished
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_takes_too_long_ends() {
    let row = Row {
        until: Until {
            timeout: Some(Duration::from_secs(60)),
            ..Until::default()
        },
        ..Row::new(vec![calls(&[("hang", json!({}))]), done()])
    };
    let (told, trace) = row.played().await;
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @"
    user: Find out.
    model: hang {}
    TimedOut: No final report: the session took too long.
    ---
    Agent test, error: it took too long
      Turn turn 1, unfinished
        Llm model, 2 messages, gave 9 bytes
        Tool hang, of test, unfinished
    ");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_given_up() {
    let row = Row {
        limit: Some(Duration::from_millis(1500)),
        ..Row::new(vec![calls(&[("hang", json!({})), give(20)]), done()])
    };
    assert_snapshot!(row.told().await, @r#"
    user: Find out.
    model: hang {}; give {"bytes":20}
    tool!: The tool 'hang' of 'test' gave nothing within 1.5 s; the call was cancelled.
    tool: line 1 of what the t
    Success: done
    "#);
}

/// A watcher that cancels a session once one of its calls has returned.
struct OnceReturned(CancellationToken);

impl Watcher for OnceReturned {
    fn happened(&self, event: &Event) {
        if matches!(event, Event::Returned(..)) {
            self.0.cancel();
        }
    }

    fn asks(&self, _: &Request) {}
    fn status(&self, _: &Status) {}
    fn delta(&self, _: &str) {}
}

fn drafts(directory: &Path) -> usize {
    let below = std::fs::read_dir(directory).unwrap();
    let below = below.map(|entry| entry.unwrap().path());
    below
        .map(|path| match path.is_dir() {
            true => drafts(&path),
            false => 1,
        })
        .sum()
}

#[tokio::test]
async fn what_is_held_when_it_ends_leaves_no_draft() {
    let base = tempfile::tempdir().unwrap();
    let clock = Arc::new(StoppedClock::default());
    let store = FileStore::new(base.path(), Lifetime::Durable, clock);
    // The first result is so large that it streams into a draft. It is held because its batch is
    // not complete. The session is cancelled only then.
    let cancels = CancellationToken::new();
    let batch = json!({"calls": [
        {"id": "a", "tool": "give", "parameters": {"bytes": 400_000}},
        {"id": "b", "tool": "hang", "parameters": {}},
    ]});
    let row = Row {
        cap: 0,
        window: 500_000,
        store: Arc::new(store),
        until: Until {
            cancelled: Some(cancels.clone()),
            ..Until::default()
        },
        watcher: Arc::new(OnceReturned(cancels.clone())),
        ..Row::new(vec![calls(&[(BATCH, batch)])])
    };
    let model = scripted(row.says.clone(), Arc::default());
    let stage = row.stage(&model, None);
    let (finished, _) = stage.run(&model, row.until.clone()).await;
    assert_eq!(finished.ending, Ending::Cancelled);
    assert_eq!(drafts(base.path()), 0);
    drop(stage);
}
