//! An environment for agents: a scripted model, an MCP server, files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spillgate_artifact::Handle;
use tokio::runtime::Runtime;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::tool::{Tool, feed};

/// `server.sh`: a server whose `log` is large, whose `note` is small and whose `slow` never
/// returns.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { say '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; id=${id%%\}*}
  case "$line" in
    *'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"lab","version":"1"}}';;
    *'"tools/list"'*) say '{"tools":[
      {"name":"log","description":"gives a long log","inputSchema":{"type":"object"}},
      {"name":"note","description":"gives a note","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}}},
      {"name":"slow","description":"never comes back","inputSchema":{"type":"object"}}]}' | tr -d '\n'; echo;;
    *'"name":"log"'*) text "$(seq -f 'line %g of the log\n' 1 2000 | tr -d '\n')";;
    *'"name":"note"'*) text "a note \u001b[31mwith a colour";;
    *'"name":"slow"'*) : > "$MARK";;
  esac
done"#;

/// Length of a handle, in bytes.
const HANDLE: usize = 8 + 36 + 1 + 36;

/// The prompt file of most tests.
pub(crate) const PROMPT: &str =
    "---\nmodels: mock/reader\ntools: [lab]\n---\nYou find things out.\n";

/// A step of a script: one reply of the model.
#[derive(Clone)]
pub(crate) enum Step {
    /// Calls these tools.
    Calls(Vec<(&'static str, Value)>),
    /// Calls `agent__final_report` with this content.
    Reports(&'static str),
    /// Makes the call that the function builds from the last tool result. If the function returns
    /// `None`, the model answers that it is lost.
    Follows(fn(&str) -> Option<(&'static str, Value)>),
    /// Writes this text; `NONCE` stands for the wrapper's nonce.
    Says(&'static str),
}

/// A model that follows a script for each agent. Each script has a mark, and the first script whose
/// mark is in the system prompt of a request is used. The number of replies in the request selects
/// the step.
pub(crate) struct Script {
    // The runtime on which the mock server runs.
    runtime: Runtime,
    server: MockServer,
}

impl Script {
    pub(crate) fn of(scripts: Vec<(&'static str, Vec<Step>)>) -> Self {
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(MockServer::start());
        let reply = move |request: &Request| answer(&scripts, request);
        let mock = Mock::given(method("POST")).and(path("/v1/chat/completions"));
        runtime.block_on(mock.respond_with(reply).mount(&server));
        // An API on the same server, for REST tools.
        let weather = |request: &Request| match request.url.path() {
            "/large" => ResponseTemplate::new(200).set_body_raw(large_page(), "text/html"),
            path => ResponseTemplate::new(200).set_body_string(format!("rain in {path}")),
        };
        let mock = Mock::given(method("GET")).respond_with(weather);
        runtime.block_on(mock.mount(&server));
        Self { runtime, server }
    }

    /// Returns the requests to the model.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let requests = self.runtime.block_on(self.server.received_requests());
        let bodies = requests.unwrap().into_iter();
        let bodies = bodies.filter(|one| one.method.as_str() == "POST");
        bodies.map(|one| one.body_json().unwrap()).collect()
    }

    /// Returns its host and port.
    pub(crate) fn host(&self) -> String {
        self.server.address().to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.server.uri())
    }
}

/// A page of 5,000 paragraphs.
fn large_page() -> String {
    let line = |n: u32| format!("<p>paragraph {n}: rain is expected in the north</p>\n");
    let paragraphs: String = (1..=5000).map(line).collect();
    format!("<html><head><title>Large</title></head><body><main>{paragraphs}</main></body></html>")
}

fn answer(scripts: &[(&'static str, Vec<Step>)], request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let messages = body["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    let replies = messages.iter().filter(|one| one["role"] == "assistant");
    let turn = replies.count();
    let (_, steps) = scripts
        .iter()
        .find(|(mark, _)| system.contains(mark))
        .unwrap_or_else(|| panic!("no script for: {system:.300}"));
    let step = steps.get(turn).cloned().unwrap_or(Step::Says("I am lost."));
    let all = body.to_string();
    let base = request.headers["host"].to_str().unwrap();
    let message = match step {
        Step::Says(text) => {
            let nonce = between(system, "<ai-agent-", "-FINAL").unwrap_or_default();
            json!({"role": "assistant", "content": text.replace("NONCE", nonce)})
        }
        Step::Reports(text) => calls(
            turn,
            &[("agent__final_report", json!({"report_content": text}))],
            &all,
            base,
        ),
        Step::Calls(named) => calls(turn, &named, &all, base),
        Step::Follows(next) => match next(last_given(messages)) {
            Some(call) => calls(turn, &[call], &all, base),
            None => json!({"role": "assistant", "content": "I am lost."}),
        },
    };
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "reply", "object": "chat.completion", "model": "reader",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020,
            "prompt_tokens_details": {"cached_tokens": 400},
        },
    }))
}

/// Returns the last tool result.
fn last_given(messages: &[Value]) -> &str {
    let mut given = messages.iter().filter(|one| one["role"] == "tool");
    let given = given.next_back().and_then(|one| one["content"].as_str());
    given.unwrap_or_default()
}

/// Builds a message with tool calls. In their arguments, `HANDLE` stands for the last handle in the
/// request and `BASE` for the server's host and port.
fn calls(turn: usize, named: &[(&str, Value)], request: &str, base: &str) -> Value {
    let handle = request
        .rfind("session-")
        .map_or("none", |at| &request[at..request.len().min(at + HANDLE)]);
    let calls: Vec<Value> = named
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| {
            let arguments = arguments
                .to_string()
                .replace("HANDLE", handle)
                .replace("BASE", base);
            json!({
                "id": format!("call-{turn}-{at}"), "type": "function",
                "function": {"name": name, "arguments": arguments},
            })
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(from)?;
    after.split_once(to).map(|(inner, _)| inner)
}

/// A directory with a prompt file, its configuration and the server.
pub(crate) struct Lab {
    pub(crate) tool: Tool,
    pub(crate) script: Script,
}

impl Lab {
    /// Creates a lab with `agent.ai` and this script for it.
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        Self::of(vec![("", steps)])
    }

    pub(crate) fn of(scripts: Vec<(&'static str, Vec<Step>)>) -> Self {
        let tool = Tool::new();
        let lab = Self {
            script: Script::of(scripts),
            tool,
        };
        lab.write("server.sh", SERVER);
        lab.write("agent.ai", PROMPT);
        lab.write(".ai-agent.json", &lab.config("").to_string());
        fs::create_dir(lab.temporary()).unwrap();
        lab
    }

    /// Returns the configuration; `window` is the model's context in tokens, or empty for 128,000.
    pub(crate) fn config(&self, window: &str) -> Value {
        let window = window.parse().unwrap_or(128_000);
        json!({
            "providers": {"mock": {
                "kind": "openai", "baseUrl": self.script.url(), "keyEnv": "MOCK_KEY", "stream": false,
                "retries": 0,
            }},
            "models": {"mock/reader": {
                "window": window, "maxOutput": 4096,
                "prices": {"input": 2.0, "output": 8.0, "cached_input": 0.5},
            }},
            "mcpServers": {"lab": {
                "command": "sh", "args": [self.path("server.sh")], "env": {"MARK": self.path("called")},
            }},
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tool.home().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Returns the directory in which runs create their directories.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path("temporary")
    }

    /// Returns the run directories that exist now.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.temporary()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Returns the command `spillgate agent` with these arguments, run in the lab's directory.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.tool.command(&[&["agent"], args].concat());
        command
            .current_dir(self.tool.home())
            .env("MOCK_KEY", "sk-mock-0123456789abcdef")
            .env("TMPDIR", self.temporary());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        feed(self.command(args), b"")
    }

    /// Runs the agent and returns its output, with the parts replaced that differ from run to run.
    pub(crate) fn said(&self, args: &[&str], stdin: &str) -> String {
        let output = feed(self.command(args), stdin.as_bytes());
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code().unwrap();
        self.steady(&format!(
            "$ agent {}\n{out}--- {code}\n{err}",
            args.join(" ")
        ))
    }

    /// Replaces the parts of a text that differ from run to run.
    pub(crate) fn steady(&self, text: &str) -> String {
        let text = text.replace(&self.tool.home().display().to_string(), "/HOME");
        let text = text.replace(&self.script.url(), "URL");
        let text = text.replace(&self.script.host(), "BASE");
        let mut steady = text.clone();
        for (at, _) in text.match_indices("session-") {
            let handle = text[at..]
                .get(..HANDLE)
                .filter(|one| one.parse::<Handle>().is_ok());
            if let Some(handle) = handle {
                steady = steady.replace(handle, "HANDLE");
            }
        }
        steady
    }

    /// Starts a run and returns once it has called `slow`.
    pub(crate) fn waiting(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until(|| self.path("called").exists(), "the slow tool is called");
        child
    }
}

/// Waits until `is_so` holds.
pub(crate) fn until(mut is_so: impl FnMut() -> bool, what: &str) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Reads a trace file.
pub(crate) fn trace(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}
