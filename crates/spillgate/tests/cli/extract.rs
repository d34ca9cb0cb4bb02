//! Tests of `spillgate extract` with and without a model.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::provider::{Provider, silent};
use super::tool::{Tool, feed};

fn keys(object: &Value) -> Vec<&str> {
    let members = object.as_object().unwrap();
    members.keys().map(String::as_str).collect()
}

/// Returns the command with the mock provider's key in its environment.
fn with_key(tool: &Tool, args: &[&str]) -> Command {
    let mut command = tool.command(args);
    command.env("MOCK_KEY", "sk-mock-0123456789abcdef");
    command
}

#[test]
fn without_a_model_it_is_a_search() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    let output = tool.run(&["extract", &handle, "disk", "quota"], b"");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let envelope =
        format!("ABSTRACT FROM TOOL OUTPUT stdin WITH HANDLE {handle}, STRATEGY:search:\n\n");
    assert!(text.starts_with(&envelope), "{text:.300}");
    assert!(text.contains("code=E4217 disk quota exceeded"), "{text}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("note: no model is configured"), "{said}");
    let asked = tool.run(&["extract", &handle, "disk quota", "--mode", "search"], b"");
    assert_eq!(asked.stderr, b"", "nobody is missed who was not asked for");
}

#[test]
fn members_of_the_answer() {
    let tool = Tool::new();
    let handle = tool.put(log(300).as_bytes());
    let object = tool.json(&["extract", &handle, "disk quota"], b"");
    let members = [
        "calls",
        "citations",
        "cost",
        "coverage",
        "status",
        "strategy",
        "text",
        "tokens",
        "unverified",
    ];
    assert_eq!(keys(&object), members);
    assert_eq!(
        keys(&object["coverage"]),
        [
            "bytes_examined",
            "bytes_total",
            "chunks",
            "failed_chunks",
            "read_chunks"
        ]
    );
    assert_eq!(keys(&object["tokens"]), ["cached_input", "input", "output"]);
    assert_eq!(
        (&object["strategy"], &object["calls"], &object["cost"]),
        (&json!("search"), &json!(0), &Value::Null)
    );
    let traced = tool.json(&["extract", &handle, "disk quota", "--trace"], b"");
    assert_eq!(traced["trace"]["kind"], "session");
    let file = tool.home().join("trace.json");
    let option = format!("--trace={}", file.display());
    tool.json(&["extract", &handle, "disk quota", &option], b"");
    let trace: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(trace["kind"], "session");
}

#[test]
fn what_is_wrong_is_said() {
    let tool = Tool::new();
    let handle = tool.put(log(300).as_bytes());
    let unknown =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";
    let cases: [(&[&str], &str, i32); 6] = [
        (&["extract", unknown, "x"], "not_found", 1),
        (&["extract", &handle], "usage", 2),
        (&["extract", &handle, "x", "--mode", "guess"], "usage", 2),
        (&["extract", &handle, "x", "--model", "gpt-4o"], "usage", 2),
        (
            &["extract", &handle, "x", "--model", "nobody/x"],
            "model",
            1,
        ),
        (&["extract", &handle, "x", "--parallel", "0"], "usage", 2),
    ];
    let said = cases.map(|(args, kind, code)| {
        let (error, got) = tool.error(args);
        assert_eq!((&error["kind"], got), (&json!(kind), code), "{args:?}");
        error["message"]
            .as_str()
            .unwrap()
            .replace(&handle, "HANDLE")
    });
    assert_snapshot!(said.join("\n"), @r#"
    no stored artifact session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001: It was never stored here.
    the following required arguments were not provided: <WHAT>...
    invalid value 'guess' for '--mode <MODE>' [possible values: auto, full-chunked, read-grep, truncate, search]
    invalid value 'gpt-4o' for '--model <MODELS>': Invalid provider/model pair 'gpt-4o'. Expected format provider/model.
    unknown provider "nobody"; known providers: anthropic, deepseek, gemini, groq, llamacpp, local, mistral, ollama, openai, openrouter. To define another provider, set kind and base_url in [providers.nobody].
    invalid value '0' for '--parallel <N>': 0 is not in 1..18446744073709551615
    "#);
}

#[test]
fn a_model_answers_and_is_accounted_for() {
    let tool = Tool::new();
    let provider = Provider::saying("The quota of vol7 was exceeded (E4217).");
    let config = provider.config(&tool, "");
    let config = config.to_str().unwrap();
    let handle = tool.put(log(600).as_bytes());
    let args = [
        "extract",
        "--json",
        &handle,
        "which error?",
        "--config",
        config,
    ];
    let output = feed(with_key(&tool, &args), b"");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["strategy"], "full-chunked", "{object}");
    let text = object["text"].as_str().unwrap();
    assert!(
        text.contains("The quota of vol7 was exceeded (E4217)."),
        "{text}"
    );
    assert_eq!(
        (&object["calls"], &object["tokens"], &object["cost"]),
        (
            &json!(1),
            &json!({"input": 1000, "cached_input": 400, "output": 20}),
            &json!(0.00156)
        )
    );
    assert_eq!(provider.keys(), ["Bearer sk-mock-0123456789abcdef"]);
    let stats = tool.json(&["stats"], b"");
    let total = &stats["total"];
    let extraction = &total["extraction"];
    assert_eq!(
        (
            &extraction["count"],
            &extraction["calls"],
            &extraction["cost"]
        ),
        (&json!(1), &json!(1), &json!(0.00156))
    );
    assert_eq!(extraction["strategies"], json!({"full-chunked": 1}));
    assert_eq!(extraction["fallbacks"], 0);
    let figure = |name: &str| total[name].as_i64().unwrap();
    assert!(figure("tokens_retrieved") > 0);
    assert_eq!(
        figure("tokens_saved"),
        figure("tokens_in") - figure("tokens_shown") - figure("tokens_retrieved")
    );
    let table = String::from_utf8(tool.run(&["stats"], b"").stdout).unwrap();
    assert!(table.contains("$0.001560"), "{table}");
    let last = table.lines().last().unwrap();
    assert_snapshot!(last, @"EXTRACTIONS BY STRATEGY: full-chunked 1, fell back 0");
    // The settings do not show the key.
    let mut shown = feed(with_key(&tool, &["config", "--config", config]), b"");
    shown.stdout.extend(shown.stderr);
    assert!(!String::from_utf8_lossy(&shown.stdout).contains("sk-mock"));
}

