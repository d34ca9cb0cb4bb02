//! Tests of reading configurations, valid and invalid.

use super::*;

fn lookup(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret-value".to_owned()),
        "HOME" => Some("/home/me".to_owned()),
        "TEN" => Some("10".to_owned()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<ConfigFile, Problems> {
    ConfigFile::parse(text, Path::new(".ai-agent.json"), &lookup)
}

fn told<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let told = texts.into_iter().map(|text| match parse(text) {
        Ok(_) => panic!("this is taken: {text:.200}"),
        Err(problems) => problems.to_string(),
    });
    told.collect::<Vec<_>>().join("\n")
}

const WRONG: [&str; 27] = [
    "[1]",
    "{\"defaults\": {\n  \"maxTurns\": \"ten\"}}",
    "{\"defaults\": {\n  \"maxTurns\": \"${TEN}\"}}",
    "{\"defaults\": {\"models\": \"${TOKEN}\", \"toolOutput\": 7}}",
    "{\"default\": {}}",
    "{\"mcpServer\": {}}",
    "{\"defaults\": [],\n \"cache\": 5, \"toolOutput\": \"on\"}",
    "{\"providers\": {\"openai\": {\"apiKey\": \"sk-literal\"}}}",
    "{\"providers\": {\"openai\": {\"apiKey\": \"Bearer ${TOKEN}\"}}}",
    "{\"providers\": {\"openai\": {\"apiKey\": 5}}}",
    "{\"providers\": {\"openai\": {\"apiKey\": \"${TOKEN}\", \"key_env\": \"X\"}}}",
    "{\"providers\": {\"openai\": {\"baseURL\": \"http://x\"}}}",
    "{\"providers\": {\"openai\": {\"type\": \"google\"}}}",
    "{\"providers\": {\"openai\": {\"headers\": \"Authorization: x\"}}}",
    "{\"providers\": {\"openai\": {\"timeoutS\": \"5\"}}}",
    "{\"providers\": []}",
    "{\"models\": {\"gpt\": {}, \"a/b\": {\"prices\": {\"input\": 1}}}}",
    "{\"models\": {\"a/b\": {\"window\": -1, \"maxOutput\": 2.5}}}",
    "{\"mcpServers\": {\n \"a\": {},\n \"b\": {\"command\": \"x\", \"url\": \"y\"}}}",
    "{\"mcpServers\": {\"a\": {\"type\": \"stdio\", \"url\": \"y\"}, \"b\": {\"type\": \"sse\", \"command\": \"y\"}}}",
    "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n \"args\": \"y\"}}}",
    "{\"mcpServers\": {\"a\": {\"command\": [\"x\"], \"env\": {\"A\": 5}}}}",
    "{\"restTools\": {\"a\": \"GET /\"}}",
    "{\"openapiSpecs\": [\"x\"]}",
    "{\"cache\": {\"ttl\": \"never\", \"maxBytes\": \"much\", \"tools\": {\"[\": \"1m\", \"x\": true}}}",
    "{\"cache\": {\"ttl\": \"1m\"}, \"cache\": {}}",
    "{\"toolOutput\": {\"maxChunks\": 0}}",
];

#[test]
fn what_is_wrong_is_told_with_its_place() {
    insta::assert_snapshot!(told(WRONG), @r#"
    .ai-agent.json:1:1: it must be a table of keys and values
    .ai-agent.json:2:3: defaults.maxTurns: must be a whole number from 1 to 1000, is "ten"
    .ai-agent.json:2:3: defaults.maxTurns: must be a whole number from 1 to 1000; its value may be a secret and is not shown
    .ai-agent.json:1:15: defaults.models: is not what it must be; its value may be a secret and is not shown
    .ai-agent.json:1:37: defaults.toolOutput: must be a table, true or false, is 7
    .ai-agent.json:1:2: default: there is no such key; did you mean `defaults`?
    .ai-agent.json:1:2: mcpServer: there is no such key; did you mean `mcpServers`?
    .ai-agent.json:2:2: cache: must be a table, is 5
    .ai-agent.json:2:14: toolOutput: must be a table, true or false, is "on"
    .ai-agent.json:1:27: providers.openai.apiKey: an API key must not be written into this file; put it into a variable and write "${NAME}", or into a file that only you can read and write keyFile
    .ai-agent.json:1:27: providers.openai.apiKey: an API key must not be written into this file; put it into a variable and write "${NAME}", or into a file that only you can read and write keyFile
    .ai-agent.json:1:27: providers.openai.apiKey: an API key must not be written into this file; put it into a variable and write "${NAME}", or into a file that only you can read and write keyFile
    .ai-agent.json:1:49: providers.openai.key_env: is set as `keyEnv` on line 1, too; keep one of them
    .ai-agent.json:1:27: providers.openai.baseURL: there is no such key; did you mean `baseUrl`?
    .ai-agent.json:1:27: providers.openai.type: must be `openai`, `openai-compatible` or `anthropic`, is "google"
    .ai-agent.json:1:27: providers.openai.headers: must be a table; its value may be a secret and is not shown
    .ai-agent.json:1:27: providers.openai.timeoutS: must be a whole number, is "5"
    .ai-agent.json:1:2: providers: must be a table, is a list
    .ai-agent.json:1:32: models.a/b.prices: `output` is missing
    .ai-agent.json:1:21: models.a/b.window: must be a whole number, is -1
    .ai-agent.json:1:35: models.a/b.maxOutput: must be a whole number, is 2.5
    .ai-agent.json:2:2: mcpServers.a: has neither `command` nor `url`
    .ai-agent.json:3:24: mcpServers.b.url: cannot be combined with `command`, because a server is reached in one way
    .ai-agent.json:1:23: mcpServers.a.type: is `stdio`, but there is no `command`
    .ai-agent.json:1:59: mcpServers.b.type: is only for servers with a `url`
    .ai-agent.json:2:2: mcpServers.a.args: must be a list, is "y"
    .ai-agent.json:1:23: mcpServers.a.command: must be a text, is a list
    .ai-agent.json:1:49: mcpServers.a.env.A: must be a text; its value may be a secret and is not shown
    .ai-agent.json:1:16: restTools.a: must be a table, is "GET /"
    .ai-agent.json:1:2: openapiSpecs: must be a table, is a list
    .ai-agent.json:1:12: cache.ttl: must be a time such as "10m", a number of milliseconds, or off, is "never"
    .ai-agent.json:1:28: cache.maxBytes: must be a number of bytes such as "10 MiB" or 1000000, is "much"
    .ai-agent.json:1:69: cache.tools.x: must be a time such as "10m", a number of milliseconds, or off, is true
    .ai-agent.json:1:26: the key "cache" is also on line 1
    .ai-agent.json:1:17: toolOutput.maxChunks: must be a whole number, at least 1, is 0
    "#);
}

#[test]
fn no_value_that_may_be_a_secret_is_told() {
    let told = told(WRONG);
    for secret in ["s3cret", "sk-literal", "Authorization", "Bearer"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}

#[test]
fn a_file_of_comments_is_a_configuration() {
    let file = parse("// nothing yet\n{}").unwrap();
    assert_eq!(file.entries("mcpServers").count(), 0);
}

const ALL: &str = r#"{
    "$schema": "./ai-agent.schema.json",
    // Keys are in variables.
    "providers": {
        "openai": {"apiKey": "${OPENAI_API_KEY}", "type": "openai-compatible", "baseUrl": "https://example.com/v1"},
        "box": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "headers": {"X-Token": "${TOKEN}"}},
    },
    "models": {"box/small": {"window": 8192, "maxOutput": 1024, "prices": {"input": 1, "output": 2.5}}},
    "mcpServers": {
        "fs": {"command": "mcp-fs", "args": ["${HOME}/docs"], "env": {"A_TOKEN": "${TOKEN}"}, "theirs": {"x": 1}},
        "web": {"type": "streamable-http", "httpUrl": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "toolsDenied": ["rm_*"]},
        "later": {"command": "x", "env": {"B": "${NOT_SET}"}},
    },
    "restTools": {"time": {"url": "https://example.com/${zone}", "parametersSchema": {"properties": {"zone": {}}}}},
    "openapiSpecs": {"pets": {"spec": "./pets.yaml"}},
    "defaults": {"models": "openai/gpt-4o", "max_turns": 5, "toolOutput": false},
    "toolOutput": {"maxChunks": 3},
    "cache": {"ttl": "10m", "maxBytes": "1 MiB", "dir": "cache", "tools": {"fs/*": "off"}},
}"#;

#[test]
fn everything_can_be_said() {
    let file = parse(ALL).unwrap();
    let openai = &file.given.providers["openai"];
    assert_eq!(openai.key_env.as_deref(), Some("OPENAI_API_KEY"));
    let web = file.server("web").unwrap();
    assert_eq!(web.url.as_deref(), Some("https://example.com/mcp"));
    assert_eq!(web.headers["Authorization"], "Bearer s3cret-value");
    assert_eq!(
        (web.kind, &*web.deny),
        (Some(crate::McpKind::Http), &["rm_*".to_owned()][..])
    );
    let fs = file.server("fs").unwrap();
    assert_eq!(fs.args, ["/home/me/docs"]);
    assert_eq!(file.given.defaults.max_turns.unwrap().get(), 5);
    let time = file.entries("restTools").next().unwrap();
    assert_eq!(time.value()["url"], "https://example.com/${zone}");
    let unset: Vec<String> = file
        .unset
        .iter()
        .map(|one| file.unset(one).to_string())
        .collect();
    insta::assert_snapshot!(unset.join("\n"), @".ai-agent.json:12:43: mcpServers.later.env.B: the variable NOT_SET is not set; set it, or write a default: ${NOT_SET:-…}");
}

#[test]
fn nothing_shows_what_a_variable_stands_for() {
    let file = parse(ALL).unwrap();
    let entries: Vec<_> = ["mcpServers", "restTools", "openapiSpecs"]
        .into_iter()
        .flat_map(|section| file.entries(section))
        .collect();
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| entry.shown().to_string())
        .collect();
    let all = format!("{file:?} {entries:?} {:?} {shown:?}", file.server("web"));
    assert!(
        !all.contains("s3cret") && !all.contains("/home/me"),
        "{all}"
    );
    insta::assert_snapshot!(format!("{file:?}\n{}", shown.join("\n")), @r#"
    ConfigFile { path: ".ai-agent.json", sections: ["$schema", "providers", "models", "mcpServers", "restTools", "openapiSpecs", "defaults", "toolOutput", "cache"], .. }
    {"args":["${HOME}/docs"],"command":"mcp-fs","env":{"A_TOKEN":"${TOKEN}"},"theirs":{"x":1}}
    {"headers":{"Authorization":"[hidden]"},"httpUrl":"https://example.com/mcp","toolsDenied":["rm_*"],"type":"streamable-http"}
    {"command":"x","env":{"B":"${NOT_SET}"}}
    {"parametersSchema":{"properties":{"zone":{}}},"url":"https://example.com/${zone}"}
    {"spec":"./pets.yaml"}
    "#);
}

#[test]
fn an_entry_is_read_as_any_type_and_its_errors_have_places() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code)]
    struct Rest {
        url: String,
        timeout_s: u64,
        parameters_schema: serde_json::Value,
    }
    let text = r#"{"restTools": {
        "good": {"url": "x", "timeout_s": 5, "parametersSchema": {"a": 1}},
        "bad": {"url": "${TOKEN}",
                "timeoutS": "5", "parametersSchema": {}, "methd": "GET"},
        "less": {"url": "x", "timeoutS": 5}
    }}"#;
    let file = parse(text).unwrap();
    let told = file
        .entries("restTools")
        .map(|entry| match entry.read::<Rest>() {
            Ok(rest) => format!("{} is read: {} s", entry.name(), rest.timeout_s),
            Err(problems) => problems.to_string(),
        });
    let mut told: Vec<String> = told.collect();
    let bad = file.entries("restTools").nth(1).unwrap();
    told.push(bad.wrong(&["timeoutS"], "is too long").to_string());
    told.push(bad.wrong(&["nowhere"], "is missed").to_string());
    insta::assert_snapshot!(told.join("\n"), @r#"
    good is read: 5 s
    .ai-agent.json:4:17: restTools.bad.timeoutS: must be a whole number, is "5"
    .ai-agent.json:4:58: restTools.bad.methd: there is no such key; there are parametersSchema, timeoutS, url
    .ai-agent.json:5:17: restTools.less: `parametersSchema` is missing
    .ai-agent.json:4:17: restTools.bad.timeoutS: is too long
    .ai-agent.json:3:9: restTools.bad.nowhere: is missed
    "#);
}

#[test]
fn files_that_are_not_there_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("a"), "{\"defaults\": {}}").unwrap();
    std::fs::write(path("b"), "{\"x\": 1}").unwrap();
    std::fs::write(path("c"), "{").unwrap();
    let read = |names: &[&str]| {
        let paths: Vec<PathBuf> = names.iter().map(|name| path(name)).collect();
        ConfigFile::read_all(&paths, &lookup)
    };
    let files = read(&["none", "a"]).unwrap();
    assert_eq!(files.len(), 1);
    let told = read(&["b", "none", "a", "c"]).unwrap_err().to_string();
    insta::assert_snapshot!(told.replace(directory.path().to_str().unwrap(), "DIR"), @"
    DIR/b:1:2: x: there is no such key; there are $schema, cache, defaults, guardedTools, mcpServers, models, openapiSpecs, providers, restTools, toolOutput
    DIR/c:1:1: this is not JSON: Unterminated object
    ");
}
