//! What is known of a result that fits, and how is it passed on?

use std::io::{self, Write};

use spillgate_artifact::{Origin, ReadRange, Stats};
use spillgate_store::{Draft, Part};

use crate::capture::Raw;
use crate::policy::Fits;

impl Fits {
    /// Who made it.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.measured.sanitized.captured.origin
    }

    /// Its figures.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.measured.stats()
    }

    /// SHA-256 of its raw bytes, in hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        self.measured.sha256()
    }

    /// Whether it is over a limit and shown whole only because a preview would
    /// not be clearly smaller.
    #[must_use]
    pub fn is_never_worse(&self) -> bool {
        self.never_worse
    }

    /// The draft with the raw bytes of a result that was too large for the memory,
    /// so that it can be passed on.
    #[must_use]
    pub fn into_draft(self) -> Option<Box<dyn Draft>> {
        match self.measured.sanitized.captured.raw {
            Raw::Spooled(draft) => Some(draft),
            Raw::Memory(_) | Raw::Lost { .. } => None,
        }
    }

    /// Writes the raw bytes, untouched.
    pub fn write_raw(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.measured.sanitized.captured.raw {
            Raw::Memory(bytes) => out.write_all(bytes),
            Raw::Spooled(draft) => {
                let raw = draft.read(Part::Raw).map_err(io::Error::other)?;
                io::copy(&mut ReadRange::whole(&*raw), out).map(drop)
            }
            Raw::Lost { .. } => Ok(()),
        }
    }
}
