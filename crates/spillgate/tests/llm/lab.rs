//! A store, a configuration that names the served model, and the outcome of one extraction.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The tool that the texts name as their origin.
const TOOL: &str = "read_log";

/// The model's context in tokens, as configured. Its server allows more, because it counts
/// differently.
pub(crate) const WINDOW: u64 = 2048;

/// Maximum tokens of a reply. A reply that a grammar constrains ends earlier.
pub(crate) const MAX_OUTPUT: u64 = 256;

/// Maximum tokens of a reply that no grammar constrains: a small model continues until it is cut
/// off.
const MAX_FREE_OUTPUT: u64 = 96;

/// How the server constrains the model's replies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReplyForm {
    /// The model is not constrained.
    Free,
    /// A grammar forces the model to use the requested form.
    Held,
    /// Like `Held`, and the model cannot answer that it found nothing.
    Sure,
}

impl ReplyForm {
    /// Returns the URL at which the server constrains the model's replies in this way.
    pub(crate) fn url(self) -> String {
        let path = match self {
            Self::Free => "v1",
            Self::Held => "held/v1",
            Self::Sure => "sure/v1",
        };
        format!("http://{}/{path}", served("SPILLGATE_TEST_LLM"))
    }
}

/// Returns the model, as `provider/model`.
pub(crate) fn model() -> String {
    format!("local/{}", served("SPILLGATE_TEST_LLM_MODEL"))
}

fn served(name: &str) -> String {
    std::env::var(name).expect("no model is served here: run `cargo xtask test-llm`")
}

/// `spillgate` with a model and an empty store.
pub(crate) struct Lab {
    home: TempDir,
}

impl Lab {
    /// Creates a lab with these lines under `[tool_output]`.
    pub(crate) fn new(form: ReplyForm, tool_output: &str) -> Self {
        Self::with_window(form, WINDOW, tool_output)
    }

    pub(crate) fn with_window(form: ReplyForm, window: u64, tool_output: &str) -> Self {
        let (url, model) = (form.url(), model());
        let answer = match form {
            ReplyForm::Free => MAX_FREE_OUTPUT,
            ReplyForm::Held | ReplyForm::Sure => MAX_OUTPUT,
        };
        // The model's server would answer a retry only after the request that it repeats. So the
        // time limit must be long enough for the slowest machine.
        let config = format!(
            "[tool_output]\nmodels = [\"{model}\"]\nanswer_tokens = {answer}\n{tool_output}\n\n\
             [providers.local]\nkind = \"openai\"\nbase_url = \"{url}\"\ntimeout_s = 600\n\n\
             [models.\"{model}\"]\nwindow = {window}\nmax_output = {MAX_OUTPUT}\n"
        );
        let lab = Self {
            home: tempfile::tempdir().unwrap(),
        };
        fs::write(lab.config(), config).unwrap();
        lab
    }

    /// Stores `text`, extracts from it with `arguments`, and checks the properties that every
    /// extraction must have.
    pub(crate) fn extract(&self, text: &Text, arguments: &[&str]) -> Answer {
        // This profile has the shortest message. A small text would not be stored if its message
        // were larger than the text.
        let put = [
            "put",
            "--json",
            "--tool",
            TOOL,
            "--max-tokens",
            "50",
            "--profile",
            "handle",
        ];
        let put = json(&self.run(&put, text.0.as_bytes()));
        let handle = put["handle"].as_str().expect("it is stored").to_owned();
        let before = self.ledger().len();
        let mut all = vec!["extract", "--json", &handle];
        all.extend(arguments);
        let start = Instant::now();
        let output = self.run(&all, b"");
        let answer = Answer {
            said: json(&output),
            handle,
            took: start.elapsed(),
        };
        answer.tell();
        answer.keeps_the_protocol(text);
        answer.is_entered(&self.ledger()[before..]);
        answer
    }

    fn run(&self, arguments: &[&str], stdin: &[u8]) -> Output {
        let mut child = spillgate(self.home.path())
            .args(arguments)
            .arg("--config")
            .arg(self.config())
            .env("SPILLGATE_STORE", self.store())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The texts are smaller than a pipe's buffer.
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Returns all ledger entries so far.
    fn ledger(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.store().join("ledger.ndjson")).unwrap_or_default();
        let entries = text.lines().map(serde_json::from_str);
        entries.collect::<Result<_, _>>().unwrap()
    }

    fn config(&self) -> PathBuf {
        self.home.path().join("spillgate.toml")
    }

