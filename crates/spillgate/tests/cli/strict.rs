//! Tests that a wrong value of any setting, from the file or the environment, makes every command
//! fail before it does anything.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::tool::{Tool, feed};

/// A table of the configuration, the other lines that the table needs, and for each of its keys an
/// invalid value. A key that is missing here fails the test.
type Table = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const TOP: &[(&str, &str)] = &[
    ("store", "\"\""),
    ("sync", "\"never\""),
    ("tokenizer", "\"letters\""),
    ("max_tokens", "\"many\""),
    ("max_bytes", "-1"),
    ("max_lines", "true"),
    ("max_chars", "\"1\""),
    ("profile", "\"nope\""),
    ("preview_tokens", "\"few\""),
    ("max_binary_bytes", "\"1\""),
    ("detailed_recovery", "\"yes\""),
    ("redact", "\"hide\""),
    ("stored_secrets", "\"never\""),
    ("results", "\"raw\""),
    ("clients", "3"),
    ("secrets", "3"),
    ("by_reference", "[\"a[\"]"),
    ("by_reference_bytes", "-1"),
    ("by_reference_secrets", "\"yes\""),
    ("page_tokens", "\"few\""),
    ("quota", "\"5 potatoes\""),
    ("lookup_timeout", "\"a while\""),
    ("max_age", "\"a fortnight\""),
    ("tools", "3"),
    ("servers", "3"),
    ("templates", "{ short = \"{{ nothing }}\" }"),
    ("continuation", "3"),
    ("list_tools", "\"sometimes\""),
    ("tool_list", "\"none\""),
    ("pinned", "[\"a[\"]"),
    ("tool_list_budget", "-1"),
    ("prefix", "\"never\""),
    ("start_wait", "\"soon\""),
    ("tool_output", "3"),
    ("providers", "3"),
    ("models", "3"),
    ("http", "3"),
    ("serve", "3"),
    ("ui", "3"),
    ("objects", "3"),
    ("tenants", "3"),
    ("audit", "3"),
    ("telemetry", "3"),
    ("guarded", "3"),
    ("shared_store", "\"yes\""),
    ("reserve", "\"some\""),
    ("max_message", "\"long\""),
    ("tombstone_age", "\"long\""),
    ("tombstones", "-1"),
];

/// Invalid values of environment variables.
const VARIABLES: &[(&str, &str)] = &[
    ("sync", "never"),
    ("tokenizer", "letters"),
    ("max_tokens", "many"),
    ("max_bytes", "-1"),
    ("max_lines", "true"),
    ("max_chars", "1.5"),
    ("profile", "nope"),
    ("preview_tokens", "few"),
    ("max_binary_bytes", "1 MiB"),
    ("detailed_recovery", "perhaps"),
    ("redact", "hide"),
    ("stored_secrets", "never"),
    ("results", "raw"),
    ("page_tokens", "few"),
    ("quota", "5 potatoes"),
    ("lookup_timeout", "a while"),
    ("max_age", "a fortnight"),
    ("list_tools", "sometimes"),
    ("tool_list", "none"),
    ("shared_store", "perhaps"),
    ("reserve", "some"),
    ("max_message", "long"),
    ("tombstone_age", "long"),
    ("tombstones", "-1"),
    ("tool_list_budget", "-1"),
];

