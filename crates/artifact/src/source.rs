//! How are stored bytes read, wherever they are?

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that can be read at any offset, by several readers at once: a file,
/// a buffer, a cached object.
pub trait ByteSource: Send + Sync + std::fmt::Debug {
    /// Bytes in all.
    fn len(&self) -> u64;

    /// Reads some bytes from `offset` on; 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The bytes `start..end` (cut at the end of the source) for one look over
    /// all of them: a source that can show them without a copy does.
    fn window(&self, start: u64, end: u64) -> io::Result<Box<dyn AsRef<[u8]>>> {
        Ok(Box::new(self.bytes(start, end)?))
    }

    /// The file that holds these bytes and no others, where there is one: another
    /// process can read it without a copy.
    fn file(&self) -> Option<&File> {
        None
    }

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes `start..end` (cut at the end of the source) as a vector.
    fn bytes(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let end = end.min(self.len());
        let wanted = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; wanted];
        let mut filled = 0;
        while filled < wanted {
            match self.read_at(&mut bytes[filled..], start + filled as u64)? {
                0 => break,
                n => filled += n,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

impl ByteSource for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.get(offset..))
            .unwrap_or_default();
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// Bytes in memory that several hold. They are shown without a copy.
#[derive(Debug, Clone)]
pub struct SharedBytes(Arc<Vec<u8>>);

impl From<Arc<Vec<u8>>> for SharedBytes {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

impl ByteSource for SharedBytes {
    fn len(&self) -> u64 {
        self.0.as_slice().len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn window(&self, start: u64, end: u64) -> io::Result<Box<dyn AsRef<[u8]>>> {
        struct Shown(Arc<Vec<u8>>, Range<usize>);

        impl AsRef<[u8]> for Shown {
            fn as_ref(&self) -> &[u8] {
                &self.0[self.1.clone()]
            }
        }

        let at = |offset: u64| usize::try_from(offset.min(self.len())).map_err(io::Error::other);
        let (start, end) = (at(start)?, at(end)?);
        Ok(Box::new(Shown(Arc::clone(&self.0), start..end.max(start))))
    }
}

/// Reads `start..end` of a source front to back.
#[derive(Debug)]
pub struct ReadRange<'a> {
    source: &'a dyn ByteSource,
    position: u64,
    end: u64,
}

impl<'a> ReadRange<'a> {
    /// A reader of the bytes `start..end`, cut at the end of the source.
    #[must_use]
    pub fn new(source: &'a dyn ByteSource, start: u64, end: u64) -> Self {
        Self {
            source,
            position: start,
            end: end.min(source.len()),
        }
    }

    /// A reader of all bytes.
    #[must_use]
    pub fn whole(source: &'a dyn ByteSource) -> Self {
        Self::new(source, 0, source.len())
    }
}

impl Read for ReadRange<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let n = self.source.read_at(&mut buffer[..wanted], self.position)?;
        self.position += n as u64;
        Ok(n)
    }
}
