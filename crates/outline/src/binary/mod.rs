//! Outlines bytes that are not text: images, documents, archives, programs, databases, tables.
//!
//! The bytes may be hostile. Work and memory are bounded. Parts that cannot be read are left out,
//! so the outline names at least the format.

mod archive;
mod arrow;
mod parquet;
mod pdf;
#[cfg(feature = "pdf")]
mod pdf_text;
mod program;
mod sqlite;

use std::io;

use spillgate_artifact::ByteSource;
use spillgate_text::{Encoding, Sample};

use crate::{OutlineEntry, note};

/// Number of bytes at the beginning that show the format, and the size of an image.
const HEAD: u64 = 512 << 10;
/// Maximum number of lines in an outline.
const LINES: usize = 200;

/// Returns the format of the bytes, then an outline of their content if the format is supported.
pub(crate) fn outline(raw: &dyn ByteSource) -> io::Result<Vec<OutlineEntry>> {
    let head = raw.bytes(0, HEAD)?;
    let sample = Sample {
        head: &head,
        complete: raw.len() <= HEAD,
    };
    let format = Encoding::of(sample).err().flatten();
    let format = format.unwrap_or("data of an unknown format");
    let begins = |mark: &[u8]| head.starts_with(mark);
    let found = match () {
        () if begins(b"\x7fELF") || begins(b"MZ") => program::of(&head),
        () if begins(b"\xcf\xfa\xed\xfe") || begins(b"\xca\xfe\xba\xbe") => program::of(&head),
        () if begins(b"%PDF-") => pdf::of(raw)?,
        () if begins(b"SQLite format 3\0") => sqlite::of(raw)?,
        () if begins(b"PAR1") => parquet::of(raw)?,
        () if begins(b"ARROW1\0\0") => arrow::of(raw)?,
        () if begins(b"PK") => archive::of_zip(raw),
        () if begins(b"\x1f\x8b") => Some(archive::of_gzip(raw)),
        () if head.get(257..262) == Some(b"ustar") => archive::of_tar(raw),
        () => None,
    };
    if let Some(mut found) = found {
        for entry in &mut found {
            // Names in the bytes may have line breaks.
            entry.text = entry.text.replace(['\n', '\r'], "\\n");
        }
        return Ok(found);
    }
    let size = match format.ends_with("image") || format == "icon" {
        true => imagesize::blob_size(&head).ok(),
        false => None,
    };
    // `ftyp` begins videos, and images in HEIF and AVIF.
    let size = size.or_else(|| match head.get(4..8) {
        Some(b"ftyp") => imagesize::blob_size(&head).ok(),
        _ => None,
    });
    let format = match (head.get(8..12), size) {
        (Some(b"avif" | b"avis"), Some(_)) => "AVIF image",
        (Some(b"heic" | b"heix" | b"mif1"), Some(_)) => "HEIF image",
        _ => format,
    };
    let size = size.map(|size| format!(", {}×{} pixels", size.width, size.height));
    Ok(vec![note(format!("{format}{}", size.unwrap_or_default()))])
}

/// Returns the `N` bytes at the offset `at`.
fn integer<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests;
