//! Decompresses response bodies within a size limit.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Bytes given to the decompressor at a time. They expand at most a thousandfold (deflate's
/// maximum), and the output is removed before the next slice.
const SLICE: usize = 4 << 10;

/// A decoder of a body, with a limit on the decoded size.
#[derive(Debug)]
pub struct Decoder {
    inner: Inner,
    limit: u64,
    decoded: u64,
}

/// Why a body cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecoderError {
    /// The decoded body exceeds the limit.
    TooLarge,
    /// The body is invalid in its declared encoding, or it ends too early.
    Broken,
}

#[derive(Debug)]
enum Inner {
    Plain,
    Gzip(Box<MultiGzDecoder<Sink>>),
    /// `deflate` before the first byte, which decides between zlib and bare deflate: servers use
    /// the name for both formats.
    Deflate(Sink),
    Zlib(Box<ZlibDecoder<Sink>>),
    Raw(Box<DeflateDecoder<Sink>>),
}

/// Collects decoded bytes and fails after `left` bytes.
#[derive(Debug)]
struct Sink {
    bytes: Vec<u8>,
    left: u64,
    is_full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len() as u64;
        if length > self.left {
            self.is_full = true;
            return Err(io::Error::other("too large"));
        }
        self.left -= length;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// Creates a decoder for a `Content-Encoding`. Supports no encoding, gzip and deflate; returns
    /// `None` for anything else, including several encodings.
    #[must_use]
    pub fn new(encoding: &str, limit: u64) -> Option<Self> {
        let sink = Sink {
            bytes: Vec::new(),
            left: limit,
            is_full: false,
        };
        let inner = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Inner::Plain,
            "gzip" | "x-gzip" => Inner::Gzip(Box::new(MultiGzDecoder::new(sink))),
            "deflate" => Inner::Deflate(sink),
            _ => return None,
        };
        Some(Self {
            inner,
            limit,
            decoded: 0,
        })
    }

    /// The encoding's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.inner {
            Inner::Plain => "text",
            Inner::Gzip(_) => "gzip",
            Inner::Deflate(_) | Inner::Zlib(_) | Inner::Raw(_) => "deflate",
        }
    }

    /// Bytes decoded so far.
    #[must_use]
    pub fn decoded(&self) -> u64 {
        self.decoded
    }

    /// Decodes some of the waiting bytes. Returns at most a few megabytes, and possibly no bytes
    /// yet.
    pub fn feed(&mut self, waiting: &mut Bytes) -> Result<Vec<u8>, DecoderError> {
        if matches!(self.inner, Inner::Plain) {
            let plain = std::mem::take(waiting);
            self.count(plain.len())?;
            return Ok(plain.into());
        }
        let slice = waiting.split_to(waiting.len().min(SLICE));
        self.begun(&slice);
        let (written, sink) = self.write(&slice);
        let error = match (written, sink.is_full) {
            (Ok(()), _) => None,
            (Err(_), true) => Some(DecoderError::TooLarge),
            (Err(_), false) => Some(DecoderError::Broken),
        };
        let decoded = std::mem::take(&mut sink.bytes);
        self.count(decoded.len())?;
        error.map_or(Ok(decoded), Err)
    }

    fn count(&mut self, bytes: usize) -> Result<(), DecoderError> {
        self.decoded += bytes as u64;
        match self.decoded > self.limit {
            true => Err(DecoderError::TooLarge),
            false => Ok(()),
        }
    }

    /// Detects which of two formats the body has: zlib, which the standard calls `deflate`, or bare
    /// deflate, which some servers send. In zlib, the low four bits of the first byte are 8, the
    /// number of the compression method.
    fn begun(&mut self, slice: &[u8]) {
        let Inner::Deflate(sink) = &mut self.inner else {
            return;
        };
        let sink = std::mem::replace(
            sink,
            Sink {
                bytes: Vec::new(),
                left: 0,
                is_full: false,
            },
        );
        self.inner = match slice.first() {
            Some(first) if first & 0x0f == 8 => Inner::Zlib(Box::new(ZlibDecoder::new(sink))),
            _ => Inner::Raw(Box::new(DeflateDecoder::new(sink))),
        };
    }

    fn write(&mut self, slice: &[u8]) -> (io::Result<()>, &mut Sink) {
        match &mut self.inner {
            Inner::Gzip(decoder) => {
                let written = decoder.write_all(slice).and_then(|()| decoder.flush());
                (written, decoder.get_mut())
            }
            Inner::Zlib(decoder) => {
                let written = decoder.write_all(slice).and_then(|()| decoder.flush());
                (written, decoder.get_mut())
            }
            Inner::Raw(decoder) => {
                let written = decoder.write_all(slice).and_then(|()| decoder.flush());
                (written, decoder.get_mut())
            }
            Inner::Plain | Inner::Deflate(_) => unreachable!("invariant: begun, and not plain"),
        }
    }

    /// Ends the body. Returns the remaining bytes, or an error if the body is incomplete.
    pub fn finish(self) -> Result<Vec<u8>, DecoderError> {
        let sink = match self.inner {
            Inner::Plain => return Ok(Vec::new()),
            Inner::Deflate(sink) => Ok(sink),
            Inner::Gzip(decoder) => decoder.finish(),
            Inner::Zlib(decoder) => decoder.finish(),
            Inner::Raw(decoder) => decoder.finish(),
        };
        let sink = sink.map_err(|_| DecoderError::Broken)?;
        match self.decoded + sink.bytes.len() as u64 > self.limit {
            true => Err(DecoderError::TooLarge),
            false => Ok(sink.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use bytes::Bytes;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::{Decoder, DecoderError};

    fn decoded(encoding: &str, bytes: &[u8], limit: u64) -> Result<Vec<u8>, DecoderError> {
        let mut decoder = Decoder::new(encoding, limit).unwrap();
        let mut whole = Vec::new();
        for piece in bytes.chunks(7) {
            let mut piece = Bytes::copy_from_slice(piece);
            while !piece.is_empty() {
                whole.extend(decoder.feed(&mut piece)?);
            }
        }
        whole.extend(decoder.finish()?);
        Ok(whole)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_servers_send_is_decoded() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_be_bytes).collect();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&text).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(&text).unwrap();
        let (zlib, raw) = (zlib.finish().unwrap(), raw.finish().unwrap());
        let two = [gzip(&text[..100]), gzip(&text[100..])].concat();
        for (encoding, bytes) in [
            ("", &text),
            ("Identity", &text),
            ("gzip", &gzip(&text)),
            ("x-gzip", &two),
            ("deflate", &zlib),
            ("deflate", &raw),
        ] {
            let limit = text.len() as u64;
            assert_eq!(decoded(encoding, bytes, limit).as_ref(), Ok(&text));
            assert_eq!(
                decoded(encoding, bytes, limit - 1),
                Err(DecoderError::TooLarge),
                "{encoding}"
            );
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        for _ in 0..100 {
            bomb.write_all(&vec![0; 1 << 20]).unwrap();
        }
        let bomb = Bytes::from(bomb.finish().unwrap());
        let limit = 5 << 20;
        for (limit, ends) in [(limit, Err(DecoderError::TooLarge)), (u64::MAX, Ok(()))] {
            let mut decoder = Decoder::new("gzip", limit).unwrap();
            let mut waiting = bomb.clone();
            let mut largest = 0;
            let fed = loop {
                match decoder.feed(&mut waiting) {
                    Err(error) => break Err(error),
                    Ok(decoded) => largest = largest.max(decoded.len()),
                }
                if waiting.is_empty() {
                    break Ok(());
                }
            };
            assert_eq!(fed, ends);
            assert!(decoder.decoded() <= limit);
            // Slices of 4 KiB expand at most a thousand times.
            assert!(largest <= 5 << 20, "{largest}");
        }
    }

    #[test]
    fn what_is_broken_is_told() {
        let whole = gzip(b"hello, hello, hello");
        let cut = &whole[..whole.len() - 9];
        let mut wrong = whole.clone();
        let last = wrong.len() - 1;
        wrong[last] ^= 1;
        for (encoding, bytes) in [
            ("gzip", b"<html>not compressed</html>".as_slice()),
            ("gzip", cut),
            ("gzip", &wrong),
            ("deflate", b"\xff\xff\xff\xff"),
        ] {
            assert_eq!(
                decoded(encoding, bytes, 1000),
                Err(DecoderError::Broken),
                "{bytes:?}"
            );
        }
        for encoding in ["br", "zstd", "gzip, gzip", "gzip,deflate", "nonsense"] {
            assert!(Decoder::new(encoding, 10).is_none(), "{encoding}");
        }
    }
}
