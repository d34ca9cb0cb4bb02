//! Tests of reading prompt files, valid and invalid.

use super::*;

fn parse(text: &str) -> Result<PromptFile, Problems> {
    PromptFile::parse(text, Path::new("agent.ai"))
}

/// Returns the errors of each text.
fn told<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let told = texts.into_iter().map(|text| match parse(text) {
        Ok(_) => panic!("this is taken: {text:.200}"),
        Err(problems) => problems.to_string(),
    });
    told.collect::<Vec<_>>().join("\n")
}

/// Returns a prompt file with the frontmatter `front`.
fn with(front: &str) -> String {
    format!("---\n{front}\n---\nDo it.\n")
}

#[test]
fn a_file_is_cut_into_frontmatter_and_prompt() {
    let cases = [
        ("Do it.\n", "", "Do it."),
        ("#!/usr/bin/env -S spillgate agent\nDo it.", "", "Do it."),
        (
            "---\nname: a\n---\nDo it.\n\n- one\n",
            "a",
            "Do it.\n\n- one",
        ),
        (
            "\u{feff}#!/x\n\n---\r\nname: a\r\n--- \r\nDo it.\r\n",
            "a",
            "Do it.",
        ),
        ("---\n---\nDo it.", "", "Do it."),
        (
            "---\nname: a\ndescription: |\n  --- no fence\n---\nA\n---\nB",
            "a",
            "A\n---\nB",
        ),
        (
            "\n\nDo it.\n---\nno: frontmatter\n---\n",
            "",
            "Do it.\n---\nno: frontmatter\n---",
        ),
    ];
    for (text, name, system) in cases {
        let file = parse(text).unwrap_or_else(|problems| panic!("{text}: {problems}"));
        assert_eq!(file.settings.name.unwrap_or_default(), name, "{text}");
        assert_eq!(file.system, system);
    }
}

#[test]
fn a_place_is_that_of_the_whole_file() {
    let file = parse("#!/x\n\n---\nname: a\nmaxTurns: 3\n---\nDo it.").unwrap();
    assert_eq!(
        file.root.get("maxTurns").unwrap().at,
        Position { line: 5, column: 1 }
    );
}

