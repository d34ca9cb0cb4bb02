//! Unified diffs of configuration files.

use std::path::Path;

use similar::TextDiff;

/// Formats a unified diff with three lines around each change; empty if nothing changes.
pub fn unified(file: &Path, before: &str, after: &str) -> String {
    let name = file.display().to_string();
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&name, &name)
        .to_string()
}
