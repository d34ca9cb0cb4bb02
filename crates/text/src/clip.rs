//! Clips long lines.

use std::fmt::Write;

/// Returns the first `longest` characters of a line. If the line is longer, adds a mark with the
/// number of missing bytes.
#[must_use]
pub fn clip(line: &str, longest: usize) -> String {
    let Some((cut, _)) = line.char_indices().nth(longest) else {
        return line.to_owned();
    };
    let mut clipped = line[..cut].to_owned();
    write!(clipped, "… (+{} bytes)", line.len() - cut).expect("writing to a string");
    clipped
}
