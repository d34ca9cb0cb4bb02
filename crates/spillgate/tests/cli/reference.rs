//! The generated pages of `docs/reference`, and tests that the other pages name every setting and
//! every kind of error.
//!
//! `UPDATE_REFERENCE=1 cargo test -p spillgate --features full --test cli reference` writes the generated pages.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::{Map, Value};

use crate::tool::{Tool, feed};

/// A line at the beginning of each generated page.
const GENERATED: &str = "The program printed this page; a test compares the two \
    (`crates/spillgate/tests/cli/reference.rs`).";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_generated_pages_are_current() {
    let tool = Tool::new();
    let pages = [
        ("options", options(&tool)),
        ("settings", settings(&tool)),
        ("tools", tools(&tool)),
    ];
    let is_update = std::env::var_os("UPDATE_REFERENCE").is_some_and(|value| value == "1");
    for (name, page) in pages {
        let path = root().join(format!("docs/reference/{name}.md"));
        if is_update {
            fs::write(&path, &page).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        let hint =
            "run `UPDATE_REFERENCE=1 cargo test -p spillgate --features full --test cli reference`";
        assert!(published == page, "docs/reference/{name}.md: {hint}");
    }
}

/// Runs the program without a store of its own, so that the default is shown.
fn printed(tool: &Tool, arguments: &[&str]) -> String {
    let mut command = tool.command(arguments);
    command.env_remove("SPILLGATE_STORE");
    let output = feed(command, b"");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.replace(&tool.home().display().to_string(), "~")
}

/// Returns the page with the help of all commands.
fn options(tool: &Tool) -> String {
    let all = printed(tool, &["help"]);
    let (first, common) = all.split_once("Options of all commands:").unwrap();
    let mut page = format!(
        "# Options of all commands\n\n{GENERATED} `spillgate help COMMAND` prints a section of it. \
         [The command line](../command-line.md) describes the commands.\n\n"
    );
    let (common, codes) = common.split_once("\n\nExit codes:").unwrap();
    writeln!(
        page,
        "## All commands\n\n```text\nOptions of all commands:{}\n```",
        common.trim_end()
    )
    .unwrap();
    writeln!(
        page,
        "\n[Errors](../errors.md) lists the exit codes:{codes}"
    )
    .unwrap();
    for command in commands(first) {
        section(tool, &mut page, &[&command]);
    }
    page
}

/// Writes the help of a command and of its subcommands.
fn section(tool: &Tool, page: &mut String, path: &[&str]) {
    let help = printed(tool, &[&["help"], path].concat());
    let (own, rest) = help
        .split_once("Options of all commands:")
        .unwrap_or((&help, ""));
    let end = rest.find("\n\nExamples:").map_or("", |at| &rest[at..]);
    let text = format!("{}\n{end}", own.trim_end());
    writeln!(
        page,
        "\n## {}\n\n```text\n{}\n```",
        path.join(" "),
        text.trim()
    )
    .unwrap();
    for command in commands(&help) {
        section(tool, page, &[path, &[&*command]].concat());
    }
}

/// Returns the subcommands that a help lists, without `help` itself.
fn commands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("Commands:\n") else {
        return Vec::new();
    };
    let (list, _) = list.split_once("\n\n").unwrap();
    let names = list.lines().filter_map(|line| {
        let line = line.strip_prefix("  ")?;
        let name = line.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| name.to_owned())
    });
    names.collect()
}

/// Returns the page with all settings and their defaults.
fn settings(tool: &Tool) -> String {
    let mut page = format!(
        "# All settings\n\n{GENERATED} `spillgate config` shows the values in force and their sources. \
         [Configuration](../configuration.md) describes the settings; `[a]` `b` is written here as `a.b`.\n\n\
         | setting | default |\n|---|---|\n"
    );
    for (key, value) in all_settings(tool) {
        writeln!(page, "| `{key}` | `{value}` |").unwrap();
    }
    page
}

/// Returns all settings with their defaults, in the order of their names.
fn all_settings(tool: &Tool) -> Vec<(String, String)> {
    let config: Map<String, Value> =
        serde_json::from_str(&printed(tool, &["config", "--json"])).unwrap();
    let mut found = Vec::new();
    for (key, setting) in &config {
        flatten(key, &setting["value"], &mut found);
    }
    found
}

fn flatten(key: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                flatten(&format!("{key}.{name}"), value, found);
            }
        }
        value => found.push((key.to_owned(), value.to_string())),
    }
}

