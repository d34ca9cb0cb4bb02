//! `cargo xtask test-doors`: tests with clients and libraries that are too large for continuous
//! integration. A developer runs them by hand.

use anyhow::{Result, ensure};

use crate::command::{cargo, run};
use crate::proxies;
use crate::report::Report;

/// Each step: its name, what it installs, and its tests.
type Step = (&'static str, fn() -> Result<()>, fn() -> Result<()>);

const STEPS: [Step; 1] = [("litellm", proxies::install_litellm, proxies::test_litellm)];

/// Runs the steps that `arguments` name, or all.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let wanted: Vec<&str> = arguments.iter().flat_map(|one| one.split(',')).collect();
    let known = STEPS.map(|(name, ..)| name);
    for name in &wanted {
        ensure!(
            known.contains(name),
            "there is no step {name:?}; known steps: {}",
            known.join(", ")
        );
    }
    report.step("build", || {
        run(&mut cargo("build --package spillgate --locked"))
    })?;
    for (name, install, test) in STEPS {
        if wanted.is_empty() || wanted.contains(&name) {
            report.step("install", install)?;
            report.step(name, test)?;
        }
    }
    Ok(())
}
