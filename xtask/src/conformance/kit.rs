//! Installs the official conformance suite and the SDK's client and server into
//! `.peers/conformance/`.
//!
//! ```text
//! node/      npm package: the suite
//! sdk/       from the Python SDK's source package: client.py, mcp_everything_server/
//! results/   of the last run: one folder per run of the suite, in it one folder per scenario with
//!            its `checks.json`
//! logs/      output of the servers
//! stamp      written last; what is installed, and where
//! ```

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{output, run};
use crate::fetch::fetch;
use crate::report::say;
use crate::workspace;

const PACKAGE: &str = include_str!("../../conformance/package.json");
const PACKAGE_LOCK: &str = include_str!("../../conformance/package-lock.json");
const SDK: &str = include_str!("../../conformance/sdk.txt");

/// Returns the folder of the installation.
pub(crate) fn home() -> PathBuf {
    workspace::peers().join("conformance")
}

/// Returns the path of one of our scripts.
pub(crate) fn script(name: &str) -> PathBuf {
    workspace::root().join("xtask/conformance").join(name)
}

/// Returns the Python interpreter with the SDK.
pub(crate) fn python() -> PathBuf {
    workspace::peers().join("python/bin/python")
}

/// Returns the folder with the files from the SDK's source package.
pub(crate) fn sdk() -> PathBuf {
    home().join("sdk")
}

/// Returns the suite's command line program, `conformance`.
pub(crate) fn suite() -> Command {
    let package = "node/node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let mut suite = Command::new(workspace::peers().join("bin/node"));
    suite.arg(home().join(package));
    suite
}

/// Installs the suite unless exactly these versions are installed. The peers must be installed
/// already.
pub(crate) fn install() -> Result<()> {
    let stamp_file = home().join("stamp");
    let stamp = [&home().display().to_string(), PACKAGE, PACKAGE_LOCK, SDK].join("\n");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return say("the suite: already installed in .peers/conformance/\n");
    }
    say("installing the conformance suite\n")?;
    if home().exists() {
        fs::remove_dir_all(home()).context("cannot clear .peers/conformance/")?;
    }
    install_suite()?;
    install_sdk()?;
    // The stamp is written last, so that an interrupted installation does not count.
    fs::write(stamp_file, stamp).context("cannot write the stamp")
}

fn install_suite() -> Result<()> {
    let folder = home().join("node");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), PACKAGE)?;
    fs::write(folder.join("package-lock.json"), PACKAGE_LOCK)?;
    let mut npm = Command::new(workspace::peers().join("bin/npm"));
    let install = "ci --ignore-scripts --no-audit --no-fund --loglevel=error";
    fetch(npm.args(install.split(' ')).current_dir(&folder))
}

/// Downloads the source package, checks its hash and unpacks the files that we need.
fn install_sdk() -> Result<()> {
    let folder = home().join("source");
    fs::create_dir_all(&folder)?;
    let wanted = folder.join("sdk.txt");
    fs::write(&wanted, SDK)?;
    let download = "-m pip download --quiet --disable-pip-version-check --no-input --no-deps --no-binary :all:";
    let mut pip = Command::new(python());
    pip.args(download.split(' '));
    pip.arg("--requirement").arg(&wanted);
    fetch(pip.arg("--dest").arg(&folder))?;
    let source = fs::read_dir(&folder)?
        .filter_map(Result::ok)
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|end| end == "gz"))
        .context("pip downloaded no source package of the SDK")?;
    let mut unpack = Command::new(python());
    unpack.arg("-I").arg(script("unpack.py"));
    run(unpack.arg(source).arg(sdk()))?;
    fs::remove_dir_all(&folder).context("cannot clear .peers/conformance/source")
}

/// Returns the scenarios that a revision runs against clients: first those without authorization,
/// then those about a client's own authorization.
pub(crate) fn client_scenarios(revision: &str) -> Result<(Vec<String>, Vec<String>)> {
    let list = output(suite().args(["list", "--requirements", revision]))?;
    let all = clients_in(&list);
    anyhow::ensure!(
        !all.is_empty(),
        "the suite lists no client scenario of {revision}"
    );
    Ok(all.into_iter().partition(|name| !name.starts_with("auth/")))
}

/// Returns the scenarios below “Client scenarios”, and those marked `[client]` that are not
/// counted.
fn clients_in(list: &str) -> Vec<String> {
    let mut is_client = false;
    let mut found = Vec::new();
    for line in list.lines() {
        let Some(name) = line.trim().strip_prefix("- ") else {
            is_client =
                line.starts_with("Client scenarios") || (is_client && line.trim().is_empty());
            continue;
        };
        match name.strip_suffix(" [client]") {
            Some(name) => found.push(name.to_owned()),
            None if is_client => found.push(name.to_owned()),
            None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::clients_in;

    #[test]
    fn client_scenarios_are_those_required_and_those_marked() {
        let list = "Required:\n\nServer scenarios (x):\n  - ping\n\nClient scenarios (y):\n  - initialize\n  - auth/a\n\n\
                    Run and reported, but never scored:\n  extension (2):\n    - auth/b [client]\n    - tasks [server]\n";
        assert_eq!(clients_in(list), ["initialize", "auth/a", "auth/b"]);
    }
}
