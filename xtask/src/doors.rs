//! `cargo xtask test-doors`: tests with clients and libraries that are too large for continuous
//! integration. A developer runs them by hand.

use anyhow::{Result, ensure};

use crate::agents::DOORS;
use crate::command::{cargo, run};
use crate::peers;
use crate::report::Report;

/// A step: what it installs, and the cargo arguments of its tests.
struct Step {
    name: &'static str,
    install: fn() -> Result<()>,
    tests: &'static str,
}

const STEPS: [Step; 1] = [Step {
    name: "hooks",
    install: || DOORS.install(),
    tests: "test --package spillgate --features spillgate/peers --test peers --locked -- doors::",
}];

/// Runs the steps that `arguments` name, or all.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let wanted: Vec<&str> = arguments.iter().flat_map(|one| one.split(',')).collect();
    let known = STEPS.map(|step| step.name);
    for name in &wanted {
        ensure!(
            known.contains(name),
            "there is no step {name:?}; known steps: {}",
            known.join(", ")
        );
    }
    peers::install(report)?;
    for step in STEPS {
        if wanted.is_empty() || wanted.contains(&step.name) {
            report.step(step.name, || {
                (step.install)()?;
                run(&mut cargo(step.tests))
            })?;
        }
    }
    Ok(())
}
