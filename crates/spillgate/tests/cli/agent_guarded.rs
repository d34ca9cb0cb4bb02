//! Tests that a model that follows the advice in each refusal reaches its goal.
//!
//! The scripted model builds its next call from the text of the error that it got. If an error
//! lacks the advice, the script cannot go on and the run has no report.

use std::fs;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use regex::Regex;
use serde_json::{Value, json};
use spillgate_testkit::log;

use super::agent::conversation;
use super::agent_lab::{Lab, Step};
use super::tool::feed;

/// The prompt file. Its cap in bytes equals the tools' own limit of 25,000 tokens, so that no
/// smaller result is stored.
pub(crate) const PROMPT: &str = "---\nmodels: mock/reader\ntools: work\nmaxTurns: 40\n\
    toolResponseMaxBytes: 100000\n---\nYou find things out.\n";

/// A tool's name and its arguments.
pub(crate) type Call = (&'static str, Value);

/// Returns the part of a text that the first group of `pattern` matches.
pub(crate) fn told(text: &str, pattern: &str) -> Option<String> {
    let found = Regex::new(pattern).unwrap().captures(text)?;
    Some(found[1].to_owned())
}

pub(crate) fn number(text: &str, pattern: &str) -> Option<u64> {
    told(text, pattern)?.parse().ok()
}

/// Returns the given call if the text contains these words.
pub(crate) fn where_told(
    text: &str,
    words: &str,
    name: &'static str,
    arguments: Value,
) -> Option<Call> {
    text.contains(words).then_some((name, arguments))
}

/// Creates a lab with an entry of guarded tools. Unless the entry names a root, it is the directory
/// `root`, which contains some files.
pub(crate) fn lab(mut entry: Value, steps: Vec<Step>) -> Lab {
    let lab = Lab::new(steps);
    let mut config = lab.config("");
    if entry["root"].is_null() {
        entry["root"] = json!("root");
    }
    config["guardedTools"] = json!({ "work": entry });
    let config = config.to_string().replace("BASE", &lab.script.host());
    lab.write(".ai-agent.json", &config);
    lab.write("agent.ai", PROMPT);
    lab.write("secret", "s3cret\n");
    for directory in ["root", "root/deep", "root/many"] {
        fs::create_dir(lab.path(directory)).unwrap();
    }
    lab.write("root/large.log", &log(5000));
    aged(&lab, "root/README.md", "Read me.\n");
    aged(&lab, "root/deep/notes.md", "A note.\n");
    fs::write(lab.path("root/logo.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    lab
}

/// Writes a file with a fixed modification time, because files of the same age are listed by name.
fn aged(lab: &Lab, name: &str, text: &str) {
    lab.write(name, text);
    let file = fs::File::options().append(true).open(lab.path(name));
    let age = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    file.unwrap().set_modified(age).unwrap();
}

/// Runs the agent and returns the whole conversation; there must be a report.
pub(crate) fn talked(lab: &Lab) -> String {
    let output = lab.run(&["agent.ai", "find it"]);
    let asked = lab.script.asked();
    let said = conversation(lab, asked.last().unwrap());
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}\n{err}");
    assert!(!said.contains("I am lost"), "{said}");
    assert!(lab.left().is_empty());
    said
}

fn read(arguments: Value) -> Call {
    ("read_file", arguments)
}

#[test]
fn a_file_is_read_page_by_page() {
    let steps = vec![
        Step::Calls(vec![("read_file", json!({"file_path": "large.log"}))]),
        Step::Follows(|text| {
            let page = json!({"file_path": "large.log", "offset": 0, "limit": 3000});
            where_told(text, "use offset and limit parameters", "read_file", page)
        }),
        Step::Follows(|text| {
            let tokens = number(text, r"\(~(\d+) tokens\)")?;
            let most = number(text, r"maximum allowed tokens \((\d+)\)")?;
            let limit = 3000 * most / tokens / 2;
            Some(read(json!({"file_path": "large.log", "limit": limit})))
        }),
        Step::Follows(|text| {
            let lines = number(text, r"^\[Lines 1-\d+ of (\d+)\]")?;
            Some(read(json!({"file_path": "large.log", "offset": lines})))
        }),
        Step::Follows(|text| {
            let last = number(text, r"Use an offset from 0 to (\d+)")?;
            Some(read(json!({"file_path": "large.log", "offset": last})))
        }),
        Step::Reports("read"),
    ];
    let lab = lab(json!({}), steps);
    assert_snapshot!(talked(&lab), @r#"
    user: find it
    assistant: read_file {"file_path":"large.log"}
    tool: Error: File content (~79129 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.
    assistant: read_file {"file_path":"large.log","limit":3000,"offset":0}
    tool: Error: File content (~47478 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.
    assistant: read_file {"file_path":"large.log","limit":789}
    tool: 790 lines: [Lines 1-789 of 5000]
    assistant: read_file {"file_path":"large.log","offset":5000}
    tool: Error: Offset 5000 is past the end of 'large.log', which has 5000 lines. Use an offset from 0 to 4999.
    assistant: read_file {"file_path":"large.log","offset":4999}
    tool: [Lines 5000-5000 of 5000]
    2026-11-21T10:23:19Z INFO worker-1 processed batch id=85896 ok
    "#);
}

#[test]
fn a_file_is_found() {
    let steps = vec![
        Step::Calls(vec![("read_file", json!({"file_path": "READM.md"}))]),
        Step::Follows(|text| {
            Some(read(
                json!({"file_path": told(text, "Did you mean '([^']+)'")?}),
            ))
        }),
        Step::Follows(|text| {
            where_told(
                text,
                "Read me.",
                "read_file",
                json!({"file_path": "notes.md"}),
            )
        }),
        Step::Follows(|text| {
            let pattern = json!({"pattern": told(text, "'([^']+)' not found")?});
            where_told(text, "Use glob_files to find it", "glob_files", pattern)
        }),
        Step::Follows(|text| Some(read(json!({"file_path": told(text, r"(?m)^(\S+)$")?})))),
        Step::Follows(|text| {
            where_told(
                text,
                "A note.",
                "read_file",
                json!({"file_path": "../secret"}),
            )
        }),
        Step::Follows(|text| {
            let inside = json!({"pattern": "*.md"});
            where_told(text, "Give a path from the root", "glob_files", inside)
        }),
        Step::Reports("found"),
    ];
    let lab = lab(json!({}), steps);
    let said = talked(&lab);
    assert!(!said.contains("s3cret"), "{said}");
    assert_snapshot!(said, @r#"
    user: find it
    assistant: read_file {"file_path":"READM.md"}
    tool: Error: File 'READM.md' not found. Did you mean 'README.md'?
    assistant: read_file {"file_path":"README.md"}
    tool: Read me.

    assistant: read_file {"file_path":"notes.md"}
    tool: Error: File 'notes.md' not found. Use glob_files to find it.
    assistant: glob_files {"pattern":"notes.md"}
    tool: deep/notes.md

    assistant: read_file {"file_path":"deep/notes.md"}
    tool: A note.

    assistant: read_file {"file_path":"../secret"}
    tool: Error: '../secret' leads out of the root. Give a path from the root to something inside it.
    assistant: glob_files {"pattern":"*.md"}
    tool: README.md
    deep/notes.md
    "#);
}

fn searching() -> Vec<Step> {
    vec![
        Step::Calls(vec![(
            "grep_content",
            json!({"pattern": ".", "path": "large.log"}),
        )]),
        Step::Follows(|text| {
            let fewer = json!({"pattern": ".", "path": "large.log", "max_results": 3});
            where_told(
                text,
                "limit results with max_results",
                "grep_content",
                fewer,
            )
        }),
        Step::Follows(|text| {
            number(text, r"^\[Results 1-3 of (\d+)\]")?;
            Some(("grep_content", json!({"pattern": "read("})))
        }),
        Step::Follows(|text| {
            let escaped = regex::escape(&told(text, "Pattern '([^']+)'")?);
            let as_it_is = json!({"pattern": escaped});
            where_told(text, "Please escape", "grep_content", as_it_is)
        }),
        Step::Follows(|text| {
            let all = json!({"pattern": "many/*.txt"});
            where_told(text, "No matches found", "glob_files", all)
        }),
        Step::Follows(|text| {
            let some = json!({"pattern": "many/*.txt", "max_results": 3});
            where_told(text, "max_results", "glob_files", some)
        }),
        Step::Follows(|text| {
            let narrower = json!({"pattern": "many/1*00.txt"});
            number(text, r"^\[Files 1-3 of (\d+)\]")?;
            Some(("glob_files", narrower))
        }),
        Step::Reports("searched"),
    ]
}

#[test]
fn a_search_is_made_smaller() {
    let lab = lab(json!({}), searching());
    for n in 0..1200 {
        aged(&lab, &format!("root/many/{n}.txt"), "");
    }
    assert_snapshot!(talked(&lab), @r#"
    user: find it
    assistant: grep_content {"path":"large.log","pattern":"."}
    tool: Error: Search returned ~97611 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.
    assistant: grep_content {"max_results":3,"path":"large.log","pattern":"."}
    tool: [Results 1-3 of 5000]
    Found 5000 matching lines in 1 file
    large.log:1:2026-11-21T10:00:00Z INFO worker-0 processed batch id=0 ok
    large.log:2:2026-11-21T10:00:01Z INFO worker-1 processed batch id=7919 ok
    large.log:3:2026-11-21T10:00:02Z INFO worker-2 processed batch id=15838 ok

    assistant: grep_content {"pattern":"read("}
    tool: Error: Pattern 'read(' cannot be read: unclosed group. Please escape special characters to search for them as they are, as in 'f\('.
    assistant: grep_content {"pattern":"read\\("}
    tool: No matches found. 1204 files were searched. Passed by: 1 binary.
    assistant: glob_files {"pattern":"many/*.txt"}
    tool: Error: File list (1200 files) exceeds maximum allowed files (1000). Please use a more specific pattern or limit results with max_results parameter.
    assistant: glob_files {"max_results":3,"pattern":"many/*.txt"}
    tool: [Files 1-3 of 1200]
    many/0.txt
    many/1.txt
    many/10.txt

    assistant: glob_files {"pattern":"many/1*00.txt"}
    tool: many/100.txt
    many/1000.txt
    many/1100.txt
    "#);
}

#[test]
fn a_dry_run_shows_them_and_no_secret() {
    let search = json!({"provider": "tavily", "apiKey": "${TAVILY_KEY}"});
    let entry = json!({"tools": ["read_file", "web_search"], "maxTokens": 5000, "search": search});
    let lab = lab(entry, Vec::new());
    lab.write("agent.ai", &PROMPT.replace("work", "[work/web_*, guarded]"));
    let mut command = lab.command(&["agent.ai", "find it", "--dry-run"]);
    command.env("TAVILY_KEY", "tvly-s3cret");
    let output = feed(command, b"");
    let shown = lab.steady(&String::from_utf8(output.stdout).unwrap());
    assert!(!shown.contains("s3cret"), "{shown}");
    let (_, shown) = shown.split_once("tools from:\n").unwrap();
    assert_snapshot!(shown, @r#"
      work (guarded tools, .ai-agent.json:1, of it web_*)
        {"maxTokens":5000,"root":"root","search":{"apiKeyEnv":"${TAVILY_KEY}","provider":"tavily"},"tools":["read_file","web_search"]}
      guarded (guarded tools, agent.ai:3)
        {}

    task: find it
    "#);
}

#[test]
fn what_is_wrong_is_told_before_anything_starts() {
    let said = |entry: Value, front: &str| {
        let lab = lab(entry, Vec::new());
        lab.write("agent.ai", &PROMPT.replace("tools: work", front));
        let said = lab.said(&["agent.ai", "find it"], "");
        assert!(lab.script.asked().is_empty());
        said.lines().skip(2).collect::<Vec<_>>().join("\n")
    };
    let all = [
        said(json!({"root": "nowhere"}), "tools: work"),
        said(json!({"root": "agent.ai"}), "tools: work"),
        said(
            json!({"onOverflow": "offload"}),
            "tools: work\ntoolOutput: false",
        ),
        said(
            json!({"tools": ["execute_shell"], "shell": false}),
            "tools: work",
        ),
        said(
            json!({"search": {"provider": "brave", "apiKey": "${NOT_SET}"}}),
            "tools: work",
        ),
        said(
            json!({"search": {"provider": "searxng", "url": "no address"}}),
            "tools: work",
        ),
        said(json!({"web": {"allowPrivate": ["a b"]}}), "tools: work"),
        said(json!({}), "tools: wrok"),
        said(json!({}), "tools: work/execute"),
    ];
    assert_snapshot!(all.join("\n"), @r#"
    error: .ai-agent.json:1:26: guardedTools.work.root: is no directory that can be opened: No such file or directory
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: .ai-agent.json:1:26: guardedTools.work.root: is no directory that can be opened: Not a directory
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: .ai-agent.json:1:26: guardedTools.work.onOverflow: is `offload`, but `toolOutput` is off and nothing is stored; set it to "reject", or remove the key
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: .ai-agent.json:1:63: guardedTools.work.tools[0]: is listed, but disabled; remove it, or `shell: false`
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: .ai-agent.json:1:50: guardedTools.work.search.apiKeyEnv: the variable NOT_SET of the environment is not set; set it to the key
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: .ai-agent.json:1:50: guardedTools.work.search.provider: the `url` of SearXNG is wrong: relative URL without a base; docs/guarded-tools.md says what each service needs
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: .ai-agent.json:1:47: guardedTools.work.web.allowPrivate: must contain only HOST:PORT; write for example "127.0.0.1:8080"
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: agent.ai:3:1: tools[0]: there is no tool source "wrok"; did you mean `work`?
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    error: `tools` names tools that do not exist: work/execute
    hint: work has read_file, grep_content, glob_files, execute_shell, web_fetch
    "#);
}
