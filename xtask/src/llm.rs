//! `cargo xtask test-llm`: tests extraction and agents with a real language model.

use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::command::{cargo, run, run_within};
use crate::fetch::CannotFetch;
use crate::models::{self, LARGE, Model, SMALL};
use crate::report::{Report, say};
use crate::server::Server;
use crate::{peers, workspace};

/// Time limit of the tests when a developer runs them. The larger model needs most of this time.
const LIMIT: Duration = Duration::from_mins(20);

/// Time limit in continuous integration. Two idle cores need less than half of it.
const LIMIT_IN_CI: Duration = Duration::from_mins(12);

/// If this variable is `1`, `cargo xtask test` skips these tests.
const SKIP: &str = "SPILLGATE_SKIP_LLM";

const BUILD: &str = "test --workspace --features spillgate/llm --test llm --locked --no-run";

// Tests run one at a time, because the model answers one request at a time, and time limits apply
// to each request.
const TEST: &str =
    "test --workspace --features spillgate/llm --test llm --locked -- --test-threads=1 --nocapture";

/// Runs the tests with `arguments`: `--large`, `--minutes N`.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let mut model = &SMALL;
    let mut limit = LIMIT;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let minutes = || arguments.as_slice().first()?.parse::<u64>().ok();
        match (argument.as_str(), minutes()) {
            ("--large", _) => model = &LARGE,
            ("--minutes", Some(minutes)) if minutes > 0 => {
                limit = Duration::from_secs(60 * minutes);
                arguments.next();
            }
            _ => bail!("usage: cargo xtask test-llm [--large] [--minutes N]"),
        }
    }
    // The agents use the tools of real servers.
    peers::install(report)?;
    report.step("install a model", || models::install(model))?;
    test(report, model, limit)
}

/// Runs the tests with the small model, or says why it is not available.
pub(crate) fn test_if_possible(report: &mut Report) -> Result<()> {
    if env::var_os(SKIP).is_some_and(|value| value == "1") {
        return say(&format!(
            "\n==> test with a real model: skipped, {SKIP} is 1\n"
        ));
    }
    let mut missing = None;
    report.step("install a model", || match models::install(&SMALL) {
        // Wrong weights are an error; a machine without a network is not.
        Err(error) if error.downcast_ref::<CannotFetch>().is_some() => {
            missing = Some(error);
            Ok(())
        }
        outcome => outcome,
    })?;
    if let Some(error) = missing {
        return say(&format!(
            "\n==> test with a real model: skipped, {error:#}\n"
        ));
    }
    test(report, &SMALL, LIMIT_IN_CI)
}

fn test(report: &mut Report, model: &Model, limit: Duration) -> Result<()> {
    report.step("forms of replies", || {
        let mut forms = Command::new(models::python());
        forms
            .args(["-B", "-m", "unittest", "--quiet", "test_forms"])
            .current_dir(workspace::root().join("xtask/models"));
        run(&mut forms)
    })?;
    report.step("build the model tests", || run(&mut cargo(BUILD)))?;
    report.step("test with a real model", || {
        let server = Server::start(model, None)?;
        say(&format!(
            "{} is served on {}; these tests may take {} min\n",
            model.name,
            server.address(),
            limit.as_secs() / 60
        ))?;
        let mut test = cargo(TEST);
        test.env("SPILLGATE_TEST_LLM", server.address())
            .env("SPILLGATE_TEST_LLM_MODEL", model.name);
        run_within(limit, &mut test)
    })
}
