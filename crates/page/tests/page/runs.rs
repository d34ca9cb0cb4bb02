//! Runs of agents and extractions, read from a directory of traces.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use spillgate_agent::{Accounting, Ending, Report, Setup, Source, TRACE_VERSION, Trace, Window};
use spillgate_artifact::{Clock, LineRange, Reason};
use spillgate_extract::{
    Citation, Coverage, Decided, ExtractionRecord, Made, Match, Mode, Op, OpKind, OutcomeRecord,
    Status, Strategy,
};
use spillgate_llm::{Dollars, Usage};
use spillgate_testkit::StoppedClock;

use crate::house::House;

const HANDLE: &str = "dowbsxpcmzkjqa";

pub(crate) fn op(kind: OpKind, name: &str, at_ms: u64, children: Vec<Op>) -> Op {
    Op {
        at_ms,
        took_ms: 1500,
        children,
        ..Op::new(kind, name)
    }
}

fn asked(name: &str, at_ms: u64) -> Op {
    Op {
        target: Some("mock/reader".into()),
        usage: Some(Usage {
            input: 12_000,
            output: 80,
            cost: Some(Dollars::new(0.0156)),
            ..Usage::default()
        }),
        ..op(OpKind::Llm, name, at_ms, Vec::new())
    }
}

/// A chunk in which a model found nothing, or failed.
fn chunk(number: u64, error: Option<&str>) -> Op {
    Op {
        lines: Some(LineRange {
            first: number * 100 + 1,
            last: number * 100 + 100,
        }),
        error: error.map(str::to_owned),
        ..asked(&format!("map {}/3", number + 1), 2000).with_response(
            "<ai-agent-0a1b-FINAL format=\"text\">NO RELEVANT DATA FOUND\nOnly greetings.</ai-agent-0a1b-FINAL>",
        )
    }
}

/// An extraction by a strategy, with this outcome.
pub(crate) fn extraction(
    handle: &str,
    made: Made,
    outcome: Option<OutcomeRecord>,
    steps: Vec<Op>,
) -> Op {
    let strategy = op(OpKind::Session, made.strategy.name(), 1900, steps);
    Op {
        unfinished: outcome.is_none(),
        made: outcome.is_some().then_some(made),
        extraction: Some(Box::new(ExtractionRecord {
            handle: handle.parse().unwrap(),
            extract: "Which port does the server use?".into(),
            mode: Mode::Auto,
            outcome,
        })),
        ..op(OpKind::Session, "tool_output", 1800, vec![strategy])
    }
}

pub(crate) fn made(strategy: Strategy) -> Made {
    Made {
        strategy,
        fell_back: None,
    }
}

fn outcome(status: Status, body: &str, read: u64, failed: u64) -> OutcomeRecord {
    OutcomeRecord {
        status,
        body: body.into(),
        citations: Vec::new(),
        unverified: Vec::new(),
        coverage: Coverage {
            bytes_examined: read * 1000,
            bytes_total: 3000,
            chunks: 3,
            read_chunks: read,
            failed_chunks: failed,
        },
    }
}

fn in_vain(handle: &str) -> Op {
    let body = "NO RELEVANT DATA FOUND\n- Only greetings.\n\nNearest: L7 the port is not said\nNot in the text: 8443\n[read 2000 of 3000 bytes in 2 of 3 chunks]";
    let chunks = vec![
        chunk(0, None),
        chunk(1, Some("mock/reader: HTTP 500")),
        chunk(2, None),
    ];
    let outcome = outcome(Status::Partial, body, 2, 1);
    extraction(handle, made(Strategy::FullChunked), Some(outcome), chunks)
}

