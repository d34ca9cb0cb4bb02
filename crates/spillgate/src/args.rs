//! Command-line arguments: the commands, the options that all commands share, and the options of
//! most commands.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use serde::Serialize;
use spillgate_artifact::ByteRange;
use spillgate_extract::Mode;
use spillgate_llm::{Target, TargetError};
use spillgate_offload::{Profile, ResultMode, Rule};
use spillgate_text::Tokenizer;

#[cfg(feature = "agent")]
use crate::agent_args::Agent;
use crate::client_args::{Doctor, Hook, Unwrap, Wrap};
use crate::handle_arg::HandleArg;
#[cfg(not(all(
    feature = "agent",
    feature = "login",
    feature = "serve",
    feature = "tools",
    feature = "ui"
)))]
use crate::left_out::LeftOut;
use crate::output::When;
#[cfg(feature = "login")]
use crate::server_args::Auth;
use crate::server_args::Mcp;
#[cfg(feature = "serve")]
use crate::server_args::Serve;
#[cfg(feature = "ui")]
use crate::server_args::Ui;
use crate::store_args::{Export, Ls, Rm, Share};
use crate::target::TargetArg;
use crate::tool_output::parse_targets;
#[cfg(feature = "tools")]
use crate::tools_args::Tools;

/// Keeps oversized tool outputs out of a language model's context and loses
/// none of them.
///
/// An output that fits passes through unchanged. A larger one is stored byte
/// for byte and replaced by a short message with a handle, the shape of the
/// content and the calls that read or search it.
#[derive(Debug, Parser)]
#[command(version, long_version = crate::features::version(), max_term_width = 100, after_help = AFTER_HELP, propagate_version = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  spillgate run -- make test              the output, or a preview if it is large
  spillgate grep last 'error' -C 3        look into the output that was stored last
  spillgate search last why did it fail
  spillgate ls                            what is stored
  spillgate wrap claude-code              put a client's MCP servers behind the gateway

Exit codes: 0 success; 1 failure, the message says why; 2 wrong usage; `grep` 1 if no line matches and 2 after an error; `diff` 1 if the texts differ; 130 or 143 a signal cancelled an extraction or \
an agent; 124 an agent reached its time limit. `run` returns the command's own code, 128 + n if signal n ended the command, and 126 or 127 if \
it could not be started. `mcp` returns 1 if the server ended by itself.";

const EVERYWHERE: &str = "Options of all commands";

/// Options that every command takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Common {
    /// Where artifacts are stored: a directory, or the address of a bucket [env:
    /// `SPILLGATE_STORE`]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = EVERYWHERE)]
    pub(crate) store: Option<PathBuf>,
    /// The configuration file, spillgate.toml; for `mcp` and `auth` also a client's list of
    /// servers, such as .mcp.json [env: `SPILLGATE_CONFIG`]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = EVERYWHERE)]
    pub(crate) config: Option<PathBuf>,
    /// Print one JSON object, for lists one per line; errors are JSON, too
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,
    /// Use a store even if it belongs to another user or other users can write to it [env:
    /// `SPILLGATE_SHARED_STORE`]
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) shared_store: bool,
    /// Colours: auto (on a terminal, unless `NO_COLOR` is set), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true, hide_possible_values = true, help_heading = EVERYWHERE)]
    pub(crate) color: When,
    /// Print long texts on a terminal at once instead of through `PAGER`
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) no_pager: bool,
    /// The tokenizer: `o200k_base`, `cl100k_base` or heuristic [env: `SPILLGATE_TOKENIZER`]
    #[arg(long, global = true, value_name = "NAME", hide_possible_values = true, value_parser = tokenizer(), help_heading = EVERYWHERE)]
    pub(crate) tokenizer: Option<Tokenizer>,
}

/// When a result is offloaded, and how an offloaded result is shown.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
pub(crate) struct LimitArgs {
    /// Store outputs of more than this many tokens; 0 means no limit [env:
    /// `SPILLGATE_MAX_TOKENS`] [default: the profile's own limit, 2500 for previews]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Store outputs of more than this many bytes; 0 means no limit [env: `SPILLGATE_MAX_BYTES`]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "NAME", help = profile_help())]
    pub(crate) profile: Option<Profile>,
    /// End the errors of the reject profile with a summary of the content and calls to make next
    /// [env: `SPILLGATE_DETAILED_RECOVERY`]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[arg(long)]
    pub(crate) detailed_recovery: bool,
    /// What a client receives of an oversized result. Only the gateway has a flag for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub(crate) results: Option<ResultMode>,
}

