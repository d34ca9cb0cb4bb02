//! Makes the readable view of a result's text.
//!
//! At most one transformation makes the view: a JSON document with lines too long to read is laid
//! out; text with escapes, carriage returns or invalid UTF-8 is cleaned; any other text is its own
//! view (docs/spec/behaviour.md, "Views").

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use serde::de::IgnoredAny;
use spillgate_artifact::{ByteSource, ContentKind, Layout, RawForm, ReadRange, ViewFacts};
use spillgate_store::{ArtifactStore, Draft, Part, StoreError};
use spillgate_text::{
    Indexer, JsonLayout, LineIndex, SOFT_CHARS, Sample, Sanitizer, ViewSink, classify,
};

use crate::capture::{Captured, Raw, Text};
use crate::encoded;
use crate::pipeline::{EarlyDraft, WORTH_A_THREAD};

/// Bytes transformed at a time.
const BLOCK: usize = 64 << 10;

/// A result with its view.
#[derive(Debug)]
pub(crate) struct Sanitized {
    pub(crate) captured: Captured,
    pub(crate) kind: ContentKind,
    pub(crate) view: ViewText,
    pub(crate) index: LineIndex,
    pub(crate) layout: Layout,
    /// Bytes of text before a laid-out JSON document.
    pub(crate) prelude: u64,
    /// The draft with the bytes and the view, if [`begin_store`](Self::begin_store) began one.
    pub(crate) early: Option<EarlyDraft>,
}

impl Sanitized {
    /// Returns whether the view leaves out parts of the text, such as overwritten lines.
    pub(crate) fn leaves_out(&self) -> bool {
        !self.captured.scan.is_clean() && self.layout != Layout::Json
    }

    /// Returns whether the raw bytes are the text and the text is shown as it is.
    pub(crate) fn is_plain(&self) -> bool {
        let is_shown = !matches!(self.kind, ContentKind::Binary | ContentKind::Json);
        is_shown && self.captured.form == RawForm::Plain && self.captured.scan.is_clean()
    }

    /// Opens the view for reading; `None` if the text is lost.
    pub(crate) fn view_source(&self) -> io::Result<Option<Arc<dyn ByteSource>>> {
        let part = match (&self.view, &self.captured.raw) {
            (ViewText::Memory(text), _) | (ViewText::Raw, Raw::Memory(text)) => {
                return Ok(Some(Arc::new(text.clone())));
            }
            (ViewText::Raw, Raw::Spooled(draft)) => draft.read(Part::Raw),
            (ViewText::Spooled, Raw::Spooled(draft)) => draft.read(Part::View),
            _ => return Ok(None),
        };
        part.map(Some).map_err(io::Error::other)
    }

    /// Begins to write the result to `store` and to sync it, because it will be stored as it is.
    pub(crate) fn begin_store(&mut self, store: &Arc<dyn ArtifactStore>) {
        match &mut self.captured.raw {
            Raw::Spooled(draft) => {
                draft.complete(Part::Raw);
                draft.complete(Part::View);
            }
            Raw::Memory(raw) if raw.len() as u64 >= WORTH_A_THREAD => {
                let view = self.view.in_memory();
                self.early = EarlyDraft::start(Arc::clone(store), raw.clone(), view);
            }
            Raw::Memory(_) | Raw::Lost { .. } => {}
        }
    }

    /// Returns the figures of the view.
    pub(crate) fn facts(&self) -> ViewFacts {
        ViewFacts {
            bytes: self.index.bytes,
            lines: self.index.lines,
            longest_line: self.index.longest_line,
            is_raw: matches!(self.view, ViewText::Raw),
            layout: self.layout,
            prelude: self.prelude,
        }
    }
}

/// Where the view is.
#[derive(Debug)]
pub(crate) enum ViewText {
    /// The raw bytes are the view.
    Raw,
    /// In memory.
    Memory(Bytes),
    /// In the draft, beside the raw bytes.
    Spooled,
}

impl ViewText {
    /// Returns the view if it is in memory and is not the raw bytes.
    pub(crate) fn in_memory(&self) -> Option<Bytes> {
        match self {
            Self::Memory(text) => Some(text.clone()),
            Self::Raw | Self::Spooled => None,
        }
    }
}

