//! Runs the commands of pages for users: each block `sh` of a page, in order, in one shell.
//!
//! If a block `text` follows a block `sh`, the lines of the former must occur in what the latter
//! printed, in the same order. `…` stands for any text, handles and durations may differ. Blocks
//! `bash` and `console` are not run: they need a program that not every machine has.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use serde_json::json;

use crate::agent_lab::{Script, Step};
use crate::tool::{Tool, feed};

/// The line that separates what two blocks print.
const END: &str = "=== end of a block ===";

/// A block of commands, and what they print if the page shows it.
struct Block {
    commands: String,
    printed: Option<String>,
}

/// Returns the blocks `sh` of a page, each with the block `text` that follows it.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut pieces = page.split("\n```");
    pieces.next();
    let mut is_after_commands = false;
    // Every second piece is between two blocks.
    for block in pieces.step_by(2) {
        let (language, text) = block.split_once('\n').unwrap_or((block, ""));
        match language {
            "sh" => blocks.push(Block {
                commands: text.to_owned(),
                printed: None,
            }),
            "text" if is_after_commands => {
                blocks.last_mut().unwrap().printed = Some(text.to_owned());
            }
            _ => {}
        }
        is_after_commands = language == "sh";
    }
    blocks
}

/// Runs the blocks of a page in a new home directory, and returns what each printed.
fn run(page: &str, tool: &Tool, blocks: &[Block]) -> Vec<String> {
    let mut script = "set -e\n".to_owned();
    for block in blocks {
        // Commands of cargo build this repository, which another test does.
        let commands = block
            .commands
            .lines()
            .filter(|line| !line.starts_with("cargo "));
        let commands: Vec<&str> = commands.collect();
        writeln!(script, "{}\necho '{END}'", commands.join("\n")).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_spillgate"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let environment = tool.command::<&str>(&[]);
    let mut command = Command::new("bash");
    for (name, value) in environment.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .args([
            "--norc",
            "--noprofile",
            "-c",
            &format!("exec 2>&1\n{script}"),
        ])
        .current_dir(tool.home())
        .env_remove("SPILLGATE_STORE")
        // The user's own configuration of the client.
        .env_remove("CLAUDE_CONFIG_DIR")
        .env("PATH", path);
    let output = feed(command, b"");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{page}: {}: {text}", output.status);
    let mut printed: Vec<String> = text.split(&format!("{END}\n")).map(str::to_owned).collect();
    printed.pop();
    assert_eq!(printed.len(), blocks.len(), "{page}: {text}");
    printed
}

/// Returns the lines of `expected` that `printed` lacks, or has in another order.
fn missing(expected: &str, printed: &str) -> Vec<String> {
    let varying = Regex::new(r"\b[a-z]{14}\b|\b[0-9.]+ m?s\b|/\S*/spillgate-hour").unwrap();
    let steady = |text: &str| varying.replace_all(text.trim(), "VARYING").into_owned();
    let printed: Vec<String> = printed.lines().map(steady).collect();
    let (mut missing, mut at) = (Vec::new(), 0);
    for line in expected
        .lines()
        .map(str::trim)
        .filter(|line| !["", "…"].contains(line))
    {
        let pieces: Vec<String> = steady(line).split('…').map(regex::escape).collect();
        let pattern = Regex::new(&format!("^{}$", pieces.join(".*"))).unwrap();
        match printed[at..].iter().position(|it| pattern.is_match(it)) {
            Some(found) => at += found + 1,
            None => missing.push(line.to_owned()),
        }
    }
    missing
}

/// Runs a page and checks what it shows.
fn check(page: &str, tool: &Tool, at_least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(page)).unwrap();
    let blocks = blocks(&text);
    assert!(blocks.len() >= at_least, "{page}: {} blocks", blocks.len());
    for (block, printed) in blocks.iter().zip(run(page, tool, &blocks)) {
        let missing = missing(block.printed.as_deref().unwrap_or_default(), &printed);
        assert!(
            missing.is_empty(),
            "{page} shows lines that are not printed: {missing:#?}\n$ {}{printed}",
            block.commands
        );
    }
}

#[test]
fn the_first_hour_goes_as_described() {
    let tool = Tool::new();
    // In place of a model of the reader's, a script that makes the calls of the page.
    let script = Script::of(vec![(
        "",
        vec![
            Step::Calls(vec![(
                "read_file",
                json!({"file_path": "orders.json", "limit": 500}),
            )]),
            Step::Calls(vec![(
                "tool_output",
                json!({"handle": "HANDLE", "extract": "order 27", "mode": "search"}),
            )]),
            Step::Reports("Order 27, from Lima."),
        ],
    )]);
    let config = tool.home().join(".config/spillgate");
    fs::create_dir_all(&config).unwrap();
    let provider = json!({"providers": {"ollama": {"kind": "openai", "baseUrl": script.url(), "stream": false}}});
    fs::write(config.join("ai-agent.json"), provider.to_string()).unwrap();
    check("docs/first-hour.md", &tool, 15);
    let asked = script.asked();
    let last = asked.last().unwrap().to_string();
    assert!(last.contains("tool_output"), "{last:.2000}");
}

#[test]
fn the_commands_of_the_readme_run() {
    check("README.md", &Tool::new(), 2);
}

#[test]
fn the_commands_for_a_bucket_run() {
    check("docs/object-store.md", &Tool::new(), 1);
}

#[test]
fn the_settings_of_the_pages_are_read() {
    let tool = Tool::new();
    let file = tool.home().join("example.toml");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut read = 0;
    for page in fs::read_dir(root.join("docs")).unwrap() {
        let page = page.unwrap().path();
        if page.extension().is_none_or(|it| it != "md") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        let examples = text.split("\n```toml\n").skip(1);
        for example in examples.filter_map(|it| it.split("\n```").next()) {
            // The file of Codex, not ours.
            if example.contains("[mcp_servers.") {
                continue;
            }
            fs::write(&file, example).unwrap();
            let output = tool.run(&["config", "--config", file.to_str().unwrap()], b"");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{}: {said}\n{example}",
                page.display()
            );
            read += 1;
        }
    }
    assert!(read >= 14, "{read} examples");
}

#[test]
fn a_page_that_shows_something_else_is_found() {
    let printed = "[spillgate] sh ended after 12 ms as abcdefghijklmn\na\nb\n";
    let cases = [
        ("[spillgate] sh ended after 9 s as bbbbbbbbbbbbbb\n…\nb", 0),
        ("[spillgate] … as bbbbbbbbbbbbbb", 0),
        ("b\na", 1),
        ("c", 1),
        ("[spillgate] sh began", 1),
    ];
    for (expected, wrong) in cases {
        assert_eq!(missing(expected, printed).len(), wrong, "{expected}");
    }
}
