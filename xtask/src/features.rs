//! `cargo xtask features`: whether the program compiles with each feature alone, what it answers for the
//! parts that are left out, and whether it stays small.

use anyhow::{Context, Result, ensure};

use crate::command::{cargo, run};
use crate::report::{Report, say};
use crate::workspace;

/// The features of the program that bring a part, without `full`, which all other steps build.
const PARTS: [&str; 11] = [
    "agent",
    "cl100k",
    "login",
    "objects",
    "pdf",
    "references",
    "serve",
    "telemetry",
    "templates",
    "tools",
    "ui",
];

/// Maximum size of the program with the default features, without symbols, in bytes.
const MAX_BYTES: u64 = 20_000_000;

/// Runs all steps.
pub(crate) fn run_all(report: &mut Report) -> Result<()> {
    report.step("each feature alone", each)?;
    report.step("answers for parts that are left out", left_out)?;
    report.step("size", size)
}

/// Checks that the program compiles without features and with each one alone.
pub(crate) fn each() -> Result<()> {
    let check = "check --package spillgate --locked --no-default-features --features";
    let alone = PARTS.iter().map(|part| format!("{check}={part}"));
    let without = "check --package spillgate --locked --no-default-features".to_owned();
    [without]
        .into_iter()
        .chain(alone)
        .try_for_each(|arguments| run(&mut cargo(&arguments)))
}

/// Tests the program that lacks all parts.
fn left_out() -> Result<()> {
    run(&mut cargo(
        "test --package spillgate --locked --no-default-features --test left_out",
    ))
}

/// Builds the program as a user does, and compares its size with the maximum.
fn size() -> Result<()> {
    run(&mut cargo("build --release --package spillgate --locked"))?;
    let directory = workspace::built()?;
    let program = directory.with_file_name("release").join("spillgate");
    let bytes = std::fs::metadata(&program)
        .with_context(|| format!("cannot find {}", program.display()))?
        .len();
    say(&format!(
        "spillgate: {bytes} bytes of at most {MAX_BYTES}\n"
    ))?;
    ensure!(
        bytes <= MAX_BYTES,
        "the program is too large: ADR 39 says how to find out what is in it"
    );
    Ok(())
}
