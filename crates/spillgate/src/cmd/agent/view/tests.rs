//! What a trace looks like.

use insta::assert_snapshot;
use serde_json::json;
use spillgate_agent::{Accounting, Decided, Op, OpKind, Report, Setup, Source, Window};
use spillgate_artifact::{Clock, Reason};
use spillgate_llm::{Dollars, Usage};
use spillgate_testkit::StoppedClock;

use super::*;

fn op(kind: OpKind, name: &str, children: Vec<Op>) -> Op {
    Op {
        took_ms: 1500,
        children,
        ..Op::new(kind, name)
    }
}

fn asked(name: &str) -> Op {
    Op {
        target: Some("mock/reader".into()),
        messages: Some(2),
        usage: Some(Usage {
            input: 12_000,
            cached_input: 400,
            output: 80,
            cost: Some(Dollars::new(0.0156)),
            ..Usage::default()
        }),
        ..op(OpKind::Llm, name, Vec::new())
    }
}

fn called(name: &str, server: Option<&str>, decided: Option<Decided>, children: Vec<Op>) -> Op {
    Op {
        server: server.map(str::to_owned),
        response_bytes: Some(108_893),
        tokens_shown: Some(90),
        unfinished: decided.is_none(),
        decided,
        ..op(OpKind::Tool, name, children)
    }
}

fn trace() -> Trace {
    let handle =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";
    let stored = Decided::Stored {
        handle: handle.parse().unwrap(),
        reason: Reason::SizeCap,
    };
    let failed = Op {
        error: Some("no such\u{1b}[31m\nfile".into()),
        ..called("note", Some("lab"), Some(Decided::Failed), Vec::new())
    };
    let extraction = op(
        OpKind::Session,
        "tool_output",
        vec![op(OpKind::Session, "full-chunked", vec![asked("map 1/1")])],
    );
    let inner_turn = op(
        OpKind::Turn,
        "turn 1",
        vec![
            asked("model"),
            called("grep", Some("files"), Some(Decided::Shown), Vec::new()),
        ],
    );
    let unanswered = Op {
        unfinished: true,
        ..Op::new(OpKind::Llm, "model")
    };
    let root = op(
        OpKind::Agent,
        "finder",
        vec![
            op(
                OpKind::Turn,
                "turn 1",
                vec![
                    asked("model"),
                    called("log", Some("lab"), Some(stored), Vec::new()),
                    failed,
                ],
            ),
            op(
                OpKind::Turn,
                "turn 2",
                vec![
                    asked("model"),
                    called("tool_output", None, Some(Decided::Shown), vec![extraction]),
                    called(
                        "reviewer",
                        Some("reviewer"),
                        None,
                        vec![op(OpKind::Agent, "reviewer", vec![inner_turn])],
                    ),
                ],
            ),
            Op {
                unfinished: true,
                ..op(OpKind::Turn, "turn 3", vec![unanswered])
            },
        ],
    );
    Trace {
        version: TRACE_VERSION,
        agent: "finder".into(),
        task: "find\nit".into(),
        task_bytes: 7,
        setup: Setup {
            models: vec!["mock/reader".parse().unwrap()],
            window: Window {
                window: 128_000,
                buffer: 8192,
                max_output: 4096,
            },
            max_turns: 10,
            calls_per_turn: 10,
            format: "text".into(),
            tools: 3,
            retrieval: Some("tool_output".into()),
        },
        started: StoppedClock::default().now(),
        ended: None,
        ending: None,
        report: None,
        accounting: Accounting::of(&root),
        root: Op {
            unfinished: true,
            ..root
        },
    }
}

#[test]
fn a_run_cut_off() {
    assert_snapshot!(shown(&trace(), None), @"");
}

#[test]
fn a_run_that_ended() {
    let root = op(OpKind::Agent, "finder", Vec::new());
    let trace = Trace {
        ending: Some(Ending::Success),
        ended: Some(StoppedClock::default().now()),
        report: Some(Report {
            format: "text".into(),
            content: "found\u{7}\n".into(),
            source: Source::Tool,
        }),
        accounting: Accounting::default(),
        root,
        ..trace()
    };
    assert_snapshot!(shown(&trace, None), @"");
    assert_eq!(shown(&trace, Some(TracePart::Report)), "found\u{fffd}\n\n");
    assert_eq!(part_of(&trace, Some(TracePart::Report))["source"], "tool");
    assert_eq!(part_of(&trace, None)["version"], TRACE_VERSION);
}

#[test]
fn what_is_no_trace_is_said() {
    let newer = json!({"version": TRACE_VERSION + 1, "shape": "another"}).to_string();
    let mut unfinished = json!(trace());
    assert_eq!(parsed(&unfinished.to_string()).unwrap(), trace());
    unfinished["root"]["kind"] = json!("dance");
    let cases = [
        "",
        "{\"version\":",
        "[]",
        "{}",
        &newer,
        "{\"version\": 1}",
        &unfinished.to_string(),
    ];
    let told = cases.map(|text| parsed(text).unwrap_err());
    assert_snapshot!(told.join("\n"), @"");
}
