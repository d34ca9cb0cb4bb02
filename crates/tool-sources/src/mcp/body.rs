//! Reads a tool result from front to back without holding it in memory.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use spillgate_artifact::{ByteSource, TextPart};
use spillgate_store::Draft;
use spillgate_text::JsonStringDecoder;

/// Number of bytes that are read from the source at a time.
const BLOCK: u64 = 256 << 10;

/// A part of a result's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text that was not in the server's answer.
    Words(String),
    /// A part of the source, which is the server's answer.
    Part(TextPart),
}

/// The text of a result.
pub(crate) struct ResultBody {
    source: Arc<dyn ByteSource>,
    /// The draft that contains the source. It is kept until the text has been read.
    _draft: Option<Box<dyn Draft>>,
    left: VecDeque<Piece>,
    /// The part that is being read.
    open: Option<OpenPart>,
    /// Decoded text. The first `given` bytes of it have been read.
    ready: Vec<u8>,
    given: usize,
}

struct OpenPart {
    at: u64,
    part: TextPart,
    decoder: JsonStringDecoder,
}

impl fmt::Debug for ResultBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("pieces", &self.left.len())
            .finish_non_exhaustive()
    }
}

impl ResultBody {
    /// Creates a text from `pieces` in this order. The pieces that are parts refer to `source`.
    /// `draft` is the draft that contains the source, if any, and is kept as long as the text.
    pub(crate) fn new(
        pieces: Vec<Piece>,
        source: Arc<dyn ByteSource>,
        draft: Option<Box<dyn Draft>>,
    ) -> Self {
        Self {
            source,
            _draft: draft,
            left: pieces.into(),
            open: None,
            ready: Vec::new(),
            given: 0,
        }
    }

    /// Decodes more text; returns `false` at the end.
    fn more(&mut self) -> io::Result<bool> {
        self.ready.clear();
        self.given = 0;
        while self.ready.is_empty() {
            let Some(open) = &mut self.open else {
                match self.left.pop_front() {
                    None => return Ok(false),
                    Some(Piece::Words(words)) => self.ready = words.into_bytes(),
                    Some(Piece::Part(part)) => {
                        self.open = Some(OpenPart {
                            at: part.start,
                            part,
                            decoder: JsonStringDecoder::default(),
                        });
                    }
                }
                continue;
            };
            if open.at >= open.part.end {
                open.decoder.finish(&mut self.ready);
                self.open = None;
                continue;
            }
            let end = open.part.end.min(open.at + BLOCK);
            let raw = self.source.bytes(open.at, end)?;
            if raw.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            open.at += raw.len() as u64;
            match open.part.is_string {
                true => open.decoder.feed(&raw, &mut self.ready),
                false => self.ready = raw,
            }
        }
        Ok(true)
    }
}

impl Read for ResultBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.given == self.ready.len() && !self.more()? {
            return Ok(0);
        }
        let rest = &self.ready[self.given..];
        let taken = rest.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&rest[..taken]);
        self.given += taken;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of this many bytes. It fails if more than [`BLOCK`] bytes are read at a time.
    #[derive(Debug)]
    struct Endless(u64);

    impl ByteSource for Endless {
        fn len(&self) -> u64 {
            self.0
        }

        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            assert!(buffer.len() as u64 <= BLOCK, "memory grows with the result");
            let left = usize::try_from(self.0 - offset).unwrap();
            let taken = buffer.len().min(left);
            for (at, byte) in buffer[..taken].iter_mut().enumerate() {
                *byte = b"a\\n"[usize::try_from((offset + at as u64) % 3).unwrap()];
            }
            Ok(taken)
        }
    }

    fn part(start: u64, end: u64, is_string: bool) -> Piece {
        Piece::Part(TextPart {
            start,
            end,
            is_string,
        })
    }

    #[test]
    fn pieces_are_read_in_order() {
        let source = Arc::new(br#"["one\ntwo", {"a":1}, ""]"#.to_vec());
        let pieces = vec![
            part(2, 10, true),
            Piece::Words("\n[resource x:1]\n".to_owned()),
            part(13, 20, false),
            part(23, 23, true),
            Piece::Words(String::new()),
            Piece::Words("!".to_owned()),
        ];
        for step in [1, 3, 100] {
            let source = Arc::clone(&source) as Arc<dyn ByteSource>;
            let mut body = ResultBody::new(pieces.clone(), source, None);
            let mut text = Vec::new();
            let mut buffer = vec![0; step];
            while let taken @ 1.. = body.read(&mut buffer).unwrap() {
                text.extend_from_slice(&buffer[..taken]);
            }
            assert_eq!(
                String::from_utf8(text).unwrap(),
                "one\ntwo\n[resource x:1]\n{\"a\":1}!"
            );
        }
    }

    #[test]
    fn a_large_text_is_read_block_by_block() {
        let bytes = 64 << 20;
        let source = Arc::new(Endless(bytes / 3 * 3));
        let mut body = ResultBody::new(vec![part(0, source.len(), true)], source.clone(), None);
        let read = io::copy(&mut body, &mut io::sink()).unwrap();
        assert_eq!(read, source.len() / 3 * 2);
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        let source = Arc::new(b"abc".to_vec());
        let mut body = ResultBody::new(vec![part(0, 9, true)], source, None);
        let error = body.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
