//! Captures JSON results, in memory or in a draft of the store.
//!
//! The text of a spooled result is never held as a whole: readers decode it from the draft.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use spillgate_artifact::{ByteSource, Origin, RawForm, TextPart};
use spillgate_store::{Draft, LostBytes, Part, SpooledBytes, StoreError};
use spillgate_text::{
    Indexer, JsonStringDecoder, JsonText, LineIndex, SAMPLE_BYTES, Sample, Scan, ScanFacts,
    TokenCounter, classify,
};

use crate::capture::{Captured, Raw, Text, in_memory};
use crate::hash::Hash;
use crate::sanitize::{before_json, layout_of, unreadable};

/// The raw bytes of a JSON result.
#[derive(Debug)]
pub enum JsonResult {
    /// In memory.
    Memory(Hashed),
    /// In a draft of the store, because they are too many to hold in memory.
    Spooled(SpooledBytes),
}

/// Bytes in memory whose hash is computed in the background.
#[derive(Debug)]
pub struct Hashed {
    bytes: Bytes,
    sha256: Hash,
}

impl From<Bytes> for JsonResult {
    fn from(bytes: Bytes) -> Self {
        let sha256 = Hash::of(&bytes);
        Self::Memory(Hashed { bytes, sha256 })
    }
}

impl JsonResult {
    /// Returns a reader of the raw bytes; `None` if they are lost.
    pub fn source(&self) -> Result<Option<Arc<dyn ByteSource>>, StoreError> {
        match self {
            Self::Memory(raw) => Ok(Some(Arc::new(raw.bytes.clone()))),
            Self::Spooled(raw) => raw.source(),
        }
    }

    /// Returns the text of `parts`, decoded and joined by newlines; `None` if it is lost.
    pub fn text(&self, parts: &[TextPart]) -> Result<Option<Arc<dyn ByteSource>>, StoreError> {
        Ok(match self {
            Self::Memory(raw) => Some(Arc::new(Bytes::from(decoded(&raw.bytes, parts)))),
            Self::Spooled(raw) => match raw.source()? {
                Some(source) => {
                    let text = JsonText::new(source, parts, &mut |_| {});
                    Some(Arc::new(text.map_err(|error| unreadable(&error))?))
                }
                None => None,
            },
        })
    }
}

/// Decodes the text of `parts` of a result in memory.
fn decoded(raw: &[u8], parts: &[TextPart]) -> Vec<u8> {
    let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
    let bytes: u64 = parts.iter().map(|part| part.end - part.start + 1).sum();
    let mut text = Vec::with_capacity(at(bytes));
    for (nth, part) in parts.iter().enumerate() {
        text.extend((nth > 0).then_some(b'\n'));
        let inside = &raw[at(part.start)..at(part.end)];
        if part.is_string {
            let mut decoder = JsonStringDecoder::default();
            decoder.feed(inside, &mut text);
            decoder.finish(&mut text);
        } else {
            text.extend_from_slice(inside);
        }
    }
    text
}

/// Captures a result whose text consists of `parts`.
pub(crate) fn capture_json(
    counter: &Arc<dyn TokenCounter>,
    origin: Origin,
    is_error: bool,
    raw: JsonResult,
    parts: Vec<TextPart>,
) -> Captured {
    let captured = match raw {
        JsonResult::Memory(raw) => of_memory(origin, raw, parts),
        JsonResult::Spooled(raw) => of_draft(counter, origin, raw, parts),
    };
    Captured {
        is_error,
        ..captured
    }
}

fn of_memory(origin: Origin, raw: Hashed, parts: Vec<TextPart>) -> Captured {
    let of_text = in_memory(origin, decoded(&raw.bytes, &parts), raw.sha256);
    let text = match of_text.raw {
        Raw::Memory(bytes) => Some(Text::Memory(bytes)),
        _ => None,
    };
    Captured {
        form: RawForm::Parts(parts),
        text,
        raw_bytes: raw.bytes.len() as u64,
        raw: Raw::Memory(raw.bytes),
        ..of_text
    }
}

