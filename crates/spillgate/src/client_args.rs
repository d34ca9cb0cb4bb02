//! Command-line arguments of `wrap`, `unwrap` and `doctor`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};
use spillgate_clients::{Client, Scope, has_hooks};

const WRAP_EXAMPLES: &str = "\
Examples:
  spillgate wrap claude-code --dry-run          show what would change
  spillgate wrap codex --server files           one server only
  spillgate wrap vscode --scope project         .vscode/mcp.json of this directory
  spillgate wrap claude-code --hooks            previews for the client's own tools
  spillgate wrap cursor --gateway-arg=--max-tokens --gateway-arg=5000
  spillgate --store /data/spill wrap goose      the gateway stores there

--store, --config and --tokenizer are passed on to the gateway. Clients read their configuration when they \
start: restart them. docs/clients.md lists the files.";

const UNWRAP_EXAMPLES: &str = "\
Examples:
  spillgate unwrap claude-code                  everything, as it was
  spillgate unwrap codex --server files         one server only
  spillgate unwrap cursor --dry-run             show what would change

A file that is unchanged since `wrap` is restored byte for byte. In a file that was changed, only Spillgate's \
own entries are undone.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  spillgate doctor                              all clients that have a configuration here
  spillgate doctor claude-code
  spillgate doctor --no-start --json            start no server

Exit codes: 0 all is well; 1 something is broken.";

/// `spillgate wrap`.
#[derive(Debug, clap::Args)]
#[command(after_help = WRAP_EXAMPLES)]
pub(crate) struct Wrap {
    /// The client whose configuration is changed
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub(crate) client: Client,
    #[command(flatten)]
    pub(crate) which: Which,
    /// An additional argument for `spillgate mcp`; may be repeated
    #[arg(long = "gateway-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) gateway_args: Vec<String>,
    /// Add no entry that offers the look-up tools: each server lists them itself, and they are added
    /// to its list of allowed tools
    #[arg(long)]
    pub(crate) no_lookups: bool,
    /// Add hooks for the client's own tools, such as its shell, and leave its servers alone
    #[arg(long, conflicts_with_all = ["servers", "gateway_args", "no_lookups"])]
    pub(crate) hooks: bool,
}

/// `spillgate unwrap`.
#[derive(Debug, clap::Args)]
#[command(after_help = UNWRAP_EXAMPLES)]
pub(crate) struct Unwrap {
    /// The client whose configuration is restored
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub(crate) client: Client,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// The servers and files to change.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// The scope of the servers [default: user and local for wrap, all for unwrap]
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) scope: Option<Scopes>,
    /// Change only the server of this name; may be repeated
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
    /// Change only this file, instead of the files that the client reads
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "scope")]
    pub(crate) file: Option<PathBuf>,
    /// Show what would change, as a diff, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `spillgate doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct Doctor {
    /// The client to check [default: all clients that have a configuration]
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub(crate) client: Option<Client>,
    /// Check without starting the servers
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Time limit, in seconds, for a server to start and to list its tools
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
}

/// `spillgate hook`.
#[derive(Debug, clap::Args)]
pub(crate) struct Hook {
    /// The client that runs the hook
    #[arg(value_name = "CLIENT", value_parser = hooked())]
    pub(crate) client: Client,
    /// Replace the output of the client's shell, which ends with this exit code
    #[arg(long, value_name = "CODE", hide = true)]
    pub(crate) shell_end: Option<i32>,
}

/// Scopes of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scopes {
    /// The user's servers for every directory
    User,
    /// The servers in a file of the project in this directory
    Project,
    /// The user's servers for this directory (Claude Code)
    Local,
    /// All of these
    All,
}

impl Scopes {
    pub(crate) fn has(self, scope: Scope) -> bool {
        match self {
            Self::User => scope == Scope::User,
            Self::Project => scope == Scope::Project,
            Self::Local => scope == Scope::Local,
            Self::All => true,
        }
    }
}

fn hooked() -> impl TypedValueParser<Value = Client> {
    let hooked = Client::ALL.into_iter().filter(|client| has_hooks(*client));
    PossibleValuesParser::new(hooked.map(Client::name))
        .map(|name| name.parse().expect("invariant: only known names come here"))
}

fn client() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(Client::ALL.map(Client::name))
        .map(|name| name.parse().expect("invariant: only known names come here"))
}
