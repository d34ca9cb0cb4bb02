//! Tests proxies of language models in front of `spillgate serve`.
//!
//! LiteLLM's proxy is installed into `.doors/litellm` (0.8 GB).

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::command::run;
use crate::{python, workspace};

/// Installs LiteLLM unless exactly this version is installed.
pub(crate) fn install_litellm() -> Result<()> {
    python::environment(&home(), "xtask/doors/litellm.txt")
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
