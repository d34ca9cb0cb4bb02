//! Checks that stored bytes are unchanged since they were stored.
//!
//! The store checks lengths, manifest and line index whenever it opens an artifact. This check
//! reads all bytes: the raw bytes against their SHA-256, a separate view against its CRC-32.
//! Artifacts of older versions have no sum of view and index. For them the index is computed again
//! from the view and compared, and a separate view cannot be checked.

use std::io::{self, Read};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use spillgate_artifact::{Handle, Manifest, ReadRange};
use spillgate_store::{ArtifactStore, Part, StoreError, Stored};
use spillgate_text::{Indexer, LineIndex};

/// Bytes that are read at a time.
const BLOCK: usize = 256 << 10;

/// Reads a part of a stored artifact front to back and sums it up, so that the reader can tell at
/// the end whether it was intact.
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
    /// It was stored before views had a checksum.
    Unknown,
}

/// What was read is not what was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// The number of bytes differs.
    #[error("{bytes} bytes of {whole} are there")]
    Length {
        /// Bytes read.
        bytes: u64,
        /// Bytes stored.
        whole: u64,
    },
    /// The bytes differ.
    #[error("the bytes are not those that were stored")]
    Content,
}

impl<'a> Checked<'a> {
    /// Returns a reader of one part.
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

    /// Returns whether what was read to its end is what was stored; `false` if there is nothing to
    /// compare it with.
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

/// The result of a check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// What is wrong, one sentence each; empty if nothing is.
    pub problems: Vec<String>,
    /// Parts that have nothing to compare them with.
    pub unchecked: Vec<&'static str>,
}

/// Reads all of an artifact and compares it with what was stored. `progress` gets the bytes read so
/// far. A missing artifact is an error; damage is not.
pub fn verify(
    store: &dyn ArtifactStore,
    handle: Handle,
    progress: &mut dyn FnMut(u64),
) -> Result<Verified, StoreError> {
    let mut verified = Verified::default();
    let stored = match store.open(handle) {
        Err(error @ StoreError::Absent { .. }) => return Err(error),
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
    // With a checksum, the store has already compared it.
    let is_checked = stored.manifest.checks.is_some();
    match LineIndex::from_bytes(&stored.index) {
        Err(error) => verified.problems.push(format!("line index: {error}")),
        Ok(_) if is_checked => {}
        Ok(index) if fits(&index, &stored, progress).unwrap_or(false) => {}
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

/// Returns whether the view has these lines. Where each of them comes from is not checked.
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
