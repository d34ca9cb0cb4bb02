//! Tests of programs that call tools through the gateway.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::session::Session;
use super::tool::Tool;

/// A server with a tool whose result has text and `structuredContent`, some 100 KB each. Its answers
/// to `initialize` and `tools/call` have the fixed ids 1 and 3.
const ROWS: &str = r#"
while read -r line; do
  case "$line" in
    *initialize*) echo '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}}}}';;
    *tools/call*) rows=$(seq -s, 1 20000); echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"rows\":['$rows']}"}],"structuredContent":{"rows":['$rows']}}}';;
  esac
done"#;

/// Returns what the client receives: whether the text is a preview, and the last row of
/// `structuredContent`.
fn received(session: &mut Session, client: &str, meta: &Value) -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}});
    session.send(1, "initialize", &params);
    session.receive();
    session.send(3, "tools/call", &json!({"name": "rows", "_meta": meta}));
    let result = session.receive()["result"].clone();
    let text = result["content"][0]["text"].as_str().unwrap();
    let text = if text.contains("stored whole as") {
        "preview"
    } else {
        "whole"
    };
    format!(
        "text {text}, last row {}",
        result["structuredContent"]["rows"][19_999]
    )
}

#[test]
fn a_setting_says_that_a_program_reads_results() {
    let tool = Tool::new();
    let file = tool.home().join("s.toml");
    std::fs::write(&file, "[clients.\"pctx*\"]\nresults = \"structured\"\n\n[servers.other]\nresults = \"whole\"\n\n[servers.mine.tools.rows]\nresults = \"preview\"\n").unwrap();
    let file = file.to_str().unwrap();
    let none = json!({});
    let mut all = Vec::new();
    for (options, variable, client, meta) in [
        (vec![], "", "codex-mcp-client", &none),
        (
            vec!["--results", "structured"],
            "",
            "codex-mcp-client",
            &none,
        ),
        (
            vec!["--results", "whole"],
            "structured",
            "codex-mcp-client",
            &none,
        ),
        (vec![], "structured", "codex-mcp-client", &none),
        (
            vec![],
            "structured",
            "codex-mcp-client",
            &json!({"spillgate/results": "whole"}),
        ),
        (vec!["--config", file], "", "codex-mcp-client", &none),
        (vec!["--config", file], "", "pctx", &none),
        (
            vec!["--config", file, "--name", "other"],
            "",
            "codex-mcp-client",
            &none,
        ),
        (
            vec!["--config", file, "--name", "mine"],
            "whole",
            "pctx",
            &none,
        ),
        (
            vec!["--config", file, "--name", "mine"],
            "",
            "pctx",
            &json!({"spillgate/results": "structured"}),
        ),
    ] {
        let args = [vec!["mcp"], options.clone(), vec!["--", "sh", "-c", ROWS]].concat();
        let mut command = tool.command(&args);
        command.env("SPILLGATE_RESULTS", variable);
        let mut session = Session::of(command);
        let options = options.join(" ").replace(file, "FILE");
        let received = received(&mut session, client, meta);
        session.end();
        all.push(format!(
            "{client} {options} [{variable}] {meta}: {received}"
        ));
    }
    assert_snapshot!(all.join("\n"), @r#"
    codex-mcp-client  [] {}: text preview, last row null
    codex-mcp-client --results structured [] {}: text preview, last row 20000
    codex-mcp-client --results whole [structured] {}: text whole, last row 20000
    codex-mcp-client  [structured] {}: text preview, last row 20000
    codex-mcp-client  [structured] {"spillgate/results":"whole"}: text whole, last row 20000
    codex-mcp-client --config FILE [] {}: text preview, last row null
    pctx --config FILE [] {}: text preview, last row 20000
    codex-mcp-client --config FILE --name other [] {}: text whole, last row 20000
    pctx --config FILE --name mine [whole] {}: text preview, last row null
    pctx --config FILE --name mine [] {"spillgate/results":"structured"}: text preview, last row 20000
    "#);
}

#[test]
fn what_passed_to_a_program_is_in_the_account() {
    let tool = Tool::new();
    for mode in ["preview", "structured", "whole"] {
        let mut session = Session::start(&tool, &["--results", mode, "--name", "s"], ROWS);
        received(&mut session, "pctx", &json!({}));
        session.end();
    }
    let stats = tool.run(&["stats"], b"");
    let text = String::from_utf8(stats.stdout).unwrap();
    let after = text.split_once("PASSED TO PROGRAMS").unwrap().1;
    let total = &tool.json(&["stats"], b"")["total"];
    let figures = [
        "offloaded",
        "to_programs",
        "tokens_to_programs",
        "tokens_in",
    ];
    let figures = figures.map(|name| format!("{name} {}", total[name]));
    assert_snapshot!(format!("{}\n{}", after.trim_end(), figures.join(", ")), @r"
    , NOT SAVED:
    s/rows: 2 results, ≈54453 tokens
    offloaded 2, to_programs 2, tokens_to_programs 54453, tokens_in 118008
    ");
}

#[test]
fn a_mode_that_does_not_exist_is_an_error() {
    let tool = Tool::new();
    let file = tool.home().join("s.toml");
    let mut all = Vec::new();
    for text in [
        "results = \"raw\"\n",
        "[clients.pctx]\nresult = \"whole\"\n",
        "[clients.\"a[\"]\nresults = \"whole\"\n",
    ] {
        std::fs::write(&file, text).unwrap();
        let (error, code) = tool.error(&["config", "--config", file.to_str().unwrap()]);
        let path = tool.home().to_str().unwrap().to_owned() + "/";
        all.push(format!("{code} {error}").replace(&path, ""));
    }
    let output = tool.run(&["mcp", "--results", "raw", "--", "true"], b"");
    all.push(String::from_utf8(output.stderr).unwrap());
    assert_snapshot!(all.join("\n"), @r#"
    1 {"fault":"caller","hint":"docs/configuration.md lists what each setting can be","kind":"config","message":"s.toml:1: `results`: \"raw\" is none of preview, structured, whole"}
    1 {"fault":"caller","hint":"did you mean `results`?","kind":"config","message":"s.toml:2: `clients.pctx.result`: there is no such setting"}
    1 {"fault":"caller","hint":"patterns are globs such as \"read_*\"","kind":"config","message":"s.toml:1: `clients.a[`: a tool pattern is wrong: error parsing glob 'a[': unclosed character class; missing ']'"}
    error: invalid value 'raw' for '--results <MODE>': is none of preview, structured, whole
    hint: `spillgate help mcp` shows how it is used
    "#);
}
