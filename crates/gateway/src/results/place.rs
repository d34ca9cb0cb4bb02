//! Positions and lengths of the parts of a result.
//!
//! For a result in memory, these are positions in the bytes of the frame. For a result too large
//! for memory, they are positions in the original values, for which the skeleton contains only
//! placeholders.

use std::ops::Range;

use spillgate_mcp::span_in;
use spillgate_transport::{Filled, StandIn};

/// The bytes of which the parts of a result are slices.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The bytes of the result. If it is large, the bytes of the reduced message that contains its
    /// skeleton.
    bytes: &'a [u8],
    /// The reduced message, if the result is large.
    large: Option<&'a StandIn>,
    /// Whether all bytes that are not in memory are lost.
    is_lost: bool,
}

impl<'a> Place<'a> {
    /// Returns the place of a result in memory.
    #[must_use]
    pub fn memory(result: &'a [u8]) -> Self {
        Self {
            bytes: result,
            large: None,
            is_lost: false,
        }
    }

    /// Returns the place of the large value of a message.
    #[must_use]
    pub fn large(stand_in: &'a StandIn) -> Self {
        Self {
            bytes: &stand_in.frame,
            large: Some(stand_in),
            is_lost: false,
        }
    }

    /// Returns a copy that treats all bytes that are not in memory as lost.
    pub(crate) fn lost(self) -> Self {
        Self {
            is_lost: true,
            ..self
        }
    }

    /// Returns the members, as JSON, that the client receives before the members of the result.
    pub(crate) fn first(&self) -> &'a str {
        self.large.map_or("", |stand_in| &stand_in.first)
    }

    /// Returns the range of a part in the result as it was sent.
    #[must_use]
    pub fn span(&self, part: &str) -> Range<u64> {
        let span = span_in(self.bytes, part);
        let Some(StandIn {
            span: of, skeleton, ..
        }) = self.large
        else {
            return span.start as u64..span.end as u64;
        };
        skeleton.raw_span(span.start - of.start..span.end - of.start)
    }

    /// Returns the length of `made`, which was built from parts, after its placeholders are filled.
    #[must_use]
    pub fn bytes(&self, made: &str) -> u64 {
        let Some(stand_in) = self.large else {
            return made.len() as u64;
        };
        let parts = stand_in.skeleton.fill(made.as_bytes()).into_iter();
        let lengths = parts.map(|part| match part {
            Filled::Bytes(range) => range.len() as u64,
            Filled::Raw(range) => range.end - range.start,
        });
        lengths.sum()
    }

    /// Whether any bytes of `part` are lost.
    #[must_use]
    pub fn is_lost(&self, part: &str) -> bool {
        let Some(stand_in) = self.large.filter(|_| self.is_lost) else {
            return false;
        };
        let parts = stand_in.skeleton.fill(part.as_bytes());
        parts.iter().any(|part| matches!(part, Filled::Raw(_)))
    }

    /// Whether `part` is only a placeholder.
    #[must_use]
    pub fn is_hole(&self, part: &str) -> bool {
        self.large.is_some_and(|large| large.skeleton.is_hole(part))
    }
}
