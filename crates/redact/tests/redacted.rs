//! Texts with planted secrets: every secret is found, whatever the blocks are, and no byte of it is
//! shown.

#![allow(clippy::cast_possible_truncation, reason = "the texts are small")]

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use spillgate_artifact::ByteSource;
use spillgate_redact::{
    ClearSource, Findings, Marks, RedactedSource, Redactor, Rules, find, find_in_blocks, redact_str,
};

/// Secrets as they stand in a text, with what stands around them.
const PLANTED: [(&str, &str, &str); 14] = [
    (" ", "AKIAQ3EGXZ7LKTPNWB5M", " "),
    ("{\"a\":\"x\\n", "\\u0041KIAQ3EGXZ7LKTPNWB5M", "\\ny\"}\n"),
    (
        "\x1b[31m",
        "ghp_\x1b[0m\x1b[1mq8Zr3LmXv0TbKcYw5NdHs7JfPgEu2Ai94RVo",
        "\x1b[0m ",
    ),
    ("{\"password\":\"", "Tr0ub4dor&3", "\"}\n"),
    ("{\\\"token\\\":\\\"", "kJ8sWq2LpZ0aYxVb", "\\\"}\n"),
    ("postgres://u:", "S3cr3t99", "@host/db\n"),
    (
        "?redirect=%2Fx%3Ftoken%3D",
        "kJ8sWq2LpZ0aYxVb",
        "%26y%3D1\n",
    ),
    (
        " data: \"",
        "cGFzc3dvcmQ9VHIwdWI0ZG9yJjMKdXNlcj1tZQ==",
        "\"\n",
    ),
    (" data: ", "eyJrZXkiOiJBS0lBUTNFR1haN0xLVFBOV0I1TSJ9", "\n"),
    (
        "-----BEGIN PRIVATE KEY-----\n",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp9",
        "\n-----END PRIVATE KEY-----\n",
    ),
    (
        "\"-----BEGIN RSA PRIVATE KEY-----\\n",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp9",
        "\\n-----END RSA PRIVATE KEY-----\"\n",
    ),
    ("Authorization: Basic ", "dXNlcjpUcjB1YjRkb3I=", "\n"),
    ("export PGPASSWORD=", "hunter2x", "\n"),
    (" ", "xoxb-123456789012-abcdefGHIJ0123456789klmn", " "),
];

const FILLERS: [&str; 8] = [
    "2024-05-01T12:00:00Z INFO request 7 took 12 ms\n",
    "{\"id\": 1, \"name\": \"ä ö ü\", \"ok\": true}\n",
    "the token was refused, check the password and the key\n",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n",
    "C:\\Users\\x\\new 100% done \\u00e9 %zz\n",
    "\x1b[32mok\x1b[0m /usr/lib/python3/dist-packages/x.py\n",
    "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO\n",
    "\n",
];

fn text_of(parts: &[(usize, usize)]) -> (String, Vec<Range<usize>>) {
    let mut text = String::new();
    let mut secrets = Vec::new();
    for (filler, planted) in parts {
        text.push_str(FILLERS[filler % FILLERS.len()]);
        if let Some((before, secret, after)) = PLANTED.get(*planted) {
            text.push_str(before);
            secrets.push(text.len()..text.len() + secret.len());
            text.push_str(secret);
            text.push_str(after);
        }
    }
    (text, secrets)
}

fn shown(text: &str, findings: Findings) -> (RedactedSource, Vec<u8>) {
    let source = Arc::new(Bytes::copy_from_slice(text.as_bytes()));
    let redacted =
        RedactedSource::new(source, Arc::new(findings), &Marks::new()).expect("it has few secrets");
    let whole = redacted.bytes(0, redacted.len()).expect("it is in memory");
    (redacted, whole)
}

#[test]
fn each_planted_secret_is_hidden_and_nothing_else() {
    let rules = Rules::builtin();
    for (before, secret, after) in PLANTED {
        let text = format!("first line\n{before}{secret}{after}last line\n");
        let redacted = redact_str(&rules, &Marks::new(), &text);
        let start = format!("first line\n{before}[redacted: ");
        assert!(redacted.starts_with(&start), "{text}\n{redacted}");
        assert!(
            redacted.ends_with(&format!("]{after}last line\n")),
            "{text}\n{redacted}"
        );
    }
}

