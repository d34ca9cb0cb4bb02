//! Decodes text that is not UTF-8 while the text is read, in bounded memory.

use std::io;
use std::sync::Arc;

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_16BE, UTF_16LE};
use spillgate_artifact::{ByteSource, Interrupted};

/// Raw bytes decoded at a time.
const BLOCK: usize = 64 << 10;

/// Distance between two checkpoints, in bytes of text.
const SPACING: u64 = 48 << 10;

/// Maximum number of raw bytes after a block that belong to its last character: four in GB 18030,
/// and four more if a UTF-16 surrogate pair begins in the block.
const REST: usize = 8;

/// The text, in UTF-8, of raw bytes in another encoding. A read of this [`ByteSource`] decodes only
/// the bytes that it returns. For this, one pass over the raw bytes records checkpoints, at which
/// decoding can start. Bytes that are not a character become U+FFFD.
#[derive(Debug)]
pub struct Transcoded {
    raw: Arc<dyn ByteSource>,
    encoding: &'static Encoding,
    checkpoints: Vec<Checkpoint>,
    bytes: u64,
}

/// A position where decoding can start.
#[derive(Debug, Clone, Copy)]
struct Checkpoint {
    /// The offset of the next byte of the text.
    text: u64,
    /// The raw offset at which decoding starts.
    raw: u64,
}

impl Transcoded {
    /// Decodes `raw` once, without its first `mark` bytes. `encoding` is a label of the Encoding
    /// Standard. `each` receives the text, block by block.
    pub fn new(
        raw: Arc<dyn ByteSource>,
        encoding: &str,
        mark: u64,
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Self> {
        let known = Encoding::for_label(encoding.as_bytes());
        let encoding = known.ok_or_else(|| {
            let what = format!("there is no encoding {encoding:?}");
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        let start = Checkpoint { text: 0, raw: mark };
        let mut checkpoints = vec![start];
        let mut cursor = TextCursor::from(&*raw, encoding, start);
        let mut block = Vec::new();
        while cursor.next(&mut block)? {
            each(&block);
            let last = checkpoints.last().map_or(0, |place| place.text);
            if cursor.begins_anew && cursor.text >= last + SPACING {
                checkpoints.push(cursor.checkpoint());
            }
        }
        let bytes = cursor.text;
        Ok(Self {
            raw,
            encoding,
            checkpoints,
            bytes,
        })
    }

    /// Passes the text to `each`, block by block.
    pub fn each(&self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut cursor = TextCursor::from(&*self.raw, self.encoding, self.checkpoints[0]);
        let mut block = Vec::new();
        while cursor.next(&mut block)? {
            each(&block);
        }
        Ok(())
    }

    /// Returns the raw offset from which byte `offset` of the text is decoded.
    pub fn raw_at(&self, offset: u64) -> io::Result<u64> {
        let Checkpoint { mut text, mut raw } = self.before(offset);
        let mut decoder = self.encoding.new_decoder_without_bom_handling();
        let mut out = [0; 64];
        while text < offset && raw < self.raw.len() {
            let bytes = self
                .raw
                .bytes(raw, self.raw.len().min(raw + BLOCK as u64))?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for byte in &bytes {
                let (.., written, _) = decoder.decode_to_utf8(&[*byte], &mut out, false);
                text += written as u64;
                raw += 1;
                if text >= offset {
                    break;
                }
            }
        }
        Ok(raw)
    }

    /// Returns the last checkpoint at or before the byte `offset` of the text.
    fn before(&self, offset: u64) -> Checkpoint {
        let after = self
            .checkpoints
            .partition_point(|place| place.text <= offset);
        self.checkpoints[after.saturating_sub(1)]
    }
}

impl ByteSource for Transcoded {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.raw.check()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut cursor = TextCursor::from(&*self.raw, self.encoding, self.before(offset));
        let mut block = Vec::new();
        let mut filled = 0;
        while filled < buffer.len() && cursor.next(&mut block)? {
            let begins = cursor.text - block.len() as u64;
            let skipped = (offset + filled as u64).saturating_sub(begins);
            let skipped = usize::try_from(skipped).map_or(block.len(), |n| n.min(block.len()));
            let part = &block[skipped..];
            let taken = part.len().min(buffer.len() - filled);
            buffer[filled..filled + taken].copy_from_slice(&part[..taken]);
            filled += taken;
        }
        Ok(filled)
    }
}

/// Reads the text from a position on.
struct TextCursor<'a> {
    source: &'a dyn ByteSource,
    encoding: &'static Encoding,
    decoder: Decoder,
    /// The raw offset at which decoding started, and the offset of the next raw byte.
    begin: u64,
    at: u64,
    /// Bytes of text decoded so far.
    text: u64,
    /// Whether the decoder contains no partial character, so that decoding can start at `at`.
    begins_anew: bool,
}

impl<'a> TextCursor<'a> {
    fn from(source: &'a dyn ByteSource, encoding: &'static Encoding, place: Checkpoint) -> Self {
        Self {
            source,
            encoding,
            decoder: encoding.new_decoder_without_bom_handling(),
            begin: place.raw,
            at: place.raw,
            text: place.text,
            begins_anew: true,
        }
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            text: self.text,
            raw: self.at,
        }
    }

