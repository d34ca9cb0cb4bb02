//! Tests of captures of JSON results, and of hashes.

use spillgate_store::{ArtifactStore, MemoryStore};

use super::*;

#[test]
fn a_text_that_stays_as_it_is_is_its_view_at_once() {
    let lines = "10:00:01 INFO a line of a log\n".repeat(4000);
    let cases = [
        (lines.clone(), true),
        ("short".to_owned(), true),
        (String::new(), true),
        (lines.clone() + "\u{1b}[1mloud", false),
        (
            format!("{{\"items\":[{}]}}", vec!["17"; 4000].join(",")),
            false,
        ),
    ];
    for (text, is_view) in cases {
        let raw = serde_json::to_vec(&text).unwrap();
        let part = TextPart {
            start: 1,
            end: raw.len() as u64 - 1,
            is_string: true,
        };
        let mut draft = MemoryStore::default().draft().unwrap();
        draft.write(Part::Raw, &raw).unwrap();
        let looked = Looked::at(&mut *draft, &[part]).unwrap();
        let view = draft.read(Part::View).unwrap().bytes(0, u64::MAX).unwrap();
        assert_eq!(looked.is_view, is_view, "{text:.40}");
        assert_eq!(view, if is_view { text.as_bytes() } else { b"" });
        assert_eq!(looked.scan.bytes, text.len() as u64);
    }
}

#[test]
fn the_ends_of_a_part_are_decoded_wherever_they_are_cut() {
    let raw = r#"{"text":"first \u00e4 line\nlong enough \ud83d\ude80 to be cut, and the end"}"#;
    let part = TextPart {
        start: 9,
        end: raw.len() as u64 - 2,
        is_string: true,
    };
    let text = |from: usize, to: usize| {
        let inside = stretch(&raw.as_bytes()[from..to], from as u64, part);
        String::from_utf8(inside).unwrap()
    };
    let whole: String = serde_json::from_str::<serde_json::Value>(raw).unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(text(0, raw.len()), whole);
    assert_eq!(text(0, 30), "first ä line\nlo");
    // From any offset on, the result is the end of the text without a fragment of an escape.
    for from in 10..raw.len() - 20 {
        let end = text(from, raw.len());
        assert!(whole.ends_with(&end) && end.len() > 10, "{from}: {end}");
    }
}

#[test]
fn the_hash_of_nothing() {
    assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
}

#[test]
fn the_beginning_is_read_in_blocks_and_tells_how_far_it_is() {
    for (bytes, most, told) in [
        (3, 10, vec![]),
        (4, 10, vec![4]),
        (9, 10, vec![4, 8]),
        (99, 10, vec![4, 8]),
    ] {
        let (stream, mut seen) = (vec![b'x'; bytes], Vec::new());
        let read = beginning(&mut &*stream, most, 4, &mut |at| seen.push(at)).unwrap();
        assert_eq!((read.len(), seen), (bytes.min(most), told), "{bytes}");
    }
}
