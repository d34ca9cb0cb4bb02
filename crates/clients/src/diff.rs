//! Shows what would change, as a unified diff.

use std::path::Path;

use similar::TextDiff;

/// A unified diff with three lines around each change; empty where nothing
/// changes.
pub fn unified(file: &Path, before: &str, after: &str) -> String {
    let name = file.display().to_string();
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&name, &name)
        .to_string()
}
