//! Detects the format of bytes that are not text, by the marks at their beginning.

/// Marks of common formats: offset, bytes, name, and whether a text may begin with these bytes.
const MARKS: &[(usize, &[u8], &str, bool)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "PNG image", false),
    (0, b"\xff\xd8\xff", "JPEG image", false),
    (0, b"GIF87a", "GIF image", true),
    (0, b"GIF89a", "GIF image", true),
    (8, b"WEBP", "WebP image", true),
    (0, b"BM", "BMP image", true),
    (0, b"II*\0", "TIFF image", false),
    (0, b"MM\0*", "TIFF image", false),
    (0, b"\0\0\x01\0", "icon", false),
    (0, b"%PDF-", "PDF document", false),
    (0, b"PK\x03\x04", "ZIP archive or office document", false),
    (0, b"PK\x05\x06", "ZIP archive", false),
    (0, b"\x1f\x8b", "gzip archive", false),
    (0, b"BZh", "bzip2 archive", true),
    (0, b"\xfd7zXZ\0", "xz archive", false),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard archive", false),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive", false),
    (0, b"Rar!\x1a\x07", "RAR archive", false),
    (257, b"ustar", "tar archive", true),
    (0, b"\x7fELF", "ELF program or library", false),
    (0, b"MZ", "Windows program or library", true),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program or library", false),
    (
        0,
        b"\xca\xfe\xba\xbe",
        "Java class or Mach-O program",
        false,
    ),
    (0, b"\0asm", "WebAssembly module", false),
    (0, b"!<arch>\n", "static library", true),
    (0, b"SQLite format 3\0", "SQLite database", false),
    (
        0,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "old office document",
        false,
    ),
    (0, b"PAR1", "Parquet table", true),
    (0, b"ARROW1\0\0", "Arrow table", false),
    (0, b"FEA1\0", "Feather table of version 1", false),
    (8, b"WAVE", "WAV audio", true),
    (0, b"ID3", "MP3 audio", true),
    (0, b"OggS", "Ogg audio or video", true),
    (0, b"fLaC", "FLAC audio", true),
    (4, b"ftyp", "MP4 audio or video", true),
    (0, b"\x1aE\xdf\xa3", "Matroska video", false),
    (0, b"wOFF", "font", true),
    (0, b"wOF2", "font", true),
    (0, b"\0\x01\0\0\0", "font", false),
    (0, b"\xff\xfe\0\0", "UTF-32 text", false),
    (0, b"\0\0\xfe\xff", "UTF-32 text", false),
];

/// Returns the format that the first bytes of a file indicate.
pub(crate) fn format(head: &[u8]) -> Option<&'static str> {
    found(head).map(|(name, _)| name)
}

/// Returns the format if no text begins with its mark.
pub(crate) fn certain(head: &[u8]) -> Option<&'static str> {
    found(head).and_then(|(name, may_be_text)| (!may_be_text).then_some(name))
}

fn found(head: &[u8]) -> Option<(&'static str, bool)> {
    let is_here =
        |at: usize, mark: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(mark));
    let mut marks = MARKS.iter().filter(|(at, mark, ..)| is_here(*at, mark));
    marks
        .next()
        .map(|(_, _, name, may_be_text)| (*name, *may_be_text))
}
