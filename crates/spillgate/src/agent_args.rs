//! Command-line arguments of `spillgate agent`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueEnum, ValueHint};
use spillgate_agent_files::{Cost, Count, CountOrNone, OutputFormat, Time, Whole};
use spillgate_llm::TargetError;

use crate::args::Models;
use crate::tool_output::parse_targets;

const EXAMPLES: &str = "\
Examples:
  spillgate agent review.ai \"look at the last ten commits\"
  git log -50 | spillgate agent review.ai             the task comes by standard input
  spillgate agent review.ai \"…\" --dry-run             what would be run, and where each setting comes from
  spillgate agent review.ai \"…\" --trace t.json; spillgate agent view t.json
A file that begins with `#!/usr/bin/env -S spillgate agent` and may be executed is a command of its own.

Standard output is the report; everything else is on standard error. Exit codes: 0 a report; 1 none, or it could \
not begin, or its trace could not be written (the report is printed then, too); 2 wrong usage; 3 a limit of the run was reached; 124 the time was over; 129, 130 or 143 when a signal cancelled it.";

const LIMITS: &str = "Limits";
const REPORT: &str = "The report";
const WATCHING: &str = "Watching it";

/// `spillgate agent`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    after_help = EXAMPLES,
    group = ArgGroup::new("watched").args(["verbose", "quiet"])
)]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) command: Option<AgentCommand>,
    #[command(flatten)]
    pub(crate) run: AgentRun,
}

/// What else can be done than to run one.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Show what a run did, from the file that `--trace` wrote
    View(AgentView),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AgentView {
    /// The trace; one of a run under way or cut off is good, too
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// Only this part; with `--json` as it stands in the trace
    #[arg(long, value_name = "PART")]
    pub(crate) part: Option<TracePart>,
}

/// Parts of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TracePart {
    /// What was done, an operation a line
    Tree,
    /// What it cost, and what tools gave
    Accounting,
    /// The report
    Report,
}

/// A run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AgentRun {
    /// The prompt file; one that is called `view` is ./view
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The task, in one argument; `-` or none is standard input
    #[arg(value_name = "TASK")]
    pub(crate) task: Vec<String>,
    /// Providers, MCP servers and defaults [default: .ai-agent.json beside FILE and
    /// spillgate/ai-agent.json in the user's configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) agent_config: Option<PathBuf>,
    /// The models that may be asked, the first one first: provider/model[,provider/model…]; may be
    /// repeated
    #[arg(long, value_name = "MODELS", value_parser = models)]
    pub(crate) model: Vec<Models>,
    /// Only these tools: servers, `server/tool` patterns, names of others
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Cut what is too large instead of storing it: there is no `tool_output` then
    #[arg(long)]
    pub(crate) no_tool_output: bool,
    /// Where the directory of the run is made [default: the directory for temporary files]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) store_dir: Option<PathBuf>,
    /// Keep that directory, with what was stored
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print what would be run and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) limits: AgentLimits,
    #[command(flatten)]
    pub(crate) report: AgentReport,
    #[command(flatten)]
    pub(crate) watching: AgentWatching,
}

/// What a run may take.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = LIMITS)]
pub(crate) struct AgentLimits {
    /// Times that the model may be asked, the last time for its report alone
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<Whole<1, 1000>>,
    /// Calls that are made of one reply
    #[arg(long, value_name = "N")]
    pub(crate) max_tool_calls_per_turn: Option<Whole<1, 1000>>,
    /// Tokens that a reply may have
    #[arg(long, value_name = "N")]
    pub(crate) max_output_tokens: Option<Count>,
    /// Tokens of the model's context: prompt and reply together
    #[arg(long, value_name = "N")]
    pub(crate) context_window: Option<Count>,
    /// Bytes over which a result is stored; 0 is no limit
    #[arg(long, value_name = "N")]
    pub(crate) tool_response_max_bytes: Option<CountOrNone>,
    /// How long the whole run may take, with the start of its tools, such as 10m [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Time>,
    /// Requests to models of the whole run, sub-agents and extractions included [default: 200]
    #[arg(long, value_name = "N")]
    pub(crate) max_requests: Option<Count>,
    /// Tokens of all of these requests and their replies
    #[arg(long, value_name = "N")]
    pub(crate) max_total_tokens: Option<Count>,
    /// US dollars that they may cost
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<Cost>,
    /// Agents below one another, the first not counted [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) max_depth: Option<Whole<0, 100>>,
}

/// What the report has to be.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = REPORT)]
pub(crate) struct AgentReport {
    /// What the report is
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output: Option<ReportFormat>,
    /// The JSON Schema that it must keep to; the report is JSON then
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
}

/// Forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Plain text
    Text,
    /// Markdown
    Markdown,
    /// One JSON value
    Json,
}

impl From<ReportFormat> for OutputFormat {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Text => Self::Text,
            ReportFormat::Markdown => Self::Markdown,
            ReportFormat::Json => Self::Json,
        }
    }
}

/// What is told of a run meanwhile.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = WATCHING)]
pub(crate) struct AgentWatching {
    /// Write what was done and what it cost to FILE, as JSON, from the beginning on
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// Say more on standard error: arguments of calls, the log
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Say nothing on standard error but what went wrong
    #[arg(long)]
    pub(crate) quiet: bool,
}

fn models(text: &str) -> Result<Models, TargetError> {
    parse_targets(text).map(Models)
}
