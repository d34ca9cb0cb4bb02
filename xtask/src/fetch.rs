//! Downloads packages, and tells a missing network from an error of ours.

use std::fmt;
use std::process::Command;

use anyhow::Result;

use crate::command::output;

/// Context of errors that mean that packages could not be downloaded, as opposed to wrong packages.
/// What is installed is unchanged.
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

/// Runs a `pip` or an `npm` that downloads. Their exit codes do not tell causes apart, so this
/// looks for a missing network in the error text; an error of ours must not look like one.
pub(crate) fn fetch(command: &mut Command) -> Result<()> {
    output(command).map(drop).map_err(|error| {
        let words = format!("{error:#}");
        if NOT_THERE.iter().any(|sign| words.contains(sign)) {
            return error.context(CannotFetch);
        }
        error
    })
}
