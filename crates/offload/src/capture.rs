//! Captures the bytes of a result of any size.
//!
//! A small result stays in memory. A larger one streams into a draft of the store while it is
//! scanned and hashed, so that memory is bounded and one pass is enough. If the store fails, the
//! stream is still read and measured to its end: the producer must not block, and the message says
//! how much was lost.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::channel;

use bytes::Bytes;
use spillgate_artifact::{ByteSource, Ending, Origin, RawForm};
use spillgate_store::{ArtifactStore, Draft, Hashing, Part, StoreError};
use spillgate_text::{
    Indexer, JsonText, LineIndex, SAMPLE_BYTES, Sample, Scan, ScanFacts, TokenCounter, Transcoded,
    classify,
};

use crate::hash::{Hash, sha256};
use crate::sanitize::layout_of;

/// Size, in bytes, from which on a result is written to the store while it arrives.
const SPOOL_AT: usize = 256 << 10;

/// Bytes read at a time once a result is written to the store: enough that passing a block to the
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
    counter: &Arc<dyn TokenCounter>,
    origin: Origin,
    reader: &mut dyn Read,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Captured> {
    let mut start = Vec::with_capacity(8 << 10);
    reader.take(SPOOL_AT as u64).read_to_end(&mut start)?;
    if start.len() < SPOOL_AT {
        let sha256 = sha256(&start);
        return Ok(in_memory(origin, start, sha256.into()));
    }
    // Loads the vocabulary (80 ms) meanwhile, because the tokens will be counted later.
    let ahead = Arc::clone(counter);
    std::thread::spawn(move || ahead.prepare());
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

pub(crate) fn in_memory(origin: Origin, bytes: Vec<u8>, sha256: Hash) -> Captured {
    let head = bytes[..bytes.len().min(SAMPLE_BYTES)].to_vec();
    let layout = layout_of(classify(Sample {
        head: &head,
        complete: head.len() == bytes.len(),
    }));
    let (mut scan, mut indexer) = (Scan::default(), Indexer::as_is(layout));
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
        sha256,
        raw_bytes: bytes.len() as u64,
        raw: Raw::Memory(bytes.into()),
    }
}

/// A stream that is being written to the store.
struct Spool {
    scan: Scan,
    indexer: Indexer,
    head: Vec<u8>,
    tail: Vec<u8>,
    to: Result<Box<dyn Draft>, StoreError>,
}

impl Spool {
    fn begin(store: &dyn ArtifactStore, start: &[u8]) -> Self {
        let head = start[..SAMPLE_BYTES.min(start.len())].to_vec();
        let layout = layout_of(classify(Sample {
            head: &head,
            complete: false,
        }));
        let mut spool = Self {
            scan: Scan::default(),
            indexer: Indexer::as_is(layout),
            head,
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
            sha256: sha256.into(),
            raw_bytes: bytes,
        }
    }
}
