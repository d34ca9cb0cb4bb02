//! Unified diffs of configuration files.

use std::path::Path;

use similar::TextDiff;

/// Formats a unified diff of the file `from` and the file `to`, with three lines around each change;
/// empty if nothing changes.
pub fn unified(from: &Path, to: &Path, before: &str, after: &str) -> String {
    let (from, to) = (from.display().to_string(), to.display().to_string());
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&from, &to)
        .to_string()
}
