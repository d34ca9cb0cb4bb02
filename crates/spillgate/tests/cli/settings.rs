//! Tests of errors in a configuration file, and of the positions that they name.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::tool::Tool;

/// Returns the message and the hint for each text; the file's name has no directory.
fn said(texts: &[&str]) -> String {
    let tool = Tool::new();
    let file = tool.home().join("wrong.toml");
    let of = |text: &&str| {
        fs::write(&file, text).unwrap();
        let (error, code) = tool.error(&["config", "--config", file.to_str().unwrap()]);
        assert_eq!((code, &error["kind"]), (1, &json!("config")), "{text}");
        let folder = format!("{}/", tool.home().display());
        let message = error["message"].as_str().unwrap().replace(&folder, "");
        format!("{message}\n  {}", error["hint"].as_str().unwrap())
    };
    texts.iter().map(of).collect::<Vec<String>>().join("\n")
}

#[test]
fn settings_of_extraction_are_checked_one_by_one() {
    let texts = [
        "\n[tool_output]\nmax_chunk = 3\n",
        "[tool_output]\nenabled = \"yes\"\n",
        "[tool_output]\n\noverlap_percent = 51\n",
        "[toolOutput]\noverlapPercent = -1\n",
        "[toolOutput]\nmaxChunks = 0\n",
        "tool_output = { parallel = \"four\" }\n",
        "[tool_output]\nmodels = \"gpt-4o\"\n",
        "[tool_output]\nmodels = [\"openai/gpt-4o\", \"openai/\"]\n",
        "[tool_output]\nmodels = 3\n",
        "[tool_output]\nmax_chunks = 2\nmaxChunks = 3\n",
        "store = \"a\"\n[toolOutput]\nstoreDir = \"b\"\n",
        "tool_output = 3\n",
    ];
    assert_snapshot!(said(&texts), @r#"
    wrong.toml:3: `tool_output.max_chunk`: there is no such setting
      did you mean `max_chunks`?
    wrong.toml:2: `tool_output.enabled`: invalid type: found string "yes", expected true or false
      docs/configuration.md lists what it can be
    wrong.toml:3: `tool_output.overlap_percent`: must be from 0 to 50, not 51
      docs/configuration.md lists what it can be
    wrong.toml:2: `toolOutput.overlapPercent`: invalid value signed int `-1`, expected a whole number
      docs/configuration.md lists what it can be
    wrong.toml:2: `toolOutput.maxChunks`: must be at least 1, not 0
      docs/configuration.md lists what it can be
    wrong.toml:1: `tool_output.parallel`: invalid type: found string "four", expected a whole number
      docs/configuration.md lists what it can be
    wrong.toml:2: `tool_output.models`: Invalid provider/model pair 'gpt-4o'. Expected format provider/model.
      docs/configuration.md lists what it can be
    wrong.toml:2: `tool_output.models`: Invalid provider/model pair 'openai/'. Expected format provider/model.
      docs/configuration.md lists what it can be
    wrong.toml:2: `tool_output.models`: `provider/model` pairs: a text with commas between them, or a list
      docs/configuration.md lists what it can be
    wrong.toml:3: `tool_output.maxChunks`: is another name for `tool_output.max_chunks`, which is also set
      keep one of them
    wrong.toml:3: `toolOutput.storeDir`: is another name for `store`, which is also set
      keep one of them
    wrong.toml:1: `tool_output`: must be a table
      write [tool_output]
    "#);
}

#[test]
fn every_wrong_setting_has_a_line() {
    let texts = [
        "max_bytes = 1\n\nmax_token = 1\n",
        "\nmax_tokens = \"many\"\n",
        "max_bytes = 1\ntoolResponseMaxBytes = 2\n",
        "[tools.x]\nmax_byte = 1\n",
        "[tools.x]\n\nmax_bytes = \"1\"\n",
        "[servers.files]\nmax_tokns = 1\n",
        "[servers.files.tools.\"read_*\"]\nprofile = \"shout\"\n",
        "\n\nprofile = \"shout\"\n",
        "[tools.\"a[\"]\nmax_bytes = 1\n",
        "by_reference = [\"write_*\", \"a[\"]\n",
        "[servers.files]\n\nby_reference = [\"a[\"]\n",
        "[servers.files]\nby_reference = \"write_*\"\n",
        "[templates]\n\nshort = \"{{ nothing }}\"\n",
        "\nquota = \"big\"\n",
        "\nmax_age = \"soon\"\n",
        "max_bytes = 1\nlist_tools = \"sometimes\"\n",
        "\n\n\nmax_tokens = \n",
    ];
    assert_snapshot!(said(&texts), @r#"
    wrong.toml:3: `max_token`: there is no such setting
      did you mean `max_tokens`?
    wrong.toml:2: `max_tokens`: invalid type: found string "many", expected a whole number
      docs/configuration.md lists what each setting can be
    wrong.toml:2: `toolResponseMaxBytes`: is another name for `max_bytes`, which is also set
      keep one of them
    wrong.toml:2: `tools.x.max_byte`: there is no such setting
      did you mean `max_bytes`?
    wrong.toml:3: `tools.x.max_bytes`: invalid type: found string "1", expected a whole number
      docs/configuration.md lists what each setting can be
    wrong.toml:2: `servers.files.max_tokns`: there is no such setting
      did you mean `max_tokens`?
    wrong.toml:2: `servers.files.tools.read_*.profile`: unknown profile `shout`; known are preview, handle, continuation, funnel, reject, truncate
      `profile` names a built-in profile or one of [templates]; docs/profiles.md lists what a template can name
    wrong.toml:3: `profile`: unknown profile `shout`; known are preview, handle, continuation, funnel, reject, truncate
      `profile` names a built-in profile or one of [templates]; docs/profiles.md lists what a template can name
    wrong.toml:1: `tools.a[`: a tool pattern is wrong: error parsing glob 'a[': unclosed character class; missing ']'
      patterns are globs such as "read_*"
    wrong.toml:1: `by_reference`: a tool pattern is wrong: error parsing glob 'a[': unclosed character class; missing ']'
      patterns are globs such as "read_*"
    wrong.toml:3: `servers.files.by_reference`: a tool pattern is wrong: error parsing glob 'a[': unclosed character class; missing ']'
      patterns are globs such as "read_*"
    wrong.toml:2: `servers.files.by_reference`: invalid type: found string "write_*", expected a list
      docs/configuration.md lists what each setting can be
    wrong.toml:3: `templates.short`: the template `short` is wrong: undefined value (line 1)
      `profile` names a built-in profile or one of [templates]; docs/profiles.md lists what a template can name
    wrong.toml:2: `quota`: "big" is not a number of bytes
      write a number of bytes such as "10 GiB"
    wrong.toml:2: `max_age`: "soon" is not a length of time: expected number at 0
      write a time such as "30d" or "12h"
    wrong.toml:2: `list_tools`: "sometimes" is none of always, when_stored, never
      docs/configuration.md lists what each setting can be
    wrong.toml:4: the value is missing, or it is a text without quotes
      the file is TOML, see https://toml.io
    "#);
}

#[test]
fn names_of_ai_agent_mean_ours() {
    let tool = Tool::new();
    let file = tool.home().join("ours.toml");
    let text = "toolResponseMaxBytes = 4096\n[toolOutput]\nenabled = false\nstoreDir = \"/x/y\"\n\
                maxChunks = 3\noverlapPercent = 20\navgLineBytesThreshold = 500\n\
                models = \"openai/gpt-4o, local/a/b\"\n";
    fs::write(&file, text).unwrap();
    let mut command = tool.command(&["config", "--json", "--config", file.to_str().unwrap()]);
    command.env_remove("SPILLGATE_STORE");
    let config: serde_json::Value =
        serde_json::from_slice(&super::tool::feed(command, b"").stdout).unwrap();
    let of = |key: &str| config[key]["value"].clone();
    for (key, value) in [
        ("max_bytes", json!(4096)),
        ("store", json!("/x/y")),
        ("tool_output.enabled", json!(false)),
        ("tool_output.max_chunks", json!(3)),
        ("tool_output.overlap_percent", json!(20)),
        ("tool_output.avg_line_bytes_threshold", json!(500)),
        ("tool_output.models", json!(["openai/gpt-4o", "local/a/b"])),
        ("tool_output.parallel", json!(4)),
    ] {
        assert_eq!(of(key), value, "{key}");
    }
    let from = |key: &str| config[key]["from"].as_str().unwrap().to_owned();
    assert!(from("tool_output.max_chunks").starts_with("TOML file"));
    assert_eq!(from("tool_output.parallel"), "default");
}

#[test]
fn an_empty_list_is_set_by_the_file() {
    let tool = Tool::new();
    let file = tool.home().join("none.toml");
    fs::write(&file, "tool_output.models = []\n").unwrap();
    let config = tool.json(&["config", "--config", file.to_str().unwrap()], b"");
    let from = config["tool_output.models"]["from"].as_str().unwrap();
    assert!(from.starts_with("TOML file"), "{from}");
}

#[test]
fn the_environment_names_models() {
    let tool = Tool::new();
    let config = |text: &str| {
        let mut command = tool.command(&["config", "--json"]);
        command.env("SPILLGATE_MODEL", text);
        let output = super::tool::feed(command, b"");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let right = config("openai/gpt-4o,local/b");
    assert_eq!(
        right["tool_output.models"],
        json!({"value": ["openai/gpt-4o", "local/b"], "from": "environment SPILLGATE_MODEL"})
    );
    assert_eq!(
        config("gpt-4o")["error"]["message"],
        "SPILLGATE_MODEL: Invalid provider/model pair 'gpt-4o'. Expected format provider/model."
    );
}
