//! Reads the parts of a frame that an HTTP response needs.
//!
//! This is the only module of the crate that knows how a frame is stored.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use spillgate_mcp::{Envelope, error_code, messages};
use spillgate_transport::{Frame, Pieces};

use crate::problem::error_frame;
use crate::sse;

/// Returns the part of the frame that contains its envelope.
pub(crate) fn head(frame: &Frame) -> &[u8] {
    match frame {
        Frame::Memory(bytes) => bytes,
        Frame::Spooled(spooled) => spooled.stand_in(),
        Frame::Pieces(_) => &[],
    }
}

/// A part of a response.
#[derive(Debug)]
pub(crate) enum Chunk {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Pieces that are read while the response is written.
    Pieces(Pieces),
}

/// Returns the whole frame. If it is in memory, removes the line end that standard streams need.
pub(crate) fn whole(frame: Frame) -> Chunk {
    if let Frame::Memory(bytes) = &frame {
        return Chunk::Bytes(sse::bare(bytes));
    }
    let envelopes = messages(head(&frame));
    let mut key = envelopes.iter().filter(|one| one.is_response());
    let key = key.find_map(Envelope::key);
    match frame.into_pieces() {
        Ok(pieces) => Chunk::Pieces(pieces),
        Err(error) => {
            tracing::warn!(%error, "a large message could not be stored; the client gets an error instead");
            let what = "the answer was too large for the memory and could not be kept on disk";
            Chunk::Bytes(error_frame(key.as_ref(), error_code::SERVER_ERROR, what).into())
        }
    }
}

/// Joins the chunks if all of them are in memory; otherwise returns them unchanged.
pub(crate) fn joined(chunks: VecDeque<Chunk>) -> Result<Bytes, VecDeque<Chunk>> {
    let bytes = chunks.iter().map(|chunk| match chunk {
        Chunk::Bytes(bytes) => Some(bytes.clone()),
        Chunk::Pieces(_) => None,
    });
    let bytes: Option<Vec<Bytes>> = bytes.collect();
    match bytes {
        Some(bytes) => Ok(bytes.into_iter().flatten().collect()),
        None => Err(chunks),
    }
}

/// Returns the next bytes of the chunks; `None` after the last chunk.
pub(crate) async fn next(chunks: &mut VecDeque<Chunk>) -> io::Result<Option<Bytes>> {
    while let Some(chunk) = chunks.pop_front() {
        match chunk {
            Chunk::Bytes(bytes) => return Ok(Some(bytes)),
            Chunk::Pieces(mut pieces) => {
                if let Some(block) = pieces.next().await? {
                    chunks.push_front(Chunk::Pieces(pieces));
                    return Ok(Some(block));
                }
            }
        }
    }
    Ok(None)
}
