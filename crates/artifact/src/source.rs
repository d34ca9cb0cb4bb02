//! Bytes that can be read at any offset.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;

use crate::{Interrupt, Interrupted};

/// Bytes that can be read at any offset, by several readers at the same time: a file, a buffer, a
/// cached object.
///
/// [`len`](Self::len) does not change after the source was opened. If the source later turns out to
/// be shorter, reads past its end fail with [`SourceTruncated`] instead of reporting an early end.
pub trait ByteSource: Send + Sync + std::fmt::Debug {
    /// Returns the number of bytes.
    fn len(&self) -> u64;

    /// Reads at least one byte from `offset` on; returns 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the bytes `start..end`, cut at the end of the source. The returned slice points into
    /// `buffer`, which can be reused for the next window, or into the source itself if the source
    /// is in memory.
    fn window<'a>(&'a self, start: u64, end: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let end = end.min(self.len());
        let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        if buffer.capacity() < length {
            *buffer = vec![0; length]; // from the system, which has zeros without writing them
        } else if buffer.len() < length {
            buffer.resize(length, 0);
        }
        self.read_exact_at(&mut buffer[..length], start)?;
        Ok(&buffer[..length])
    }

    /// Returns the file that contains exactly these bytes, if there is one. It can be passed to
    /// another process without copying the bytes.
    fn file(&self) -> Option<&File> {
        None
    }

    /// Fails if work on these bytes must end. Callers that compute for a long time between two
    /// reads should call it; reads check by themselves.
    fn check(&self) -> Result<(), Interrupted> {
        Ok(())
    }

    /// Returns whether the source has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills the buffer with bytes from `offset` on, until the buffer is full or the source ends.
    /// Returns the number of bytes.
    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Fills the whole buffer with the bytes from `offset` on.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let filled = self.fill_at(buffer, offset)?;
        match filled == buffer.len() {
            true => Ok(()),
            false => Err(SourceTruncated {
                at: offset + filled as u64,
                len: self.len(),
            }
            .into()),
        }
    }

    /// Returns the bytes `start..end`, cut at the end of the source, as a vector.
    fn bytes(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let end = end.min(self.len());
        let wanted = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; wanted];
        self.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

/// The error for a source that became shorter after it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it was shortened while it was read: it had {len} bytes and now ends at byte {at}")]
pub struct SourceTruncated {
    /// The offset of the first missing byte.
    pub at: u64,
    /// The number of bytes when the source was opened.
    pub len: u64,
}

impl SourceTruncated {
    /// Returns the `SourceTruncated` inside a read error, if that is the cause.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<SourceTruncated> for io::Error {
    fn from(truncated: SourceTruncated) -> Self {
        Self::new(io::ErrorKind::UnexpectedEof, truncated)
    }
}

/// A source whose reads fail as soon as its [`Interrupt`] ends the work.
#[derive(Debug, Clone)]
pub struct Interruptible {
    source: Arc<dyn ByteSource>,
    interrupt: Interrupt,
}

impl Interruptible {
    /// Returns the same bytes, readable until `interrupt` ends the work.
    #[must_use]
    pub fn new(source: Arc<dyn ByteSource>, interrupt: Interrupt) -> Self {
        Self { source, interrupt }
    }
}

impl ByteSource for Interruptible {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.interrupt.check()?;
        self.source.read_at(buffer, offset)
    }

    fn window<'a>(&'a self, start: u64, end: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        self.interrupt.check()?;
        self.source.window(start, end, buffer)
    }

    fn file(&self) -> Option<&File> {
        self.source.file()
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.interrupt.check()?;
        self.source.check()
    }
}

impl ByteSource for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(read_from(self, buffer, offset))
    }
}

/// Windows are returned without a copy.
impl ByteSource for Bytes {
    fn len(&self) -> u64 {
        self.as_ref().len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(read_from(self, buffer, offset))
    }

    fn window<'a>(&'a self, start: u64, end: u64, _: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let at = |offset: u64| usize::try_from(offset.min(ByteSource::len(self)));
        let at = |offset: u64| at(offset).map_err(io::Error::other);
        let (start, end) = (at(start)?, at(end)?);
        Ok(&self[start..end.max(start)])
    }
}

