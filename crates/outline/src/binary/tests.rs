//! Tests the outlines of bytes that are not text.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::outline_of_binary;
use crate::tests::texts;

const SQLITE: &[u8] = include_bytes!("../../tests/data/tables.sqlite");
const PARQUET: &[u8] = include_bytes!("../../tests/data/columns.parquet");
const LOGICAL: &[u8] = include_bytes!("../../tests/data/logical.parquet");
const ARROW: &[u8] = include_bytes!("../../tests/data/columns.arrow");
const REPORT: &[u8] = include_bytes!("../../tests/data/report.pdf");
const READ_ONLY: &[u8] = include_bytes!("../../tests/data/read-only.pdf");
const LOCKED: &[u8] = include_bytes!("../../tests/data/locked.pdf");
const UNICODE: &[u8] = include_bytes!("../../tests/data/unicode.pdf");

fn shown(bytes: &[u8]) -> String {
    texts(&outline_of_binary(&bytes.to_vec()).unwrap())
}

fn png() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend([0, 0, 4, 176, 0, 0, 3, 32, 8, 6, 0, 0, 0]);
    png
}

fn tar() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut add = |path: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, path, bytes).unwrap();
    };
    add("a/one.txt", b"one");
    add("a/two\n.txt", &[b'x'; 2000]);
    add(&format!("b/{}", "long/".repeat(40)), b"");
    tar.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn zip() -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    for path in ["META-INF/MANIFEST.MF", "org/A.class", "org/B.class"] {
        let (mut entry, config) = archive.new_file(path).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(path.as_bytes()).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap()
}

/// Returns a document whose page tree is in a compressed object stream.
fn pdf() -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(
            b"1 0 2 90 << /Type /Pages /Count 12 /Kids [3 0 R] >> << /Type /Pages /Count 36 >>",
        )
        .unwrap();
    let packed = packed.finish().unwrap();
    let mut pdf = b"%PDF-1.5\n5 0 obj << /Producer (x) /Title (A \\(good\\) title) >> endobj\n6 0 obj << /Type /ObjStm /Filter /FlateDecode >>\nstream\r\n".to_vec();
    pdf.extend(packed);
    pdf.extend(b"\nendstream endobj");
    pdf
}

fn elf() -> Vec<u8> {
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    elf.extend([2, 0, 183, 0]);
    elf
}

fn pe() -> Vec<u8> {
    let mut pe = b"MZ".to_vec();
    pe.resize(0x3c, 0);
    pe.extend([0x80, 0, 0, 0]);
    pe.resize(0x80, 0);
    pe.extend(b"PE\0\0\x64\x86\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\0\x22\x20");
    pe
}

