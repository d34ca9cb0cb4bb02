//! `cargo xtask test`: everything that continuous integration runs, cheapest first.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::agents::{self, Agents};
use crate::command::{cargo, run};
use crate::report::{Report, say};
use crate::{book, browser, conformance, counts, libraries, llm, load, peers, workspace};

/// Free bytes of the disk below which no tests run: twice what Spillgate leaves to other programs by
/// default. With less, it does not store outputs, and tests fail for no reason that they name.
const LEAST_ROOM: u64 = 2 << 30;

/// Runs all steps; stops at the first failure.
pub(crate) fn test(report: &mut Report) -> Result<()> {
    peers::install(report)?;
    let agents = agents::install(report)?;
    report.step("book", book::build)?;
    for (name, arguments) in STEPS {
        report.step(name, || test_with(&mut cargo(arguments)))?;
    }
    report.step("test the libraries", libraries::test)?;
    test_peers(report)?;
    test_agents(report, &agents)?;
    conformance::test_if_possible(report)?;
    // The load takes twenty seconds and needs another build of the gateway.
    if env::var_os("SPILLGATE_LOAD").is_some_and(|value| value == "1") {
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
    report.step("test against real peers", || test_with(&mut test))
}

/// Runs the tests with coding agents, or says why they are not installed.
fn test_agents(report: &mut Report, agents: &Agents) -> Result<()> {
    let step = "test with coding agents";
    match agents {
        Agents::Installed => report.step(step, || test_with(&mut cargo(AGENTS))),
        Agents::Missing(why) => say(&format!("\n==> {step}: skipped, {why}\n")),
    }
}

/// Runs a command if the disks have room for it.
fn test_with(command: &mut Command) -> Result<()> {
    for place in [workspace::root(), env::temp_dir()] {
        let disk = rustix::fs::statvfs(&place)
            .with_context(|| format!("cannot tell what is free at {}", place.display()))?;
        ensure_room(&place, disk.f_bavail * disk.f_frsize)?;
    }
    run(command)
}

/// Fails if fewer than [`LEAST_ROOM`] bytes are `free` on the disk of `place`.
fn ensure_room(place: &Path, free: u64) -> Result<()> {
    ensure!(
        free >= LEAST_ROOM,
        "only {} MiB are free on the disk of {}, and the tests need {} MiB: free some space, for example with `cargo clean`",
        free >> 20,
        place.display(),
        LEAST_ROOM >> 20
    );
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_before_tests_run() {
        let place = Path::new("/srv/spillgate");
        ensure_room(place, LEAST_ROOM).unwrap();
        let error = ensure_room(place, LEAST_ROOM - 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "only 2047 MiB are free on the disk of /srv/spillgate, and the tests need 2048 MiB: free some space, for \
             example with `cargo clean`"
        );
    }
}
