//! Reads the sizes, types and URIs of the binary blocks of a large result. The result's skeleton,
//! which is held in memory ([`spillgate_transport::Skeleton`]), omits them.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use spillgate_artifact::{ByteSource, TextPart};
use spillgate_store::StoreError;
use spillgate_text::JsonText;

use crate::results::found::{Base64, Binary, Found, Kind, MOST_OTHERS, Place, is_image};
use crate::results::intercept::damaged;

/// Maximum number of bytes read in one block.
const BLOCK: u64 = 256 << 10;

/// Reads the sizes, MIME types and URIs of the binary blocks for which the skeleton contains only
/// placeholders.
pub(crate) fn complete(
    found: &mut Found<'_>,
    source: Option<&Arc<dyn ByteSource>>,
) -> Result<(), StoreError> {
    let place = found.place;
    for block in &mut found.blocks {
        if let Kind::Binary(binary) = &mut block.kind {
            complete_one(binary, place, source).map_err(|error| damaged(&error))?;
        }
    }
    Ok(())
}

fn complete_one(
    binary: &mut Binary<'_>,
    place: Place<'_>,
    source: Option<&Arc<dyn ByteSource>>,
) -> io::Result<()> {
    if place.is_hole(binary.data.get()) {
        let span = place.span(binary.data.get());
        let inside = span.start + 1..span.end - 1;
        binary.bytes = match source {
            Some(source) => decoded_bytes(&**source, inside)?,
            None => (inside.end - inside.start) * 3 / 4,
        };
    }
    for word in [&mut binary.mime, &mut binary.uri] {
        let json = word.as_ref().map(|json| json.get());
        if let Some(json) = json.filter(|json| place.is_hole(json)) {
            *word = match source {
                Some(source) => Some(Cow::Owned(long_word(source, place.span(json))?)),
                None => None,
            };
        }
    }
    if let (Some(Cow::Owned(mime)), true) = (&binary.mime, binary.is_told_by_mime) {
        binary.is_image |= is_image(mime);
    }
    Ok(())
}

/// Returns the number of bytes to which the Base64 in this range decodes.
fn decoded_bytes(source: &dyn ByteSource, range: Range<u64>) -> io::Result<u64> {
    let (mut base64, mut at) = (Base64::default(), range.start);
    while at < range.end {
        let block = source.bytes(at, range.end.min(at + BLOCK))?;
        if block.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at += block.len() as u64;
        base64.feed(&block);
    }
    Ok(base64.bytes())
}

/// Reads a JSON string that is unusually long for a MIME type or a URI. A longer string is
/// truncated; what remains is still too long to be copied into a link.
fn long_word(source: &Arc<dyn ByteSource>, span: Range<u64>) -> io::Result<Box<RawValue>> {
    /// Maximum length of the string, in bytes: twice as many characters as may be copied into
    /// links, with up to 12 bytes for each escaped character.
    const LONGEST: u64 = 12 * 2 * MOST_OTHERS;
    if span.end - span.start <= LONGEST {
        let json = String::from_utf8(source.bytes(span.start, span.end)?);
        return Ok(RawValue::from_string(json.map_err(io::Error::other)?)?);
    }
    let inside = TextPart {
        start: span.start + 1,
        end: span.end - 1,
        is_string: true,
    };
    let text = JsonText::new(Arc::clone(source), &[inside], &mut |_| {})?;
    let start = text.bytes(0, 2 * MOST_OTHERS)?;
    let start = String::from_utf8_lossy(&start);
    Ok(RawValue::from_string(json!(start).to_string())?)
}
