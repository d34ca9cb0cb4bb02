//! `spillgate`: arguments → wiring. The only crate that reads the environment
//! and prints.

mod args;
mod cmd;
mod failure;
mod output;
mod progress;
mod settings;
mod wiring;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::House;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return failure::usage(&error),
    };
    let out = Output::new(args.common.json);
    let code = run(&args, &out).unwrap_or_else(|failure| failure.report(&out));
    ExitCode::from(code)
}

/// The table of contents: each command and what answers it.
fn run(args: &Args, out: &Output) -> Result<u8, Failure> {
    let house = || House::build(&args.common);
    match &args.command {
        Command::Run(run) => cmd::run::run(&house()?.offloading(&run.limits)?, run, out),
        Command::Put(put) => cmd::put::put(&house()?.offloading(&put.limits)?, put, out),
        Command::Read(read) => cmd::read::read(&house()?, read, out),
        Command::Grep(grep) => cmd::grep::grep(&house()?, grep, out),
        Command::Cat(cat) => cmd::cat::cat(&house()?, cat, out),
        Command::Ls(ls) => cmd::ls::ls(&house()?, ls, out),
        Command::Show(show) => cmd::show::show(&house()?, show, out),
        Command::Rm(rm) => cmd::rm::rm(&house()?, rm, out),
        Command::Pin(pin) => cmd::pin::pin(&house()?, pin, out),
        Command::Stats => cmd::stats::stats(&house()?, out),
        Command::Config(config) => cmd::config::config(&args.common, config, out),
        Command::Mcp(mcp) => cmd::mcp::mcp(&house()?.offloading(&mcp.limits)?, mcp),
        Command::Completions(completions) => cmd::generate::completions(completions),
        Command::Man(man) => cmd::generate::man(man),
    }
}
