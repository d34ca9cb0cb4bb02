//! What is in a result, and where in its bytes?

use std::convert::Infallible;
use std::ops::Range;

use serde_json::value::RawValue;
use spillgate_artifact::TextPart;
use spillgate_offload::Limits;
use spillgate_view::decode_json_string;

use crate::binary;
use crate::blocks::{Block, Form, Kind};
use crate::canonical::{self, Canonical};
use crate::duplicate_text::Twin;
use crate::place::Place;
use crate::shows::Shows;
use spillgate_mcp::ObjectView;

/// Bytes of links and of blocks that nobody knows that stay beside a preview;
/// more of them count as text. Some thirty links.
pub(crate) const MOST_OTHERS: u64 = 4000;

/// A result, its parts still as they were sent.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) form: Form,
    /// What its parts are slices of.
    pub(crate) place: Place<'a>,
    /// `Some` even for `null`: whatever is there is in the place of a list.
    pub(crate) list: Option<&'a RawValue>,
    pub(crate) blocks: Vec<Block<'a>>,
    pub(crate) structured: Option<&'a RawValue>,
    // As it came, for a sloppy flag must not let a large result pass.
    pub(crate) is_error: Option<&'a RawValue>,
    pub(crate) meta: Option<&'a RawValue>,
    /// Since 2026-07-28.
    result_type: Option<&'a RawValue>,
    /// Blocks, or other members, so many that not even a skeleton has them: they
    /// are text as they stand.
    crowd: Option<&'a RawValue>,
}

/// Where in a result its text lies.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The texts of its blocks.
    texts: Vec<TextPart>,
    structured: Option<TextPart>,
    /// Links and unknown blocks, where they count.
    others: Vec<TextPart>,
    twin: Twin,
}

impl Parts {
    /// What is stored as the text of the result: each value once.
    pub(crate) fn stored(&self) -> Vec<TextPart> {
        let mut parts = match &self.twin {
            Twin::List(list) => vec![as_it_stands(list)],
            Twin::No | Twin::Text => self.texts.clone(),
        };
        parts.extend(self.structured.filter(|_| self.twin == Twin::No));
        parts.extend(&self.others);
        parts
    }