#[test]
fn a_token_longer_than_its_pattern_is_hidden_whole() {
    let part = "kJ8sWq2LpZ0aYxVb".repeat(1800);
    let text = format!("x eyJhbGciOiJIUzI1NiJ9.{part}.{part} y");
    let redacted = redact_str(&Rules::builtin(), &Marks::new(), &text);
    assert_eq!(redacted, "x [redacted: jwt] y");
}

#[test]
fn redacted_json_stays_valid() {
    let rules = Rules::builtin();
    let secret = "Tr0ub4dor&3";
    let inner =
        serde_json::json!({"password": secret, "list": ["AKIAQ3EGXZ7LKTPNWB5M"]}).to_string();
    let outer = serde_json::json!({
        "inner": inner,
        "twice": serde_json::Value::String(inner.clone()).to_string(),
        "token": "ab\"cd\\ef12345678",
        "password": 12_345_678,
        "pem": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n-----END PRIVATE KEY-----",
    })
    .to_string();
    let redacted = redact_str(&rules, &Marks::new(), &outer);
    let value: serde_json::Value = serde_json::from_str(&redacted).expect(&redacted);
    for hidden in [secret, "AKIAQ3", "ef1234", "MIIEvQ"] {
        assert!(!redacted.contains(hidden), "{redacted}");
    }
    let inner: serde_json::Value = serde_json::from_str(value["inner"].as_str().unwrap()).unwrap();
    assert_eq!(inner["password"], "[redacted: password]");
}

#[test]
fn a_secret_at_any_distance_from_a_block_is_found() {
    let rules = Rules::builtin();
    let block = 16 << 10;
    for (before, secret, after) in PLANTED {
        for shift in (0..before.len() + secret.len() + 2).step_by(3) {
            let filler = ". ".repeat(block / 2);
            let text = format!("{}{before}{secret}{after}{filler}", &filler[shift..]);
            let start = filler.len() - shift + before.len();
            let source = Bytes::from(text.clone());
            let found = find_in_blocks(&rules, &source, block as u64).unwrap();
            let spans: Vec<_> = found
                .spans()
                .iter()
                .map(|it| (it.start as usize, it.end as usize))
                .collect();
            assert_eq!(spans, [(start, start + secret.len())], "{secret} {shift}");
        }
    }
}

