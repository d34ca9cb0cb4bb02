//! Where do the parts of a result lie, and how long are they?
//!
//! In the bytes of the frame, or, of a result that is too large for the memory,
//! where the placeholders of its skeleton stand for.

use std::ops::Range;

use spillgate_mcp::span_in;
use spillgate_wire::{Filled, StandIn};

/// What the parts of a result are slices of.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// The result.
    Memory(&'a [u8]),
    /// The message in small of which the result is the large value.
    Large {
        /// The message.
        stand_in: &'a StandIn,
        /// What is not in it is lost.
        is_lost: bool,
    },
}

impl Place<'_> {
    /// Where in the result, as it was sent, a part of it lies.
    #[must_use]
    pub fn span(&self, part: &str) -> Range<u64> {
        match self {
            Self::Memory(whole) => {
                let span = span_in(whole, part);
                span.start as u64..span.end as u64
            }
            Self::Large { stand_in, .. } => {
                let in_frame = span_in(&stand_in.frame, part);
                let start = stand_in.span.start;
                let skeleton = &stand_in.skeleton;
                skeleton.raw_span(in_frame.start - start..in_frame.end - start)
            }
        }
    }

    /// Bytes that `made`, which was made of parts, will have.
    #[must_use]
    pub fn bytes(&self, made: &str) -> u64 {
        let Self::Large { stand_in, .. } = self else {
            return made.len() as u64;
        };
        let parts = stand_in.skeleton.fill(made.as_bytes()).into_iter();
        let lengths = parts.map(|part| match part {
            Filled::Bytes(range) => range.len() as u64,
            Filled::Raw(range) => range.end - range.start,
        });
        lengths.sum()
    }

    /// Whether some of `part` is lost.
    #[must_use]
    pub fn is_lost(&self, part: &str) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Large { stand_in, is_lost } => {
                let parts = || stand_in.skeleton.fill(part.as_bytes());
                *is_lost && parts().iter().any(|part| matches!(part, Filled::Raw(_)))
            }
        }
    }

    /// Whether only a placeholder of `part` is there.
    #[must_use]
    pub fn is_hole(&self, part: &str) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Large { stand_in, .. } => stand_in.skeleton.is_hole(part),
        }
    }
}
