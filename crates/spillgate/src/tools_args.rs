//! Command-line arguments of `spillgate tools`.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use spillgate_artifact::Handle;
use spillgate_retrieval::NAMES;
use spillgate_workspace_tools::{OnOverflow, TOOLS};

const EXAMPLES: &str = "\
Examples:
  spillgate tools --root .
          as a server in a client's configuration: read_file, grep_content, glob_files,
          execute_shell, web_fetch below the directory
  spillgate tools --root . --only read_file,grep_content,glob_files
          a server that changes nothing
  spillgate tools --root . --call grep_content '{\"pattern\": \"fn main\", \"mode\": \"count\"}'
          one call, by hand
  spillgate tools --lookups --list --json
          the definitions of the look-up tools, for a program that gives them to a model
  echo '{\"handle\": \"…\", \"pattern\": \"ERROR\"}' | spillgate tools --lookups --json --call spillgate_grep -
          a call of a model";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tools {
    /// The directory of the tools; no file name can leave it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "lookups")]
    pub(crate) root: Option<PathBuf>,
    /// List or call the tools that read stored outputs instead; `spillgate mcp --lookups` serves them
    #[arg(long, requires = "by_hand", conflicts_with_all = ["root", "only"])]
    pub(crate) lookups: bool,
    /// The outputs that `spillgate_search` searches if a call names no handle
    #[arg(
        long,
        value_name = "HANDLES",
        value_delimiter = ',',
        requires = "lookups"
    )]
    pub(crate) session: Vec<Handle>,
    /// Offer only these tools [default: all that can work]
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', value_parser = PossibleValuesParser::new(TOOLS))]
    pub(crate) only: Vec<String>,
    #[command(flatten)]
    pub(crate) sizes: Sizes,
    #[command(flatten)]
    pub(crate) shell: Shell,
    #[command(flatten)]
    pub(crate) web: Web,
    #[command(flatten)]
    pub(crate) by_hand: ByHand,
}

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Sizes")]
pub(crate) struct Sizes {
    /// Refuse answers of more than this many tokens [default: 25000]
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Whether an oversized web page or output of a command is refused, or stored under a handle
    /// [default: reject]
    #[arg(long, value_name = "WHAT", value_parser = on_overflow())]
    pub(crate) on_overflow: Option<OnOverflow>,
    /// End refusals with a summary of the content and calls to make next
    #[arg(long)]
    pub(crate) detailed_recovery: bool,
}

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "execute_shell")]
pub(crate) struct Shell {
    /// Time limit of a command in seconds, unless the call sets its own; at most 600 [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) timeout: Option<u64>,
    /// Another environment variable that commands get; a final `*` matches all variables that begin
    /// with the text before it
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Let commands write only below the root, and read only the root and the system's directories
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Let commands reach no network; implies --sandbox
    #[arg(long)]
    pub(crate) no_network: bool,
}

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "web_fetch")]
pub(crate) struct Web {
    /// Save no web pages; commands can still write files (see --only, --sandbox)
    #[arg(long, conflicts_with = "writable")]
    pub(crate) read_only: bool,
    /// Save web pages only below this directory, a path relative to the root
    #[arg(long, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// Also fetch pages from this private address
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) allow: Vec<String>,
}

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "By hand")]
pub(crate) struct ByHand {
    /// Call a tool once and print its answer instead of serving; `ARGUMENTS` is a JSON object
    #[arg(long, value_name = "TOOL", group = "by_hand", value_parser = PossibleValuesParser::new(TOOLS.iter().chain(&NAMES)))]
    pub(crate) call: Option<String>,
    /// The arguments of the tool that --call names; `-` reads them from standard input
    #[arg(value_name = "ARGUMENTS", requires = "call", default_value = "{}")]
    pub(crate) arguments: String,
    /// List the tools as clients see them
    #[arg(long, group = "by_hand")]
    pub(crate) list: bool,
}

fn on_overflow() -> impl TypedValueParser<Value = OnOverflow> {
    PossibleValuesParser::new(["reject", "offload"]).map(|name| match &*name {
        "offload" => OnOverflow::Offload,
        _ => OnOverflow::Reject,
    })
}
