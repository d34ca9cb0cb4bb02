//! Tests of the gateway between real MCP clients and servers that are not ours.
//!
//! The clients are the Python `mcp` package and the inspector's command line; the upstream servers
//! are server-filesystem, server-everything and a deliberately bad server. `cargo xtask peers`
//! installs them. The scenarios are the Python drivers in `tests/peers/`. Each prints a verdict,
//! and a test here asserts that every check passed and that the checks that matter were made.

#[path = "peers/agent.rs"]
mod agent;
#[path = "peers/doors.rs"]
mod doors;
#[path = "peers/lab.rs"]
mod lab;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::{GATEWAY, Lab};
use serde_json::{Value, json};

/// Maximum size of a preview, in bytes: clients cut or divert longer results (docs/spec/limits.md,
/// "What clients take").
const PREVIEW_BYTES_MAX: usize = 10_000;

#[test]
fn a_large_file_comes_back_as_a_preview_and_every_byte_is_there() {
    let lab = Lab::new("filesystem");
    let verdict = lab.drive("filesystem", &lab.filesystem_server());
    verdict.shows(&[
        "our tools are listed last",
        "a small read is untouched",
        "a small structured read is untouched",
        "content is a preview",
        "the preview is short",
        "structuredContent is the same",
        "grep finds the needle",
        "read gives that line",
        "pages join without gap or repeat",
        "raw content is the file",
        "raw structuredContent is the file",
        "the discovering client is served too",
    ]);
}

#[test]
fn a_client_sees_the_same_server_with_and_without_the_gateway() {
    let lab = Lab::new("everything");
    let verdict = lab.drive("everything", &lab.node_server("mcp-server-everything"));
    verdict.shows(&[
        "our tools",
        "tools/list",
        "a small echo",
        "an image",
        "structured content",
        "a request for roots",
        "a request for sampling",
        "a request for elicitation",
        "resources/list",
        "prompts/list",
        "completion/complete",
        "its progress",
        "a call after cancellation",
        "notifications",
    ]);
}

#[test]
fn small_replies_of_server_everything_are_the_same_to_the_byte() {
    let lab = Lab::new("identity-everything");
    let verdict = lab.drive("identity", &lab.node_server("mcp-server-everything"));
    verdict.shows(&[
        "initialize",
        "call echo",
        "call get-tiny-image",
        "other lines",
    ]);
}

#[test]
fn small_replies_of_server_filesystem_are_the_same_to_the_byte() {
    let lab = Lab::new("identity-filesystem");
    let verdict = lab.drive("identity", &lab.filesystem_server());
    verdict.shows(&["initialize", "call read_text_file", "call read_media_file"]);
}

#[test]
fn a_widened_output_schema_holds_for_a_client_that_validates() {
    let lab = Lab::new("schemas");
    let verdict = lab.drive("schemas", &lab.hostile_server());
    verdict.shows(&[
        "a small tree fits its schema",
        "a large tree fits its schema",
        "a tree without content fits its schema",
        "large: a preview",
        "without content: a preview",
    ]);
}

#[test]
fn a_server_on_a_bad_day_does_not_kill_the_relay() {
    let lab = Lab::new("hostile");
    let verdict = lab.drive("hostile", &lab.hostile_server());
    verdict.shows(&[
        "surrogate: small is identical",
        "surrogate: cat --raw is what was sent",
        "noise: lines pass unchanged",
        "cut off: the call gets an error",
        "noise: all that was sent arrives unchanged",
        "huge: the whole reply is short",
        "exit: call 1 gets an error",
        "exit: the gateway ends by itself",
        "hang-up: the call gets an error",
        "progress: as it happens",
        "cancellation: reaches the server",
        "ask: the answer went back",
        "picture: other blocks are identical",
        "terminated: the server goes too",
        "a server that stays: the server goes too",
        "last calls: all are answered",
        "a launcher: the server goes too",
    ]);
    let seconds = verdict.fact("seconds for 50 MB");
    assert!(seconds < 60.0, "50 MB took {seconds} s");
}

