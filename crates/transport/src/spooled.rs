//! A message that is too large for memory, so that its largest member is kept in the store.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::de::IgnoredAny;
use spillgate_artifact::ByteSource;
use spillgate_store::{Draft, LostBytes, Part, SpooledBytes, StoreError};

use crate::Pieces;
use crate::skeleton::{Filled, Skeleton};
use spillgate_mcp::{ByteEdits, Envelope, RequestId, broken_answer, is_answer, messages};

/// A message whose largest member is in a draft of the store.
pub struct Spooled {
    before: Vec<u8>,
    value: Value,
    after: Vec<u8>,
    /// Members, as JSON, that the client receives before the members of the large value.
    first: String,
    /// The message with the skeleton in place of the value; empty if the result is not JSON.
    stand_in: Vec<u8>,
}

/// The large member of a message.
pub(crate) struct Value {
    pub(crate) kept: Result<Box<dyn Draft>, LostBytes>,
    pub(crate) bytes: u64,
    pub(crate) surplus: u64,
    pub(crate) sha256: String,
    pub(crate) skeleton: Skeleton,
    pub(crate) is_sound: bool,
    /// The message is large in many places, so most of it was not parsed.
    pub(crate) is_opaque: bool,
}

impl fmt::Debug for Spooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spooled")
            .field("before", &self.before.len())
            .field("bytes", &self.value.bytes)
            .field("after", &self.after.len())
            .field("is_sound", &self.is_sound())
            .finish_non_exhaustive()
    }
}

impl Spooled {
    pub(crate) fn new(before: Vec<u8>, value: Value, after: Vec<u8>) -> Self {
        let stand_in = match value.is_sound {
            true => [&before, value.skeleton.json(), &after].concat(),
            false => Vec::new(),
        };
        let is_json = serde_json::from_slice::<IgnoredAny>(&stand_in).is_ok();
        Self {
            stand_in: if is_json { stand_in } else { Vec::new() },
            before,
            value,
            after,
            first: String::new(),
        }
    }

    /// Returns the message after edits outside of its large value; `None` if an edit overlaps the
    /// large value. The ranges of the edits refer to the stand-in.
    #[must_use]
    pub fn edited(mut self, splice: ByteEdits) -> Option<Self> {
        let span = self.value_span();
        let (before, after) = splice.around(&span)?;
        self.before = before.apply(&self.before);
        self.after = after.apply(&self.after);
        let first = self.first;
        Some(Self {
            first,
            ..Self::new(self.before, self.value, self.after)
        })
    }

    /// Returns the message with additional members (`"a":1,"b":2`), which the client receives
    /// before the members of the large value. The large value must be an object. The additional
    /// members are not stored.
    #[must_use]
    pub fn with_first(self, members: &str) -> Self {
        let first = members.to_owned();
        Self { first, ..self }
    }

    /// Size of the message in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        let around = self.before.len() + self.after.len();
        around as u64
            + self.value.bytes
            + self.value.surplus
            + put_first(&self.first).len().saturating_sub(1) as u64
    }

    /// Always false: a spooled message has bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the message is JSON with one large value. Other messages (truncated, not UTF-8,
    /// large in many places) can only be passed on unchanged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.stand_in.is_empty()
    }

    /// Returns the message in reduced form: the skeleton replaces the large value, and all other
    /// bytes are unchanged. Empty if the message is not sound.
    #[must_use]
    pub fn stand_in(&self) -> &[u8] {
        &self.stand_in
    }

    /// The messages of the stand-in.
    #[must_use]
    pub fn messages(&self) -> Vec<Envelope<'_>> {
        messages(&self.stand_in)
    }

    /// Whether the message is large in many places. It was then not parsed, so it counts as not
    /// sound.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        self.value.is_opaque
    }

    /// Returns the request that an unsound message answers; `None` if its id cannot be read.
    pub(crate) fn broken_answer(&self) -> Option<RequestId> {
        let around = [&self.before, &b"null"[..], &self.after].concat();
        let without_value = broken_answer(&around);
        without_value.or_else(|| broken_answer(&self.before))
    }

    /// The range of the skeleton in the stand-in.
    #[must_use]
    pub fn value_span(&self) -> Range<usize> {
        let start = self.before.len();
        start..start + self.value.skeleton.json().len()
    }

    /// The skeleton of the large value.
    #[must_use]
    pub fn skeleton(&self) -> &Skeleton {
        &self.value.skeleton
    }

    /// SHA-256 of the large value, in hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.value.sha256
    }

    /// Returns why the large value is lost; `None` if it is not lost.
    #[must_use]
    pub fn lost(&self) -> Option<&StoreError> {
        self.value.kept.as_ref().err().map(|lost| &lost.error)
    }

    /// Returns the draft that contains the large value; `None` if the value is lost.
    #[must_use]
    pub fn draft(&self) -> Option<&dyn Draft> {
        self.value.kept.as_deref().ok()
    }

    /// Splits the message into the large value, which is to be stored, and the stand-in.
    #[must_use]
    pub fn into_value(self) -> (SpooledBytes, StandIn) {
        let span = self.value_span();
        let value = SpooledBytes {
            kept: self.value.kept,
            bytes: self.value.bytes,
            sha256: self.value.sha256,
        };
        let stand_in = StandIn {
            frame: self.stand_in.into(),
            span,
            skeleton: self.value.skeleton,
            first: self.first,
        };
        (value, stand_in)
    }

    /// Converts the message to pieces that write it unchanged. Fails with the store's error if the
    /// large value is lost.
    pub fn into_pieces(self) -> Result<Pieces, StoreError> {
        let is_aside = self.is_sound() && !is_answer(&self.stand_in);
        let draft = self.value.kept.map_err(|lost| lost.error)?;
        let source = draft.read(Part::Raw)?;
        let mut pieces = Pieces::default();
        pieces.push(self.before);
        let first = put_first(&self.first);
        // `first` replaces the value's opening bracket, so this bracket is skipped.
        let from = u64::from(!first.is_empty());
        pieces.push(first);
        pieces.push_source(&source, from..self.value.bytes);
        pieces.push(self.after);
        let surplus = self.value.bytes..self.value.bytes + self.value.surplus;
        pieces.push_source(&source, surplus);
        let pieces = pieces.holding(draft);
        Ok(match is_aside {
            true => pieces.aside(),
            false => pieces,
        })
    }
}

