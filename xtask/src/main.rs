//! `cargo xtask`: the commands that contributors and continuous integration run.

mod agents;
mod attack;
mod bench;
mod book;
mod browser;
mod buckets;
mod ci;
mod command;
mod conformance;
mod counts;
mod curves;
mod doors;
mod eval;
mod features;
mod fetch;
mod fuzz;
mod libraries;
mod llm;
mod load;
mod models;
mod oracle;
mod page;
mod peers;
mod picture;
mod planning;
mod prose;
mod proxies;
mod python;
mod release;
mod replicas;
mod report;
mod screens;
mod served;
mod server;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;

use crate::report::Report;

const USAGE: &str = "\
usage: cargo xtask <command>

  test      install the peers, then run everything that continuous integration runs
  peers     only install the real MCP clients and servers, and coding agents, into .peers/
  test-doors  install what is too large for continuous integration, and test with it; NAME,… selects steps;
            --seconds N is how long the step `replicas` lasts
  test-llm  install a small language model into .models/ and test extraction with it; --large takes one of
            1.1 GB, --minutes N is how long the tests may take (default 20)
  eval      rate the previews and searches of a build on documents with known answers; --help names the options
  conformance  run the official suite against two servers, directly and through the gateway, and its client side;
            --only python|rust|clients, --stand-in straight|crooked runs a proxy in the gateway's place, --save writes
            the table into docs/conformance.md
  attack    broken frames, kills, races, costly patterns, clients that hang up, flipped bits, cut files and private addresses against a
            build; --seed N, --only NAME,…, --quick (a minute at most), --release
  load      many clients at once through the gateway and directly; --minutes N, --clients N, --release
  oracle    whether two builds say the same, but for handles and times: OLD NEW [--only texts|commands|calls|frames]
            [--quick]; thousands of inputs under each profile and command, calls through the gateway, broken frames
  prose     whether the commits since BASE whose topic is `prose` or `texts` change only comments and documents, or string
            literals besides
  fuzz      feed fuzz targets to libFuzzer; --minutes N (all targets together, default 5), --group 1..4,
            --target NAME, --jobs N, --sanitizer address; cases that are found go to fuzz/corpus
  features  check that the program compiles with each feature alone, test what it answers for parts that are left out,
            and compare the size of its release build with the maximum
  book      build docs/ as a book in target/book/html and check its links; --open shows it
  picture   run the commands of the README's picture and draw it (docs/img/session.svg)
  screens   pictures of commands in a real terminal (tmux), for docs/screens; --page: of the page in a browser, for docs/img;
            --spillgate FILE takes a built program
  release   build and test the packages of a release, and publish nothing: --dry-run, or the names of steps
  simulate  run the protocol of a store in a bucket with many seeds: --seeds N (default 10000); --seed N lists the steps of one;
            --plan prints how many gateways, requests and dollars a number of users need (docs/planning.md)
  bench     install the peers, then run benches/run.sh (further arguments go to it); with --curves first, draw how the
            cost grows with the size and the number of outputs and with the number of clients (docs/growth.md):
            --quick, --only size|count|clients, --binary PATH
  counts    how many instructions the hot operations take (valgrind), beside recorded figures; --record replaces these
";

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code,
        Err(error) => {
            // Prints one line without a backtrace, because the output above shows what went wrong.
            // If stderr is closed, only the exit code reports the failure.
            let _ = report::say(&format!("error: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let mut report = Report::default();
    match (command.as_str(), rest.as_slice()) {
        ("test", []) => ci::test(&mut report)?,
        ("peers", []) => ci::install(&mut report)?,
        ("test-llm", _) => llm::run_with(&mut report, &rest)?,
        ("test-doors", _) => doors::run_with(&mut report, &rest)?,
        ("conformance", _) => conformance::run_with(&mut report, &rest)?,
        ("attack", _) => attack::run_with(&mut report, &rest)?,
        // The server that `attack` puts behind the gateway. Users do not call it.
        ("attack-peer", [log]) => {
            attack::peer::serve(log)?;
            return Ok(ExitCode::SUCCESS);
        }
        ("oracle", _) => oracle::run_with(&mut report, &rest)?,
        ("prose", _) => prose::run_with(&mut report, &rest)?,
        ("load", _) => load::run_with(&mut report, &rest)?,
        ("fuzz", _) => fuzz::run_with(&mut report, &rest)?,
        ("features", []) => features::run_all(&mut report)?,
        ("picture", []) => picture::draw(&mut report)?,
        ("book", _) => book::run_with(&mut report, &rest)?,
        ("eval", _) => eval::run_with(&mut report, &rest)?,
        ("screens", _) => screens::run_with(&mut report, &rest)?,
        ("release", _) => release::run_with(&mut report, &rest)?,
        ("simulate", _) => buckets::simulate(&mut report, &rest)?,
        ("counts", _) => counts::run_with(&mut report, &rest)?,
        ("bench", [first, ..]) if first == "--curves" => curves::run_with(&mut report, &rest)?,
        ("bench", _) => bench::run(&mut report, &rest)?,
        _ => {
            report::say(USAGE)?;
            return Ok(ExitCode::from(2));
        }
    }
    report.summary()?;
    Ok(ExitCode::SUCCESS)
}