fn of_draft(
    counter: &Arc<dyn TokenCounter>,
    origin: Origin,
    raw: SpooledBytes,
    parts: Vec<TextPart>,
) -> Captured {
    let SpooledBytes {
        kept,
        bytes,
        sha256,
    } = raw;
    // Loads the vocabulary (80 ms) meanwhile, because the tokens will be counted later.
    let ahead = Arc::clone(counter);
    std::thread::spawn(move || ahead.prepare());
    let (raw, looked) = match kept {
        Ok(mut draft) => match Looked::at(&mut *draft, &parts) {
            Ok(looked) => (Raw::Spooled(draft), looked),
            Err(error) => ends(lost_ends(&*draft, bytes, error), bytes, &parts),
        },
        Err(lost) => ends(lost, bytes, &parts),
    };
    Captured {
        origin,
        is_error: false,
        ending: None,
        raw,
        form: RawForm::Parts(parts),
        text: looked.text.map(|text| Text::Decoded(Arc::new(text))),
        is_view: looked.is_view,
        scan: looked.scan,
        index: looked.index,
        head: looked.head,
        sha256: sha256.into(),
        raw_bytes: bytes,
    }
}

/// The findings of one pass over the text.
struct Looked {
    text: Option<JsonText>,
    /// Whether the pass wrote the text to the draft as its view.
    is_view: bool,
    scan: ScanFacts,
    index: LineIndex,
    head: Vec<u8>,
}

impl Looked {
    fn at(draft: &mut dyn Draft, parts: &[TextPart]) -> Result<Self, StoreError> {
        let source = draft.read(Part::Raw)?;
        let mut look = Look::into(draft);
        let text = JsonText::new(source, parts, &mut |block| look.feed(block));
        let text = text.map_err(|error| unreadable(&error))?;
        look.finish(text)
    }
}

/// Scans a text and writes it to the draft as its view in the same pass, as long as the text needs
/// no transformation.
struct Look<'d> {
    draft: &'d mut dyn Draft,
    is_view: bool,
    scan: Scan,
    /// The first bytes of the text.
    head: Vec<u8>,
    /// Set once the first bytes are classified: the kind decides how lines are cut.
    indexer: Option<Indexer>,
}

impl<'d> Look<'d> {
    fn into(draft: &'d mut dyn Draft) -> Self {
        Self {
            draft,
            is_view: false,
            scan: Scan::default(),
            head: Vec::new(),
            indexer: None,
        }
    }

    fn feed(&mut self, block: &[u8]) {
        self.scan.feed(block);
        if self.indexer.is_some() {
            return self.take(block);
        }
        self.head.extend_from_slice(block);
        if self.head.len() > SAMPLE_BYTES {
            self.begin();
        }
    }

    fn begin(&mut self) {
        let mut text = std::mem::take(&mut self.head);
        let sample = Sample {
            head: &text[..SAMPLE_BYTES.min(text.len())],
            complete: text.len() <= SAMPLE_BYTES,
        };
        let kind = classify(sample);
        self.is_view = before_json(sample, kind).is_none();
        self.indexer = Some(Indexer::as_is(layout_of(kind)));
        self.take(&text);
        text.truncate(SAMPLE_BYTES);
        self.head = text;
    }

    fn take(&mut self, text: &[u8]) {
        if let Some(indexer) = &mut self.indexer {
            indexer.feed(text);
        }
        // A failed write is not reported here: making the view repeats the write and fails then.
        self.is_view = self.is_view && self.draft.write(Part::View, text).is_ok();
    }

    fn finish(mut self, text: JsonText) -> Result<Looked, StoreError> {
        if self.indexer.is_none() {
            self.begin();
        }
        let indexer = self.indexer.take();
        let indexer = indexer.expect("invariant: it was begun");
        let scan = self.scan.finish();
        let is_view = self.is_view && scan.is_clean();
        if !is_view {
            self.draft.discard_view()?;
        }
        Ok(Looked {
            text: Some(text),
            is_view,
            scan,
            index: indexer.finish(),
            head: self.head,
        })
    }
}

/// Reads what is still readable of a draft that failed.
fn lost_ends(draft: &dyn Draft, bytes: u64, error: StoreError) -> LostBytes {
    /// Bytes kept of each end, as for every lost result.
    const END: u64 = 64 << 10;
    let read = |start, end| {
        let source = draft.read(Part::Raw).map_err(io::Error::other);
        let read = source.and_then(|source| source.bytes(start, end));
        read.unwrap_or_default()
    };
    LostBytes {
        head: read(0, END.min(bytes)),
        tail: read(bytes.saturating_sub(END), bytes),
        error,
    }
}

