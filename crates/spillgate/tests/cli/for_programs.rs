//! Tests of what libraries call: `put` with options for programs, and `tools --lookups`.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use crate::session::Session;
use crate::tool::{Tool, feed, masked};

/// The options of `put` with which a library calls it.
const PUT: [&str; 5] = ["put", "--if-large", "--lookups", "--tool", "read_log"];

/// Calls a look-up tool; returns the text and the exit code.
fn call(tool: &Tool, options: &[&str], name: &str, arguments: &Value) -> (String, Option<i32>) {
    let args = [&["tools", "--lookups"], options, &["--call", name, "-"]].concat();
    let output = tool.run(&args, arguments.to_string().as_bytes());
    let text = match output.stdout.is_empty() {
        true => output.stderr,
        false => output.stdout,
    };
    (String::from_utf8(text).unwrap(), output.status.code())
}

#[test]
fn put_says_nothing_of_what_fits() {
    let tool = Tool::new();
    for bytes in [&b""[..], b"small\n", b"\xff\0"] {
        let answer = tool.json(&PUT, bytes);
        assert_eq!(
            answer,
            json!({"offloaded": false, "handle": null, "reason": null})
        );
        let output = tool.run(&PUT, bytes);
        assert!(output.status.success() && output.stdout.is_empty());
    }
    assert!(tool.run(&["ls"], b"").stdout.is_empty());
}

#[test]
fn put_names_the_tools_and_keeps_the_arguments() {
    let tool = Tool::new();
    let bytes = log(5000);
    let mut command =
        tool.command(&[&PUT[..], &["--json", "--failed", "--arguments-env", "CALL"]].concat());
    command.env("CALL", r#"{"file":"a.log"}"#);
    let answer: Value = serde_json::from_slice(&feed(command, bytes.as_bytes()).stdout).unwrap();
    let (text, handle) = (answer["text"].as_str(), answer["handle"].as_str().unwrap());
    let lines: Vec<&str> = text.unwrap().lines().collect();
    let ways = lines
        .iter()
        .filter(|line| line.starts_with("next:") || line.starts_with("also"));
    let told: Vec<&str> = lines.iter().take(1).chain(ways).copied().collect();
    assert_snapshot!(masked(&told.join("\n"), handle), @r#"
    [spillgate] read_log failed with 316518 bytes, 5001 lines, 124956 tokens (log); stored whole as HANDLE
    next: spillgate_search(handle="HANDLE", words="why did it fail?")
    next: spillgate_read(handle="HANDLE", start=491, lines=60)
    also, with the same handle: spillgate_grep(pattern=REGEX)
    "#);
    let manifest = tool.json(&["show", handle], b"");
    assert_eq!(manifest["arguments"], r#"{"file":"a.log"}"#);
    assert_eq!(manifest["is_error"], true);
    assert_eq!(answer["sha256"], manifest["sha256"]);
    // Without the options, the message names commands, as before.
    let before = tool.json(&["put"], bytes.as_bytes());
    assert!(
        before["text"]
            .as_str()
            .unwrap()
            .contains("next: spillgate search")
    );
}

#[test]
fn the_look_up_tools_are_those_of_the_server() {
    let tool = Tool::new();
    let listed = tool
        .run(&["tools", "--lookups", "--list", "--json"], b"")
        .stdout;
    let listed = String::from_utf8(listed).unwrap();
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut session = Session::of(tool.command(&["mcp", "--lookups"]));
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    session.send(1, "initialize", &hello);
    session.receive();
    session.notify("notifications/initialized", &json!({}));
    session.send(2, "tools/list", &json!({}));
    assert_eq!(session.receive()["result"]["tools"], json!(listed));
    session.end();
}

#[test]
fn the_look_up_tools_can_be_called() {
    let tool = Tool::new();
    let one = tool.put(log(5000).as_bytes());
    let other = tool.put("the disk is full\n".repeat(9000).as_bytes());
    let gone = tool.put("soon gone\n".repeat(9000).as_bytes());
    assert!(tool.run(&["rm", &gone], b"").status.success());
    let session = ["--session", &[one.as_str(), &gone].join(",")];
    let grep = json!({"handle": one, "pattern": "line 777", "max_matches": 1});
    let disk = json!({"words": "disk full"});
    let wrong = json!({"handle": one, "pattern": "("});
    let none = json!({"pattern": "x"});
    let cases: [(&[&str], &str, &Value); 5] = [
        (&[], "spillgate_grep", &grep),
        (&[], "spillgate_grep", &wrong),
        (&[], "spillgate_grep", &none),
        (&[], "spillgate_search", &disk),
        (&session, "spillgate_search", &disk),
    ];
    let answers = cases.map(|(options, name, arguments)| {
        let (text, code) = call(&tool, options, name, arguments);
        format!("{}: {text}", code.unwrap())
    });
    assert_snapshot!(masked(&answers.join("\n--\n"), &one), @r#"
    0: [0 of 0 matching lines]

    --
    1: the pattern is not a valid regular expression: regex parse error:
        (
        ^
    error: unclosed group
    --
    1: `handle` is missing: give the one that a [spillgate] message names
    --
    1: `handle` is missing: this server does not know which outputs belong to your session; give the handle that a [spillgate] message names
    --
    0: Not in the text: full
    [HANDLE: stdin]
    [1 of 1 passage]
    501:2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7
    "#);
    let (found, _) = call(&tool, &["--session", &other], "spillgate_search", &disk);
    assert!(found.contains("the disk is full"), "{found}");
}

#[test]
fn wrong_usage_is_explained() {
    let tool = Tool::new();
    let cases: [&[&str]; 7] = [
        &["tools", "--list"],
        &["tools", "--lookups"],
        &["tools", "--lookups", "--root", ".", "--list"],
        &["tools", "--lookups", "--call", "read_file"],
        &["tools", "--lookups", "--call", "spillgate_grep", "[1]"],
        &["tools", "--lookups", "--session", "no", "--list"],
        &["put", "--arguments-env", "NOT_SET"],
    ];
    let told = cases.map(|args| {
        let output = tool.run(args, b"");
        let text = String::from_utf8(output.stderr).unwrap();
        let text: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        format!("{}: {}", output.status.code().unwrap(), text.join("\n"))
    });
    assert_snapshot!(told.join("\n"), @r#"
    2: error: the following required arguments were not provided:
      --root <DIR>
    2: error: the following required arguments were not provided:
      <--call <TOOL>|--list>
    2: error: the argument '--lookups' cannot be used with '--root <DIR>'
    2: error: no look-up tool is called read_file; there are spillgate_read, spillgate_grep, spillgate_query, spillgate_search
    1: error: the arguments are no JSON object: invalid type: sequence, expected a map at line 1 column 0
    hint: write them as '{"file_path": "README.md"}'; --list shows the tools
    2: error: `no` is not a handle; a handle is a word of 14 lowercase letters, or looks like session-<uuid>/<uuid>
    hint: `spillgate help tools` shows how it is used
    2: error: --arguments-env: the variable NOT_SET is not set, or no text
    "#);
}
