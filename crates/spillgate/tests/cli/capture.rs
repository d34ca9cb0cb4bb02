//! Tests that a stored output is returned byte for byte.

use insta::assert_snapshot;
use spillgate_testkit::{log, noise, records};
use spillgate_text::Tokenizer;

use crate::tool::{Tool, masked, sha256};

/// Returns a text of exactly this many tokens: " word" is one token, even if it is repeated.
fn of_tokens(tokens: usize) -> String {
    let text = " word".repeat(tokens);
    let counter = Tokenizer::O200kBase.counter();
    assert_eq!(counter.count(&text), tokens as u64);
    text
}

#[test]
fn all_bytes_come_back_and_no_message_is_over_its_budget() {
    let tool = Tool::new();
    let counter = Tokenizer::O200kBase.counter();
    let progress: String = (0..30_000).map(|i| format!("{i} of 30000\r")).collect();
    let cases: [(&str, Vec<u8>, bool); 15] = [
        ("nothing", vec![], false),
        ("one byte", b"x".to_vec(), false),
        ("exactly the limit", of_tokens(2500).into(), false),
        ("one token more", of_tokens(2501).into(), true),
        ("a line of 1 MB", "abc ".repeat(250_000).into(), true),
        ("a line of 1 MB without a blank", vec![b'x'; 1 << 20], true),
        ("a log", log(100_000).into(), true),
        ("one line of JSON", records(20_000).into(), true),
        ("5 MB of noise", noise(5 << 20), true),
        (
            "invalid UTF-8",
            // A few invalid bytes in a text that is otherwise UTF-8. With fewer valid characters
            // the text would be detected as windows-1252.
            ["Größe, café ".as_bytes(), b"\xff\xfe\n"]
                .concat()
                .repeat(9000),
            true,
        ),
        ("CRLF", log(5000).replace('\n', "\r\n").into(), true),
        ("progress", format!("{progress}\ndone\n").into(), true),
        (
            "colour",
            "\x1b[31mred\x1b[0m text\n".repeat(9000).into(),
            true,
        ),
        ("emoji", "👩‍👩‍👧‍👦🚀".repeat(9000).into(), true),
        ("NULs", vec![0; 300_000], true),
    ];
    for (name, bytes, offloaded) in cases {
        let object = tool.json(&["put"], &bytes);
        assert_eq!(object["offloaded"], offloaded, "{name}");
        assert_eq!(object["bytes"], bytes.len(), "{name}");
        assert_eq!(object["sha256"], sha256(&bytes), "{name}");
        if !offloaded {
            assert_eq!(tool.run(&["put"], &bytes).stdout, bytes, "{name}");
            continue;
        }
        let handle = object["handle"].as_str().unwrap();
        let raw = tool.run(&["cat", "--raw", handle], b"").stdout;
        assert_eq!(sha256(&raw), object["sha256"], "{name}");
        let text = object["text"].as_str().unwrap();
        assert!(counter.count(text) <= 700, "{name}: {text}");
        assert!(text.len() < 10_000, "{name}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 500),
            "{name}"
        );
        let view = tool.run(&["cat", handle], b"").stdout;
        let view = String::from_utf8(view).expect(name);
        assert!(!view.contains(['\x1b', '\r', '\0']), "{name}");
    }
}

#[test]
fn two_hundred_megabytes_of_log() {
    let tool = Tool::new();
    let log = log(100_000).repeat(34);
    assert!(log.len() > 200 << 20);
    let object = tool.json(&["put"], log.as_bytes());
    assert_eq!(object["sha256"], sha256(log.as_bytes()));
    assert_eq!(object["lines"], log.lines().count() + 1);
    assert_eq!(object["kind"], "log");
    assert_eq!(object["tokens_exact"], false);
    let handle = object["handle"].as_str().unwrap();
    let raw = tool.run(&["cat", "--raw", handle], b"").stdout;
    assert_eq!(sha256(&raw), object["sha256"]);
    let page = tool.json(&["read", handle, "--tail", "--lines", "1"], b"");
    assert_eq!(
        page["text"].as_str(),
        log.lines().last().map(|l| format!("{l}\n")).as_deref()
    );
}

#[test]
fn a_view_does_not_grow_out_of_proportion() {
    let tool = Tool::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!(
        "{}{}{}",
        "[".repeat(3000),
        "1,".repeat(2000) + "1",
        "]".repeat(3000)
    );
    for json in [deep, wide] {
        let object = tool.json(&["put"], json.as_bytes());
        let handle = object["handle"].as_str().unwrap();
        let view = tool.json(&["show", handle], b"")["view"].clone();
        assert_eq!(
            (&view["bytes"], &view["is_raw"]),
            (&json.len().into(), &true.into())
        );
    }
    let marked = format!("\u{feff}{}", records(500));
    let object = tool.json(&["put"], marked.as_bytes());
    assert_eq!(object["kind"], "json");
    assert!(object["text"].as_str().unwrap().contains("laid out as"));
}

#[test]
fn what_cannot_be_shown_is_said_to_be_there() {
    let tool = Tool::new();
    let text = tool.json(&["put"], &vec![0; 50_000])["text"].clone();
    assert!(
        text.as_str().unwrap().contains("data of an unknown format"),
        "{text}"
    );
}

