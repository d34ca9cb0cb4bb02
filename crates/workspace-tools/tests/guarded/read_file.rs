//! Tests for what `read_file` returns and refuses.

mod changing;
mod encodings;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{call, tools};

/// Returns the answers to the calls in a root with one file `f`.
fn reads(content: &[u8], calls: &[Value]) -> Vec<String> {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("f"), content).unwrap();
    let tools = tools(dir.path());
    let answer = |arguments: &Value| {
        let mut arguments = arguments.clone();
        arguments["file_path"] = "f".into();
        call(&tools, "read_file", &arguments).0
    };
    calls.iter().map(answer).collect()
}

fn read(content: &[u8], arguments: Value) -> String {
    reads(content, &[arguments]).remove(0)
}

/// Returns this number of lines; the first is `Line 0`.
fn lines(count: u32) -> String {
    (0..count).map(|line| format!("Line {line}\n")).collect()
}

/// A test from section 8.1 of the specification of the `reject` profile, verbatim
/// (docs/spec/sources.md).
#[test]
fn test_read_file_rejects_large_file() {
    let dir = TempDir::new().unwrap();
    let large = dir.path().join("large.txt");
    fs::write(&large, "x".repeat(200_000)).unwrap();
    let tools = tools(dir.path());
    let (result, _) = call(&tools, "read_file", &json!({ "file_path": large }));
    assert!(result.contains("Error:"));
    assert!(result.contains("exceeds maximum"));
}

/// A test from section 8.1 of the specification of the `reject` profile, verbatim
/// (docs/spec/sources.md).
#[test]
fn test_read_file_pagination_works() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("lines.txt");
    fs::write(&path, lines(1000)).unwrap();
    let tools = tools(dir.path());
    let arguments = json!({ "file_path": path, "offset": 10, "limit": 5 });
    let (result, _) = call(&tools, "read_file", &arguments);
    assert!(result.contains("Line 10"));
    assert!(result.contains("Line 14"));
    assert!(!result.contains("Line 15"));
}

#[test]
fn what_a_model_is_told_of_it() {
    let dir = TempDir::new().unwrap();
    let definitions = tools(dir.path()).definitions();
    let ours = definitions.iter().find(|one| one.name == "read_file");
    let ours = ours.unwrap();
    let schema = serde_json::to_string_pretty(&ours.schema).unwrap();
    insta::assert_snapshot!(format!("{}\n{schema}", ours.description), @r#"
    Reads a text file. More than 25000 tokens (bytes / 4) are refused, never cut: give offset and limit then, or use grep_content. Some lines of a file begin with [Lines a-b of T], counted from 1.
    {
      "properties": {
        "file_path": {
          "description": "Path from the root, or an absolute path below it.",
          "type": "string"
        },
        "limit": {
          "description": "How many lines. Default all that follow.",
          "minimum": 0,
          "type": "integer"
        },
        "offset": {
          "description": "Lines to skip: 10 begins with line 11. Default 0.",
          "minimum": 0,
          "type": "integer"
        }
      },
      "required": [
        "file_path"
      ],
      "type": "object"
    }
    "#);
}

#[test]
fn pages() {
    let text = lines(10);
    let calls = [
        json!({"offset": 2, "limit": 3}),
        json!({"offset": "7"}),
        json!({"limit": 1}),
        json!({"offset": 9.0, "limit": 99}),
        json!({"offset": 10}),
        json!({"offset": 500, "limit": 5}),
        json!({"offset": -1}),
        json!({"offset": "many"}),
    ];
    let answers = reads(text.as_bytes(), &calls);
    insta::assert_snapshot!(answers.join("----\n"), @"
    [Lines 3-5 of 10]
    Line 2
    Line 3
    Line 4
    ----
    [Lines 8-10 of 10]
    Line 7
    Line 8
    Line 9
    ----
    [Lines 1-1 of 10]
    Line 0
    ----
    [Lines 10-10 of 10]
    Line 9
    ----
    Error: Offset 10 is past the end of 'f', which has 10 lines. Use an offset from 0 to 9.----
    Error: Offset 500 is past the end of 'f', which has 10 lines. Use an offset from 0 to 9.----
    Error: offset must be a whole number from 0 on----
    Error: offset must be a whole number from 0 on
    ");
    let whole = [
        json!({}),
        json!({"limit": 0}),
        json!({"offset": null, "limit": 10}),
        json!({"offset": 0, "limit": "all", "stray": 1}),
    ];
    for (arguments, answer) in whole.iter().zip(reads(text.as_bytes(), &whole)) {
        assert_eq!(answer, text, "{arguments}");
    }
}

#[test]
fn names_of_the_argument() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("f"), "text").unwrap();
    let tools = tools(dir.path());
    for name in ["file_path", "path", "file", "filename"] {
        let (answer, _) = call(&tools, "read_file", &json!({name: "f"}));
        assert_eq!(answer, "text");
    }
    let (answer, _) = call(&tools, "read_file", &json!({"file_path": " "}));
    insta::assert_snapshot!(answer, @"Error: file_path is missing. Give the path of a file from the root.");
}