#[test]
fn the_inspector_lists_and_calls_through_the_gateway() {
    let lab = Lab::new("inspector");
    let config = lab.inspector_config();
    let listed = lab.inspect(&config, &["--method", "tools/list"]);
    let names: Vec<_> = listed["tools"]
        .as_array()
        .expect("tools/list prints tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"read_text_file"), "{names:?}");
    assert!(
        names.ends_with(&[
            "spillgate_read",
            "spillgate_grep",
            "spillgate_query",
            "spillgate_search"
        ]),
        "{names:?}"
    );

    let file = lab.big_file();
    let argument = format!("path={}", file.display());
    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        "read_text_file",
        "--tool-arg",
        &argument,
    ];
    let result = lab.inspect(&config, &call);
    let text = result["content"][0]["text"].as_str().expect("a text block");
    assert!(
        text.starts_with("[spillgate] read_text_file returned "),
        "{text}"
    );
    assert!(text.len() < PREVIEW_BYTES_MAX, "{} bytes", text.len());
    assert_eq!(result["structuredContent"]["spillgate"], json!(text));
}

#[test]
fn the_clients_of_the_sdks_find_again_what_was_stored() {
    let lab = Lab::new("sdks");
    let verdict = lab.drive("sdks", &lab.shelf_server());
    let clients = [
        "mcp.ClientSession",
        "mcp.Client",
        "fastmcp.Client",
        "typescript v1",
        "typescript v2",
    ];
    let checks = [
        "our tools last",
        "a small result",
        "journal: a preview",
        // Each client also validates this preview against the tool's output schema.
        "rows: a preview",
        "grep finds the needle",
        "read gives the line",
        "query gives the row",
        "tool_output finds the needle",
    ];
    let names = clients.map(|client| checks.map(|check| format!("{client}: {check}")));
    let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    verdict.shows(&names);
}

#[test]
fn a_program_reads_a_field_of_a_large_result() {
    let lab = Lab::new("programs");
    let verdict = lab.drive("programs", &lab.shelf_server());
    verdict.shows(&[
        "mcp.Client: preview",
        "mcp.Client: structured",
        "mcp.Client: whole",
        "typescript v2: structured",
        "code mode: a preview has no such field",
        "code mode: structured",
        "code mode: whole",
    ]);
}

#[test]
fn the_tools_of_five_servers_are_found_and_called() {
    let lab = Lab::new("tool_search");
    let verdict = lab.drive("tool_search", &[]);
    verdict.shows(&[
        "over 100 tools",
        "a short list",
        "only our tools",
        "nearly all of the unseen tasks",
        "found: open a web page",
        "called: create a commit with a message",
        "a direct call of a tool that is not listed",
        "the nearest name",
    ]);
}

