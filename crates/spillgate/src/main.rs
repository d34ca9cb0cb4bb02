//! The `spillgate` binary. It parses arguments and wires up the crates; no other crate reads the
//! environment or prints.

// Some functions serve only a part that this build does not contain.
#![cfg_attr(not(feature = "full"), allow(dead_code))]

#[cfg(feature = "agent")]
mod agent_args;
mod args;
mod audit;
mod client_args;
mod clients;
mod cmd;
mod complete;
mod config_file;
mod examples;
mod failure;
mod features;
#[cfg(feature = "tools")]
mod guarded_settings;
mod handle_arg;
mod layers;
#[cfg(not(feature = "full"))]
mod left_out;
mod logs;
mod marks;
mod memory;
mod models;
mod net;
#[cfg(feature = "telemetry")]
mod otlp;
#[cfg(feature = "telemetry")]
mod otlp_logs;
#[cfg(feature = "telemetry")]
mod otlp_metrics;
mod output;
mod progress;
mod quantities;
mod server_args;
mod servers;
mod settings;
mod store_args;
mod store_key;
mod stores;
mod target;
mod tenant_settings;
#[cfg(feature = "serve")]
mod tenants;
mod tool_output;
#[cfg(feature = "tools")]
mod tools_args;
mod trace_file;
#[cfg(feature = "telemetry")]
mod traces;
mod wiring;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};
use signal_hook::consts::SIGXFSZ;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::output::{Output, When};
use crate::wiring::App;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    if first
        .as_ref()
        .is_some_and(|first| first == cmd::query::CHILD)
    {
        return ExitCode::from(cmd::query::child(arguments));
    }
    if first
        .as_ref()
        .is_some_and(|first| first == complete::HANDLES)
    {
        return list_handles();
    }
    #[cfg(feature = "tools")]
    if first.is_some_and(|first| first == cmd::shell_child::CHILD) {
        return ExitCode::from(cmd::shell_child::child(arguments));
    }
    let typed = spread(std::env::args_os().collect());
    let parse = |command: clap::Command| command.try_get_matches_from(typed.clone());
    let is_help = |error: &clap::Error| {
        use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand};
        matches!(
            error.kind(),
            DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand
        )
    };
    // Only the help needs the examples, and a hook should not spend time on them.
    let parsed = parse(Args::command()).or_else(|error| match is_help(&error) {
        true => parse(examples::command()),
        false => Err(error),
    });
    let parsed = parsed.and_then(|matches| {
        Args::from_arg_matches(&matches).map_err(|error| error.format(&mut Args::command()))
    });
    let args = match parsed {
        Ok(args) => args,
        Err(error) => return failure::usage(&error),
    };
    let mut out = Output::new(args.common.json, args.common.color);
    if is_for_reading(&args.command) && !args.common.no_pager {
        out = out.paged();
    }
    outlive_the_file_size_limit();
    let code = run(&args, &out).unwrap_or_else(|failure| match args.command {
        Command::Grep(_) => failure.code(cmd::grep::ERROR).report(&out),
        _ => failure.report(&out),
    });
    out.finish();
    #[cfg(feature = "telemetry")]
    otlp_logs::finish();
    ExitCode::from(code)
}

/// Separates the numbers of `grep -A3` from their options. Since a pattern may begin with `-`, they
/// would be taken for the pattern.
fn spread(typed: Vec<OsString>) -> Vec<OsString> {
    let is_grep = || failure::typed_command().is_some_and(|command| command == "grep");
    if !typed.iter().any(|word| word == "grep") || !is_grep() {
        return typed;
    }
    let parts = |word: OsString| match word.to_str().map(|word| word.split_at_checked(2)) {
        Some(Some((option @ ("-A" | "-B" | "-C" | "-m"), number)))
            if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            vec![option.into(), number.into()]
        }
        _ => vec![word],
    };
    typed.into_iter().flat_map(parts).collect()
}