/// Returns the trace of an agent: a stored result, a failure, an extraction in vain, a sub-agent.
fn trace(handle: &str, ending: Option<Ending>) -> Trace {
    let stored = Op {
        server: Some("lab".into()),
        decided: Some(Decided::Stored {
            handle: handle.parse().unwrap(),
            reason: Reason::SizeCap,
        }),
        ..op(OpKind::Tool, "read_log", 100, Vec::new())
    };
    let failed = Op {
        decided: Some(Decided::Failed),
        error: Some("no such <file>\u{1b}[31m".into()),
        ..op(OpKind::Tool, "note", 200, Vec::new())
    };
    let call = op(OpKind::Tool, "tool_output", 1700, vec![in_vain(handle)]);
    let inner = op(OpKind::Turn, "turn 1", 4000, vec![asked("model", 4000)]);
    let agent = op(OpKind::Agent, "reviewer", 4000, vec![inner]);
    let reviewer = op(OpKind::Tool, "reviewer", 4000, vec![agent]);
    let turns = vec![
        op(
            OpKind::Turn,
            "turn 1",
            0,
            vec![asked("model", 0), stored, failed],
        ),
        op(
            OpKind::Turn,
            "turn 2",
            1600,
            vec![asked("model", 1600), call, reviewer],
        ),
    ];
    let root = Op {
        took_ms: 6000,
        unfinished: ending.is_none(),
        ..op(OpKind::Agent, "finder", 0, turns)
    };
    let is_over = ending.is_some();
    Trace {
        version: TRACE_VERSION,
        agent: "finder".into(),
        task: "Find the <b>port</b>.".into(),
        task_bytes: 21,
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
        ended: is_over.then(|| StoppedClock::default().now()),
        ending,
        report: is_over.then(|| Report {
            format: "text".into(),
            content: "It is not said.".into(),
            source: Source::Tool,
        }),
        accounting: Accounting::of(&root),
        root,
    }
}

/// Writes a trace as an agent does.
fn write(house: &House, name: &str, trace: &Value) {
    let directory = house.base.path().join("traces");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(name), trace.to_string()).unwrap();
}

fn age(house: &House, name: &str) {
    let file = File::open(house.base.path().join("traces").join(name)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1000))
        .unwrap();
}

/// Returns the text of a page without markup.
fn plain(text: &str) -> String {
    let parts = text
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text: Vec<&str> = parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    text.join(" ")
}

#[tokio::test]
async fn runs_are_listed_with_their_endings() {
    let house = House::new().await;
    let empty = house.get("/runs").await.text();
    assert!(empty.contains("There is no trace yet"), "{empty}");
    write(
        &house,
        "a.json",
        &json!(trace(HANDLE, Some(Ending::Success))),
    );
    write(&house, "b.json", &json!(trace(HANDLE, None)));
    write(&house, "c.json", &json!(trace(HANDLE, None)));
    age(&house, "c.json");
    write(
        &house,
        "d.json",
        &json!(trace(HANDLE, Some(Ending::Failed("no <model>".into())))),
    );
    write(&house, "e.json", &json!(in_vain(HANDLE)));
    let mut newer = json!(trace(HANDLE, None));
    newer["version"] = 2.into();
    write(&house, "newer.json", &newer);
    write(&house, "none.json", &json!({"version": 1}));
    write(&house, "text.txt", &json!(1));
    let list = house.get("/runs").await.text();
    let text = plain(&list);
    for (name, part) in [
        (
            "a",
            "finder report 1 extraction in vain Find the &lt;b&gt;port&lt;/b&gt;. 6.0 s 3 3 1 2 72,480 $0.0936",
        ),
        ("b", "running"),
        ("c", "cut off"),
        ("d", "no report"),
        (
            "e",
            "extraction in part Which port does the server use? 1.5 s",
        ),
    ] {
        assert!(
            list.contains(&format!("/ui/runs/{name}.json\"")),
            "{name}: {list}"
        );
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        !list.contains("none.json") && !list.contains("newer.json"),
        "{list}"
    );
    // A script that has the same list gets none.
    let part = house.get("/runs?part=1").await;
    let tag = part.header("etag").to_owned();
    assert!(!part.text().contains("<html"), "{}", part.text());
    let known = [("if-none-match", tag.as_str())];
    assert_eq!(house.get_with("/runs?part=1", &known).await.status, 304);
    write(
        &house,
        "b.json",
        &json!(trace(HANDLE, Some(Ending::Cancelled))),
    );
    let other = house.get_with("/runs?part=1", &known).await;
    assert!(
        plain(&other.text()).contains("cancelled"),
        "{}",
        other.text()
    );
}

