//! Tests of stores in buckets: a real server, and the simulation of the protocol.
//!
//! `SeaweedFS` is installed into `.doors/seaweedfs` (90 MB), `s3s-fs` into `.doors/s3s-fs` (10 MB).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{cargo, output, run};
use crate::report::Report;
use crate::{planning, python, workspace};

/// The simulation.
const SIMULATION: &str = "test --package spillgate-object-store --locked --lib -- \
                          simulation::no_seed_breaks_the_protocol --nocapture";

/// The server `s3s-fs`. Later versions need a newer compiler.
const S3S_FS: &str = "install s3s-fs --version 0.14.1 --features binary --locked";

/// How many seeds the simulation runs if no number is given.
const SEEDS: u64 = 10_000;

/// Installs `SeaweedFS` unless exactly this version is installed.
pub(crate) fn install_seaweedfs() -> Result<()> {
    python::environment(&home(), "xtask/doors/seaweedfs.txt")
}

/// Runs the conformance suite of stores and the program against `SeaweedFS`.
pub(crate) fn test_seaweedfs() -> Result<()> {
    run(Command::new(python::PYTHON)
        .arg(workspace::root().join("xtask/doors/seaweedfs.py"))
        .arg(home())
        .arg(workspace::built()?.join("spillgate"))
        .arg(suite()?))
}

/// Runs the conformance suite of stores and `doctor` against the emulator of Azure's storage.
pub(crate) fn test_azurite() -> Result<()> {
    run(Command::new(python::PYTHON)
        .arg(workspace::root().join("xtask/doors/azurite.py"))
        .arg(workspace::peers().join("bin/node"))
        .arg(workspace::peers().join("azurite"))
        .arg(workspace::built()?.join("spillgate"))
        .arg(suite()?))
}

/// Installs the server `s3s-fs` unless exactly this version is installed.
pub(crate) fn install_s3s() -> Result<()> {
    run(cargo(S3S_FS).arg("--root").arg(s3s()))
}

/// Runs the conformance suite of stores and the program against `s3s-fs`.
pub(crate) fn test_s3s() -> Result<()> {
    run(Command::new(python::PYTHON)
        .arg(workspace::root().join("xtask/doors/s3s.py"))
        .arg(s3s().join("bin/s3s-fs"))
        .arg(workspace::built()?.join("spillgate"))
        .arg(suite()?))
}

fn s3s() -> PathBuf {
    workspace::root().join(".doors/s3s-fs")
}

/// Builds the unit tests of the crate `object-store`; returns the program.
fn suite() -> Result<String> {
    let build =
        "test --package spillgate-object-store --locked --lib --no-run --message-format=json";
    let built = output(&mut cargo(build))?;
    let tests = built.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(message["executable"].as_str()?.to_owned())
    });
    tests.context("cargo names no test program")
}

/// Returns the directory in which `SeaweedFS` is installed.
pub(crate) fn home() -> PathBuf {
    workspace::root().join(".doors/seaweedfs")
}

/// Runs the simulation: `--seeds N`, or `--seed N` for one with a list of its steps.
pub(crate) fn simulate(report: &mut Report, arguments: &[String]) -> Result<()> {
    if let [option, rest @ ..] = arguments
        && option == "--plan"
    {
        return report.step("plan", || planning::plan(rest));
    }
    let (variable, value) = match arguments {
        [] => ("SPILLGATE_SEEDS", SEEDS.to_string()),
        [option, number] if option == "--seeds" => ("SPILLGATE_SEEDS", number.clone()),
        [option, number] if option == "--seed" => ("SPILLGATE_SEED", number.clone()),
        _ => bail!("usage: cargo xtask simulate [--seeds N | --seed N | --plan [--seed N]]"),
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
