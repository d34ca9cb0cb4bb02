//! A text of which only parts without secrets can be read.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use spillgate_artifact::{ByteSource, Interrupted};

use crate::Redactor;
use crate::find::{BLOCK, MARGIN, hits_of};

/// The error for a read of bytes that are in or near a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text has secrets here")]
pub struct SecretsHere;

/// What is known about a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Clear,
    HasSecrets,
    /// It could not be read.
    Unknown,
}

/// A source that looks for secrets in the blocks that are read, before it returns their bytes.
///
/// A read fails with [`SecretsHere`] if a secret begins in one of its blocks or so near that it can
/// reach into them. Therefore the bytes that this source returns contain no part of a secret that
/// [`find`](crate::find) finds in the whole text. Blocks that are not read are not searched.
pub struct ClearSource {
    source: Arc<dyn ByteSource>,
    redactor: Arc<Redactor>,
    block: u64,
    blocks: Box<[OnceLock<Block>]>,
    has_met: AtomicBool,
}

impl fmt::Debug for ClearSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClearSource")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl ClearSource {
    /// Returns the parts of a text without secrets.
    #[must_use]
    pub fn new(source: Arc<dyn ByteSource>, redactor: Arc<Redactor>) -> Self {
        Self::in_blocks(source, redactor, BLOCK)
    }

    /// Like [`new`](Self::new), with a block size for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn in_blocks(source: Arc<dyn ByteSource>, redactor: Arc<Redactor>, block: u64) -> Self {
        let blocks = (0..source.len().div_ceil(block)).map(|_| OnceLock::new());
        Self {
            blocks: blocks.collect(),
            source,
            redactor,
            block,
            has_met: AtomicBool::new(false),
        }
    }

    /// Returns whether a read has failed: with [`SecretsHere`], or because the text could not be
    /// searched.
    #[must_use]
    pub fn has_met_secrets(&self) -> bool {
        self.has_met.load(Ordering::Acquire)
    }

    /// Returns whether the whole text was searched and has no secrets.
    #[must_use]
    pub fn is_all_clear(&self) -> bool {
        let is_clear = |block: &OnceLock<Block>| block.get() == Some(&Block::Clear);
        self.blocks.iter().all(is_clear)
    }

    /// Fails unless no secret can reach into `start..end`.
    fn ensure(&self, start: u64, end: u64) -> io::Result<()> {
        let at = |block: u64| usize::try_from(block).unwrap_or(usize::MAX);
        let first = at(start.saturating_sub(MARGIN) / self.block).min(self.blocks.len());
        let last = at(end.saturating_add(MARGIN).div_ceil(self.block)).min(self.blocks.len());
        let mut buffer = Vec::new();
        for (index, block) in (first as u64..).zip(&self.blocks[first..last]) {
            let mut failed = None;
            let state = block.get_or_init(|| {
                let rules = self.redactor.rules();
                match hits_of(rules, &*self.source, self.block, index, &mut buffer) {
                    Ok(hits) if hits.is_empty() => Block::Clear,
                    Ok(_) => Block::HasSecrets,
                    Err(error) => {
                        failed = Some(error);
                        Block::Unknown
                    }
                }
            });
            if *state != Block::Clear {
                self.has_met.store(true, Ordering::Release);
                return Err(failed.unwrap_or_else(|| io::Error::other(SecretsHere)));
            }
        }
        Ok(())
    }
}

impl ByteSource for ClearSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.ensure(offset, offset.saturating_add(buffer.len() as u64))?;
        self.source.read_at(buffer, offset)
    }

    fn window<'a>(&'a self, start: u64, end: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.ensure(start, end)?;
        self.source.window(start, end, buffer)
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.source.check()
    }
}
