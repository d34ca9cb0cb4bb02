//! Tests of the interface that scripts depend on.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::log;

use crate::tool::{Tool, feed};

fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

#[test]
fn members_of_json_output() {
    let tool = Tool::new();
    let result = [
        "bytes",
        "chars",
        "handle",
        "kind",
        "lines",
        "offloaded",
        "reason",
        "sha256",
        "text",
        "tokens",
        "tokens_exact",
    ];
    for input in ["", "small", &log(5000)] {
        assert_eq!(keys(&tool.json(&["put"], input.as_bytes())), result);
    }
    let mut run = result.to_vec();
    run.insert(2, "exit_code");
    assert_eq!(keys(&tool.json(&["run", "echo", "x"], b"")), run);
    let handle = tool.put(log(5000).as_bytes());
    let read = tool.json(&["read", &handle], b"");
    assert_eq!(
        keys(&read),
        ["bytes", "lines", "next", "text", "total_lines"]
    );
    let grep = tool.json(&["grep", &handle, "x"], b"");
    assert_eq!(keys(&grep), ["matches", "next", "total"]);
    let stats = tool.json(&["stats"], b"");
    assert_eq!(stats["total"]["offloaded"], 2);
    assert_eq!(stats["artifacts"], 2);
    assert_eq!(stats["total"]["retrievals"], 2);
}

#[test]
fn json_of_what_is_not_json() {
    let tool = Tool::new();
    // The characters have three bytes each, so that blocks end inside a character.
    let text = "漢字\n\"quoted\"\\\u{1}".repeat(40_000);
    let handle = tool.put(text.as_bytes());
    let raw = tool.json(&["cat", "--raw", &handle], b"");
    assert_eq!(
        (&raw["text"], &raw["bytes"]),
        (&json!(text), &json!(text.len()))
    );
    let view = tool.json(&["cat", &handle], b"");
    assert_eq!(view["text"], text.replace('\u{1}', ""));
    assert!(tool.json(&["completions", "bash"], b"")["script"].is_string());
    assert!(tool.json(&["man"], b"")["page"].is_string());
}

#[test]
fn figures_of_a_result() {
    let tool = Tool::new();
    let object = tool.json(&["put"], "hello wörld\n".as_bytes());
    let figures = [
        "bytes",
        "lines",
        "chars",
        "tokens",
        "tokens_exact",
        "kind",
        "reason",
    ];
    let figures: Vec<&Value> = figures.iter().map(|name| &object[*name]).collect();
    assert_eq!(json!(figures), json!([13, 2, 12, 5, true, "text", null]));
    let empty = tool.json(&["put"], b"");
    assert_eq!(
        json!([empty["bytes"], empty["lines"], empty["tokens"]]),
        json!([0, 0, 0])
    );
}

#[test]
fn settings_come_from_flags_before_environment_before_file() {
    let tool = Tool::new();
    let file = tool.home().join("spillgate.toml");
    fs::write(
        &file,
        "max_tokens = 100\npreview_tokens = 500\n[tools.\"read_*\"]\nmax_tokens = 9000\n",
    )
    .unwrap();
    let mut command = tool.command(&["config", "--json", "--max-bytes", "7"]);
    command
        .arg("--config")
        .arg(&file)
        .env("SPILLGATE_MAX_TOKENS", "200");
    let output = feed(command, b"");
    let config: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |key: &str| {
        let from = config[key]["from"].as_str().unwrap();
        (
            config[key]["value"].clone(),
            from.split_whitespace().next().unwrap().to_owned(),
        )
    };
    assert_eq!(of("max_bytes"), (json!(7), "command".into()));
    assert_eq!(of("max_tokens"), (json!(200), "environment".into()));
    assert_eq!(of("preview_tokens"), (json!(500), "TOML".into()));
    assert_eq!(of("tokenizer"), (json!("o200k_base"), "default".into()));
    assert_eq!(config["tools"]["value"]["read_*"]["max_tokens"], 9000);
}

#[test]
fn a_flag_is_over_every_rule_of_the_file() {
    let tool = Tool::new();
    let file = tool.home().join("spillgate.toml");
    fs::write(
        &file,
        "quota = 0\nmax_age = 0\n[tools.stdin]\nmax_tokens = 700\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let put = |more: &[&str]| {
        let args = [&["put", "--config", file], more].concat();
        tool.json(&args, log(60).as_bytes())["offloaded"].clone()
    };
    assert_eq!(put(&[]), true);
    assert_eq!(put(&["--max-tokens", "0"]), false);
}

#[test]
fn variables_are_texts_and_empty_ones_set_nothing() {
    let tool = Tool::new();
    let mut command = tool.command(&["config", "--json"]);
    command
        .env("SPILLGATE_STORE", "123")
        .env("SPILLGATE_QUOTA", "5000000");
    command
        .env("SPILLGATE_TOKENIZER", "")
        .env("SPILLGATE_CONFIG", "");
    let config: Value = serde_json::from_slice(&feed(command, b"").stdout).unwrap();
    assert_eq!(config["store"]["value"], "123");
    assert_eq!(config["quota"]["from"], "environment SPILLGATE_QUOTA");
    assert_eq!(config["tokenizer"]["from"], "default");
    assert_eq!(config["max_tokens"]["value"], 2500);
    assert_eq!(config["preview_tokens"]["value"], 600);
    let mut command = tool.command(&["config", "--json"]);
    command.env("SPILLGATE_MAX_BYTES", "many");
    let wrong: Value = serde_json::from_slice(&feed(command, b"").stdout).unwrap();
    let message = wrong["error"]["message"].as_str().unwrap();
    assert!(message.contains("SPILLGATE_MAX_BYTES"), "{message}");
}

