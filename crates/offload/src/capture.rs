//! Captures the bytes of a result of any size.
//!
//! A small result stays in memory. A larger one streams into a draft of the store while it is
//! scanned and hashed, so that memory is bounded and one pass is enough. If the store fails, the
//! stream is still read and measured to its end: the producer must not block, and the message says
//! how much was lost.
//!
//! A JSON result arrives in memory or in a draft. The text of a spooled one is never held as a
//! whole: readers decode it from the draft.

use std::fmt;
use std::io::{self, Read};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};
use std::thread;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use spillgate_artifact::{ByteSource, ContentKind, Ending, Origin, RawForm, TextPart};
use spillgate_store::{ArtifactStore, Draft, Hashing, LostBytes, Part, SpooledBytes, StoreError};
use spillgate_text::{
    Indexer, JsonStringDecoder, JsonText, LineIndex, SAMPLE_BYTES, Sample, Scan, ScanFacts,
    Transcoded, classify,
};

use crate::sanitize::{before_json, layout_of, unreadable};

/// Size, in bytes, from which on a result is written to the store while it arrives. A smaller one is
/// read once: from a draft, the search for secrets and the outline would each copy it again. Tests
/// run a debug build, which writes earlier, so that they need no large results.
const SPOOL_AT: usize = if cfg!(debug_assertions) {
    256 << 10
} else {
    4 << 20
};

/// Bytes read at a time: enough that passing a block of a result that is written to the store to the
/// hashing thread takes no noticeable time.
const BLOCK: usize = 512 << 10;

/// Bytes kept of each end of a result that could not be stored: more than any message shows.
const END: usize = 64 << 10;

/// A captured result.
#[derive(Debug)]
pub struct Captured {
    /// Where the result comes from.
    pub(crate) origin: Origin,
    /// Whether the tool reported an error.
    pub(crate) is_error: bool,
    /// How the command or the call ended, if that is known.
    pub(crate) ending: Option<Ending>,
    /// The raw bytes.
    pub(crate) raw: Raw,
    /// How the text is encoded in the raw bytes.
    pub(crate) form: RawForm,
    /// The text, if it differs from the raw bytes.
    pub(crate) text: Option<Text>,
    /// Whether the draft already holds the text as its view.
    pub(crate) is_view: bool,
    /// The counts from one pass over the text.
    pub(crate) scan: ScanFacts,
    /// Line index of the unchanged text.
    pub(crate) index: LineIndex,
    /// The first bytes of the text.
    pub(crate) head: Vec<u8>,
    /// The kind of the text, by its first bytes.
    pub(crate) kind: ContentKind,
    /// SHA-256 of the raw bytes, in hexadecimal.
    pub(crate) sha256: Hash,
    /// Number of raw bytes.
    pub(crate) raw_bytes: u64,
}

/// The text of a result that is JSON or in an encoding other than UTF-8.
#[derive(Debug, Clone)]
pub(crate) enum Text {
    /// In memory.
    Memory(Bytes),
    /// In the spooled raw bytes, decoded from JSON when read.
    Decoded(Arc<JsonText>),
    /// In the spooled raw bytes, decoded from another encoding when read.
    Transcoded(Arc<Transcoded>),
}

/// Where the raw bytes are.
#[derive(Debug)]
pub(crate) enum Raw {
    /// In memory.
    Memory(Bytes),
    /// In a draft of the store.
    Spooled(Box<dyn Draft>),
    /// Lost except for the ends: the store failed during capture.
    Lost {
        /// The last bytes; [`Captured::head`] holds the first.
        tail: Vec<u8>,
        /// The error of the store.
        error: StoreError,
    },
}

impl Captured {
    /// Returns the text for random access; `None` if it is lost.
    pub(crate) fn text(&self) -> Result<Option<Arc<dyn ByteSource>>, StoreError> {
        match (&self.text, &self.raw) {
            (Some(Text::Memory(text)), _) => Ok(Some(Arc::new(text.clone()))),
            (Some(Text::Decoded(text)), _) => Ok(Some(Arc::clone(text) as Arc<dyn ByteSource>)),
            (Some(Text::Transcoded(text)), _) => Ok(Some(Arc::clone(text) as Arc<dyn ByteSource>)),
            (None, Raw::Memory(bytes)) => Ok(Some(Arc::new(bytes.clone()))),
            (None, Raw::Spooled(draft)) => Ok(Some(draft.read(Part::Raw)?)),
            (None, Raw::Lost { .. }) => Ok(None),
        }
    }

