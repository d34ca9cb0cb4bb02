//! `cargo xtask test`: everything that continuous integration runs, cheapest first.

use anyhow::Result;

use crate::agents::{self, Agents};
use crate::command::{cargo, run};
use crate::report::{Report, say};
use crate::{book, browser, conformance, counts, libraries, llm, load, peers};

/// Runs all steps; stops at the first failure.
pub(crate) fn test(report: &mut Report) -> Result<()> {
    peers::install(report)?;
    let agents = agents::install(report)?;
    report.step("book", book::build)?;
    for (name, arguments) in STEPS {
        report.step(name, || run(&mut cargo(arguments)))?;
    }
    report.step("test the libraries", libraries::test)?;
    test_peers(report)?;
    test_agents(report, &agents)?;
    conformance::test_if_possible(report)?;
    // The load takes twenty seconds and needs another build of the gateway.
    if std::env::var_os("SPILLGATE_LOAD").is_some_and(|value| value == "1") {
        load::test(report)?;
    }
    counts::report_if_possible(report)?;
    llm::test_if_possible(report)
}

/// Only installs the peers and agents.
pub(crate) fn install(report: &mut Report) -> Result<()> {
    peers::install(report)?;
    match agents::install(report)? {
        Agents::Installed => Ok(()),
        Agents::Missing(why) => say(&format!("\n==> agents: left out, {why}\n")),
    }
}

/// Runs the tests against real peers, without those that need a browser if there is none.
fn test_peers(report: &mut Report) -> Result<()> {
    let mut test = cargo(PEERS);
    if let Err(why) = browser::ensure() {
        say(&format!(
            "\n==> test that replays recorded requests to Playwright's server: skipped, {why}\n"
        ))?;
        test.args(["--skip", "playwright"]);
    }
    report.step("test against real peers", || run(&mut test))
}

/// Runs the tests with coding agents, or says why they are not installed.
fn test_agents(report: &mut Report, agents: &Agents) -> Result<()> {
    let step = "test with coding agents";
    match agents {
        Agents::Installed => report.step(step, || run(&mut cargo(AGENTS))),
        Agents::Missing(why) => say(&format!("\n==> {step}: skipped, {why}\n")),
    }
}

/// Name and cargo arguments of each step. `--locked` ensures that the committed `Cargo.lock` is
/// tested.
const STEPS: &[(&str, &str)] = &[
    ("format", "fmt --all --check"),
    // Without all features, the peer tests would never be linted.
    (
        "lint",
        "clippy --workspace --all-targets --all-features --locked -- -D warnings",
    ),
    (
        "test",
        "test --workspace --features spillgate/full --locked",
    ),
];

const PEERS: &str = "test --workspace --features spillgate/peers --test peers --locked -- --skip agent:: --skip doors::";
const AGENTS: &str = "test --workspace --features spillgate/peers --test peers --locked -- agent::";