/// Returns the page with all tools.
fn tools(tool: &Tool) -> String {
    let mut page = format!(
        "# All tools\n\n{GENERATED} `spillgate tools --list` prints the same lists. A parameter in bold must be given.\n\n\
         ## Look-up tools\n\nThe gateway adds these tools to `tools/list` ([the gateway](../gateway-tools.md#the-gateways-own-tools)). \
         With a model for extraction, [`tool_output`](../gateway-tools.md#tool_output) takes the place of `spillgate_search`.\n"
    );
    listed(
        &mut page,
        &printed(tool, &["tools", "--lookups", "--list", "--json"]),
    );
    page.push_str("\n## Guarded tools\n\n`spillgate tools --root DIR` serves these tools ([guarded tools](../guarded-tools.md)).\n");
    let home = tool.home().display().to_string();
    listed(
        &mut page,
        &printed(tool, &["tools", "--root", &home, "--list", "--json"]),
    );
    page
}

/// Writes a section for each definition of a tool, one of which is on each line.
fn listed(page: &mut String, definitions: &str) {
    for line in definitions.lines() {
        let definition: Value = serde_json::from_str(line).unwrap();
        let words = |value: &Value| -> String {
            let text = value["description"].as_str().unwrap_or_default();
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .replace('|', "\\|")
                .replace('<', "&lt;")
        };
        let name = definition["name"].as_str().unwrap();
        writeln!(
            page,
            "\n### {name}\n\n{}\n\n| parameter | type | |\n|---|---|---|",
            words(&definition)
        )
        .unwrap();
        let schema = &definition["inputSchema"];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (parameter, value) in schema["properties"].as_object().unwrap() {
            let is_required = required.iter().any(|one| one == parameter);
            let mark = if is_required { "**" } else { "" };
            let kind = value["type"].as_str().unwrap_or("any");
            writeln!(
                page,
                "| {mark}`{parameter}`{mark} | {kind} | {} |",
                words(value)
            )
            .unwrap();
        }
    }
}

/// Returns all pages that people wrote, as one text.
fn written_pages() -> String {
    let mut text = String::new();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "md") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    text
}

#[test]
fn every_setting_is_documented() {
    let pages = written_pages();
    let settings = all_settings(&Tool::new());
    assert!(settings.len() > 80, "{}", settings.len());
    let missing: BTreeSet<&String> = settings
        .iter()
        .map(|(key, _)| key)
        .filter(|key| {
            // A page may leave out the sections that its heading names.
            let dots = key.match_indices('.').map(|(at, _)| at + 1);
            let ends = std::iter::once(0).chain(dots).map(|at| &key[at..]);
            let mut forms: Vec<String> = ends.map(|end| format!("`{end}`")).collect();
            forms.push(format!("[[{key}]]"));
            let last = key.rsplit('.').next().unwrap();
            forms.extend([format!("\n{last} = "), format!("`{last} = ")]);
            !forms.iter().any(|form| pages.contains(form))
        })
        .collect();
    assert!(missing.is_empty(), "no page in docs/ describes {missing:?}");
}

#[test]
fn every_kind_of_error_is_documented() {
    let page = fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let made = Regex::new(r#"(?:Failure|Self)::new\(\s*"([a-z_]+)""#).unwrap();
    let named = Regex::new(r#""([a-z_]+)""#).unwrap();
    let mut kinds = BTreeSet::new();
    let output = Command::new("git")
        .args(["ls-files", "crates/spillgate/src", "crates/*/src/error.rs"])
        .current_dir(root())
        .output()
        .unwrap();
    for name in String::from_utf8(output.stdout).unwrap().lines() {
        let text = fs::read_to_string(root().join(name)).unwrap();
        kinds.extend(made.captures_iter(&text).map(|it| it[1].to_owned()));
        // The crates whose errors name their kinds.
        let is_kinds = ["lookup", "query", "store", "clients"]
            .iter()
            .any(|it| name == format!("crates/{it}/src/error.rs"));
        if is_kinds && let Some((_, text)) = text.split_once("fn kind") {
            let text = text.split_once("\n    }\n").unwrap().0;
            kinds.extend(named.captures_iter(text).map(|it| it[1].to_owned()));
        }
    }
    assert!(kinds.len() > 50, "{kinds:?}");
    let missing: Vec<&String> = kinds
        .iter()
        .filter(|kind| !page.contains(&format!("`{kind}`")))
        .collect();
    assert!(missing.is_empty(), "docs/errors.md lacks {missing:?}");
}
