//! Turns an MCP result into text.
//!
//! The text consists of the text blocks, separated by newlines. Content that a model cannot read is
//! replaced by a line that names it. `structuredContent` is shown unless the text blocks contain
//! the same value. The result stays in memory or in a draft of the store, and its text is decoded
//! while it is read.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillgate_agent::Given;
use spillgate_artifact::{ByteSource, TextPart};
use spillgate_gateway::{Base64, Place, is_twin};
use spillgate_mcp::{messages, object, object_in, span_in};
use spillgate_store::{Draft, Part};
use spillgate_text::{clip, decode_json_string};
use spillgate_transport::{Frame, Spooled};
use spillgate_untrusted::line;

use super::body::{Piece, ResultBody};

/// Maximum length of a name, URI or MIME type in a line, in characters. A truncated URI is useless,
/// so the limit is generous.
const LONGEST_NAME: usize = 1000;

/// Maximum length, as JSON and in bytes, of a name that is shown. A longer name is left out,
/// whether the result is in memory or in the store.
const LONGEST_NAMED: usize = 4000;

/// Number of bytes that are examined at a time.
const BLOCK: u64 = 256 << 10;

/// The text for an invalid answer.
const NO_ANSWER: &str = "The server's answer is no answer of MCP.";

/// A result. Its values are JSON as the server spelled it.
#[derive(Deserialize)]
struct ToolResult<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "isError")]
    is_error: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "resultType")]
    kind: Option<&'a RawValue>,
}

/// A content block, or the resource in one.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    blob: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "mimeType")]
    mime: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    size: Option<&'a RawValue>,
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
}

/// An answer that contains an error.
#[derive(Deserialize)]
struct ErrorResponse<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// The members of `data` in the gateway's own errors.
#[derive(Deserialize)]
struct GatewayErrorData<'a> {
    #[serde(borrow, default)]
    fault: Option<&'a RawValue>,
}

/// Converts an answer to `tools/call`. It may read files, so it may block.
pub(crate) fn of_answer(frame: Frame) -> Given {
    let read = match frame {
        Frame::Memory(frame) => of_memory(&frame),
        Frame::Spooled(spooled) if spooled.is_sound() => of_spooled(*spooled),
        Frame::Spooled(spooled) => of_opaque(*spooled),
        Frame::Pieces(_) => Ok(Given::error(NO_ANSWER)),
    };
    read.unwrap_or_else(|error| Given::error(format!("The result could not be read: {error}.")))
}

fn of_memory(frame: &Bytes) -> io::Result<Given> {
    let source: Arc<dyn ByteSource> = Arc::new(frame.clone());
    let found = ResultFrame {
        frame,
        place: Place::memory(frame),
        source: &source,
    };
    Ok(found.render()?.into_given(Arc::clone(&source), None))
}

fn of_spooled(spooled: Spooled) -> io::Result<Given> {
    let (value, stand_in) = spooled.into_value();
    let draft = value.kept.map_err(|lost| io::Error::other(lost.error))?;
    let source = draft.read(Part::Raw).map_err(io::Error::other)?;
    let frame = &stand_in.frame;
    let is_large = |json: &RawValue| span_in(frame, json.get()) == stand_in.span;
    let envelopes = messages(frame);
    let result = envelopes.iter().find_map(|one| one.result);
    let error = parsed::<ErrorResponse<'_>>(frame).and_then(|failed| failed.error);
    if !result.is_some_and(is_large) && !error.is_some_and(is_large) {
        // The large value is neither the result nor the error, so it is not needed.
        return of_memory(frame);
    }
    let found = ResultFrame {
        frame,
        place: Place::large(&stand_in),
        source: &source,
    };
    Ok(found.render()?.into_given(Arc::clone(&source), Some(draft)))
}

/// Converts an answer with so many large parts that they cannot be examined. It is passed on
/// unchanged.
fn of_opaque(spooled: Spooled) -> io::Result<Given> {
    let (value, _) = spooled.into_value();
    let draft = value.kept.map_err(|lost| io::Error::other(lost.error))?;
    let source = draft.read(Part::Raw).map_err(io::Error::other)?;
    let whole = TextPart {
        start: 0,
        end: value.bytes,
        is_string: false,
    };
    let rendered = RenderedResult {
        pieces: vec![Piece::Part(whole)],
        is_error: false,
    };
    Ok(rendered.into_given(source, Some(draft)))
}

fn parsed<'a, T: Deserialize<'a>>(frame: &'a [u8]) -> Option<T> {
    object_in(std::str::from_utf8(frame).ok()?)
}