/// Returns the beginning and the end of the text of a lost result. The length of the part between
/// them is known only in raw bytes.
fn ends(lost: LostBytes, bytes: u64, parts: &[TextPart]) -> (Raw, Looked) {
    let first = parts.first().map(|part| stretch(&lost.head, 0, *part));
    let from = bytes.saturating_sub(lost.tail.len() as u64);
    let last = parts.last().map(|part| stretch(&lost.tail, from, *part));
    let mut head = first.unwrap_or_default();
    head.truncate(SAMPLE_BYTES);
    let mut scan = Scan::default();
    scan.feed(&head);
    let scan = ScanFacts {
        bytes,
        chars: bytes,
        ..scan.finish()
    };
    let looked = Looked {
        text: None,
        is_view: false,
        scan,
        index: Indexer::as_is(layout_of(classify(Sample {
            head: &head,
            complete: false,
        })))
        .finish(),
        head,
    };
    let raw = Raw::Lost {
        tail: last.unwrap_or_default(),
        error: lost.error,
    };
    (raw, looked)
}

/// Returns the text of the part as far as it lies in `raw`, which holds the raw bytes from offset
/// `from`.
fn stretch(raw: &[u8], from: u64, part: TextPart) -> Vec<u8> {
    let place =
        |at: u64| usize::try_from(at.saturating_sub(from)).map_or(raw.len(), |n| n.min(raw.len()));
    let mut inside = &raw[place(part.start)..place(part.end)];
    if !part.is_string {
        return inside.to_vec();
    }
    if part.start < from {
        // The bytes may begin inside an escape, which has at most five bytes after its `\`, or
        // inside a surrogate pair of two escapes.
        let is_safe = |window: &[u8]| !window.contains(&b'\\');
        let start = inside.windows(6).position(is_safe);
        inside = &inside[start.map_or(0, |start| start + 5)..];
    }
    let (mut decoder, mut text) = (JsonStringDecoder::default(), Vec::new());
    decoder.feed(inside, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use spillgate_store::{ArtifactStore, MemoryStore};

    use super::*;

    #[test]
    fn a_text_that_stays_as_it_is_is_its_view_at_once() {
        let lines = "10:00:01 INFO a line of a log\n".repeat(4000);
        let cases = [
            (lines.clone(), true),
            ("short".to_owned(), true),
            (String::new(), true),
            (lines.clone() + "\u{1b}[1mloud", false),
            (
                format!("{{\"items\":[{}]}}", vec!["17"; 4000].join(",")),
                false,
            ),
        ];
        for (text, is_view) in cases {
            let raw = serde_json::to_vec(&text).unwrap();
            let part = TextPart {
                start: 1,
                end: raw.len() as u64 - 1,
                is_string: true,
            };
            let mut draft = MemoryStore::default().draft().unwrap();
            draft.write(Part::Raw, &raw).unwrap();
            let looked = Looked::at(&mut *draft, &[part]).unwrap();
            let view = draft.read(Part::View).unwrap().bytes(0, u64::MAX).unwrap();
            assert_eq!(looked.is_view, is_view, "{text:.40}");
            assert_eq!(view, if is_view { text.as_bytes() } else { b"" });
            assert_eq!(looked.scan.bytes, text.len() as u64);
        }
    }

    #[test]
    fn the_ends_of_a_part_are_decoded_wherever_they_are_cut() {
        let raw =
            r#"{"text":"first \u00e4 line\nlong enough \ud83d\ude80 to be cut, and the end"}"#;
        let part = TextPart {
            start: 9,
            end: raw.len() as u64 - 2,
            is_string: true,
        };
        let text = |from: usize, to: usize| {
            let inside = stretch(&raw.as_bytes()[from..to], from as u64, part);
            String::from_utf8(inside).unwrap()
        };
        let whole: String = serde_json::from_str::<serde_json::Value>(raw).unwrap()["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(text(0, raw.len()), whole);
        assert_eq!(text(0, 30), "first ä line\nlo");
        // From any offset on, the result is the end of the text without a fragment of an escape.
        for from in 10..raw.len() - 20 {
            let end = text(from, raw.len());
            assert!(whole.ends_with(&end) && end.len() > 10, "{from}: {end}");
        }
    }
}
