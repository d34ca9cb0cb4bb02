//! A message that consists of pieces in memory and in the store, so that a message too large for
//! memory can be written.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use spillgate_artifact::ByteSource;
use spillgate_store::Draft;
use tokio::task::spawn_blocking;

/// Maximum number of bytes read in one block.
const BLOCK: usize = 256 << 10;

/// A message in pieces: bytes in memory and ranges of a stored value.
#[derive(Default)]
pub struct Pieces {
    left: VecDeque<Piece>,
    /// The draft that contains the ranges, until the message is written.
    draft: Option<Arc<Mutex<Box<dyn Draft>>>>,
    is_line: bool,
    is_aside: bool,
}

enum Piece {
    Bytes(Bytes),
    Source(Arc<dyn ByteSource>, Range<u64>),
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces")
            .field("len", &self.len())
            .field("is_stored", &self.draft.is_none())
            .finish_non_exhaustive()
    }
}

impl Pieces {
    /// Appends bytes.
    pub fn push(&mut self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.left.push_back(Piece::Bytes(bytes));
        }
    }

    /// Appends the bytes `range` of `source`.
    pub fn push_source(&mut self, source: &Arc<dyn ByteSource>, range: Range<u64>) {
        if !range.is_empty() {
            let source = Arc::clone(source);
            self.left.push_back(Piece::Source(source, range));
        }
    }

    /// Returns the message together with the draft that contains its ranges. The draft is kept
    /// until the message is written.
    #[must_use]
    pub fn holding(self, draft: Box<dyn Draft>) -> Self {
        self.sharing(&Arc::new(Mutex::new(draft)))
    }

    /// Like [`Pieces::holding`], for a draft that other messages also use.
    #[must_use]
    pub(crate) fn sharing(self, draft: &Arc<Mutex<Box<dyn Draft>>>) -> Self {
        let draft = Some(Arc::clone(draft));
        Self { draft, ..self }
    }

    /// Returns the message marked as one that answers no request.
    #[must_use]
    pub fn aside(self) -> Self {
        Self {
            is_aside: true,
            ..self
        }
    }

    /// Whether the message may answer the request on whose stream it travels: true unless it was
    /// marked with [`Pieces::aside`].
    #[must_use]
    pub fn is_answer(&self) -> bool {
        !self.is_aside
    }

    /// Returns the message as bytes if all of its pieces are in memory, otherwise the pieces
    /// unchanged.
    pub fn in_memory(self) -> Result<Bytes, Self> {
        let bytes = self.left.iter().map(|piece| match piece {
            Piece::Bytes(bytes) => Some(bytes.clone()),
            Piece::Source(..) => None,
        });
        let bytes: Option<Vec<Bytes>> = bytes.collect();
        match bytes.as_deref() {
            Some([only]) => Ok(only.clone()),
            Some(all) => Ok(all.concat().into()),
            None => Err(self),
        }
    }

    /// Returns the message as one line with its line end (see [`crate::one_line`]).
    #[must_use]
    pub fn one_line(mut self) -> Self {
        if !self.is_line
            && let Some(Piece::Bytes(last)) = self.left.back_mut()
            && last.ends_with(b"\n")
        {
            last.truncate(last.len() - 1);
        }
        if !self.is_line {
            self.push(Bytes::from_static(b"\n"));
        }
        self.is_line = true;
        self
    }

    /// Number of bytes that remain to be written.
    #[must_use]
    pub fn len(&self) -> u64 {
        let lengths = self.left.iter().map(|piece| match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Source(_, range) => range.end - range.start,
        });
        lengths.sum()
    }

    /// Whether no bytes remain to be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the next bytes, at most a few hundred KB; `None` at the end.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let is_last = self.left.len() == 1;
        let block = match self.left.front_mut() {
            None => return Ok(None),
            Some(Piece::Bytes(bytes)) => {
                let block = bytes.split_to(bytes.len().min(BLOCK));
                if bytes.is_empty() {
                    self.left.pop_front();
                }
                block
            }
            Some(Piece::Source(source, range)) => {
                let (source, start) = (Arc::clone(source), range.start);
                let end = range.end.min(start + BLOCK as u64);
                let read = spawn_blocking(move || source.bytes(start, end)).await;
                let block = read.map_err(io::Error::other)??;
                if block.len() as u64 != end - start {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                range.start = end;
                if range.is_empty() {
                    self.left.pop_front();
                }
                block.into()
            }
        };
        let is_end = is_last && self.left.is_empty();
        Ok(Some(match self.is_line && !is_end {
            true => flat(block),
            false => block,
        }))
    }
}

/// Replaces line ends with spaces. In JSON, raw line ends are allowed only outside of strings, so
/// the meaning does not change.
fn flat(block: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &block).is_none() {
        return block;
    }
    let space = |&byte: &u8| match byte {
        b'\n' | b'\r' => b' ',
        byte => byte,
    };
    block.iter().map(space).collect()
}

#[cfg(test)]
mod tests {
    use spillgate_store::{ArtifactStore, MemoryStore};

    use super::*;

    async fn whole(mut pieces: Pieces) -> String {
        let mut whole = Vec::new();
        while let Some(block) = pieces.next().await.unwrap() {
            whole.extend_from_slice(&block);
        }
        String::from_utf8(whole).unwrap()
    }

    #[tokio::test]
    async fn a_line_has_one_end_and_keeps_what_it_is() {
        let draft = MemoryStore::default().draft().unwrap();
        let draft = Arc::new(Mutex::new(draft));
        for text in ["ab", "ab\n"] {
            let mut pieces = Pieces::default();
            pieces.push(text);
            let pieces = pieces.sharing(&draft);
            assert!(pieces.is_answer());
            let line = pieces.aside().one_line().one_line();
            assert!(!line.is_answer());
            // The draft is kept as long as bytes from it remain to be written.
            assert_eq!(Arc::strong_count(&draft), 2);
            assert_eq!(whole(line).await, "ab\n");
            assert_eq!(Arc::strong_count(&draft), 1);
        }
    }
}