/// Returns the help text of `--profile`, which names the built-in profiles.
fn profile_help() -> String {
    let names = Profile::BUILT_IN
        .map(|profile| profile.to_string())
        .join(", ");
    format!(
        "How an oversized result is shown: {names} or the name of a template of yours [env: \
         `SPILLGATE_PROFILE`]"
    )
}

impl LimitArgs {
    /// Returns the limits that the flags set.
    pub(crate) fn rule(&self) -> Rule {
        Rule {
            max_tokens: self.max_tokens,
            max_bytes: self.max_bytes,
            profile: self.profile.clone(),
            detailed_recovery: self.detailed_recovery.then_some(true),
            results: self.results,
            ..Rule::default()
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command and store its output if it is too large
    Run(Run),
    /// Store files or standard input if they are too large
    Put(Put),
    /// Read lines or bytes of a stored output or a file
    Read(Read),
    /// Find lines that match a regular expression in a stored output or a file
    Grep(Grep),
    /// Filter a stored output or a file with jq: JSON, lines of JSON, tables, text
    Query(Query),
    /// Find the passages of a stored output or a file that answer a question
    Search(Search),
    /// Have a model answer a question about a stored output
    Extract(Extract),
    /// Show the shape of a stored output or a file: keys, columns, templates, headings, definitions
    Outline(Outline),
    /// Read the next characters of an output that the continuation profile cut
    Continue(Continue),
    /// Print a stored output whole
    Cat(Cat),
    /// List what is stored
    Ls(Ls),
    /// Show the manifest of a stored output: its origin, sizes and hashes
    Show(Show),
    /// Show how two stored outputs differ
    Diff(Diff),
    /// Check that stored outputs are unchanged, byte for byte
    Verify(Verify),
    /// Write a stored output to a file, and check that it is whole
    Export(Export),
    /// Remove stored outputs
    Rm(Rm),
    /// Keep a stored output from being expired or evicted
    Pin(Pin),
    /// Let a tenant of a gateway read an output of another for a time
    Share(Share),
    /// Show how many tokens came in, were shown and were read later
    Stats,
    /// Find secrets in files, or print files with marks in their place
    Redact(Redact),
    /// Show the settings in force and where each comes from
    Config(Config),
    /// Run an agent from a prompt file: a model, its tools and a report
    #[cfg(feature = "agent")]
    Agent(Box<Agent>),
    /// Run an agent from a prompt file; this build was made without it (feature `agent`)
    #[cfg(not(feature = "agent"))]
    Agent(LeftOut),
    /// Run the gateway between MCP clients and their servers, on stdio or HTTP
    Mcp(Box<Mcp>),
    /// Serve an HTTP API with which programs and guardrails store results and read them
    #[cfg(feature = "serve")]
    Serve(Box<Serve>),
    /// Serve an HTTP API; this build was made without it (feature `serve`)
    #[cfg(not(feature = "serve"))]
    Serve(LeftOut),
    /// Show what is stored, and what it saved, on a page in the browser
    #[cfg(feature = "ui")]
    Ui(Ui),
    /// Show what is stored in the browser; this build was made without it (feature `ui`)
    #[cfg(not(feature = "ui"))]
    Ui(LeftOut),
    /// Log in at an MCP server that requires it (OAuth)
    #[cfg(feature = "login")]
    Auth(Auth),
    /// Log in at an MCP server; this build was made without it (feature `login`)
    #[cfg(not(feature = "login"))]
    Auth(LeftOut),
    /// Run an MCP server with tools for files, commands and the web that have bounded answers
    #[cfg(feature = "tools")]
    Tools(Box<Tools>),
    /// Run an MCP server with tools for files, commands and the web; this build was made without it (feature `tools`)
    #[cfg(not(feature = "tools"))]
    Tools(LeftOut),
    /// Run an MCP server that reads and greps files (replaced by `spillgate tools`)
    #[command(hide = true)]
    #[cfg(feature = "tools")]
    FsMcp(FsMcp),
    /// Replaced by `spillgate tools`
    #[command(hide = true)]
    #[cfg(not(feature = "tools"))]
    FsMcp(LeftOut),
    /// Put the servers of an MCP client's configuration behind the gateway
    Wrap(Wrap),
    /// Undo `wrap`: restore a client's configuration
    Unwrap(Unwrap),
    /// Answer a hook of a coding agent, on standard input: large outputs of its own tools become
    /// previews
    Hook(Hook),
    /// Check the clients' configurations, the gateway and the servers behind it
    Doctor(Doctor),
    /// Print a section for a system prompt
    Prompt(Prompt),
    /// Print completions for a shell
    Completions(Completions),
    /// Print a shell's function `spill`, which runs a command with a preview of its output
    Init(Init),
    /// Print a manual page, or write all of them to a directory
    Man(Man),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Your own id for this call, which `continue` accepts instead of the handle
    #[arg(long = "id", value_name = "ID")]
    pub(crate) call_id: Option<String>,
    /// Keep standard output and standard error apart instead of interleaving them
    #[arg(long)]
    pub(crate) split: bool,
    /// Do not show the output while the command runs on a terminal, only the result
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "CMD",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<std::ffi::OsString>,
}

const PUT_EXAMPLES: &str = "\
Examples:
  spillgate put build.log test.log
          files: each one, or a preview of it
  make 2>&1 | spillgate put --tool make
          the output, or a preview if it is too large
  CALL='{\"path\": \"x.log\"}' spillgate put --json --if-large --lookups --tool read_log --arguments-env CALL < x.log
          for a program between a tool and a model: {\"offloaded\": false, …} if the output fits";

#[derive(Debug, clap::Args)]
#[command(after_help = PUT_EXAMPLES)]
pub(crate) struct Put {
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// The files; `-` is standard input [default: -]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// The name of the tool that made the output, for messages and rules [default: the file's name,
    /// or stdin]
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Your own id for this output, which `continue` accepts instead of the handle
    #[arg(long = "id", value_name = "ID")]
    pub(crate) call_id: Option<String>,
    /// The environment variable with the arguments of the tool's call, as JSON; the manifest of a
    /// stored output contains them
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) arguments_env: Option<String>,
    /// The call failed, and the output is its error
    #[arg(long)]
    pub(crate) failed: bool,
    /// Name the look-up tools in the message instead of commands, for a model that has the tools
    #[arg(long)]
    pub(crate) lookups: bool,
    /// Print nothing if the output fits; with --json, leave out its text and its figures
    #[arg(long)]
    pub(crate) if_large: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Read {
    /// A stored output (its handle, the first letters of it, or `last`) or a file, which is read
    /// without storing it; `./last` is a file, `-` is standard input
    #[arg(value_name = "HANDLE|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) target: TargetArg,
    /// The path of a string in a JSON document, to read its text: .content, .files[2].patch
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// First line, from 1
    #[arg(long, value_name = "N", conflicts_with_all = ["tail", "bytes"])]
    pub(crate) start: Option<u64>,
    /// Number of lines; 0 means all
    #[arg(long, value_name = "N", conflicts_with = "bytes")]
    pub(crate) lines: Option<u64>,
    /// Print the last lines instead of the first
    #[arg(long, conflicts_with = "bytes")]
    pub(crate) tail: bool,
    /// Print the bytes from A up to, but not including, B instead of lines; A or B may be left out
    #[arg(long, value_name = "A..B")]
    pub(crate) bytes: Option<ByteRange>,
    /// Maximum tokens of the page [env: `SPILLGATE_PAGE_TOKENS`] [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Print the number of each line before the line
    #[arg(short, long)]
    pub(crate) number: bool,
}

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of `grep`")]
pub(crate) struct Grep {
    /// A stored output (its handle, the first letters of it, or `last`) or a file, which is read
    /// without storing it; `./last` is a file, `-` is standard input
    #[arg(value_name = "HANDLE|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) target: TargetArg,
    /// The path of a string in a JSON document, to search its text: .content, .files[2].patch
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// A regular expression (syntax of Rust's regex crate)
    #[arg(allow_hyphen_values = true)]
    pub(crate) regex: String,
    /// Lines of context before each match
    #[arg(short = 'B', long, value_name = "N")]
    pub(crate) before_context: Option<u64>,
    /// Lines of context after each match
    #[arg(short = 'A', long, value_name = "N")]
    pub(crate) after_context: Option<u64>,
    /// Lines of context before and after each match
    #[arg(short = 'C', long, value_name = "N")]
    pub(crate) context: Option<u64>,
    /// Ignore the case of letters
    #[arg(short, long, overrides_with = "case_sensitive")]
    pub(crate) ignore_case: bool,
    /// Distinguish upper and lower case (the default)
    #[arg(short = 's', long, action = ArgAction::SetTrue)]
    pub(crate) case_sensitive: bool,
    /// The pattern is a plain text, not a regular expression
    #[arg(short = 'F', long)]
    pub(crate) fixed_strings: bool,
    /// Find the pattern only as whole words
    #[arg(short = 'w', long)]
    pub(crate) word_regexp: bool,
    /// Find the lines that do not match
    #[arg(short = 'v', long)]
    pub(crate) invert_match: bool,
    /// Print only the matching parts of the lines, each on a line
    #[arg(short, long, conflicts_with = "invert_match")]
    pub(crate) only_matching: bool,
    /// Print only the number of matching lines
    #[arg(short, long, conflicts_with = "files_with_matches")]
    pub(crate) count: bool,
    /// Print only the name of the output or file, if a line matches
    #[arg(short = 'l', long)]
    pub(crate) files_with_matches: bool,
    /// Print nothing; the exit code says whether a line matches
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print the number of each line (the default)
    #[arg(short = 'n', long, overrides_with = "no_line_number")]
    pub(crate) line_number: bool,
    /// Print no line numbers
    #[arg(short = 'N', long)]
    pub(crate) no_line_number: bool,
    /// Accepted for those used to `grep -E`: the syntax is always the extended one
    #[arg(short = 'E', long, hide = true)]
    pub(crate) extended_regexp: bool,
    /// Show matches from this line on
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) start: u64,
    /// Maximum number of matches to show; 0 means as many as fit
    #[arg(
        short,
        long,
        visible_alias = "max-count",
        value_name = "N",
        default_value_t = 50
    )]
    pub(crate) max_matches: usize,
    /// Maximum tokens of the page [env: `SPILLGATE_PAGE_TOKENS`] [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// A stored output (its handle, the first letters of it, or `last`) or a file, which is read
    /// without storing it; `./last` is a file, `-` is standard input
    #[arg(value_name = "HANDLE|FILE", value_hint = ValueHint::AnyPath, required_unless_present = "all")]
    pub(crate) target: Option<TargetArg>,
    /// A question or some words; if one begins with `-`, write `--` before the words
    #[arg(required_unless_present = "all", value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Search the newest 40 outputs of the store instead of one output, at most 64 MiB of text
    #[arg(long, value_name = "WORDS", num_args = 1.., conflicts_with_all = ["target", "words"])]
    pub(crate) all: Vec<String>,
    /// Maximum tokens of the passages [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Extract {
    /// The output: its handle, the first letters of it, or `last`
    pub(crate) handle: HandleArg,
    /// What to extract, in words; if one begins with `-`, write `--` before the words
    #[arg(required = true, value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// The mode: auto, full-chunked, read-grep, truncate or search
    #[arg(long, value_name = "MODE", default_value_t, hide_possible_values = true, value_parser = mode())]
    pub(crate) mode: Mode,
    /// The models, in the order in which they are tried: provider/model[,provider/model…]
    /// [env: `SPILLGATE_MODEL`]
    #[arg(long, value_name = "MODELS", value_parser = parse_models)]
    pub(crate) model: Option<Models>,
    /// In the mode `auto`, read every chunk of an output that has at most this many chunks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_chunks: Option<u64>,
    /// Maximum tokens of a chunk; 0 means as many as the model accepts
    #[arg(long, value_name = "N")]
    pub(crate) chunk_tokens: Option<u64>,
    /// Maximum number of chunks that are read at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) parallel: Option<u64>,
    /// Stop reading once a chunk has a verified answer
    #[arg(long)]
    pub(crate) early_stop: bool,
    /// Print the steps of the extraction on standard error, or write them to FILE as JSON
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
}

