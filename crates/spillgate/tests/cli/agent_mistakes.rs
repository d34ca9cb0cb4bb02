//! Tests of the errors of an agent that is set up wrongly. They are reported before anything
//! starts.

use insta::assert_snapshot;
use serde_json::json;

use super::agent_lab::{Lab, PROMPT};
use super::tool::feed;

#[test]
fn tasks() {
    let lab = Lab::new(Vec::new());
    let schema = "input: {format: json, schema: {type: object, required: [n]}}\ntools:";
    lab.write("json.ai", &PROMPT.replace("tools:", schema));
    let cases: [(&[&str], &str); 7] = [
        (&["json.ai", "words"], ""),
        (&["json.ai", "{\"m\": 1}"], ""),
        (&["agent.ai"], ""),
        (&["agent.ai", ""], ""),
        (&["agent.ai", "a", "b"], ""),
        (&["agent.ai", "a", "-"], "b"),
        (&["agent.ai", "a"], "b"),
    ];
    let said = cases.map(|(args, stdin)| lab.said(args, stdin));
    assert_snapshot!(said.join("\n"), @r#"
    $ agent json.ai words
    --- 2
    error: the task does not match the agent's input: it is no JSON: expected value at line 1 column 1
    hint: `input` in the prompt file defines the form of a task

    $ agent json.ai {"m": 1}
    --- 2
    error: the task does not match the agent's input: "n" is a required property at ''
    hint: `input` in the prompt file defines the form of a task

    $ agent agent.ai
    --- 2
    error: the task is empty
    hint: say in words what is to be done, as an argument or on standard input

    $ agent agent.ai 
    --- 2
    error: the task is empty
    hint: say in words what is to be done, as an argument or on standard input

    $ agent agent.ai a b
    --- 2
    error: the task is given in 2 arguments
    hint: put it in quotes: spillgate agent FILE "the whole task"

    $ agent agent.ai a -
    --- 2
    error: the task is given twice: as an argument and, by `-`, on standard input
    hint: leave one of them out

    $ agent agent.ai a
    --- 2
    error: the task is given twice: as an argument and on standard input
    hint: give only one of them: piped input can be the whole task, and `< /dev/null` prevents piped input
    "#);
    nothing_was_started(&lab);
}

#[test]
fn arguments() {
    let lab = Lab::new(Vec::new());
    let cases: [&[&str]; 8] = [
        &[],
        &["nothing.ai", "a"],
        &["agent.ai", "a", "--max-turns", "0"],
        &["agent.ai", "a", "--trace", "."],
        &["agent.ai", "a", "--quiet", "--verbose"],
        &["agent.ai", "a", "--agent-config", "no.json"],
        &["agent.ai", "a", "--model", "mock"],
        &["--json", "view"],
    ];
    let said = cases.map(|args| lab.said(args, ""));
    assert_snapshot!(said.join("\n"), @r#"
    $ agent 
    --- 2
    error: the following required arguments were not provided:
      <FILE>

    Usage: spillgate agent <FILE> [TASK]...
    hint: `spillgate help agent` shows how it is used

    $ agent nothing.ai a
    --- 1
    error: nothing.ai: it cannot be read: No such file or directory
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force

    $ agent agent.ai a --max-turns 0
    --- 2
    error: invalid value '0' for '--max-turns <N>': must be a whole number from 1 to 1000, is 0
    hint: `spillgate help agent` shows how it is used

    $ agent agent.ai a --trace .
    --- 1
    error: the trace could not be written to /HOME: it is a directory
    hint: name another file with --trace FILE

    $ agent agent.ai a --quiet --verbose
    --- 2
    error: the argument '--quiet' cannot be used with '--verbose'

    Usage: spillgate agent --quiet <FILE> <TASK>...
    hint: `spillgate help agent` shows how it is used

    $ agent agent.ai a --agent-config no.json
    --- 1
    error: there is no configuration file no.json
    hint: check --agent-config

    $ agent agent.ai a --model mock
    --- 2
    error: invalid value 'mock' for '--model <MODELS>': Invalid provider/model pair 'mock'. Expected format provider/model.
    hint: `spillgate help agent` shows how it is used

    $ agent --json view
    {"error":{"fault":"caller","hint":"`spillgate agent view TRACE`; for a prompt file called `view`, write ./view","kind":"usage","message":"`agent view` shows one trace"}}
    --- 2
    "#);
    nothing_was_started(&lab);
}

fn nothing_was_started(lab: &Lab) {
    assert!(lab.script.asked().is_empty());
    assert!(lab.left().is_empty());
}

#[test]
fn files() {
    let lab = Lab::new(Vec::new());
    let prompt = |lines: &str| PROMPT.replace("tools: [lab]\n", lines);
    let files = [
        ("turns.ai", prompt("maxTurns: ten\ntols: [lab]\n")),
        ("model.ai", PROMPT.replace("mock/reader", "mokc/reader")),
        ("none.ai", "---\ntools: [lab]\n---\nx\n".to_owned()),
        ("tool.ai", PROMPT.replace("[lab]", "[lap]")),
        ("round.ai", prompt("agents: [other.ai]\n")),
        ("other.ai", prompt("agents: [round.ai]\n")),
        ("absent.ai", prompt("agents: [not-there.ai]\n")),
    ];
    for (name, text) in &files {
        lab.write(name, text);
    }
    let said = [
        "turns.ai",
        "model.ai",
        "none.ai",
        "tool.ai",
        "round.ai",
        "absent.ai",
    ]
    .map(|file| lab.said(&[file, "find it"], ""));
    assert_snapshot!(said.join("\n"), @r#"
    $ agent turns.ai find it
    --- 1
    error: turns.ai:3:1: maxTurns: must be a whole number from 1 to 1000, is "ten"
    turns.ai:4:1: tols: there is no such key; did you mean `tools`?
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force

    $ agent model.ai find it
    --- 1
    error: model.ai:2:1: models: unknown provider "mokc"; known providers: anthropic, deepseek, gemini, groq, llamacpp, local, mistral, mock, ollama, openai, openrouter. To define another provider, set kind and base_url in [providers.mokc].
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force

    $ agent none.ai find it
    --- 1
    error: none.ai: models: there is no model; write `models: provider/model` here, or `defaults.models` in .ai-agent.json
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force

    $ agent tool.ai find it
    --- 1
    error: tool.ai:3:9: tools[0]: there is no tool source "lap"; did you mean `lab`?
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force

    $ agent round.ai find it
    --- 1
    error: agents call one another in a circle: /HOME/round.ai → /HOME/other.ai → /HOME/round.ai
    hint: take one of them out of `agents`

    $ agent absent.ai find it
    --- 1
    error: absent.ai:3:10: agents[0]: not-there.ai is not a file; paths are relative to the directory of the file
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    "#);
    nothing_was_started(&lab);
}

#[test]
fn configurations() {
    let lab = Lab::new(Vec::new());
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut config = lab.config("");
        change(&mut config);
        lab.write("c.json", &serde_json::to_string_pretty(&config).unwrap());
        let mut command = lab.command(&["agent.ai", "find it", "--agent-config", "c.json"]);
        command.env_remove("MOCK_KEY");
        let output = feed(command, b"");
        lab.steady(&format!(
            "{}{}",
            String::from_utf8(output.stderr).unwrap(),
            output.status.code().unwrap()
        ))
    };
    let said = [
        with(&|_| {}),
        with(&|config| config["providers"]["mock"]["kind"] = json!("opneai")),
        with(&|config| config["mcpServers"]["lab"]["command"] = json!(7)),
        with(&|config| config["mcpServers"]["lab"]["command"] = json!("${NO_SUCH_VARIABLE}")),
        with(&|config| config["mcpServer"] = json!({})),
        with(&|config| config["toolOutput"] = json!({"overlapPercent": 60})),
    ];
    assert_snapshot!(said.join("\n---\n"), @r#"
    error: c.json:27:7: providers.mock.keyEnv: provider "mock": the environment variable MOCK_KEY is not set; set it to the key, or name a file with the key as key_file in [providers.mock]
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    1
    ---
    error: c.json:28:7: providers.mock.kind: must be `openai`, `openai-compatible` or `anthropic`, is "opneai"
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    1
    ---
    error: c.json:7:7: mcpServers.lab.command: must be a text, is 7
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    1
    ---
    error: c.json:7:7: mcpServers.lab.command: the variable NO_SUCH_VARIABLE is not set; set it, or write a default: ${NO_SUCH_VARIABLE:-…}
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    1
    ---
    error: c.json:2:3: mcpServer: there is no such key; did you mean `mcpServers`?
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    1
    ---
    error: c.json:34:5: toolOutput.overlapPercent: must be a whole number from 0 to 50, is 60
    hint: docs/agent-files.md lists all keys; --dry-run shows the settings in force
    1
    "#);
    nothing_was_started(&lab);
}

#[test]
fn servers() {
    let lab = Lab::new(Vec::new());
    let mut config = lab.config("");
    config["mcpServers"]["lab"]["command"] = json!("no-such-program");
    lab.write(".ai-agent.json", &config.to_string());
    let missing = lab.said(&["agent.ai", "find it"], "");
    lab.write(".ai-agent.json", &lab.config("").to_string());
    lab.write("server.sh", "echo what a pity >&2; exit 3");
    let ended = lab.said(&["agent.ai", "find it"], "");
    assert_snapshot!(format!("{missing}\n{ended}"), @"
    $ agent agent.ai find it
    --- 1
    error: the MCP server `lab` could not be started: `no-such-program`: No such file or directory
    hint: correct it in .ai-agent.json, or take it out of `tools`; --dry-run shows what is started

    $ agent agent.ai find it
    --- 1
    error: the MCP server `lab` exited with status 3 (its last words: what a pity)
    hint: correct it in .ai-agent.json, or take it out of `tools`; --dry-run shows what is started
    ");
    assert!(lab.script.asked().is_empty() && lab.left().is_empty());
}

#[test]
fn traces() {
    let lab = Lab::new(Vec::new());
    lab.write("text", "no trace");
    lab.write("list.json", "[1, 2]");
    lab.write("newer.json", r#"{"version": 99}"#);
    let said = ["text", "list.json", "newer.json", "absent.json"]
        .map(|file| lab.said(&["view", file], ""));
    assert_snapshot!(said.join("\n"), @"
    $ agent view text
    --- 1
    error: text is no JSON: expected ident at line 1 column 2
    hint: `spillgate agent FILE TASK --trace TRACE` writes a trace

    $ agent view list.json
    --- 1
    error: list.json is no trace of an agent: it has no version
    hint: `spillgate agent FILE TASK --trace TRACE` writes a trace

    $ agent view newer.json
    --- 1
    error: newer.json is a trace of version 99; this program reads up to 1: it was written by a newer one
    hint: `spillgate agent FILE TASK --trace TRACE` writes a trace

    $ agent view absent.json
    --- 1
    error: absent.json cannot be read: No such file or directory
    hint: `spillgate agent FILE TASK --trace TRACE` writes a trace
    ");
}