    /// Replaces `block` with the next decoded block. Returns false at the end of the text.
    fn next(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        block.clear();
        let end = self.source.len();
        while block.is_empty() && self.at < end {
            let raw = self
                .source
                .bytes(self.at, end.min(self.at + (BLOCK + REST) as u64))?;
            if raw.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let (most, rest) = raw.split_at(raw.len().min(BLOCK));
            self.decode(most, block)?;
            self.begins_anew = self.is_between(most);
            for (n, byte) in rest.iter().enumerate() {
                if self.begins_anew {
                    break;
                }
                self.decode(std::slice::from_ref(byte), block)?;
                self.begins_anew = self.is_between(&raw[..=most.len() + n]);
            }
        }
        self.text += block.len() as u64;
        Ok(!block.is_empty())
    }

    fn decode(&mut self, raw: &[u8], block: &mut Vec<u8>) -> io::Result<()> {
        self.at += raw.len() as u64;
        let is_last = self.at == self.source.len();
        let most = self.decoder.max_utf8_buffer_length(raw.len());
        let start = block.len();
        block.resize(start + most.ok_or(io::ErrorKind::OutOfMemory)?, 0);
        let (result, read, written, _) =
            self.decoder
                .decode_to_utf8(raw, &mut block[start..], is_last);
        debug_assert_eq!((result, read), (CoderResult::InputEmpty, raw.len()));
        block.truncate(start + written);
        Ok(())
    }

    /// Returns whether the decoder is between two characters after these bytes.
    fn is_between(&self, raw: &[u8]) -> bool {
        if self.at == self.source.len() {
            return true;
        }
        let is_big = self.encoding == UTF_16BE;
        if !is_big && self.encoding != UTF_16LE {
            // This is the only information that the decoder gives: `None` while it is inside a
            // character.
            return self.decoder.latin1_byte_compatible_up_to(&[]).is_some();
        }
        let is_unit = (self.at - self.begin).is_multiple_of(2);
        let high = raw.len().checked_sub(1 + usize::from(is_big));
        // The first half of a surrogate pair needs the second half.
        is_unit && high.is_some_and(|high| !(0xd8..0xdc).contains(&raw[high]))
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{
        BIG5, EUC_JP, EUC_KR, GB18030, GBK, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252,
    };
    use proptest::prelude::*;

    use super::*;

    /// Returns `text` in an encoding. UTF-16 is encoded here, because `encoding_rs` cannot encode
    /// it.
    fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
        let units = || text.encode_utf16();
        match encoding {
            _ if encoding == UTF_16LE => units().flat_map(u16::to_le_bytes).collect(),
            _ if encoding == UTF_16BE => units().flat_map(u16::to_be_bytes).collect(),
            _ => encoding.encode(text).0.into_owned(),
        }
    }

