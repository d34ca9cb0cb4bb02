//! Tests of stores in buckets: a real server, and the simulation of the protocol.
//!
//! `SeaweedFS` is installed into `.doors/seaweedfs` (90 MB).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::command::{cargo, output, run};
use crate::report::Report;
use crate::{python, workspace};

/// The simulation.
const SIMULATION: &str = "test --package spillgate-object-store --locked --lib -- \
                          simulation::no_seed_breaks_the_protocol --nocapture";

/// How many seeds the simulation runs if no number is given.
const SEEDS: u64 = 10_000;

/// Installs `SeaweedFS` unless exactly this version is installed.
pub(crate) fn install_seaweedfs() -> Result<()> {
    python::environment(&home(), "xtask/doors/seaweedfs.txt")
}

/// Runs the conformance suite of stores and the program against `SeaweedFS`.
pub(crate) fn test_seaweedfs() -> Result<()> {
    let build =
        "test --package spillgate-object-store --locked --lib --no-run --message-format=json";
    let built = output(&mut cargo(build))?;
    let tests = built.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(message["executable"].as_str()?.to_owned())
    });
    let Some(tests) = tests else {
        bail!("cargo names no test program");
    };
    run(Command::new(python::PYTHON)
        .arg(workspace::root().join("xtask/doors/seaweedfs.py"))
        .arg(home())
        .arg(workspace::built()?.join("spillgate"))
        .arg(tests))
}

/// Returns the directory in which `SeaweedFS` is installed.
pub(crate) fn home() -> PathBuf {
    workspace::root().join(".doors/seaweedfs")
}

/// Runs the simulation: `--seeds N`, or `--seed N` for one with a list of its steps.
pub(crate) fn simulate(report: &mut Report, arguments: &[String]) -> Result<()> {
    let (variable, value) = match arguments {
        [] => ("SPILLGATE_SEEDS", SEEDS.to_string()),
        [option, number] if option == "--seeds" => ("SPILLGATE_SEEDS", number.clone()),
        [option, number] if option == "--seed" => ("SPILLGATE_SEED", number.clone()),
        _ => bail!("usage: cargo xtask simulate [--seeds N | --seed N]"),
    };
    ensure!(
        value.parse::<u64>().is_ok(),
        "{value:?} is not a number of seeds"
    );
    report.step(
        "simulation",
        || run(cargo(SIMULATION).env(variable, &value)),
    )
}
