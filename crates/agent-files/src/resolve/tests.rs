//! Tests of the precedence of layers, of paths and names, and of incompatible settings.

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
    "guardedTools": {"work": {"root": "..", "shell": false}},
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
    insta::assert_snapshot!(format!("{agent:?}"), @"
    Agent dir/agent.ai
      name = agent (built-in)
      description = - (built-in)
      models = a/b (dir/agent.ai:2)
      tools = - (built-in)
      agents = - (built-in)
      maxTurns = 10 (built-in)
      maxToolCallsPerTurn = 10 (built-in)
      maxOutputTokens = - (built-in)
      contextWindow = - (built-in)
      contextWindowBuffer = 8192 (built-in)
      toolResponseMaxBytes = 12288 (built-in)
      toolOutput.enabled = true (built-in)
      toolOutput.profile = handle (built-in)
      toolOutput.storeDir = - (built-in)
      toolOutput.models = a/b (built-in)
      toolOutput.maxChunks = 1 (built-in)
      toolOutput.maxChunksHard = 64 (built-in)
      toolOutput.overlapPercent = 10 (built-in)
      toolOutput.avgLineBytesThreshold = 1000 (built-in)
      toolOutput.chunkTokens = 0 (built-in)
      toolOutput.parallel = 4 (built-in)
      toolOutput.answerTokens = 4096 (built-in)
      toolOutput.passageTokens = 1000 (built-in)
      toolOutput.truncateTokens = 2500 (built-in)
      toolOutput.toolTokens = 4000 (built-in)
      toolOutput.earlyStop = false (built-in)
      toolOutput.maxTurns = 15 (built-in)
      toolOutput.maxToolCallsPerTurn = 10 (built-in)
      output.format = markdown (built-in)
      output.schema = - (built-in)
      input.format = text (built-in)
      input.schema = - (built-in)
      llmTimeout = - (built-in)
      toolTimeout = 5m (built-in)
      timeout = - (built-in)
      maxRequests = 200 (built-in)
      maxTotalTokens = - (built-in)
      maxCost = - (built-in)
      maxDepth = 3 (built-in)
      cache = off (built-in)
      cache.maxBytes = - (built-in)
      cache.dir = - (built-in)
      batch = true (built-in)
      taskStatus = true (built-in)
      maxRetries = - (built-in)
    ");
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
    insta::assert_snapshot!(said.join("\n"), @"
    models = far/model (/home/me/.ai-agent.json:7)
    tools = git (command line)
    maxTurns = 3 (command line)
    maxToolCallsPerTurn = 2 (/home/me/.ai-agent.json:7)
    toolResponseMaxBytes = 0 (dir/agent.ai:3)
    toolOutput.storeDir = /home/me/store (/home/me/.ai-agent.json:8)
    toolOutput.maxChunks = 1 (dir/agent.ai:6)
    toolOutput.parallel = 2 (/home/me/.ai-agent.json:7)
    llmTimeout = 30s (dir/agent.ai:7)
    cache = 1m (dir/.ai-agent.json:10)
    cache.maxBytes = 1048576 (/home/me/.ai-agent.json:9)
    cache.dir = /home/me/cache (/home/me/.ai-agent.json:9)
    batch = false (dir/.ai-agent.json:10)
    ");
    assert_eq!(agent.tool_response_max_bytes.value, None, "0 is no limit");
    assert_eq!(agent.tool_output.extraction.max_chunks, 1);
    assert_eq!(agent.tool_output.extraction.parallel, 2);
    let store = Path::new("/home/me/store");
    assert_eq!(agent.tool_output.store_dir.value.as_deref(), Some(store));
}

#[test]
fn of_entries_of_one_name_the_nearest_counts_whole() {
    let files = [
        config(
            "near.json",
            r#"{"providers": {"box": {"kind": "openai"}}, "models": {"a/b": {"window": 1}}}"#,
        ),
        config(
            "far.json",
            r#"{"providers": {"box": {"kind": "anthropic", "retries": 5}, "far": {"retries": 7}}, "models": {"a/b": {"window": 2, "maxOutput": 1}}}"#,
        ),
    ];
    let agent = resolve(&Settings::default(), &prompt("models: a/b"), &files).unwrap();
    let nearest = &agent.providers["box"];
    assert_eq!(nearest.kind, Some(spillgate_llm::Dialect::OpenAi));
    assert_eq!(nearest.retries, None);
    assert_eq!(agent.providers["far"].retries, Some(7));
    let model = agent.model_settings["a/b"];
    assert_eq!((model.window, model.max_output), (Some(1), None));
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
                SourceKind::Guarded => "guarded tools",
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
        "[work, guarded/read_*, guarded/glob_files]",
        "'g*'",
        "[]",
    ];
    insta::assert_snapshot!(fronts.map(shown).join("\n"), @r#"
    fs: server fs of dir/.ai-agent.json []
    [fs/read_*, git, fs/list]: server fs of dir/.ai-agent.json ["read_*", "list"]; server git of /home/me/.ai-agent.json []
    [fs/read_*, fs]: server fs of dir/.ai-agent.json []
    [fs, fs/read_*]: server fs of dir/.ai-agent.json []
    time, pets/get*: request time of dir/.ai-agent.json []; service pets of dir/.ai-agent.json ["get*"]
    '[fg]*/*_log': server fs of dir/.ai-agent.json ["*_log"]; server git of /home/me/.ai-agent.json ["*_log"]
    [work, guarded/read_*, guarded/glob_files]: guarded tools work of dir/.ai-agent.json []; guarded tools guarded of dir/agent.ai ["read_*", "glob_files"]
    'g*': server git of /home/me/.ai-agent.json []
    []:
    "#);
    let server = resolved("models: a/b\ntools: fs").tools[0]
        .server
        .clone()
        .unwrap();
    assert_eq!(server.command.as_deref(), Some("near-fs"));
}

#[test]
fn guarded_tools_need_no_entry_and_an_entry_is_before_them() {
    let shown = |files: &[ConfigFile]| {
        let prompt = prompt("models: a/b\ntools: guarded");
        let agent = resolve(&Settings::default(), &prompt, files).unwrap();
        let source = &agent.tools[0];
        let (file, line) = (source.entry.file().display(), source.entry.place().line);
        let (kind, value) = (source.kind, source.entry.shown());
        format!("{kind:?} {} {file}:{line} {value}", agent.tools.len())
    };
    let entry = r#"{"guardedTools": {"guarded": {"maxTokens": 500}}}"#;
    let server = r#"{"mcpServers": {"guarded": {"command": "x"}}}"#;
    let all = [
        shown(&files()),
        shown(&[config("c.json", entry)]),
        shown(&[config("c.json", server)]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    Guarded 1 dir/agent.ai:3 {}
    Guarded 1 c.json:1 {"maxTokens":500}
    Mcp 1 c.json:1 {"command":"x"}
    "#);
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
    insta::assert_snapshot!(told(fronts), @r#"
    dir/agent.ai:2:9: tools[0]: there is no tool source "sf"; there are fs, git, guarded, needy, off, pets, time, work
    dir/agent.ai:4:5: tools[1]: "time" is a single tool and has no tools below it; write time
    dir/agent.ai:5:5: tools[2]: "off" is switched off (dir/.ai-agent.json:4); remove `disabled` there, or the name here
    dir/agent.ai:6:5: tools[3]: there is no tool source "batch"; every session offers this tool by itself; see `batch`
    dir/agent.ai:7:5: tools[4]: there is no tool source "agent__final_report"; every session offers this tool by itself
    dir/agent.ai:8:5: tools[5]: "[x" is not a pattern: unclosed character class; missing ']'; write NAME, or NAME/PATTERN such as fs/read_*
    dir/.ai-agent.json:5:44: mcpServers.needy.args[0]: the variable NOT_SET is not set; set it, or write a default: ${NOT_SET:-…}
    /home/me/.ai-agent.json:3:36: providers.used.baseUrl: the variable NOT_SET_URL is not set; set it, or write a default: ${NOT_SET_URL:-…}
    dir/agent.ai: models: there is no model; write `models: provider/model` here, or `defaults.models` in .ai-agent.json
    dir/agent.ai:2:1: name: is the name of a tool that every session has; choose another one
    dir/agent.ai:2:1: name: must be 1 to 64 letters, digits, `_` or `-`
    dir/agent.ai:2:10: agents[0]: dir/none.ai is not a file; paths are relative to the directory of the file
    dir/agent.ai:2:1: contextWindow: 8000 tokens leave no room: 8192 are kept free, 1 are reserved for a reply; set it higher, or contextWindowBuffer or maxOutputTokens lower
    dir/agent.ai:2:1: contextWindow: 10000 tokens leave no room: 8192 are kept free, 4000 are reserved for a reply; set it higher, or contextWindowBuffer or maxOutputTokens lower
    dir/agent.ai:2:24: output.schema: is only for JSON, but the format is a different one; set `format: json`
    dir/agent.ai:2:24: output.schema: is not a JSON Schema: "strin" is not valid under any of the schemas listed in the 'anyOf' keyword (/type)
    dir/agent.ai:2:36: output.schemaRef: cannot be combined with `schema`; keep one of them
    dir/agent.ai:2:24: output.schemaRef: dir/x.json: it cannot be read: No such file or directory (os error 2)
    dir/agent.ai:2:9: input.schema: is only for JSON, but the format is a different one; set `format: json`
    "#);
}

#[test]
fn a_model_is_needed() {
    let problems = resolve(&Settings::default(), &prompt("name: a"), &[]).unwrap_err();
    insta::assert_snapshot!(problems, @"dir/agent.ai: models: there is no model; write `models: provider/model` here, or `defaults.models` in .ai-agent.json");
}

#[test]
fn a_file_may_not_be_called_as_a_tool_of_every_session() {
    let text = "---\nmodels: []\n---\nDo it.\n";
    let prompt = PromptFile::parse(text, Path::new("dir/tool_output.ai")).unwrap();
    let problems = resolve(&Settings::default(), &prompt, &[]).unwrap_err();
    insta::assert_snapshot!(problems, @"
    dir/tool_output.ai: its name `tool_output` is the name of a tool that every session has; rename the file, or set `name` in it
    dir/tool_output.ai: models: there is no model; write `models: provider/model` here, or `defaults.models` in .ai-agent.json
    ");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let front = "tools: [sf, needy]\nname: a b\ncontextWindow: 1\nagents: none.ai\nmodels: used/x";
    insta::assert_snapshot!(told([front]), @r#"
    dir/agent.ai:2:9: tools[0]: there is no tool source "sf"; there are fs, git, guarded, needy, off, pets, time, work
    dir/agent.ai:3:1: name: must be 1 to 64 letters, digits, `_` or `-`
    dir/agent.ai:4:1: contextWindow: 1 tokens leave no room: 8192 are kept free, 1 are reserved for a reply; set it higher, or contextWindowBuffer or maxOutputTokens lower
    dir/agent.ai:5:1: agents[0]: dir/none.ai is not a file; paths are relative to the directory of the file
    dir/.ai-agent.json:5:44: mcpServers.needy.args[0]: the variable NOT_SET is not set; set it, or write a default: ${NOT_SET:-…}
    /home/me/.ai-agent.json:3:36: providers.used.baseUrl: the variable NOT_SET_URL is not set; set it, or write a default: ${NOT_SET_URL:-…}
    "#);
}

#[test]
fn a_name_is_of_one_section() {
    let file = config(
        ".ai-agent.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n \"restTools\": {\"a\": {}}}",
    );
    let problems = resolve(&Settings::default(), &prompt("models: a/b"), &[file]).unwrap_err();
    insta::assert_snapshot!(problems, @".ai-agent.json:2:16: restTools.a: has the name of one of mcpServers (.ai-agent.json:1), and `tools` could not tell them apart");
}

#[test]
fn what_variables_stand_for_is_used_and_not_shown() {
    let file = config(
        "x/.ai-agent.json",
        r#"{"defaults": {"models": "${MODEL}", "toolOutput": {"storeDir": "${DIR}/x"}, "tools": ["${DIR}"], "output": {"format": "json", "schemaRef": "${DIR}/s.json"}}}"#,
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
    insta::assert_snapshot!(problems, @"
    x/.ai-agent.json:1:87: defaults.tools[0]: names no tools; its value is not shown; no .ai-agent.json has servers or tools; `guarded` needs none
    x/.ai-agent.json:1:127: defaults.output.schemaRef: the file that it names is not a schema
    ");
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
fn of_a_schema_and_a_path_the_nearer_counts() {
    let output = |path: &str, output: &str| {
        config(path, &format!(r#"{{"defaults": {{"output": {output}}}}}"#))
    };
    let given = r#"{"format": "json", "schema": {"title": "near"}}"#;
    let files = [
        output("near.json", given),
        output("far.json", r#"{"schemaRef": "no-such-file.json"}"#),
    ];
    let agent = resolve(&Settings::default(), &prompt("models: a/b"), &files).unwrap();
    assert_eq!(agent.output_schema.value.unwrap()["title"], "near");
    let over = Settings {
        output: Some(serde_json::from_str(r#"{"format": "markdown"}"#).unwrap()),
        ..Settings::default()
    };
    let near = prompt("models: a/b\noutput: {format: json, schema: {}}");
    let agent = resolve(&over, &near, &files).unwrap();
    assert_eq!(agent.output_schema.value, None, "the format is nearer");
}

#[test]
fn names_may_have_slashes() {
    let text =
        r#"{"mcpServers": {"io.github.x/y": {"command": "y"}, "io.github.x": {"command": "x"}}}"#;
    let files = [config("near.json", text)];
    for (tools, want) in [
        ("io.github.x/y", "io.github.x/y []"),
        ("io.github.x/y/read_*", r#"io.github.x/y ["read_*"]"#),
        ("io.github.x/z", r#"io.github.x ["z"]"#),
    ] {
        let front = format!("models: a/b\ntools: [{tools}]");
        let agent = resolve(&Settings::default(), &prompt(&front), &files).unwrap();
        let chosen = agent.tools.iter();
        let chosen = chosen.map(|one| format!("{} {:?}", one.entry.name(), one.only));
        assert_eq!(chosen.collect::<Vec<_>>().join("; "), want, "{tools}");
    }
}

#[test]
fn what_is_one_agents_own_is_no_default() {
    let text = r#"{"defaults": {"name": "x", "description": "y", "agents": ["r.ai"]}}"#;
    let told = ConfigFile::parse(text, Path::new("f.json"), &lookup).unwrap_err();
    insta::assert_snapshot!(told, @"
    f.json:1:15: defaults.name: belongs to a single agent and cannot be a default; write it in the prompt file
    f.json:1:28: defaults.description: belongs to a single agent and cannot be a default; write it in the prompt file
    f.json:1:48: defaults.agents: belongs to a single agent and cannot be a default; write it in the prompt file
    ");
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
    insta::assert_snapshot!(told.join("\n"), @"
    DIR/agent.ai:4:24: output.schemaRef: is not a JSON Schema: 5 is not valid under any of the schemas listed in the 'anyOf' keyword (/type)
    DIR/agent.ai:4:24: output.schemaRef: DIR/broken.json:2:2: this is not JSON: Expected colon after the string or word in object property
    ");
}
