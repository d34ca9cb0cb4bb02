//! Tests of the text that shows a trace.

use insta::assert_snapshot;
use serde_json::json;
use spillgate_agent::{
    Accounting, Decided, Made, Op, OpKind, Report, Setup, Source, Strategy, Window,
};
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

/// An extraction and a sub-agent, both within calls.
fn root() -> Op {
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
    let strategy = op(OpKind::Session, "full-chunked", vec![asked("map 1/1")]);
    let extraction = Op {
        made: Some(Made {
            strategy: Strategy::Truncate,
            fell_back: Some("mock/reader: HTTP 400".into()),
        }),
        ..op(OpKind::Session, "tool_output", vec![strategy])
    };
    let grep = called("grep", Some("files"), Some(Decided::Shown), Vec::new());
    let inner = op(OpKind::Turn, "turn 1", vec![asked("model"), grep]);
    let reviewer = op(OpKind::Agent, "reviewer", vec![inner]);
    let unanswered = Op {
        unfinished: true,
        ..Op::new(OpKind::Llm, "model")
    };
    let first = vec![
        asked("model"),
        called("log", Some("lab"), Some(stored), Vec::new()),
        failed,
    ];
    let second = vec![
        asked("model"),
        called("tool_output", None, Some(Decided::Shown), vec![extraction]),
        called("reviewer", Some("reviewer"), None, vec![reviewer]),
    ];
    let third = Op {
        unfinished: true,
        ..op(OpKind::Turn, "turn 3", vec![unanswered])
    };
    let turns = vec![
        op(OpKind::Turn, "turn 1", first),
        op(OpKind::Turn, "turn 2", second),
        third,
    ];
    op(OpKind::Agent, "finder", turns)
}

fn trace() -> Trace {
    let root = root();
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
    assert_snapshot!(shown(&trace(), None), @"
    finder: not finished: under way, or killed, 1.5 s
    task: find it
    started 2027-01-15T08:00:00Z
    models: mock/reader; 115,712 tokens for the conversation (window 128,000 − buffer 8,192 − reply 4,096)
    at most 10 turns, 10 calls a turn; 3 tools; report: text

    operation                took      in  out     cost
    finder                  1.5 s                        not finished
      turn 1                1.5 s
        model               1.5 s  12,000   80  $0.0156  mock/reader
        log (lab)           1.5 s                        108,893 bytes, stored as session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001 (over the size cap)
        note (lab)          1.5 s                        108,893 bytes, failed: no such⟨U+001B⟩[31m file
      turn 2                1.5 s
        model               1.5 s  12,000   80  $0.0156  mock/reader
        tool_output         1.5 s                        108,893 bytes, fell back to truncate: mock/reader: HTTP 400 (90 tokens)
          tool_output       1.5 s
            full-chunked    1.5 s
              map 1/1       1.5 s  12,000   80  $0.0156  mock/reader
        reviewer            1.5 s                        108,893 bytes, not finished
          reviewer          1.5 s
            turn 1          1.5 s
              model         1.5 s  12,000   80  $0.0156  mock/reader
              grep (files)  1.5 s                        108,893 bytes, shown (90 tokens)
      turn 3                1.5 s                        not finished
        model                0 ms                        not finished

    asked by     model        calls  unanswered      in  cached  out     cost
    the agent                     1           1       0            0
    the agent    mock/reader      2              24,000     800  160  $0.0312
    tool_output  mock/reader      1              12,000     400   80  $0.0156
    sub-agents   mock/reader      1              12,000     400   80  $0.0156
    all                           5           1  48,000   1,600  320  $0.0624

    tool                    calls  failed  cached  stored  cut  dropped    bytes  tokens shown
    tool_output                 1                                        108,893            90
    log (lab)                   1                       1                108,893            90
    note (lab)                  1       1                                108,893            90
    reviewer                    1                                        108,893            90
    reviewer: grep (files)      1                                        108,893            90

    extractions: truncate 1, fell back 1, failed 0
    ");
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
    assert_snapshot!(shown(&trace, None), @"
    finder: a report, 1.5 s
    task: find it
    started 2027-01-15T08:00:00Z, ended 2027-01-15T08:00:00Z
    models: mock/reader; 115,712 tokens for the conversation (window 128,000 − buffer 8,192 − reply 4,096)
    at most 10 turns, 10 calls a turn; 3 tools; report: text

    operation   took  in  out  cost
    finder     1.5 s

    asked by  model  calls  unanswered  in  cached  out  cost
    all                  0               0            0

    no tool was called
    ");
    assert_eq!(shown(&trace, Some(TracePart::Report)), "found⟨U+0007⟩\n\n");
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
    assert_snapshot!(told.join("\n"), @"
    is no JSON: EOF while parsing a value at line 1 column 0
    is no JSON: EOF while parsing a value at line 1 column 11
    is no trace of an agent: it has no version
    is no trace of an agent: it has no version
    is a trace of version 2; this program reads up to 1: it was written by a newer one
    is no trace of an agent: missing field `agent` at line 1 column 14
    is no trace of an agent: unknown variant `dance`, expected one of `agent`, `turn`, `session`, `llm`, `tool`, `internal` at line 1 column 4054
    ");
}
