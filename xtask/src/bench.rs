//! `cargo xtask bench`: installs the programs with which Spillgate is compared, and runs the
//! benchmarks.

use std::process::Command;

use anyhow::Result;

use crate::report::Report;
use crate::{command, peers, workspace};

/// Runs `benches/run.sh` with `arguments`.
pub(crate) fn run(report: &mut Report, arguments: &[String]) -> Result<()> {
    peers::install(report)?;
    report.step("bench", || {
        let mut script = Command::new("bash");
        script
            .arg("benches/run.sh")
            .args(arguments)
            .current_dir(workspace::root());
        command::run(&mut script)
    })
}
