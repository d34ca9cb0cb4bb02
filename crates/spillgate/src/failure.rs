//! The error of a command: its kind, its message, whose fault it is, and a hint.

use spillgate_untrusted::{marked, shell_word};
use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use regex::Regex;
use serde_json::json;
use spillgate_clients::{Client, ClientsError};
use spillgate_gateway::GatewayError;
use spillgate_lookup::LookupError;
use spillgate_offload::{RetrieveError, Unstored};
use spillgate_query::QueryError;
use spillgate_store::{Absent, Remote, StoreError};
use spillgate_transport::ConnectionError;

use crate::args::Args;
use crate::examples;
use crate::marks::redacted;
use crate::output::{Output, Paint, When};

/// Who is responsible for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The caller, who can correct the request.
    Caller,
    /// A server that was contacted.
    Upstream,
    /// This program, or the machine that it runs on.
    Us,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Upstream => "upstream",
            Self::Us => "us",
        }
    }
}

/// The error of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) fault: Fault,
    /// Advice on how to correct the failure.
    pub(crate) hint: String,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn new(kind: &'static str, fault: Fault, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: harmless(&message.into()),
            fault,
            hint: String::new(),
            code: 1,
        }
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: harmless(&hint.into()),
            ..self
        }
    }

    /// Returns a copy with another message.
    #[must_use]
    pub(crate) fn message(self, message: &str) -> Self {
        Self {
            message: harmless(message),
            ..self
        }
    }

    #[must_use]
    pub(crate) fn code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Returns the message, which says what could not be done.
    pub(crate) fn text(&self) -> &str {
        &self.message
    }

    /// Returns whether what was asked for does not exist.
    pub(crate) fn is_absent(&self) -> bool {
        self.kind == "not_found"
    }

    /// Returns the `error` member of `--json` output.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({
            "kind": self.kind,
            "message": self.message,
            "fault": self.fault.name(),
            "hint": self.hint,
        })
    }

    /// Prints the failure; returns the exit code.
    pub(crate) fn report(&self, out: &Output) -> u8 {
        if out.json {
            drop(out.object(&json!({"error": self.to_json()})));
        } else {
            out.advice(Paint::Bad, "error:", &self.message);
            if !self.hint.is_empty() {
                out.advice(Paint::Strong, "hint:", &self.hint);
            }
        }
        self.code
    }
}

/// Returns a text without the numbers of the operating system's errors, which say nothing that their
/// texts do not say.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r" \(os error \d+\)").expect("invariant: the pattern is ours"));
    NUMBER.replace_all(text, "")
}

/// Marks hidden characters in a message and limits its length, because it may quote any text.
fn harmless(message: &str) -> String {
    const LONGEST: usize = 2000;
    let mut text: String = marked(&redacted(&plain(message)))
        .chars()
        .take(LONGEST)
        .collect();
    if message.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    text
}

/// Reports wrong usage, or prints the help that was requested. Looks for `--json` in the raw
/// arguments, because it applies to errors in the arguments, too.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let json = std::env::args_os().any(|argument| argument == "--json");
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !json {
        error.exit();
    }
    let text = error.render().to_string();
    let text = text.trim_start_matches("error: ");
    // Our hint replaces clap's pointer to the help.
    let text = text.split("\n\nFor more information").next();
    let text = text.unwrap_or_default().trim_end();
    // Hardly anybody means an option to be a value.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.retain(|line| !line.starts_with("  tip: to pass "));
    let text = lines.join("\n").replace("\n\n\n", "\n\n");
    // An error that quotes the value says all that clap says before it.
    let text = match text.split_once("': `") {
        Some((clap, own)) if clap.starts_with("invalid value '") => format!("`{own}"),
        _ => text,
    };
    let text = text.replace("invalid digit found in string", "write a whole number");
    let message = match json {
        true => {
            let first = text.split("\n\n").next().unwrap_or_default();
            first.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        false => text,
    };
    // A client takes exit code 2 of a hook as a refusal of the call.
    let is_hook = typed_command().is_some_and(|command| command == "hook");
    let failure = Failure::new("usage", Fault::Caller, message)
        .hint(how_it_is_used(error))
        .code(if is_hook { 1 } else { 2 });
    ExitCode::from(failure.report(&Output::new(json, When::default())))
}

