//! Tests of jq filters over stored results, friendly and hostile ones.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use spillgate_artifact::{SystemClock, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_offload::{Audience, NoLedger, Offloader, Policy};
use spillgate_query::{Child, Engine, Query, QueryError, QueryLimits, QueryNext, QueryPage, query};
use spillgate_store::{ArtifactStore, FileStore, Lifetime};
use spillgate_testkit::records;
use spillgate_text::Tokenizer;

use crate::tool::Tool;

/// Returns all pages of a filter's results, following `next` from page to page.
fn pages(tool: &Tool, handle: &str, filter: &str, tokens: &str) -> Vec<String> {
    let (mut start, mut byte) = ("0".to_owned(), "0".to_owned());
    let mut pages = Vec::new();
    loop {
        let args = [
            "query",
            handle,
            filter,
            "--start",
            &start,
            "--byte",
            &byte,
            "--max-tokens",
            tokens,
        ];
        let page = tool.json(&args, b"");
        let text = page["text"].as_str().unwrap().to_owned();
        assert!(
            !text.is_empty(),
            "a page is never empty while results remain"
        );
        pages.push(text);
        if page["next"].is_null() {
            return pages;
        }
        start = page["next"]["start"].to_string();
        byte = page["next"]["byte"].to_string();
    }
}

#[test]
fn results_come_page_by_page() {
    let tool = Tool::new();
    let handle = tool.put(records(3000).as_bytes());
    let page = tool.json(&["query", &handle, ".items[10:12] | map(.name)"], b"");
    assert_eq!(
        page,
        json!({"text": "[\"item 10\",\"item 11\"]\n", "results": 1, "total": 1, "next": null, "notes": [], "missing": null})
    );
    let names = pages(&tool, &handle, ".items[].name", "4000");
    assert!(names.len() > 3, "{}", names.len());
    let want: String = (0..3000).map(|i| format!("\"item {i}\"\n")).collect();
    assert_eq!(names.concat(), want);
    let raw = tool.run(&["query", &handle, ".items[2].name, .total", "-r"], b"");
    assert_eq!(raw.stdout, b"item 2\n3000\n");
    let odd = tool.json(
        &[
            "query",
            &handle,
            "[.items[] | select(.id % 2 == 1)] | length",
        ],
        b"",
    );
    assert_eq!(odd["text"], "1500\n");
}

#[test]
fn one_result_of_8_mb_pages_to_its_end() {
    let tool = Tool::new();
    let text: String = (0..1_000_000).fold(String::new(), |mut text, i| {
        write!(text, "{i:06}é").unwrap();
        text
    });
    let handle = tool.put(json!({"text": text, "after": 1}).to_string().as_bytes());
    let pages = pages(&tool, &handle, ".text, .after", "400000");
    assert!(pages.len() > 4);
    assert_eq!(pages.concat(), format!("\"{text}\"\n1\n"));
}