#[test]
fn the_data_of_fastmcps_own_client_is_the_same_through_the_gateway() {
    let verdict = Lab::new("fast").drive("fast", &[]);
    let of_generation = |generation: &str| {
        [
            "text 3: the same",
            "rows 3: the same",
            "table 3: the same",
            "maybe 3: the same",
            "either 3: the same",
            "text 3000: a preview",
            "rows 3000: a preview",
            "untyped 3000: a preview",
        ]
        .map(|check| format!("FastMCP {generation}, {check}"))
    };
    let names = ["4", "3"].map(of_generation).concat();
    verdict.shows(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The transports on both sides of the gateway.
const SIDES: [&str; 4] = [
    "stdio client, stdio server",
    "stdio client, http server",
    "http client, stdio server",
    "http client, http server",
];

/// Runs a driver with clients of one MCP generation and servers of the other, and expects these
/// checks for each pair of transports.
fn bridged(driver: &str, only: &str, bridge: &str, checks: &[&str]) {
    let lab = Lab::new(&format!("{driver}-{only}"));
    let verdict = lab.drive_with(driver, &["--only", only], &[]);
    let of_side = |side: &&str| {
        let named = |check: &&str| format!("{side}, {bridge}: {check}");
        checks.iter().map(named).collect::<Vec<_>>()
    };
    let names: Vec<String> = SIDES.iter().flat_map(of_side).collect();
    verdict.shows(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_modern_client_gets_all_of_a_legacy_server() {
    let checks = [
        "the generation",
        "tools",
        "templates",
        "grep finds the needle",
        "cat --raw is the result",
        "a resource that is not there",
        "a tool that is not there",
        "progress",
        "the server hears of it",
        "it is asked: sample",
        "it is asked: elicit form",
        "it is asked: elicit url",
        "changes",
        "log messages",
    ];
    bridged("bridged_python", "to-legacy", "always", &checks);
}

#[test]
fn a_legacy_client_gets_all_of_a_modern_server() {
    let checks = [
        "the generation",
        "tools",
        "templates",
        "grep finds the needle",
        "cat --raw is the result",
        "completion",
        "a resource that is not there",
        "an error",
        "progress",
        "the server hears of it",
        "log messages",
        "it is asked in two rounds",
        "a page",
        "changes",
    ];
    bridged("bridged_python", "to-modern", "auto", &checks);
}

#[test]
fn servers_of_both_generations_behind_one_gateway() {
    let lab = Lab::new("bridged-several");
    let verdict = lab.drive_with("bridged_python", &["--only", "several"], &[]);
    verdict.shows(&[
        "legacy: the modern one asks",
        "legacy: grep finds the needle",
        "auto: the legacy one asks",
        "auto: grep finds the needle",
    ]);
}

#[test]
fn the_typescript_client_of_today_and_a_legacy_server() {
    let checks = ["tools", "grep finds the needle", "it is asked", "a sample"];
    bridged("bridged_node", "to-legacy", "always", &checks);
}

#[test]
fn the_typescript_client_of_before_and_a_modern_server() {
    let checks = [
        "tools",
        "grep finds the needle",
        "it is asked",
        "a failure",
        "an error",
        "a resource that is not there",
    ];
    bridged("bridged_node", "to-modern", "auto", &checks);
}

#[test]
fn every_reply_of_server_everything_is_the_servers_own() {
    replay("everything");
}

#[test]
fn every_reply_of_server_filesystem_is_the_servers_own() {
    replay("filesystem");
}

#[test]
fn every_reply_of_server_memory_is_the_servers_own() {
    replay("memory");
}

#[test]
fn every_reply_of_mcp_server_git_is_the_servers_own() {
    replay("git");
}

/// This test needs a browser. Without one, `cargo xtask test` skips the test and says so.
#[test]
fn every_reply_of_playwright_is_the_servers_own() {
    replay("playwright");
}

/// Tests that the answers to `initialize` and the resource lists are also passed on unchanged if
/// the gateway serves no content as links.
#[test]
fn without_links_greetings_are_the_servers_own_too() {
    let options = ["--only", "filesystem", "--no-links"];
    let verdict = Lab::new("replay-no-links").drive_with("replay", &options, &[]);
    verdict.shows(&["there are sessions", "some replies were too large"]);
}

/// Replays the corpus of one server with and without the gateway.
fn replay(server: &str) {
    let lab = Lab::new(&format!("replay-{server}"));
    let verdict = lab.drive_with("replay", &["--only", server], &[]);
    verdict.shows(&[
        "there are sessions",
        "some replies were too large",
        "most replies are the same without a mask",
    ]);
}

/// Helpers for the inspector.
impl Lab {
    /// Writes the inspector's configuration: server-filesystem behind the gateway. It is a file
    /// because the inspector's own command line swallows the `--` before the server's command.
    fn inspector_config(&self) -> PathBuf {
        let mut arguments = vec!["mcp".to_owned(), "--".to_owned()];
        arguments.extend(self.filesystem_server());
        let server = json!({
            "command": GATEWAY,
            "args": arguments,
            "env": { "SPILLGATE_STORE": self.store },
        });
        let path = self.work.join("inspector.json");
        let config = json!({ "mcpServers": { "files": server } });
        fs::write(&path, config.to_string()).expect("the configuration is written");
        path
    }

    /// Runs the inspector's command line and returns the JSON that it prints.
    fn inspect(&self, config: &Path, arguments: &[&str]) -> Value {
        let inspector = self.node_server("mcp-inspector");
        let mut command = Command::new(&inspector[0]);
        command
            .args(&inspector[1..])
            .args(["--cli", "--server", "files", "--config"])
            .arg(config)
            .args(arguments)
            // Otherwise the inspector keeps files in the home directory and queries the keychain.
            .env("HOME", &self.work)
            .env("MCP_INSPECTOR_SECRET_STORE", "memory");
        let stdout = self.finish(&mut command);
        serde_json::from_str(&stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {stdout}\n{}", self.stderr()))
    }

    /// Writes a text file of 5 MB.
    fn big_file(&self) -> PathBuf {
        let path = self.work.join("big.log");
        let line = "12:00:00 GET /items/4711 200 in 3 ms by worker 17\n";
        fs::write(&path, line.repeat(5_000_000 / line.len())).expect("the file is written");
        path
    }
}
