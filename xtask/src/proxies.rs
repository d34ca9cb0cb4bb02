//! Tests proxies of language models in front of `spillgate serve`.
//!
//! LiteLLM's proxy is installed into `.doors/litellm` (0.8 GB).

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::run;
use crate::report::say;
use crate::{python, workspace};

const LITELLM: &str = include_str!("../doors/litellm.txt");

/// Installs LiteLLM unless exactly this version is installed.
pub(crate) fn install_litellm() -> Result<()> {
    python::ensure()?;
    let home = home();
    let stamp = [&home.display().to_string(), LITELLM].join("\n");
    let stamp_file = home.join("stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return say("already installed in .doors/\n");
    }
    if home.exists() {
        fs::remove_dir_all(&home).context("cannot clear .doors/litellm")?;
    }
    if let Some(doors) = home.parent() {
        fs::create_dir_all(doors)?;
    }
    run(Command::new(python::PYTHON).args(["-m", "venv"]).arg(&home))?;
    let install = "-m pip install --quiet --disable-pip-version-check --no-input --requirement";
    run(Command::new(home.join("bin/python"))
        .args(install.split(' '))
        .arg(workspace::root().join("xtask/doors/litellm.txt")))?;
    // The stamp is written last, so that an interrupted installation does not count.
    fs::write(stamp_file, stamp).context("cannot write the stamp")
}

/// Holds conversations with a scripted model through LiteLLM's proxy.
pub(crate) fn test_litellm() -> Result<()> {
    run(Command::new(python::PYTHON)
        .arg(workspace::root().join("xtask/doors/litellm.py"))
        .arg(home())
        .arg(workspace::built()?.join("spillgate")))
}

fn home() -> PathBuf {
    workspace::root().join(".doors/litellm")
}