/// Models in the order in which they are tried.
#[derive(Debug, Clone)]
pub(crate) struct Models(pub(crate) Vec<Target>);

/// Parses a tokenizer's name, which a shell can complete.
fn tokenizer() -> impl TypedValueParser<Value = Tokenizer> {
    let names = ["o200k_base", "cl100k_base", "heuristic"];
    PossibleValuesParser::new(names)
        .map(|name| name.parse().expect("invariant: only known names come here"))
}

fn mode() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::ALL.map(Mode::name))
        .map(|name| name.parse().expect("invariant: only known names come here"))
}

fn parse_models(text: &str) -> Result<Models, TargetError> {
    parse_targets(text).map(Models)
}

#[derive(Debug, clap::Args)]
pub(crate) struct Outline {
    /// A stored output (its handle, the first letters of it, or `last`) or a file, which is read
    /// without storing it; `./last` is a file, `-` is standard input
    #[arg(value_name = "HANDLE|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) target: TargetArg,
    /// Maximum tokens of the outline
    #[arg(long, value_name = "N", default_value_t = spillgate_outline::DEFAULT_TOKENS)]
    pub(crate) max_tokens: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Continue {
    /// The id that the marker names, or a complete handle
    pub(crate) id: String,
    /// The first character, from 0 [default: where the first slice ended]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) offset: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Query {
    /// A stored output (its handle, the first letters of it, or `last`) or a file, which is read
    /// without storing it; `./last` is a file, `-` is standard input
    #[arg(value_name = "HANDLE|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) target: TargetArg,
    /// A jq filter
    #[arg(allow_hyphen_values = true)]
    pub(crate) filter: String,
    /// Print strings without quotes
    #[arg(short, long)]
    pub(crate) raw_output: bool,
    /// Give the filter all documents, lines or rows as one array
    #[arg(short, long)]
    pub(crate) slurp: bool,
    /// Show results from this one on, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) start: u64,
    /// Skip this many bytes of the first shown result
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) byte: u64,
    /// Maximum tokens of the page [env: `SPILLGATE_PAGE_TOKENS`] [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Cat {
    /// The output: its handle, the first letters of it, or `last`
    pub(crate) handle: HandleArg,
    /// Print the bytes as they were received instead of the readable view
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The output: its handle, the first letters of it, or `last`
    pub(crate) handle: HandleArg,
    /// Also show the raw bytes that this line of the view was made from
    #[arg(long, value_name = "N")]
    pub(crate) line: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// The older output: its handle, the first letters of it, or `last`
    pub(crate) older: HandleArg,
    /// The newer output
    #[arg(default_value = "last")]
    pub(crate) newer: HandleArg,
}