const TABLES: &[Table] = &[
    (
        "tools.x",
        "",
        &[
            ("max_tokens", "\"many\""),
            ("max_bytes", "-1"),
            ("max_lines", "true"),
            ("max_chars", "\"1\""),
            ("profile", "\"nope\""),
            ("preview_tokens", "-1"),
            ("max_binary_bytes", "\"1\""),
            ("detailed_recovery", "\"yes\""),
            ("redact", "\"hide\""),
            ("stored_secrets", "\"never\""),
            ("results", "\"raw\""),
        ],
    ),
    (
        "secrets",
        "",
        &[
            ("rules", "3"),
            ("off", "3"),
            ("raw_anywhere", "\"yes\""),
            ("stored", "\"never\""),
            ("encrypt", "\"yes\""),
        ],
    ),
    (
        "servers.x",
        "",
        &[
            ("max_tokens", "\"many\""),
            ("max_bytes", "-1"),
            ("max_lines", "true"),
            ("max_chars", "\"1\""),
            ("profile", "\"nope\""),
            ("preview_tokens", "-1"),
            ("max_binary_bytes", "\"1\""),
            ("detailed_recovery", "\"yes\""),
            ("redact", "\"hide\""),
            ("stored_secrets", "\"never\""),
            ("results", "\"raw\""),
            ("tool_list", "\"none\""),
            ("by_reference", "[\"a[\"]"),
            ("by_reference_bytes", "-1"),
            ("by_reference_secrets", "\"yes\""),
            ("tools", "{ \"a[\" = { max_bytes = 1 } }"),
            ("command", "\"\""),
            ("args", "\"x\""),
            ("env", "3"),
            ("cwd", "3"),
            ("url", "\"nowhere\""),
            ("transport", "\"pigeon\""),
            ("headers", "3"),
            ("enabled", "\"yes\""),
            ("allow", "[\"a[\"]"),
            ("deny", "[\"a[\"]"),
            ("timeout", "\"a fortnight\""),
            ("bridge", "\"maybe\""),
        ],
    ),
    (
        "serve",
        "",
        &[
            ("max_upload", "\"large\""),
            ("upload_seconds", "0"),
            ("mcp", "3"),
        ],
    ),
    (
        "ui",
        "",
        &[("enabled", "3"), ("port", "70000"), ("traces", "3")],
    ),
    (
        "objects",
        "",
        &[
            ("cache", "3"),
            ("cache_quota", "\"many\""),
            ("connect_timeout", "\"long\""),
            ("request_timeout", "\"long\""),
            ("retry_time", "\"long\""),
            ("sweep_every", "\"long\""),
            ("orphan_age", "\"long\""),
        ],
    ),
    (
        "tenants",
        "",
        &[
            ("enabled", "3"),
            ("quota", "\"5 potatoes\""),
            ("max_age", "\"a fortnight\""),
            ("requests_per_minute", "0"),
            ("max_sessions", "0"),
            ("named", "{ \"\" = {} }"),
        ],
    ),
    (
        "tenants.named.x",
        "",
        &[
            ("quota", "\"5 potatoes\""),
            ("max_age", "\"a fortnight\""),
            ("requests_per_minute", "0"),
            ("max_sessions", "0"),
        ],
    ),
    ("audit", "", &[("to", "3")]),
    ("telemetry", "", &[("metrics_interval", "\"often\"")]),
    (
        "http",
        "",
        &[
            ("listen", "\"nowhere\""),
            ("path", "\"mcp\""),
            ("allow_hosts", "[\"a@b\"]"),
            ("allow_origins", "[\"nowhere\"]"),
            ("insecure_no_auth", "3"),
            ("auth", "{ kind = \"nope\" }"),
            ("open_metrics", "3"),
            ("max_body_bytes", "0"),
            ("max_sessions", "0"),
            ("max_processes", "0"),
            ("max_requests_per_session", "0"),
            ("max_connections", "0"),
            ("session_idle_seconds", "0"),
            ("keep_alive_seconds", "0"),
            ("read_seconds", "0"),
            ("stall_seconds", "0"),
            ("shutdown_seconds", "-1"),
            ("drain_seconds", "-1"),
            ("replica", "\"a.b\""),
            ("required_servers", "true"),
            ("kept_messages", "-1"),
            ("rate", "{ per_second = 0 }"),
        ],
    ),
    (
        "http.rate",
        "per_second = 1",
        &[("per_second", "0"), ("burst", "-1"), ("by", "\"colour\"")],
    ),
    (
        "guarded",
        "",
        &[
            ("tools", "[\"nope\"]"),
            ("max_tokens", "1"),
            ("on_overflow", "\"nope\""),
            ("detailed_recovery", "3"),
            ("writable", "[\"../x\"]"),
            ("shell", "3"),
            ("web", "3"),
            ("search", "3"),
        ],
    ),
    (
        "guarded.shell",
        "",
        &[
            ("timeout_seconds", "0"),
            ("env", "3"),
            ("sandbox", "3"),
            ("network", "3"),
            ("readable", "3"),
            ("writable", "3"),
        ],
    ),
    (
        "guarded.web",
        "",
        &[
            ("timeout_seconds", "0"),
            ("allow", "[\"localhost\"]"),
            ("robots", "3"),
        ],
    ),
    (
        "guarded.search",
        "provider = \"searxng\"",
        &[
            ("provider", "\"nope\""),
            ("url", "\"nowhere\""),
            ("api_key_env", "3"),
        ],
    ),
    ("continuation", "", &[("short_ids", "3")]),
    ("clients.c", "", &[("results", "\"raw\"")]),
    (
        "providers.openai",
        "",
        &[
            ("kind", "\"nope\""),
            ("base_url", "\"nowhere\""),
            ("key_env", "3"),
            ("key_file", "3"),
            ("stream", "3"),
            ("timeout_s", "-1"),
            ("connect_timeout_s", "-1"),
            ("first_byte_timeout_s", "-1"),
            ("idle_timeout_s", "-1"),
            ("retries", "-1"),
            ("requests_per_minute", "-1"),
            ("concurrency", "-1"),
            ("max_tokens_field", "\"nope\""),
            ("headers", "3"),
        ],
    ),
    (
        "models.\"openai/x\"",
        "",
        &[("window", "-1"), ("max_output", "0"), ("prices", "3")],
    ),
];

