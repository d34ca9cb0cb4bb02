//! What was typed about the guarded tools?

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use spillgate_guarded::{OnOverflow, TOOLS};

const SIZES: &str = "Sizes";
const COMMANDS: &str = "execute_shell";
const WEB: &str = "web_fetch";
const BY_HAND: &str = "By hand";

const EXAMPLES: &str = "\
Examples:
  spillgate tools --root .
          as a server in a client's configuration: read_file, grep_content, glob_files,
          execute_shell, web_fetch below the directory
  spillgate tools --root . --only read_file,grep_content,glob_files
          a server that changes nothing
  spillgate tools --root . --call grep_content '{\"pattern\": \"TODO\", \"mode\": \"count\"}'
          one call, by hand";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tools {
    /// The directory; no name leads out of it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: PathBuf,
    /// Only these tools [default: all that can work]
    #[arg(long, value_name = "TOOLS", value_delimiter = ',', value_parser = PossibleValuesParser::new(TOOLS))]
    pub(crate) only: Vec<String>,
    /// Tokens over which an answer is refused [default: 25000]
    #[arg(long, value_name = "N", help_heading = SIZES)]
    pub(crate) max_tokens: Option<u64>,
    /// What becomes of a command's output or a page that is too much: it is refused, or stored
    /// with a handle [default: reject]
    #[arg(long, value_name = "WHAT", value_parser = on_overflow(), help_heading = SIZES)]
    pub(crate) on_overflow: Option<OnOverflow>,
    /// End refusals with what is there and with calls that go on
    #[arg(long, help_heading = SIZES)]
    pub(crate) detailed_recovery: bool,
    /// Save pages nowhere
    #[arg(long, conflicts_with = "writable", help_heading = WEB)]
    pub(crate) read_only: bool,
    /// Save pages only below this directory, a path from the root
    #[arg(long, value_name = "DIR", help_heading = WEB)]
    pub(crate) writable: Vec<PathBuf>,
    /// Fetch from this private address, too
    #[arg(long, value_name = "HOST:PORT", help_heading = WEB)]
    pub(crate) allow: Vec<String>,
    /// Seconds that a command may take unless it says otherwise, at most 600 [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=600), help_heading = COMMANDS)]
    pub(crate) timeout: Option<u64>,
    /// A variable of the environment that commands get, too; `*` at the end stands for any that
    /// begin so
    #[arg(long, value_name = "NAME", help_heading = COMMANDS)]
    pub(crate) env: Vec<String>,
    /// Let commands write below the root only, and read it and the system only
    #[arg(long, help_heading = COMMANDS)]
    pub(crate) sandbox: bool,
    /// Let commands reach no network
    #[arg(long, help_heading = COMMANDS)]
    pub(crate) no_network: bool,
    /// Call a tool once and print what it gives, instead of being a server; `ARGUMENTS` are JSON
    #[arg(long, value_name = "TOOL", value_parser = PossibleValuesParser::new(TOOLS), help_heading = BY_HAND)]
    pub(crate) call: Option<String>,
    /// The arguments of --call
    #[arg(value_name = "ARGUMENTS", requires = "call", default_value = "{}", help_heading = BY_HAND)]
    pub(crate) arguments: String,
    /// List the tools as clients see them
    #[arg(long, conflicts_with = "call", help_heading = BY_HAND)]
    pub(crate) list: bool,
}

fn on_overflow() -> impl TypedValueParser<Value = OnOverflow> {
    PossibleValuesParser::new(["reject", "offload"]).map(|name| match &*name {
        "offload" => OnOverflow::Offload,
        _ => OnOverflow::Reject,
    })
}
