//! Reads the title, the author and the first lines of the text of a PDF document.
//!
//! `lopdf` reads the objects and the encodings of fonts, within limits. The lines are made here,
//! because `extract_text` of `lopdf` joins lines that a document separates by moving the pen, and
//! its table of contents never ends if the entries form a cycle
//! (docs/decisions/0031-text-of-pdf.md).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Encoding, LoadOptions, Object, ObjectId};
use memchr::memmem;

use super::pdf::Contents;
use crate::{EntryKind, OutlineEntry};

/// Maximum unpacked size of an object stream, in bytes. In common documents, it is less than a
/// tenth of this.
const STREAM: usize = 4 << 20;
/// Maximum unpacked size of a page's content, or of the character table of a font, in bytes.
const CONTENT: usize = 1 << 20;
/// Maximum number of pages whose text is read.
const PAGES: usize = 16;
/// Maximum number of lines of a page.
const LINES: usize = 12;
/// Maximum length of a line, in bytes.
const LINE: usize = 400;
/// Maximum number of fonts of a page.
const FONTS: usize = 32;
/// Number of pages whose first lines rank before further lines of the first page.
const FIRST: usize = 4;
/// Minimum width of a gap between two letters that counts as a space, in thousandths of the font
/// size. In most fonts, a space has the width 250 and may be condensed.
const GAP: f32 = 160.0;

/// Reads a document. A damaged or locked document has no lines.
pub(super) fn of(bytes: &[u8]) -> Contents {
    if hides_names(bytes) {
        return Contents::default();
    }
    // The library may panic because of a failed assertion. The document then has no lines.
    catch_unwind(AssertUnwindSafe(|| read(bytes))).unwrap_or_default()
}

/// Returns whether a letter of a name is written as a number, as in `/Obj#53tm`. Only hostile
/// documents do this, to hide a stream that unpacks into a huge size.
fn hides_names(bytes: &[u8]) -> bool {
    const LONGEST: usize = 16;
    memmem::find_iter(bytes, b"#").any(|at| {
        let name = bytes[at.saturating_sub(LONGEST)..at].iter().rev();
        let before = name.take_while(|byte| byte.is_ascii_alphabetic()).count();
        let is_name = at > before && bytes[at - before - 1] == b'/';
        let is_letter = matches!(bytes.get(at + 1), Some(b'4'..=b'7'))
            && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit);
        is_name && is_letter
    })
}

fn read(bytes: &[u8]) -> Contents {
    let options = LoadOptions {
        max_decompressed_size: Some(STREAM),
        ..LoadOptions::default()
    };
    let Ok(document) = Document::load_mem_with_options(bytes, options) else {
        return Contents::default();
    };
    let said = |key: &[u8]| {
        let info = document.trailer.get_deref(b"Info", &document).ok()?;
        let text = info.as_dict().ok()?.get_deref(key, &document).ok()?;
        let text = lopdf::decode_text_string(text).ok()?;
        let text: String = text.chars().take(LINE).collect();
        (!text.trim().is_empty()).then_some(text)
    };
    let mut lines = Vec::new();
    for (page, id) in document.page_iter().take(PAGES).enumerate() {
        let text = text_of(&document, id).unwrap_or_default();
        let told = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let told = told.filter(|line| !line.is_empty());
        for (at, line) in told.take(LINES).enumerate() {
            let (depth, text) = match at {
                0 => (0, format!("page {}: {line}", page + 1)),
                _ => (1, line),
            };
            let rank = match at {
                0 => 1 + page,
                _ => FIRST + at + page * LINES,
            };
            lines.push(OutlineEntry::new(rank, depth, EntryKind::Place, text));
        }
    }
    Contents {
        pages: document.page_iter().count() as u64,
        title: said(b"Title"),
        author: said(b"Author"),
        lines,
    }
}

/// Returns the text of a page, in the order in which the page draws it.
fn text_of(document: &Document, page: ObjectId) -> lopdf::Result<String> {
    let fonts = document.get_page_fonts(page)?;
    let content = document.get_page_content_with_limit(page, CONTENT)?;
    let content = Content::decode(&content)?;
    let mut pen = Pen {
        document,
        fonts,
        encodings: BTreeMap::new(),
        font: Vec::new(),
        text: String::new(),
        height: 0.0,
        scale: 1.0,
    };
    for operation in &content.operations {
        pen.follow(operation);
        if pen.text.len() > LINES * LINE {
            break;
        }
    }
    Ok(pen.text)
}

/// Carries out the text operations of a page.
struct Pen<'d> {
    document: &'d Document,
    fonts: BTreeMap<Vec<u8>, &'d Dictionary>,
    /// The encodings of the fonts that were used; `None` for an encoding that cannot be read.
    encodings: BTreeMap<Vec<u8>, Option<Encoding<'d>>>,
    font: Vec<u8>,
    text: String,
    /// The distance of the current line from the bottom of the page.
    height: f32,
    /// The scale of the text.
    scale: f32,
}

impl Pen<'_> {
    fn follow(&mut self, operation: &Operation) {
        let given = &operation.operands;
        let number = |at: usize| {
            given
                .get(at)
                .and_then(|it| it.as_float().ok())
                .unwrap_or(0.0)
        };
        match operation.operator.as_str() {
            "Tf" => {
                self.font = given
                    .first()
                    .and_then(|it| it.as_name().ok())
                    .unwrap_or_default()
                    .to_vec();
            }
            "Td" | "TD" => self.move_to(self.height + number(1) * self.scale),
            "Tm" => {
                self.scale = number(3);
                self.move_to(number(5));
            }
            "T*" => self.end(),
            "'" | "\"" => {
                self.end();
                self.show_all(given);
            }
            "Tj" | "TJ" => self.show_all(given),
            _ => {}
        }
    }

    /// Ends the line if the next text is above or below it. Otherwise the next text begins a new
    /// word.
    fn move_to(&mut self, height: f32) {
        if (height - self.height).abs() > 1.0 {
            self.end();
        } else {
            self.space();
        }
        self.height = height;
    }

    fn end(&mut self) {
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    fn show_all(&mut self, shown: &[Object]) {
        for one in shown {
            self.show(one);
        }
    }

    fn show(&mut self, shown: &Object) {
        match shown {
            Object::Array(parts) => self.show_all(parts),
            Object::String(bytes, _) => self.letters(bytes),
            // Between texts in a list, a negative number makes a gap.
            gap if gap.as_float().is_ok_and(|gap| -gap > GAP) => self.space(),
            _ => {}
        }
    }

    fn letters(&mut self, bytes: &[u8]) {
        if !self.encodings.contains_key(&self.font) {
            let font = self.fonts.get(&self.font);
            let Some(font) = font.filter(|_| self.encodings.len() < FONTS) else {
                return;
            };
            let encoding = font.get_font_encoding_with_limit(self.document, CONTENT);
            self.encodings.insert(self.font.clone(), encoding.ok());
        }
        let bytes = &bytes[..bytes.len().min(LINE)];
        if let Some(encoding) = &self.encodings[&self.font] {
            // Text that cannot be decoded is left out.
            let _ = encoding.write_to_string(bytes, &mut self.text);
        }
    }
}
