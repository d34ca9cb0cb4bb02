//! Returns slices of a text, measured in characters.
//!
//! `get_continuation` uses slices (docs/spec/texts.md, "Continuation profile"). Characters are
//! Unicode code points, and all slices joined together are the text. Invalid UTF-8 becomes U+FFFD.
//! Slices are taken from the text and not from the view, because the view is laid out for tools
//! that work by lines.

use std::io;

use spillgate_artifact::ByteSource;

use crate::{Artifact, LookupError};

/// Number of bytes that are decoded at a time.
const BLOCK: u64 = 256 << 10;

/// A part of an artifact's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// The text of the slice.
    pub text: String,
    /// Position of the first character, counted in characters from 0.
    pub start: u64,
    /// Position after the last character.
    pub end: u64,
    /// Number of characters in the whole text.
    pub total: u64,
}

/// Returns at most `length` characters, beginning at `offset`.
pub fn slice(artifact: &Artifact, offset: u64, length: u64) -> Result<Slice, LookupError> {
    let source = artifact.text()?;
    let total = artifact.manifest().facts.stats.chars;
    if offset >= total {
        return Err(LookupError::PastEnd {
            unit: "character",
            asked: offset,
            total,
        });
    }
    let mut characters = Characters::new(&*source);
    characters.skip(offset)?;
    let text = characters.take(length)?;
    let end = offset + text.chars().count() as u64;
    Ok(Slice {
        text,
        start: offset,
        end,
        total,
    })
}

/// Decodes a source block by block.
struct Characters<'a> {
    source: &'a dyn ByteSource,
    /// Position in the source at which the next block begins.
    at: u64,
    /// Text that was decoded but not returned yet.
    ready: String,
}

impl<'a> Characters<'a> {
    fn new(source: &'a dyn ByteSource) -> Self {
        Self {
            source,
            at: 0,
            ready: String::new(),
        }
    }

    /// Skips `count` characters.
    fn skip(&mut self, mut count: u64) -> io::Result<()> {
        while count > 0 && self.fill()? {
            let here = self.ready.chars().count() as u64;
            if here <= count {
                count -= here;
                self.ready.clear();
            } else {
                let skipped = usize::try_from(count).unwrap_or(usize::MAX);
                let at = self.ready.char_indices().nth(skipped);
                self.ready.drain(..at.map_or(0, |(at, _)| at));
                count = 0;
            }
        }
        Ok(())
    }

    /// Returns the next characters, at most `count`.
    fn take(&mut self, count: u64) -> io::Result<String> {
        let (mut taken, mut left) = (String::new(), count);
        while left > 0 && self.fill()? {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            let cut = self.ready.char_indices().nth(wanted);
            let cut = cut.map_or(self.ready.len(), |(at, _)| at);
            left -= self.ready[..cut].chars().count() as u64;
            taken.extend(self.ready.drain(..cut));
        }
        Ok(taken)
    }

    /// Decodes more text if none is ready. Returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        while self.ready.is_empty() && self.at < self.source.len() {
            let end = (self.at + BLOCK).min(self.source.len());
            let bytes = self.source.bytes(self.at, end)?;
            let whole = match end == self.source.len() {
                true => bytes.len(),
                false => whole_characters(&bytes),
            };
            self.ready = String::from_utf8_lossy(&bytes[..whole]).into_owned();
            self.at += whole as u64;
        }
        Ok(!self.ready.is_empty())
    }
}

/// Returns how many of `bytes` can be decoded now. The last character is left out if it may
/// continue in the next block.
fn whole_characters(bytes: &[u8]) -> usize {
    // A character has at most four bytes, and its first byte is not a continuation.
    let last = bytes.len().saturating_sub(4);
    let starts = (last..bytes.len()).rev();
    starts
        .into_iter()
        .find(|&at| bytes[at] & 0xC0 != 0x80)
        .filter(|&at| bytes[at] >= 0xC0 && at > 0)
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::artifact::tests::artifact_of;

    fn whole(bytes: &[u8], length: u64) -> String {
        let artifact = artifact_of(bytes);
        let (mut text, mut offset) = (String::new(), 0);
        while let Ok(slice) = slice(&artifact, offset, length) {
            assert!(slice.end > slice.start, "progress is always made");
            text.push_str(&slice.text);
            offset = slice.end;
        }
        text
    }

    #[test]
    fn a_block_ends_with_a_whole_character() {
        for (bytes, want) in [
            (&b"abc"[..], 3),
            ("aé".as_bytes(), 1),
            (&"aé".as_bytes()[..2], 1),
            ("a漢b".as_bytes(), 5),
            // The continuation bytes before `b` cannot become a longer character, so nothing is
            // left out.
            (&b"\x80\x80b"[..], 3),
        ] {
            assert_eq!(whole_characters(bytes), want, "{bytes:?}");
        }
    }

    #[test]
    fn places_are_characters() {
        let artifact = artifact_of("aé漢🚀z".as_bytes());
        for (offset, length, text) in [(0, 2, "aé"), (2, 2, "漢🚀"), (4, 9, "z")] {
            assert_eq!(slice(&artifact, offset, length).unwrap().text, text);
        }
        let past = slice(&artifact, 5, 1).unwrap_err();
        assert_eq!(
            past.to_string(),
            "character 5 is past the end: there are 5 characters"
        );
    }

    #[test]
    fn a_character_across_two_blocks_is_one() {
        for lead in 0..4 {
            let text = format!("{}{}", "x".repeat(lead), "🚀漢é".repeat(60_000));
            assert_eq!(whole(text.as_bytes(), 100_000), text);
        }
    }

    proptest! {
        #[test]
        fn slices_put_together_are_the_text(
            bytes in prop_oneof![
                "\\PC{0,80}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..80),
            ],
            length in 1u64..9,
        ) {
            prop_assert_eq!(whole(&bytes, length), String::from_utf8_lossy(&bytes));
        }
    }
}