    fn store(&self) -> PathBuf {
        self.home.path().join("store")
    }
}

/// Returns the command of the binary with this home directory and without variables that set up
/// Spillgate.
pub(crate) fn spillgate(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spillgate"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SPILLGATE_") {
            command.env_remove(name);
        }
    }
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A text to extract from, the same in every run.
pub(crate) struct Text(String);

impl Text {
    /// A log of this many lines, with an error in the second half.
    pub(crate) fn log(lines: usize) -> Self {
        let line = |at: usize| match at == lines * 2 / 3 {
            true => {
                "12:07:31 ERROR worker-3 failed, code=E4217, disk quota exceeded on /data/vol7\n"
                    .to_owned()
            }
            false => format!(
                "12:{:02}:{:02} INFO worker-{} batch done\n",
                at / 60,
                at % 60,
                at % 7
            ),
        };
        Self((0..lines).map(line).collect())
    }

    /// An array of this many objects in one line.
    pub(crate) fn json(items: usize) -> Self {
        const NAMES: [&str; 5] = ["valve", "gasket", "flange", "gauge", "hose"];
        let item = |at: usize| match at == items / 2 {
            true => {
                serde_json::json!({"id": at, "name": "pump", "place": "hall B", "note": "to be checked in May"})
            }
            false => {
                serde_json::json!({"id": at, "name": NAMES[at % 5], "place": "hall A", "note": "in order"})
            }
        };
        Self(Value::Array((0..items).map(item).collect()).to_string())
    }

    /// Whether the text contains `quote`, apart from white space and JSON's escapes.
    fn has(&self, quote: &str) -> bool {
        let bare = |text: &str| text.replace(|c: char| c.is_whitespace() || c == '\\', "");
        self.0.contains(quote) || bare(&self.0).contains(&bare(quote))
    }
}

/// The answer of an extraction.
#[derive(Debug)]
pub(crate) struct Answer {
    said: Value,
    handle: String,
    took: Duration,
}

impl Answer {
    /// Checks that the strategy `strategy` gave this answer.
    #[track_caller]
    pub(crate) fn is(&self, strategy: &str) {
        assert_eq!(self.said["strategy"], strategy, "{self:?}");
        assert!(
            !self.text().contains("WARNING: tool_output fallback"),
            "{self:?}"
        );
    }

    /// Checks that `strategy` gave this answer, or that the answer says why the strategy could not
    /// be used.
    #[track_caller]
    pub(crate) fn is_or_fell_back_from(&self, strategy: &str) {
        if self.said["strategy"] != "truncate" {
            return self.is(strategy);
        }
        let warning = format!("WARNING: tool_output fallback to truncate ({strategy} failed).");
        assert_eq!(
            self.body().lines().next(),
            Some(warning.as_str()),
            "{self:?}"
        );
        assert_eq!(self.status(), "failed", "{self:?}");
    }

    /// Checks that every byte was examined, in chunks that were all read.
    #[track_caller]
    pub(crate) fn read_everything(&self) {
        let (examined, total) = self.examined();
        assert_eq!(examined, total, "{self:?}");
        assert_eq!(self.said["coverage"]["failed_chunks"], 0, "{self:?}");
    }

    /// Returns the bytes examined and the bytes in total.
    pub(crate) fn examined(&self) -> (u64, u64) {
        let of = |key| self.number("coverage", key);
        (of("bytes_examined"), of("bytes_total"))
    }

    pub(crate) fn chunks(&self) -> u64 {
        self.number("coverage", "chunks")
    }

    pub(crate) fn calls(&self) -> u64 {
        self.said["calls"].as_u64().expect("calls are counted")
    }

    pub(crate) fn status(&self) -> &str {
        self.said["status"].as_str().expect("it has a status")
    }

    /// Returns the text between the first line and the end of the envelope.
    pub(crate) fn body(&self) -> &str {
        let text = self.text();
        text.split_once("\n\n").map_or("", |(_, body)| body)
    }

    /// Checks that the trace has every request to the model with its reply.
    #[track_caller]
    pub(crate) fn is_traced(&self) {
        let asked = self.traced("llm");
        assert_eq!(asked.len() as u64, self.calls(), "{self:?}");
        for op in asked {
            assert!(op["messages"].as_u64() > Some(0), "{op}");
            assert!(op["request_bytes"].as_u64() > Some(0), "{op}");
            let preview = op["response_preview"].as_str().map_or(0, str::len);
            assert!((1..=4096).contains(&preview), "{preview} bytes: {op}");
        }
    }