#[test]
fn byte_limits_are_strict() {
    let tool = Tool::new();
    let text = log(400);
    let put = |bytes: &str| {
        let limit = bytes.len().to_string();
        tool.json(&["put", "--max-bytes", &limit], text.as_bytes())["offloaded"].clone()
    };
    assert_eq!(put(&text), false);
    assert_eq!(put(&text[1..]), true);
}

#[test]
fn a_result_that_a_preview_would_not_shorten_passes() {
    let tool = Tool::new();
    let text = of_tokens(500);
    let object = tool.json(&["put", "--max-tokens", "400"], text.as_bytes());
    assert_eq!(object["offloaded"], false);
    assert_eq!(object["reason"], "never_worse");
    assert_eq!(object["text"], text);
}

#[test]
fn a_log_as_a_model_sees_it() {
    let tool = Tool::new();
    let object = tool.json(&["put", "--tool", "journal"], log(3000).as_bytes());
    let handle = object["handle"].as_str().unwrap();
    assert_snapshot!(masked(object["text"].as_str().unwrap(), handle), @"
    [spillgate] journal returned 189914 bytes, 3001 lines, 74976 tokens (log); stored whole as HANDLE
    failure:
      501: ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    shape:
      levels: ERROR 1, INFO 2,999
      from 2026-11-21T10:00:00Z to 2026-11-21T10:49:59Z
      2,999× (line 1) <*> INFO worker-<*> processed batch id=<*> ok
    next: spillgate search HANDLE 'why did it fail?'
    next: spillgate read HANDLE --start 491 --lines 60
    also, likewise: grep HANDLE REGEX
    ");
}

#[test]
fn a_command_that_failed_shows_its_error_wherever_it_stands() {
    let script = "for i in $(seq 4000); do [ $i = 90 ] && echo 'error: no libfoo' || echo step $i; done; exit ";
    let preview = |code: &str| {
        let tool = Tool::new();
        let script = format!("{script}{code}");
        let output = tool.run(&["run", "--quiet", "--", "sh", "-c", &script], b"");
        assert_eq!(output.status.code(), code.parse().ok());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(preview("2").contains("\n  90: error: no libfoo\n"));
    assert!(!preview("0").contains("failure:"));
}

#[test]
fn json_as_a_model_sees_it() {
    let tool = Tool::new();
    let object = tool.json(&["put", "--tool", "api"], records(500).as_bytes());
    let handle = object["handle"].as_str().unwrap();
    assert_snapshot!(masked(object["text"].as_str().unwrap(), handle), @r#"
    [spillgate] api returned 46371 bytes, 1 lines, 17674 tokens (json); stored whole as HANDLE
    shape:
      (laid out as 6505 lines)
      object
        .total: number: 500
        .items[]: array(500) of object
          .id: number 0–499
          .name: string: "item 0", …
          .price: number 0.50–1497.50
          .tags[]: array(2) of string (2 distinct: "a", "b")
          .stock: object {.site: string (4 distinct: "s0", "s1", "s2", "s3"), .left: number}
    first:
      .items[]: {"id": 0, "name": "item 0", "price": 0.50, "tags": ["a", "b"], "stock": {"site": "s0", "left": 0}}
    next: spillgate query HANDLE '.items[] | {id, name}'
    next: spillgate search HANDLE 'name item 0'
    also, likewise: grep HANDLE REGEX, read HANDLE --start LINE --lines N
    "#);
}

#[test]
fn noise_as_a_model_sees_it() {
    let tool = Tool::new();
    let object = tool.json(&["put"], &noise(100_000));
    let handle = object["handle"].as_str().unwrap();
    assert_snapshot!(masked(object["text"].as_str().unwrap(), handle), @"
    [spillgate] stdin returned 100000 bytes (binary); stored whole as HANDLE
    shape:
      data of an unknown format
    also, likewise: grep HANDLE REGEX, read HANDLE --start LINE --lines N
    ");
}

#[test]
fn the_seeds_three_lines() {
    let tool = Tool::new();
    let object = tool.json(&["put", "--profile", "handle"], log(3000).as_bytes());
    let handle = object["handle"].as_str().unwrap();
    assert_snapshot!(masked(object["text"].as_str().unwrap(), handle), @r#"
    Tool output is too large (189914 bytes, 3001 lines, 74976 tokens).
    Call tool_output(handle = "HANDLE", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    "#);
}

#[test]
fn the_middle_cut_out() {
    let tool = Tool::new();
    let args = ["put", "--profile", "truncate", "--max-bytes", "300"];
    let object = tool.json(&args, log(3000).as_bytes());
    let text = object["text"].as_str().unwrap();
    assert!(text.len() <= 300);
    assert_snapshot!(text, @"
    [TRUNCATED IN THE MIDDLE BY ~189695 BYTES]
    2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok
    2026-11-21T10:00:01Z INFO worker-1 processed batch
    [···TRUNCATED 189695 bytes···]
    :58Z INFO worker-6 processed batch id=40451 ok
    2026-11-21T10:49:59Z INFO worker-7 processed batch id=48370 ok
    ");
    assert!(
        object["handle"].is_string(),
        "what is cut is stored all the same"
    );
}
