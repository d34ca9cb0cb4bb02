//! The rows of a text or of bytes as they come into view, the next error, and images.
//!
//! A request reads a few hundred rows, wherever they are: the line index of an output leads to any
//! line, so the size of an output does not matter.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;
use serde_json::{Value, json};
use spillgate_artifact::{ContentKind, Handle, Interrupt, Manifest};
use spillgate_http_api::{Problem, streamed};
use spillgate_lookup::{Artifact, LookupError};
use spillgate_outline::grouped;

use crate::asked::{Asked, handle};
use crate::frame::as_json;
use crate::lens::{Lens, Rows};
use crate::level::Level;
use crate::{Page, shown};

/// Most rows of an answer.
const MOST: u64 = 500;

/// Most characters of a row. A look-up shows a longer line whole.
const LONGEST: usize = 2000;

/// Bytes of a row of bytes.
const BYTES: u64 = 16;

/// Lines that are read at a time on the way back to an error.
const STEP: u64 = 4096;

/// Maximum size of an image, in bytes.
const IMAGE: u64 = 64 << 20;

/// A row: what stands before it, its text, its level, and what is folded into it.
#[derive(Debug, Serialize)]
struct Row(
    String,
    String,
    &'static str,
    #[serde(skip_serializing_if = "Option::is_none")] Option<String>,
);

/// Whether lines of this kind have levels.
pub(crate) fn has_levels(kind: ContentKind) -> bool {
    matches!(
        kind,
        ContentKind::Log | ContentKind::Text | ContentKind::Ndjson
    )
}

/// Reads what the script asks for, where it does not hold up other requests.
async fn answered(
    page: Arc<Page>,
    named: &str,
    request: Request,
    read: impl FnOnce(&Page, Handle, &Asked, &Interrupt) -> Result<Value, Problem> + Send + 'static,
) -> Result<Response<Body>, Problem> {
    let handle = handle(named)?;
    let asked = Asked::of_query(request.uri().query());
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, wait| read(&of, handle, &asked, wait));
    Ok(as_json(&work.await?))
}

/// Returns which rows are asked for: the first, counted from 1, and how many.
fn range(asked: &Asked) -> Result<(u64, u64), Problem> {
    let start: u64 = asked.number("start", 1)?;
    Ok((start.max(1), asked.number("count", MOST)?.min(MOST)))
}

fn unread(error: io::Error) -> Problem {
    Problem::from(&LookupError::from(error))
}

/// `GET /a/{handle}/lines?start=&count=&lens=&line=`: lines of the text, counted from 1. With a lens,
/// rows under it; `line` then asks for the row of a line, too.
pub(crate) async fn lines(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let read = |page: &Page, handle, asked: &Asked, wait: &Interrupt| {
        let (start, count) = range(asked)?;
        let reveals = page.is_owner && asked.flag("secrets");
        let artifact = page.offloader_for(reveals).within(wait).artifact(handle)?;
        let Some(lens) = asked.text("lens").and_then(Lens::of) else {
            let rows = rows_of(&artifact, start, count).map_err(unread)?;
            return Ok(json!({ "total": artifact.view().lines(), "rows": rows }));
        };
        let read = || Rows::of(&artifact, lens).map(Arc::new).map_err(unread);
        let under = page.lenses.get((handle, reveals, lens), read)?;
        let rows = rows_under(&artifact, &under, start, count).map_err(unread)?;
        let row = under.row_of(asked.number("line", 1)?);
        Ok(json!({ "total": under.total, "rows": rows, "row": row }))
    };
    answered(page, &named, request, read).await
}

fn rows_of(artifact: &Artifact, start: u64, count: u64) -> io::Result<Vec<Row>> {
    let levels = has_levels(artifact.manifest().facts.stats.kind);
    let mut lines = artifact.view().lines_from(start)?;
    let mut rows = Vec::new();
    while rows.len() < usize::try_from(count).unwrap_or(0)
        && let Some((line, bytes)) = lines.next_bytes()?
    {
        rows.push(row(line.number, bytes, levels));
    }
    Ok(rows)
}

fn row(number: u64, bytes: &[u8], has_levels: bool) -> Row {
    let level = match has_levels {
        true => Level::of(bytes),
        false => Level::None,
    };
    Row(number.to_string(), text_of(bytes), level.class(), None)
}

/// Returns rows under a lens. Lines that follow each other are read in one go.
fn rows_under(artifact: &Artifact, under: &Rows, start: u64, count: u64) -> io::Result<Vec<Row>> {
    let wanted = (start..start.saturating_add(count)).map_while(|row| under.row(row));
    let mut rows = Vec::new();
    let mut lines = None;
    let mut next = 0;
    for shown in wanted {
        let reading = match lines.take() {
            Some(reading) if shown.line == next => reading,
            _ => artifact.view().lines_from(shown.line)?,
        };
        let reading = lines.insert(reading);
        let Some((line, bytes)) = reading.next_bytes()? else {
            break;
        };
        let mut row = row(line.number, bytes, true);
        if shown.hidden > 0 {
            row.3 = Some(format!("+ {} lines like it", grouped(shown.hidden)));
        }
        rows.push(row);
        next = shown.line + 1;
    }
    Ok(rows)
}

/// Returns the text of a line, cut and marked.
fn text_of(bytes: &[u8]) -> String {
    // A character has at most four bytes.
    let bytes = &bytes[..bytes.len().min(4 * LONGEST)];
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\n', '\r']);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", shown::text(&text[..end])),
        None => shown::text(text).into_owned(),
    }
}

