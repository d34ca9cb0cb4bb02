//! `cargo xtask eval`: measures how often a search returns the passage that answers the question,
//! and how extraction behaves with good and with deliberately bad models.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::report::Report;
use crate::{command, workspace};

/// Runs the evaluations on the data in `--data DIR`, by default beside the workspace, and on that in
/// `evaluation/`, and prints their figures. Fails if a figure is below that of the prototype, or if
/// a bad model does not end as documented.
pub(crate) fn run(report: &mut Report, arguments: &[String]) -> Result<()> {
    let mut data = workspace::root().join("../shared/data");
    let mut details = false;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.as_slice().first()) {
            ("--details", _) => details = true,
            ("--data", Some(directory)) => {
                data = PathBuf::from(directory);
                arguments.next();
            }
            _ => bail!("usage: cargo xtask eval [--data DIR] [--details]"),
        }
    }
    if !data.join("questions.jsonl").is_file() {
        bail!(
            "no questions.jsonl in {}; name the folder of the evaluation data with --data DIR",
            data.display()
        );
    }
    for (step, package) in [
        ("eval of search", "spillgate-search"),
        ("eval of extraction", "spillgate-extract"),
    ] {
        report.step(step, || {
            let mut cargo = Command::new("cargo");
            cargo
                .args(
                    format!("run --release --locked --quiet -p {package} --example eval --")
                        .split(' '),
                )
                .arg(&data)
                .args(details.then_some("--details"))
                .current_dir(workspace::root());
            command::run(&mut cargo)
        })?;
    }
    report.step("eval of previews, failures and questions", || {
        let mut cargo = Command::new("cargo");
        cargo
            .args(
                "run --release --locked --quiet -p spillgate-offload --example evaluate --"
                    .split(' '),
            )
            .arg(workspace::root().join("evaluation"))
            .current_dir(workspace::root());
        command::run(&mut cargo)
    })?;
    Ok(())
}
