//! Tests of `tool_output` through the gateway.

use std::fs;
use std::io::Read;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::provider::{Provider, silent};
use super::session::{LARGE, SILENT, Session, names};
use super::tool::{Tool, feed};

/// Returns the tools that a gateway lists with these options and this configuration.
fn listed(options: &[&str], config: Option<&str>, server: &str) -> Value {
    let tool = Tool::new();
    let file = tool.home().join("c.toml");
    fs::write(&file, config.unwrap_or_default()).unwrap();
    let options = [options, &["--config", file.to_str().unwrap()]].concat();
    let mut session = Session::start(&tool, &options, server);
    session.send(2, "tools/list", &json!({}));
    let list = session.receive();
    session.end();
    list
}

const MODEL: &str = "[tool_output]\nmodels = \"mock/x\"\n[providers.mock]\nkind = \"openai\"\n\
                     base_url = \"http://127.0.0.1:9/v1\"\n";

/// Returns the modes that `tool_output` is listed with, or `None` if it is not listed.
fn modes(list: &Value) -> Option<String> {
    let tools = list["result"]["tools"].as_array().unwrap();
    let ours = tools.iter().find(|tool| tool["name"] == "tool_output")?;
    let modes = ours["inputSchema"]["properties"]["mode"]["enum"].as_array()?;
    Some(json!(modes).to_string())
}

#[test]
fn it_is_listed_where_it_is_of_use() {
    let seeds = r#"["auto","full-chunked","read-grep","truncate"]"#;
    let ours = r#"["auto","full-chunked","read-grep","truncate","search"]"#;
    let off = format!("{MODEL}[servers.x]\n").replace("models", "enabled = false\nmodels");
    let handle = ["--profile", "handle"];
    let mixed = "[tools.\"read_*\"]\nprofile = \"handle\"\n";
    for (options, config, expected) in [
        (&[][..], None, None),
        (&[], Some(MODEL), Some(ours)),
        (&[], Some(&*off), None),
        (&handle, None, Some(seeds)),
        (&handle, Some(MODEL), Some(seeds)),
        (&handle, Some("[toolOutput]\nenabled = false\n"), None),
        (&[], Some(mixed), Some(ours)),
    ] {
        let list = listed(options, config, LARGE);
        assert_eq!(modes(&list).as_deref(), expected, "{options:?} {config:?}");
        let is_last = names(&list).last() == Some(&"tool_output");
        assert_eq!(is_last, expected.is_some());
    }
}

#[test]
fn it_yields_to_a_servers_own() {
    let tool = Tool::new();
    let server = LARGE.replace("\"name\":\"big\"", "\"name\":\"tool_output\"");
    let mut session = Session::start(&tool, &["--profile", "handle"], &server);
    session.send(2, "tools/list", &json!({}));
    let list = session.receive();
    let ours = names(&list)
        .iter()
        .filter(|&&name| name == "tool_output")
        .count();
    assert_eq!((ours, modes(&list)), (1, None));
    session.send(
        3,
        "tools/call",
        &json!({"name": "tool_output", "arguments": {}}),
    );
    let answer = session.receive()["result"]["content"][0]["text"].clone();
    let text = answer.as_str().unwrap();
    assert!(
        text.starts_with("Tool output is too large ("),
        "it is the server's: {text:.200}"
    );
    session.end();
}

#[test]
fn what_a_model_gets_wrong_is_told_in_the_seeds_words() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    let unknown =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";
    let mut session = Session::start(&tool, &[], SILENT);
    let calls = [
        json!({}),
        json!({"handle": handle}),
        json!({"handle": "", "extract": "x"}),
        json!({"handle": handle, "extract": "x", "mode": "guess"}),
        json!({"handle": unknown, "extract": "x"}),
        json!({"handle": "../../etc/passwd\n", "extract": "x", "mode": "search"}),
    ];
    let said = calls.map(|arguments| session.call("tool_output", &arguments));
    let found = session.call(
        "tool_output",
        &json!({"handle": handle, "extract": "which disk quota?", "mode": "search"}),
    );
    session.end();
    assert!(found.contains("code=E4217 disk quota exceeded"), "{found}");
    assert_snapshot!(said.join("\n---\n").replace(&handle, "HANDLE"), @"
    error: TOOL_OUTPUT FAILED FOR unknown WITH HANDLE <missing>, STRATEGY:auto:

    Invalid tool_output parameters: handle and extract are required.
    ---
    error: TOOL_OUTPUT FAILED FOR unknown WITH HANDLE HANDLE, STRATEGY:auto:

    Invalid tool_output parameters: handle and extract are required.
    ---
    error: TOOL_OUTPUT FAILED FOR unknown WITH HANDLE <missing>, STRATEGY:auto:

    Invalid tool_output parameters: handle and extract are required.
    ---
    error: TOOL_OUTPUT FAILED FOR unknown WITH HANDLE HANDLE, STRATEGY:guess:

    Invalid tool_output parameters: unknown mode 'guess'; allowed are auto, full-chunked, read-grep, truncate and search.
    ---
    ABSTRACT FROM TOOL OUTPUT unknown WITH HANDLE session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001, STRATEGY:auto:

    No stored tool output found for handle session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001. It was never stored here.
    ---
    ABSTRACT FROM TOOL OUTPUT unknown WITH HANDLE ../../etc/passwd, STRATEGY:auto:

    No stored tool output found for handle ../../etc/passwd. It was never stored here: handles have the form session-<uuid>/<uuid>, both parts, as the tool-result message has them.
    ");
}

