//! Takes a result apart: its blocks, its structured content, and their positions in the bytes.
//!
//! A tool's result contains blocks in `content`, and a prompt contains one in each of its
//! `messages`. The content of a resource is in `contents`. Each element of it has the structure of
//! an embedded resource without its wrapper. A block is classified by what a model receives of it.
//!
//! For a result in memory, positions are positions in the bytes of the frame. For a result too large
//! for memory, they are positions in the original values, for which the skeleton contains only
//! placeholders.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;
use spillgate_artifact::{ByteSource, TextPart};
use spillgate_mcp::{ObjectView, span_in};
use spillgate_offload::Limits;
use spillgate_text::decode_json_string;
use spillgate_transport::{Filled, StandIn};

use crate::results::binary;
use crate::results::client_view::ShownPart;
use crate::results::duplicate_text::{Twin, twin};

/// Maximum size, in bytes, of the links and unknown blocks that stay beside a preview. If they take
/// more, they count as text. About thirty links fit.
pub(crate) const MOST_OTHERS: u64 = 4000;

/// A result and its parts, exactly as the server sent them.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) form: Form,
    /// The bytes of which the parts are slices.
    pub(crate) place: Place<'a>,
    /// The value of the member with the blocks, of any type; `None` if the member is missing.
    pub(crate) list: Option<&'a RawValue>,
    pub(crate) blocks: Vec<Block<'a>>,
    pub(crate) structured: Option<&'a RawValue>,
    /// Whether `structuredContent` stays whole for a program.
    pub(crate) keeps_structured: bool,
    // The exact value, because a malformed flag must not let a large result pass.
    pub(crate) is_error: Option<&'a RawValue>,
    pub(crate) meta: Option<&'a RawValue>,
    /// The `resultType`, which exists since 2026-07-28.
    result_type: Option<&'a RawValue>,
    /// The JSON of a list of blocks, or of a whole result, with so many members that even the
    /// skeleton does not contain them. It counts as text.
    crowd: Option<&'a str>,
}

/// The positions of the text in a result.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The texts of the blocks.
    texts: Vec<TextPart>,
    structured: Option<TextPart>,
    /// Links and unknown blocks, if they count as text.
    others: Vec<TextPart>,
    twin: Twin,
}

impl Parts {
    /// Returns the parts that are stored as the text of the result. A repeated text is included
    /// only once.
    pub(crate) fn stored(&self) -> Vec<TextPart> {
        let mut parts = match &self.twin {
            Twin::List(list) => vec![as_it_stands(list)],
            Twin::No | Twin::Text => self.texts.clone(),
        };
        parts.extend(self.structured.filter(|_| self.twin == Twin::No));
        parts.extend(&self.others);
        parts
    }

    /// Returns the alternative texts, of which a client shows one; `None` if there is only one
    /// text.
    pub(crate) fn shown(&self, shown_part: ShownPart) -> Option<Vec<Vec<TextPart>>> {
        let structured = vec![self.structured.filter(|_| !self.texts.is_empty())?];
        Some(match shown_part {
            ShownPart::Structured => vec![structured],
            ShownPart::Text => vec![[&*self.texts, &*self.others].concat()],
            ShownPart::Either => vec![[&*self.texts, &*self.others].concat(), structured],
        })
    }
}

fn as_it_stands(span: &Range<u64>) -> TextPart {
    TextPart {
        start: span.start,
        end: span.end,
        is_string: false,
    }
}

impl<'a> Found<'a> {
    /// Parses a result whose parts are slices of `place`; `None` if it is not an object.
    pub(crate) fn parse(form: Form, json: &'a str, place: Place<'a>) -> Option<Self> {
        let members = ObjectView::of_text(json)?;
        let list = members.get(form.list());
        let lists = list.map(RawValue::get).filter(|list| list.starts_with('['));
        let hole = Some(json).filter(|json| place.is_hole(json));
        let crowd = hole.or(lists.filter(|list| place.is_hole(list)));
        let elements: Vec<&RawValue> = list
            .filter(|_| crowd.is_none())
            .and_then(|list| serde_json::from_str(list.get()).ok())
            .unwrap_or_default();
        let of_call = |name| members.get(name).filter(|_| form == Form::Call);
        Some(Self {
            form,
            place,
            list,
            blocks: elements
                .into_iter()
                .map(|raw| Block::new(form, raw))
                .collect(),
            structured: of_call("structuredContent"),
            keeps_structured: false,
            is_error: of_call("isError"),
            meta: members.get("_meta"),
            result_type: members.get("resultType"),
            crowd,
        })
    }

