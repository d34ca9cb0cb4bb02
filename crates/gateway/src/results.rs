//! What is in a tool's result, and where in its bytes?

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use spillgate_artifact::TextPart;
use spillgate_view::{JsonLayout, ViewSink, decode_json_string};

use spillgate_wire::{object, span_in};

/// A `CallToolResult`, its parts still as they were sent.
#[derive(Debug, Deserialize)]
pub(crate) struct CallResult<'a> {
    /// `Some` even for `null`: whatever is there is in the place of a list.
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    pub(crate) structured: Option<&'a RawValue>,
    // As it came, for a sloppy flag must not let a large result pass.
    #[serde(borrow, default, rename = "isError")]
    pub(crate) is_error: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// A block of a result's content.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// The whole block.
    pub(crate) raw: &'a RawValue,
    /// The JSON string that is its text, for a text block.
    pub(crate) text: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// The text of a result, decoded, and where it was found.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) parts: Vec<TextPart>,
}

impl<'a> CallResult<'a> {
    pub(crate) fn parse(raw: &'a RawValue) -> Option<Self> {
        object(raw)
    }

    pub(crate) fn is_error(&self) -> bool {
        self.is_error.is_some_and(|flag| flag.get() == "true")
    }

    pub(crate) fn blocks(&self) -> Vec<Block<'a>> {
        let raw: Vec<&RawValue> = self
            .content
            .and_then(|content| serde_json::from_str(content.get()).ok())
            .unwrap_or_default();
        let block = |raw: &'a RawValue| {
            let parsed: Option<TextBlock<'a>> = object(raw);
            let text = parsed
                .filter(|block| block.kind == "text")
                .and_then(|b| b.text);
            Block {
                raw,
                text: text.filter(|text| text.get().starts_with('"')),
            }
        };
        raw.into_iter().map(block).collect()
    }

    /// No text of the result is longer than so many bytes: what is on the wire
    /// is never shorter than what it decodes to.
    pub(crate) fn wire_bytes(&self, blocks: &[Block<'_>]) -> u64 {
        let texts = blocks.iter().filter_map(|block| block.text);
        let of_texts: usize = texts.map(|text| text.get().len()).sum();
        let of_structured = self.structured.map_or(0, |value| value.get().len());
        (of_texts + of_structured) as u64
    }

    /// All text of the result: its text blocks and, unless it says the same
    /// again, `structuredContent`. Positions are in the bytes `whole`.
    pub(crate) fn text(&self, whole: &[u8], blocks: &[Block<'_>]) -> Text {
        let mut texts = Vec::new();
        let mut parts = Vec::new();
        for string in blocks.iter().filter_map(|block| block.text) {
            let span = span_in(whole, string.get());
            // Without its quotes.
            let (start, end) = (span.start + 1, span.end - 1);
            let Some(text) = decode_json_string(&whole[span.clone()]) else {
                continue;
            };
            texts.push(text);
            parts.push(TextPart {
                start: start as u64,
                end: end as u64,
                is_string: true,
            });
        }
        let structured = self.structured;
        if let Some(value) = structured.filter(|value| !is_twin(value, blocks, &texts)) {
            let span = span_in(whole, value.get());
            texts.push(value.get().to_owned());
            parts.push(TextPart {
                start: span.start as u64,
                end: span.end as u64,
                is_string: false,
            });
        }
        Text {
            text: texts.join("\n"),
            parts,
        }
    }
}

/// Whether `structuredContent` only repeats the text: as a string in it
/// (server-filesystem), or because the text is the same JSON (as the SDKs do).
fn is_twin(structured: &RawValue, blocks: &[Block<'_>], texts: &[String]) -> bool {
    let members: std::collections::HashMap<String, &RawValue> =
        serde_json::from_str(structured.get()).unwrap_or_default();
    let mut strings = blocks.iter().filter_map(|block| block.text);
    let [text] = texts else {
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
    strings.any(is_member) || same_json(text, structured.get())
}

/// Whether two texts are the same JSON but for white space between tokens.
fn same_json(one: &str, other: &str) -> bool {
    if !one.trim_start().starts_with(['{', '[']) || one.len() > other.len() * 4 {
        return false;
    }
    let one = laid_out(one);
    one.is_some() && one == laid_out(other)
}

/// The text in one layout; `None` if that grows out of proportion, as it does
/// with the square of deep nesting: two hostile texts shall not fill the memory.
fn laid_out(json: &str) -> Option<Vec<u8>> {
    /// Laid-out JSON is some two to four times its text.
    const MOST_GROWTH: usize = 8;

    struct Bounded(Vec<u8>, usize);

    impl ViewSink for Bounded {
        fn text(&mut self, bytes: &[u8]) -> std::io::Result<()> {
            if self.0.len() + bytes.len() > self.1 {
                return Err(std::io::ErrorKind::FileTooLarge.into());
            }
            self.0.text(bytes)
        }

        fn line(&mut self, _: u64) {}
    }

    let mut text = Bounded(Vec::with_capacity(json.len()), json.len() * MOST_GROWTH);
    let laid_out = JsonLayout::default().feed(json.as_bytes(), &mut text);
    laid_out.is_ok().then_some(text.0)
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
        ];
        for (one, other, same) in cases {
            assert_eq!(same_json(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn deep_nesting_is_given_up_before_it_fills_the_memory() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(laid_out(&deep), None);
        // Nobody can say that they are the same, so both are kept.
        assert!(!same_json(&deep, &deep));
    }
}
