//! A text with marks in place of its secrets.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use spillgate_artifact::{ByteSource, Interrupted};

use crate::findings::{Findings, SecretSpan};
use crate::marks::{Marks, mark};

/// A source that shows marks in place of the secrets of another source.
///
/// Offsets of the two texts can be translated into each other.
#[derive(Debug, Clone)]
pub struct RedactedSource {
    source: Arc<dyn ByteSource>,
    findings: Arc<Findings>,
    /// For each span, the offset of its mark in the redacted text, and the index of the mark.
    shown: Vec<(u64, u32)>,
    marks: Vec<String>,
    length: u64,
}

impl RedactedSource {
    /// Returns the redacted view of `source`, whose secrets are `findings`, with the marks of a
    /// session.
    ///
    /// # Errors
    ///
    /// Fails if the findings are not those of this source, if there are too many of them, or if
    /// the source cannot be read.
    pub fn new(
        source: Arc<dyn ByteSource>,
        findings: Arc<Findings>,
        marks: &Marks,
    ) -> io::Result<Self> {
        let beyond = findings
            .spans()
            .last()
            .is_some_and(|it| it.end > source.len());
        if findings.is_too_many() || beyond {
            let why = match beyond {
                true => "the findings are those of a longer text",
                false => "the text has too many secrets to show any part of it",
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut texts: Vec<String> = Vec::new();
        let mut indices: HashMap<(u16, u32), u32> = HashMap::new();
        let mut shown = Vec::with_capacity(findings.spans().len());
        let (mut at, mut end) = (0, 0);
        for span in findings.spans() {
            let index = if let Some(index) = indices.get(&(span.rule, span.number)) {
                *index
            } else {
                let rule = findings.rule(span);
                texts.push(match span.number {
                    0 => mark(rule, 0),
                    _ => marks.mark(rule, &source.bytes(span.start, span.end)?),
                });
                let index = u32::try_from(texts.len() - 1).map_err(io::Error::other)?;
                indices.insert((span.rule, span.number), index);
                index
            };
            at += span.start - end;
            end = span.end;
            shown.push((at, index));
            at += texts[index as usize].len() as u64;
        }
        Ok(Self {
            length: at + (source.len() - end),
            source,
            findings,
            shown,
            marks: texts,
        })
    }

    /// Returns the identity of the marks: with the same secrets and the same marks, the redacted text
    /// is the same.
    #[must_use]
    pub fn marks_id(&self) -> u64 {
        let mut id = Sha256::new();
        for mark in &self.marks {
            id.update(mark);
        }
        let id = id.finalize();
        id.first_chunk().map_or(0, |id| u64::from_le_bytes(*id))
    }

    /// Translates an offset of the redacted text. An offset inside a mark becomes the start of the
    /// secret.
    #[must_use]
    pub fn to_original(&self, offset: u64) -> u64 {
        self.original(offset, |span| span.start)
    }

    /// Like [`to_original`](Self::to_original), but an offset inside a mark becomes the end of the
    /// secret.
    #[must_use]
    pub fn to_original_end(&self, offset: u64) -> u64 {
        self.original(offset, |span| span.end)
    }

    fn original(&self, offset: u64, inside: impl Fn(&SecretSpan) -> u64) -> u64 {
        let before = self.shown.partition_point(|(at, _)| *at < offset);
        let Some(index) = before.checked_sub(1) else {
            return offset.min(self.source.len());
        };
        let span = &self.findings.spans()[index];
        match offset.checked_sub(self.mark_end(index)) {
            Some(after) => self.source.len().min(span.end + after),
            None => inside(span),
        }
    }

    /// Translates an offset of the original text. An offset inside a secret becomes the start of
    /// its mark.
    #[must_use]
    pub fn to_redacted(&self, offset: u64) -> u64 {
        self.redacted(offset, |index| self.shown[index].0)
    }

    /// Like [`to_redacted`](Self::to_redacted), but an offset inside a secret becomes the end of
    /// its mark.
    #[must_use]
    pub fn to_redacted_end(&self, offset: u64) -> u64 {
        self.redacted(offset, |index| self.mark_end(index))
    }

    fn redacted(&self, offset: u64, inside: impl Fn(usize) -> u64) -> u64 {
        let before = self
            .findings
            .spans()
            .partition_point(|it| it.start < offset);
        let Some(index) = before.checked_sub(1) else {
            return offset.min(self.length);
        };
        match offset.checked_sub(self.findings.spans()[index].end) {
            Some(after) => self.length.min(self.mark_end(index) + after),
            None => inside(index),
        }
    }

    fn text(&self, index: usize) -> &[u8] {
        self.marks[self.shown[index].1 as usize].as_bytes()
    }

    fn mark_end(&self, index: usize) -> u64 {
        self.shown[index].0 + self.text(index).len() as u64
    }
}

impl ByteSource for RedactedSource {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        // The first mark that does not end before the offset.
        let mut index = self.shown.partition_point(|(at, _)| *at <= offset);
        index -= usize::from(index > 0 && self.mark_end(index - 1) > offset);
        while filled < buffer.len() {
            let at = offset + filled as u64;
            if at >= self.length {
                break;
            }
            let rest = &mut buffer[filled..];
            let mark = self.shown.get(index).map_or(self.length, |(mark, _)| *mark);
            if at < mark {
                let before = index.checked_sub(1);
                let original = before.map_or(at, |before| {
                    self.findings.spans()[before].end + (at - self.mark_end(before))
                });
                let wanted = usize::try_from(mark - at)
                    .unwrap_or(usize::MAX)
                    .min(rest.len());
                let read = self.source.read_at(&mut rest[..wanted], original)?;
                filled += read;
                if read < wanted {
                    // A short read; at its start there is nothing to return.
                    break;
                }
            } else {
                let text = self.text(index);
                let from = usize::try_from(at - mark).map_err(io::Error::other)?;
                let count = (text.len() - from).min(rest.len());
                rest[..count].copy_from_slice(&text[from..from + count]);
                filled += count;
                index += usize::from(from + count == text.len());
            }
        }
        Ok(filled)
    }

    fn window<'a>(&'a self, start: u64, end: u64, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if self.shown.is_empty() {
            return self.source.window(start, end, buffer);
        }
        let end = end.min(self.length);
        let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        self.read_exact_at(&mut buffer[..length], start)?;
        Ok(&buffer[..length])
    }

    fn file(&self) -> Option<&File> {
        self.source.file().filter(|_| self.shown.is_empty())
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.source.check()
    }
}