#[test]
fn errors_are_bounded_and_harmless() {
    let tool = Tool::new();
    let long = "z".repeat(50_000);
    for args in [
        vec!["read", "a\u{1b}[31mb\nc"],
        vec!["run", "/x\u{1b}[31m"],
        vec!["read", &long],
        vec!["run", &long],
    ] {
        let said = tool.run(&args, b"").stderr;
        assert!(said.len() < 4000 && !said.contains(&0x1b), "{args:.40?}");
    }
}

#[test]
fn wrong_settings_name_the_file_and_the_key() {
    let tool = Tool::new();
    let file = tool.home().join("wrong.toml");
    for (text, part) in [
        ("max_token = 1\n", "max_token"),
        ("max_tokens = \"many\"\n", "max_tokens"),
        ("profile = \"shout\"\n", "profile"),
        ("quota = \"big\"\n", "quota"),
        ("max_age = \"soon\"\n", "max_age"),
        ("[tools.\"a[\"]\nmax_bytes = 1\n", "a["),
        ("[tools.x]\nmax_byte = 1\n", "max_byte"),
        ("max_tokens = \n", "wrong.toml"),
    ] {
        fs::write(&file, text).unwrap();
        let (error, code) = tool.error(&["config", "--config", file.to_str().unwrap()]);
        assert_eq!(
            (code, &error["kind"], &error["fault"]),
            (1, &json!("config"), &json!("caller")),
            "{text}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn errors_say_whose_fault_and_what_to_do() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    let unknown =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";
    let cases: [(&[&str], &str, i32); 7] = [
        (&["read", unknown], "not_found", 1),
        (&["read", "../../no/file"], "not_found", 1),
        (&["cat", "../../etc/passwd"], "usage", 2),
        (&["read", &handle, "--start", "99999"], "past_end", 1),
        (&["grep", &handle, "("], "bad_pattern", 2),
        (&["read"], "usage", 2),
        (&["config", "--config", "/no/such/file"], "config", 1),
    ];
    for (args, kind, code) in cases {
        let (error, got) = tool.error(args);
        assert_eq!((&error["kind"], got), (&json!(kind), code), "{args:?}");
        assert_eq!(error["fault"], "caller", "{args:?}");
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{args:?}");
    }
    let plain = tool.run(&["read", unknown], b"");
    assert_snapshot!(String::from_utf8(plain.stderr).unwrap(), @"
    error: no stored artifact session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001: It was never stored here.
    hint: `spillgate ls` lists what is stored; --store DIR looks elsewhere
    ");
}

#[test]
fn the_version_says_what_the_build_contains() {
    let told = |option| {
        let output = Tool::new().run(&[option], b"");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_snapshot!([told("-V"), told("--version")].concat(), @"
    spillgate 0.1.0
    spillgate 0.1.0
    features: full (agent, cl100k, login, objects, pdf, references, serve, telemetry, templates, tools, ui)
    ");
}

#[test]
fn completions_and_manual_are_there() {
    let tool = Tool::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = tool.run(&["completions", shell], b"").stdout;
        assert!(
            String::from_utf8(script).unwrap().contains("max-tokens"),
            "{shell}"
        );
    }
    let page = tool.run(&["man"], b"").stdout;
    assert!(String::from_utf8(page).unwrap().contains(".TH spillgate"));
    let page = String::from_utf8(tool.run(&["man", "grep"], b"").stdout).unwrap();
    assert!(
        page.contains("spillgate\\-grep") && page.contains("invert"),
        "{page}"
    );
    assert_eq!(tool.run(&["man", "no-such"], b"").status.code(), Some(2));
    let pages = tool.home().join("man");
    fs::create_dir(&pages).unwrap();
    assert!(
        tool.run(&["man", "--dir", pages.to_str().unwrap()], b"")
            .status
            .success()
    );
    assert!(pages.join("spillgate-grep.1").is_file());
}

#[test]
fn what_was_just_stored_is_never_evicted() {
    let tool = Tool::new();
    let small = tool.put(log(300).as_bytes());
    let mut command = tool.command(&["put", "--json"]);
    command.env("SPILLGATE_QUOTA", "100 KB");
    let object: Value =
        serde_json::from_slice(&feed(command, log(9000).as_bytes()).stdout).unwrap();
    let large = object["handle"].as_str().unwrap();
    assert!(tool.run(&["show", large], b"").status.success());
    assert!(tool.run(&["show", &small], b"").status.success());
}

#[test]
fn pinned_outputs_survive_the_quota() {
    let tool = Tool::new();
    let pinned = tool.put(log(5000).as_bytes());
    assert!(tool.run(&["pin", &pinned], b"").status.success());
    let loose = tool.put(log(5000).as_bytes());
    let mut command = tool.command(&["put"]);
    command.env("SPILLGATE_QUOTA", "600 KB");
    feed(command, log(6000).as_bytes());
    assert!(tool.run(&["show", &pinned], b"").status.success());
    let (error, _) = tool.error(&["show", &loose]);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("evicted to stay under the storage quota"),
        "{message}"
    );
}