    /// Returns the raw bytes for random access; `None` if they are lost.
    pub(crate) fn raw_source(&self) -> Result<Option<Arc<dyn ByteSource>>, StoreError> {
        match &self.raw {
            Raw::Memory(bytes) => Ok(Some(Arc::new(bytes.clone()))),
            Raw::Spooled(draft) => Ok(Some(draft.read(Part::Raw)?)),
            Raw::Lost { .. } => Ok(None),
        }
    }

    /// Returns the first bytes of the text, for classification.
    pub(crate) fn sample(&self) -> Sample<'_> {
        Sample {
            head: &self.head,
            complete: self.head.len() as u64 == self.scan.bytes,
        }
    }
}

/// Reads a stream to its end. Calls `progress` with the bytes so far. Errors are those of the
/// stream; those of the store become part of the captured result.
pub(crate) fn capture_stream(
    store: &dyn ArtifactStore,
    origin: Origin,
    reader: &mut dyn Read,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Captured> {
    let start = beginning(reader, SPOOL_AT, BLOCK, progress)?;
    if start.len() < SPOOL_AT {
        let start = Bytes::from(start);
        let sha256 = Hash::of(&start);
        return Ok(in_memory(origin, start, sha256));
    }
    let mut spool = Spool::begin(store, &start);
    let mut bytes = start.len() as u64;
    let (done, used) = channel();
    // Sending fails once the stream has ended and blocks are no longer reused.
    let hashing = Hashing::start(move |block| drop(done.send(block)));
    let length = start.len();
    hashing.feed(start, length);
    loop {
        progress(bytes);
        let mut block = used.try_recv().unwrap_or_default();
        fill(reader, &mut block)?;
        if block.is_empty() {
            break;
        }
        bytes += block.len() as u64;
        spool.take(&block);
        let length = block.len();
        hashing.feed(block, length);
    }
    Ok(spool.finish(origin, hashing.finish(), bytes))
}

/// Reads at most `most` bytes, in blocks, and calls `progress` with the bytes so far between them.
fn beginning(
    reader: &mut dyn Read,
    most: usize,
    block: usize,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Vec<u8>> {
    let mut read = Vec::with_capacity(8 << 10);
    while read.len() < most {
        if !read.is_empty() {
            progress(read.len() as u64);
        }
        let wanted = block.min(most - read.len());
        if reader.take(wanted as u64).read_to_end(&mut read)? < wanted {
            break;
        }
    }
    Ok(read)
}

/// Reads until the block is full or the stream ends. `Read::read_to_end` would start over with 8 KB
/// reads at every block.
fn fill(reader: &mut dyn Read, block: &mut Vec<u8>) -> io::Result<()> {
    let mut filled = 0;
    block.resize(BLOCK, 0);
    while filled < BLOCK {
        match reader.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    block.truncate(filled);
    Ok(())
}

fn in_memory(origin: Origin, bytes: Bytes, sha256: Hash) -> Captured {
    let head = bytes[..bytes.len().min(SAMPLE_BYTES)].to_vec();
    let kind = classify(Sample {
        head: &head,
        complete: head.len() == bytes.len(),
    });
    let (mut scan, mut indexer) = (Scan::default(), Indexer::as_is(layout_of(kind)));
    scan.feed(&bytes);
    indexer.feed(&bytes);
    Captured {
        origin,
        is_error: false,
        ending: None,
        form: RawForm::Plain,
        text: None,
        is_view: false,
        scan: scan.finish(),
        index: indexer.finish(),
        head,
        kind,
        sha256,
        raw_bytes: bytes.len() as u64,
        raw: Raw::Memory(bytes),
    }
}

/// A stream that is being written to the store.
struct Spool {
    scan: Scan,
    indexer: Indexer,
    head: Vec<u8>,
    kind: ContentKind,
    tail: Vec<u8>,
    to: Result<Box<dyn Draft>, StoreError>,
}

impl Spool {
    fn begin(store: &dyn ArtifactStore, start: &[u8]) -> Self {
        let head = start[..SAMPLE_BYTES.min(start.len())].to_vec();
        let kind = classify(Sample {
            head: &head,
            complete: false,
        });
        let mut spool = Self {
            scan: Scan::default(),
            indexer: Indexer::as_is(layout_of(kind)),
            head,
            kind,
            tail: Vec::new(),
            to: store.draft(),
        };
        spool.take(start);
        spool
    }

    fn take(&mut self, block: &[u8]) {
        self.scan.feed(block);
        self.indexer.feed(block);
        self.tail
            .extend_from_slice(&block[block.len().saturating_sub(END)..]);
        let surplus = self.tail.len().saturating_sub(END);
        self.tail.drain(..surplus);
        if let Ok(draft) = &mut self.to
            && let Err(error) = draft.write(Part::Raw, block)
        {
            self.to = Err(error); // drops the draft and its bytes
        }
    }

    fn finish(self, origin: Origin, sha256: String, bytes: u64) -> Captured {
        Captured {
            origin,
            is_error: false,
            ending: None,
            raw: match self.to {
                Ok(draft) => Raw::Spooled(draft),
                Err(error) => Raw::Lost {
                    tail: self.tail,
                    error,
                },
            },
            form: RawForm::Plain,
            text: None,
            is_view: false,
            scan: self.scan.finish(),
            index: self.indexer.finish(),
            head: self.head,
            kind: self.kind,
            sha256: sha256.into(),
            raw_bytes: bytes,
        }
    }
}

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
    origin: Origin,
    is_error: bool,
    raw: JsonResult,
    parts: Vec<TextPart>,
) -> Captured {
    let captured = match raw {
        JsonResult::Memory(raw) => of_memory(origin, raw, parts),
        JsonResult::Spooled(raw) => of_draft(origin, raw, parts),
    };
    Captured {
        is_error,
        ..captured
    }
}

fn of_memory(origin: Origin, raw: Hashed, parts: Vec<TextPart>) -> Captured {
    let of_text = in_memory(origin, decoded(&raw.bytes, &parts).into(), raw.sha256);
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

fn of_draft(origin: Origin, raw: SpooledBytes, parts: Vec<TextPart>) -> Captured {
    let SpooledBytes {
        kept,
        bytes,
        sha256,
    } = raw;
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
        kind: looked.kind,
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
    kind: ContentKind,
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
    kind: ContentKind,
}

impl<'d> Look<'d> {
    fn into(draft: &'d mut dyn Draft) -> Self {
        Self {
            draft,
            is_view: false,
            scan: Scan::default(),
            head: Vec::new(),
            indexer: None,
            kind: ContentKind::Text,
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
        self.kind = classify(sample);
        self.is_view = before_json(sample, self.kind).is_none();
        self.indexer = Some(Indexer::as_is(layout_of(self.kind)));
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
            kind: self.kind,
        })
    }
}

/// Reads what is still readable of a draft that failed.
fn lost_ends(draft: &dyn Draft, bytes: u64, error: StoreError) -> LostBytes {
    const END: u64 = self::END as u64;
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
    let kind = classify(Sample {
        head: &head,
        complete: false,
    });
    let looked = Looked {
        text: None,
        is_view: false,
        scan,
        index: Indexer::as_is(layout_of(kind)).finish(),
        head,
        kind,
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

/// Size, in bytes, from which on hashing takes longer than starting a thread.
const MANY_BYTES: usize = 128 << 10;

/// A SHA-256 in hex, possibly not computed yet.
#[derive(Clone)]
pub(crate) struct Hash(Arc<LazyLock<String, Box<dyn FnOnce() -> String + Send>>>);

impl Hash {
    /// Hashes bytes in memory: few when the hash is asked for, because a result that fits needs
    /// none, and many at once on a separate thread.
    pub(crate) fn of(bytes: &Bytes) -> Self {
        if bytes.len() < MANY_BYTES {
            let bytes = bytes.clone();
            return Self(Arc::new(LazyLock::new(Box::new(move || sha256(&bytes)))));
        }
        let hashed = bytes.clone();
        let thread = thread::Builder::new().spawn(move || sha256(&hashed));
        let bytes = bytes.clone();
        Self(Arc::new(LazyLock::new(Box::new(move || {
            let made = thread.ok().and_then(|thread| thread.join().ok());
            made.unwrap_or_else(|| sha256(&bytes))
        }))))
    }

    pub(crate) fn get(&self) -> &str {
        &self.0
    }
}

impl From<String> for Hash {
    fn from(made: String) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| made))))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash")
    }
}

/// Returns the SHA-256 in hex.
fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
