//! Tests of arguments by reference, from the call of the client to the frame that the server gets.

use insta::assert_snapshot;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_artifact::Origin;
use spillgate_mcp::messages;
use spillgate_offload::{ByReference, Offloader};
use spillgate_query::{Child, Engine};
use spillgate_testkit::log;

use super::*;
use crate::fixture::replaced;
use crate::fixture::{offloader, offloader_by, stored, without_handles};
use crate::results::client_view::ShownPart;
use crate::results::found::Form;
use crate::results::intercept::Case;
use crate::session::in_flight::CallParams;

const SCHEMA: &str = r#"{
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string", "maxLength": 100000},
        "items": {"type": "array", "items": {"type": "integer"}},
        "n": {"type": "integer"}
    }
}"#;

/// Returns an offloader that lets the tools `write_*` use references of at most `most_bytes` bytes.
fn allowing(most_bytes: u64) -> Offloader {
    let tools = ["write_*".to_owned()];
    offloader_by(|policy| {
        policy.with_references(ByReference::new(Some(&tools), Some(most_bytes)).unwrap())
    })
}

/// Returns the outcome of a call with these arguments: the arguments that are sent, or the error.
fn sent(offloader: &Offloader, tool: &str, arguments: &str) -> String {
    let schemas = Schemas::default();
    schemas.note(None, "write_file", SCHEMA);
    let frame = format!(
        r#"{{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{{"x":1e2, "name":"{tool}","arguments":{arguments} }}}}"#
    );
    let envelope = &messages(frame.as_bytes())[0];
    let params: CallParams<'_> = spillgate_mcp::object(envelope.params.unwrap()).unwrap();
    let given = params.arguments.unwrap();
    let engine = Engine::new(Child {
        program: "/nowhere/spillgate".into(),
        arguments: Vec::new(),
    });
    let origin = Origin::tool(tool);
    let resolved = resolve(
        offloader,
        &engine,
        &schemas,
        &origin,
        frame.as_bytes(),
        given,
    );
    match resolved {
        Resolved::AsIs => "as it is".to_owned(),
        Resolved::Refused(result) => {
            let result: Value = serde_json::from_str(&result).unwrap();
            assert_eq!(result["isError"], true);
            result["content"][0]["text"].as_str().unwrap().to_owned()
        }
        Resolved::Frame(after) => {
            // Everything except the arguments is unchanged.
            let span = span_in(frame.as_bytes(), given.get());
            let after = String::from_utf8(after).unwrap();
            let rest = &frame[span.end..];
            assert!(
                after.starts_with(&frame[..span.start]) && after.ends_with(rest),
                "{after}"
            );
            after[span.start..after.len() - rest.len()].to_owned()
        }
    }
}