/// Returns the keys of a table, which the program lists when a key is unknown.
fn known(tool: &Tool, table: &str, needs: &str) -> BTreeSet<String> {
    let file = tool.home().join("known.toml");
    let head = match table {
        "" => String::new(),
        table => format!("[{table}]\n{needs}\n"),
    };
    fs::write(&file, format!("{head}zzzz = 1\n")).unwrap();
    let (error, _) = tool.error(&["config", "--config", file.to_str().unwrap()]);
    let hint = error["hint"].as_str().unwrap();
    let names = hint
        .strip_prefix("there are ")
        .unwrap_or_else(|| panic!("{table}: {error}"));
    // Skips the other spellings of some keys: `type`, `baseUrl`.
    let is_name = |name: &&str| *name != "type" && !name.contains(char::is_uppercase);
    let names = names.split(", ").filter(is_name);
    names.map(ToOwned::to_owned).collect()
}

/// Returns the error of a command with a configuration file and a variable.
fn error(tool: &Tool, args: &[&str], file: Option<&str>, variable: Option<(&str, &str)>) -> Value {
    let mut args = args.to_vec();
    args.insert(1, "--json");
    let mut command = tool.command(&args);
    if let Some(file) = file {
        // The variable would override the store that the file names.
        command
            .env("SPILLGATE_CONFIG", file)
            .env_remove("SPILLGATE_STORE");
    }
    if let Some((name, value)) = variable {
        command.env(name, value);
    }
    let output = feed(command, b"x\n");
    let text = String::from_utf8(output.stdout).unwrap();
    let object: Value = serde_json::from_str(&text).unwrap_or_default();
    let code = if args[0] == "grep" { 2 } else { 1 };
    assert_eq!(
        (output.status.code(), &object["error"]["kind"]),
        (Some(code), &json!("config")),
        "{args:?} {variable:?} {file:?}: {text}"
    );
    let usual = tool.home().join(".local/state/spillgate");
    assert!(
        !tool.store().exists() && !usual.exists(),
        "{args:?} did something first"
    );
    object["error"].clone()
}

#[test]
fn every_key_is_checked_in_the_file() {
    let tool = Tool::new();
    let file = tool.home().join("wrong.toml");
    let path = file.to_str().unwrap();
    let checked = |table: &str, needs: &str, key: &str, value: &str| {
        let needs = match needs.starts_with(&format!("{key} =")) {
            true => "",
            false => needs,
        };
        let text = match table {
            "" => format!("\n\n{key} = {value}\n"),
            table => format!("[{table}]\n{needs}\n{key} = {value}\n"),
        };
        fs::write(&file, &text).unwrap();
        for args in [&["put"][..], &["ls"], &["mcp", "--", "true"]] {
            let error = error(&tool, args, Some(path), None);
            let message = error["message"].as_str().unwrap();
            let place = message.strip_prefix(&format!("{path}:"));
            let has_line = place.is_some_and(|rest| rest.starts_with(['1', '2', '3']));
            assert!(has_line && message.contains(key), "{text}: {message}");
        }
    };
    let all = [("", "", TOP)].into_iter().chain(TABLES.iter().copied());
    for (table, needs, keys) in all {
        let listed: BTreeSet<String> = keys.iter().map(|(key, _)| (*key).to_owned()).collect();
        assert_eq!(known(&tool, table, needs), listed, "[{table}]");
        for (key, value) in keys {
            checked(table, needs, key, value);
        }
    }
    for key in known(&tool, "tool_output", "") {
        checked("tool_output", "", &key, "{ x = 1 }");
    }
}