    /// Returns the operations of a kind in the trace, outermost first.
    fn traced(&self, kind: &str) -> Vec<&Value> {
        let mut found = Vec::new();
        let mut next = vec![&self.said["trace"]];
        while let Some(op) = next.pop() {
            next.extend(op["children"].as_array().into_iter().flatten());
            if op["kind"] == kind {
                found.push(op);
            }
        }
        found
    }

    fn text(&self) -> &str {
        self.said["text"].as_str().expect("it has a text")
    }

    fn number(&self, of: &str, key: &str) -> u64 {
        let number = self.said[of][key].as_u64();
        number.unwrap_or_else(|| panic!("no {of}.{key}: {self:?}"))
    }

    /// Prints one line for the person who runs the tests.
    fn tell(&self) {
        let of = |key| self.said["tokens"][key].as_u64().unwrap_or_default();
        let line = format!(
            "  {} {}: {} calls, {} + {} tokens, {:.1} s\n",
            self.said["strategy"],
            self.said["status"],
            self.calls(),
            of("input"),
            of("output"),
            self.took.as_secs_f64()
        );
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }

    /// Checks the properties that every answer must have.
    fn keeps_the_protocol(&self, text: &Text) {
        let strategy = self.said["strategy"].as_str().expect("it has a strategy");
        let first = format!(
            "ABSTRACT FROM TOOL OUTPUT {TOOL} WITH HANDLE {}, STRATEGY:{strategy}:",
            self.handle
        );
        let mut lines = self.text().lines();
        assert_eq!(lines.next(), Some(first.as_str()), "{self:?}");
        assert_eq!(lines.next(), Some(""), "{self:?}");
        assert!(!self.body().trim().is_empty(), "{self:?}");
        assert!(
            !self.body().contains("<ai-agent-"),
            "the form is no part of the answer: {self:?}"
        );
        assert!(
            ["found", "partial", "not_found", "failed"].contains(&self.status()),
            "{self:?}"
        );

        let asked = self.calls() > 0;
        assert_eq!(asked, self.number("tokens", "input") > 0, "{self:?}");
        assert_eq!(asked, self.number("tokens", "output") > 0, "{self:?}");
        assert!(
            self.number("tokens", "cached_input") <= self.number("tokens", "input"),
            "{self:?}"
        );

        let (examined, total) = self.examined();
        assert!(
            total >= text.0.len() as u64 && examined <= total,
            "{self:?}"
        );
        if self.number("coverage", "failed_chunks") > 0 {
            assert!(["partial", "failed"].contains(&self.status()), "{self:?}");
        }
        for citation in self.said["citations"]
            .as_array()
            .expect("citations are listed")
        {
            self.is_there(citation, text);
        }
    }

    /// Checks that the quote of a citation occurs in the text at the cited place.
    fn is_there(&self, citation: &Value, text: &Text) {
        let range = |key: &str| {
            let pair = [0, 1].map(|at| citation[key][at].as_u64());
            let [Some(first), Some(last)] = pair else {
                panic!("no {key}: {citation}")
            };
            (first, last)
        };
        let (first, last) = range("lines");
        assert!(0 < first && first <= last, "{citation} {self:?}");
        let (from, to) = range("bytes");
        assert!(
            from < to && to <= text.0.len() as u64,
            "{citation} {self:?}"
        );
        if let Some(quote) = citation["quote"].as_str() {
            // A model may quote a line with its number, because it sees the line with the number.
            let number = format!("{first}:");
            let quote = quote.strip_prefix(&number).unwrap_or(quote);
            assert!(text.has(quote), "not in the text: {citation} {self:?}");
        }
    }

    /// Checks that the ledger contains an entry for the extraction.
    fn is_entered(&self, entries: &[Value]) {
        let of_this = |entry: &&Value| {
            entry["exit"] == "extracted" && entry["handle"] == self.handle.as_str()
        };
        let entered: Vec<&Value> = entries.iter().filter(of_this).collect();
        let [entry] = entered.as_slice() else {
            panic!("{} entries of it: {entries:?}", entered.len())
        };
        if self.calls() > 0 {
            let spent = &entry["extraction"];
            assert_eq!(spent["calls"], self.said["calls"], "{entry}");
            assert_eq!(
                spent["input_tokens"], self.said["tokens"]["input"],
                "{entry}"
            );
            assert_eq!(
                spent["output_tokens"], self.said["tokens"]["output"],
                "{entry}"
            );
        }
    }
}
