//! An agent with a served model and a real MCP server, and the outcome of one run.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::lab::{MAX_OUTPUT, ReplyForm, WINDOW, model, spillgate};
use crate::servers::Server;

/// Results of more bytes than this are stored. The limit is small, because the prompt has little
/// room for a result.
const CAP: u64 = 900;
/// Tokens of the window that are kept free.
const BUFFER: u64 = 64;

/// The prompt file, with placeholders for its tools and for `toolOutput`.
const PROMPT: &str = "\
---
models: MODEL
tools: [TOOLS]
maxTurns: 5
batch: false
taskStatus: false
toolResponseMaxBytes: CAP
toolOutput:
  answerTokens: ANSWER
  maxTurns: 3
  MORE
---
You find things out with your tools.
";

/// An agent in a directory of its own.
pub(crate) struct Agent {
    home: TempDir,
    server: Server,
}

impl Agent {
    /// Creates an agent with the tools of `server`, a model with this reply form, and one more line
    /// under `toolOutput`.
    pub(crate) fn new(form: ReplyForm, server: Server, more: &str) -> Self {
        let agent = Self {
            home: tempfile::tempdir().unwrap(),
            server,
        };
        let model = model();
        let prompt = PROMPT
            .replace("MODEL", &model)
            .replace("TOOLS", agent.server.tools)
            .replace("CAP", &CAP.to_string())
            .replace("ANSWER", &MAX_OUTPUT.to_string())
            .replace("MORE", more);
        fs::write(agent.path("agent.ai"), prompt).unwrap();
        let (program, arguments) = agent.server.command.split_first().unwrap();
        // The model's server would answer a retry only after the request that it repeats. So the
        // time limit must be long enough for the slowest machine.
        let config = json!({
            "providers": {"local": {"kind": "openai", "baseUrl": form.url(), "timeoutS": 600}},
            "models": {model: {"window": WINDOW, "maxOutput": MAX_OUTPUT}},
            "mcpServers": {agent.server.name: {"command": program, "args": arguments}},
            "defaults": {"contextWindowBuffer": BUFFER},
        });
        fs::write(agent.path(".ai-agent.json"), config.to_string()).unwrap();
        fs::create_dir(agent.path("temporary")).unwrap();
        agent
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Runs the agent with `options` on a task that lists `steps`, and checks the properties that
    /// every run must have.
    pub(crate) fn run(&self, question: &str, steps: &[Value], options: &[&str]) -> Run {
        let steps = steps.iter().map(|step| format!("\n{step}"));
        let task = format!("{question}{}\n", steps.collect::<String>());
        let trace = self.path("trace.json");
        let mut child = spillgate(self.home.path())
            .current_dir(self.home.path())
            .args(["agent", "agent.ai", "--json", "--trace", "trace.json"])
            .args(options)
            .env("TMPDIR", self.path("temporary"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(task.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let parsed = |text: &[u8]| {
            serde_json::from_slice(text).unwrap_or_else(|error| panic!("{error}: {output:?}"))
        };
        let run = Run {
            said: parsed(&output.stdout),
            trace: parsed(&fs::read(trace).unwrap_or_default()),
            output,
        };
        run.tell();
        run.adds_up();
        run
    }

    /// Returns the entries that are left in the parent of the run directories.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("temporary")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Returns the SHA-256 of the bytes that are stored under a handle in the run directory that
    /// was kept.
    pub(crate) fn sum_of_stored(&self, handle: &str) -> String {
        let left = self.left();
        let [kept] = left.as_slice() else {
            panic!("{left:?}")
        };
        let mut cat = spillgate(self.home.path());
        cat.args(["cat", handle, "--raw", "--store"]).arg(kept);
        let cat = cat.output().unwrap();
        assert!(cat.status.success(), "{cat:?}");
        sum(&cat.stdout)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

pub(crate) fn sum(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Run {
    said: Value,
    trace: Value,
    output: Output,
}

impl Run {
    /// Checks that the run ended with a report that the model gave in this way.
    #[track_caller]
    pub(crate) fn reported_by(&self, source: &str) {
        assert_eq!(self.code(), 0, "{self:?}");
        assert_eq!(self.said["ending"]["status"], "success", "{self:?}");
        assert_eq!(self.said["report"]["source"], source, "{self:?}");
        let report = self.said["report"]["content"].as_str().unwrap();
        assert!(!report.trim().is_empty(), "{self:?}");
    }

    pub(crate) fn code(&self) -> i32 {
        self.output.status.code().expect("it exits")
    }

    pub(crate) fn said(&self, pointer: &str) -> &Value {
        self.said.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// Returns the handle of the result of `tool`, which was larger than the cap and is not shown.
    #[track_caller]
    pub(crate) fn stored(&self, tool: &str) -> &str {
        let op = self.called(tool);
        assert_eq!(op["decided"]["as"], "stored", "{op}");
        assert_eq!(op["decided"]["reason"], "size_cap", "{op}");
        assert!(op["response_bytes"].as_u64() > Some(CAP), "{op}");
        op["decided"]["handle"].as_str().unwrap()
    }

    /// Returns the size of the result of `tool`, in bytes.
    pub(crate) fn bytes_of(&self, tool: &str) -> u64 {
        self.called(tool)["response_bytes"].as_u64().unwrap()
    }

    /// Checks that `tool_output` was asked about the stored result and answered with `strategy`;
    /// returns the number of requests to the model.
    #[track_caller]
    pub(crate) fn extracted(&self, tool: &str, strategy: &str) -> usize {
        let (handle, op) = (self.stored(tool), self.called("tool_output"));
        let first =
            format!("ABSTRACT FROM TOOL OUTPUT {tool} WITH HANDLE {handle}, STRATEGY:{strategy}:");
        let answer = op["response_preview"].as_str().unwrap();
        assert_eq!(answer.lines().next(), Some(first.as_str()), "{op}");
        assert!(!answer.contains("WARNING: tool_output fallback"), "{op}");
        assert_eq!(op["decided"]["as"], "shown", "{op}");
        assert_eq!(op["error"], Value::Null, "{op}");
        let calls = found(&self.trace["root"], &|op| {
            let said = op["response_preview"].as_str().unwrap_or_default();
            op["kind"] == "llm" && said.starts_with("[tool_output ") && said.contains(handle)
        });
        assert_eq!(calls.len(), 1, "it was called with the handle: {self:?}");
        let child = found(op, &|op| op["kind"] == "session");
        assert!(child.iter().any(|op| op["name"] == strategy) || strategy == "truncate");
        found(op, &is_llm).len()
    }

    /// Checks in the trace that the mode `mode` led to the strategy `strategy`.
    #[track_caller]
    pub(crate) fn routed(&self, mode: &str, strategy: &str) {
        let route = format!("route {mode} to {strategy}");
        let routes = found(self.called("tool_output"), &|op| op["name"] == *route);
        assert_eq!(routes.len(), 1, "{route}: {self:?}");
    }

    /// Returns the names of the model requests that an extraction made.
    pub(crate) fn asked(&self) -> Vec<&str> {
        let asked = found(self.called("tool_output"), &is_llm);
        let names = asked.iter().map(|op| op["name"].as_str().unwrap());
        names.collect()
    }

    /// Returns the only call of a tool by the agent itself.
    #[track_caller]
    fn called(&self, tool: &str) -> &Value {
        let turns = self.trace["root"]["children"].as_array().into_iter();
        let ops = turns
            .flatten()
            .filter_map(|turn| turn["children"].as_array());
        let mut ops = ops
            .flatten()
            .filter(|op| op["kind"] == "tool" && op["name"] == tool);
        let (first, more) = (ops.next(), ops.next());
        assert!(more.is_none(), "{self:?}");
        first.unwrap_or_else(|| panic!("{tool} was not called: {self:?}"))
    }

    /// Checks that the accounts match the tree: in total, for the agent's own turns and for
    /// extractions.
    #[track_caller]
    fn adds_up(&self) {
        let root = &self.trace["root"];
        assert_eq!(
            self.said["accounting"], self.trace["accounting"],
            "{self:?}"
        );
        let (said, traced) = (&self.said["report"], &self.trace["report"]);
        assert_eq!(said["content"], traced["content"], "{self:?}");
        let all = found(root, &is_llm);
        assert!(!all.is_empty(), "{self:?}");
        for op in &all {
            assert_eq!(op["target"], model().as_str(), "{op}");
            assert!(op["usage"]["input"].as_u64() > Some(0), "{op}");
            assert!(op["usage"]["output"].as_u64() > Some(0), "{op}");
        }
        let total = &self.trace["accounting"]["total"];
        assert_eq!(entered(total), counted(&all), "{self:?}");
        let within = found(root, &|op| {
            op["name"] == "tool_output" && op["kind"] == "tool"
        });
        let within: Vec<_> = within.iter().flat_map(|op| found(op, &is_llm)).collect();
        let part = self.part("tool_output");
        assert_eq!(part, counted(&within), "{self:?}");
        let own = self.part("own");
        for at in 0..own.len() {
            assert_eq!(own[at] + part[at], entered(total)[at], "{self:?}");
        }
    }

    /// Returns the account of a part of the run.
    fn part(&self, part: &str) -> [u64; 4] {
        let rows = self.trace["accounting"]["models"].as_array().unwrap();
        let mut rows = rows.iter().filter(|row| row["part"] == part);
        rows.next().map_or([0; 4], entered)
    }

    /// Prints one line for the person who runs the tests.
    fn tell(&self) {
        let total = entered(&self.said["accounting"]["total"]);
        let line = format!(
            "  agent {} ({}): {} calls, {} + {} tokens, {:.1} s\n",
            self.said["ending"]["status"],
            self.said["report"]["source"],
            total[0],
            total[1],
            total[3],
            self.said["took_ms"].as_f64().unwrap_or_default() / 1000.0,
        );
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

/// Returns calls and the tokens of input, cached input and output of an entry in the accounts.
fn entered(entry: &Value) -> [u64; 4] {
    let of = |key: &str| entry["usage"][key].as_u64().unwrap_or_default();
    let calls = entry["calls"].as_u64().unwrap_or_default();
    [calls, of("input"), of("cached_input"), of("output")]
}

/// Sums the same figures over requests.
fn counted(asked: &[&Value]) -> [u64; 4] {
    asked.iter().fold([0; 4], |sum, op| {
        let one = entered(op);
        [
            sum[0] + 1,
            sum[1] + one[1],
            sum[2] + one[2],
            sum[3] + one[3],
        ]
    })
}

fn is_llm(op: &Value) -> bool {
    op["kind"] == "llm"
}

/// Returns the operations of a tree for which `is_so` holds, in their order.
fn found<'a>(op: &'a Value, is_so: &dyn Fn(&Value) -> bool) -> Vec<&'a Value> {
    let children = op["children"].as_array().into_iter().flatten();
    let within = children.flat_map(|child| found(child, is_so));
    is_so(op).then_some(op).into_iter().chain(within).collect()
}
