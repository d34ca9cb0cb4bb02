//! Installs coding agents for tests that run them with a scripted model: Claude Code and Codex CLI
//! into `.peers/agents/`, and for `cargo xtask test-doors` further ones into `.peers/doors/`.
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

/// The agents with which continuous integration tests.
const AGENTS: Bundle = Bundle {
    home: "agents",
    package: include_str!("../peers/agents/package.json"),
    lock: include_str!("../peers/agents/package-lock.json"),
    launchers: &[
        "@anthropic-ai/claude-code/cli-wrapper.cjs",
        "@openai/codex/bin/codex.js",
    ],
};

/// Further agents.
pub(crate) const DOORS: Bundle = Bundle {
    home: "doors",
    package: include_str!("../peers/doors/package.json"),
    lock: include_str!("../peers/doors/package-lock.json"),
    launchers: &["@google/gemini-cli/bundle/gemini.js"],
};

/// The emulator of Azure's storage. It is no agent, but a package of npm like these.
pub(crate) const AZURITE: Bundle = Bundle {
    home: "azurite",
    package: include_str!("../peers/azurite/package.json"),
    lock: include_str!("../peers/azurite/package-lock.json"),
    launchers: &["azurite/dist/src/blob/main.js"],
};

/// npm packages that are installed together.
pub(crate) struct Bundle {
    /// The directory, below `.peers/`.
    home: &'static str,
    package: &'static str,
    lock: &'static str,
    /// The scripts that are started once, below `node_modules`.
    launchers: &'static [&'static str],
}

/// If this variable is `1`, the agents are not installed and their tests are skipped.
const SKIP: &str = "SPILLGATE_SKIP_AGENTS";

/// Part of npm's error when packages differ from the locked ones.
const WRONG_SUM: &str = "EINTEGRITY";

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
    report.step("agents", || match AGENTS.install() {
        Err(error) if error.downcast_ref::<CannotHave>().is_some() => {
            missing = Some(format!("{error:#}"));
            Ok(())
        }
        outcome => outcome,
    })?;
    Ok(missing.map_or(Agents::Installed, Agents::Missing))
}

impl Bundle {
    /// Installs the packages unless exactly these are installed and start.
    pub(crate) fn install(&self) -> Result<()> {
        let stamp = [self.package, self.lock].join("\n");
        let stamp_file = self.home().join("stamp");
        if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) && self.start().is_ok()
        {
            return say(&format!("already installed in .peers/{}/\n", self.home));
        }
        say(&format!("installing .peers/{}/\n", self.home))?;
        fs::create_dir_all(self.home())?;
        fs::write(self.home().join("package.json"), self.package)?;
        fs::write(self.home().join("package-lock.json"), self.lock)?;
        let mut npm = Command::new(workspace::peers().join("bin/npm"));
        // No package needs to run an install script.
        let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
        npm.args(install.split(' ')).current_dir(self.home());
        if let Err(error) = output(&mut npm) {
            return match error.to_string().contains(WRONG_SUM) {
                true => Err(error),
                false => Err(error.context(CannotHave)),
            };
        }
        self.start().context(CannotHave)?;
        // The stamp is written last, so that an interrupted installation does not count.
        fs::write(stamp_file, stamp).context("cannot write the stamp")
    }

    /// Starts each agent once. This fails on a system for which an agent offers no program.
    fn start(&self) -> Result<()> {
        for launcher in self.launchers {
            let script = self.home().join("node_modules").join(launcher);
            let mut agent = Command::new(workspace::peers().join("bin/node"));
            agent.arg(script).arg("--version").env("HOME", self.home());
            output(&mut agent)?;
        }
        Ok(())
    }

    fn home(&self) -> PathBuf {
        workspace::peers().join(self.home)
    }
}
