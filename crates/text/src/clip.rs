//! Clips long lines.

use std::fmt::Write;

/// A line cut at `longest` characters, with a mark that says how much is gone.
#[must_use]
pub fn clip(line: &str, longest: usize) -> String {
    let Some((cut, _)) = line.char_indices().nth(longest) else {
        return line.to_owned();
    };
    let mut clipped = line[..cut].to_owned();
    write!(clipped, "… (+{} bytes)", line.len() - cut).expect("writing to a string");
    clipped
}
