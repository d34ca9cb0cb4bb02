//! Decodes a page's bytes to text.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use html5gum::{Token, Tokenizer};

/// Bytes at the beginning of a page in which it may declare its encoding. The HTML standard demands
/// 1,024; some pages declare it later.
const LOOKED_AT: usize = 4 << 10;

/// Decoded text, and whether some of its bytes were invalid in its encoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedBody {
    pub(crate) text: String,
    /// The encoding's name if some bytes were invalid in it. The text contains U+FFFD in their
    /// place.
    pub(crate) wrong_in: Option<&'static str>,
}

/// Decodes bytes. The encoding comes from the byte order mark, the server's `charset`, the
/// page's own declaration (if `is_html`), or else from the bytes: UTF-8 if they are valid,
/// otherwise windows-1252, the web's fallback.
pub(crate) fn decoded(bytes: &[u8], charset: Option<&str>, is_html: bool) -> DecodedBody {
    let said = || charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let named = || is_html.then(|| in_page(bytes)).flatten();
    let guessed = || match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(_) => WINDOWS_1252,
    };
    let encoding = said().or_else(named).unwrap_or_else(guessed);
    // A byte order mark takes precedence over this encoding.
    let (text, used, has_wrong) = encoding.decode(bytes);
    DecodedBody {
        text: text.into_owned(),
        wrong_in: has_wrong.then(|| used.name()),
    }
}

/// Returns the encoding that a page's `meta` element declares. If it declares UTF-16, returns
/// UTF-8, because a declaration that can be read byte by byte is not in UTF-16.
fn in_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let beginning = &bytes[..bytes.len().min(LOOKED_AT)];
    let beginning: String = beginning.iter().map(|&byte| char::from(byte)).collect();
    let tags = Tokenizer::new(&beginning).filter_map(|token| match token {
        Ok(Token::StartTag(tag)) if *tag.name == b"meta" => Some(tag),
        _ => None,
    });
    let found = tags.filter_map(|tag| {
        if let Some(charset) = tag.attributes.get(b"charset".as_slice()) {
            return Encoding::for_label(charset);
        }
        let content = tag.attributes.get(b"content".as_slice())?;
        let content = String::from_utf8_lossy(content).to_ascii_lowercase();
        let (_, label) = content.split_once("charset=")?;
        let label = label.split([';', ' ']).next()?;
        Encoding::for_label(label.trim_matches(['"', '\'']).as_bytes())
    });
    let found = found.take(1).next()?;
    match found == UTF_16LE || found == UTF_16BE {
        true => Some(UTF_8),
        false => Some(found),
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn the_encoding_is_found() {
        let page = |meta: &str| [b"<html><head>", meta.as_bytes(), b"</head>\xe4"].concat();
        let text = |bytes: &[u8], charset, is_html| {
            let decoded = decoded(bytes, charset, is_html);
            let last = decoded.text.chars().last().unwrap();
            (last, decoded.wrong_in)
        };
        for (bytes, charset, expected) in [
            (b"\xe4".to_vec(), Some("iso-8859-1"), ('ä', None)),
            (b"\xe4".to_vec(), Some("utf-8"), ('\u{fffd}', Some("UTF-8"))),
            (b"\xe4".to_vec(), Some("no-such"), ('ä', None)),
            (b"\xe4".to_vec(), None, ('ä', None)),
            ("ä".into(), None, ('ä', None)),
            (
                b"\xef\xbb\xbf\xc3\xa4".to_vec(),
                Some("latin1"),
                ('ä', None),
            ),
            (b"\xff\xfe\xe4\x00".to_vec(), Some("utf-8"), ('ä', None)),
            (b"\x82\xa0".to_vec(), Some("Shift_JIS"), ('あ', None)),
            (page("<meta charset=koi8-r>"), None, ('Д', None)),
            (
                page("<META CHARSET=\"koi8-r\">"),
                Some("latin1"),
                ('ä', None),
            ),
            (
                page("<meta http-equiv=content-type content=\"text/html; charset=koi8-r\">"),
                None,
                ('Д', None),
            ),
            (
                page("<meta charset=utf-16>"),
                None,
                ('\u{fffd}', Some("UTF-8")),
            ),
            (page("<!-- <meta charset=koi8-r> -->"), None, ('ä', None)),
        ] {
            assert_eq!(text(&bytes, charset, true), expected, "{bytes:?}");
        }
        assert_eq!(text(&page("<meta charset=koi8-r>"), None, false).0, 'ä');
    }
}
