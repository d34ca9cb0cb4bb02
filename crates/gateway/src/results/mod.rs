//! Finds the parts of a result: the blocks, the structured content, and their positions in the
//! bytes.

mod asking;
pub(crate) mod binary;
pub(crate) mod canonical;
pub(crate) mod client_view;
pub(crate) mod content_block;
pub(crate) mod duplicate_text;
pub(crate) mod holes;
pub(crate) mod intercept;
pub(crate) mod place;
pub(crate) mod replacement;
pub(crate) mod spooled;
pub(crate) mod tasks;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;
use spillgate_artifact::{ByteSource, TextPart};
use spillgate_mcp::ObjectView;
use spillgate_offload::Limits;

use crate::results::client_view::ShownPart;
use crate::results::content_block::{Block, Form, Kind};
use crate::results::duplicate_text::{Twin, twin};
use crate::results::place::Place;

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
            is_error: of_call("isError"),
            meta: members.get("_meta"),
            result_type: members.get("resultType"),
            crowd,
        })
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
            (_, None) => content,
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