#[test]
fn the_limit_is_the_rfcs() {
    let pass = vec![b'x'; 100_003];
    assert_eq!(read(&pass, json!({})).len(), 100_003);
    insta::assert_snapshot!(read("x".repeat(100_004).as_bytes(), json!({})), @"Error: File content (~25001 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.");
    // The header counts toward the size of a page.
    let header = "[Lines 1-2 of 3]\n".len();
    let page = |bytes: usize| {
        let text = format!("{}\n\nlast", "x".repeat(bytes - 2));
        read(text.as_bytes(), json!({"limit": 2}))
    };
    assert_eq!(page(100_003 - header).len(), 100_003);
    insta::assert_snapshot!(page(100_004 - header), @"Error: File content (~25001 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.");
    insta::assert_snapshot!(page(300_000), @"Error: File content (~75000 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.");
}

#[test]
fn one_line_that_no_page_holds() {
    let text = format!("short\n{}\nshort\n", "word ".repeat(100_000));
    let calls = [json!({"offset": 1, "limit": 1}), json!({"offset": 2})];
    insta::assert_snapshot!(reads(text.as_bytes(), &calls).join("\n----\n"), @"
    Error: File content (~125000 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content. Line 2 alone is too large for any page: grep_content shows the part of it around a match, and execute_shell any part (sed -n 2p FILE | cut -c 1-2000).
    ----
    [Lines 3-3 of 3]
    short
    ");
}

#[test]
fn texts_that_are_special() {
    let cases: [(&[u8], Value); 6] = [
        (b"", json!({})),
        (b"", json!({"offset": 3, "limit": 1})),
        (b"\n", json!({})),
        (b"a\r\nb\r\nc", json!({"offset": 1})),
        (b"a\n\n\n", json!({"offset": 2, "limit": 1})),
        (b"no end", json!({"offset": 0, "limit": 1})),
    ];
    let answers = cases.map(|(text, arguments)| format!("{:?}", read(text, arguments)));
    insta::assert_snapshot!(answers.join("\n"), @r#"
    "[The file is empty]"
    "[The file is empty]"
    "\n"
    "[Lines 2-3 of 3]\nb\r\nc"
    "[Lines 3-3 of 3]\n\n"
    "no end"
    "#);
}

#[test]
fn what_is_no_text_file() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("logo.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    fs::write(path("manual.pdf"), b"%PDF-1.7\n1 0 obj\n").unwrap();
    fs::write(path("data"), [1, 2, 3, 0, 5, 6]).unwrap();
    fs::write(path("tail"), [lines(9).as_bytes(), &[0; 9]].concat()).unwrap();
    fs::create_dir(path("src")).unwrap();
    mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    drop(UnixListener::bind(path("socket")).unwrap());
    symlink("/dev/zero", path("zero")).unwrap();
    symlink("pipe", path("to-pipe")).unwrap();
    let tools = tools(dir.path());
    let names = [
        "logo.png",
        "manual.pdf",
        "data",
        "tail",
        "src",
        "pipe",
        "to-pipe",
        "socket",
        "zero",
        "absent",
        "dta",
    ];
    let answers = names.map(|name| call(&tools, "read_file", &json!({"file_path": name})).0);
    insta::assert_snapshot!(answers.join("\n"), @"
    Error: 'logo.png' is not a text file (PNG image, 16 bytes). Use execute_shell with a program that knows such data, or go on without it.
    Error: 'manual.pdf' is not a text file (PDF document, 17 bytes). Use execute_shell with a program that knows such data, or go on without it.
    Error: 'data' is not a text file (6 bytes). Use execute_shell with a program that knows such data, or go on without it.
    Error: 'tail' is not a text file (72 bytes). Use execute_shell with a program that knows such data, or go on without it.
    Error: 'src' is a directory. Use glob_files to list what is in it.
    Error: 'pipe' is a named pipe, not a file, and is not opened. Give a regular file.
    Error: 'to-pipe' is a named pipe, not a file, and is not opened. Give a regular file.
    Error: 'socket' is a socket, not a file, and is not opened. Give a regular file.
    Error: 'zero' leads out of the root. Give a path from the root to something inside it.
    Error: File 'absent' not found. Use glob_files to find it.
    Error: File 'dta' not found. Did you mean 'data'?
    ");
}

#[test]
fn ten_gigabytes() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log");
    fs::write(&path, lines(9000)).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(10 << 30).unwrap();
    let tools = tools(dir.path());
    let (answer, _) = call(&tools, "read_file", &json!({"file_path": "log"}));
    insta::assert_snapshot!(answer, @"Error: File content (~2684354560 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn pages_together_are_the_file(
        text in "([a-zé漢🚀 ]{0,30}(\r?\n)?){0,40}",
        limit in 1u64..9,
    ) {
        let total = text.split_inclusive('\n').count() as u64;
        let offsets = (0..total).step_by(usize::try_from(limit).unwrap());
        let calls: Vec<Value> = offsets.map(|offset| json!({"offset": offset, "limit": limit})).collect();
        let mut together = String::new();
        for (number, page) in reads(text.as_bytes(), &calls).iter().enumerate() {
            let first = number as u64 * limit + 1;
            let last = (first + limit - 1).min(total);
            let header = match (first, last) == (1, total) {
                true => String::new(),
                false => format!("[Lines {first}-{last} of {total}]\n"),
            };
            together += page.strip_prefix(&header).unwrap();
        }
        prop_assert_eq!(together, text);
    }
}
