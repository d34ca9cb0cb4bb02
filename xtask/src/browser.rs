//! Finds or installs a browser for Playwright's server.

use std::process::Command;

use anyhow::Context;

use crate::command::output;
use crate::python;

/// Names of browsers; `tests/peers/places.py` looks for the same ones.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-headless-shell",
    "google-chrome",
    "headless_shell",
];

/// The smallest Debian package of a browser (58 MB).
const PACKAGE: &str = "chromium-headless-shell";

/// Ensures that there is a browser. If there is none, installs one as root on a Debian-like system;
/// otherwise the error says why there is none.
pub(crate) fn ensure() -> Result<(), String> {
    if NAMES.iter().any(|name| starts(name)) {
        return Ok(());
    }
    if !python::may_install() {
        return Err(format!(
            "no browser here (Debian: `apt-get install {PACKAGE}`)"
        ));
    }
    python::install_packages(&[PACKAGE])
        .map_err(|error| format!("no browser here, and none can be installed: {error:#}"))
}

/// Returns the name of a browser that starts.
pub(crate) fn found() -> anyhow::Result<&'static str> {
    let found = NAMES.into_iter().find(|name| starts(name));
    found.context("no browser here")
}

fn starts(name: &str) -> bool {
    output(Command::new(name).arg("--version")).is_ok()
}