    /// The texts of which a client shows one; `None` if there is only one.
    pub(crate) fn shown(&self, shows: Shows) -> Option<Vec<Vec<TextPart>>> {
        let structured = vec![self.structured.filter(|_| !self.texts.is_empty())?];
        Some(match shows {
            Shows::Structured => vec![structured],
            Shows::Either => vec![[&*self.texts, &*self.others].concat(), structured],
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
    /// What is in a result that is in memory.
    pub(crate) fn parse(form: Form, json: &'a str) -> Option<Self> {
        let place = Place::Memory(json.as_bytes());
        Some(Self::of(form, &ObjectView::of_text(json)?, None, place))
    }

    /// What is in a result that lies in `place`.
    pub(crate) fn parse_in(form: Form, raw: &'a RawValue, place: Place<'a>) -> Option<Self> {
        let hole = Some(raw).filter(|raw| place.is_hole(raw.get()));
        Some(Self::of(form, &ObjectView::of(raw)?, hole, place))
    }

    /// `hole` is the result, where nothing else of it is there.
    fn of(
        form: Form,
        members: &ObjectView<'a>,
        hole: Option<&'a RawValue>,
        place: Place<'a>,
    ) -> Self {
        let list = members.get(form.list());
        let lists = list.filter(|list| list.get().starts_with('['));
        let crowd = hole.or(lists.filter(|list| place.is_hole(list.get())));
        let elements: Vec<&RawValue> = list
            .filter(|_| crowd.is_none())
            .and_then(|list| serde_json::from_str(list.get()).ok())
            .unwrap_or_default();
        let of_call = |name| members.get(name).filter(|_| form == Form::Call);
        Self {
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
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        self.is_error.is_some_and(|flag| flag.get() == "true")
    }

    /// Whether it asks the client for more: nobody may touch that.
    pub(crate) fn asks(&self) -> bool {
        self.result_type
            .is_some_and(|kind| kind.get() == "\"input_required\"")
    }

    /// The places in the list of the binary blocks that do not fit.
    pub(crate) fn bulky(&self, limits: &Limits) -> Vec<usize> {
        binary::bulky(&self.blocks, limits)
    }

    fn bytes(&self, part: &RawValue) -> u64 {
        self.place.bytes(part.get())
    }

    /// No text that a client shows is longer than so many bytes: what is on the
    /// wire is never shorter than what it decodes to.
    pub(crate) fn wire_bytes(&self, shows: Shows) -> u64 {
        let texts = self.texts().map(|(json, _)| json);
        let content: u64 = texts
            .chain(self.counted_others())
            .map(|json| self.bytes(json))
            .sum();
        let structured = self.structured.map(|json| self.bytes(json));
        match (shows, structured) {
            (_, Some(structured)) if content == 0 => structured,
            (Shows::Structured, Some(structured)) => structured,
            (Shows::Either, Some(structured)) => content.max(structured),
            (_, None) => content,
        }
    }

    /// The texts of blocks, each as JSON, and whether that is a string. Of
    /// documents the names count, too, where they are many or long.
    fn texts(&self) -> impl Iterator<Item = (&'a RawValue, bool)> {
        let named = |block: &&Block<'a>| matches!(block.kind, Kind::Document(_));
        let around = |block: &Block<'a>| {
            let text = block.text().map_or(0, |text| self.bytes(text));
            self.bytes(block.raw) - text
        };
        let names: u64 = self.blocks.iter().filter(named).map(around).sum();
        let texts = self.blocks.iter().filter_map(move |block| {
            let text = block.text()?;
            Some(match block.kind {
                Kind::Document(_) if names > MOST_OTHERS => (block.raw, false),
                _ => (text, true),
            })
        });
        texts.chain(self.crowd.map(|crowd| (crowd, false)))
    }

    /// Links and unknown blocks, where they are so many that they count.
    fn counted_others(&self) -> impl Iterator<Item = &'a RawValue> {
        let others = || {
            let of_kind = |block: &&Block<'a>| matches!(block.kind, Kind::Other);
            self.blocks.iter().filter(of_kind).map(|block| block.raw)
        };
        let bytes: u64 = others().map(|raw| self.bytes(raw)).sum();
        others().filter(move |_| bytes > MOST_OTHERS)
    }

    /// Where in the result its text lies. `twin` is asked whether
    /// `structuredContent` says the same again, with where that lies, the strings
    /// of the blocks, with their quotes, and their text.
    pub(crate) fn parts<E>(
        &self,
        twin: impl FnOnce(&Range<u64>, &[Range<u64>], &[TextPart]) -> Result<Twin, E>,
    ) -> Result<Parts, E> {
        let part = |(json, is_string): (&RawValue, bool)| {
            let Range { start, end } = self.place.span(json.get());
            let quote = u64::from(is_string);
            TextPart {
                start: start + quote,
                end: end - quote,
                is_string,
            }
        };
        let mut parts = Parts {
            texts: self.texts().map(part).collect(),
            structured: None,
            others: self
                .counted_others()
                .map(|raw| part((raw, false)))
                .collect(),
            twin: Twin::No,
        };
        if let Some(structured) = self.structured {
            let strings = self.blocks.iter().filter_map(Block::text);
            let strings: Vec<_> = strings.map(|text| self.place.span(text.get())).collect();
            let span = self.place.span(structured.get());
            parts.structured = Some(as_it_stands(&span));
            parts.twin = twin(&span, &strings, &parts.texts)?;
        }
        Ok(parts)
    }

    /// Where the text lies of a result that is in memory as `whole`.
    pub(crate) fn parts_of(&self, whole: &[u8]) -> Parts {
        let twin = |_: &Range<u64>, _: &[Range<u64>], parts: &[TextPart]| {
            let texts: Vec<String> = parts.iter().map(|part| decoded(whole, part)).collect();
            let structured = self.structured;
            Ok(structured.map_or(Twin::No, |value| self.twin(value, &texts)))
        };
        let parts = self.parts::<Infallible>(twin);
        parts.unwrap_or_else(|never| match never {})
    }

    /// Whether `structuredContent` only repeats the text: as a string in it
    /// (server-filesystem), because the text is the same JSON (as the SDKs do) or
    /// that of the one member (`FastMCP`), or because the texts are the elements of
    /// the list that is the one member (Python SDK 1.30).
    fn twin(&self, structured: &RawValue, texts: &[String]) -> Twin {
        if texts.is_empty() {
            return Twin::No;
        }
        let members = ObjectView::of(structured);
        let members: Vec<_> = members.iter().flat_map(ObjectView::iter).collect();
        let only = match &*members {
            [(_, only)] => Some(*only),
            _ => None,
        };
        if let [text] = texts {
            let text = Some(text.trim_ascii_start()).filter(|text| text.starts_with(['{', '[']));
            let text = text.map(|text| Canonical::of(text.as_bytes()));
            let same = |json: &RawValue| text == Some(Canonical::of(json.get().as_bytes()));
            let mut strings = self.blocks.iter().filter_map(Block::text);
            let is_member = |string: &RawValue| {
                let rest: usize = members.iter().map(|(_, value)| value.get().len()).sum();
                let found = members.iter().any(|(_, value)| value.get() == string.get());
                found && rest < string.get().len() * 2
            };
            if same(structured) || only.is_some_and(same) || strings.any(is_member) {
                return Twin::Text;
            }
        } else if self.are_in_order(structured) {
            return Twin::Text;
        }
        let is_list = |list: &&RawValue| {
            let list = list.get().as_bytes();
            list.starts_with(b"[") && canonical::of_list(texts) == Canonical::of(list)
        };
        match only.filter(is_list) {
            Some(list) => Twin::List(self.place.span(list.get())),
            None => Twin::No,
        }
    }

    /// Whether each text stands in `structured` as a string, one behind the other.
    fn are_in_order(&self, structured: &RawValue) -> bool {
        let mut rest = structured.get();
        let mut strings = self.blocks.iter().filter_map(Block::text);
        strings.all(|string| {
            let after = rest.find(string.get()).map(|at| at + string.get().len());
            rest = after.map_or("", |after| &rest[after..]);
            after.is_some()
        })
    }
}

/// The text of parts of a result that is in memory as `whole`.
pub(crate) fn text_of(whole: &[u8], parts: &[TextPart]) -> String {
    let texts: Vec<String> = parts.iter().map(|part| decoded(whole, part)).collect();
    texts.join("\n")
}

/// The text of a part.
fn decoded(whole: &[u8], part: &TextPart) -> String {
    let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
    let quote = usize::from(part.is_string);
    let json = &whole[at(part.start) - quote..at(part.end) + quote];
    match part.is_string {
        true => decode_json_string(json).unwrap_or_default(),
        false => String::from_utf8_lossy(json).into_owned(),
    }
}
