//! What is wrong in a configuration file, and where?

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::tool::Tool;

/// The message and the hint for each text, the file's name without its folder.
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
    assert_snapshot!(said(&texts), @"");
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
        "[templates]\n\nshort = \"{{ nothing }}\"\n",
        "\nquota = \"big\"\n",
        "\nmax_age = \"soon\"\n",
        "max_bytes = 1\nlist_tools = \"never\"\n",
        "\n\n\nmax_tokens = \n",
    ];
    assert_snapshot!(said(&texts), @"");
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