fn read_from(bytes: &[u8], buffer: &mut [u8], offset: u64) -> usize {
    let offset = usize::try_from(offset).ok();
    let rest = offset.and_then(|offset| bytes.get(offset..));
    let rest = rest.unwrap_or_default();
    let n = rest.len().min(buffer.len());
    buffer[..n].copy_from_slice(&rest[..n]);
    n
}

/// Reads the bytes `start..end` of a source in order.
#[derive(Debug)]
pub struct ReadRange<'a> {
    source: &'a dyn ByteSource,
    position: u64,
    end: u64,
}

impl<'a> ReadRange<'a> {
    /// Returns a reader of the bytes `start..end`, cut at the end of the source.
    #[must_use]
    pub fn new(source: &'a dyn ByteSource, start: u64, end: u64) -> Self {
        Self {
            source,
            position: start,
            end: end.min(source.len()),
        }
    }

    /// Returns a reader of all bytes.
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
        if n == 0 && wanted > 0 {
            return Err(SourceTruncated {
                at: self.position,
                len: self.source.len(),
            }
            .into());
        }
        self.position += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A source that claims 6 bytes but ends at byte 3.
    #[derive(Debug)]
    struct Cut;

    impl ByteSource for Cut {
        fn len(&self) -> u64 {
            6
        }

        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            b"abc".to_vec().read_at(buffer, offset)
        }
    }

    #[test]
    fn bytes_that_are_missing_are_an_error_in_every_way_to_read() {
        let missing = Some(SourceTruncated { at: 3, len: 6 });
        let reads: [(&str, io::Result<usize>); 4] = [
            ("bytes", Cut.bytes(1, 5).map(|bytes| bytes.len())),
            ("window", Cut.window(0, 6, &mut Vec::new()).map(<[u8]>::len)),
            ("exactly", Cut.read_exact_at(&mut [0; 4], 2).map(|()| 0)),
            (
                "reader",
                ReadRange::whole(&Cut).read_to_end(&mut Vec::new()),
            ),
        ];
        for (how, read) in reads {
            let error = read.expect_err(how);
            assert_eq!(SourceTruncated::of(&error), missing, "{how}");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{how}");
        }
        // A range that begins at the end is empty, which is no error.
        assert_eq!(Cut.bytes(6, 9).unwrap(), b"");
        assert_eq!(Cut.fill_at(&mut [0; 6], 0).unwrap(), 3);
    }

    #[test]
    fn bytes_in_memory() {
        let bytes = b"abcdef".to_vec();
        let shared = Bytes::from(bytes.clone());
        let sources: [&dyn ByteSource; 2] = [&bytes, &shared];
        for source in sources {
            assert_eq!(source.len(), 6);
            for (start, end, want) in [(0, 6, &b"abcdef"[..]), (2, 4, b"cd"), (4, 9, b"ef")] {
                assert_eq!(source.bytes(start, end).unwrap(), want);
                assert_eq!(source.window(start, end, &mut Vec::new()).unwrap(), want);
            }
        }
    }

    #[test]
    fn an_interrupt_ends_every_way_to_read() {
        let cancelled = Interrupt::default();
        let due = Interrupt::after(Duration::ZERO);
        let limit = Duration::ZERO;
        drop(cancelled.on_drop());
        for (interrupt, why) in [
            (cancelled, Interrupted::Cancelled),
            (due, Interrupted::TimedOut { limit }),
        ] {
            let source = Interruptible::new(Arc::new(b"abc".to_vec()), interrupt);
            let reads: [io::Result<()>; 5] = [
                source.bytes(0, 3).map(drop),
                source.window(0, 3, &mut Vec::new()).map(drop),
                source.read_exact_at(&mut [0; 3], 0),
                ReadRange::whole(&source)
                    .read_to_end(&mut Vec::new())
                    .map(drop),
                source.check().map_err(io::Error::from),
            ];
            for read in reads {
                let error = read.unwrap_err();
                assert_eq!(Interrupted::of(&error), Some(why));
                assert_ne!(error.kind(), io::ErrorKind::Interrupted);
            }
        }
        let far = Interrupt::after(Duration::MAX);
        assert_eq!(far.check(), Ok(()));
        assert!(far.until_after(Duration::ZERO).check().is_err());
        // The earlier deadline applies.
        let soon = Interrupt::after(Duration::ZERO).until_after(Duration::from_secs(60));
        assert_eq!(soon.check(), Err(Interrupted::TimedOut { limit }));
    }
}