    /// Returns `structuredContent` if the preview replaces it.
    pub(crate) fn replaced_structured(&self) -> Option<&'a RawValue> {
        let stays = |raw: &&RawValue| self.keeps_structured && !self.place.is_lost(raw.get());
        self.structured.filter(|raw| !stays(raw))
    }

    pub(crate) fn is_error(&self) -> bool {
        self.is_error.is_some_and(|flag| flag.get() == "true")
    }

    /// Whether the result requests input from the client. Such a result must not be changed.
    pub(crate) fn asks(&self) -> bool {
        self.result_type
            .is_some_and(|kind| kind.get() == "\"input_required\"")
    }

    /// Returns the indexes of the binary blocks that exceed their limits.
    pub(crate) fn bulky(&self, limits: &Limits) -> Vec<usize> {
        binary::bulky(&self.blocks, limits)
    }

    /// Returns an upper bound, in bytes, for the texts that a client shows. It is the encoded
    /// length, which is never below the decoded length.
    pub(crate) fn wire_bytes(&self, shown_part: ShownPart) -> u64 {
        let texts = self.texts().map(|(json, _)| json);
        let content: u64 = texts
            .chain(self.counted_others())
            .map(|json| self.place.bytes(json))
            .sum();
        let structured = self.structured.map(|json| self.place.bytes(json.get()));
        match (shown_part, structured) {
            (_, Some(structured)) if content == 0 => structured,
            (ShownPart::Structured, Some(structured)) => structured,
            (ShownPart::Either, Some(structured)) => content.max(structured),
            (ShownPart::Text, Some(_)) | (_, None) => content,
        }
    }

    /// Returns the texts of the blocks as JSON, and for each whether it is a string. If the members
    /// around the texts of documents (URIs, annotations) exceed [`MOST_OTHERS`] together, each
    /// whole document counts as text.
    fn texts(&self) -> impl Iterator<Item = (&'a str, bool)> {
        let named = |block: &&Block<'a>| matches!(block.kind, Kind::Document(_));
        let around = |block: &Block<'a>| {
            let text = block.text().map_or(0, |text| self.place.bytes(text.get()));
            self.place.bytes(block.raw.get()) - text
        };
        let names: u64 = self.blocks.iter().filter(named).map(around).sum();
        let texts = self.blocks.iter().filter_map(move |block| {
            let text = block.text()?;
            Some(match block.kind {
                Kind::Document(_) if names > MOST_OTHERS => (block.raw.get(), false),
                _ => (text.get(), true),
            })
        });
        texts.chain(self.crowd.map(|crowd| (crowd, false)))
    }

    /// Returns the links and unknown blocks if they are large enough to count as text.
    fn counted_others(&self) -> impl Iterator<Item = &'a str> {
        let others = || {
            let of_kind = |block: &&Block<'a>| matches!(block.kind, Kind::Other);
            let others = self.blocks.iter().filter(of_kind);
            others.map(|block| block.raw.get())
        };
        let bytes: u64 = others().map(|raw| self.place.bytes(raw)).sum();
        others().filter(move |_| bytes > MOST_OTHERS)
    }

    /// Determines the positions of the text in the result. `source` contains the bytes of the
    /// result; `None` if they are lost.
    pub(crate) fn parts(&self, source: Option<&Arc<dyn ByteSource>>) -> io::Result<Parts> {
        let part = |(json, is_string): (&str, bool)| {
            let Range { start, end } = self.place.span(json);
            let quote = u64::from(is_string);
            TextPart {
                start: start + quote,
                end: end - quote,
                is_string,
            }
        };
        let others = self.counted_others().map(|raw| part((raw, false)));
        let mut parts = Parts {
            texts: self.texts().map(part).collect(),
            structured: None,
            others: others.collect(),
            twin: Twin::No,
        };
        if let Some(structured) = self.structured {
            let strings = self.blocks.iter().filter_map(Block::text);
            let strings: Vec<_> = strings.map(|text| self.place.span(text.get())).collect();
            let span = self.place.span(structured.get());
            parts.structured = Some(as_it_stands(&span));
            parts.twin = match source {
                Some(source) => twin(source, &span, &strings, &parts.texts)?,
                None => Twin::Text, // lost bytes cannot be compared
            };
        }
        Ok(parts)
    }
}

/// The kind of a result. It determines where the blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The result of `tools/call`, or of a task for such a call.
    Call,
    /// The result of `prompts/get`.
    Prompt,
    /// The result of `resources/read`.
    Read,
}

impl Form {
    /// Returns the member that contains the list of blocks.
    pub(crate) fn list(self) -> &'static str {
        match self {
            Self::Call => "content",
            Self::Prompt => "messages",
            Self::Read => "contents",
        }
    }
}

/// An element of the list of blocks.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// The whole element.
    pub(crate) raw: &'a RawValue,
    /// The block in the element: the element itself, or the `content` of a message.
    pub(crate) inner: &'a RawValue,
    pub(crate) kind: Kind<'a>,
}