/// A result as text for a model.
struct RenderedResult {
    pieces: Vec<Piece>,
    is_error: bool,
}

impl RenderedResult {
    fn into_given(self, source: Arc<dyn ByteSource>, draft: Option<Box<dyn Draft>>) -> Given {
        Given {
            body: Box::new(ResultBody::new(self.pieces, source, draft)),
            is_error: self.is_error,
        }
    }

    fn error(words: &str) -> Self {
        Self {
            pieces: vec![Piece::Words(words.to_owned())],
            is_error: true,
        }
    }
}

/// A frame and the positions of its large parts.
struct ResultFrame<'a> {
    frame: &'a [u8],
    place: Place<'a>,
    source: &'a Arc<dyn ByteSource>,
}

impl ResultFrame<'_> {
    fn render(&self) -> io::Result<RenderedResult> {
        let envelopes = messages(self.frame);
        if let Some(result) = envelopes.iter().find_map(|one| one.result) {
            return self.result(result);
        }
        let error = parsed::<ErrorResponse<'_>>(self.frame).and_then(|failed| failed.error);
        Ok(error.map_or_else(
            || RenderedResult::error(NO_ANSWER),
            |error| self.failure(error),
        ))
    }

    /// Renders an error of the protocol.
    fn failure(&self, error: &RawValue) -> RenderedResult {
        let Some(Failure { message, data }) = object(error) else {
            return RenderedResult::error(NO_ANSWER);
        };
        let mut pieces = Vec::new();
        match message.filter(is_string) {
            Some(message) => pieces.push(self.text(message)),
            None => pieces.push(Piece::Words(
                "The server answered with an error.".to_owned(),
            )),
        }
        // The gateway's own errors are complete without their data: the message already names the
        // server and what is wrong.
        if let Some(data) = data
            && !self.place.is_hole(data.get())
            && object::<GatewayErrorData<'_>>(data).is_none_or(|ours| ours.fault.is_none())
        {
            pieces.push(Piece::Words("\n".to_owned()));
            pieces.push(self.as_it_stands(data));
        }
        RenderedResult {
            pieces,
            is_error: true,
        }
    }

    fn result(&self, json: &RawValue) -> io::Result<RenderedResult> {
        let result: Option<ToolResult<'_>> =
            object(json).filter(|_| !self.place.is_hole(json.get()));
        let Some(result) = result else {
            // The parts of the result are unknown, so the result is passed on unchanged.
            return Ok(RenderedResult {
                pieces: vec![self.as_it_stands(json)],
                is_error: false,
            });
        };
        if result
            .kind
            .is_some_and(|kind| kind.get() == "\"input_required\"")
        {
            return Ok(RenderedResult::error(
                "The tool asks for something that nobody here can answer.",
            ));
        }
        let is_error = result.is_error.is_some_and(|flag| flag.get() == "true");
        let mut texts = self.content(result.content)?;
        if let Some(structured) = result.structured
            && structured.get() != "null"
            && !self.is_said(structured, result.content)?
        {
            texts.push(vec![self.as_it_stands(structured)]);
        }
        if texts.is_empty() && is_error {
            return Ok(RenderedResult::error(
                "The tool failed and does not say why.",
            ));
        }
        let newline = [Piece::Words("\n".to_owned())];
        Ok(RenderedResult {
            pieces: texts.join(&newline[..]),
            is_error,
        })
    }

    /// Returns the text of each block.
    fn content(&self, content: Option<&RawValue>) -> io::Result<Vec<Vec<Piece>>> {
        let Some(list) = content.filter(|list| list.get() != "null") else {
            return Ok(Vec::new());
        };
        match blocks(list).filter(|_| !self.place.is_hole(list.get())) {
            Some(blocks) => blocks.into_iter().map(|block| self.block(block)).collect(),
            None => Ok(vec![vec![self.as_it_stands(list)]]),
        }
    }

    fn block(&self, raw: &RawValue) -> io::Result<Vec<Piece>> {
        let as_it_stands = || Ok(vec![self.as_it_stands(raw)]);
        let block: Option<Block<'_>> = object(raw).filter(|_| !self.place.is_hole(raw.get()));
        let Some(block) = block else {
            return as_it_stands();
        };
        let kind = block.kind.and_then(decoded).unwrap_or_default();
        match &*kind {
            "text" => match block.text.filter(is_string) {
                Some(text) => Ok(vec![self.text(text)]),
                None => as_it_stands(),
            },
            "image" | "audio" => match block.data.filter(is_string) {
                Some(data) => Ok(vec![self.not_shown(&kind, &block, data)?]),
                None => as_it_stands(),
            },
            "resource_link" => Ok(vec![self.link(&block)]),
            "resource" => match block.resource.and_then(object::<Block<'_>>) {
                Some(resource) => match (resource.text, resource.blob) {
                    (Some(text), _) if is_string(&text) => {
                        let line = self.line("resource", &[resource.uri, resource.mime], "");
                        Ok(vec![Piece::Words(line + "\n"), self.text(text)])
                    }
                    (_, Some(blob)) if is_string(&blob) => {
                        Ok(vec![self.not_shown("resource", &resource, blob)?])
                    }
                    _ => as_it_stands(),
                },
                None => as_it_stands(),
            },
            _ => as_it_stands(),
        }
    }

    /// Returns the line for bytes that a model cannot read.
    fn not_shown(&self, kind: &str, block: &Block<'_>, data: &RawValue) -> io::Result<Piece> {
        let Range { start, end } = self.place.span(data.get());
        let (mut base64, mut at) = (Base64::default(), start + 1);
        while at + 1 < end {
            let bytes = self.source.bytes(at, (at + BLOCK).min(end - 1))?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            base64.feed(&bytes);
            at += bytes.len() as u64;
        }
        let bytes = format!("{} bytes: not shown", base64.bytes());
        let line = self.line(kind, &[block.uri, block.mime], &bytes);
        Ok(Piece::Words(line))
    }

    fn link(&self, block: &Block<'_>) -> Piece {
        let size = block.size.and_then(|size| size.get().parse::<u64>().ok());
        let size = size.map(|size| format!("{size} bytes"));
        let parts = [block.name, block.uri, block.mime];
        Piece::Words(self.line("resource link", &parts, &size.unwrap_or_default()))
    }

    /// Returns a line of the form `[kind, part, part, end]`.
    fn line(&self, kind: &str, parts: &[Option<&RawValue>], end: &str) -> String {
        let parts = parts.iter().filter_map(|part| self.words((*part)?));
        let all = std::iter::once(kind.to_owned()).chain(parts);
        let end = Some(end.to_owned()).filter(|end| !end.is_empty());
        let all: Vec<String> = all.chain(end).collect();
        format!("[{}]", all.join(", "))
    }

    /// Prepares an untrusted text for a line that we write.
    fn words(&self, string: &RawValue) -> Option<String> {
        if string.get().len() > LONGEST_NAMED || self.place.is_hole(string.get()) {
            return Some("(too long to be named)".to_owned());
        }
        let text = decoded(string).filter(|text| !text.is_empty())?;
        Some(clip(&line(&text, 2 * LONGEST_NAME), LONGEST_NAME))
    }

    /// Returns the text of a JSON string.
    fn text(&self, string: &RawValue) -> Piece {
        Piece::Part(self.inside(string))
    }

    fn inside(&self, string: &RawValue) -> TextPart {
        let Range { start, end } = self.place.span(string.get());
        TextPart {
            start: start + 1,
            end: end - 1,
            is_string: true,
        }
    }

    /// Returns JSON as the server sent it.
    fn as_it_stands(&self, json: &RawValue) -> Piece {
        let Range { start, end } = self.place.span(json.get());
        Piece::Part(TextPart {
            start,
            end,
            is_string: false,
        })
    }

    /// Returns whether the text blocks contain the same value as `structuredContent`.
    fn is_said(&self, structured: &RawValue, content: Option<&RawValue>) -> io::Result<bool> {
        let known = content.filter(|list| !self.place.is_hole(list.get()));
        let blocks = known.and_then(blocks).unwrap_or_default();
        let texts: Vec<&RawValue> = blocks.into_iter().filter_map(text_in).collect();
        let strings: Vec<Range<u64>> = texts
            .iter()
            .map(|text| self.place.span(text.get()))
            .collect();
        let parts: Vec<TextPart> = texts.iter().map(|text| self.inside(text)).collect();
        let structured = self.place.span(structured.get());
        is_twin(self.source, &structured, &strings, &parts)
    }
}

/// Returns the text of a block, or of the resource in it.
fn text_in(block: &RawValue) -> Option<&RawValue> {
    let block: Block<'_> = object(block)?;
    let resource = block.resource.and_then(object::<Block<'_>>);
    let text = block.text.or_else(|| resource?.text);
    text.filter(is_string)
}

fn blocks(list: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(list.get()).ok()
}

fn is_string(json: &&RawValue) -> bool {
    json.get().starts_with('"')
}

fn decoded(string: &RawValue) -> Option<String> {
    decode_json_string(string.get().as_bytes())
}

#[cfg(test)]
mod tests;
