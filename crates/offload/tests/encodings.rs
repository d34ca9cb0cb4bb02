//! Results in other encodings: text of any size is read, searched and mapped back to its bytes, and
//! data that is not text stays binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GBK, KOI8_R, SHIFT_JIS, UTF_16BE, UTF_16LE, WINDOWS_1251,
    WINDOWS_1252,
};
use insta::assert_snapshot;
use spillgate_artifact::{ContentKind, Facts, Handle, Origin, RawForm, TokenBudget};
use spillgate_lookup::{Artifact, GrepQuery};
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy, Rule};
use spillgate_retrieval::audience;
use spillgate_store::MemoryStore;
use spillgate_testkit::{StoppedClock, noise};
use spillgate_text::Tokenizer;

fn offloader() -> Offloader {
    let rule = Rule {
        max_bytes: Some(400),
        ..Rule::default()
    };
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::O200kBase.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    )
}

/// Stores `bytes` and returns the facts, the handle and the message.
fn stored(offloader: &Offloader, mut bytes: &[u8]) -> (Facts, Handle, String) {
    let outcome = offloader.stream(Origin::tool("tool"), &mut bytes, &mut |_| {});
    match outcome.unwrap() {
        Outcome::Offloaded(stored) => {
            let facts = stored.receipt.manifest().facts.clone();
            (
                facts,
                stored.receipt.handle(),
                stored.shown.text().to_owned(),
            )
        }
        other => panic!("not stored: {other:?}"),
    }
}

/// Encodes `text`. UTF-16 is encoded here because `encoding_rs` does not write it.
fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    let units = || text.encode_utf16();
    match encoding {
        _ if encoding == UTF_16LE => units().flat_map(u16::to_le_bytes).collect(),
        _ if encoding == UTF_16BE => units().flat_map(u16::to_be_bytes).collect(),
        _ => encoding.encode(text).0.into_owned(),
    }
}

fn view(artifact: &Artifact) -> String {
    let source = artifact.view().source();
    String::from_utf8(source.bytes(0, source.len()).unwrap()).unwrap()
}

const RUSSIAN: &str = "строка: ошибка доступа к файлу\r\n";

/// Name of the encoding, the encoding, its byte order mark, and a line of text.
type Case = (&'static str, &'static Encoding, &'static [u8], &'static str);

const CASES: [Case; 12] = [
    ("UTF-16LE", UTF_16LE, b"\xff\xfe", RUSSIAN),
    ("UTF-16BE", UTF_16BE, b"\xfe\xff", "エラー 🚀 found\n"),
    (
        "UTF-16LE",
        UTF_16LE,
        b"",
        "plain ASCII, \u{1b}[31mred\u{1b}[0m\r\n",
    ),
    ("UTF-16BE", UTF_16BE, b"", "line of a file é\n"),
    ("windows-1251", WINDOWS_1251, b"", RUSSIAN),
    ("KOI8-U", KOI8_R, b"", RUSSIAN),
    (
        "windows-1252",
        WINDOWS_1252,
        b"",
        "Größe: für die Übung, café à la crème\n",
    ),
    (
        "Shift_JIS",
        SHIFT_JIS,
        b"",
        "エラーが発生しました。ファイルがありません\n",
    ),
    (
        "EUC-JP",
        EUC_JP,
        b"",
        "エラーが発生しました。ファイルがありません\n",
    ),
    ("GBK", GBK, b"", "错误：找不到文件，请检查路径是否正确\n"),
    ("Big5", BIG5, b"", "錯誤：找不到檔案，請檢查路徑是否正確\n"),
    ("EUC-KR", EUC_KR, b"", "오류: 파일을 찾을 수 없습니다\n"),
];

#[test]
fn every_encoding_becomes_the_text_that_it_means() {
    for (name, encoding, mark, line) in CASES {
        // In memory, and through a draft of the store.
        for times in [200, 20_000] {
            let text = line.repeat(times);
            let raw = [mark, &encoded(&text, encoding)].concat();
            let offloader = offloader();
            let (facts, handle, shown) = stored(&offloader, &raw);
            let form = RawForm::Encoded {
                encoding: name.to_owned(),
                mark: mark.len() as u64,
            };
            assert_eq!(
                (&facts.form, facts.raw_bytes),
                (&form, raw.len() as u64),
                "{line}"
            );
            assert!(shown.contains(&format!(", from {name});")), "{shown}");
            let artifact = offloader.artifact(handle).unwrap();
            let clean = text
                .replace("\r\n", "\n")
                .replace("\u{1b}[31m", "")
                .replace("\u{1b}[0m", "");
            assert!(view(&artifact) == clean, "{name} {times}");
            assert_eq!(facts.stats.chars, text.chars().count() as u64);
            assert_eq!(facts.view.lines, times as u64);
            // A line maps back to its bytes.
            for number in [1, times as u64 / 2, times as u64] {
                let (start, end) = artifact.raw_range(number).unwrap().unwrap();
                let bytes = artifact.raw().bytes(start, end).unwrap();
                let (meant, _) = encoding.decode_without_bom_handling(&bytes);
                assert_eq!(meant, line, "{name} {number}");
            }
            let found = &clean
                .lines()
                .next()
                .unwrap()
                .chars()
                .take(9)
                .collect::<String>();
            let pattern = regex::escape(found);
            let query = GrepQuery::new(&pattern, TokenBudget::new(500));
            let page = offloader.grep(handle, &query).unwrap();
            assert_eq!(page.total, times as u64, "{name}");
        }
    }
}

