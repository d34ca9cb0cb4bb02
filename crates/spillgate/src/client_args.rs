//! Command-line arguments of `wrap`, `unwrap` and `doctor`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};
use spillgate_clients::{Client, Scope};

const WRAP_EXAMPLES: &str = "\
Examples:
  spillgate wrap claude-code --dry-run          show what would change
  spillgate wrap codex --server files           one server only
  spillgate wrap vscode --scope project         .vscode/mcp.json of this directory
  spillgate wrap cursor --gateway-arg=--max-tokens --gateway-arg=5000
  spillgate --store /data/spill wrap goose      the gateway stores there

--store, --config and --tokenizer are handed on to the gateway. Clients read their configuration when they \
start: restart them. docs/clients.md has the files.";

const UNWRAP_EXAMPLES: &str = "\
Examples:
  spillgate unwrap claude-code                  everything, as it was
  spillgate unwrap codex --server files         one server only
  spillgate unwrap cursor --dry-run             show what would change

A file that nobody has changed since `wrap` becomes what it was, byte for byte. In one that was changed only \
our entries are undone.";

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
    /// Whose configuration
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub(crate) client: Client,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Additional argument for `spillgate mcp`; repeat the option for each argument
    #[arg(long = "gateway-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) gateway_args: Vec<String>,
    /// Add no entry that offers the look-up tools: each server lists them itself, and they are added to its
    /// list of allowed tools
    #[arg(long)]
    pub(crate) no_lookups: bool,
}

/// `spillgate unwrap`.
#[derive(Debug, clap::Args)]
#[command(after_help = UNWRAP_EXAMPLES)]
pub(crate) struct Unwrap {
    /// Whose configuration
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub(crate) client: Client,
    #[command(flatten)]
    pub(crate) which: Which,
}

/// Which servers in which files.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// Whose servers [default: wrap: the user's and the user's for this directory; unwrap: all]
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) scope: Option<Scopes>,
    /// Only the server of this name; several times for several
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
    /// Only this file, wherever it is, in place of those that the client reads
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
    /// Whose configuration [default: all that are there]
    #[arg(value_name = "CLIENT", value_parser = client())]
    pub(crate) client: Option<Client>,
    /// Start no server
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Seconds that a server has to start and to list its tools
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
}

/// Whose servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scopes {
    /// The user's, in every directory
    User,
    /// Those in a file of the project in this directory
    Project,
    /// The user's for this directory (Claude Code)
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

fn client() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(Client::ALL.map(Client::name))
        .map(|name| name.parse().expect("invariant: only known names come here"))
}
