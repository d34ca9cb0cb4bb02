//! Downloads packages, and distinguishes a missing network from other errors.

use std::fmt;
use std::process::Command;

use anyhow::Result;

use crate::command::output;

/// Context of errors that mean that packages could not be downloaded, as opposed to wrong packages.
/// The installed packages are unchanged.
#[derive(Debug)]
pub(crate) struct CannotFetch;

impl fmt::Display for CannotFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the packages cannot be fetched; what came is kept for the next run")
    }
}

/// Parts of the errors of `pip` and `npm` that mean that a package is not available.
const NOT_THERE: [&str; 9] = [
    "Could not find a version",
    "No matching distribution",
    "onnection",
    "timed out",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ETIMEDOUT",
    "ENETUNREACH",
];

/// Runs `pip` or `npm` to download packages. Their exit codes do not distinguish causes, so this
/// searches the error text for signs of a missing network. Other errors must not contain these
/// signs.
pub(crate) fn fetch(command: &mut Command) -> Result<()> {
    output(command).map(drop).map_err(|error| {
        let words = format!("{error:#}");
        if NOT_THERE.iter().any(|sign| words.contains(sign)) {
            return error.context(CannotFetch);
        }
        error
    })
}