/// Returns the hint for the command that was typed.
fn how_it_is_used(error: &clap::Error) -> String {
    let typed = (error.kind() != ErrorKind::InvalidSubcommand).then(typed_command);
    let Some(command) = typed.flatten() else {
        return other_command(error);
    };
    let help = format!("`spillgate help {command}` shows how it is used");
    if command == "auth" {
        return format!(
            "`spillgate auth SERVER` logs in; --status and --logout are options of it; {help}"
        );
    }
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    let is_missing = error.kind() == ErrorKind::MissingRequiredArgument;
    if is_missing && ["wrap", "unwrap"].contains(&&*command) {
        let clients = Client::ALL.map(Client::name).join(", ");
        return format!("CLIENT is one of {clients}; {help}");
    }
    if ["cat", "extract", "show"].contains(&&*command) && Path::new(value).is_file() {
        let file = shell_word(value);
        return format!(
            "`spillgate read {file}` reads a file without storing it, as grep, query, search and outline do; \
             `spillgate put {file}` stores a large one"
        );
    }
    let is_argument = |option: &str| {
        let named = error.get(ContextKind::InvalidArg);
        error.kind() == ErrorKind::UnknownArgument
            && matches!(named, Some(ContextValue::String(it)) if it.starts_with(option))
    };
    if command == "unwrap" && is_argument("--hooks") {
        return "`spillgate unwrap CLIENT` removes the hooks, too".to_owned();
    }
    let is_tail = std::env::args_os().any(|word| word == "--tail");
    let is_word = is_argument("") && !is_argument("-");
    match command.as_str() {
        "read" if (is_word && is_tail) || is_argument("-") && is_number(error) => {
            return format!("the last 5 lines: spillgate read last --tail --lines 5\n{help}");
        }
        "ls" if is_word => return format!("`spillgate show HANDLE` describes one output; {help}"),
        "config" if is_word => {
            return format!("one setting: spillgate config | grep NAME\n{help}");
        }
        _ => {}
    }
    match examples::first(&command) {
        Some(example) => format!("for example: {example}\n{help}"),
        None => help,
    }
}

/// Returns whether the argument that is not known is a negative number.
fn is_number(error: &clap::Error) -> bool {
    let named = error.get(ContextKind::InvalidArg);
    matches!(named, Some(ContextValue::String(it)) if it.parse::<i64>().is_ok())
}

/// Returns the hint for a word that is no command: the command that looks most like it.
fn other_command(error: &clap::Error) -> String {
    /// Letters that may differ: those of a slip of the fingers.
    const SLIPS: usize = 2;
    let list = "`spillgate help` lists the commands";
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return list.to_owned();
    };
    let program = Args::command();
    let names = program.get_subcommands().filter(|it| !it.is_hide_set());
    let near = names
        .map(|it| (strsim::damerau_levenshtein(it.get_name(), word), it))
        .filter(|(distance, _)| *distance <= SLIPS && *distance < word.chars().count());
    match near.min_by_key(|(distance, _)| *distance) {
        Some((_, command)) => format!("did you mean `spillgate {}`? {list}", command.get_name()),
        None => list.to_owned(),
    }
}

/// Returns the command among the raw arguments.
pub(crate) fn typed_command() -> Option<String> {
    let commands = Args::command();
    let mut typed = std::env::args_os().skip(1);
    typed.find_map(|word| {
        let word = word.into_string().ok()?;
        commands.find_subcommand(&word).map(|_| word)
    })
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (fault, hint) = match &error {
            StoreError::Absent {
                why: Absent::Gone { .. },
                ..
            } => (
                Fault::Caller,
                "store it again with `spillgate run` or `spillgate put`; `spillgate ls` lists what is stored",
            ),
            StoreError::Absent { .. } => (
                Fault::Caller,
                "`spillgate ls` lists what is stored; --store DIR looks elsewhere",
            ),
            StoreError::Reserve { .. } => (
                Fault::Us,
                "free some space, lower `reserve`, or name another place with --store DIR",
            ),
            StoreError::Full { .. } => (
                Fault::Us,
                "free some space, remove outputs with `spillgate rm`, or name another place with --store DIR",
            ),
            StoreError::Denied { .. } => (
                Fault::Us,
                "give yourself the right to read and write it (`ls -ld` shows whose it is), or name another one with --store DIR",
            ),
            StoreError::Damaged { .. } => (
                Fault::Us,
                "the file was changed from outside; remove it with `spillgate rm`",
            ),
            StoreError::Newer { .. } => (
                Fault::Caller,
                "use that version, or name another store with --store DIR",
            ),
            StoreError::Locked { .. } => (
                Fault::Caller,
                "set SPILLGATE_STORE_KEY to the key with which it was stored; `spillgate rm` removes it without the key",
            ),
            StoreError::Keyless { .. } => (
                Fault::Caller,
                "set SPILLGATE_STORE_KEY, or leave out `encrypt` in [secrets]",
            ),
            StoreError::Exposed { why, .. } if why.starts_with("it belongs") => (
                Fault::Caller,
                "name a directory of your own with --store DIR, or accept this one with --shared-store",
            ),
            StoreError::Exposed { .. } => (
                Fault::Caller,
                "remove the write permission of others (`chmod go-w DIR`), name another one with --store DIR, or accept it with --shared-store",
            ),
            StoreError::Remote { why, .. } => match why {
                Remote::Unreachable => (
                    Fault::Upstream,
                    "check the network and the server, then try again; `spillgate doctor --no-start` checks the store",
                ),
                Remote::Busy => (
                    Fault::Upstream,
                    "try again later; if this lasts, ask who runs the server",
                ),
                Remote::Denied => (
                    Fault::Caller,
                    "check the credentials in the environment (docs/object-store.md lists the variables) and what they allow",
                ),
                Remote::Refused => (
                    Fault::Caller,
                    "check the name of the bucket and its region; `spillgate doctor --no-start` checks the store",
                ),
            },
            _ => (
                Fault::Us,
                "check that the directory exists and that you may write to it, or name another one with --store DIR",
            ),
        };
        Self::new(error.kind(), fault, error.to_string()).hint(hint)
    }
}

