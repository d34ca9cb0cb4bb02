//! Real MCP servers with large results: server-filesystem on a large tree, and mcp-server-git on a
//! long history.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Sizes of the data: directories of the tree, files in each directory, lines of the log, and
/// commits of the history.
const PARTS: usize = 60;
const NOTES: usize = 50;
const LOG_LINES: usize = 90_000;
const COMMITS: usize = 3_000;

/// An MCP server and the data that it serves.
pub(crate) struct Server {
    /// The name of the server in a configuration.
    pub(crate) name: &'static str,
    /// The tools of this server that an agent gets.
    pub(crate) tools: &'static str,
    pub(crate) command: Vec<String>,
    directory: TempDir,
}

impl Server {
    /// server-filesystem on 3,000 files: `app.log` is over 4 MiB, `today.log` would fit twice into
    /// a prompt.
    pub(crate) fn files() -> Self {
        let directory = tempfile::tempdir().unwrap();
        write_tree(directory.path());
        let peers = peers();
        let command = [
            peers.join("bin/node"),
            peers.join("node/node_modules/.bin/mcp-server-filesystem"),
            directory.path().to_owned(),
        ];
        Self {
            name: "files",
            tools: "files/directory_tree, files/read_text_file",
            command: command.iter().map(|part| shown(part)).collect(),
            directory,
        }
    }

    /// mcp-server-git on a repository of 3,000 commits.
    pub(crate) fn git() -> Self {
        let directory = tempfile::tempdir().unwrap();
        commit(directory.path());
        let python = shown(&peers().join("python/bin/python"));
        Self {
            name: "git",
            tools: "git/git_log",
            command: vec![python, "-m".to_owned(), "mcp_server_git".to_owned()],
            directory,
        }
    }

    /// Returns a path in the data.
    pub(crate) fn path(&self, name: &str) -> String {
        shown(&self.directory.path().join(name))
    }

    /// Returns the answer of the server itself, without the gateway.
    pub(crate) fn says(&self, tool: &str, arguments: &Value) -> String {
        let (program, rest) = self.command.split_first().unwrap();
        let mut child = Command::new(program)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let client = json!({"name": "test", "version": "1"});
        let begin =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let call = json!({"name": tool, "arguments": arguments});
        let messages = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
        ];
        // The input stays open until the answer arrives: a server ends with its standard input.
        let mut stdin = child.stdin.take().unwrap();
        for message in messages {
            writeln!(stdin, "{message}").unwrap();
        }
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut answers = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let answer = answers
            .find(|answer| answer["id"] == 2)
            .expect("it answers");
        child.kill().unwrap();
        child.wait().unwrap();
        let blocks = answer["result"]["content"].as_array().unwrap();
        let texts = blocks.iter().map(|block| block["text"].as_str().unwrap());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Returns the directory that `cargo xtask peers` installed them in.
fn peers() -> PathBuf {
    // Read at run time: checkouts that share a target directory also share the compiled test.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let peers = package.join("../../.peers").canonicalize();
    peers.expect("no peers here: run `cargo xtask peers` first")
}

fn write_tree(directory: &Path) {
    for part in 0..PARTS {
        let directory = directory.join(format!("part-{part:02}"));
        fs::create_dir(&directory).unwrap();
        for note in 0..NOTES {
            let text = format!("note {note} of part {part}\n");
            fs::write(directory.join(format!("note-{note:02}.txt")), text).unwrap();
        }
    }
    let line = |at: usize| {
        if at == LOG_LINES * 2 / 3 {
            return "12:07:31 ERROR worker-3 failed, code=E4217, disk quota exceeded\n".to_owned();
        }
        let (minute, second, worker) = (at / 60 % 60, at % 60, at % 7);
        format!(
            "12:{minute:02}:{second:02} INFO worker-{worker} has ended its batch, nothing is left\n"
        )
    };
    let log: String = (0..LOG_LINES).map(line).collect();
    fs::write(directory.join("app.log"), log).unwrap();
    let today: String = (0..18).map(line).collect();
    fs::write(directory.join("today.log"), today).unwrap();
}

/// Writes a history with `git fast-import`.
fn commit(directory: &Path) {
    let mut stream = String::new();
    for at in 0..COMMITS {
        let who = format!(
            "A Dev <dev@example.com> {} +0000",
            1_700_000_000 + at * 3600
        );
        let message = format!("Fix error E{} in part {}", 4000 + at, at % 17);
        let text = format!("line {}\n", at % 10);
        write!(
            stream,
            "commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {}\n{message}\n\
             M 100644 inline file-{}.txt\ndata {}\n{text}\n",
            message.len(),
            at % 40,
            text.len(),
        )
        .unwrap();
    }
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git
    };
    let init = git(&["init", "--quiet", "--initial-branch=main"]).status();
    assert!(init.unwrap().success());
    let mut import = git(&["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = import.stdin.take().unwrap();
    stdin.write_all(stream.as_bytes()).unwrap();
    drop(stdin);
    assert!(import.wait().unwrap().success());
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
