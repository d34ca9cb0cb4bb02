//! What is known of a message that is too large for the memory?

use std::fmt;
use std::ops::Range;

use serde::de::IgnoredAny;
use spillgate_store::{Draft, Part, StoreError};

use crate::frame::is_answer;
use crate::skeleton::Skeleton;
use crate::{Envelope, Pieces, messages};

/// A message whose largest member is in a draft of the store.
pub struct Spooled {
    before: Vec<u8>,
    value: Value,
    after: Vec<u8>,
    /// The message with the skeleton in the place of the value; nothing for what
    /// is no message.
    stand_in: Vec<u8>,
}

/// The large member of a message.
pub(crate) struct Value {
    pub(crate) kept: Result<Box<dyn Draft>, LostValue>,
    pub(crate) bytes: u64,
    pub(crate) surplus: u64,
    pub(crate) sha256: String,
    pub(crate) skeleton: Skeleton,
    pub(crate) is_sound: bool,
}

/// A value that the store failed to keep while it came.
#[derive(Debug)]
pub struct LostValue {
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes.
    pub tail: Vec<u8>,
    /// Why it is lost.
    pub error: StoreError,
}

/// A large value, to be stored.
#[derive(Debug)]
pub struct SpooledValue {
    /// Its bytes, in a draft that holds nothing else.
    pub kept: Result<Box<dyn Draft>, LostValue>,
    /// How many.
    pub bytes: u64,
    /// SHA-256 of them, in hex.
    pub sha256: String,
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
        }
    }

    /// Bytes of the message.
    #[must_use]
    pub fn len(&self) -> u64 {
        let around = self.before.len() + self.after.len();
        around as u64 + self.value.bytes + self.value.surplus
    }

    /// Whether there are none; there are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is JSON of which one value is large. What is not (cut off, not
    /// UTF-8, large in many places) can only be passed on as it came.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.stand_in.is_empty()
    }

    /// The message in small: the large value is replaced by its skeleton, all
    /// else is as it came. Empty if it is not sound.
    #[must_use]
    pub fn stand_in(&self) -> &[u8] {
        &self.stand_in
    }

    /// The messages of the stand-in.
    #[must_use]
    pub fn messages(&self) -> Vec<Envelope<'_>> {
        messages(&self.stand_in)
    }

    /// Where in the stand-in the skeleton lies.
    #[must_use]
    pub fn value_span(&self) -> Range<usize> {
        let start = self.before.len();
        start..start + self.value.skeleton.json().len()
    }

    /// Puts `with` in the place of `range` of the stand-in, which must not touch
    /// the skeleton: such as another id.
    pub fn replace(&mut self, range: Range<usize>, with: &[u8]) {
        let value = self.value_span();
        let (part, start) = match range.end <= value.start {
            true => (&mut self.before, 0),
            false => (&mut self.after, value.end),
        };
        part.splice(range.start - start..range.end - start, with.iter().copied());
        self.stand_in.splice(range, with.iter().copied());
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

    /// Why the large value is lost, if it is.
    #[must_use]
    pub fn lost(&self) -> Option<&StoreError> {
        self.value.kept.as_ref().err().map(|lost| &lost.error)
    }

    /// The draft that holds the large value.
    #[must_use]
    pub fn draft(&self) -> Option<&dyn Draft> {
        self.value.kept.as_deref().ok()
    }

    /// The large value, to be stored, and the stand-in with the place of its
    /// skeleton.
    #[must_use]
    pub fn into_value(self) -> (SpooledValue, StandIn) {
        let span = self.value_span();
        let value = SpooledValue {
            kept: self.value.kept,
            bytes: self.value.bytes,
            sha256: self.value.sha256,
        };
        let stand_in = StandIn {
            frame: self.stand_in,
            span,
            skeleton: self.value.skeleton,
        };
        (value, stand_in)
    }

    /// The message as it came, to be written; the store's error if it is lost.
    pub fn into_pieces(self) -> Result<Pieces, StoreError> {
        let is_aside = self.is_sound() && !is_answer(&self.stand_in);
        let draft = self.value.kept.map_err(|lost| lost.error)?;
        let source = draft.read(Part::Raw)?;
        let mut pieces = Pieces::default();
        pieces.push(self.before);
        pieces.push_source(&source, 0..self.value.bytes);
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

/// A message in small, without the value that made it large.
#[derive(Debug)]
pub struct StandIn {
    /// The message.
    pub frame: Vec<u8>,
    /// Where in it the skeleton lies.
    pub span: Range<usize>,
    /// The skeleton.
    pub skeleton: Skeleton,
}
