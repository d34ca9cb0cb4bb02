//! Finds a Python interpreter that can create virtual environments, or installs one.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{output, run};
use crate::report::say;
use crate::workspace;

/// The name of the interpreter on the search path.
pub(crate) const PYTHON: &str = "python3";

/// Checks the requirements: the version that the `mcp` package needs, and the two modules that
/// Debian packages separately.
const PROBE: &str = "import sys, venv, ensurepip; assert sys.version_info >= (3, 10), sys.version";

/// The Debian packages that contain Python and these modules.
const PACKAGES: [&str; 2] = ["python3", "python3-venv"];

/// Ensures that [`PYTHON`] can create a virtual environment. If packages are missing, it installs
/// them as root on a Debian-like system; otherwise the error names the packages to install.
pub(crate) fn ensure() -> Result<()> {
    let Err(reason) = probe() else { return Ok(()) };
    if !may_install() {
        bail!(
            "this step needs Python 3.10 or newer that can create virtual environments \
             (Debian, Ubuntu: `apt-get install {}`): {reason:#}",
            PACKAGES.join(" ")
        );
    }
    install_packages(&PACKAGES)?;
    probe()
}

/// Installs Debian packages.
pub(crate) fn install_packages(packages: &[&str]) -> Result<()> {
    run(apt_get().arg("update"))?;
    run(apt_get()
        .args(["install", "--yes", "--no-install-recommends"])
        .args(packages))
}

/// Creates a virtual environment in `home` with the packages of a file of requirements, named from the
/// root of the repository. Does nothing if exactly these are installed there.
pub(crate) fn environment(home: &Path, requirements: &str) -> Result<()> {
    ensure()?;
    let file = workspace::root().join(requirements);
    let wanted =
        fs::read_to_string(&file).with_context(|| format!("cannot read {requirements}"))?;
    let stamp = [&home.display().to_string(), &*wanted].join("\n");
    let stamp_file = home.join("stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return say(&format!("already installed in {}\n", home.display()));
    }
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("cannot clear {}", home.display()))?;
    }
    if let Some(above) = home.parent() {
        fs::create_dir_all(above)?;
    }
    run(Command::new(PYTHON).args(["-m", "venv"]).arg(home))?;
    let install = "-m pip install --quiet --disable-pip-version-check --no-input --requirement";
    run(Command::new(home.join("bin/python"))
        .args(install.split(' '))
        .arg(file))?;
    // The stamp is written last, so that an interrupted installation does not count.
    fs::write(stamp_file, stamp).context("cannot write the stamp")
}

fn probe() -> Result<()> {
    output(Command::new(PYTHON).args(["-c", PROBE])).map(drop)
}

/// Whether we are root on a system with `apt-get`.
pub(crate) fn may_install() -> bool {
    let root = output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0");
    root && output(apt_get().arg("--version")).is_ok()
}

/// Returns `apt-get`, quiet and without questions.
fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // A package that asks a question would hang the run.
    command
        .args(["--quiet", "--quiet"])
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}
