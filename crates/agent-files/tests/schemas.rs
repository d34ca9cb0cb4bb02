//! Tests that the published schemas, the reader and the documentation agree.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use spillgate_agent_files::{ConfigFile, PromptFile, ai_agent_schema, prompt_file_schema};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

#[test]
fn the_published_schemas_are_current() {
    for (name, schema) in [
        ("prompt-file", prompt_file_schema()),
        ("ai-agent", ai_agent_schema()),
    ] {
        let text = std::fs::read_to_string(docs(&format!("schema/{name}.schema.json"))).unwrap();
        let published: Value = serde_json::from_str(&text).unwrap();
        let hint = "run `cargo run -p spillgate-agent-files --example schemas`";
        assert!(published == schema, "{name}: {hint}");
    }
}

/// Collects every key of a schema, nested ones included.
fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(properties) = members.get("properties").and_then(Value::as_object) {
                found.extend(properties.keys().cloned());
            }
            members.values().for_each(|one| keys(one, found));
        }
        Value::Array(elements) => elements.iter().for_each(|one| keys(one, found)),
        _ => {}
    }
}

#[test]
fn the_documentation_has_every_key() {
    let pages = ["agent-files.md", "agent-config.md"];
    let text = pages.map(|page| std::fs::read_to_string(docs(page)).unwrap());
    let text = text.concat();
    let mut all = BTreeSet::new();
    keys(&prompt_file_schema(), &mut all);
    keys(&ai_agent_schema(), &mut all);
    assert!(all.len() > 60, "{all:?}");
    let is_in = |key: &String| {
        let words = [format!("`{key}`"), format!(".{key}`")];
        words.iter().any(|word| text.contains(word))
    };
    let missing: Vec<&String> = all.iter().filter(|key| !is_in(key)).collect();
    assert!(
        missing.is_empty(),
        "docs/agent-files.md and docs/agent-config.md lack {missing:?}"
    );
}

/// Returns examples of frontmatter, each with one or more keys.
fn fronts() -> Vec<Value> {
    let values = [
        json!({ "$schema": "x", "name": "a-b_1", "description": "d" }),
        json!({ "models": "a/b" }),
        json!({ "models": ["a/b", "c/d/e"], "tools": ["fs", "git/*"], "agents": "x.ai, y.ai" }),
        json!({ "models": "a/b, c/d", "tools": "fs, git/*" }),
        json!({ "models": ["ab"] }),
        json!({ "models": 5 }),
        json!({ "maxTurns": 5 }),
        json!({ "max_turns": 5 }),
        json!({ "max_turns": "5" }),
        json!({ "maxTurns": 0 }),
        json!({ "maxTurns": 1001 }),
        json!({ "maxTurns": null }),
        json!({ "maxToolCallsPerTurn": 3, "maxOutputTokens": 100, "contextWindow": 1, "context_window_buffer": 0 }),
        json!({ "toolResponseMaxBytes": 0 }),
        json!({ "toolResponseMaxBytes": -1 }),
        json!({ "toolOutput": true }),
        json!({ "tool_output": false }),
        json!({ "toolOutput": { "enabled": true, "profile": "handle", "store_dir": "/x", "models": "a/b" } }),
        json!({ "toolOutput": { "profile": "preview" } }),
        json!({ "toolOutput": { "overlap_percent": 50, "avgLineBytesThreshold": 1, "early_stop": true } }),
        json!({ "toolOutput": { "overlapPercent": 51 } }),
        json!({ "toolOutput": { "unknown": 1 } }),
        json!({ "toolOutput": 5 }),
        json!({ "output": { "format": "json", "schema": { "type": "object" } } }),
        json!({ "output": { "format": "json", "schema_ref": "x" } }),
        json!({ "output": { "format": "xml" } }),
        json!({ "output": "json" }),
        json!({ "input": { "format": "text" } }),
        json!({ "llmTimeout": "30s", "tool_timeout": 1500, "timeout": "1h 30m" }),
        json!({ "llmTimeout": 0 }),
        json!({ "timeout": true }),
        json!({ "cache": "off" }),
        json!({ "cache": false }),
        json!({ "cache": 0 }),
        json!({ "cache": "10m" }),
        json!({ "cache": true }),
        json!({ "batch": true, "taskStatus": false, "max_retries": 0 }),
        json!({ "batch": "yes" }),
        json!({ "maxRetries": 101 }),
        json!({ "temperature": 1 }),
        json!({ "unknown": 1 }),
    ];
    values.to_vec()
}