const REDACT_EXAMPLES: &str = "\
Examples:
  spillgate redact --check .env config.yaml      list the secrets: file, line, column, rule
  git diff --cached | spillgate redact --check -
  spillgate redact server.log > shared.log       print the file with marks in place of secrets

Exit codes of --check: 0 no secret, 1 a secret was found, 2 a file could not be read.";

#[derive(Debug, clap::Args)]
#[command(after_help = REDACT_EXAMPLES)]
pub(crate) struct Redact {
    /// The files; `-` is standard input [default: -]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// List where the secrets are, without showing any part of them
    #[arg(long)]
    pub(crate) check: bool,
    /// List the ids of all rules
    #[arg(long, conflicts_with_all = ["check", "files"])]
    pub(crate) list_rules: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The outputs: handles, the first letters of them, or `last` [default: all]
    pub(crate) handles: Vec<HandleArg>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Pin {
    /// The output: its handle, the first letters of it, or `last`
    pub(crate) handle: HandleArg,
    /// Let the output be expired and evicted again
    #[arg(long)]
    pub(crate) off: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Config {
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FsMcp {
    /// The directory; nothing outside of it can be read
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: PathBuf,
    /// Maximum tokens of an answer, at least 128 [env: `SPILLGATE_PAGE_TOKENS`] [default: 2500]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Prompt {
    /// The section to print
    pub(crate) section: PromptSection,
}

/// Sections for a system prompt.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum PromptSection {
    /// How to work with the messages of the funnel profile
    Funnel,
    /// How to read stored outputs with commands, for the instructions of a coding agent
    Cli,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell that the completions are for
    pub(crate) shell: Shell,
}

const INIT_EXAMPLES: &str = "\
Examples:
  eval \"$(spillgate init bash)\"                 in ~/.bashrc
  eval \"$(spillgate init zsh)\"                  in ~/.zshrc, after compinit
  spillgate init fish | source                  in ~/.config/fish/config.fish
  spill make test                               then: a preview if the output is large";

#[derive(Debug, clap::Args)]
#[command(after_help = INIT_EXAMPLES)]
pub(crate) struct Init {
    /// The shell that reads the script at its start
    pub(crate) shell: InitShell,
}

/// Shells that `spillgate init` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InitShell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The command whose page is printed [default: the page of the whole program]
    #[arg(conflicts_with = "dir")]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands to this directory instead
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