#[test]
fn a_clear_source_is_searched_only_where_it_is_read() {
    let filler = "nothing to see here\n".repeat(20_000);
    let text = format!("{filler}token ghp_q8Zr3LmXv0TbKcYw5NdHs7JfPgEu2Ai94RVo\n{filler}");
    let at = filler.len() as u64;
    let source: Arc<dyn ByteSource> = Arc::new(Bytes::from(text));
    let clear = || ClearSource::in_blocks(Arc::clone(&source), Redactor::builtin(), 64 << 10);
    let mut buffer = Vec::new();
    let far = clear();
    assert!(far.bytes(0, at - (200 << 10)).is_ok());
    assert!(
        far.window(at + (200 << 10), source.len(), &mut buffer)
            .is_ok()
    );
    assert!(!far.has_met_secrets() && !far.is_all_clear());
    for (start, end) in [(0, source.len()), (at + 8, at + 9), (at - 9, at)] {
        let near = clear();
        let error = near.bytes(start, end).unwrap_err();
        assert_eq!(error.to_string(), "the text has secrets here");
        assert!(near.has_met_secrets());
        assert!(near.file().is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn blocks_and_ranges_make_no_difference(
        parts in prop::collection::vec((0..9_usize, 0..40_usize), 1..60),
        block in 40..5000_u64,
        ranges in prop::collection::vec((0..9000_u64, 0..400_u64), 30),
    ) {
        let rules = Rules::builtin();
        let (text, secrets) = text_of(&parts);
        let source = Bytes::copy_from_slice(text.as_bytes());
        let found = find(&rules, &source).unwrap();
        prop_assert_eq!(&find_in_blocks(&rules, &source, block).unwrap(), &found);
        for secret in &secrets {
            let hidden = found.spans().iter().any(|it| it.start as usize <= secret.start && it.end as usize >= secret.end);
            prop_assert!(hidden, "{}", &text[secret.clone()]);
        }
        let (redacted, whole) = shown(&text, found.clone());
        for (_, secret, _) in PLANTED {
            prop_assert!(memchr::memmem::find(&whole, secret.as_bytes()).is_none());
        }
        prop_assert_eq!(whole.len() as u64, redacted.len());
        prop_assert!(std::str::from_utf8(&whole).is_ok());
        for (start, length) in ranges {
            let (start, end) = (start.min(redacted.len()), (start + length).min(redacted.len()));
            let want = &whole[start as usize..end as usize];
            prop_assert_eq!(&redacted.bytes(start, end).unwrap()[..], want);
            let mut buffer = Vec::new();
            prop_assert_eq!(redacted.window(start, end, &mut buffer).unwrap(), want);
        }
        for offset in 0..=text.len() as u64 {
            let span = found.spans().iter().find(|it| it.start < offset && offset < it.end);
            let (there, there_end) = (redacted.to_redacted(offset), redacted.to_redacted_end(offset));
            match span {
                None => {
                    prop_assert_eq!(there, there_end);
                    prop_assert_eq!(redacted.to_original(there), offset);
                    prop_assert_eq!(redacted.to_original_end(there), offset);
                }
                Some(span) => {
                    prop_assert_eq!(redacted.to_original(there), span.start);
                    prop_assert_eq!(redacted.to_original_end(there_end), span.end);
                    prop_assert!(whole[there as usize..there_end as usize].starts_with(b"[redacted: "));
                    prop_assert_eq!(redacted.to_original(there + 1), span.start);
                    prop_assert_eq!(redacted.to_original_end(there + 1), span.end);
                }
            }
        }
    }

    #[test]
    fn what_can_be_read_of_a_clear_source_has_no_byte_of_a_secret(
        parts in prop::collection::vec((0..9_usize, 0..400_usize), 1..60),
        block in 40..5000_u64,
        far in 0..3_usize,
        ranges in prop::collection::vec((0.0..1.0_f64, 0..4000_u64), 30),
    ) {
        let (text, _) = text_of(&parts);
        // Secrets are so far apart that blocks between them can be read.
        let gap = ". ".repeat(far * 80_000);
        let text = format!("{text}{gap}{text}{gap}");
        let source: Arc<dyn ByteSource> = Arc::new(Bytes::from(text.clone()));
        let redactor = Redactor::builtin();
        let block = block * (1 + far as u64 * 20);
        let found = find_in_blocks(redactor.rules(), &*source, block).unwrap();
        let clear = ClearSource::in_blocks(Arc::clone(&source), Arc::clone(&redactor), block);
        for (start, length) in ranges {
            #[allow(clippy::cast_sign_loss, reason = "it is positive")]
            let start = (start * text.len() as f64) as u64;
            let end = (start + length).min(text.len() as u64);
            let hits = found.spans().iter().any(|it| it.start < end && it.end > start);
            match clear.bytes(start, end) {
                Ok(read) => {
                    prop_assert!(!hits || start == end);
                    prop_assert_eq!(&read, &text.as_bytes()[start as usize..end as usize]);
                }
                Err(_) => prop_assert!(!found.is_empty() && clear.has_met_secrets()),
            }
        }
        let whole = clear.bytes(0, u64::MAX);
        prop_assert_eq!(whole.is_ok(), found.is_empty());
        prop_assert_eq!(clear.is_all_clear(), found.is_empty());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let source = Bytes::from(bytes);
        let found = find(&Rules::builtin(), &source).unwrap();
        prop_assert!(found.spans().iter().all(|it| it.end <= source.len() as u64));
    }

    #[test]
    fn hostile_texts_never_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "password", "=", "\"", "\\", "\\\"", "token", ":", "-----BEGIN ", "PRIVATE KEY", "-----", "-----END ", "://",
            "@", "%41", "%", "\x1b[", "\x1b", "u0041", "eyJ", ".", "AKIA", "A", "\n", " ", "sk-", "QUtJQQ", "==", "MII",
            "ä", "'", "{", "curl ", " -u ", "Basic ", "earer ", "xoxb-1", "value", ",",
        ]), 0..80),
        block in 1..60_u64,
    ) {
        let text = parts.concat();
        let source = Bytes::copy_from_slice(text.as_bytes());
        let found = find_in_blocks(&Rules::builtin(), &source, block).unwrap();
        let (_, whole) = shown(&text, found);
        prop_assert!(std::str::from_utf8(&whole).is_ok());
    }
}
