//! Tests the page in a real browser, and takes its pictures for the book.
//!
//! `.doors/ui` gets Playwright and axe (14 MB). Its browser is a package of the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use crate::command::run;
use crate::{browser, libraries, workspace};

/// The files that say which packages are installed.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs the browser and the packages, exactly as locked.
pub(crate) fn install() -> Result<()> {
    browser::ensure().map_err(|why| anyhow!(why))?;
    let home = libraries::doors().join("ui");
    fs::create_dir_all(&home)?;
    for list in LISTS {
        let from = workspace::root().join("xtask/doors/ui").join(list);
        fs::copy(&from, home.join(list)).with_context(|| format!("cannot copy {list}"))?;
    }
    let mut npm = Command::new(workspace::peers().join("bin/npm"));
    let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
    run(npm.args(install.split(' ')).current_dir(home))
}

/// Runs the tests. With an unoptimized program, storing the large log takes minutes.
pub(crate) fn test() -> Result<()> {
    run(&mut script("browser.mjs", &built()?)?)
}

/// Takes the pictures of the page that `program` serves, for `docs/ui.md`.
pub(crate) fn pictures(program: &Path) -> Result<()> {
    let to = workspace::root().join("docs/img");
    run(script("pictures.mjs", program)?.env("PICTURES", to))
}

fn built() -> Result<PathBuf> {
    Ok(workspace::built()?.join("spillgate"))
}

/// Returns the command that runs a script of the page's tests with a program.
fn script(name: &str, program: &Path) -> Result<Command> {
    let script = workspace::root()
        .join("crates/spillgate/tests/ui")
        .join(name);
    let mut node = Command::new(workspace::peers().join("bin/node"));
    node.arg(script)
        .env("SPILLGATE", program)
        .env("BROWSER", browser::found()?)
        .env("MODULES", libraries::doors().join("ui/node_modules"));
    Ok(node)
}