/// `GET /a/{handle}/error?from=&back=`: the line of the next error after a line, or of the last one
/// before it; `null` if there is none.
pub(crate) async fn error(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let read = |page: &Page, handle, asked: &Asked, wait: &Interrupt| {
        let from: u64 = asked.number("from", 0)?;
        let artifact = page.offloader().within(wait).artifact(handle)?;
        let line = match asked.flag("back") {
            true => error_before(&artifact, from),
            false => error_from(&artifact, from.saturating_add(1), u64::MAX),
        };
        Ok(json!({ "line": line.map_err(unread)? }))
    };
    answered(page, &named, request, read).await
}

/// Returns the first line with an error in `start..end`.
fn error_from(artifact: &Artifact, start: u64, end: u64) -> io::Result<Option<u64>> {
    let mut lines = artifact.view().lines_from(start)?;
    while let Some((line, bytes)) = lines.next_bytes()? {
        if line.number >= end {
            break;
        }
        if Level::of(bytes) == Level::Error {
            return Ok(Some(line.number));
        }
    }
    Ok(None)
}

/// Returns the last line with an error before `end`.
fn error_before(artifact: &Artifact, end: u64) -> io::Result<Option<u64>> {
    let mut end = end.min(artifact.view().lines() + 1);
    while end > 1 {
        let start = end.saturating_sub(STEP).max(1);
        let (mut found, mut from) = (None, start);
        while let Some(line) = error_from(artifact, from, end)? {
            (found, from) = (Some(line), line + 1);
        }
        if found.is_some() {
            return Ok(found);
        }
        end = start;
    }
    Ok(None)
}

/// `GET /a/{handle}/hex?start=&count=`: rows of 16 bytes, counted from 1.
pub(crate) async fn hex(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let read = |page: &Page, handle, asked: &Asked, _: &Interrupt| {
        let (start, count) = range(asked)?;
        let raw = page.raw(handle, asked.flag("secrets"))?;
        let from = (start - 1).saturating_mul(BYTES);
        let bytes = raw.bytes(from, from.saturating_add(count * BYTES));
        let bytes = bytes.map_err(unread)?;
        let rows: Vec<Row> = (bytes.chunks(16).zip(0_u64..))
            .map(|(bytes, at)| {
                let place = format!("{:08x}", from + at * BYTES);
                Row(place, hex_row(bytes), "", None)
            })
            .collect();
        Ok(json!({ "total": raw.len().div_ceil(BYTES), "rows": rows }))
    };
    answered(page, &named, request, read).await
}

/// Returns bytes as hexadecimal digits and as characters.
fn hex_row(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        let space = if at == 8 { "  " } else { " " };
        digits.push_str(&format!("{}{byte:02x}", if at == 0 { "" } else { space }));
    }
    let shown = |byte: &u8| match byte {
        0x20..0x7f => char::from(*byte),
        _ => '·',
    };
    let text: String = bytes.iter().map(shown).collect();
    format!("{digits:<49} {text}")
}

/// The images that a browser may show. None of these formats can contain a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageType {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl ImageType {
    /// Finds the type by the first bytes. What the producer says does not count.
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Some(Self::Webp),
            _ => None,
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

impl Page {
    /// Returns the type of an output that is an image and may be shown.
    pub(crate) fn image_type(&self, manifest: &Manifest, reveals: bool) -> Option<ImageType> {
        let facts = &manifest.facts;
        if facts.stats.kind != ContentKind::Binary || facts.raw_bytes > IMAGE {
            return None;
        }
        let raw = self.raw(manifest.handle, reveals).ok()?;
        ImageType::of(&raw.bytes(0, 16).ok()?)
    }
}

/// `GET /a/{handle}/image`
pub(crate) async fn image(
    State(page): State<Arc<Page>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let handle = handle(&named)?;
    let asked = Asked::of_query(request.uri().query());
    let of = Arc::clone(&page);
    let work = Arc::clone(&page.api).work(move |_, _| {
        let manifest = of.store.manifest(handle)?;
        let reveals = asked.flag("secrets");
        let found = of.image_type(&manifest, reveals);
        Ok(found.map(|found| of.raw(handle, reveals).map(|raw| (found, raw))))
    });
    let Some(found) = work.await? else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let (found, raw) = found?;
    let bytes = raw.len();
    let mut response = Response::new(streamed(raw, 0, bytes));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static(found.media_type());
    headers.insert(CONTENT_TYPE, kind);
    let alone = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(CONTENT_SECURITY_POLICY, alone);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_short_and_harmless() {
        assert_eq!(text_of(b"a\x1b[31m<b>\r\n"), "a⟨U+001B⟩[31m<b>");
        let long = "é".repeat(LONGEST + 5);
        assert_eq!(text_of(long.as_bytes()).chars().count(), LONGEST + 1);
        assert_eq!(
            hex_row(b"<a>\x00\xffbcdefgh"),
            "3c 61 3e 00 ff 62 63 64  65 66 67 68              <a>··bcdefgh"
        );
    }

    #[test]
    fn only_images_without_scripts_are_images() {
        for (head, found) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some(ImageType::Png)),
            (b"\xff\xd8\xff\xe0", Some(ImageType::Jpeg)),
            (b"GIF89a", Some(ImageType::Gif)),
            (b"RIFF....WEBPVP8 ", Some(ImageType::Webp)),
            (b"RIFF....WAVEfmt ", None),
            (b"<svg xmlns='http://www.w3.org/2000/svg'>", None),
            (b"", None),
        ] {
            assert_eq!(ImageType::of(head), found);
        }
    }
}