/// What a model receives of a block.
#[derive(Debug)]
pub(crate) enum Kind<'a> {
    /// Text, as a JSON string.
    Text(&'a RawValue),
    /// The text of a resource, which has its own URI.
    Document(&'a RawValue),
    /// An image, audio or other bytes.
    Binary(Binary<'a>),
    /// A link, or an unknown block.
    Other,
}

/// The binary data in a block.
#[derive(Debug)]
pub(crate) struct Binary<'a> {
    /// The data in Base64, as a JSON string.
    pub(crate) data: &'a RawValue,
    /// The number of bytes.
    pub(crate) bytes: u64,
    pub(crate) mime: Option<Cow<'a, RawValue>>,
    /// The URI of the resource, if the data are a resource.
    pub(crate) uri: Option<Cow<'a, RawValue>>,
    pub(crate) is_image: bool,
    /// Whether the MIME type decides if the data are an image, as for a resource.
    pub(crate) is_told_by_mime: bool,
}

impl<'a> Block<'a> {
    pub(crate) fn new(form: Form, raw: &'a RawValue) -> Self {
        let inner = match form {
            Form::Prompt => ObjectView::of(raw).and_then(|message| message.get("content")),
            Form::Call | Form::Read => None,
        };
        let inner = inner.unwrap_or(raw);
        let members = ObjectView::of(inner);
        let kind = members.and_then(|members| match form {
            // The client requested the resource by its URI and wants to see it, so it is treated
            // like an image.
            Form::Read => resource(&members, true),
            Form::Call | Form::Prompt => block(&members),
        });
        Self {
            raw,
            inner,
            kind: kind.unwrap_or(Kind::Other),
        }
    }

    /// Returns the block's text as a JSON string; `None` if the block contains no text.
    pub(crate) fn text(&self) -> Option<&'a RawValue> {
        match self.kind {
            Kind::Text(text) | Kind::Document(text) => Some(text),
            Kind::Binary(_) | Kind::Other => None,
        }
    }

    pub(crate) fn binary(&self) -> Option<&Binary<'a>> {
        match &self.kind {
            Kind::Binary(binary) => Some(binary),
            _ => None,
        }
    }
}

fn block<'a>(members: &ObjectView<'a>) -> Option<Kind<'a>> {
    match &*members.text("type")? {
        "text" => members.string("text").map(Kind::Text),
        kind @ ("image" | "audio") => Some(Kind::Binary(Binary {
            data: members.string("data")?,
            bytes: decoded_bytes(members.string("data")?),
            mime: members.string("mimeType").map(Cow::Borrowed),
            uri: None,
            is_image: kind == "image",
            is_told_by_mime: false,
        })),
        "resource" => resource(&ObjectView::of(members.get("resource")?)?, false),
        _ => None,
    }
}

fn resource<'a>(members: &ObjectView<'a>, wanted: bool) -> Option<Kind<'a>> {
    if let Some(text) = members.string("text") {
        return Some(Kind::Document(text));
    }
    Some(Kind::Binary(Binary {
        data: members.string("blob")?,
        bytes: decoded_bytes(members.string("blob")?),
        mime: members.string("mimeType").map(Cow::Borrowed),
        uri: members.string("uri").map(Cow::Borrowed),
        is_image: wanted || members.string("mimeType").is_some_and(is_image),
        is_told_by_mime: true,
    }))
}

/// Whether this MIME type, a JSON string, is the type of an image.
pub(crate) fn is_image(mime: &RawValue) -> bool {
    let mime = decode_json_string(mime.get().as_bytes());
    mime.is_some_and(|mime| mime.to_ascii_lowercase().starts_with("image/"))
}

fn decoded_bytes(data: &RawValue) -> u64 {
    let quoted = data.get().as_bytes();
    let mut base64 = Base64::default();
    base64.feed(&quoted[1..quoted.len() - 1]);
    base64.bytes()
}

/// Counts the bytes of Base64 that arrives in blocks of any size.
#[derive(Debug, Default)]
pub struct Base64 {
    digits: u64,
    /// Number of `=` at the end of the Base64 so far, which may be padding.
    padding: u64,
}

impl Base64 {
    /// Counts the contents of a JSON string. An escape counts as the character that it represents.
    /// Invalid Base64 is counted as if it were valid.
    pub fn feed(&mut self, inside: &[u8]) {
        let escapes = memchr::memchr_iter(b'\\', inside).count();
        let padding = inside.iter().rev().take_while(|&&byte| byte == b'=');
        let padding = padding.count();
        self.padding = match padding == inside.len() {
            true => self.padding + padding as u64,
            false => padding as u64,
        };
        self.digits += (inside.len() - escapes) as u64;
    }

    /// Returns the number of bytes to which the Base64 decodes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.digits - self.padding) * 3 / 4
    }
}

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

#[cfg(test)]
mod tests;