#[test]
fn formats_with_what_they_tell() {
    assert_snapshot!(shown(&png()), @"PNG image, 1200×800 pixels");
    assert_snapshot!(shown(&zip()), @"
    Java archive (ZIP): 3 files, 42 bytes unpacked
    META-INF/MANIFEST.MF 20
    org/A.class 11
    org/B.class 11
    ");
    assert_snapshot!(shown(&tar()), @r"
    tar archive: 3 files, 2,003 bytes unpacked
    a/one.txt 3
    a/two\n.txt 2,000
    b/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/lon… (+44 bytes)
    ");
    assert_snapshot!(shown(&gzip(&tar())), @r"
    tar archive in gzip: 3 files, 2,003 bytes unpacked
    a/one.txt 3
    a/two\n.txt 2,000
    b/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/long/lon… (+44 bytes)
    ");
    assert_snapshot!(shown(&gzip(b"a log\n")), @"gzip archive, unpacked 6 bytes");
    assert_snapshot!(shown(&pdf()), @r#"PDF document 1.5, 36 pages, title "A (good) title""#);
    assert_snapshot!(shown(b"%PDF-1.4\n1 0 obj << /Kids [2 0 R] /Count 3 /Type /Pages >> endobj << /Title <FEFF00C9> /Creator (y) >>"), @r#"PDF document 1.4, 3 pages, title "É""#);
    assert_snapshot!(shown(&elf()), @"ELF program for AArch64, 64 bits");
    assert_snapshot!(shown(&pe()), @"PE library for Windows on x86-64");
    assert_snapshot!(shown(b"\xcf\xfa\xed\xfe\x0c\0\0\x01\0\0\0\0\x02\0\0\0"), @"Mach-O program for macOS on AArch64");
    assert_snapshot!(shown(b"\xca\xfe\xba\xbe\0\0\0\x41"), @"Java class, version 65 (Java 21)");
    assert_snapshot!(shown(SQLITE), @"
    SQLite database: 3 tables, 1 index, 1 view; 7 pages
    customers(id integer primary key, name text not null)
    orders(id integer primary key, customer integer references customers(id), state text, total real)
    view open_orders
    wide(…
    ");
    assert_snapshot!(shown(PARQUET), @"
    Parquet table: 3 rows, 6 columns; made by fastparquet-python version 2026.9.0 (build 0)
    id: int64, optional
    name: text, optional
    when: timestamp, optional
    total: double, optional
    tags: bytes, optional
    ok: boolean, optional
    ");
    assert_snapshot!(shown(LOGICAL), @"
    Parquet table: 3 rows, 9 columns; made by parquet-cpp-arrow version 26.0.1
    id: int64, optional
    when: timestamp, optional
    tags: list, optional
      list: group, repeated
        element: text, optional
    place: group, optional
      city: text, optional
      zip: int64, optional
    small: uint8, optional
    ");
    assert_snapshot!(shown(ARROW), @"
    Arrow table: 3 rows in 2 batches, 11 columns
    id: int64, optional
    name: text, optional
    when: timestamp (UTC), optional
    day: date, optional
    total: double, optional
    price: decimal(8, 2), optional
    tags: list, optional
      item: text, optional
    state: text, dictionary, optional
    place: group, optional
      city: text, optional
      zip: int64, optional
    ok: boolean, optional
    small: uint8, optional
    ");
    assert_snapshot!(shown(b"FEA1\0\0\0\0"), @"Feather table of version 1");
    assert_snapshot!(shown(&[0xfe; 100]), @"data of an unknown format");
    assert_snapshot!(shown(b"\x1f\x8b\x08\0damaged"), @"gzip archive (damaged)");
    assert_snapshot!(shown(b"PK\x03\x04damaged"), @"ZIP archive or office document");
}

#[test]
fn documents_with_their_first_lines() {
    assert_snapshot!(shown(REPORT), @r#"
    PDF document 1.3, 3 pages, title "Quarterly report", author "Zoë Meyer"
    page 1: 1. Région 1
      In quarter 1 the revenue was 1000 euros.
      In quarter 2 the revenue was 2000 euros.
      In quarter 3 the revenue was 3000 euros.
      In quarter 4 the revenue was 4000 euros.
      In quarter 5 the revenue was 5000 euros.
    page 2: 2. Région 2
      In quarter 1 the revenue was 2000 euros.
      In quarter 2 the revenue was 4000 euros.
      In quarter 3 the revenue was 6000 euros.
      In quarter 4 the revenue was 8000 euros.
      In quarter 5 the revenue was 10000 euros.
    page 3: 3. Région 3
      In quarter 1 the revenue was 3000 euros.
      In quarter 2 the revenue was 6000 euros.
      In quarter 3 the revenue was 9000 euros.
      In quarter 4 the revenue was 12000 euros.
      In quarter 5 the revenue was 15000 euros.
    "#);
    assert_eq!(
        shown(READ_ONLY).replacen(", encrypted", "", 1),
        shown(REPORT)
    );
    assert_snapshot!(shown(LOCKED), @"PDF document 1.3, 3 pages, encrypted");
    assert_snapshot!(shown(UNICODE), @r#"
    PDF document 1.3, 1 page, title "Ёлка"
    page 1: Привет, мир: ünïcödé
      Ελληνικά and → arrows
      Invoice 4711 due 2026-12-01
    "#);
}

/// Returns a document with one page that has this content. `kids` are the children of the page
/// tree's root.
fn pdf_of(kids: &str, content: &[u8], filter: &str) -> Vec<u8> {
    let mut pdf = format!(
        "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Count 1/Kids[{kids}]>> endobj\n3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj\n5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>> endobj\n4 0 obj <<{filter}/Length {}>> stream\n",
        content.len()
    )
    .into_bytes();
    pdf.extend_from_slice(content);
    pdf.extend(b"\nendstream endobj\ntrailer <</Root 1 0 R>>\n");
    pdf
}

#[test]
fn hostile_documents_are_named() {
    let text = b"BT /F 9 Tf (Dear) Tj [( rea) -20 (der) -300 (of) ] TJ 0 -12 Td (this) Tj ET";
    let plain = pdf_of("3 0 R", text, "");
    assert_snapshot!(shown(&plain), @"
    PDF document 1.4, 1 page
    page 1: Dear reader of
      this
    ");
    // Pages that form a cycle count at most once per object.
    let ring = shown(&pdf_of("3 0 R 2 0 R 2 0 R", text, ""));
    assert!(
        ring.starts_with("PDF document 1.4, 1 page\npage 1: Dear reader of"),
        "{ring}"
    );
    // A name with an encoded letter hides its meaning.
    let hidden = String::from_utf8_lossy(&plain).replace("/Catalog", "/Cat#61log");
    assert_eq!(shown(hidden.as_bytes()), "PDF document 1.4, 1 page");
    // A page that unpacks into 64 MB.
    let mut bomb = ZlibEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        bomb.write_all(&b" ".repeat(1 << 20)).unwrap();
    }
    bomb.write_all(text).unwrap();
    let bomb = pdf_of("3 0 R", &bomb.finish().unwrap(), "/Filter/FlateDecode");
    assert_eq!(shown(&bomb), "PDF document 1.4, 1 page");
    for nested in ["[", "<<", "(", "<</A ", "1 0 obj "] {
        let deep = pdf_of("3 0 R", nested.repeat(100_000).as_bytes(), "");
        assert!(shown(&deep).starts_with("PDF document 1.4, 1 page"));
    }
}

/// Samples of all formats.
fn samples() -> Vec<Vec<u8>> {
    vec![
        png(),
        zip(),
        tar(),
        gzip(&tar()),
        pdf(),
        REPORT.to_vec(),
        READ_ONLY.to_vec(),
        UNICODE.to_vec(),
        elf(),
        pe(),
        SQLITE.to_vec(),
        PARQUET.to_vec(),
        LOGICAL.to_vec(),
        ARROW.to_vec(),
        b"\xca\xfe\xba\xbe\0\0\0\x41".to_vec(),
        b"GIF89a\x01\0\x01\0".to_vec(),
        b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08\0\x10\0\x10\x03"
            .to_vec(),
        b"\0\0\0\x18ftypavif\0\0\0\0avifmif1\0\0\0\x20meta".to_vec(),
        b"II*\0\x08\0\0\0\x01\0\0\x01\x03\0\x01\0\0\0\x01\0".to_vec(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_bytes_are_read(
        sample in 0..samples().len(),
        cut in 0.0f64..1.2,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = samples().swap_remove(sample);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length")]
        let length = (bytes.len() as f64 * cut) as usize;
        bytes.truncate(length);
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        let lines = outline_of_binary(&bytes).unwrap();
        prop_assert!(!lines.is_empty() && lines.len() <= LINES + 2);
        for line in &lines {
            prop_assert!(!line.text.contains('\n') && line.text.chars().count() <= 200);
        }
    }
}