/// Returns how lines of a plain view of this kind are cut.
pub(crate) fn layout_of(kind: ContentKind) -> Layout {
    match kind {
        ContentKind::Html | ContentKind::Xml => Layout::Markup,
        _ => Layout::AsIs,
    }
}

/// Makes the view. If the store fails, the result counts as lost and carries the error.
pub(crate) fn sanitize(mut captured: Captured) -> Sanitized {
    match transform(&mut captured) {
        Ok(made) => Sanitized {
            captured,
            kind: made.kind,
            view: made.view,
            index: made.index,
            layout: made.layout,
            prelude: made.prelude,
            early: None,
        },
        Err(error) => Sanitized {
            kind: captured.kind,
            view: ViewText::Raw,
            index: captured.index.clone(),
            layout: Layout::AsIs,
            prelude: 0,
            early: None,
            captured: lost(captured, error),
        },
    }
}

fn lost(captured: Captured, error: StoreError) -> Captured {
    let tail = match &captured.raw {
        Raw::Spooled(draft) => draft
            .read(Part::Raw)
            .and_then(|raw| {
                let from = raw.len().saturating_sub(BLOCK as u64);
                raw.bytes(from, raw.len()).map_err(|e| unreadable(&e))
            })
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    Captured {
        raw: Raw::Lost { tail, error },
        ..captured
    }
}

/// A finished view.
struct Made {
    kind: ContentKind,
    view: ViewText,
    index: LineIndex,
    layout: Layout,
    prelude: u64,
}

fn transform(captured: &mut Captured) -> Result<Made, StoreError> {
    encoded::decode(captured)?;
    let mut kind = captured.kind;
    let Some(text) = captured.text()? else {
        return as_is(captured, kind);
    };
    if captured.index.longest_line > SOFT_CHARS as u64
        && let Some(prelude) = before_json(captured.sample(), kind)
    {
        let document = json(captured, &*text, prelude);
        if document == Document::Whole {
            let layout = JsonLayout::starting_at(prelude, 0);
            let made = run(captured, &*text, Transformation::Json(layout), prelude)?;
            kind = ContentKind::Json;
            if let Some((view, index)) = made {
                return Ok(Made {
                    kind,
                    view,
                    index,
                    layout: Layout::Json,
                    prelude,
                });
            }
        } else if kind == ContentKind::Json && document == Document::Not {
            kind = not_json(captured.sample());
        }
    }
    if captured.scan.is_clean() {
        return as_is(captured, kind);
    }
    let layout = layout_of(kind);
    let clean = Transformation::Clean(Box::default(), layout);
    match run(captured, &*text, clean, 0)? {
        Some((view, index)) => Ok(Made {
            kind,
            view,
            index,
            layout,
            prelude: 0,
        }),
        None => as_is(captured, kind),
    }
}

/// Uses the text as its own view.
fn as_is(captured: &mut Captured, kind: ContentKind) -> Result<Made, StoreError> {
    let view = match (&captured.form, &captured.text, &mut captured.raw) {
        (RawForm::Parts(_) | RawForm::Encoded { .. }, Some(Text::Memory(text)), _) => {
            ViewText::Memory(text.clone())
        }
        (_, Some(Text::Decoded(_)), Raw::Spooled(_)) if captured.is_view => ViewText::Spooled,
        (_, Some(Text::Decoded(text)), Raw::Spooled(draft)) => {
            spooled(&mut **draft, &mut |each| text.each(each))?
        }
        (_, Some(Text::Transcoded(text)), Raw::Spooled(draft)) => {
            spooled(&mut **draft, &mut |each| text.each(each))?
        }
        _ => ViewText::Raw,
    };
    Ok(Made {
        kind,
        view,
        index: captured.index.clone(),
        layout: layout_of(kind),
        prelude: 0,
    })
}

/// Passes a text to a callback, block by block.
type Each<'t> = &'t mut dyn FnMut(&mut dyn FnMut(&[u8])) -> io::Result<()>;

/// Writes a text to a draft as its view.
fn spooled(draft: &mut dyn Draft, text: Each<'_>) -> Result<ViewText, StoreError> {
    // Without a write the raw bytes would become the view, even for an empty text.
    let mut failed = draft.write(Part::View, &[]).err();
    text(&mut |block| {
        failed = failed
            .take()
            .or_else(|| draft.write(Part::View, block).err());
    })
    .map_err(|error| unreadable(&error))?;
    match failed {
        Some(error) => Err(error),
        None => Ok(ViewText::Spooled),
    }
}

/// The UTF-8 byte order mark that some Windows programs write first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the offset where a JSON document seems to begin: at the start, or after some lines of
/// notes that commands print while they gather data.
pub(crate) fn before_json(sample: Sample<'_>, kind: ContentKind) -> Option<u64> {
    /// Maximum bytes of notes; a document further down is part of something else.
    const LONGEST_PRELUDE: usize = 16 << 10;
    if kind == ContentKind::Json {
        let mark = sample.head.starts_with(BYTE_ORDER_MARK);
        return Some(if mark {
            BYTE_ORDER_MARK.len() as u64
        } else {
            0
        });
    }
    let head = &sample.head[..sample.head.len().min(LONGEST_PRELUDE)];
    let starts = memchr::memchr_iter(b'\n', head).map(|newline| newline + 1);
    let start = starts
        .filter(|&start| matches!(head.get(start), Some(b'{' | b'[')))
        .find(|&start| {
            let rest = Sample {
                head: &sample.head[start..],
                complete: sample.complete,
            };
            classify(rest) == ContentKind::Json
        })?;
    let is_plain = memchr::memchr2(b'\r', 0x1b, &head[..start]).is_none();
    is_plain.then_some(start as u64)
}

/// Classifies a text that starts like JSON but is not valid to its end.
fn not_json(sample: Sample<'_>) -> ContentKind {
    // Prepends a byte that JSON cannot begin with, so that the other rules decide.
    let head = [b"\n.", sample.head].concat();
    classify(Sample {
        head: &head,
        complete: false,
    })
}

/// How far a text is a JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Document {
    /// A whole document.
    Whole,
    /// The start of a document: it ends too early, with no other error.
    CutOff,
    /// Not a document.
    Not,
}

