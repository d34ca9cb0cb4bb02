//! The `spillgate` binary. It parses arguments and wires up the crates; no other crate reads the
//! environment or prints.

mod agent_args;
mod args;
mod client_args;
mod clients;
mod cmd;
mod config_file;
mod failure;
mod guarded_settings;
mod handle_arg;
mod layers;
mod logs;
mod marks;
mod memory;
mod models;
mod net;
mod output;
mod progress;
mod quantities;
mod server_args;
mod servers;
mod settings;
mod store_key;
mod tool_output;
mod tools_args;
mod traces;
mod wiring;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use signal_hook::consts::SIGXFSZ;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::output::Output;
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
    if first.is_some_and(|first| first == cmd::shell_child::CHILD) {
        return ExitCode::from(cmd::shell_child::child(arguments));
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return failure::usage(&error),
    };
    let out = Output::new(args.common.json);
    outlive_the_file_size_limit();
    let code = run(&args, &out).unwrap_or_else(|failure| failure.report(&out));
    ExitCode::from(code)
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
        Command::Rm(rm) => cmd::rm::rm(&looking()?, rm, out),
        Command::Verify(verify) => cmd::verify::verify(&looking()?, verify, out),
        Command::Pin(pin) => cmd::pin::pin(&looking()?, pin, out),
        Command::Stats => cmd::stats::stats(&looking()?, out),
        Command::Redact(redact) => cmd::redact::redact(&looking()?, redact, out),
        Command::Config(config) => cmd::config::config(&args.common, config, out),
        Command::Agent(agent) => cmd::agent::agent(&args.common, agent, out),
        Command::Mcp(mcp) => cmd::mcp::mcp(&args.common, mcp),
        Command::Serve(serve) => cmd::serve::serve(&args.common, serve),
        Command::Auth(auth) => cmd::auth::auth(&args.common, auth, out),
        Command::Tools(tools) => cmd::tools::tools(&args.common, tools, out),
        Command::FsMcp(fs_mcp) => cmd::fs_mcp::fs_mcp(&args.common, fs_mcp),
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