#[tokio::test]
async fn a_run_is_a_tree_and_a_time_line() {
    let house = House::new().await;
    let handle = house
        .store("read_log", &"a line of the log\n".repeat(3000))
        .await;
    write(
        &house,
        "a b.json",
        &json!(trace(&handle, Some(Ending::Success))),
    );
    let page = house.get("/runs/a%20b.json").await.text();
    let text = plain(&page);
    for part in [
        "An extraction : Nothing was found.",
        "A model read 2 of 3 chunks: 66% of its text (2,000 of 3,000 bytes).",
        "1 chunk could not be read: mock/reader: HTTP 500.",
        "Nowhere in the output, read or not by a model: 8443.",
        "Turns 3",
        "Calls of tools 3",
        "Sub-agents 1",
        "Failures 2",
        "It is not said.",
        "no such &lt;file&gt;⟨U+001B⟩[31m",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        page.contains(&format!("stored as <a href=\"/ui/a/{handle}\">")),
        "{page}"
    );
    assert!(!page.contains("data-live"), "{page}");
    // All operations but those without a model are in the time line, those at the same time beside each other.
    assert_eq!(page.matches("<rect class=\"bar ").count(), 17, "{page}");
    assert_eq!(page.matches("<tr data-key=").count(), 17);
    let step = house.get("/runs/a%20b.json/4/step").await.text();
    assert!(step.contains("no such &lt;file&gt;"), "{step}");
    for (path, status) in [
        ("/runs/nothing.json", 404),
        ("/runs/..%2Fledger.ndjson", 404),
        ("/runs/.hidden.json", 404),
        ("/runs/a%20b.json/4", 404),
        ("/runs/a%20b.json/99", 404),
        ("/runs/a%20b.json/99/step", 404),
    ] {
        assert_eq!(house.get(path).await.status.as_u16(), status, "{path}");
    }
    // Links to other files are not followed.
    let link = house.base.path().join("traces/link.json");
    std::os::unix::fs::symlink(house.base.path().join("traces/a b.json"), link).unwrap();
    assert_eq!(house.get("/runs/link.json").await.status, 404);
}

#[tokio::test]
async fn a_run_is_followed_while_it_grows() {
    let house = House::new().await;
    let mut growing = trace(HANDLE, None);
    let turn = |at: u64| {
        op(
            OpKind::Turn,
            &format!("turn {at}"),
            at * 1000,
            vec![asked("model", at * 1000)],
        )
    };
    growing.root.children.extend((3..80).map(turn));
    write(&house, "r.json", &json!(growing));
    let first = house.get("/runs/r.json").await.text();
    assert!(first.contains("id=\"live\" data-live"), "{first}");
    // The newest operations are on the last page, which is shown while the run goes on.
    assert!(plain(&first).contains("turn 79"), "{first}");
    assert!(plain(&first).contains("page 4 of 4"), "{first}");
    let part = house.get("/runs/r.json?part=1").await;
    let tag = part.header("etag").to_owned();
    growing.root.children.push(turn(80));
    write(&house, "r.json", &json!(growing));
    let part = house
        .get_with("/runs/r.json?part=1", &[("if-none-match", &tag)])
        .await;
    assert!(plain(&part.text()).contains("turn 80"), "{}", part.text());
    growing.ending = Some(Ending::UsedUp("20 requests".into()));
    write(&house, "r.json", &json!(growing));
    let part = house.get("/runs/r.json?part=1").await.text();
    assert!(
        !part.contains("data-live") && plain(&part).contains("used up 20 requests"),
        "{part}"
    );
}