    fn check(raw: &[u8], encoding: &'static Encoding, mark: usize, places: [usize; 2]) {
        let (want, _) = encoding.decode_without_bom_handling(&raw[mark..]);
        let mut seen = Vec::new();
        let source = Arc::new(raw.to_vec());
        let mut each = |block: &[u8]| seen.extend_from_slice(block);
        let made = Transcoded::new(source, encoding.name(), mark as u64, &mut each).unwrap();
        assert!(seen == want.as_bytes(), "{}", encoding.name());
        assert_eq!(made.len(), want.len() as u64);
        for at in places {
            let at = want.floor_char_boundary(at % (want.len() + 1));
            let end = want.floor_char_boundary(want.len().min(at + 9000));
            let got = made.bytes(at as u64, end as u64).unwrap();
            assert!(got == want[at..end].as_bytes(), "{at} {}", encoding.name());
            // The raw bytes from this offset on decode to the same text.
            let from = usize::try_from(made.raw_at(at as u64).unwrap()).unwrap();
            let (rest, _) = encoding.decode_without_bom_handling(&raw[from..]);
            let next: String = want[at..].chars().take(20).collect();
            assert!(rest.starts_with(&next), "{at} {}", encoding.name());
        }
    }

    #[test]
    fn long_texts_of_all_encodings_are_read_at_any_place() {
        let of = |line: &str| line.repeat(300_000 / line.len());
        let cases = [
            (UTF_16LE, of("строка 漢字 🚀, und ä\r\n")),
            (UTF_16BE, of("🚀🚀")),
            (WINDOWS_1251, of("ошибка в строке\r\n")),
            (KOI8_R, of("ошибка\n")),
            (WINDOWS_1252, of("Größe “x” café\n")),
            (SHIFT_JIS, of("エラーが発生しました\n")),
            // No byte of this text is ASCII, and each byte may be the second byte of a character.
            (SHIFT_JIS, of("能力表示ソ")),
            (EUC_JP, of("日本語のログ\n")),
            (GBK, of("错误日志\n")),
            (GB18030, of("错误🚀日志")),
            (BIG5, of("錯誤\n")),
            (EUC_KR, of("오류\n")),
        ];
        for (encoding, text) in cases {
            let raw = encoded(&text, encoding);
            check(&raw, encoding, 0, [0, 123_457]);
            check(&raw, encoding, 2, [200_003, 299_000]);
        }
        check(b"", WINDOWS_1252, 0, [0, 0]);
    }

    /// Tests, for every kind of text, that a read decodes only nearby bytes. Otherwise the time to
    /// read a text in pieces would grow with the square of its length.
    #[test]
    fn there_are_places_to_start_from_everywhere() {
        let cases = [
            (SHIFT_JIS, "能力表示ソ"),
            (GB18030, "错误日志"),
            (GB18030, "🚀"),
            (EUC_JP, "日本語"),
            (BIG5, "錯誤"),
            (EUC_KR, "오류"),
            (UTF_16LE, "🚀"),
        ];
        for (encoding, piece) in cases {
            for before in ["", "\"", "a🚀\""] {
                let piece = encoded(piece, encoding).repeat(100_000);
                let raw = Arc::new([encoded(before, encoding), piece].concat());
                let made = Transcoded::new(raw, encoding.name(), 0, &mut |_| {}).unwrap();
                let texts = made.checkpoints.iter().map(|place| place.text);
                let texts: Vec<u64> = texts.chain([made.len()]).collect();
                let widest = texts.windows(2).map(|pair| pair[1] - pair[0]).max();
                let most = SPACING + 3 * (BLOCK + REST) as u64;
                assert!(widest.unwrap() <= most, "{} {widest:?}", encoding.name());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_bytes_in_any_encoding(
            piece in proptest::collection::vec(any::<u8>(), 1..200),
            times in 1usize..900,
            which in 0usize..6,
            place: usize,
        ) {
            let all = [UTF_16LE, UTF_16BE, SHIFT_JIS, GB18030, BIG5, WINDOWS_1251];
            let encoding = all[which];
            let raw = piece.repeat(times);
            let (want, _) = encoding.decode_without_bom_handling(&raw);
            let mut seen = Vec::new();
            let made = Transcoded::new(Arc::new(raw.clone()), encoding.name(), 0, &mut |block| seen.extend_from_slice(block)).unwrap();
            prop_assert!(seen == want.as_bytes());
            let at = place % (want.len() + 1);
            let got = made.bytes(at as u64, want.len() as u64).unwrap();
            prop_assert!(got[..] == want.as_bytes()[at..]);
        }
    }
}
