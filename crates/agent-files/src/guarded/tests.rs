//! Tests of the `guardedTools` section, valid and invalid.

use std::path::Path;

use crate::ConfigFile;

fn lookup(name: &str) -> Option<String> {
    (name == "KEY").then(|| "s3cret-key".to_owned())
}

fn parse(entry: &str) -> Result<ConfigFile, crate::Problems> {
    let text = format!("{{\"guardedTools\": {{\n\"work\": {entry}}}}}");
    ConfigFile::parse(&text, Path::new("c.json"), &lookup)
}

#[test]
fn everything_can_be_said() {
    let file = parse(
        r#"{
            "root": "..", "tools": ["read_file", "web_search", "execute_shell", "web_fetch"],
            "maxTokens": 5000, "on_overflow": "reject", "detailedRecovery": true, "writable": ["out"],
            "shell": {"timeoutS": 5, "env": ["CARGO_*", "CI"], "sandbox": true, "network": false, "readable": ["/data"], "writable": ["out"]},
            "web": {"timeoutS": 9, "allowPrivate": "127.0.0.1:8080, box:80"},
            "search": {"provider": "brave", "apiKey": "${KEY}"}
        }"#,
    )
    .unwrap();
    let work = file.guarded("work").unwrap();
    insta::assert_snapshot!(format!("{work:?}"), @r#"GuardedTools { root: Some(".."), tools: Some([ReadFile, WebSearch, ExecuteShell, WebFetch]), max_tokens: Some(Whole(5000)), on_overflow: Some(Reject), detailed_recovery: Some(true), writable: Some(Directories(["out"])), shell: Some(GuardedShell { enabled: None, timeout_s: Some(Whole(5)), env: Some(Names(["CARGO_*", "CI"])), sandbox: Some(true), network: Some(false), readable: Some(["/data"]), writable: Some(["out"]) }), web: Some(GuardedWeb { enabled: None, timeout_s: Some(Whole(9)), allow_private: Some(Names(["127.0.0.1:8080", "box:80"])) }), search: Some(GuardedSearch { provider: Brave, url: None, api_key_env: Some("KEY") }) }"#);
    let entry = file.entries("guardedTools").next().unwrap();
    insta::assert_snapshot!(entry.shown(), @r#"{"detailedRecovery":true,"maxTokens":5000,"on_overflow":"reject","root":"..","search":{"apiKeyEnv":"${KEY}","provider":"brave"},"shell":{"env":["CARGO_*","CI"],"network":false,"readable":["/data"],"sandbox":true,"timeoutS":5,"writable":["out"]},"tools":["read_file","web_search","execute_shell","web_fetch"],"web":{"allowPrivate":"127.0.0.1:8080, box:80","timeoutS":9},"writable":["out"]}"#);
    let shown = format!("{work:?} {}", entry.shown());
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn what_is_there_follows() {
    for (entry, shell, web) in [
        ("{}", true, true),
        (r#"{"shell": false, "web": true}"#, false, true),
        (r#"{"shell": true, "web": false}"#, true, false),
        (r#"{"shell": {}, "web": {"enabled": false}}"#, true, false),
        (r#"{"tools": ["web_fetch"]}"#, false, true),
        (r#"{"tools": ["glob_files"]}"#, false, false),
    ] {
        let file = parse(entry).unwrap();
        let work = file.guarded("work").unwrap();
        assert_eq!((work.has_shell(), work.has_web()), (shell, web), "{entry}");
    }
}

const WRONG: [&str; 21] = [
    "5",
    r#"{"rot": "."}"#,
    r#"{"tools": ["read_file", "shell"], "maxTokens": 0}"#,
    r#"{"tools": []}"#,
    r#"{"onOverflow": "cut", "writable": "out"}"#,
    r#"{"shell": "no", "web": 5}"#,
    r#"{"shell": {"timeoutS": 601, "env": 5, "passEnv": ["A"]}}"#,
    r#"{"web": {"timeoutS": 0, "allowPrivate": true}}"#,
    "{\"shell\": false, \"web\": false,\n\"tools\": [\"execute_shell\", \"web_fetch\",\n\"web_search\"]}",
    r#"{"web": {"allowPrivate": ["127.0.0.1:80", "localhost"]}}"#,
    r#"{"web": {"allowPrivate": "http://box:80"}}"#,
    r#"{"web": {"allowPrivate": "box:0"}}"#,
    r#"{"search": {"provider": "google"}}"#,
    r#"{"search": {"url": "https://s3cret.example.com"}}"#,
    r#"{"search": {"provider": "searxng"}}"#,
    r#"{"search": {"provider": "tavily"}}"#,
    r#"{"search": {"provider": "brave", "apiKey": "tvly-literal"}}"#,
    r#"{"search": {"provider": "brave", "api_key": "x${KEY}"}}"#,
    r#"{"search": {"provider": "brave", "apiKey": 5}}"#,
    r#"{"search": {"provider": "brave", "apiKeyEnv": "tvly-literal"}}"#,
    r#"{"search": {"provider": "brave", "apiKey": "${KEY}", "api_key_env": "KEY"}}"#,
];

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let told = WRONG
        .map(|entry| match parse(entry) {
            Ok(_) => panic!("this is taken: {entry}"),
            Err(problems) => problems.to_string(),
        })
        .join("\n");
    insta::assert_snapshot!(told, @r#"
    c.json:2:1: guardedTools.work: must be a table, is 5
    c.json:2:10: guardedTools.work.rot: there is no such key; did you mean `root`?
    c.json:2:33: guardedTools.work.tools[1]: must be `read_file`, `grep_content`, `glob_files`, `execute_shell`, `web_fetch` or `web_search`, is "shell"
    c.json:2:43: guardedTools.work.maxTokens: must be a whole number, at least 100, is 0
    c.json:2:10: guardedTools.work.tools: names no tool; name a tool, or remove the key to get all tools that can work
    c.json:2:10: guardedTools.work.onOverflow: must be `offload` or `reject`, is "cut"
    c.json:2:31: guardedTools.work.writable: must be true, false or a list of directories, is "out"
    c.json:2:10: guardedTools.work.shell: must be a table, true or false, is "no"
    c.json:2:25: guardedTools.work.web: must be a table, true or false, is 5
    c.json:2:20: guardedTools.work.shell.timeoutS: must be a whole number from 1 to 600, is 601
    c.json:2:37: guardedTools.work.shell.env: must be a list, or a text with commas; its value may be a secret and is not shown
    c.json:2:47: guardedTools.work.shell.passEnv: there is no such key; there are enabled, env, network, readable, sandbox, timeoutS, writable
    c.json:2:18: guardedTools.work.web.timeoutS: must be a whole number from 1 to 120, is 0
    c.json:2:33: guardedTools.work.web.allowPrivate: must be a list, or a text with commas, is true
    c.json:3:11: guardedTools.work.tools[0]: is listed, but disabled; remove it, or `shell: false`
    c.json:3:28: guardedTools.work.tools[1]: is listed, but disabled; remove it, or `web: false`
    c.json:4:1: guardedTools.work.tools[2]: is listed, but disabled; set `search`
    c.json:2:18: guardedTools.work.web.allowPrivate: must contain only HOST:PORT; write for example "127.0.0.1:8080"
    c.json:2:18: guardedTools.work.web.allowPrivate: must contain only HOST:PORT; write for example "127.0.0.1:8080"
    c.json:2:18: guardedTools.work.web.allowPrivate: must contain only HOST:PORT; write for example "127.0.0.1:8080"
    c.json:2:21: guardedTools.work.search.provider: must be `searxng`, `brave` or `tavily`, is "google"
    c.json:2:10: guardedTools.work.search: `provider` is missing
    c.json:2:10: guardedTools.work.search: needs `url`: it is a server of your own; write "url": "https://…"
    c.json:2:10: guardedTools.work.search: needs `apiKey`; write "apiKey": "${NAME}"
    c.json:2:42: guardedTools.work.search.apiKeyEnv: is not the name of a variable; an API key must not be written into this file; put the key into a variable and write "apiKey": "${NAME}"
    c.json:2:42: guardedTools.work.search.apiKeyEnv: is not the name of a variable; an API key must not be written into this file; put the key into a variable and write "apiKey": "${NAME}"
    c.json:2:42: guardedTools.work.search.apiKeyEnv: must be a text; its value may be a secret and is not shown
    c.json:2:42: guardedTools.work.search.apiKeyEnv: is not the name of a variable; an API key must not be written into this file; put the key into a variable and write "apiKey": "${NAME}"
    c.json:2:62: guardedTools.work.search.api_key_env: is set as `apiKeyEnv` on line 2, too; keep one of them
    "#);
    assert!(
        !told.contains("literal") && !told.contains("s3cret"),
        "{told}"
    );
}

#[test]
fn tools_have_the_names_that_they_are_written_by() {
    for tool in super::GuardedTool::ALL {
        assert_eq!(serde_json::to_value(tool).unwrap(), tool.name());
    }
}
