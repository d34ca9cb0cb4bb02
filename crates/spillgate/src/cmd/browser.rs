//! Opens pages in the user's browser.

use std::process::{Command, Stdio};

use spillgate_store::keep_key_from;

/// Program that opens a page in a browser.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens a page, given by its address or its file. A failure is only logged: the page's address is on
/// the screen, too. Every user of the machine can read the address.
pub(crate) fn open(page: &str) {
    let mut command = Command::new(OPENER);
    keep_key_from(&mut command);
    let command = command.arg(page).stdin(Stdio::null());
    let opened = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = opened {
        tracing::info!(%error, "no browser could be opened");
    }
}
