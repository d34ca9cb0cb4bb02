//! Tests for the texts that a model sees.

use insta::assert_snapshot;
use serde_json::json;
use spillgate_artifact::Interrupt;
use spillgate_files::FileTools;

use super::{call, pinned, root, tools};

const TEXT: &str = "alpha\nbeta\n\ngamma\r\ndelta\nalpha two\nepsilon\n";

fn small() -> FileTools {
    tools(pinned(TEXT).0, 1000)
}

/// Returns a tool's definition, as a model sees it.
fn definition(at: usize) -> String {
    let tool = &FileTools::definitions()[at];
    let schema = serde_json::to_string_pretty(&tool.schema).unwrap();
    format!("{}: {}\n{schema}", tool.name, tool.description)
}

#[test]
fn what_read_is() {
    assert_snapshot!(definition(0), @r#"
    Read: Shows lines of a file with their numbers. An answer that had to be cut ends with how to read on. Lines over 1000 characters are broken into several.
    {
      "properties": {
        "file": {
          "description": "Name of the file.",
          "type": "string"
        },
        "headOrTail": {
          "description": "Read from the beginning or from the end. Default head.",
          "enum": [
            "head",
            "tail"
          ],
          "type": "string"
        },
        "lines": {
          "description": "How many lines. Default all.",
          "minimum": 0,
          "type": "integer"
        },
        "start": {
          "description": "Lines to skip, from the side that is read. Default 0.",
          "minimum": 0,
          "type": "integer"
        }
      },
      "required": [
        "file"
      ],
      "type": "object"
    }
    "#);
}

#[test]
fn what_grep_is() {
    assert_snapshot!(definition(1), @r#"
    Grep: Shows the lines of a file that match a regular expression, with lines around them: 12→ is a match, 13- stands beside one. An answer that had to be cut ends with how to go on.
    {
      "properties": {
        "after": {
          "description": "Lines to show after a match. Default 10.",
          "minimum": 0,
          "type": "integer"
        },
        "before": {
          "description": "Lines to show before a match. Default 10.",
          "minimum": 0,
          "type": "integer"
        },
        "caseSensitive": {
          "description": "Default false.",
          "type": "boolean"
        },
        "file": {
          "description": "Name of the file.",
          "type": "string"
        },
        "regex": {
          "description": "Rust regex syntax, matched within a line: no lookaround, no backreferences.",
          "maxLength": 10000,
          "type": "string"
        },
        "start": {
          "description": "Lines to skip. Default 0.",
          "minimum": 0,
          "type": "integer"
        }
      },
      "required": [
        "file",
        "regex"
      ],
      "type": "object"
    }
    "#);
}

#[test]
fn reading() {
    let tools = small();
    let read = |arguments| call(&tools, "Read", &arguments);
    assert_snapshot!(read(json!({"file": "out"})), @"
    out [head 1-7/7]
       1 alpha
       2 beta
       3 
       4 gamma
       5 delta
       6 alpha two
       7 epsilon
    ");
    assert_snapshot!(read(json!({"file": "out", "start": "2", "lines": 2.0, "limit": 3})), @"
    out [head 3-4/7]
       3 
       4 gamma
    ");
    assert_snapshot!(read(json!({"file": "out", "headOrTail": "tail", "lines": 2})), @"
    out [tail 6-7/7]
       6 alpha two
       7 epsilon
    ");
    assert_snapshot!(read(json!({"file": "out", "headOrTail": "tail", "start": 5, "lines": null})), @"
    out [tail 1-2/7]
       1 alpha
       2 beta
    ");
    let all = read(json!({"file": "out"}));
    for lines in [json!(0), json!("all"), json!(99), json!(null), json!("")] {
        assert_eq!(read(json!({"file": "out", "lines": lines})), all);
    }
}

#[test]
fn grepping() {
    let tools = small();
    let grep = |arguments| call(&tools, "Grep", &arguments);
    assert_snapshot!(grep(json!({"file": "out", "regex": "ALPHA|zeta"})), @"
    1→alpha
    2-beta
    3-
    4-gamma
    5-delta
    6→alpha two
    7-epsilon
    ");
    assert_snapshot!(grep(json!({"file": "out", "regex": "alpha", "before": 1, "after": "1"})), @"
       1→alpha
       2-beta
    --
       5-delta
       6→alpha two
       7-epsilon
    ");
    assert_snapshot!(grep(json!({"file": "out", "regex": "^(alpha|gamma)$", "before": 0, "after": 0})), @"
    1→alpha
    4→gamma
    ");
    assert_snapshot!(grep(json!({"file": "out", "regex": "ALPHA", "caseSensitive": "true"})), @"0 matches found");
    assert_snapshot!(grep(json!({"file": "out", "regex": "beta", "start": 4})), @"0 matches found from start=4 on; 1 before");
}

/// Returns tools over a file of 400 lines, of which only a few fit into one answer.
fn many() -> FileTools {
    let line = |i| format!("line number {i} of many\n");
    let text: String = (1..=400).map(line).collect();
    tools(pinned(&text).0, 128)
}

#[test]
fn cut_pages_say_how_to_read_on() {
    let lines = many();
    let read = |arguments| call(&lines, "Read", &arguments);
    assert_snapshot!(read(json!({"file": "out"})), @"
    out [head 1-8/400]
       1 line number 1 of many
       2 line number 2 of many
       3 line number 3 of many
       4 line number 4 of many
       5 line number 5 of many
       6 line number 6 of many
       7 line number 7 of many
       8 line number 8 of many
    [cut: lines 9-400 left; Read with start=8]
    ");
    assert_snapshot!(read(json!({"file": "out", "start": 300, "lines": 50})), @"
    out [head 301-309/400]
     301 line number 301 of many
     302 line number 302 of many
     303 line number 303 of many
     304 line number 304 of many
     305 line number 305 of many
     306 line number 306 of many
     307 line number 307 of many
     308 line number 308 of many
     309 line number 309 of many
    [cut: lines 310-350 left; Read with start=309, lines=41]
    ");
    assert_snapshot!(read(json!({"file": "out", "headOrTail": "tail"})), @r#"
    out [tail 392-400/400]
     392 line number 392 of many
     393 line number 393 of many
     394 line number 394 of many
     395 line number 395 of many
     396 line number 396 of many
     397 line number 397 of many
     398 line number 398 of many
     399 line number 399 of many
     400 line number 400 of many
    [cut: lines 1-391 left; Read with headOrTail="tail", start=9]
    "#);
    assert_snapshot!(read(json!({"file": "out", "headOrTail": "tail", "start": 10, "lines": 90})), @r#"
    out [tail 382-390/400]
     382 line number 382 of many
     383 line number 383 of many
     384 line number 384 of many
     385 line number 385 of many
     386 line number 386 of many
     387 line number 387 of many
     388 line number 388 of many
     389 line number 389 of many
     390 line number 390 of many
    [cut: lines 301-381 left; Read with headOrTail="tail", start=19, lines=81]
    "#);
}

#[test]
fn cut_matches_say_how_to_go_on() {
    let lines = many();
    assert_snapshot!(call(&lines, "Grep", &json!({"file": "out", "regex": "number", "before": 1, "after": 1})), @"
       1→line number 1 of many
       2→line number 2 of many
       3→line number 3 of many
       4→line number 4 of many
       5→line number 5 of many
       6→line number 6 of many
       7→line number 7 of many
       8→line number 8 of many
       9→line number 9 of many
    [cut: 9 of 400 matching lines shown; Grep with start=9, or a narrower regex or less context]
    ");
}

#[test]
fn a_cut_line_says_how_to_read_on() {
    let long = tools(pinned(&format!("{}\nsecond\n", "漢字 ".repeat(240))).0, 128);
    let read = |arguments| call(&long, "Read", &arguments);
    assert_snapshot!(read(json!({"file": "out"})), @"
    out [head 1-1/2]
       1 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢
    [cut: the rest of line 1 and lines 2-2 left; Read with start=0, from=85]
    ");
    assert_snapshot!(read(json!({"file": "out", "start": 0, "lines": 1})), @"
    out [head 1-1/2]
       1 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 
    [cut: the rest of line 1 left; Read with start=0, from=81, lines=1]
    ");
    assert_snapshot!(read(json!({"file": "out", "start": 0, "from": 690})), @"
    out [head 1-2/2]
       1 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 
       2 second
    ");
}

/// Invalid calls and the expected errors.
fn meaningless() -> Vec<(&'static str, serde_json::Value, &'static str)> {
    vec![
        ("Read", json!({}), "file must be non-empty"),
        ("Read", json!(null), "file must be non-empty"),
        ("Read", json!([]), "the arguments must be a JSON object"),
        ("Read", json!({"file": 1}), "file must be a string"),
        (
            "Read",
            json!({"file": "out", "start": -1}),
            "start must be a whole number from 0 on",
        ),
        (
            "Read",
            json!({"file": "out", "start": 1.5}),
            "start must be a whole number from 0 on",
        ),
        (
            "Read",
            json!({"file": "out", "lines": [1]}),
            "lines must be a whole number from 0 on",
        ),
        (
            "Read",
            json!({"file": "out", "headOrTail": "middle"}),
            "headOrTail must be \"head\" or \"tail\"",
        ),
        (
            "Read",
            json!({"file": "out", "start": 7}),
            "start=7 is past the end: there are 7 lines",
        ),
        (
            "Read",
            json!({"file": "out", "start": u64::MAX, "headOrTail": "tail"}),
            "start=18446744073709551615 is past the end: there are 7 lines",
        ),
        ("Grep", json!({"file": "out"}), "regex must be non-empty"),
        (
            "Grep",
            json!({"file": "out", "regex": "a", "caseSensitive": "maybe"}),
            "caseSensitive must be true or false",
        ),
        (
            "Grep",
            json!({"file": "out", "regex": "x".repeat(10_001)}),
            "the pattern is not a valid regular expression: it is 10001 characters long; 10000 are allowed",
        ),
        (
            "read",
            json!({"file": "out"}),
            "there is no such tool; there are Read and Grep",
        ),
    ]
}

#[test]
fn what_cannot_be_meant_is_said() {
    let tools = small();
    for (name, arguments, error) in meaningless() {
        assert_eq!(
            call(&tools, name, &arguments),
            format!("error: {error}"),
            "{arguments}"
        );
    }
    assert_snapshot!(call(&tools, "Grep", &json!({"file": "out", "regex": "a(b"})), @"
    error: the pattern is not a valid regular expression: regex parse error:
        a(b
         ^
    error: unclosed group
    ");
    assert_eq!(
        tools.call("Read", "{", &Interrupt::default()).text,
        "the arguments are not JSON: EOF while parsing an object at line 1 column 1"
    );
    assert_eq!(
        tools.call("Read", "", &Interrupt::default()).text,
        "file must be non-empty"
    );
    let all = json!({"file": "out", "regex": "a", "before": u64::MAX, "after": u64::MAX, "start": u64::MAX});
    assert_eq!(
        call(&tools, "Grep", &all),
        "0 matches found from start=18446744073709551615 on; 5 before"
    );
}

#[test]
fn files_that_are_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 3] = [
        ("empty", b""),
        ("latin", b"caf\xe9\r\n\xff\xfe\n"),
        ("open", b"no newline"),
    ];
    let tools = tools(root(dir.path(), &files), 1000);
    let read = |file| call(&tools, "Read", &json!({"file": file}));
    assert_snapshot!(read("empty"), @"empty [head 0-0/0]");
    assert_snapshot!(read("latin"), @"
    latin [head 1-2/2]
       1 caf�
       2 ��
    ");
    assert_snapshot!(read("open"), @"
    open [head 1-1/1]
       1 no newline
    ");
    assert_snapshot!(call(&tools, "Grep", &json!({"file": "latin", "regex": "caf.$"})), @"0 matches found");
    assert_snapshot!(call(&tools, "Grep", &json!({"file": "empty", "regex": "^"})), @"0 matches found");
}
