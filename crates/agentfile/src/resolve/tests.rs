use std::path::Path;

use super::*;
use crate::agent::SourceKind;

fn prompt(front: &str) -> PromptFile {
    let text = format!("---\n{front}\n---\nDo it.\n");
    PromptFile::parse(&text, Path::new("dir/agent.ai")).unwrap()
}

fn lookup(name: &str) -> Option<String> {
    match name {
        "MODEL" => Some("secret/model".to_owned()),
        "DIR" => Some("/s3cret".to_owned()),
        _ => None,
    }
}

fn config(path: &str, text: &str) -> ConfigFile {
    ConfigFile::parse(text, Path::new(path), &lookup).unwrap()
}

const NEAR: &str = r#"{
    "mcpServers": {
        "fs": {"command": "near-fs"},
        "off": {"command": "x", "disabled": true},
        "needy": {"command": "x", "args": ["${NOT_SET}"]}
    },
    "restTools": {"time": {"url": "https://example.com"}},
    "openapiSpecs": {"pets": {"spec": "pets.yaml"}},
    "defaults": {"maxTurns": 7, "batch": false, "cache": "1m"}
}"#;

const FAR: &str = r#"{
    "providers": {
        "used": {"type": "openai", "baseUrl": "${NOT_SET_URL}"},
        "unused": {"type": "openai", "baseUrl": "${NOT_SET_URL}"}
    },
    "mcpServers": {"fs": {"command": "far-fs"}, "git": {"command": "git"}},
    "defaults": {"maxTurns": 9, "maxToolCallsPerTurn": 2, "models": "far/model", "toolOutput": {"parallel": 2}},
    "toolOutput": {"maxChunks": 3, "parallel": 7, "storeDir": "store"},
    "cache": {"ttl": "10m", "maxBytes": "1 MiB", "dir": "cache", "tools": {"fs/*": "off", "git/*": "1h"}}
}"#;

fn files() -> [ConfigFile; 2] {
    [
        config("dir/.ai-agent.json", NEAR),
        config("/home/me/.ai-agent.json", FAR),
    ]
}

fn resolved(front: &str) -> Agent {
    resolve(&Settings::default(), &prompt(front), &files()).unwrap_or_else(|told| panic!("{told}"))
}

fn told<'t>(fronts: impl IntoIterator<Item = &'t str>) -> String {
    let told = fronts.into_iter().map(|front| {
        match resolve(&Settings::default(), &prompt(front), &files()) {
            Ok(_) => panic!("this is taken: {front}"),
            Err(problems) => problems.to_string(),
        }
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_nobody_says_is_built_in() {
    let agent = resolve(&Settings::default(), &prompt("models: a/b"), &[]).unwrap();
    insta::assert_snapshot!(format!("{agent:?}"), @"");
    assert_eq!(agent.system, "Do it.");
    assert_eq!(agent.tool_response_max_bytes.value, Some(12_288));
}

#[test]
fn the_nearest_word_counts() {
    let over = Settings {
        max_turns: Some("3".parse().unwrap()),
        tools: Some("git".parse().unwrap()),
        ..Settings::default()
    };
    let prompt = prompt(
        "maxTurns: 5\ntoolResponseMaxBytes: 0\ntools: fs\ntoolOutput:\n  maxChunks: 1\nllmTimeout: 30s",
    );
    let agent = resolve(&over, &prompt, &files()).unwrap();
    let said = agent
        .settings()
        .iter()
        .filter(|row| row.source != crate::Source::BuiltIn);
    let said: Vec<String> = said
        .map(|row| format!("{} = {} ({})", row.key, row.value, row.source))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"");
    assert_eq!(agent.tool_response_max_bytes.value, None, "0 is no limit");
    assert_eq!(agent.tool_output.extraction.max_chunks, 1);
    assert_eq!(agent.tool_output.extraction.parallel, 2);
    let store = Path::new("/home/me/store");
    assert_eq!(agent.tool_output.store_dir.value.as_deref(), Some(store));
}

#[test]
fn tools_are_found_by_name_and_pattern() {
    let shown = |front: &str| {
        let agent = resolved(&format!("models: a/b\ntools: {front}"));
        let sources = agent.tools.iter().map(|source| {
            let kind = match source.kind {
                SourceKind::Mcp => "server",
                SourceKind::Rest => "request",
                SourceKind::OpenApi => "service",
            };
            let file = source.entry.file().display();
            format!("{kind} {} of {file} {:?}", source.entry.name(), source.only)
        });
        format!("{front}: {}", sources.collect::<Vec<_>>().join("; "))
    };
    let fronts = [
        "fs",
        "[fs/read_*, git, fs/list]",
        "[fs/read_*, fs]",
        "[fs, fs/read_*]",
        "time, pets/get*",
        "'[fg]*/*_log'",
        "[]",
    ];
    insta::assert_snapshot!(fronts.map(shown).join("\n"), @"");
    let server = resolved("models: a/b\ntools: fs").tools[0]
        .server
        .clone()
        .unwrap();
    assert_eq!(server.command.as_deref(), Some("near-fs"));
}

#[test]
fn what_does_not_go_together_is_told() {
    let fronts = [
        "tools: [sf]",
        "tools:\n  - fs\n  - time/now\n  - off\n  - batch\n  - agent__final_report\n  - '[x'",
        "tools: needy",
        "models: used/model",
        "models: []",
        "name: tool_output",
        "name: a b",
        "agents: [none.ai]",
        "contextWindow: 8000",
        "contextWindow: 10000\nmaxOutputTokens: 4000",
        "output: {format: text, schema: {}}",
        "output: {format: json, schema: {type: strin}}",
        "output: {format: json, schema: {}, schemaRef: x.json}",
        "output: {format: json, schemaRef: x.json}",
        "input: {schema: {}}",
    ];
    insta::assert_snapshot!(told(fronts), @"");
}

#[test]
fn a_model_is_needed() {
    let problems = resolve(&Settings::default(), &prompt("name: a"), &[]).unwrap_err();
    insta::assert_snapshot!(problems, @"");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let front = "tools: [sf, needy]\nname: a b\ncontextWindow: 1\nagents: none.ai\nmodels: used/x";
    insta::assert_snapshot!(told([front]), @"");
}

#[test]
fn a_name_is_of_one_section() {
    let file = config(
        ".ai-agent.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n \"restTools\": {\"a\": {}}}",
    );
    let problems = resolve(&Settings::default(), &prompt("models: a/b"), &[file]).unwrap_err();
    insta::assert_snapshot!(problems, @"");
}

#[test]
fn what_variables_stand_for_is_used_and_not_shown() {
    let file = config(
        "x/.ai-agent.json",
        r#"{"defaults": {"models": "${MODEL}", "toolOutput": {"storeDir": "${DIR}/x"}, "agents": ["${DIR}/a.ai"], "tools": ["${DIR}"], "output": {"format": "json", "schemaRef": "${DIR}/s.json"}}}"#,
    );
    let front = |front: &str| {
        resolve(
            &Settings::default(),
            &prompt(front),
            std::slice::from_ref(&file),
        )
    };
    let agent = front("agents: []\ntools: []\noutput: {schema: {}}").unwrap();
    assert_eq!(agent.models.value[0].provider, "secret");
    let shown = format!("{agent:?} {:?} {:?}", agent.models, agent.tool_output);
    let problems = front("name: a").unwrap_err().to_string();
    for secret in ["secret/model", "s3cret"] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!problems.contains(secret), "{problems}");
    }
    insta::assert_snapshot!(problems, @"");
}