#[test]
fn a_model_answers_and_tells_how_far_it_has_come() {
    let tool = Tool::new();
    let provider = Provider::saying("It was E4217.");
    let config = provider.config(&tool, "");
    let handle = tool.put(log(600).as_bytes());
    let options = ["--config", config.to_str().unwrap()];
    let mut session = Session::start(&tool, &options, SILENT);
    let arguments = json!({"handle": handle, "extract": "which error?"});
    session.send(
        7,
        "tools/call",
        &json!({"name": "tool_output", "arguments": arguments, "_meta": {"progressToken": "t"}}),
    );
    let mut steps = Vec::new();
    let answer = loop {
        let frame = session.receive();
        if frame["id"] == 7 {
            break frame;
        }
        assert_eq!(frame["method"], "notifications/progress");
        assert_eq!(frame["params"]["progressToken"], "t");
        steps.push(frame["params"]["progress"].as_u64().unwrap());
    };
    assert!(!steps.is_empty() && steps.is_sorted(), "{steps:?}");
    let result = &answer["result"];
    assert_eq!(result["_meta"]["spillgate/retrieval"], true);
    assert!(result.get("isError").is_none());
    let text = result["content"][0]["text"].as_str().unwrap();
    let envelope =
        format!("ABSTRACT FROM TOOL OUTPUT stdin WITH HANDLE {handle}, STRATEGY:full-chunked:\n\n");
    assert!(
        text.starts_with(&envelope) && text.contains("It was E4217."),
        "{text}"
    );
    session.end();
    let stats = tool.json(&["stats"], b"");
    assert_eq!(stats["total"]["extraction"]["calls"], 1);
}

#[test]
fn a_preview_names_it_where_a_model_is_configured() {
    let tool = Tool::new();
    let file = tool.home().join("c.toml");
    fs::write(&file, MODEL).unwrap();
    let options = ["--config", file.to_str().unwrap()];
    let mut session = Session::start(&tool, &options, LARGE);
    session.send(3, "tools/call", &json!({"name": "big"}));
    let answer = session.receive()["result"]["content"][0]["text"].clone();
    session.end();
    let last = answer.as_str().unwrap().lines().last().unwrap().to_owned();
    assert_snapshot!(last, @"also, with the same handle: tool_output(extract=WHAT), spillgate_grep(pattern=REGEX)");
}

#[test]
fn a_cancelled_extraction_ends_at_once() {
    let tool = Tool::new();
    let handle = tool.put(log(300).as_bytes());
    let (provider, config) = silent(&tool);
    let options = ["--config", config.to_str().unwrap()];
    let mut session = Session::start(&tool, &options, SILENT);
    let arguments = json!({"handle": handle, "extract": "which error?"});
    let call = json!({"name": "tool_output", "arguments": arguments});
    session.send(8, "tools/call", &call);
    let (mut asked, _) = provider.accept().unwrap();
    let begun = Instant::now();
    session.notify("notifications/cancelled", &json!({"requestId": 8}));
    // The model's server sees the connection close.
    asked
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let mut request = Vec::new();
    asked.read_to_end(&mut request).unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    let read = session.call("spillgate_read", &json!({"handle": handle, "lines": 1}));
    assert!(
        read.starts_with("[lines 1-1 of 300]"),
        "nothing else came: {read}"
    );
    session.end();
}

/// Tests that an extraction ends soon after its client has disconnected, because nobody waits for
/// the answer and the model would still cost money.
#[test]
fn an_extraction_does_not_outlive_its_client_for_long() {
    let tool = Tool::new();
    let handle = tool.put(log(300).as_bytes());
    let (provider, config) = silent(&tool);
    let options = ["--config", config.to_str().unwrap()];
    let mut session = Session::start(&tool, &options, SILENT);
    let arguments = json!({"handle": handle, "extract": "which error?"});
    let call = json!({"name": "tool_output", "arguments": arguments});
    session.send(8, "tools/call", &call);
    let (_asked, _) = provider.accept().unwrap();
    let begun = Instant::now();
    session.end();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn the_log_tells_what_was_done_and_no_contents() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    let mut command = tool.command(&["mcp", "--", "sh", "-c", LARGE]);
    command.env("SPILLGATE_LOG", "info");
    let arguments = json!({"handle": handle, "extract": "secret disk quota"});
    let calls = [
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "big"}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call",
               "params": {"name": "tool_output", "arguments": arguments}}),
    ];
    let said = feed(command, format!("{}\n{}\n", calls[0], calls[1]).as_bytes());
    let said = String::from_utf8(said.stderr).unwrap();
    for part in [
        "Tool 'big' output stored for tool_output (size_cap, ",
        "an extraction starts",
        "strategy=search",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Two adjacent numbers of the result are searched for together, because a single number could
    // also be part of a time stamp.
    for content in ["secret", "quota", "E4217", "19998\n19999", r"19998\n19999"] {
        assert!(!said.contains(content), "{content}: {said}");
    }
}
