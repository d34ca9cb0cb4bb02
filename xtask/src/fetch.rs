//! Fetching packages, and telling a missing network from a mistake of ours.

use std::fmt;
use std::process::Command;

use anyhow::Result;

use crate::command::output;

/// Packages could not be fetched; what is installed is as before. It is the context of such an
/// error, so that a caller can tell it from packages that are wrong.
#[derive(Debug)]
pub(crate) struct CannotFetch;

impl fmt::Display for CannotFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the packages cannot be fetched; what came is kept for the next run")
    }
}

/// What `pip` and `npm` say when nothing is to be had.
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

/// Runs a `pip` or an `npm` that fetches. Their exit codes are the same for everything that goes wrong, so their
/// words have to say whether there was nothing to be had; a mistake of ours must not look like a missing network.
pub(crate) fn fetch(command: &mut Command) -> Result<()> {
    output(command).map(drop).map_err(|error| {
        let words = format!("{error:#}");
        if NOT_THERE.iter().any(|sign| words.contains(sign)) {
            return error.context(CannotFetch);
        }
        error
    })
}