#[test]
fn the_cache_of_a_prompt_file_is_over_that_of_the_configuration() {
    let rules = |front: &str, files: &[ConfigFile]| {
        let front = format!("models: a/b\n{front}");
        resolve(&Settings::default(), &prompt(&front), files)
            .unwrap()
            .cache
    };
    let far = [config("/home/me/.ai-agent.json", FAR)];
    let minutes = |minutes: u64| Some(Duration::from_secs(60 * minutes));
    for (front, ttl, patterns) in [
        ("", minutes(10), 2),
        ("cache: 5m", minutes(5), 2),
        ("cache: off", None, 0),
    ] {
        let rules = rules(front, &far);
        assert_eq!(
            (rules.ttl.value, rules.tools.len()),
            (ttl, patterns),
            "{front}"
        );
    }
    let all = rules("", &far);
    assert_eq!(all.tools[0], ("fs/*".to_owned(), None));
    assert_eq!(all.max_bytes.value, Some(1 << 20));
    assert_eq!(all.dir.value.as_deref(), Some(Path::new("/home/me/cache")));
    assert_eq!(rules("", &[]).ttl.value, None);
}

#[test]
fn schemas_and_agents_are_from_the_directory_of_their_file() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    write("s.json", "{\"type\": \"object\"} // ours");
    write("s.yaml", "type: array");
    write("bad.json", "{\"type\":\n 5}");
    write("broken.json", "{\"type\"\n 5}");
    write("other.ai", "Do it.");
    let path = directory.path().join("agent.ai");
    let with = |schema: &str| {
        let text = format!(
            "---\nmodels: a/b\nagents: other.ai\noutput: {{format: json, schemaRef: {schema}}}\n---\nDo it."
        );
        let file = PromptFile::parse(&text, &path).unwrap();
        resolve(&Settings::default(), &file, &[])
    };
    let agent = with("s.json").unwrap();
    assert_eq!(agent.agents.value, [directory.path().join("other.ai")]);
    assert_eq!(agent.output_schema.value.unwrap()["type"], "object");
    assert_eq!(
        with("s.yaml").unwrap().output_schema.value.unwrap()["type"],
        "array"
    );
    let told = ["bad.json", "broken.json"].map(|name| {
        let told = with(name).unwrap_err().to_string();
        told.replace(directory.path().to_str().unwrap(), "DIR")
    });
    insta::assert_snapshot!(told.join("\n"), @"");
}