#[test]
fn every_variable_is_checked() {
    let tool = Tool::new();
    for (key, _) in TOP {
        let name = format!("SPILLGATE_{}", key.to_uppercase());
        let Some((_, value)) = VARIABLES.iter().find(|(known, _)| known == key) else {
            // `store` accepts any text, because any text is a valid directory. The other keys have
            // no variable.
            let mut command = tool.command(&["config", "--json"]);
            command.env(&name, "\u{1}[");
            let output = feed(command, b"");
            let config: Value = serde_json::from_slice(&output.stdout).unwrap();
            let is_set = config[key]["from"] == json!(format!("environment {name}"));
            assert!(output.status.success(), "{name}");
            assert_eq!(is_set, *key == "store", "{name}");
            continue;
        };
        for args in [&["put"][..], &["ls"], &["mcp", "--", "true"]] {
            let error = error(&tool, args, None, Some((&name, value)));
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with(&name), "{message}");
        }
    }
    error(&tool, &["ls"], None, Some(("SPILLGATE_MODEL", "gpt-4o")));
    let wrong = error(&tool, &["put", "--profile", "nope"], None, None);
    let message = wrong["message"].as_str().unwrap();
    assert!(message.starts_with("--profile: "), "{message}");
}

const HANDLE: &str =
    "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";

#[test]
fn no_command_runs_under_a_wrong_setting() {
    let tool = Tool::new();
    let file = tool.home().join("wrong.toml");
    fs::write(&file, "max_bytes = 1\nquota = \"5 potatoes\"\n").unwrap();
    let path = file.to_str().unwrap();
    let home = tool.home().to_str().unwrap();
    let refused: &[&[&str]] = &[
        &["run", "--", "touch", "done"],
        &["put"],
        &["read", HANDLE],
        &["grep", HANDLE, "x"],
        &["query", HANDLE, "."],
        &["search", HANDLE, "x"],
        &["extract", HANDLE, "x"],
        &["outline", HANDLE],
        &["continue", HANDLE],
        &["cat", HANDLE],
        &["ls"],
        &["show", HANDLE],
        &["export", HANDLE, "-o", "no-such-file"],
        &["rm", HANDLE],
        &["pin", HANDLE],
        &["share", HANDLE, "--with", "x"],
        &["stats"],
        &["diff", HANDLE],
        &["verify"],
        &["redact", "--check"],
        &["config"],
        &["agent", "no-such-file.md", "x"],
        &["mcp", "--", "true"],
        &["serve", "--listen", "0"],
        &["ui", "--port", "0"],
        &["auth", "x", "--status"],
        &["tools", "--list", "--root", home],
        &["fs-mcp", "--root", home],
        &["wrap", "claude-code", "--dry-run"],
        &["doctor"],
    ];
    let usable: &[&[&str]] = &[
        // A hook fails open: it says so and succeeds.
        &["hook", "claude-code"],
        &["prompt", "funnel"],
        &["completions", "bash"],
        &["init", "bash"],
        &["man"],
        &["help"],
        &["unwrap", "--help"],
    ];
    for args in refused {
        let error = error(&tool, args, Some(path), None);
        let message = error["message"].as_str().unwrap().to_owned();
        let expected = format!("{path}:2: `quota`: \"5 potatoes\" is not a number of bytes");
        assert_eq!(message, expected, "{args:?}");
    }
    for args in usable {
        let mut command = tool.command(args);
        command.env("SPILLGATE_CONFIG", path);
        assert!(feed(command, b"").status.success(), "{args:?}");
    }
    every_command_is_in(&tool, &[refused, usable].concat());
}

/// Fails if the help lists a command that was not tried.
fn every_command_is_in(tool: &Tool, tried: &[&[&str]]) {
    let help = tool.run(&["--help"], b"").stdout;
    let help = String::from_utf8(help).unwrap();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    // Descriptions continue on lines that are indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !name.is_empty()) {
        assert!(tried.iter().any(|args| args[0] == name), "{name}");
    }
}
