//! What is in a result, and where in its bytes?

use std::convert::Infallible;
use std::ops::Range;

use memchr::memchr2;
use serde_json::value::RawValue;
use spillgate_artifact::TextPart;
use spillgate_offload::Limits;
use spillgate_view::decode_json_string;

use crate::binary;
use crate::blocks::{Block, Form, Kind};
use crate::members::Members;
use crate::place::Place;

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

/// The text of a result, decoded, and where it was found.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) parts: Vec<TextPart>,
}

impl<'a> Found<'a> {
    /// What is in a result that is in memory.
    pub(crate) fn parse(form: Form, json: &'a str) -> Option<Self> {
        let place = Place::Memory(json.as_bytes());
        Some(Self::of(form, &Members::of_text(json)?, None, place))
    }

    /// What is in a result that lies in `place`.
    pub(crate) fn parse_in(form: Form, raw: &'a RawValue, place: Place<'a>) -> Option<Self> {
        let hole = Some(raw).filter(|raw| place.is_hole(raw.get()));
        Some(Self::of(form, &Members::of(raw)?, hole, place))
    }

    /// `hole` is the result, where nothing else of it is there.
    fn of(form: Form, members: &Members<'a>, hole: Option<&'a RawValue>, place: Place<'a>) -> Self {
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

    /// No text of the result is longer than so many bytes: what is on the wire
    /// is never shorter than what it decodes to.
    pub(crate) fn wire_bytes(&self) -> u64 {
        let texts = self.texts().map(|(json, _)| json);
        let others = self.structured.into_iter().chain(self.counted_others());
        texts.chain(others).map(|json| self.bytes(json)).sum()
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

    /// Where in the result its text lies: that of its blocks and, unless it says
    /// the same again, `structuredContent`. `is_twin` is asked for that, with
    /// where `structuredContent` lies, the strings of the blocks, with their
    /// quotes, and the text so far.
    pub(crate) fn parts<E>(
        &self,
        is_twin: impl FnOnce(&Range<u64>, &[Range<u64>], &[TextPart]) -> Result<bool, E>,
    ) -> Result<Vec<TextPart>, E> {
        let part = |(json, is_string): (&RawValue, bool)| {
            let Range { start, end } = self.place.span(json.get());
            let quote = u64::from(is_string);
            TextPart {
                start: start + quote,
                end: end - quote,
                is_string,
            }
        };
        let mut parts: Vec<TextPart> = self.texts().map(part).collect();
        if let Some(structured) = self.structured {
            let strings = self.blocks.iter().filter_map(Block::text);
            let strings: Vec<_> = strings.map(|text| self.place.span(text.get())).collect();
            let span = self.place.span(structured.get());
            if !is_twin(&span, &strings, &parts)? {
                parts.push(part((structured, false)));
            }
        }
        parts.extend(self.counted_others().map(|raw| part((raw, false))));
        Ok(parts)
    }

    /// All text of a result that is in memory as `whole`.
    pub(crate) fn text(&self, whole: &[u8]) -> Text {
        let decoded = |part: &TextPart| decoded(whole, part);
        let mut texts: Vec<String> = Vec::new();
        let is_twin = |_: &Range<u64>, _: &[Range<u64>], parts: &[TextPart]| {
            texts.extend(parts.iter().map(decoded));
            let structured = self.structured;
            Ok(structured.is_some_and(|value| is_twin(value, &self.blocks, &texts)))
        };
        let parts = self.parts::<Infallible>(is_twin);
        let parts = parts.unwrap_or_else(|never| match never {});
        let rest = texts.len();
        texts.extend(parts[rest..].iter().map(decoded));
        Text {
            text: texts.join("\n"),
            parts,
        }
    }
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

/// Whether `structuredContent` only repeats the text: as a string in it
/// (server-filesystem), or because the text is the same JSON (as the SDKs do).
fn is_twin(structured: &RawValue, blocks: &[Block<'_>], texts: &[String]) -> bool {
    if let [text] = texts
        && same_json(text, structured.get())
    {
        return true;
    }
    let members: std::collections::HashMap<String, &RawValue> =
        serde_json::from_str(structured.get()).unwrap_or_default();
    let mut strings = blocks.iter().filter_map(Block::text);
    let [_] = texts else {
        // Many blocks: each of them a string of it, in the same order?
        let mut rest = structured.get();
        let is_next = |string: &RawValue| {
            let after = rest.find(string.get()).map(|at| at + string.get().len());
            rest = after.map_or("", |after| &rest[after..]);
            after.is_some()
        };
        return !texts.is_empty() && strings.all(is_next);
    };
    let is_member = |string: &RawValue| {
        let rest: usize = members.values().map(|value| value.get().len()).sum();
        let found = members.values().any(|value| value.get() == string.get());
        found && rest < string.get().len() * 2
    };
    strings.any(is_member)
}

/// Whether a text is the same JSON as another but for white space between tokens.
fn same_json(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (next_token(one.as_bytes()), next_token(other.as_bytes()));
    if !matches!(one.first(), Some(b'{' | b'[')) {
        return false;
    }
    while let Some(byte) = one.first() {
        let same = match byte {
            b'"' => string_length(one),
            _ => 1,
        };
        if other.get(..same) != Some(&one[..same]) {
            return false;
        }
        (one, other) = (next_token(&one[same..]), next_token(&other[same..]));
    }
    other.is_empty()
}

/// What follows the white space that `json` begins with.
fn next_token(mut json: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = json {
        json = rest;
    }
    json
}

/// The bytes of the string that `json` begins with, quotes included; all of them
/// if it does not end.
fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2; // with what is escaped
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_json_in_another_layout() {
        let cases = [
            ("{\"a\": [1, 2]}", "{\"a\":[1,2]}", true),
            ("{\"a\": [1, 2]}", "{\"a\":[1,3]}", false),
            ("plain text", "{\"a\":1}", false),
            ("[not json", "{\"a\":1}", false),
            ("{\"a b\": \"\\\\\" }", "{\"a b\":\"\\\\\"}", true),
            ("{\"a b\": 1}", "{\"ab\":1}", false),
            ("{\"a\": \"\\\"\"}", "{\"a\":\"\\\" \"}", false),
            ("[1, 2", "[1,2]", false),
            ("{\"a", "{\"a\":1}", false),
            ("{\"a\\", "{\"a\":1}", false),
        ];
        for (one, other, same) in cases {
            assert_eq!(same_json(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn deep_nesting_is_compared_as_it_stands() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(same_json(&deep, &deep));
        assert!(!same_json(&deep[1..], &deep));
    }
}
