//! How sessions end, and what they leave behind.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_agent::{BATCH, FINAL_REPORT, Format, Host, Until};
use spillgate_llm::{ChatModel, ErrorKind, LlmError, Scripted, Target};
use spillgate_store::{FileStore, Lifetime};
use spillgate_testkit::StoppedClock;
use tokio::sync::watch;

use crate::stage::{Row, calls, done, give, tree};
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
    assert_snapshot!(row.told().await, @"");
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
    assert_snapshot!(row.told().await, @"");
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
    assert_snapshot!(told, @"");
}

#[tokio::test]
async fn when_no_target_answers_it_fails() {
    let too_long = failing("second", ErrorKind::ContextLength);
    let row = Row {
        before: vec![failing("first", ErrorKind::Auth), too_long],
        ..Row::new(vec![done()])
    };
    let (told, trace) = row.played().await;
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @"");
}

/// A row that is cancelled once it calls `hang`.
fn hanging() -> Row {
    let (cancels, cancelled) = watch::channel(false);
    let tools = Tools {
        cancels: Mutex::new(Some(cancels)),
        ..Tools::default()
    };
    Row {
        hosts: vec![Arc::new(tools) as Arc<dyn Host>],
        until: Until {
            timeout: None,
            cancelled: Some(cancelled),
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
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @"");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_takes_too_long_ends() {
    let row = Row {
        until: Until {
            timeout: Some(Duration::from_secs(60)),
            cancelled: None,
        },
        ..Row::new(vec![calls(&[("hang", json!({}))]), done()])
    };
    let (told, trace) = row.played().await;
    assert_snapshot!(format!("{told}\n---\n{}", tree(&trace.root)), @"");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_given_up() {
    let row = Row {
        limit: Some(Duration::from_millis(1500)),
        ..Row::new(vec![calls(&[("hang", json!({})), give(20)]), done()])
    };
    assert_snapshot!(row.told().await, @"");
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
    // So large that it streams into a draft, and held: its batch is not complete.
    let batch = json!({"calls": [
        {"id": "a", "tool": "give", "parameters": {"bytes": 400_000}},
        {"id": "b", "tool": "hang", "parameters": {}},
    ]});
    let row = Row {
        cap: 0,
        window: 500_000,
        store: Arc::new(store),
        says: vec![calls(&[(BATCH, batch)])],
        ..hanging()
    };
    let (told, _) = row.played().await;
    assert!(
        told.ends_with("Cancelled: No final report: the session was cancelled."),
        "{told}"
    );
    assert_eq!(drafts(base.path()), 0);
}
