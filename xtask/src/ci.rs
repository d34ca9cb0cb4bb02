//! `cargo xtask test`: everything that continuous integration runs, cheapest first.

use anyhow::Result;

use crate::command::{cargo, run};
use crate::report::Report;
use crate::{conformance, llm, load, peers};

/// Runs all steps; stops at the first red one.
pub(crate) fn test(report: &mut Report) -> Result<()> {
    peers::install(report)?;
    for (name, arguments) in STEPS {
        report.step(name, || run(&mut cargo(arguments)))?;
    }
    conformance::test_if_possible(report)?;
    load::test(report)?;
    llm::test_if_possible(report)
}

/// Name and cargo arguments of each step. `--locked`: what is tested is what is committed.
const STEPS: &[(&str, &str)] = &[
    ("format", "fmt --all --check"),
    // All features, or nobody would lint the peer tests.
    (
        "lint",
        "clippy --workspace --all-targets --all-features --locked -- -D warnings",
    ),
    ("test", "test --workspace --locked"),
    (
        "test against real peers",
        "test -p spillgate --features peers --test peers --locked",
    ),
];
