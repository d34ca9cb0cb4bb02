//! Tests for decoding texts, and for the note about it.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252,
};
use serde_json::json;

use super::{read, reads};

const FRENCH: &str = "Le café est prêt.\nÇa coûte cinq euros, déjà payés à l'hôtel.\n";
const RUSSIAN: &str = "Привет, мир!\nЭто обычный русский текст из нескольких слов.\n";
const JAPANESE: &str =
    "こんにちは世界。\n日本語のテキストファイルです。カタカナも漢字もあります。\n";
const CHINESE: &str = "你好,世界。\n这是一个简体中文的文本文件,里面有很多常用的汉字。\n";
const TAIWANESE: &str = "你好,世界。\n這是一個繁體中文的文字檔案,裡面有很多常用的漢字。\n";
const KOREAN: &str = "안녕하세요 세계.\n이것은 한국어로 된 평범한 텍스트 파일입니다.\n";

fn utf16(text: &str, mark: bool, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mark = mark.then_some(0xfeff);
    let units = mark.into_iter().chain(text.encode_utf16());
    units.flat_map(unit).collect()
}

fn encoded(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    let (bytes, _, failed) = encoding.encode(text);
    assert!(!failed, "{}", encoding.name());
    bytes.into_owned()
}

#[test]
fn texts_in_all_encodings() {
    let legacy = [
        (WINDOWS_1252, FRENCH),
        (WINDOWS_1251, RUSSIAN),
        (KOI8_R, RUSSIAN),
        (SHIFT_JIS, JAPANESE),
        (EUC_JP, JAPANESE),
        (GB18030, CHINESE),
        (BIG5, TAIWANESE),
        (EUC_KR, KOREAN),
    ];
    for (encoding, text) in legacy {
        let answer = read(&encoded(encoding, text), json!({}));
        // If two encodings cannot be distinguished, the name of the other one is reported.
        let name = match encoding.name() {
            "gb18030" => "GBK",
            "KOI8-R" => "KOI8-U",
            name => name,
        };
        assert_eq!(answer, format!("[Decoded from {name}]\n{text}"));
    }
    for text in [FRENCH, RUSSIAN, JAPANESE] {
        assert_eq!(read(text.as_bytes(), json!({})), text);
        // Without a byte order mark, only text with many ASCII characters is recognized.
        let marks: &[bool] = if text == FRENCH {
            &[true, false]
        } else {
            &[true]
        };
        for &mark in marks {
            let le = read(&utf16(text, mark, u16::to_le_bytes), json!({}));
            let be = read(&utf16(text, mark, u16::to_be_bytes), json!({}));
            assert_eq!(le, format!("[Decoded from UTF-16LE]\n{text}"));
            assert_eq!(be, format!("[Decoded from UTF-16BE]\n{text}"));
        }
    }
}

#[test]
fn pages_of_encoded_texts() {
    let calls = [json!({"limit": 1}), json!({"offset": 1})];
    let text = "première\ndernière, à la fin du texte\n";
    let texts = [
        format!("\u{feff}{text}").into_bytes(),
        utf16(text, true, u16::to_le_bytes),
        utf16(text, true, u16::to_be_bytes),
        encoded(WINDOWS_1252, text),
        b"an ordinary line, d\xc3\xa9j\xc3\xa0 vu\nbytes \xff\xfe here and \xc3 here\n".to_vec(),
    ];
    let answers = texts.map(|text| reads(&text, &calls).concat());
    insta::assert_snapshot!(answers.join("----\n"), @"
    [Lines 1-1 of 2]
    [Decoded from UTF-8 with a byte order mark]
    première
    [Lines 2-2 of 2]
    dernière, à la fin du texte
    ----
    [Lines 1-1 of 2]
    [Decoded from UTF-16LE]
    première
    [Lines 2-2 of 2]
    [Decoded from UTF-16LE]
    dernière, à la fin du texte
    ----
    [Lines 1-1 of 2]
    [Decoded from UTF-16BE]
    première
    [Lines 2-2 of 2]
    [Decoded from UTF-16BE]
    dernière, à la fin du texte
    ----
    [Lines 1-1 of 2]
    [Decoded from windows-1252]
    première
    [Lines 2-2 of 2]
    [Decoded from windows-1252]
    dernière, à la fin du texte
    ----
    [Lines 1-1 of 2]
    an ordinary line, déjà vu
    [Lines 2-2 of 2]
    [Bytes that are no text in 3 places, shown as U+FFFD]
    bytes �� here and � here
    ");
}

#[test]
fn bytes_that_come_late() {
    let mut text = "plain ascii\n".repeat(7000).into_bytes();
    text.extend_from_slice(b"caf\xe9 au lait, tr\xe8s bon\n");
    let calls = [json!({"offset": 6999}), json!({"offset": 6998, "limit": 1})];
    insta::assert_snapshot!(reads(&text, &calls).concat(), @"
    [Lines 7000-7001 of 7001]
    [Decoded from windows-1252]
    plain ascii
    café au lait, très bon
    [Lines 6999-6999 of 7001]
    plain ascii
    ");
}

#[test]
fn utf16_is_measured_as_what_it_becomes() {
    let note = "[Decoded from UTF-16LE]\n".len();
    let text = "x".repeat(100_003 - note);
    let answer = read(&utf16(&text, true, u16::to_le_bytes), json!({}));
    assert_eq!(answer.len(), 100_003);
    let large = "words of ascii\n".repeat(40_000);
    let large = utf16(&large, true, u16::to_le_bytes);
    let calls = [
        json!({}),
        json!({"offset": 100, "limit": 30_000}),
        json!({"offset": 39_999}),
    ];
    insta::assert_snapshot!(reads(&large, &calls).join("\n"), @"
    Error: File content (~150000 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.
    Error: File content (~112500 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.
    [Lines 40000-40000 of 40000]
    [Decoded from UTF-16LE]
    words of ascii
    ");
}

/// A character that is split at the end of the sample does not change the detected encoding.
#[test]
fn a_character_at_the_end_of_the_sample() {
    for before in 65_530..65_540 {
        let text = format!("{}é漢🚀, and so on", "x".repeat(before));
        assert_eq!(read(text.as_bytes(), json!({})), text);
    }
}
