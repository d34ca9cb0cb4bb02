//! The blocks of a result, classified by what a model receives of them.
//!
//! A tool's result contains blocks in `content`, and a prompt contains one in each of its
//! `messages`. The content of a resource is in `contents`. Each element of it has the structure of
//! an embedded resource without its wrapper.

use std::borrow::Cow;

use serde_json::value::RawValue;
use spillgate_text::decode_json_string;

use spillgate_mcp::ObjectView;

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

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn told(form: Form, json: &str) -> String {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        match Block::new(form, raw).kind {
            Kind::Text(text) => format!("text {text}"),
            Kind::Document(text) => format!("document {text}"),
            Kind::Binary(binary) => format!(
                "{} of {} bytes, {}, {}",
                if binary.is_image { "image" } else { "binary" },
                binary.bytes,
                binary.mime.as_deref().map_or("untyped", RawValue::get),
                binary.uri.as_deref().map_or("unnamed", RawValue::get),
            ),
            Kind::Other => "other".to_owned(),
        }
    }

    /// Returns blocks of every type, valid and invalid.
    fn every_kind() -> [(Form, &'static str); 20] {
        use Form::{Call, Prompt, Read};
        [
            (Call, r#"{"type":"text","text":"a"}"#),
            (Call, r#"{"type":"text","text":null}"#),
            (
                Call,
                r#"{"type":"im\u0061ge","data":"iVBORw0=","mimeType":"image/png"}"#,
            ),
            (Call, r#"{"type":"image","data":17}"#),
            (Call, r#"{"type":"audio","data":"AAAA"}"#),
            (Call, r#"{"type":"audio","data":"\/\/\/\/"}"#),
            (Call, r#"{"type":"audio","data":"not base64!!!"}"#),
            (
                Call,
                r#"{"type":"resource","resource":{"uri":"x:1","text":"a"}}"#,
            ),
            (
                Call,
                r#"{"type":"resource","resource":{"uri":"x:1","blob":"AAA="}}"#,
            ),
            (
                Call,
                r#"{"type":"resource","resource":{"uri":"x:1","blob":"","mimeType":"Image/GIF"}}"#,
            ),
            (Call, r#"{"type":"resource","resource":[]}"#),
            (Call, r#"{"type":"resource_link","uri":"x:1"}"#),
            (Call, r#"{"text":"a"}"#),
            (Call, "17"),
            (
                Prompt,
                r#"{"role":"user","content":{"type":"text","text":"a"}}"#,
            ),
            (Prompt, r#"{"role":"user","content":[]}"#),
            (Prompt, r#"{"role":"user"}"#),
            (Read, r#"{"uri":"x:1","text":"a"}"#),
            (Read, r#"{"uri":"x:1","blob":"AAAA"}"#),
            (Read, r#"{"uri":"x:1"}"#),
        ]
    }

    #[test]
    fn kinds() {
        let all = every_kind().map(|(form, json)| told(form, json));
        assert_snapshot!(all.join("\n"), @r#"
        text "a"
        other
        image of 5 bytes, "image/png", unnamed
        other
        binary of 3 bytes, untyped, unnamed
        binary of 3 bytes, untyped, unnamed
        binary of 9 bytes, untyped, unnamed
        document "a"
        binary of 2 bytes, untyped, "x:1"
        image of 0 bytes, "Image/GIF", "x:1"
        other
        other
        other
        other
        text "a"
        other
        other
        document "a"
        image of 3 bytes, untyped, "x:1"
        other
        "#);
    }
}