/// Lists the stored outputs for the completion of a shell, which shows no errors.
fn list_handles() -> ExitCode {
    let listed = Args::try_parse_from(["spillgate", "ls"])
        .ok()
        .and_then(|args| App::for_looking(&args.common).ok())
        .and_then(|app| complete::handles(&app).ok());
    let out = Output::new(false, When::Never);
    match listed.map(|lines| out.raw(lines.as_bytes())) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Returns whether a command prints a text that a person reads, and that may be long.
fn is_for_reading(command: &Command) -> bool {
    match command {
        Command::Cat(cat) => !cat.raw,
        Command::Read(_)
        | Command::Grep(_)
        | Command::Query(_)
        | Command::Search(_)
        | Command::Outline(_)
        | Command::Ls(_)
        | Command::Show(_)
        | Command::Diff(_)
        | Command::Stats
        | Command::Config(_) => true,
        _ => false,
    }
}

/// Makes a write beyond the user's file size limit fail in the same way as on a full disk. Without
/// a handler, SIGXFSZ would end the process. In child processes, the signal has its default action
/// again.
fn outlive_the_file_size_limit() {
    let seen = Arc::new(AtomicBool::new(false));
    // If the registration fails, such a write ends the process without an error message.
    drop(signal_hook::flag::register(SIGXFSZ, seen));
}

/// Runs a command. The `match` lists all commands of the program.
fn run(args: &Args, out: &Output) -> Result<u8, Failure> {
    let looking = || App::for_looking(&args.common);
    let offloading = |limits| App::for_offloading(&args.common, limits);
    match &args.command {
        Command::Run(run) => cmd::run::run(&offloading(&run.limits)?, run, out),
        Command::Put(put) => cmd::put::put(&offloading(&put.limits)?, put, out),
        Command::Read(read) => cmd::read::read(&looking()?, read, out),
        Command::Grep(grep) => cmd::grep::grep(&looking()?, grep, out),
        Command::Query(query) => cmd::query::query(&looking()?, query, out),
        Command::Search(search) => cmd::search::search(&looking()?, search, out),
        Command::Extract(extract) => cmd::extract::extract(&looking()?, extract, out),
        Command::Outline(outline) => cmd::outline::outline(&looking()?, outline, out),
        Command::Continue(more) => cmd::more::more(&looking()?, more, out),
        Command::Cat(cat) => cmd::cat::cat(&looking()?, cat, out),
        Command::Ls(ls) => cmd::ls::ls(&looking()?, ls, out),
        Command::Show(show) => cmd::show::show(&looking()?, show, out),
        Command::Diff(diff) => cmd::diff::diff(&looking()?, diff, out),
        Command::Export(export) => cmd::export::export(&looking()?, export, out),
        Command::Rm(rm) => cmd::rm::rm(&looking()?, rm, out),
        Command::Verify(verify) => cmd::verify::verify(&looking()?, verify, out),
        Command::Pin(pin) => cmd::pin::pin(&looking()?, pin, out),
        Command::Share(share) => cmd::share::share(&looking()?, share, out),
        Command::Stats => cmd::stats::stats(&looking()?, out),
        Command::Redact(redact) => cmd::redact::redact(&looking()?, redact, out),
        Command::Config(config) => cmd::config::config(&args.common, config, out),
        #[cfg(feature = "agent")]
        Command::Agent(agent) => cmd::agent::agent(&args.common, agent, out),
        #[cfg(not(feature = "agent"))]
        Command::Agent(_) => Err(left_out::failure("agent", "agent")),
        Command::Mcp(mcp) => cmd::mcp::mcp(&args.common, mcp),
        #[cfg(feature = "serve")]
        Command::Serve(serve) => cmd::serve::serve(&args.common, serve),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => Err(left_out::failure("serve", "serve")),
        #[cfg(feature = "ui")]
        Command::Ui(ui) => cmd::ui::ui(&args.common, ui, out),
        #[cfg(not(feature = "ui"))]
        Command::Ui(_) => Err(left_out::failure("ui", "ui")),
        #[cfg(feature = "login")]
        Command::Auth(auth) => cmd::auth::auth(&args.common, auth, out),
        #[cfg(not(feature = "login"))]
        Command::Auth(_) => Err(left_out::failure("auth", "login")),
        #[cfg(feature = "tools")]
        Command::Tools(tools) => cmd::tools::tools(&args.common, tools, out),
        #[cfg(not(feature = "tools"))]
        Command::Tools(_) => Err(left_out::failure("tools", "tools")),
        #[cfg(feature = "tools")]
        Command::FsMcp(fs_mcp) => cmd::fs_mcp::fs_mcp(&args.common, fs_mcp),
        #[cfg(not(feature = "tools"))]
        Command::FsMcp(_) => Err(left_out::failure("fs-mcp", "tools")),
        Command::Wrap(wrap) => cmd::wrap::wrap(&args.common, wrap, out),
        Command::Unwrap(unwrap) => cmd::unwrap::unwrap(unwrap, out),
        Command::Hook(hook) => cmd::hook::hook(&args.common, hook, out),
        Command::Doctor(doctor) => cmd::doctor::doctor(&args.common, doctor, out),
        Command::Prompt(prompt) => cmd::prompt::prompt(prompt, out),
        Command::Init(init) => cmd::init::init(init, out),
        Command::Completions(completions) => cmd::generate::completions(completions, out),
        Command::Man(man) => cmd::generate::man(man, out),
    }
}
