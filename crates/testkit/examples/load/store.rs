//! Samples the size of a store.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::spawn_blocking;

/// Time between two samples. One sample of 100,000 artifacts takes a second.
const EVERY: Duration = Duration::from_secs(5);

/// Returns the maximum total size of the artifacts, in bytes, until the time `until`. Drafts, which
/// are still being written, are not counted.
pub(crate) async fn sample(store: PathBuf, until: Instant) -> Result<u64> {
    let mut most = 0;
    while Instant::now() < until {
        let place = store.clone();
        most = most.max(spawn_blocking(move || bytes_below(&place)).await??);
        tokio::time::sleep(EVERY.min(until.saturating_duration_since(Instant::now()))).await;
    }
    Ok(most)
}

fn bytes_below(directory: &Path) -> io::Result<u64> {
    let mut sum = 0;
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    for entry in entries {
        // An artifact that is evicted meanwhile takes no space.
        let Ok((entry, found)) =
            entry.and_then(|entry| entry.metadata().map(|found| (entry, found)))
        else {
            continue;
        };
        let is_draft = entry.file_name().as_encoded_bytes().starts_with(b".draft-");
        match (found.is_dir(), is_draft) {
            (true, _) => sum += bytes_below(&entry.path())?,
            (false, true) => {}
            (false, false) => sum += found.len(),
        }
    }
    Ok(sum)
}
