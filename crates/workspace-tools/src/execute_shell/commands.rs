//! State that outlives a single command: its background processes, and the private directory of all
//! commands.

use std::io;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use tempfile::TempDir;

use super::running::Supervised;

/// The processes that commands leave running in the background, and the private directory of
/// commands. Dropping this value ends the processes and removes the directory.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    background: Mutex<Vec<Supervised>>,
    temp: Mutex<Option<TempDir>>,
}

impl Commands {
    /// Keeps a command with background processes, and forgets commands whose processes have ended.
    pub(crate) fn keep(&self, more: Option<Supervised>) {
        let mut background = lock(&self.background);
        background.retain_mut(|one| !one.is_over());
        background.extend(more);
    }

    /// The directory below `parent` that only sandboxed commands use (mode 0700). Created on
    /// first use.
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
