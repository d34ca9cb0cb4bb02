//! Installs coding agents (Claude Code and Codex CLI) into `.peers/agents/`, for tests that run
//! them with a scripted model.
//!
//! The agents are large (0.8 GB). On a machine that cannot install them, all other tests run, and
//! the report says what was left out and why.

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

/// If this variable is `1`, the agents are not installed and their tests are skipped.
const SKIP: &str = "SPILLGATE_SKIP_AGENTS";

/// Part of npm's error when packages differ from the locked ones.
const WRONG_SUM: &str = "EINTEGRITY";

/// The script that starts each agent, below `node_modules`.
const LAUNCHERS: [&str; 2] = [
    "@anthropic-ai/claude-code/cli-wrapper.cjs",
    "@openai/codex/bin/codex.js",
];

/// Whether the agents are installed.
pub(crate) enum Agents {
    Installed,
    /// The agents are not installed, for this reason.
    Missing(String),
}

/// Context of errors that mean that agents are unavailable, as opposed to wrong packages.
#[derive(Debug)]
struct CannotHave;

impl fmt::Display for CannotHave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("they cannot be installed")
    }
}

/// Installs the agents, if they are available. The peers must be installed already.
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
    // No package needs to run an install script.
    let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
    npm.args(install.split(' ')).current_dir(home());
    if let Err(error) = output(&mut npm) {
        return match error.to_string().contains(WRONG_SUM) {
            true => Err(error),
            false => Err(error.context(CannotHave)),
        };
    }
    start().context(CannotHave)?;
    // The stamp is written last, so that an interrupted installation does not count.
    fs::write(stamp_file, stamp).context("cannot write the stamp")
}

/// Starts each agent once. This fails on a system for which an agent offers no program.
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
