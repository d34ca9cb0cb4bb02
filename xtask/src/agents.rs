//! `.peers/agents/`: coding agents, which tests run against a scripted model.
//!
//! They are large (0.8 GB), so a machine that cannot have them goes without: the tests of everything
//! else run all the same, and the run says what was left out and why.

use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::output;
use crate::report::{Report, say};
use crate::workspace;

const PACKAGE: &str = include_str!("../peers/agents/package.json");
const PACKAGE_LOCK: &str = include_str!("../peers/agents/package-lock.json");

/// Set to `1` it leaves the agents out.
const SKIP: &str = "SPILLGATE_SKIP_AGENTS";

/// What says that npm got packages, but others than those that are locked.
const WRONG_SUM: &str = "EINTEGRITY";

/// What each agent is started by, below `node_modules`.
const LAUNCHERS: [&str; 2] = [
    "@anthropic-ai/claude-code/cli-wrapper.cjs",
    "@openai/codex/bin/codex.js",
];

/// Whether the agents are there.
pub(crate) enum Agents {
    Installed,
    /// And why they are not.
    Missing(String),
}

/// Why agents could not be had; the context of such an error tells it from packages that are wrong.
#[derive(Debug)]
struct CannotHave;

impl fmt::Display for CannotHave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("they cannot be installed")
    }
}

/// Installs the agents, if they can be had; the peers have to be there already.
pub(crate) fn install(report: &mut Report) -> Result<Agents> {
    if env::var_os(SKIP).is_some_and(|value| value == "1") {
        return Ok(Agents::Missing(format!("{SKIP} is 1")));
    }
    let mut missing = None;
    report.step("agents", || match install_packages() {
        Err(error) if error.downcast_ref::<CannotHave>().is_some() => {
            missing = Some(format!("{error:#}"));
            Ok(())
        }
        outcome => outcome,
    })?;
    Ok(missing.map_or(Agents::Installed, Agents::Missing))
}

fn install_packages() -> Result<()> {
    let stamp = [PACKAGE, PACKAGE_LOCK].join("\n");
    let stamp_file = home().join("stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) && start().is_ok() {
        return say("already installed in .peers/agents/\n");
    }
    say("installing the agents\n")?;
    fs::create_dir_all(home())?;
    fs::write(home().join("package.json"), PACKAGE)?;
    fs::write(home().join("package-lock.json"), PACKAGE_LOCK)?;
    let mut npm = Command::new(workspace::peers().join("bin/npm"));
    // None of the packages needs its install script.
    let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
    npm.args(install.split(' ')).current_dir(home());
    if let Err(error) = output(&mut npm) {
        return match error.to_string().contains(WRONG_SUM) {
            true => Err(error),
            false => Err(error.context(CannotHave)),
        };
    }
    start().context(CannotHave)?;
    // Last, so that an interrupted installation counts as none.
    fs::write(stamp_file, stamp).context("cannot write the stamp")
}

/// Starts each agent once: a system that they have no program for shows it here.
fn start() -> Result<()> {
    for launcher in LAUNCHERS {
        let script = home().join("node_modules").join(launcher);
        let mut agent = Command::new(workspace::peers().join("bin/node"));
        agent.arg(script).arg("--version").env("HOME", home());
        output(&mut agent)?;
    }
    Ok(())
}

fn home() -> PathBuf {
    workspace::peers().join("agents")
}