#[tokio::test]
async fn an_extraction_says_why_it_found_nothing() {
    let house = House::new().await;
    let handle = house
        .store("read_log", &"a line of the log\n".repeat(3000))
        .await;
    let grep = Op {
        lines: Some(LineRange { first: 5, last: 9 }),
        ..op(OpKind::Tool, "Grep", 2000, Vec::new()).with_response("5:port")
    };
    let nothing = |read| outcome(Status::NotFound, "NO RELEVANT DATA FOUND", read, 0);
    let no_model = Made {
        fell_back: Some("no model is configured".into()),
        ..made(Strategy::Search)
    };
    let cut = Made {
        fell_back: Some("mock/reader: HTTP 401".into()),
        ..made(Strategy::Truncate)
    };
    let failed = Op {
        error: Some("the output is gone".into()),
        ..extraction(&handle, made(Strategy::Search), None, Vec::new())
    };
    for (op, parts) in [
        (
            extraction(
                &handle,
                made(Strategy::FullChunked),
                Some(nothing(3)),
                vec![chunk(0, None)],
            ),
            &[
                "Nothing was found. A model read all 3 chunks: all of its text (3,000 bytes). It found no answer to the question in any of them.",
            ][..],
        ),
        (
            extraction(
                &handle,
                made(Strategy::ReadGrep),
                Some(nothing(1)),
                vec![grep],
            ),
            &[
                "Nothing was found. A model looked into the output with 1 look-up and saw 33% of its text (1,000 of 3,000 bytes). What it did not see",
            ],
        ),
        (
            extraction(&handle, no_model, Some(nothing(3)), Vec::new()),
            &[
                "Nothing was found. No model is configured. The search, which needs no model, found no passage",
            ],
        ),
        (
            extraction(
                &handle,
                cut,
                Some(outcome(Status::Failed, "WARNING", 1, 0)),
                Vec::new(),
            ),
            &[
                "No model answered the question. Mock/reader: HTTP 401. What stands in place of an answer are the beginning and the end",
            ],
        ),
        (failed, &["The extraction failed. The output is gone."]),
        (
            extraction(&handle, made(Strategy::Search), None, Vec::new()),
            &["cancelled"],
        ),
        (
            in_vain(&handle),
            &[
                "The nearest place is line 7 : the port is not said",
                "map 2/3 101–200 failed",
                "map 1/3 1–100 nothing",
                "Only greetings.",
            ],
        ),
    ] {
        write(&house, "x.json", &json!(op));
        let page = house.get("/runs/x.json").await.text();
        let text = plain(&page);
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let page = house.get("/runs/x.json").await.text();
    assert!(
        page.contains(&format!("href=\"/ui/a/{handle}?tab=text#L101\"")),
        "{page}"
    );
}

#[tokio::test]
async fn citations_lead_to_their_lines_and_claims_are_marked() {
    let house = House::new().await;
    let handle = house
        .store("read_log", &"a line of the log\n".repeat(3000))
        .await;
    let mut found = outcome(
        Status::Found,
        "The port is \"8443\" (L12), not \"9\" [unverified].",
        3,
        0,
    );
    found.citations = vec![Citation {
        lines: LineRange {
            first: 12,
            last: 14,
        },
        bytes: (0, 9),
        path: None,
        quote: Some("8443".into()),
        matched: Some(Match::Exact),
    }];
    found.unverified = vec!["<9>".into()];
    let op = extraction(
        &handle,
        made(Strategy::FullChunked),
        Some(found),
        Vec::new(),
    );
    write(&house, "x.json", &json!(op));
    let page = house.get("/runs/x.json").await.text();
    assert!(
        page.contains(&format!(
            "<a href=\"/ui/a/{handle}?tab=text#L12\">12–14</a>"
        )),
        "{page}"
    );
    assert!(page.contains("<mark>[unverified]</mark>"), "{page}");
    assert!(plain(&page).contains("&lt;9&gt; unverified"), "{page}");
    assert!(!plain(&page).contains("Nothing was found"), "{page}");
}
