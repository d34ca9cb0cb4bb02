//! Tests of the kinds of blocks.

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