/// Returns the text that adds `members` before the members of an object. It replaces the object's
/// opening bracket. The object must not be empty.
fn put_first(members: &str) -> String {
    match members.is_empty() {
        true => String::new(),
        false => format!("{{{members},"),
    }
}

/// Fills the placeholders in messages that were derived from a stand-in.
#[derive(Debug)]
pub struct Filling {
    skeleton: Skeleton,
    source: Arc<dyn ByteSource>,
    draft: Arc<Mutex<Box<dyn Draft>>>,
}

impl Spooled {
    /// Returns the stand-in, and the [`Filling`] for messages that are derived from it. Fails with
    /// the store's error if the large value is lost.
    pub fn into_filling(self) -> Result<(Bytes, Filling), StoreError> {
        let draft = self.value.kept.map_err(|lost| lost.error)?;
        let filling = Filling {
            skeleton: self.value.skeleton,
            source: draft.read(Part::Raw)?,
            draft: Arc::new(Mutex::new(draft)),
        };
        Ok((self.stand_in.into(), filling))
    }
}

impl Filling {
    /// Returns a notification that was derived from the stand-in, after filling its placeholders.
    #[must_use]
    pub fn fill(&self, made: &Bytes) -> Pieces {
        let mut pieces = Pieces::default();
        for part in self.skeleton.fill(made) {
            match part {
                Filled::Bytes(range) => pieces.push(made.slice(range)),
                Filled::Raw(range) => pieces.push_source(&self.source, range),
            }
        }
        pieces.sharing(&self.draft).aside()
    }
}

/// A message in reduced form, without the value that made it large.
#[derive(Debug)]
pub struct StandIn {
    /// The reduced message.
    pub frame: Bytes,
    /// The range of the skeleton in `frame`.
    pub span: Range<usize>,
    /// The skeleton.
    pub skeleton: Skeleton,
    /// Members, as JSON, that the client receives before the members of the value; usually none.
    pub first: String,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use spillgate_mcp::{ByteEdits, span_in};
    use spillgate_store::MemoryStore;

    use crate::{Frame, FrameReader};

    #[tokio::test]
    async fn what_stands_beside_the_value_can_be_edited() {
        let text = "x".repeat(1000);
        for (frame, want) in [
            (
                format!("{{\"id\":7,\"result\":\"{text}\"}}\n"),
                format!("{{\"id\":\"abc\",\"result\":\"{text}\"}}\n"),
            ),
            (
                format!("{{\"result\":\"{text}\",\"id\": 7 }}"),
                format!("{{\"result\":\"{text}\",\"id\": \"abc\" }}"),
            ),
        ] {
            let store = Arc::new(MemoryStore::default());
            let mut taking = FrameReader::new(store).spooling_at(100).begin();
            for block in frame.as_bytes().chunks(64) {
                taking.feed(block).await.unwrap();
            }
            let Frame::Spooled(spooled) = taking.finish().await else {
                panic!("it is not large");
            };
            let id = spooled.messages()[0].id.unwrap().get().to_owned();
            let at = spooled.messages()[0]
                .id
                .map(|id| span_in(spooled.stand_in(), id.get()));
            assert_eq!(id, "7");
            let mut splice = ByteEdits::default();
            splice.replace(at.unwrap(), "\"abc\"");
            let spooled = spooled.edited(splice).unwrap();
            assert_eq!(spooled.messages()[0].id.unwrap().get(), "\"abc\"");
            let mut pieces = spooled.into_pieces().unwrap();
            let mut whole = Vec::new();
            while let Some(block) = pieces.next().await.unwrap() {
                whole.extend_from_slice(&block);
            }
            assert_eq!(String::from_utf8(whole).unwrap(), want);
        }
    }

    #[tokio::test]
    async fn what_the_client_gets_before_the_value_stays_when_it_is_edited() {
        let text = "x".repeat(1000);
        let frame = format!("{{\"id\":7,\"result\":{{\"t\":\"{text}\"}}}}\n");
        let store = Arc::new(MemoryStore::default());
        let mut taking = FrameReader::new(store).spooling_at(100).begin();
        for block in frame.as_bytes().chunks(64) {
            taking.feed(block).await.unwrap();
        }
        let Frame::Spooled(spooled) = taking.finish().await else {
            panic!("it is not large");
        };
        let spooled = spooled.with_first("\"a\":1");
        let id = spooled.messages()[0].id.unwrap();
        let mut splice = ByteEdits::default();
        splice.replace(span_in(spooled.stand_in(), id.get()), "8");
        let mut pieces = spooled.edited(splice).unwrap().into_pieces().unwrap();
        let mut whole = Vec::new();
        while let Some(block) = pieces.next().await.unwrap() {
            whole.extend_from_slice(&block);
        }
        let want = format!("{{\"id\":8,\"result\":{{\"a\":1,\"t\":\"{text}\"}}}}\n");
        assert_eq!(String::from_utf8(whole).unwrap(), want);
    }
}