#[test]
fn a_path_that_leads_nowhere_is_explained() {
    let tool = Tool::new();
    let handle = tool.put(records(3000).as_bytes());
    let page = tool.json(&["query", &handle, ".items[0].stok"], b"");
    let missing = json!({
        "found": ".items[0]", "kind": "object", "key": ".stok",
        "near": ["stock", "id", "name", "tags", "price"], "length": null,
    });
    assert_eq!(
        (&page["text"], &page["missing"]),
        (&"null\n".into(), &missing)
    );
    let (error, code) = tool.error(&["query", &handle, ".itmes[] | .name"]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(error, @r#"{"fault":"caller","hint":"take a key that is there; `keys` lists them","kind":"no_such_path","message":"cannot iterate over null: . has no .itmes; did you mean .items? It has \"items\", \"total\"\nshape:\n  (laid out as 39005 lines)\n  object\n    .total: number: 3000\n    .items[]: array(3,000) of object {also .price}\n      .id: number 0–2999\n      .name: string: \"item 0\", …\n      .tags[]: array(2) of string (2 distinct: \"a\", \"b\")\n      .stock: object {.site: string (4 distinct: \"s0\", \"s1\", \"s2\", \"s3\"), .left: number}\n  (… 1 finer lines left out)"}"#);
    let (error, _) = tool.error(&["query", &handle, ".items.name"]);
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @r#"
    cannot index array with "name": .items has no .name; it is an array of 3000 elements: write .items[].name
    shape:
      (laid out as 39005 lines)
      object
        .total: number: 3000
        .items[]: array(3,000) of object {also .price}
          .id: number 0–2999
          .name: string: "item 0", …
          .tags[]: array(2) of string (2 distinct: "a", "b")
          .stock: object {.site: string (4 distinct: "s0", "s1", "s2", "s3"), .left: number}
      (… 1 finer lines left out)
    "#);
    let (error, _) = tool.error(&["query", &handle, ".items[] | .name | keys"]);
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @r#"
    the filter failed on document 1: cannot use "item 0" as iterable (array or object)
    shape:
      (laid out as 39005 lines)
      object
        .total: number: 3000
        .items[]: array(3,000) of object {also .price}
          .id: number 0–2999
          .name: string: "item 0", …
          .tags[]: array(2) of string (2 distinct: "a", "b")
          .stock: object {.site: string (4 distinct: "s0", "s1", "s2", "s3"), .left: number}
      (… 1 finer lines left out)
    "#);
    let (error, _) = tool.error(&["query", &handle, ".items | map(select(.name ==))"]);
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @"
    the filter is not valid jq: term expected
      .items | map(select(.name ==))
                                  ^
    ");
    let (error, _) = tool.error(&["query", &handle, ".items[].id", "--start", "5000"]);
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @"result 5000 is past the end: there are 3000 results, counted from 0");
}

#[test]
fn odd_keys_and_bytes_past_the_end_are_explained() {
    let tool = Tool::new();
    let handle = tool.put(records(3000).as_bytes());
    let past = |start, byte| {
        let arguments = ["query", &handle, ".total", "--start", start, "--byte", byte];
        tool.error(&arguments).0["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    insta::assert_snapshot!(past("0", "5"), @"byte 5 is past the end of result 0, which has fewer bytes");
    insta::assert_snapshot!(past("1", "1"), @"result 1 is past the end: there are 1 results, counted from 0");
    for (filter, says) in [
        (".items.pkg-3.version", "write .\"pkg-3\" for such a key"),
        (".a.xml:lang", "write .\"xml:lang\" for such a key"),
        (".a-b", "write .\"a-b\" for such a key"),
    ] {
        let (error, _) = tool.error(&["query", &handle, filter]);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
    let (error, _) = tool.error(&["query", &handle, ".a | nope - 3"]);
    assert!(!error["message"].as_str().unwrap().contains("such a key"));
}

#[test]
fn keys_of_later_elements_are_named_too() {
    let tool = Tool::new();
    let rows: Vec<_> = (0..3000)
        .map(|i| match i {
            0 => json!({"id": i}),
            _ => json!({"id": i, "title": "t"}),
        })
        .collect();
    let handle = tool.put(json!(rows).to_string().as_bytes());
    let page = tool.json(&["query", &handle, ".[].titel"], b"");
    assert_eq!(page["missing"]["near"], json!(["title", "id"]));
    // The first item has no title, but other items have one, so the name is not reported as
    // missing.
    let page = tool.json(&["query", &handle, ".[].title"], b"");
    assert!(page["text"].as_str().unwrap().starts_with("null\n\"t\"\n"));
    assert_eq!(page["missing"], json!(null));
}

#[test]
fn lines_of_json_tables_and_text() {
    let tool = Tool::new();
    let mut lines: String = (0..3000)
        .map(|i| format!("{{\"id\":{i},\"ok\":{}}}\n", i % 3 == 0))
        .collect();
    lines.push_str("this is no JSON\n");
    let handle = tool.put(lines.as_bytes());
    let page = tool.json(
        &["query", &handle, "select(.ok) | .id", "--max-tokens", "32"],
        b"",
    );
    assert_eq!(page["total"], 1000);
    insta::assert_snapshot!(page["notes"][0].as_str().unwrap(), @"1 line was left out: line 3001: byte offset 0: value expected");
    let count = tool.json(&["query", &handle, "-s", "map(select(.ok)) | length"], b"");
    assert_eq!(count["text"], "1000\n");
    let table: String = (0..3000)
        .map(|i| format!("{i},name {i},{}.50\n", i % 9))
        .collect();
    let handle = tool.put(format!("id,name,price\n{table}").as_bytes());
    let page = tool.json(&["query", &handle, "select(.price > 8 and .id < 20)"], b"");
    assert_eq!(
        page["text"],
        "{\"id\":8,\"name\":\"name 8\",\"price\":8.50}\n{\"id\":17,\"name\":\"name 17\",\"price\":8.50}\n"
    );
    let handle = tool.put(spillgate_testkit::log(3000).as_bytes());
    let page = tool.json(&["query", &handle, "select(test(\"E4217\"))", "-r"], b"");
    assert_eq!(page["text"].as_str().unwrap().lines().count(), 1);
}

#[test]
fn notes_before_a_document_are_left_out() {
    let tool = Tool::new();
    let handle = tool.put(format!("Fetching page 1\n{}\n", records(3000)).as_bytes());
    assert_eq!(
        tool.json(&["query", &handle, ".total"], b"")["text"],
        "3000\n"
    );
}

#[test]
fn the_child_is_nobodys_command() {
    let tool = Tool::new();
    for args in [&["--help"][..], &["completions", "bash"], &["man"]] {
        let shown = String::from_utf8(tool.run(args, b"").stdout).unwrap();
        assert!(!shown.contains("__jq"), "{args:?}");
    }
    for args in [&["__jq"][..], &["__jq", "no request"]] {
        let output = tool.run(args, b"");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
}

/// A store with one artifact, and an engine with small limits.
struct Lab {
    artifact: Artifact,
    engine: Engine,
    _tool: Tool,
}

impl Lab {
    fn new(data: &[u8]) -> Self {
        let tool = Tool::new();
        let handle = tool.put(data);
        let store = FileStore::new(tool.store(), Lifetime::Durable, Arc::new(SystemClock));
        let stored = store.open(handle.parse().unwrap()).unwrap();
        Self {
            artifact: Artifact::open(stored).unwrap(),
            engine: Engine {
                child: Child {
                    program: env!("CARGO_BIN_EXE_spillgate").into(),
                    arguments: vec!["__jq".into()],
                },
                limits: QueryLimits {
                    memory: 64 << 20,
                    wall: Duration::from_secs(4),
                    counting: Duration::from_millis(300),
                    ..QueryLimits::default()
                },
            },
            _tool: tool,
        }
    }

    fn ask(&self, filter: &str) -> Result<QueryPage, QueryError> {
        let counter = Tokenizer::Heuristic.counter();
        let asked = Query::new(filter, TokenBudget::new(40));
        let begun = Instant::now();
        let answer = query(&self.artifact, &asked, &self.engine, &*counter);
        assert!(
            begun.elapsed() < self.engine.limits.wall * 2,
            "{filter} took too long"
        );
        assert_eq!(children(), 0, "{filter} left a process behind");
        answer
    }
}

/// Returns the number of child processes of this thread. Other tests run on other threads.
fn children() -> usize {
    let all = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    all.split_whitespace().count()
}

#[test]
fn hostile_filters_end_with_an_error_that_says_so() {
    let lab = Lab::new(records(3000).as_bytes());
    let nested = format!("{}1{}", "(".repeat(4000), ")".repeat(4000));
    let braces = "[".repeat(9000);
    let cases = [
        ("def f: f; f", "timeout"),
        ("last(range(1e12))", "timeout"),
        ("[.items[] | last(range(1e12))]", "timeout"),
        ("[range(1e9)]", "out_of_memory or timeout"),
        ("\"0123456789\" * 1000000000", "out_of_memory"),
        (
            "reduce range(40) as $i (\"xxxxxxxx\"; . + .)",
            "out_of_memory",
        ),
        ("def f: 1 + f; f", "too_deep"),
        (
            "reduce range(1e7) as $i (0; [.])",
            "too_deep, out_of_memory or timeout",
        ),
        ("env", "filter_failed"),
        ("$ENV", "bad_filter"),
        ("input_filename", "bad_filter"),
        ("halt", "filter_failed"),
        (&braces, "bad_filter"),
    ];
    for (filter, kind) in cases {
        let error = lab.ask(filter).unwrap_err();
        assert!(kind.contains(error.kind()), "{filter:.40}: {error}");
        assert!(error.is_callers(), "{filter:.40}: {error}");
    }
    assert_eq!(lab.ask(&nested).unwrap().text, "1\n");
    let long = "1,".repeat(5001);
    assert!(matches!(
        lab.ask(&long),
        Err(QueryError::FilterTooLong { .. })
    ));
}

#[test]
fn endless_results_give_a_page() {
    let lab = Lab::new(records(3000).as_bytes());
    let page = lab.ask("repeat(1)").unwrap();
    assert!(page.text.starts_with("1\n1\n"));
    assert_eq!((page.total, page.notes.len()), (None, 0));
    let next = page.next.unwrap();
    assert_eq!((next.start, next.byte), (page.results, 0));
    let raw = Query {
        raw: true,
        ..Query::new("repeat(\"\")", TokenBudget::new(40))
    };
    let counter = Tokenizer::Heuristic.counter();
    let page = query(&lab.artifact, &raw, &lab.engine, &*counter).unwrap();
    assert!(page.results > 0 && page.text.len() as u64 == page.results);
    // A filter whose results never end does not give a page.
    let error = lab.ask("1, 2, last(range(1e12))").unwrap_err();
    assert_eq!(error.kind(), "timeout");
}

#[test]
fn hostile_documents_end_with_an_error_that_says_so() {
    for levels in [100_000, 1_000_000] {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for document in [deep.clone(), format!(r#"{{"a":{deep},"b":1}}"#)] {
            let lab = Lab::new(document.as_bytes());
            for filter in [".", ".a", ".[0]", ".a[0]", "..", ".[]", "length"] {
                match lab.ask(filter) {
                    Err(error) => {
                        let expected = ["too_deep", "filter_failed", "no_such_path", "not_json"];
                        assert!(
                            expected.contains(&error.kind()),
                            "{levels} {filter}: {error}"
                        );
                    }
                    // The output was stored as text, because no parser accepted it as JSON.
                    Ok(page) => assert!(page.text.len() < 3000, "{levels} {filter}"),
                }
            }
        }
    }
}

#[test]
fn a_child_that_is_killed_is_reported() {
    let mut lab = Lab::new(records(3000).as_bytes());
    let shell = |script: &str| Child {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
    };
    for (script, says) in [
        ("kill -9 $$", "signal: 9"),
        ("exit 3", "exit status: 3"),
        ("echo nonsense", "what is no answer"),
        ("echo oh no >&2; exit 1", "oh no"),
        (
            "yes noise | head -n 3000 >&2; echo last words >&2; exit 1",
            "last words",
        ),
    ] {
        lab.engine.child = shell(script);
        let error = lab.ask(".").unwrap_err();
        assert_eq!((error.kind(), error.is_callers()), ("query_process", false));
        assert!(error.to_string().contains(says), "{error}");
    }
    lab.engine.child = shell("yes | tr -d '\\n'");
    assert_eq!(lab.ask(".").unwrap_err().kind(), "query_process");
    lab.engine.child.program = "/nonexistent/program".into();
    assert!(matches!(lab.ask("."), Err(QueryError::Spawn(_))));
}

/// Returns an offloader of the library on the tool's store.
fn library(tool: &Tool) -> Offloader {
    let clock = Arc::new(SystemClock);
    Offloader::new(
        Arc::new(FileStore::new(
            tool.store(),
            Lifetime::Durable,
            Arc::clone(&clock) as _,
        )),
        Policy::default(),
        Tokenizer::O200kBase.counter(),
        Audience::default(),
        clock,
        Arc::new(NoLedger),
    )
}

#[test]
fn a_page_as_a_model_sees_it() {
    let tool = Tool::new();
    let data = records(3000).replace("\"id\":0,", "\"id\":\"none\",");
    let handle = tool.put(data.as_bytes());
    let offloader = library(&tool);
    let engine = Engine::new(Child {
        program: env!("CARGO_BIN_EXE_spillgate").into(),
        arguments: vec!["__jq".into()],
    });
    let shown = |filter: &str, tokens| {
        let asked = Query::new(filter, TokenBudget::new(tokens));
        let next = |next: QueryNext| format!("start={} byte={}", next.start, next.byte);
        let handle = handle.parse().unwrap();
        let shown = offloader.present_query(handle, &asked, &engine, &next);
        shown.unwrap().text().to_owned()
    };
    insta::assert_snapshot!(shown(".items[].name", 110), @r#"
    [results 0-10 of 3000, counted from 0]
    "item 0"
    "item 1"
    "item 2"
    "item 3"
    "item 4"
    "item 5"
    "item 6"
    "item 7"
    "item 8"
    "item 9"
    "item 10"
    next: start=11 byte=0
    "#);
    let second = shown(".items[1]", 130);
    assert!(
        second.starts_with("[results 0-0 of 1, counted from 0]\n{\"id\":1,"),
        "{second}"
    );
    insta::assert_snapshot!(shown(".items[3].nam", 500), @r#"
    [1 results, all null]
    note: .items[3] has no .nam; did you mean .name? It has "name", "id", "tags", "price", "stock"
    shape:
      (laid out as 39005 lines)
      object
        .total: number: 3000
        .items[]: array(3,000) of object
          .id: string: "none" | number 1–2999
          .name: string: "item 0", …
          .price: number 0.50–8997.50
          .tags[]: array(2) of string (2 distinct: "a", "b")
          .stock: object {.site: string (4 distinct: "s0", "s1", "s2", "s3"), .left: number}
    "#);
    insta::assert_snapshot!(shown(".items[:2][].id | ., ascii_upcase", 500), @r#"
    [results 0-2 of 3, counted from 0]
    "none"
    "NONE"
    1
    note: the filter failed after 3 results: cannot use 1 as string
    "#);
    assert_eq!(shown(".items[] | select(.id == -1)", 500), "[no results]\n");
}

/// Returns rows with an id, a code, a state and a price, one of which is no number.
fn rows() -> String {
    (0..3000)
        .map(|i| {
            let price = if i == 17 {
                "n/a".to_owned()
            } else {
                format!("{}.50", i % 9)
            };
            format!(
                "{i},{:05},{},{price}\n",
                i * 7,
                if i < 2990 { "open" } else { "done" }
            )
        })
        .collect()
}

#[test]
fn rows_as_a_model_sees_them() {
    let tool = Tool::new();
    let rows = rows();
    let handle = tool.put(format!("id,zip,state,Cost Total\n{rows}").as_bytes());
    let offloader = library(&tool);
    let engine = Engine::new(Child {
        program: env!("CARGO_BIN_EXE_spillgate").into(),
        arguments: vec!["__jq".into()],
    });
    let shown = |filter: &str| {
        let asked = Query::new(filter, TokenBudget::new(400));
        let next = |next: QueryNext| format!("start={} byte={}", next.start, next.byte);
        let handle = handle.parse().unwrap();
        let shown = offloader.present_query(handle, &asked, &engine, &next);
        let text = match shown {
            Ok(shown) => shown.text().to_owned(),
            Err(error) => error.to_string(),
        };
        format!("> {filter}\n{text}\n")
    };
    let all: Vec<String> = [
        ".[] | select(.state == \"done\" and .id < 2992)",
        "map(select(.\"Cost Total\" > 7)) | length",
        "group_by(.state) | map({state: .[0].state, n: length})",
        ".[0:2] | map(.zip)",
        ".state",
        "sort_by(.stat) | .[0].id",
        "map(select(.stat == \"done\"))",
        ".[].\"Cost total\"",
        "select(.state = \"done\") | .state",
        "[.[]] | @csv | select(startswith(\"2999\"))",
        "select(.zip | test(7))",
    ]
    .map(shown)
    .into();
    insta::assert_snapshot!(all.join("\n"), @r#"
    > .[] | select(.state == "done" and .id < 2992)
    [results 0-1 of 2, counted from 0]
    {"id":2990,"zip":"20930","state":"done","Cost Total":"2.50"}
    {"id":2991,"zip":"20937","state":"done","Cost Total":"3.50"}
    note: `.` was the array of all rows

    > map(select(."Cost Total" > 7)) | length
    [results 0-0 of 1, counted from 0]
    3000
    note: ."Cost Total" holds text (row 18: "n/a"), and text is greater than every number: take (."Cost Total" | tonumber? // null); `.` was the array of all rows

    > group_by(.state) | map({state: .[0].state, n: length})
    [results 0-0 of 1, counted from 0]
    [{"state":"done","n":10},{"state":"open","n":2990}]
    note: `.` was the array of all rows

    > .[0:2] | map(.zip)
    [results 0-0 of 1, counted from 0]
    ["00000","00007"]
    note: `.` was the array of all rows

    > .state
    [results 0-2999 of 3000, counted from 0]
    2,990 × "open"
    10 × "done"
    note: `N × RESULT` stands for N equal results in a row

    > sort_by(.stat) | .[0].id
    [1 result: 0]
    note: .[] has no .stat; did you mean .state? It has "state", "id", "zip", "Cost Total"
    shape:
      3,000 rows, 4 columns
      id: integer 0–2999
      zip: text: 00000, …
      state: text (2 distinct: 2,990× open, 10× done)
      Cost Total: text (10 distinct: 334× 0.50, 334× 1.50, 334× 2.50, 333× 3.50, 333× 4.50, 333× 5.50, …)


    > map(select(.stat == "done"))
    [1 result: []]
    note: .[] has no .stat; did you mean .state? It has "state", "id", "zip", "Cost Total"
    shape:
      3,000 rows, 4 columns
      id: integer 0–2999
      zip: text: 00000, …
      state: text (2 distinct: 2,990× open, 10× done)
      Cost Total: text (10 distinct: 334× 0.50, 334× 1.50, 334× 2.50, 333× 3.50, 333× 4.50, 333× 5.50, …)


    > .[]."Cost total"
    [3000 results, all null]
    note: .[] has no ."Cost total"; did you mean ."Cost Total"? It has "Cost Total", "state", "id", "zip"
    shape:
      3,000 rows, 4 columns
      id: integer 0–2999
      zip: text: 00000, …
      state: text (2 distinct: 2,990× open, 10× done)
      Cost Total: text (10 distinct: 334× 0.50, 334× 1.50, 334× 2.50, 333× 3.50, 333× 4.50, 333× 5.50, …)


    > select(.state = "done") | .state
    [results 0-2999 of 3000, counted from 0]
    2,990 × "open"
    10 × "done"
    note: `=` in `select` assigns, so nothing is dropped: compare with `==`; `N × RESULT` stands for N equal results in a row

    > [.[]] | @csv | select(startswith("2999"))
    [results 0-0 of 1, counted from 0]
    "2999,\"20993\",\"done\",\"2.50\""
    note: `.` was each row in turn, because read the other way the filter fails: not a cell: object

    > select(.zip | test(7))
    the filter failed on row 1: cannot use 7 as string
    "#);
}

/// Checks that a child's filter is visible only to its owner.
fn only_its_owner_sees_the_filter(child: &str) {
    let environment = std::fs::read(format!("/proc/{child}/environ")).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    assert!(
        environment.contains("\0SPILLGATE_QUERY={") && environment.contains("last(range(1e12))"),
        "{environment}"
    );
    // The second variable, `GLIBC_TUNABLES`, sets up the allocator. glibc overwrites its colons with
    // zero bytes, so that its further parts look like variables. They are not counted.
    let variables = environment.split_terminator('\0');
    let variables = variables.filter(|part| !part.starts_with("glibc."));
    assert_eq!(variables.count(), 2, "{environment}");
    // Every user of the machine can read the command line, so it does not contain the filter.
    let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap();
    assert!(line.ends_with("\0__jq\0"), "{line}");
}

#[test]
fn a_child_ends_with_its_parent() {
    let tool = Tool::new();
    let handle = tool.put(records(3000).as_bytes());
    let mut parent = tool
        .command(&["query", &handle, "last(range(1e12))"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = parent.id();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let soon = Instant::now() + Duration::from_secs(8);
    let running = |child: &str| {
        let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.windows(4).any(|part| part == b"__jq")
    };
    let child = loop {
        let found = std::fs::read_to_string(&children).unwrap_or_default();
        match found.split_whitespace().find(|child| running(child)) {
            Some(child) => break child.to_owned(),
            None => assert!(Instant::now() < soon, "no child was started"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // Once the child has its second thread, it has set its limits.
    while std::fs::read_dir(format!("/proc/{child}/task"))
        .unwrap()
        .count()
        < 2
    {
        assert!(Instant::now() < soon, "the child does nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    only_its_owner_sees_the_filter(&child);
    let limits = std::fs::read_to_string(format!("/proc/{child}/limits")).unwrap();
    for (name, limit) in [
        ("Max open files", "0"),
        ("Max file size", "0"),
        ("Max core file size", "0"),
        ("Max cpu time", "10"),
    ] {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(
            line[name.len()..].split_whitespace().next(),
            Some(limit),
            "{line}"
        );
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    while running(&child) {
        assert!(Instant::now() < soon, "the child lives on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Each message fits its budget, however long the page, the notes and the next call are.
#[test]
fn every_budget_has_room_for_a_message() {
    let tool = Tool::new();
    let data = records(300).replace("\"id\":0,", "\"id\":\"none\",");
    let handle = tool.put(data.as_bytes());
    let offloader = library(&tool);
    let engine = Engine::new(Child {
        program: env!("CARGO_BIN_EXE_spillgate").into(),
        arguments: vec!["__jq".into()],
    });
    let mut seen = std::collections::HashSet::new();
    let long = format!("query(filter={})", "§ ".repeat(200));
    for filter in [
        ".items[].name",
        ".items[] | .id",
        ".items[3].nam",
        ".items[] | .id + 1",
        ". | .items[].name, (1 | error(\"next: no\"))",
    ] {
        for tokens in [1, 32, 110, 250] {
            let asked = Query::new(filter, TokenBudget::new(tokens));
            for call in ["short", &long] {
                let next = |_: QueryNext| call.to_owned();
                let handle = handle.parse().unwrap();
                // The filter may also fail, or its results may not fit the budget. Every page that
                // is returned must be within the budget.
                if let Ok(shown) = offloader.present_query(handle, &asked, &engine, &next) {
                    assert!(shown.tokens() <= tokens + 120, "{filter} {tokens}");
                    let text = shown.text();
                    let has_call = text.contains(&format!("next: {call}"));
                    let has_short = text.contains("next: the same with start=");
                    assert!(!has_call || !has_short, "{text}");
                    seen.extend([(call.len() > 9, has_short)]);
                }
            }
        }
    }
    // The long call is written only if there is room for it. There is always room for the short
    // one.
    let pair = |long, short| seen.contains(&(long, short));
    assert!(pair(true, true) && pair(true, false) && !pair(false, true));
}
