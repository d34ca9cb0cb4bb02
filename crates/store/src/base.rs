//! Checks that a store's directory is safe and usable: nobody else can put files into it, and this
//! version knows its layout.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::StoreError;
use crate::books::Books;
use crate::files::FileStore;

/// Mode bits that let the group or everybody write.
const OTHERS_WRITE: u32 = 0o022;

impl FileStore {
    /// Refuses a store whose layout only newer versions of this program know.
    pub fn check_format(&self) -> Result<(), StoreError> {
        match Books::of(self.base()).read() {
            Err(error @ StoreError::Newer { .. }) => Err(error),
            // Other errors of the file `.store` must not prevent reading the artifacts.
            _ => Ok(()),
        }
    }

    /// Refuses a base directory that belongs to another user or that others may write to, because
    /// they could replace what is stored. Accepts a base that does not exist, because the store
    /// creates it with access for its owner only.
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
