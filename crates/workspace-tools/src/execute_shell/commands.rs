//! What commands leave behind while the tools exist.

use std::io;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use tempfile::TempDir;

use super::running::Supervised;

/// What commands leave running in the background, and their private directory. Both
/// end with this.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    background: Mutex<Vec<Supervised>>,
    temp: Mutex<Option<TempDir>>,
}

impl Commands {
    /// Keeps what runs on; forgets what has ended.
    pub(crate) fn keep(&self, more: Option<Supervised>) {
        let mut background = lock(&self.background);
        background.retain_mut(|one| !one.is_over());
        background.extend(more);
    }

    /// The directory, below `parent`, that only commands in a sandbox use (mode 0700).
    pub(crate) fn temp(&self, parent: &Path) -> io::Result<PathBuf> {
        let mut temp = lock(&self.temp);
        let made = match temp.take() {
            Some(made) => made,
            None => tempfile::Builder::new()
                .prefix("spillgate-")
                .tempdir_in(parent)?,
        };
        Ok(temp.insert(made).path().to_owned())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