#[test]
fn an_encoding_may_come_late_and_json_may_be_in_it() {
    let offloader = offloader();
    let plain = "plain line of a log\n".repeat(20_000);
    let raw = [
        plain.as_bytes(),
        &encoded("строка с ошибкой\n", WINDOWS_1251).repeat(9),
    ]
    .concat();
    let (_, handle, _) = stored(&offloader, &raw);
    let artifact = offloader.artifact(handle).unwrap();
    assert!(view(&artifact).ends_with("строка с ошибкой\n"));
    let items: Vec<String> = (0..400)
        .map(|i| format!("{{\"id\":{i},\"имя\":\"дом\"}}"))
        .collect();
    let raw = [
        &b"\xff\xfe"[..],
        &encoded(&format!("[{}]", items.join(",")), UTF_16LE),
    ]
    .concat();
    let (facts, handle, _) = stored(&offloader, &raw);
    assert_eq!(facts.stats.kind, ContentKind::Json);
    let artifact = offloader.artifact(handle).unwrap();
    let line = view(&artifact)
        .lines()
        .position(|line| line.contains("\"id\": 399"))
        .unwrap();
    let (start, end) = artifact.raw_range(line as u64 + 1).unwrap().unwrap();
    let bytes = artifact.raw().bytes(start, end).unwrap();
    assert!(
        UTF_16LE
            .decode_without_bom_handling(&bytes)
            .0
            .contains("\"id\":399")
    );
}

#[test]
fn what_is_no_text_stays_binary_and_damaged_utf8_is_utf8() {
    let offloader = offloader();
    let kind = |bytes: &[u8]| {
        let (facts, handle, _) = stored(&offloader, bytes);
        let artifact = offloader.artifact(handle).unwrap();
        (facts.stats.kind, facts.form.clone(), view(&artifact))
    };
    let elf: Vec<u8> = [
        &b"\x7fELF\x02\x01\x01\0"[..],
        &b"text of a section\n".repeat(9000),
    ]
    .concat();
    let pdf: Vec<u8> = [
        &b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"[..],
        &b"1 0 obj << /A 1 >>\n".repeat(9000),
    ]
    .concat();
    let paths = b"./a/b/c\0./d/e\0".repeat(9000);
    let random = noise(70_000);
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &random].concat();
    for bytes in [&elf, &pdf, &paths, &random, &png] {
        let (kind, form, _) = kind(bytes);
        assert_eq!(
            (kind, form),
            (ContentKind::Binary, RawForm::Plain),
            "{bytes:.20?}"
        );
    }
    // One NUL in 231 KB.
    let mut text = b"a line of some text\n".repeat(11_550);
    text[100_000] = 0;
    text[50] = 0;
    let (kind_of, form, shown) = kind(&text);
    assert_eq!((kind_of, form), (ContentKind::Text, RawForm::Plain));
    assert_eq!(shown.lines().count(), 11_550);
    // The only non-ASCII byte at its start is not valid UTF-8.
    let begins_otherwise = [
        &b"caf\xe9 of a log\n"[..],
        &b"a line of ASCII\n".repeat(9000),
        &"Größe in der Übung\n".repeat(9).into_bytes(),
    ];
    let (_, form, shown) = kind(&begins_otherwise.concat());
    assert_eq!(form, RawForm::Plain);
    assert!(shown.starts_with("caf\u{fffd} of") && shown.ends_with("Größe in der Übung\n"));
    // Mostly UTF-8, with some invalid bytes.
    let broken = [
        &"Größe in der Übung\n".repeat(900).into_bytes()[..],
        b"\xff \xe9 cut\n",
    ]
    .concat();
    let (_, form, shown) = kind(&broken);
    assert_eq!(form, RawForm::Plain);
    assert!(shown.ends_with("\u{fffd} \u{fffd} cut\n"));
}

#[test]
fn a_preview_says_what_the_text_was_decoded_from() {
    let offloader = offloader();
    let raw = [
        &b"\xff\xfe"[..],
        &encoded(&"строка: ошибка\r\n".repeat(400), UTF_16LE),
    ]
    .concat();
    let (_, handle, shown) = stored(&offloader, &raw);
    let shown = shown.replace(&handle.to_string(), "HANDLE");
    let first: Vec<&str> = shown.lines().take(1).collect();
    assert_snapshot!(first.join("\n"), @"[spillgate] tool returned 11200 bytes, 401 lines, 2000 tokens (text, from UTF-16LE); stored whole as HANDLE");
}