#[test]
fn what_is_no_prompt_file_is_refused() {
    let large = "x".repeat(MAX_FILE_BYTES + 1);
    let texts = [
        "",
        "#!/x",
        "---\nname: a\n---\n \n",
        "---\nname: a\nDo it.",
        "---\n- a\n---\nDo it.",
        "---\nname: [a\n---\nDo it.",
        "---\nname: a\nname: b\n---\nDo it.",
        "---\nname: &a [*a]\n---\nDo it.",
        large.as_str(),
    ];
    insta::assert_snapshot!(told(texts), @r#"
    agent.ai: it has no prompt; write below the frontmatter what the agent must do
    agent.ai: it has no prompt; write below the frontmatter what the agent must do
    agent.ai: it has no prompt; write below the frontmatter what the agent must do
    agent.ai:1:1: the frontmatter that begins here does not end; end it with a line `---`
    agent.ai:2:1: it must be a table of keys and values
    agent.ai:2:7: this is not YAML: unclosed bracket '['
    agent.ai:3:1: the key "name" is also on line 2
    agent.ai:2:11: this alias is inside the value that it refers to
    agent.ai: it is larger than 1048576 bytes
    "#);
}

const WRONG: [&str; 34] = [
    "maxTurns: ten",
    "maxTurns: 0",
    "maxTurns: 1001",
    "maxTurns: -1",
    "maxTurns: 1.5",
    "maxTurns: [1]",
    "maxTurn: 3",
    "max_turns: 3\nmaxTurns: 4",
    "xyzzy: 1",
    "temperature: 0.2",
    "top_p: 0.2",
    "model: openai/gpt-4o",
    "models: gpt-4o",
    "models: [openai/gpt-4o, gpt-4o, 5]",
    "models: {a: b}",
    "tools: 5",
    "tools: [fs, 5]",
    "agents: {}",
    "llmTimeout: soon",
    "llmTimeout: 0",
    "toolTimeout: 0s",
    "timeout: -5",
    "cache: true",
    "cache: never",
    "batch: 'yes'",
    "output: markdown",
    "output: {format: xml}",
    "output: {fromat: json}",
    "input: {format: markdown}",
    "toolOutput: 5",
    "toolOutput: {overlapPercent: 51}",
    "toolOutput: {maxChunks: 0, profile: preview, max_chunk: 1}",
    "toolOutput: {models: [x]}",
    "name: [a]",
];

#[test]
fn what_is_wrong_with_a_key_is_told() {
    let texts: Vec<String> = WRONG.iter().map(|front| with(front)).collect();
    insta::assert_snapshot!(told(texts.iter().map(String::as_str)), @r#"
    agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is "ten"
    agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is 0
    agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is 1001
    agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is -1
    agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is 1.5
    agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is a list
    agent.ai:2:1: maxTurn: there is no such key; did you mean `maxTurns`?
    agent.ai:3:1: maxTurns: is set as `max_turns` on line 2, too; keep one of them
    agent.ai:2:1: xyzzy: there is no such key; there are $schema, agents, batch, cache, contextWindow, contextWindowBuffer, description, input, llmTimeout, maxCost, maxDepth, maxOutputTokens, maxRequests, maxRetries, maxToolCallsPerTurn, maxTotalTokens, maxTurns, models, name, output, taskStatus, timeout, toolOutput, toolResponseMaxBytes, toolTimeout, tools
    agent.ai:2:1: temperature: requests to models carry no sampling settings, and a setting without effect would mislead; leave it out
    agent.ai:2:1: top_p: requests to models carry no sampling settings; leave it out
    agent.ai:2:1: model: the key has another name; write `models`, even for a single model
    agent.ai:2:1: models: Invalid provider/model pair 'gpt-4o'. Expected format provider/model.
    agent.ai:2:25: models[1]: Invalid provider/model pair 'gpt-4o'. Expected format provider/model.
    agent.ai:2:33: models[2]: must be a text, is 5
    agent.ai:2:1: models: must be a list, or a text with commas, is a table
    agent.ai:2:1: tools: must be a list, or a text with commas, is 5
    agent.ai:2:13: tools[1]: must be a text, is 5
    agent.ai:2:1: agents: must be a list, or a text with commas, is a table
    agent.ai:2:1: llmTimeout: must be a time over 0 such as "30s" or "5m", or a number of milliseconds, is "soon"
    agent.ai:2:1: llmTimeout: must be a time over 0 such as "30s" or "5m", or a number of milliseconds, is 0
    agent.ai:2:1: toolTimeout: must be a time over 0 such as "30s" or "5m", or a number of milliseconds, is "0s"
    agent.ai:2:1: timeout: must be a time over 0 such as "30s" or "5m", or a number of milliseconds, is -5
    agent.ai:2:1: cache: must be a time such as "10m", a number of milliseconds, or off, is true
    agent.ai:2:1: cache: must be a time such as "10m", a number of milliseconds, or off, is "never"
    agent.ai:2:1: batch: must be true or false, is "yes"
    agent.ai:2:1: output: must be a table such as {format: markdown}, is "markdown"
    agent.ai:2:10: output.format: must be `text`, `markdown` or `json`, is "xml"
    agent.ai:2:10: output.fromat: there is no such key; did you mean `format`?
    agent.ai:2:9: input.format: must be `text` or `json`, is "markdown"
    agent.ai:2:1: toolOutput: must be a table, true or false, is 5
    agent.ai:2:14: toolOutput.overlapPercent: must be a whole number from 0 to 50, is 51
    agent.ai:2:14: toolOutput.maxChunks: must be a whole number, at least 1, is 0
    agent.ai:2:28: toolOutput.profile: must be `handle` or `continuation`, is "preview"
    agent.ai:2:46: toolOutput.max_chunk: there is no such key; did you mean `maxChunks`?
    agent.ai:2:23: toolOutput.models[0]: Invalid provider/model pair 'x'. Expected format provider/model.
    agent.ai:2:1: name: must be a text, is a list
    "#);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let text = with(
        "maxTurns: ten\nmodles: x/y\ntoolOutput:\n  maxChunks: 0\n  overlapPercent: 99\nmodels:\n  - a/b\n  - c\n  - d\ntimeout: 5m",
    );
    insta::assert_snapshot!(told([text.as_str()]), @r#"
    agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is "ten"
    agent.ai:3:1: modles: there is no such key; did you mean `models`?
    agent.ai:5:3: toolOutput.maxChunks: must be a whole number, at least 1, is 0
    agent.ai:6:3: toolOutput.overlapPercent: must be a whole number from 0 to 50, is 99
    agent.ai:9:5: models[1]: Invalid provider/model pair 'c'. Expected format provider/model.
    agent.ai:10:5: models[2]: Invalid provider/model pair 'd'. Expected format provider/model.
    "#);
}

#[test]
fn a_file_of_another_kind_is_not_told_of_for_ever() {
    let keys: String = (0..10_000).map(|key| format!("k{key}: 1\n")).collect();
    assert_eq!(parse(&with(&keys)).unwrap_err().0.len(), 50);
    let wrong: String = (0..10_000).map(|_| "5, ".to_owned()).collect();
    let lists = with(&format!("tools: [{wrong}]\nmodels: [{wrong}]"));
    assert_eq!(parse(&lists).unwrap_err().0.len(), 50);
}

#[test]
fn a_text_of_a_stranger_stays_on_its_line_and_short() {
    let long = with(&format!("maxTurns: \"{}\"", "a\\e[2J\\n".repeat(40)));
    insta::assert_snapshot!(told([long.as_str()]), @r#"agent.ai:2:1: maxTurns: must be a whole number from 1 to 1000, is "a\u{1b}[2J\na\u{1b}[2J\na\u{1b}[2J\na\u{1b}[2J\na\u{1b}[2J\na\u{1b}[2J\na\u{1b}[2" …"#);
}

#[test]
fn everything_can_be_said_in_both_spellings() {
    let cameled = with(
        "name: a\nmodels: [x/y, z/a/b]\ntools: [fs, git/*]\nmaxTurns: 5\nmaxToolCallsPerTurn: 3\ntoolResponseMaxBytes: 0\ntoolOutput: {enabled: true, maxChunks: 2, storeDir: /tmp/x}\noutput: {format: json, schemaRef: s.json}\nllmTimeout: 30s\ntoolTimeout: 1500\ncache: 10m\ntaskStatus: false\nmaxRetries: 0",
    );
    let snaked = with(
        "name: a\nmodels: x/y, z/a/b\ntools: fs, git/*\nmax_turns: 5\nmax_tool_calls_per_turn: 3\ntool_response_max_bytes: 0\ntool_output: {enabled: true, max_chunks: 2, store_dir: /tmp/x}\noutput: {format: json, schema_ref: s.json}\nllm_timeout: 30000\ntool_timeout: 1s 500ms\ncache: 600s\ntask_status: false\nmax_retries: 0",
    );
    let (cameled, snaked) = (parse(&cameled).unwrap(), parse(&snaked).unwrap());
    assert_eq!(cameled.settings, snaked.settings);
    let said = serde_json::to_value(&cameled.settings).unwrap();
    let mut said = said.as_object().unwrap().clone();
    said.retain(|_, value| !value.is_null());
    said["toolOutput"]
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    insta::assert_snapshot!(serde_json::Value::Object(said), @r#"{"cache":"10m","llmTimeout":"30s","maxRetries":0,"maxToolCallsPerTurn":3,"maxTurns":5,"models":["x/y","z/a/b"],"name":"a","output":{"format":"json","schema":null,"schemaRef":"s.json"},"taskStatus":false,"toolOutput":{"enabled":true,"maxChunks":2,"storeDir":"/tmp/x"},"toolResponseMaxBytes":0,"toolTimeout":"1s 500ms","tools":["fs","git/*"]}"#);
}

#[test]
fn tool_output_can_be_switched_off_in_a_word() {
    for front in ["toolOutput: false", "tool_output: {enabled: false}"] {
        let tool_output = parse(&with(front)).unwrap().settings.tool_output.unwrap();
        assert_eq!(tool_output.enabled, Some(false), "{front}");
    }
}

#[test]
fn a_file_is_read_within_limits() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("large"), "x".repeat(MAX_FILE_BYTES + 1)).unwrap();
    std::fs::write(path("bytes"), b"ab\xff").unwrap();
    let names = ["large", "bytes", "none", "."];
    let told = names.map(|name| {
        let problems = PromptFile::read(&path(name)).unwrap_err().to_string();
        problems.replace(directory.path().to_str().unwrap(), "DIR")
    });
    insta::assert_snapshot!(told.join("\n"), @"
    DIR/large: it is larger than 1048576 bytes
    DIR/bytes: it is not UTF-8 text from byte 2 on
    DIR/none: it cannot be read: No such file or directory (os error 2)
    DIR/.: it is not a file
    ");
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_much(text in "(?s).{0,200}", yaml in "[-\\[\\]{}:,&*!|>'\"#a \\n]{0,60}") {
        for text in [&text, &yaml] {
            let path = Path::new("a");
            let front = format!("---\n{text}\n---\nDo it.");
            let _ = PromptFile::parse(&front, path);
            let _ = crate::ConfigFile::parse(text, path, &|_| None);
        }
    }
}