impl From<Unstored> for Failure {
    fn from(error: Unstored) -> Self {
        match error {
            Unstored::Failed(error) => error.into(),
            secrets @ Unstored::Secrets { .. } => {
                Self::new("secrets_refused", Fault::Caller, secrets.to_string()).hint(
                    "print less, or set `stored` in [secrets] to another value; docs/redaction.md says what each does",
                )
            }
        }
    }
}

impl From<LookupError> for Failure {
    fn from(error: LookupError) -> Self {
        let (fault, hint) = match &error {
            LookupError::BadPattern { .. } => (
                Fault::Caller,
                "escape characters that are meant literally, as in \\( or \\.",
            ),
            LookupError::PatternTooLarge | LookupError::CostlyBoundary(_) => (
                Fault::Caller,
                "write `*` or `+` in place of bounds such as `{0,1000}`",
            ),
            LookupError::Interrupted { .. } => (Fault::Caller, "ask for less at a time"),
            LookupError::EmptyQuestion => (Fault::Caller, "ask with at least one word"),
            LookupError::NoText { .. } => (
                Fault::Caller,
                "`spillgate outline` shows the paths of a JSON document",
            ),
            LookupError::PastEnd { .. } => (Fault::Caller, "ask for a position before the end"),
            _ => (
                Fault::Us,
                "remove the artifact with `spillgate rm` and make it again",
            ),
        };
        let message = match &error {
            LookupError::BadPattern { message } => what_is_wrong(message),
            _ => error.to_string(),
        };
        Self::new(error.kind(), fault, message).hint(hint)
    }
}

/// Returns the error of a pattern with what is wrong before the picture of where.
fn what_is_wrong(message: &str) -> String {
    let picture = message.strip_prefix("regex parse error:\n");
    let parts = picture.and_then(|picture| picture.split_once("\nerror: "));
    let begin = "the pattern is not a valid regular expression";
    match parts {
        Some((picture, what)) => format!("{begin}: {what}\n{picture}"),
        None => format!("{begin}: {message}"),
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let fault = match error.is_callers() {
            true => Fault::Caller,
            false => Fault::Us,
        };
        Self::new(error.kind(), fault, error.to_string()).hint(error.hint())
    }
}

impl From<RetrieveError> for Failure {
    fn from(error: RetrieveError) -> Self {
        match error {
            RetrieveError::Store(error) => error.into(),
            RetrieveError::Lookup(error) => error.into(),
            RetrieveError::Query(error) => error.into(),
            error @ RetrieveError::Blocked { .. } => {
                Self::new("secrets", Fault::Caller, error.to_string())
            }
            other => Self::new("retrieval", Fault::Us, other.to_string()),
        }
    }
}

impl From<ClientsError> for Failure {
    fn from(error: ClientsError) -> Self {
        let fault = match &error {
            ClientsError::Record { .. } => Fault::Us,
            _ => Fault::Caller,
        };
        Self::new(error.kind(), fault, error.to_string()).hint(error.fix())
    }
}

impl From<GatewayError> for Failure {
    fn from(error: GatewayError) -> Self {
        match &error {
            GatewayError::Open { error: why, .. } => {
                let hint = match why {
                    ConnectionError::Start(_) => {
                        "check the command, after `--` or in the configuration; it must be on PATH, or a path, and start an MCP server on its standard streams"
                    }
                    ConnectionError::Settings(_) => {
                        "correct it in the options or in the configuration"
                    }
                    _ => {
                        "`spillgate doctor` checks what clients have; docs/servers.md lists the settings of a server"
                    }
                };
                Self::new("server_not_started", Fault::Caller, error.to_string()).hint(hint)
            }
            _ => Self::new("stdio", Fault::Us, error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new("io", Fault::Us, error.to_string())
    }
}
