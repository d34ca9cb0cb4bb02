//! Fuzz targets for all parsers of untrusted bytes.
//!
//! Each target takes any bytes and panics when a promised property does not hold. The programs in
//! `fuzz/` run the targets under libFuzzer (`cargo xtask fuzz`), and `tests/corpus.rs` runs each
//! target over its corpus in `fuzz/corpus`. Targets call public functions only, so that refactoring
//! does not change them (docs/decisions/0022-fuzzing.md).

#![allow(
    clippy::unwrap_used,
    reason = "a target that cannot go on has found something"
)]
#![allow(
    clippy::missing_panics_doc,
    reason = "to panic is how a target reports"
)]

mod files;
mod promises;
mod requests;
mod stored;
mod texts;
mod wire;

pub use files::{agent_config, client_files, prompt_file, settings};
pub use promises::promises;
pub use requests::{arguments, filter, query, search, slot};
pub use texts::{decoder, encodings, html, json, outline, robots, view};
pub use wire::{bridge, frames, headers, intake, sse};

/// A fuzz target: takes any bytes, and panics if a promised property does not hold.
pub type Target = fn(&[u8]);

/// All targets by name. Each has a program in `fuzz/targets` and a directory in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 22] = [
    ("agent_config", agent_config),
    ("arguments", arguments),
    ("bridge", bridge),
    ("client_files", client_files),
    ("decoder", decoder),
    ("encodings", encodings),
    ("filter", filter),
    ("frames", frames),
    ("headers", headers),
    ("html", html),
    ("intake", intake),
    ("json", json),
    ("outline", outline),
    ("promises", promises),
    ("prompt_file", prompt_file),
    ("query", query),
    ("robots", robots),
    ("search", search),
    ("settings", settings),
    ("slot", slot),
    ("sse", sse),
    ("view", view),
];

/// Sizes of the blocks in which a parser gets the same bytes. Its output must not depend on the
/// size.
const BLOCKS: [usize; 3] = [1, 7, usize::MAX];

/// Splits off the first line; its newline is dropped.
fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', bytes) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// Runs the future of an asynchronous target.
fn block_on<F: Future>(future: F) -> F::Output {
    use std::sync::LazyLock;
    use tokio::runtime::{Builder, Runtime};

    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());
    RUNTIME.block_on(future)
}
