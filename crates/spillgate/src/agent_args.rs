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

Standard output is the report; everything else is on standard error. Exit codes: 0 the agent gave a report; 1 it gave \
none, the run could not begin, or its trace could not be written (a report is printed even then); 2 wrong usage; 3 a limit of the run was reached; 124 the time limit was reached; 129, 130 or 143 a signal cancelled the run.";

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

/// The subcommands of `spillgate agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Show what a run did, from the file that `--trace` wrote
    View(AgentView),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AgentView {
    /// The trace file; its run may still be going on or may have been killed
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// Show only this part; with `--json`, print it as it is in the trace
    #[arg(long, value_name = "PART")]
    pub(crate) part: Option<TracePart>,
}

/// Parts of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TracePart {
    /// The operations, one per line
    Tree,
    /// The costs, and what the tools returned
    Accounting,
    /// The report
    Report,
}

/// The arguments that run an agent.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AgentRun {
    /// The prompt file; write ./view for a file called `view`
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The task, as one argument; `-`, or no argument, reads it from standard input
    #[arg(value_name = "TASK")]
    pub(crate) task: Vec<String>,
    /// The file with providers, MCP servers and defaults [default: .ai-agent.json beside FILE and
    /// spillgate/ai-agent.json in the user's configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) agent_config: Option<PathBuf>,
    /// The models, in the order in which they are tried: provider/model[,provider/model…]; may be
    /// repeated
    #[arg(long, value_name = "MODELS", value_parser = models)]
    pub(crate) model: Vec<Models>,
    /// Use only these tools: names of servers, `server/tool` patterns, names of other tool sources
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Cut the middle out of oversized results instead of storing them, and do not offer
    /// `tool_output`
    #[arg(long)]
    pub(crate) no_tool_output: bool,
    /// The directory in which the run creates its own directory [default: the directory for
    /// temporary files]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) store_dir: Option<PathBuf>,
    /// Keep the run's own directory, with the stored results, after the run
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print what would run, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) limits: AgentLimits,
    #[command(flatten)]
    pub(crate) report: AgentReport,
    #[command(flatten)]
    pub(crate) watching: AgentWatching,
}

/// The limits of a run.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = LIMITS)]
pub(crate) struct AgentLimits {
    /// Maximum number of requests to the model; the last one is only for its report
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<Whole<1, 1000>>,
    /// Maximum number of tool calls that are made for one reply
    #[arg(long, value_name = "N")]
    pub(crate) max_tool_calls_per_turn: Option<Whole<1, 1000>>,
    /// Maximum tokens of a reply
    #[arg(long, value_name = "N")]
    pub(crate) max_output_tokens: Option<Count>,
    /// Tokens of the model's context window, for prompt and reply together
    #[arg(long, value_name = "N")]
    pub(crate) context_window: Option<Count>,
    /// Store results of more than this many bytes; 0 means no limit
    #[arg(long, value_name = "N")]
    pub(crate) tool_response_max_bytes: Option<CountOrNone>,
    /// Time limit of the whole run, including the start of its tools, such as 10m [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Time>,
    /// Maximum number of requests to models in the whole run, including sub-agents and extractions
    /// [default: 200]
    #[arg(long, value_name = "N")]
    pub(crate) max_requests: Option<Count>,
    /// Maximum tokens of all these requests and their replies
    #[arg(long, value_name = "N")]
    pub(crate) max_total_tokens: Option<Count>,
    /// Maximum cost of all these requests, in US dollars
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<Cost>,
    /// Maximum number of levels of sub-agents below the first agent [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) max_depth: Option<Whole<0, 100>>,
}

/// The required form of the report.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = REPORT)]
pub(crate) struct AgentReport {
    /// The format of the report
    #[arg(long, value_name = "FORMAT")]
    pub(crate) output: Option<ReportFormat>,
    /// The file with a JSON Schema that the report must match; the report is then JSON
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

/// What is printed and written during a run.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = WATCHING)]
pub(crate) struct AgentWatching {
    /// Write the operations and their cost to FILE as JSON, from the start of the run on
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// Print more on standard error: the arguments of calls, the log
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print only errors on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

fn models(text: &str) -> Result<Models, TargetError> {
    parse_targets(text).map(Models)
}