/// Checks the text from offset `start`. Parsing from memory takes a tenth of the time of parsing
/// from a reader.
fn json(captured: &Captured, text: &dyn ByteSource, start: u64) -> Document {
    let memory = match (&captured.text, &captured.raw) {
        (Some(Text::Memory(text)), _) | (None, Raw::Memory(text)) => Some(text),
        _ => None,
    };
    let read = if let Some(text) = memory {
        let start = usize::try_from(start).unwrap_or(text.len());
        serde_json::from_slice::<IgnoredAny>(&text[start..])
    } else {
        let range = ReadRange::new(text, start, text.len());
        serde_json::from_reader(BufReader::with_capacity(BLOCK, range))
    };
    match read {
        Ok(_) => Document::Whole,
        Err(error) if error.is_eof() => Document::CutOff,
        Err(_) => Document::Not,
    }
}

enum Transformation {
    Json(JsonLayout),
    Clean(Box<Sanitizer>, Layout),
}

fn run(
    captured: &mut Captured,
    text: &dyn ByteSource,
    mut transformation: Transformation,
    prelude: u64,
) -> Result<Option<(ViewText, LineIndex)>, StoreError> {
    let layout = match &transformation {
        Transformation::Json(_) => Layout::Json,
        Transformation::Clean(_, layout) => *layout,
    };
    let mut build = Build {
        captured,
        indexer: Indexer::made(layout),
        buffer: Vec::with_capacity(2 * BLOCK),
        indexed: 0,
        room: text.len().saturating_mul(MOST_GROWTH) + FREE_GROWTH,
        failed: None,
    };
    let mut reader = ReadRange::new(text, prelude, text.len());
    let mut block = vec![0; BLOCK];
    let copied = text
        .bytes(0, prelude)
        .and_then(|notes| copy_lines(&notes, &mut build));
    let copied = copied.and_then(|()| {
        loop {
            match reader.read(&mut block) {
                Ok(0) => break transformation.finish(&mut build),
                Ok(n) => {
                    if let Err(error) = transformation.feed(&block[..n], &mut build) {
                        break Err(error);
                    }
                }
                Err(error) => break Err(error),
            }
        }
    });
    build.finish(copied)
}

