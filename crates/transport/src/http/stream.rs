//! Reads the messages in an HTTP response, which is either an event stream or a single body.

use bytes::{Buf, Bytes};
use reqwest::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use reqwest::{Response, Version};

use super::call::{broken, cut_off};
use super::events::{Decoder, Piece, Tags};
use crate::{ConnectionError, Frame, FrameReader, Taking, TooLong};

/// A server-sent event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) tags: Tags,
    /// The event's data, if any.
    pub(crate) frame: Option<Frame>,
}

/// The events of a response. Data are passed to the frame reader as they arrive.
#[derive(Debug)]
pub(crate) struct Events {
    response: Response,
    chunk: Bytes,
    decoder: Decoder,
    frame_reader: FrameReader,
    taking: Option<Taking>,
}

impl Events {
    pub(crate) fn new(response: Response, frame_reader: FrameReader) -> Self {
        Self {
            response,
            chunk: Bytes::new(),
            decoder: Decoder::default(),
            frame_reader,
            taking: None,
        }
    }

    /// Returns the next event that is not empty; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, ConnectionError> {
        loop {
            let mut rest = &self.chunk[..];
            while let Some(piece) = self.decoder.next(&mut rest) {
                match piece {
                    Piece::Data(bytes) => {
                        let frame_reader = &self.frame_reader;
                        let taking = self.taking.get_or_insert_with(|| frame_reader.begin());
                        taking.feed(bytes).await.map_err(too_long)?;
                    }
                    Piece::End(tags) => {
                        let used = self.chunk.len() - rest.len();
                        self.chunk.advance(used);
                        if let Some(event) = finish(self.taking.take(), tags).await {
                            return Ok(Some(event));
                        }
                        rest = &self.chunk[..];
                    }
                }
            }
            self.chunk = match self.response.chunk().await {
                Ok(Some(chunk)) => chunk,
                // An incomplete event at the end of the stream is discarded.
                Ok(None) => return Ok(None),
                Err(error) => return Err(broken(error)),
            };
        }
    }
}

fn too_long(error: TooLong) -> ConnectionError {
    ConnectionError::TooLong(error)
}

async fn finish(taking: Option<Taking>, tags: Tags) -> Option<Event> {
    let Some(taking) = taking else {
        return (tags != Tags::default()).then_some(Event { tags, frame: None });
    };
    let frame = Some(taking.finish().await);
    Some(Event { tags, frame })
}

/// Reads a body that consists of one message.
pub(crate) async fn whole(
    mut response: Response,
    frame_reader: &FrameReader,
) -> Result<Frame, ConnectionError> {
    let ends_untold = ends_untold(&response);
    let mut taking = frame_reader.begin();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        taking.feed(&chunk).await.map_err(too_long)?;
    }
    let frame = taking.finish().await;
    match ends_untold && !frame.is_whole() {
        true => Err(cut_off("the connection was closed")),
        false => Ok(frame),
    }
}

/// Whether the end of the body is marked only by the closing of the connection. A truncated body
/// then looks complete.
fn ends_untold(response: &Response) -> bool {
    let headers = response.headers();
    let is_told = headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
    response.version() < Version::HTTP_2 && !is_told
}
