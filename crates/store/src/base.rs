//! Checks that a store's directory can be used: that nobody else can put files into it,
//! and that this version knows its layout.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::StoreError;
use crate::books::Books;
use crate::files::FileStore;

/// Mode bits by which a group or everybody may write.
const OTHERS_WRITE: u32 = 0o022;

impl FileStore {
    /// Refuses a store whose layout only a newer version knows.
    pub fn check_format(&self) -> Result<(), StoreError> {
        match Books::of(self.base()).read() {
            Err(error @ StoreError::Newer { .. }) => Err(error),
            // What else is wrong with that file keeps nobody from what is stored.
            _ => Ok(()),
        }
    }

    /// Refuses a base that belongs to somebody else or that others may write to: they
    /// could put anything in the place of what is stored. A base that is not there will
    /// be made for its owner alone.
    pub fn check_base(&self) -> Result<(), StoreError> {
        let found = match fs::metadata(self.base()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.map_err(|error| StoreError::io(self.base(), error))?,
        };
        let user = rustix::process::geteuid().as_raw();
        let why = if found.uid() != user {
            format!("it belongs to user {}, not to user {user}", found.uid())
        } else if found.mode() & OTHERS_WRITE != 0 {
            let mode = found.mode() & 0o7777;
            format!("others may write to it (mode {mode:o})")
        } else {
            return Ok(());
        };
        Err(StoreError::Exposed {
            path: self.base().to_owned(),
            why,
        })
    }
}