/// Copies lines unchanged into a view.
fn copy_lines(text: &[u8], sink: &mut dyn ViewSink) -> io::Result<()> {
    let mut at = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        sink.line(at);
        sink.text(line)?;
        at += line.len() as u64;
    }
    Ok(())
}

impl Transformation {
    fn feed(&mut self, bytes: &[u8], sink: &mut dyn ViewSink) -> io::Result<()> {
        match self {
            Self::Json(layout) => layout.feed(bytes, sink),
            Self::Clean(sanitizer, _) => sanitizer.feed(bytes, sink),
        }
    }

    fn finish(&mut self, sink: &mut dyn ViewSink) -> io::Result<()> {
        match self {
            Self::Json(_) => Ok(()),
            Self::Clean(sanitizer, _) => sanitizer.finish(sink),
        }
    }
}

/// Receives the view while it is made: writes it to the draft if the raw bytes are in one,
/// otherwise to memory.
struct Build<'a> {
    captured: &'a mut Captured,
    indexer: Indexer,
    buffer: Vec<u8>,
    /// Bytes of the buffer that the indexer has processed.
    indexed: usize,
    /// Bytes that the view may still grow.
    room: u64,
    failed: Option<StoreError>,
}

/// Maximum size of a view as a multiple of its text. Laid-out JSON is some two to four times its
/// text, but with deep nesting the indentation grows with the square of the text. A text that would
/// grow more is not laid out; otherwise 200 KB could fill a disk.
const MOST_GROWTH: u64 = 8;
/// Bytes that a view may add to any text, however short.
const FREE_GROWTH: u64 = 64 << 10;

impl Build<'_> {
    fn index(&mut self) {
        self.indexer.feed(&self.buffer[self.indexed..]);
        self.indexed = self.buffer.len();
    }

    /// Returns the view; `None` if it would exceed the maximum growth.
    fn finish(
        mut self,
        copied: io::Result<()>,
    ) -> Result<Option<(ViewText, LineIndex)>, StoreError> {
        if copied.is_err() && self.room == 0 {
            if let Raw::Spooled(draft) = &mut self.captured.raw {
                draft.discard_view()?;
            }
            return Ok(None);
        }
        self.index();
        if copied.is_ok() && self.is_spooled() {
            self.failed = self.spill().err().or(self.failed);
        }
        if let Some(error) = self.failed {
            return Err(error);
        }
        copied.map_err(|error| unreadable(&error))?;
        let view = match self.is_spooled() {
            true => ViewText::Spooled,
            false => ViewText::Memory(self.buffer.into()),
        };
        Ok(Some((view, self.indexer.finish())))
    }

    fn is_spooled(&self) -> bool {
        matches!(self.captured.raw, Raw::Spooled(_))
    }

    fn spill(&mut self) -> Result<(), StoreError> {
        if let Raw::Spooled(draft) = &mut self.captured.raw {
            draft.write(Part::View, &self.buffer)?;
            self.buffer.clear();
            self.indexed = 0;
        }
        Ok(())
    }
}

pub(crate) fn unreadable(error: &io::Error) -> StoreError {
    StoreError::Damaged {
        path: "the draft".into(),
        what: error.to_string(),
    }
}

impl ViewSink for Build<'_> {
    fn text(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.room = self.room.saturating_sub(bytes.len() as u64);
        if self.room == 0 {
            return Err(io::Error::other("the view grows out of proportion"));
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < BLOCK || !self.is_spooled() {
            return Ok(());
        }
        self.index();
        self.spill().map_err(|error| {
            let told = io::Error::other(error.to_string());
            self.failed = Some(error);
            told
        })
    }

    fn line(&mut self, origin: u64) {
        self.index();
        self.indexer.line(origin);
    }
}
