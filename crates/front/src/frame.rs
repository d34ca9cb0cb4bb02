//! What does a response take from a frame?
//!
//! The only place that knows how a frame is kept.

use bytes::Bytes;
use spillgate_wire::Frame;

use crate::sse;

/// As much of it as its envelope needs.
pub(crate) fn head(frame: &Frame) -> &[u8] {
    match frame {
        Frame::Memory(bytes) => bytes,
        Frame::Spooled(spooled) => spooled.stand_in(),
        Frame::Pieces(_) => &[],
    }
}

/// All of it, without the line end of the standard streams.
pub(crate) fn whole(frame: &Frame) -> Bytes {
    sse::bare(&frame.in_memory().cloned().unwrap_or_default())
}