#[test]
fn a_model_that_is_not_there_is_told_before_what_stands_for_the_answer() {
    let tool = Tool::new();
    let handle = tool.put(log(300).as_bytes());
    let config = tool.home().join("nobody.toml");
    let text = "[providers.nobody]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1/hidden\"\nretries = 0\n";
    fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let args = [
        "extract", &handle, "x", "--model", "nobody/m", "--config", config,
    ];
    let output = tool.run(&args, b"");
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_snapshot!(said.replace(&handle, "HANDLE"), @"warning: no model answered at http://127.0.0.1:9: nobody/m: error sending request: client error (Connect): tcp connect error: Connection refused. What follows is the beginning and the end of the output, not an answer. docs/models.md says how a model's address (`base_url`) and key are set; `spillgate search HANDLE WORDS` needs no model");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("fallback to truncate"), "{shown}");
}

#[test]
fn a_missing_key_is_named() {
    let tool = Tool::new();
    let provider = Provider::saying("never");
    let config = provider.config(&tool, "");
    let handle = tool.put(log(300).as_bytes());
    let config = config.to_str().unwrap();
    let (error, code) = tool.error(&["extract", &handle, "x", "--config", config]);
    assert_eq!((&error["kind"], code), (&json!("model"), 1));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("MOCK_KEY is not set"), "{message}");
    let searched = tool.run(
        &[
            "extract", &handle, "disk", "--mode", "search", "--config", config,
        ],
        b"",
    );
    assert!(searched.status.success(), "a search needs no key");
}

/// Returns the exit code if the process ends in time; kills it otherwise.
fn ended(child: &mut Child, within: Duration) -> Option<i32> {
    let begun = Instant::now();
    while begun.elapsed() < within {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    None
}

#[test]
fn a_signal_cancels_at_once() {
    let tool = Tool::new();
    let handle = tool.put(log(300).as_bytes());
    let (provider, config) = silent(&tool);
    let config = config.to_str().unwrap();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut command = with_key(&tool, &["extract", &handle, "x", "--config", config]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        // The provider accepts the request and never answers.
        let _asked = provider.accept().unwrap();
        let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        assert_eq!(ended(&mut child, Duration::from_secs(2)), Some(code));
        let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert_eq!(
            said.replace(&handle, "HANDLE"),
            "error: cancelled\nhint: the output is still stored; \
             `spillgate search HANDLE WORDS` needs no model\n"
        );
    }
    assert!(tool.run(&["read", &handle], b"").status.success());
}
