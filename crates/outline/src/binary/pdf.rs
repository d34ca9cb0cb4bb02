//! Reads the number of pages, the title and the first lines of a PDF document.
//!
//! One pass over the bytes finds the number of pages and the title even in a damaged document. It
//! resolves no references: the root of the page tree has the largest `/Count` of all page nodes. In
//! newer documents, the nodes are in compressed object streams, which are unpacked.
//! `pdf_text` reads the lines, in builds with the feature `pdf`.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use memchr::memmem;
use spillgate_artifact::ByteSource;

#[cfg(feature = "pdf")]
use super::pdf_text;
use crate::parts::counted;
use crate::{OutlineEntry, note};

/// Maximum number of bytes of a document that are read.
const READ: u64 = 32 << 20;
/// Maximum size, in bytes, of a document whose text is read. The library keeps all objects of such
/// a document in memory.
const READ_WHOLE: u64 = 8 << 20;
/// Maximum number of bytes that are unpacked from all streams together.
const UNPACKED: u64 = 16 << 20;
/// Maximum number of object streams that are examined.
const STREAMS: usize = 2000;
/// Maximum number of page nodes that are examined in one text.
const NODES: usize = 2000;
/// Maximum number of titles that are examined in one text.
const TITLES: usize = 1000;
/// Number of bytes before or after a name in which the rest of its dictionary is looked for.
const NEAR: usize = 400;
/// Maximum size of a page node, which lists its pages, in bytes.
const NODE: usize = 64 << 10;
/// Maximum length of a title, in bytes.
const TITLE: usize = 200;

/// The information that the library read from a document; nothing in a build without it.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) pages: u64,
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) lines: Vec<OutlineEntry>,
}

/// Returns the version, the number of pages and the title.
pub(super) fn of(raw: &dyn ByteSource) -> io::Result<Option<Vec<OutlineEntry>>> {
    let mut buffer = Vec::new();
    let text = raw.window(0, raw.len().min(READ), &mut buffer)?;
    let version = text.get(5..8).filter(|version| version[0].is_ascii_digit());
    let version = version.map(|version| format!(" {}", String::from_utf8_lossy(version)));
    let mut found = Found::default();
    found.read(text);
    let mut room = UNPACKED;
    let mut packed = 0;
    for at in memmem::find_iter(text, b"/ObjStm").take(STREAMS) {
        let Some(stream) = stream(&text[at..]) else {
            continue;
        };
        let mut objects = Vec::new();
        // The bytes that were unpacked before an error are used, too.
        let _ = ZlibDecoder::new(stream)
            .take(room)
            .read_to_end(&mut objects);
        room -= objects.len() as u64;
        packed += 1;
        found.read(&objects);
    }
    // The library unpacks all object streams. It is not called if they may be large.
    let is_modest = room > 0 && packed < STREAMS && raw.len() <= READ_WHOLE;
    let contents = match is_modest {
        #[cfg(feature = "pdf")]
        true => pdf_text::of(text),
        _ => Contents::default(),
    };
    let is_locked = memmem::rfind(text, b"/Encrypt").is_some();
    let pages = found
        .pages
        .or(Some(contents.pages).filter(|&pages| pages > 0));
    // In a locked document, texts such as the title are encrypted, too.
    let title = contents.title.or(found.title.filter(|_| !is_locked));
    let parts = [
        pages.map(|pages| counted(&pages.to_string(), "page")),
        title.map(|title| format!("title {title:?}")),
        contents.author.map(|author| format!("author {author:?}")),
        is_locked.then(|| "encrypted".to_owned()),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .map(|part| format!(", {part}"))
        .collect();
    let version = version.unwrap_or_default();
    let mut shown = vec![note(format!("PDF document{version}{}", parts.concat()))];
    if cfg!(not(feature = "pdf")) {
        shown.push(note(
            "this build of Spillgate does not read its text: it lacks the feature `pdf`".to_owned(),
        ));
    }
    shown.extend(contents.lines);
    Ok(Some(shown))
}

/// Returns the bytes of the stream whose dictionary is at the beginning of `text`.
fn stream(text: &[u8]) -> Option<&[u8]> {
    let near = &text[..text.len().min(NEAR)];
    let start = memmem::find(near, b"stream")? + b"stream".len();
    let rest = &text[start..];
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    Some(rest.strip_prefix(b"\n").unwrap_or(rest))
}

#[derive(Default)]
struct Found {
    pages: Option<u64>,
    title: Option<String>,
}

impl Found {
    fn read(&mut self, text: &[u8]) {
        for at in memmem::find_iter(text, b"/Pages").take(NODES) {
            // `/Type /Pages` is in the dictionary of a node, `/Pages 3 0 R` refers to one.
            let before = text[..at].trim_ascii_end();
            if !before.ends_with(b"/Type") {
                continue;
            }
            let from = memmem::rfind(&text[at.saturating_sub(NEAR)..at], b"<<");
            let from = from.map_or(at, |from| at.saturating_sub(NEAR) + from);
            // The node extends to the end of the object or, in an object stream, to the next node.
            let after = &text[at..text.len().min(at + NODE)];
            let end = [&b"endobj"[..], b"/Type"]
                .iter()
                .filter_map(|end| memmem::find(after, end))
                .min();
            let near = &text[from..at + end.unwrap_or(after.len())];
            // A node may list its pages before its count.
            let count = memmem::find(near, b"/Count").and_then(|count| number(&near[count + 6..]));
            self.pages = self.pages.max(count);
        }
        if self.title.is_none() {
            let titles = memmem::find_iter(text, b"/Title").take(TITLES);
            let mut titles = titles.filter_map(|at| title(text[at + 6..].trim_ascii_start()));
            // Bookmarks have titles, too, but no author or producer beside them.
            self.title = memmem::find(text, b"/Producer")
                .or_else(|| memmem::find(text, b"/Creator"))
                .and_then(|_| titles.find(|title| !title.trim().is_empty()));
        }
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let digits = &text[..digits.count().min(9)];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns a text in parentheses, or in hexadecimal digits.
fn title(text: &[u8]) -> Option<String> {
    let mut bytes = Vec::new();
    match text.first()? {
        b'(' => {
            let mut rest = text[1..].iter();
            while let Some(&byte) = rest.next() {
                match byte {
                    b')' => break,
                    b'\\' => bytes.extend(rest.next()),
                    _ => bytes.push(byte),
                }
                if bytes.len() >= TITLE {
                    break;
                }
            }
        }
        b'<' if text.get(1) != Some(&b'<') => {
            let digits = text[1..].iter().take_while(|byte| byte.is_ascii_hexdigit());
            let digits: Vec<u8> = digits.take(4 * TITLE).copied().collect();
            for pair in digits.chunks_exact(2) {
                let pair = std::str::from_utf8(pair).ok()?;
                bytes.push(u8::from_str_radix(pair, 16).ok()?);
            }
        }
        _ => return None,
    }
    Some(match bytes.strip_prefix(b"\xfe\xff") {
        Some(wide) => {
            let units = wide.chunks_exact(2);
            let units: Vec<u16> = units
                .map(|two| u16::from_be_bytes([two[0], two[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
        None => String::from_utf8_lossy(&bytes).into_owned(),
    })
}
