//! A running gateway, driven by frames on standard streams as a client sends them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::tool::Tool;

/// A server that reads and answers nothing. It suffices for tests of the gateway's own tools.
pub(crate) const SILENT: &str = "cat >/dev/null";

/// A server with one tool whose result is large. Its answers to `initialize` and `tools/call` have
/// the fixed ids 1 and 3.
pub(crate) const LARGE: &str = r#"
while read -r line; do
  case "$line" in
    *initialize*) echo '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}}}}';;
    *tools/list*) id=${line##*\"id\":}; echo '{"jsonrpc":"2.0","id":'${id%%,*}',"result":{"tools":[{"name":"big"}]}}';;
    *tools/call*) text=$(seq -s, 1 20000); echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"'$text'"}]}}';;
  esac
done"#;

/// A running gateway.
pub(crate) struct Session {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn start(tool: &Tool, options: &[&str], server: &str) -> Self {
        let args = [&["mcp"], options, &["--", "sh", "-c", server]].concat();
        let mut command = tool.command(&args);
        command.env("MOCK_KEY", "sk-mock-0123456789abcdef");
        Self::of(command)
    }

    /// Starts a gateway with these environment variables and this standard error.
    pub(crate) fn start_with(
        tool: &Tool,
        variables: &[(&str, &str)],
        stderr: Stdio,
        server: &str,
    ) -> Self {
        let mut command = tool.command(&["mcp", "--", "sh", "-c", server]);
        command.envs(variables.iter().copied()).stderr(stderr);
        Self::of(command)
    }

    /// Starts a gateway with this command.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        Self { child, to, from }
    }

    /// Returns its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, id: u64, method: &str, params: &Value) {
        // The frame is formatted by hand, because the shell server expects the id at this place.
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        writeln!(self.to, "{frame}").unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        let frame = json!({"jsonrpc": "2.0", "method": method, "params": params});
        writeln!(self.to, "{frame}").unwrap();
    }

    /// Returns the next frame as it came.
    pub(crate) fn receive_line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn receive(&mut self) -> Value {
        let line = self.receive_line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
    }

    /// Calls one of our tools; returns its text, after `error: ` if the call failed.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> String {
        self.send(
            9,
            "tools/call",
            &json!({"name": name, "arguments": arguments}),
        );
        let result = self.receive()["result"].clone();
        let text = result["content"][0]["text"].as_str().unwrap();
        match result["isError"] == true {
            true => format!("error: {text}"),
            false => text.to_owned(),
        }
    }

    /// Kills the gateway, as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn end(self) {
        self.end_with(0);
    }

    /// Closes the gateway's input and expects this exit code.
    pub(crate) fn end_with(mut self, code: i32) {
        drop(self.to);
        assert_eq!(self.child.wait().unwrap().code(), Some(code));
    }
}

/// Returns the names in a list of tools.
pub(crate) fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}
