//! The arguments of the commands that list, remove and export stored outputs.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use spillgate_artifact::Principal;

use crate::handle_arg::HandleArg;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Ls {
    /// List only outputs of commands or tools whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) tool: Option<String>,
    /// List only outputs of MCP servers whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) server: Option<String>,
    /// List only outputs of this kind: json, ndjson, csv, tsv, markdown, html, xml, diff, log, code,
    /// text or binary
    #[arg(long, value_name = "KIND", value_parser = kind())]
    pub(crate) kind: Option<String>,
    /// List only outputs of commands and calls that failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// List only outputs that were stored within this time, such as 2h or 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Duration>,
    /// List at most this many, the newest ones
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Ls {
    /// Whether only some outputs are listed, whatever their number.
    pub(crate) fn is_filtered(&self) -> bool {
        let part = self.tool.is_some() || self.server.is_some() || self.kind.is_some();
        part || self.failed || self.since.is_some()
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rm {
    /// The outputs: handles, the first letters of them, or `last`
    #[arg(required_unless_present_any = ["older_than", "all"])]
    pub(crate) handles: Vec<HandleArg>,
    /// Remove the outputs that were stored longer ago than this, such as 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["handles", "all"])]
    pub(crate) older_than: Option<Duration>,
    /// Remove all outputs; asks first on a terminal
    #[arg(long, conflicts_with = "handles")]
    pub(crate) all: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// With --older-than or --all: remove pinned outputs, too
    #[arg(long, conflicts_with = "handles")]
    pub(crate) pinned: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The output: its handle, the first letters of it, or `last`
    pub(crate) handle: HandleArg,
    /// The file to write, which only you can read
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Replace FILE if it exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Write the readable text, with marks in place of secrets, instead of the bytes as they came
    #[arg(long)]
    pub(crate) view: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Share {
    /// The output: its handle, the first letters of it, or `last`
    #[arg(required_unless_present = "list")]
    pub(crate) handle: Option<HandleArg>,
    /// Who may read it: the name of a token, or the subject of an access token
    #[arg(long, value_name = "NAME", required_unless_present_any = ["list", "end"])]
    pub(crate) with: Option<Principal>,
    /// For how long, such as 12h or 7d
    #[arg(long = "for", value_name = "TIME", value_parser = time, default_value = "1d", conflicts_with_all = ["list", "end"])]
    pub(crate) time: Duration,
    /// Whose output it is [default: the operator's]
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<Principal>,
    /// List the outputs that are shared
    #[arg(long, conflicts_with_all = ["handle", "with", "end"])]
    pub(crate) list: bool,
    /// End it, for NAME or for all
    #[arg(long)]
    pub(crate) end: bool,
}

fn kind() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new([
        "json", "ndjson", "csv", "tsv", "markdown", "html", "xml", "diff", "log", "code", "text",
        "binary",
    ])
}

/// Parses a length of time.
fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "write a number and a unit, such as 30m, 12h, 7d or 2weeks".to_owned())
}
