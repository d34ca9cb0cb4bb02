//! Lists archives: ZIP and the formats built on it, tar, gzip.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use rawzip::{ReaderAt, ZipLocator};
use rustc_hash::FxHashMap;
use spillgate_artifact::{ByteSource, ReadRange};

use super::LINES;
use crate::parts::{counted, grouped};
use crate::{EntryKind, OutlineEntry, note};

/// Maximum number of entries that are read.
const ENTRIES: u64 = 100_000;
/// Maximum number of bytes of a tar archive that are read or unpacked.
const UNPACKED: u64 = 32 << 20;
/// Number of bytes at the end of a ZIP archive in which its directory is looked for.
const SEARCHED: u64 = 1 << 20;
/// Maximum number of directories that are named.
const AREAS: usize = 8;
/// Maximum number of directories that are distinguished.
const APART: usize = 4096;
/// Maximum length of a path, in bytes.
const PATH: usize = 300;

/// Files in a ZIP archive that show which format it has.
const KINDS: [(&str, &str); 9] = [
    ("word/document.xml", "Word document (ZIP)"),
    ("xl/workbook.xml", "Excel workbook (ZIP)"),
    ("ppt/presentation.xml", "PowerPoint presentation (ZIP)"),
    ("META-INF/container.xml", "EPUB book (ZIP)"),
    ("META-INF/MANIFEST.MF", "Java archive (ZIP)"),
    ("AndroidManifest.xml", "Android package (ZIP)"),
    (".dist-info/WHEEL", "Python wheel (ZIP)"),
    ("content.xml", "OpenDocument file (ZIP)"),
    ("extension.vsixmanifest", "Visual Studio extension (ZIP)"),
];

/// The content of an archive.
#[derive(Default)]
struct Listing {
    files: u64,
    directories: u64,
    bytes: u64,
    first: Vec<(String, u64)>,
    areas: FxHashMap<String, u64>,
    kind: Option<&'static str>,
    is_partial: bool,
}

impl Listing {
    fn add(&mut self, path: &[u8], bytes: u64, is_directory: bool) {
        if is_directory {
            self.directories += 1;
            return;
        }
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let path = String::from_utf8_lossy(&path[..path.len().min(PATH)]).into_owned();
        let bare = path.strip_prefix("./").unwrap_or(&path);
        if let Some((area, _)) = bare.split_once('/')
            && (self.areas.len() < APART || self.areas.contains_key(area))
        {
            *self.areas.entry(area.to_owned()).or_default() += 1;
        }
        let kind = KINDS.iter().find(|(end, _)| path.ends_with(end));
        self.kind = self.kind.or(kind.map(|(_, kind)| *kind));
        if self.first.len() < LINES {
            self.first.push((path, bytes));
        }
    }

    fn render(self, format: &str) -> Vec<OutlineEntry> {
        let directories = match self.directories {
            0 => String::new(),
            count => format!(" and {} directories", grouped(count)),
        };
        let partial = if self.is_partial {
            " (as far as it was read)"
        } else {
            ""
        };
        let mut shown = vec![note(format!(
            "{}: {}{directories}, {} bytes unpacked{partial}",
            self.kind.unwrap_or(format),
            counted(&grouped(self.files), "file"),
            grouped(self.bytes)
        ))];
        let mut areas: Vec<(String, u64)> = self.areas.into_iter().collect();
        areas.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        if self.files > AREAS as u64 && !areas.is_empty() {
            let more = if areas.len() > AREAS { ", …" } else { "" };
            let named = areas.iter().take(AREAS);
            let named: Vec<String> = named
                .map(|(area, count)| format!("{}× {area}/", grouped(*count)))
                .collect();
            let text = format!("{}{more}", named.join(", "));
            shown.push(OutlineEntry::new(1, 0, EntryKind::Place, text));
        }
        for (at, (path, bytes)) in self.first.into_iter().enumerate() {
            let text = format!("{path} {}", grouped(bytes));
            shown.push(OutlineEntry::new(2 + at, 0, EntryKind::Place, text));
        }
        shown
    }
}

/// Lets rawzip read a [`ByteSource`].
struct Positioned<'s>(&'s dyn ByteSource);

impl ReaderAt for Positioned<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match offset < self.0.len() {
            true => self.0.read_at(buffer, offset),
            false => Ok(0),
        }
    }
}

/// Lists a ZIP archive; `None` if its directory cannot be read.
pub(super) fn of_zip(raw: &dyn ByteSource) -> Option<Vec<OutlineEntry>> {
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let locator = ZipLocator::new().max_search_space(SEARCHED);
    let archive = locator
        .locate_in_reader(Positioned(raw), &mut buffer, raw.len())
        .ok()?;
    let mut listing = Listing::default();
    let mut entries = archive.entries(&mut buffer);
    loop {
        match entries.next_entry() {
            Ok(Some(entry)) if listing.files + listing.directories < ENTRIES => {
                let path = entry.file_path();
                listing.add(
                    path.as_bytes(),
                    entry.uncompressed_size_hint(),
                    entry.is_dir(),
                );
            }
            Ok(None) => break,
            Ok(Some(_)) | Err(_) => {
                listing.is_partial = true;
                break;
            }
        }
    }
    Some(listing.render("ZIP archive"))
}

/// Lists a tar archive; `None` if it has no entry.
pub(super) fn of_tar(raw: &dyn ByteSource) -> Option<Vec<OutlineEntry>> {
    let range = ReadRange::new(raw, 0, UNPACKED);
    tar(BufReader::new(range), raw.len() > UNPACKED).map(|listing| listing.render("tar archive"))
}

/// Lists a tar archive that is compressed with gzip. For other content, returns its size.
pub(super) fn of_gzip(raw: &dyn ByteSource) -> Vec<OutlineEntry> {
    let unpack = || {
        let packed = BufReader::new(ReadRange::whole(raw));
        MultiGzDecoder::new(packed).take(UNPACKED)
    };
    if let Some(listing) = tar(unpack(), false) {
        return listing.render("tar archive in gzip");
    }
    let mut unpacked = unpack();
    let name = unpacked
        .get_ref()
        .header()
        .and_then(|header| header.filename());
    let name = name.map(|name| format!(" of {}", String::from_utf8_lossy(name)));
    let name = name.unwrap_or_default();
    let copied = io::copy(&mut unpacked, &mut io::sink());
    let size = match copied {
        Ok(UNPACKED) => format!(", unpacked more than {} bytes", grouped(UNPACKED)),
        Ok(bytes) => format!(", unpacked {} bytes", grouped(bytes)),
        Err(_) => " (damaged)".to_owned(),
    };
    vec![note(format!("gzip archive{name}{size}"))]
}

fn tar(from: impl Read, is_cut: bool) -> Option<Listing> {
    let mut archive = tar::Archive::new(from);
    let mut listing = Listing {
        is_partial: is_cut,
        ..Listing::default()
    };
    for entry in archive.entries().ok()? {
        let Ok(entry) = entry else {
            listing.is_partial = true;
            break;
        };
        if listing.files + listing.directories == ENTRIES {
            listing.is_partial = true;
            break;
        }
        let is_directory = entry.header().entry_type().is_dir();
        listing.add(&entry.path_bytes(), entry.size(), is_directory);
    }
    (listing.files + listing.directories > 0).then_some(listing)
}
