//! Verifies that stored bytes are unchanged.
//!
//! The store checks lengths, manifest and line index whenever it opens an artifact. This check
//! reads all bytes: it compares the raw bytes with their SHA-256 and a separate view with its
//! CRC-32. Artifacts of older versions have no checksum of view and index: there the index is
//! recomputed from the view and compared, and a separate view cannot be checked.

use std::io::{self, Read};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use spillgate_artifact::{Handle, Manifest, ReadRange};
use spillgate_lookup::StoredIndex;
use spillgate_store::{ArtifactStore, Part, StoreError, Stored};
use spillgate_text::{Indexer, LineIndex};

/// Bytes read at a time.
const BLOCK: usize = 256 << 10;

/// Reads a part of a stored artifact from start to end and computes its checksum, so that the
/// caller can verify it at the end.
#[derive(Debug)]
pub struct Checked<'a> {
    reader: ReadRange<'a>,
    manifest: &'a Manifest,
    sum: Sum,
    bytes: u64,
}

/// The checksum of a part.
#[derive(Debug)]
enum Sum {
    Sha256(Box<Sha256>),
    Crc32(crc32fast::Hasher, u32),
    /// Stored before views had a checksum.
    Unknown,
}

/// The bytes differ from those that were stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// The length differs.
    #[error("{bytes} bytes of {whole} are there")]
    Length {
        /// Bytes read.
        bytes: u64,
        /// Bytes stored.
        whole: u64,
    },
    /// The content differs.
    #[error("the bytes are not those that were stored")]
    Content,
}

impl<'a> Checked<'a> {
    /// Creates a reader of one part.
    #[must_use]
    pub fn new(stored: &'a Stored, part: Part) -> Self {
        let manifest = &stored.manifest;
        let is_raw = part == Part::Raw || manifest.facts.view.is_raw;
        let source = match part {
            Part::Raw => &*stored.raw,
            Part::View => &*stored.view,
        };
        let sum = match manifest.checks.and_then(|checks| checks.view) {
            _ if is_raw => Sum::Sha256(Box::default()),
            Some(view) => Sum::Crc32(crc32fast::Hasher::new(), view),
            None => Sum::Unknown,
        };
        Self {
            reader: ReadRange::whole(source),
            manifest,
            sum,
            bytes: 0,
        }
    }

    /// Verifies the bytes read so far, which must be the whole part. Returns `false` if there is no
    /// checksum to compare with.
    pub fn finish(self) -> Result<bool, ChecksumError> {
        let facts = &self.manifest.facts;
        let whole = match &self.sum {
            Sum::Sha256(_) => facts.raw_bytes,
            _ => facts.view.bytes,
        };
        if self.bytes != whole {
            let bytes = self.bytes;
            return Err(ChecksumError::Length { bytes, whole });
        }
        let is_same = match self.sum {
            Sum::Sha256(sum) => HEXLOWER.encode(&sum.finalize()) == facts.sha256,
            Sum::Crc32(sum, stored) => sum.finalize() == stored,
            Sum::Unknown => return Ok(false),
        };
        match is_same {
            true => Ok(true),
            false => Err(ChecksumError::Content),
        }
    }
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.bytes += n as u64;
        match &mut self.sum {
            Sum::Sha256(sum) => sum.update(&buffer[..n]),
            Sum::Crc32(sum, _) => sum.update(&buffer[..n]),
            Sum::Unknown => {}
        }
        Ok(n)
    }
}

/// The result of verifying an artifact.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Problems, one sentence each; empty if the artifact is intact.
    pub problems: Vec<String>,
    /// Parts without a checksum.
    pub unchecked: Vec<&'static str>,
}

/// Reads a whole artifact and compares it with its checksums. Calls `progress` with the bytes of
/// each block read. A missing artifact is an error, and so is an encrypted one without its key;
/// damage is reported in the result.
pub fn verify(
    store: &dyn ArtifactStore,
    handle: Handle,
    progress: &mut dyn FnMut(u64),
) -> Result<Verified, StoreError> {
    let mut verified = Verified::default();
    let stored = match store.open(handle) {
        Err(error @ (StoreError::Absent { .. } | StoreError::Locked { .. })) => return Err(error),
        Err(error) => {
            verified.problems.push(error.to_string());
            return Ok(verified);
        }
        Ok(stored) => stored,
    };
    let facts = &stored.manifest.facts.view;
    let mut parts = vec![(Part::Raw, "raw bytes")];
    if !facts.is_raw {
        parts.push((Part::View, "view"));
    }
    for (part, name) in parts {
        let mut checked = Checked::new(&stored, part);
        let found = match read_all(&mut checked, progress) {
            Ok(()) => checked.finish().map_err(|wrong| wrong.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match found {
            Ok(true) => {}
            Ok(false) => verified.unchecked.push(name),
            Err(what) => verified.problems.push(format!("{name}: {what}")),
        }
    }
    // The store has compared the index if it has a checksum.
    let is_checked = stored.manifest.checks.is_some();
    match StoredIndex::from_bytes(&stored.index) {
        Err(error) => verified.problems.push(format!("line index: {error}")),
        Ok(_) if is_checked => {}
        Ok(index) if fits(&index.lines, &stored, progress).unwrap_or(false) => {}
        Ok(_) => {
            let what = "line index: it does not fit the text";
            verified.problems.push(what.to_owned());
        }
    }
    Ok(verified)
}

fn read_all(reader: &mut dyn Read, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        match reader.read(&mut block)? {
            0 => return Ok(()),
            n => progress(n as u64),
        }
    }
}

/// Returns whether the view has these lines. Does not compare the origins of the lines.
fn fits(index: &LineIndex, stored: &Stored, progress: &mut dyn FnMut(u64)) -> io::Result<bool> {
    let mut indexer = Indexer::made(stored.manifest.facts.view.layout);
    let (mut reader, mut block) = (ReadRange::whole(&*stored.view), vec![0; BLOCK]);
    loop {
        match reader.read(&mut block)? {
            0 => break,
            n => {
                indexer.feed(&block[..n]);
                progress(n as u64);
            }
        }
    }
    let made = indexer.finish();
    let place = |index: &LineIndex| -> Vec<(u64, u64)> {
        let anchors = index.anchors.iter();
        anchors.map(|anchor| (anchor.line, anchor.offset)).collect()
    };
    Ok((made.lines, made.bytes) == (index.lines, index.bytes) && place(&made) == place(index))
}
