//! Tests of the live view, line by line.

use insta::assert_snapshot;
use spillgate_agent::{Decided, Made, Strategy};
use spillgate_artifact::Reason;
use spillgate_llm::{Dollars, Scripted, ToolCall, Usage};

use super::*;

fn tool(name: &str, bytes: u64, decided: Option<Decided>) -> Op {
    Op {
        took_ms: 1234,
        response_bytes: Some(bytes),
        tokens_shown: Some(30),
        unfinished: decided.is_none(),
        decided,
        ..Op::new(OpKind::Tool, name)
    }
}

#[test]
fn what_a_person_reads_of_the_model() {
    let used = Usage {
        input: 1000,
        output: 20,
        cost: Some(Dollars::new(0.0016)),
        ..Usage::default()
    };
    let mut reply = Scripted::says("x");
    reply.usage = used;
    let call = ToolCall {
        id: "1".into(),
        name: "read\u{1b}[2J".into(),
        arguments: format!("{{\"path\": \"{}\"}}", "x".repeat(200)),
    };
    let told = Status {
        status: "in-progress".into(),
        done: "half".into(),
        pending: String::new(),
        now: "the\nother half".into(),
    };
    let lines = [
        lines::replied(1, &reply),
        lines::unanswered(3, "HTTP 500\r\nno"),
        lines::called(&call, false),
        lines::status(&told),
        lines::state(3, 12_345, 119_000, &used),
        lines::state(1, 5, 0, &Usage::default()),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    turn 1: scripted/model, 1,000 tokens in, 20 out, $0.001600
    turn 3: no reply: HTTP 500 no
    → read⟨U+001B⟩[2J {"path": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
    status in-progress: the other half; done: half
    turn 3: 12,345 of 119,000 tokens (10 %), $0.001600
    turn 1: 5 of 0 tokens (100 %)
    "#);
}

#[test]
fn what_a_person_reads_of_tools() {
    let handle =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";
    let handle = handle.parse().unwrap();
    let reason = Reason::SizeCap;
    let failed = Op {
        error: Some("no such file\u{7}\nat all".into()),
        ..tool("read", 9, Some(Decided::Failed))
    };
    let mut strategy = Op::new(OpKind::Session, "full-chunked");
    strategy.unfinished = true;
    let mut map = Op::new(OpKind::Llm, "map 2/2");
    map.unfinished = true;
    strategy.children = vec![Op::new(OpKind::Llm, "map 1/2"), map];
    let mut extraction = tool("tool_output", 0, None);
    extraction.children = vec![strategy];
    let came = |decided| lines::came(&tool("read", 120_034, Some(decided)));
    let lines = [
        lines::under_way(&extraction),
        came(Decided::Shown),
        came(Decided::Stored { handle, reason }),
        came(Decided::NotStored { reason }),
        came(Decided::Cut),
        lines::came(&Op {
            cached: true,
            ..tool("read", 1, Some(Decided::Dropped))
        }),
        came(Decided::NotMade),
        lines::came(&failed),
    ];
    assert_snapshot!(lines.join("\n"), @"
    tool_output: full-chunked: map 2/2
    ← read: 120,034 bytes, shown (30 tokens), 1.2 s
    ← read: 120,034 bytes, stored as session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001 (over the size cap), 1.2 s
    ← read: 120,034 bytes, could not be stored: its beginning and end are shown, 1.2 s
    ← read: 120,034 bytes, shown without its middle (30 tokens), 1.2 s
    ← read: 1 byte, from the cache, dropped: no room for it, 1.2 s
    ← read: 120,034 bytes, not made, 1.2 s
    ← read: 9 bytes, failed: no such file⟨U+0007⟩ at all, 1.2 s
    ");
}

#[test]
fn an_extraction_that_fell_back_says_so_and_why() {
    let why = format!("HTTP 400: \u{1b}[2Jno\n{}", "x".repeat(300));
    let made = |fell_back: Option<String>| {
        let mut inner = Op::new(OpKind::Session, "tool_output");
        inner.made = Some(Made {
            strategy: Strategy::Truncate,
            fell_back,
        });
        Op {
            children: vec![inner],
            ..tool("tool_output", 13_379, Some(Decided::Shown))
        }
    };
    let lines = [lines::came(&made(None)), lines::came(&made(Some(why)))];
    assert_snapshot!(lines.join("\n"), @"
    ← tool_output: 13,379 bytes, shown (30 tokens), 1.2 s
    ← tool_output: 13,379 bytes, fell back to truncate: HTTP 400: ⟨U+001B⟩[2Jno xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (30 tokens), 1.2 s
    ");
}

#[test]
fn a_window_is_as_full_as_the_last_reply_and_what_came_since() {
    let mut asked = Op::new(OpKind::Llm, "asked");
    asked.usage = Some(Usage {
        input: 1000,
        output: 20,
        ..Usage::default()
    });
    let shown = tool("read", 100, Some(Decided::Shown));
    let turn = Op {
        children: vec![asked, shown],
        ..Op::new(OpKind::Turn, "turn 1")
    };
    let asking = Op {
        children: vec![Op::new(OpKind::Llm, "asked")],
        ..Op::new(OpKind::Turn, "turn 2")
    };
    let mut agent = Op::new(OpKind::Agent, "agent");
    assert_eq!(tokens_of(&agent), None);
    agent.children = vec![turn, asking];
    assert_eq!(tokens_of(&agent), Some(1050));
}