/// Returns examples of `.ai-agent.json`.
fn sections() -> Vec<Value> {
    let values = [
        json!({}),
        json!({ "$schema": "x" }),
        json!({ "providers": { "a": { "type": "openai", "baseUrl": "http://x", "apiKey": "${KEY}" } } }),
        json!({ "providers": { "a": { "kind": "openai", "base_url": "http://x", "keyEnv": "KEY" } } }),
        json!({ "providers": { "a": { "kind": "anthropic", "headers": { "x": "y" }, "timeoutS": 5, "stream": true } } }),
        json!({ "providers": { "a": { "max_tokens_field": "max_tokens", "requestsPerMinute": 5 } } }),
        json!({ "providers": { "a": { "apiKey": "literal" } } }),
        json!({ "providers": { "a": { "unknown": 5 } } }),
        json!({ "models": { "a/b": { "window": 5, "maxOutput": 1, "prices": { "input": 1, "output": 2.5, "cachedInput": 0.1 } } } }),
        json!({ "models": { "a/b": { "prices": { "input": 1 } } } }),
        json!({ "mcpServers": { "a": { "command": "x", "args": ["y"], "env": { "A": "b" }, "theirs": 5 } } }),
        json!({ "mcp_servers": { "a": { "url": "x", "type": "streamable-http", "headers": {}, "disabled": true } } }),
        json!({ "mcpServers": { "a": { "httpUrl": "x", "timeout": "5m", "toolsAllowed": ["a"] } } }),
        json!({ "mcpServers": { "a": { "command": 5 } } }),
        json!({ "restTools": { "a": { "url": "x" } }, "openapiSpecs": { "b": { "spec": "y" } } }),
        json!({ "restTools": { "a": "x" } }),
        json!({ "guardedTools": { "a": {} } }),
        json!({ "guarded_tools": { "a": { "root": ".", "tools": ["read_file"], "max_tokens": 100, "onOverflow": "offload" } } }),
        json!({ "guardedTools": { "a": { "tools": ["read"] } } }),
        json!({ "guardedTools": { "a": { "maxTokens": 99 } } }),
        json!({ "guardedTools": { "a": { "writable": ["out"], "shell": false, "web": true, "detailed_recovery": true } } }),
        json!({ "guardedTools": { "a": { "writable": false, "shell": { "timeout_s": 600, "env": ["A_*"], "sandbox": true }, "web": { "timeoutS": 120, "allow_private": "a:1" } } } }),
        json!({ "guardedTools": { "a": { "writable": "out" } } }),
        json!({ "guardedTools": { "a": { "shell": { "timeoutS": 601 } } } }),
        json!({ "guardedTools": { "a": { "web": { "unknown": 1 } } } }),
        json!({ "guardedTools": { "a": { "search": { "provider": "searxng", "url": "http://x" } } } }),
        json!({ "guardedTools": { "a": { "search": { "provider": "brave", "api_key": "${KEY}" } } } }),
        json!({ "guardedTools": { "a": { "search": { "provider": "brave", "apiKey": "literal" } } } }),
        json!({ "guardedTools": { "a": { "search": { "provider": "tavily", "apiKeyEnv": "KEY" } } } }),
        json!({ "guardedTools": { "a": { "search": { "provider": "tavily", "apiKeyEnv": "tvly-x" } } } }),
        json!({ "guardedTools": { "a": { "search": { "url": "http://x" } } } }),
        json!({ "guardedTools": { "a": true } }),
        json!({ "toolOutput": false }),
        json!({ "toolOutput": { "maxChunks": 3 } }),
        json!({ "cache": { "ttl": "10m", "maxBytes": "1 MiB", "dir": "x", "tools": { "a/*": "off", "b": 5000 } } }),
        json!({ "cache": { "max_bytes": 5 } }),
        json!({ "cache": "10m" }),
        json!({ "unknown": 5 }),
    ];
    let defaults = fronts()
        .into_iter()
        .map(|front| json!({ "defaults": front }));
    values.into_iter().chain(defaults).collect()
}

#[test]
fn a_schema_takes_what_the_reader_takes() {
    let schema = jsonschema::validator_for(&prompt_file_schema()).unwrap();
    let mut counts = [0; 2];
    for front in fronts() {
        // JSON is also YAML.
        let text = format!("---\n{front}\n---\nDo it.");
        let read = PromptFile::parse(&text, Path::new("a.ai"));
        let told = schema.validate(&front).map_err(|error| error.to_string());
        assert_eq!(told.is_ok(), read.is_ok(), "{front}: {told:?} {read:?}");
        counts[usize::from(read.is_ok())] += 1;
    }
    let schema = jsonschema::validator_for(&ai_agent_schema()).unwrap();
    for section in sections() {
        let read = ConfigFile::parse(&section.to_string(), Path::new("a.json"), &|_| None);
        let told = schema.validate(&section).map_err(|error| error.to_string());
        assert_eq!(told.is_ok(), read.is_ok(), "{section}: {told:?} {read:?}");
        counts[usize::from(read.is_ok())] += 1;
    }
    assert!(counts.iter().all(|&count| count > 25), "{counts:?}");
}

#[test]
fn the_schemas_are_schemas() {
    for schema in [prompt_file_schema(), ai_agent_schema()] {
        jsonschema::meta::validate(&schema).unwrap();
    }
}

/// Returns the code blocks of the documentation in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.collect()
}

#[test]
fn the_examples_of_the_documentation_are_taken() {
    let pages = ["agent-files.md", "agent-config.md"];
    let text = pages.map(|page| std::fs::read_to_string(docs(page)).unwrap());
    let text = text.concat();
    let prompts = blocks(&text, "markdown");
    let configs = blocks(&text, "jsonc");
    assert!(!prompts.is_empty() && !configs.is_empty());
    for prompt in prompts {
        PromptFile::parse(&prompt, Path::new("a.ai")).unwrap();
    }
    for config in configs {
        ConfigFile::parse(&config, Path::new("a.json"), &|_| None).unwrap();
    }
}