#[test]
fn only_servers_that_the_user_names_get_secrets() {
    let tools = ["write_*".to_owned()];
    let text = log(600).replacen("INFO", "AKIAQ3EGXZ7LKTPNWB5M", 1);
    let first = [false, true].map(|secrets| {
        let offloader = offloader_by(|policy| {
            let rules = ByReference::new(Some(&tools), Some(100_000)).unwrap();
            policy.with_references(rules.with_secrets(Some(secrets)))
        });
        let handle = stored(&offloader, &text);
        let whole = format!(r#"{{"path":"a","content":{{"$spill":"{handle}"}}}}"#);
        let whole: Value = serde_json::from_str(&sent(&offloader, "write_file", &whole)).unwrap();
        let whole = whole["content"].as_str().unwrap();
        assert_eq!(whole == text, secrets);
        whole.lines().next().unwrap().to_owned()
    });
    assert_snapshot!(first.join("\n"), @"
    2026-11-21T10:00:00Z [redacted: aws-access-key] worker-0 processed batch id=0 ok
    2026-11-21T10:00:00Z AKIAQ3EGXZ7LKTPNWB5M worker-0 processed batch id=0 ok
    ");
}

#[test]
fn references_are_put_in() {
    let offloader = allowing(100_000);
    let handle = stored(&offloader, &log(600)).to_string();
    let cases = [
        r#"{"path":"a" , "content":{"$spill":"HANDLE","lines":"501-501"},"y":1.0}"#,
        r#"{"path":"a","content":{"$spill":"HANDLE","lines":501}}"#,
        r#"{"path":"a","content":{ "lines" : "600-" , "$spill" : "HANDLE" }}"#,
        r#"{"path":"a","content":{"$spill":"HANDLE","bytes":"0..4"}}"#,
        r#"{"path":"a","content":"{\"$spill\":\"HANDLE\",\"bytes\":\"..4\"}"}"#,
        r#"{"path":{"$spill":"HANDLE","bytes":"0..4"},"z/~":[7,{"b":{"$spill":"HANDLE","bytes":"4-5"}}]}"#,
        // If the schema requires an integer, a text that is an integer becomes one.
        r#"{"path":"a","n":{"$spill":"HANDLE","bytes":"0..4"},"content":{"$spill":"HANDLE","bytes":"0..4"}}"#,
    ];
    let all = cases.map(|one| sent(&offloader, "write_file", &one.replace("HANDLE", &handle)));
    assert_snapshot!(all.join("\n"), @r#"
    {"path":"a" , "content":"2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7","y":1.0}
    {"path":"a","content":"2026-11-21T10:08:20Z ERROR worker-3 code=E4217 disk quota exceeded on /data/vol7"}
    {"path":"a","content":"2026-11-21T10:09:59Z INFO worker-4 processed batch id=43340 ok"}
    {"path":"a","content":"2026"}
    {"path":"a","content":"2026"}
    {"path":"2026","z/~":[7,{"b":"-"}]}
    {"path":"a","n":2026,"content":"2026"}
    "#);
    let whole = format!(r#"{{"path":"a","content":{{"$spill":"{handle}"}}}}"#);
    let whole: Value = serde_json::from_str(&sent(&offloader, "write_file", &whole)).unwrap();
    assert_eq!(whole["content"], log(600));
}

#[test]
fn what_is_no_reference_stays() {
    let offloader = allowing(100_000);
    let handle = stored(&offloader, &log(600)).to_string();
    let reference = format!(r#"{{"$spill":"{handle}"}}"#);
    for (tool, arguments) in [
        ("read_file", format!(r#"{{"path":{reference}}}"#)),
        ("write_file", r#"{"path":"$spill"}"#.to_owned()),
        ("write_file", r#"{"path":{"$spill":17}}"#.to_owned()),
        (
            "write_file",
            format!(r#"{{"path":{{"$spill":"{handle}","other":1}}}}"#),
        ),
        (
            "write_file",
            r#"{"path":"see {\"$spill\":\"x\"}"}"#.to_owned(),
        ),
        ("write_file", r#"{"path":"[\"$spill\"]"}"#.to_owned()),
        ("write_file", r#"["$spill"]"#.to_owned()),
        (
            "write_file",
            format!("{}{reference}{}", "[".repeat(100), "]".repeat(100)),
        ),
    ] {
        assert_eq!(
            sent(&offloader, tool, &arguments),
            "as it is",
            "{arguments:.100}"
        );
    }
}

#[test]
fn a_reference_in_what_is_put_in_is_data() {
    let offloader = allowing(100_000);
    let other = stored(&offloader, &log(600)).to_string();
    let text = format!("{{\"$spill\":\"{other}\"}}\n{}", log(600));
    let handle = stored(&offloader, &text).to_string();
    let arguments = format!(r#"{{"path":{{"$spill":"{handle}","lines":1}}}}"#);
    let got: Value = serde_json::from_str(&sent(&offloader, "write_file", &arguments)).unwrap();
    assert_eq!(got["path"], format!("{{\"$spill\":\"{other}\"}}"));
}

#[test]
fn what_is_wrong_is_said() {
    let offloader = allowing(2000);
    let handle = stored(&offloader, &log(600)).to_string();
    let never = "neverstoredone";
    let many = vec![r#"{"$spill":"HANDLE","lines":1}"#; 17].join(",");
    let cases = [
        r#"{"path":{"$spill":"../../etc/passwd"}}"#.to_owned(),
        format!(r#"{{"path":{{"$spill":"{never}"}}}}"#),
        r#"{"path":{"$spill":"HANDLE"}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","lines":"1-100"}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","bytes":"0..2001"}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","lines":"0"}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","lines":"ten"}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","lines":[1,2]}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","lines":"9-3"}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","lines":"700-800"}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","bytes":"99999.."}}"#.to_owned(),
        r#"{"a/b":[{"$spill":"HANDLE","bytes":"x"}]}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","lines":"1","query":"."}}"#.to_owned(),
        r#"{"path":{"$spill":"HANDLE","query":"."}}"#.to_owned(),
        r#"{"content":{"$spill":"HANDLE","lines":1}}"#.to_owned(),
        r#"{"path":"a","items":{"$spill":"HANDLE","lines":1}}"#.to_owned(),
        format!(r#"{{"path":"a","items":[{many}]}}"#),
    ];
    let all = cases.map(|one| sent(&offloader, "write_file", &one.replace("HANDLE", &handle)));
    assert!(
        all.iter()
            .all(|told| told.starts_with("nothing was sent: ") && told.len() < 700)
    );
    assert_snapshot!(without_handles(&all.join("\n")), @r#"
    nothing was sent: `/path`: `../../etc/passwd` is not a handle; a handle is a word of 14 lowercase letters, or looks like session-<uuid>/<uuid>
    nothing was sent: `/path`: No stored tool output found for handle HANDLE. It was never stored here.
    nothing was sent: `/path`: it has 37992 bytes; an argument by reference may have 2000: take a part with `lines`, `bytes` or `query`
    nothing was sent: `/path`: it has 6325 bytes; an argument by reference may have 2000: take a part with `lines`, `bytes` or `query`
    nothing was sent: `/path`: it has 2001 bytes; an argument by reference may have 2000: take a part with `lines`, `bytes` or `query`
    nothing was sent: `/path`: `lines` is "FIRST-LAST", counted from 1, for example "10-20", not "0"
    nothing was sent: `/path`: `lines` is "FIRST-LAST", counted from 1, for example "10-20", not "ten"
    nothing was sent: `/path`: `lines` must be a string
    nothing was sent: `/path`: `lines` is "FIRST-LAST", counted from 1, for example "10-20", not "9-3"
    nothing was sent: `/path`: line 700 is past the end: there are 600 lines
    nothing was sent: `/path`: byte 99999 is past the end: there are 37992 bytes
    nothing was sent: `/a~1b/0`: `x` is not a byte range; write START..END, for example 4096..8192 or 4096..
    nothing was sent: `/path`: a reference has one of `lines`, `bytes` and `query`, not lines and query
    nothing was sent: `/path`: the process that runs filters could not be started: No such file or directory (os error 2); see whether the program may start processes
    nothing was sent: the arguments with the references put in do not fit the tool's inputSchema: "path" is a required property
    nothing was sent: the arguments with the references put in do not fit the tool's inputSchema: `/items`: value is not of type "array"
    nothing was sent: a call may have 16 references, this one has more
    "#);
}

#[test]
fn values_take_the_form_that_the_schema_wants() {
    let given = |path: &str, value: &str, arguments: &str| {
        let start = arguments.find('?').unwrap();
        vec![Given {
            span: start..start + 1,
            path: path.to_owned(),
            value: value.to_owned(),
        }]
    };
    let cases = [
        ("/path", r#""a""#, r#"{"path":?}"#),
        ("/path", r#"{"a":1.0}"#, r#"{"path":?}"#),
        ("/path", "17", r#"{"path":?}"#),
        ("/items", r#""[1, 2]\n""#, r#"{"path":"a","items":?}"#),
        ("/items", "[1,2]", r#"{"path":"a","items":?}"#),
        ("/items/0", r#"" 7 ""#, r#"{"path":"a","items":[?]}"#),
        ("/items", r#""[1, \"x\"]""#, r#"{"path":"a","items":?}"#),
        ("/items", r#""no JSON""#, r#"{"path":"a","items":?}"#),
        ("/other", r#"{"a":1.0}"#, r#"{"path":"a","other":?}"#),
    ];
    let all = cases.map(|(path, value, arguments)| {
        match fitted(arguments, given(path, value, arguments), Some(SCHEMA)) {
            Ok(spliced) => String::from_utf8(spliced).unwrap(),
            Err(wrong) => wrong,
        }
    });
    assert_snapshot!(all.join("\n"), @r#"
    {"path":"a"}
    {"path":"{\"a\":1.0}"}
    {"path":"17"}
    {"path":"a","items":[1, 2]}
    {"path":"a","items":[1,2]}
    {"path":"a","items":[7]}
    the arguments with the references put in do not fit the tool's inputSchema: `/items`: value is not of type "array"
    the arguments with the references put in do not fit the tool's inputSchema: `/items`: value is not of type "array"
    {"path":"a","other":{"a":1.0}}
    "#);
    // If a schema cannot be used for checks, the server must check the arguments.
    for schema in [
        "17",
        r#"{"type":"nothing"}"#,
        r#"{"$ref":"https://example.org/schema.json"}"#,
        r#"{"properties":{"path":{"pattern":"(?<=a)b"}}}"#,
        "{",
    ] {
        let arguments = r#"{"path":?}"#;
        let spliced = fitted(arguments, given("/path", "17", arguments), Some(schema)).unwrap();
        assert_eq!(spliced, br#"{"path":17}"#, "{schema}");
    }
}

#[test]
fn the_text_of_a_results_parts_is_put_in_as_it_came() {
    let offloader = allowing(100_000);
    // The view of this JSON would have more lines, but the reference stands for the original text.
    let json = json!({"a": [1, 2, 3], "b": "x".repeat(20_000)}).to_string();
    let result = json!({"content": [{"type": "text", "text": json}]}).to_string();
    let raw: &RawValue = serde_json::from_str(&result).unwrap();
    let origin = Origin::tool("dump");
    let case = Case {
        form: Form::Call,
        links: true,
        shown_part: ShownPart::default(),
        limits: offloader.limits(&origin),
        origin,
        history: None,
    };
    let (_, is_stored) = replaced(&offloader, case, result.as_bytes(), raw.get());
    assert!(is_stored, "20 KB do not fit");
    let handle = offloader.store().list().unwrap()[0].manifest.handle;
    let arguments = format!(r#"{{"path":{{"$spill":"{handle}"}}}}"#);
    let got: Value = serde_json::from_str(&sent(&offloader, "write_file", &arguments)).unwrap();
    assert_eq!(got["path"], json);
}

#[test]
fn by_default_no_tool_takes_references() {
    let offloader = offloader();
    let handle = stored(&offloader, &log(600));
    let arguments = format!(r#"{{"path":{{"$spill":"{handle}"}}}}"#);
    assert_eq!(sent(&offloader, "write_file", &arguments), "as it is");
}
