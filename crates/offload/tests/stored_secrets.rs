//! What is stored of a result with secrets, by the setting `stored_secrets`: in all forms that a
//! result can have.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use bytes::Bytes;
use data_encoding::{BASE64, HEXLOWER};
use insta::assert_snapshot;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spillgate_artifact::{Handle, Origin, Reason, TextPart, TokenBudget};
use spillgate_lookup::{GrepQuery, ReadQuery, Span};
use spillgate_offload::{
    Choice, JsonResult, NoLedger, Offloader, Outcome, Policy, Redaction, Rule, StoredSecrets,
    Unstored,
};
use spillgate_retrieval::audience;
use spillgate_store::{MemoryStore, Part, SpooledBytes};
use spillgate_testkit::StoppedClock;
use spillgate_text::Tokenizer;

const KEY: &str = "AKIAQ3EGXZ7LKTPNWB5M";

fn offloader(rule: Rule) -> Offloader {
    Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::Heuristic.counter(),
        audience::usual_tools(),
        Arc::new(StoppedClock::default()),
        Arc::new(NoLedger),
    )
}

fn storing(stored_secrets: StoredSecrets) -> Rule {
    Rule {
        max_tokens: Some(200),
        stored_secrets: Some(stored_secrets),
        ..Rule::default()
    }
}

fn log(lines: usize) -> String {
    let line = |n: usize| match n % 200 {
        7 => format!("upload with {KEY} failed\n"),
        _ => format!("2026-11-25T10:00:{:02}Z worker {n} did its part\n", n % 60),
    };
    (0..lines).map(line).collect()
}

fn records() -> String {
    let record = |n: u32| json!({"id": n, "note": if n == 7 { KEY } else { "nothing" }});
    serde_json::to_string(&(0..400).map(record).collect::<Vec<_>>()).unwrap()
}

/// The result of a tool: two texts, the same as structure, an image, and a file in base64.
fn of_tool() -> (String, Vec<TextPart>) {
    let texts = [log(300), format!("and so did {KEY}, \"twice\"\n")];
    let secret =
        format!("# settings of the server\nAWS_ACCESS_KEY_ID={KEY}\nREGION=eu-central-1\n");
    let image: Vec<u8> = (0..3000_u32)
        .map(|n| (n * n % 251).to_le_bytes()[0])
        .collect();
    let blob = json!({"uri": "file:.env", "blob": BASE64.encode(secret.as_bytes())});
    let result = json!({
        "content": [
            {"type": "text", "text": texts[0]},
            {"type": "text", "text": texts[1]},
            {"type": "image", "mimeType": "image/png", "data": BASE64.encode(&image)},
            {"type": "resource", "resource": blob},
        ],
        "structuredContent": {"texts": texts},
    });
    let result = result.to_string();
    let parts = texts.iter().map(|text| {
        let quoted = json!(text).to_string();
        let start = result.find(&quoted).unwrap() as u64 + 1;
        TextPart {
            start,
            end: start + quoted.len() as u64 - 2,
            is_string: true,
        }
    });
    let parts = parts.collect();
    (result, parts)
}

fn stream(offloader: &Offloader, bytes: &[u8]) -> Outcome {
    let mut reader = bytes;
    let outcome = offloader.stream(Origin::tool("env"), &mut reader, &mut |_| {});
    outcome.unwrap()
}

fn tool_result(offloader: &Offloader, is_spooled: bool) -> Outcome {
    let (result, parts) = of_tool();
    let raw = if is_spooled {
        let mut draft = offloader.store().draft().unwrap();
        draft.write(Part::Raw, result.as_bytes()).unwrap();
        JsonResult::Spooled(SpooledBytes {
            kept: Ok(draft),
            bytes: result.len() as u64,
            sha256: sha256(result.as_bytes()),
        })
    } else {
        JsonResult::from(Bytes::from(result))
    };
    let origin = Origin::tool("env");
    let limits = offloader.limits(&origin);
    let captured = offloader.capture_json(origin, false, raw, parts);
    let pending = offloader.submit(captured, limits);
    pending.settle(Choice::Limits { is_over: None })
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// All forms of results, by name.
fn outcomes(offloader: &Offloader) -> Vec<(&'static str, Outcome)> {
    let overwritten = log(400).replace(" failed", "\rupload done, and the line is written over");
    let coloured = log(400).replace(KEY, "\x1b[31mAKIAQ3EG\x1b[1mXZ7LKTPNWB5M\x1b[0m");
    // Only the readable text shows one of these keys.
    let typed = log(400).replacen(KEY, "AKIAQ3EG??\x08\x08XZ7LKTPNWB5M", 1);
    let utf16: Vec<u8> = log(400).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16 = [&[0xff, 0xfe][..], &utf16].concat();
    let encoded = BASE64.encode(format!("keys\n{KEY}\nand more\n").as_bytes());
    let encoded = log(400).replace(KEY, &encoded);
    let binary = [&[0, 159, 146, 150, 1, 2][..], log(400).as_bytes()].concat();
    vec![
        ("log", stream(offloader, log(400).as_bytes())),
        ("large log", stream(offloader, log(20_000).as_bytes())),
        ("JSON", stream(offloader, records().as_bytes())),
        ("overwritten", stream(offloader, overwritten.as_bytes())),
        ("coloured", stream(offloader, coloured.as_bytes())),
        ("typed over", stream(offloader, typed.as_bytes())),
        ("UTF-16", stream(offloader, &utf16)),
        ("base64", stream(offloader, encoded.as_bytes())),
        ("binary", stream(offloader, &binary)),
        ("tool", tool_result(offloader, false)),
        ("spooled tool", tool_result(offloader, true)),
    ]
}

/// Returns whether bytes show the key in plain text, in UTF-16 or in Base64.
fn has_key(bytes: &[u8]) -> bool {
    let utf16: Vec<u8> = KEY.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // The middle of the key at each of the three places that it can have in Base64.
    let base64 = [0, 1, 2].map(|at| {
        let encoded = BASE64.encode(format!("{}{KEY}", "x".repeat(at)).as_bytes());
        encoded.as_bytes()[4..24].to_vec()
    });
    let plain = [KEY.as_bytes()[4..14].to_vec(), utf16];
    let mut all = plain.into_iter().chain(base64);
    all.any(|one| memchr::memmem::find(bytes, &one).is_some())
}

#[test]
fn marks_are_stored_in_place_of_secrets() {
    let offloader = offloader(storing(StoredSecrets::Redacted));
    let mut told = Vec::new();
    for (name, outcome) in outcomes(&offloader) {
        let Outcome::Offloaded(one) = outcome else {
            panic!("{name} is not stored: {outcome:?}")
        };
        let text = one.shown.text();
        assert!(!has_key(text.as_bytes()), "{name}: {text}");
        let manifest = one.receipt.manifest();
        let artifact = offloader.revealing().artifact(manifest.handle).unwrap();
        let raw = artifact.raw().bytes(0, u64::MAX).unwrap();
        assert!(!has_key(&raw), "{name}: {}", String::from_utf8_lossy(&raw));
        assert_eq!(manifest.facts.sha256, sha256(&raw), "{name}");
        assert_eq!(manifest.facts.raw_bytes, raw.len() as u64, "{name}");
        let mark = GrepQuery::new("redacted: aws-access-key", TokenBudget::new(300));
        let matches = offloader.grep(manifest.handle, &mark).unwrap().render();
        if !["overwritten", "base64"].contains(&name) {
            assert!(matches.contains("[redacted: aws-access-key"), "{name}");
        }
        let secrets = manifest.facts.secrets.as_ref().unwrap();
        assert!(secrets.found.is_empty(), "{name}");
        let kind = match serde_json::from_slice::<Value>(&raw) {
            Ok(_) => "JSON",
            Err(_) => "text",
        };
        told.push(format!("{name}: {kind}, {:?}", secrets.removed));
    }
    assert_snapshot!(told.join("\n"), @r#"
    log: text, {"aws-access-key": 2}
    large log: text, {"aws-access-key": 100}
    JSON: JSON, {"aws-access-key": 1}
    overwritten: text, {"aws-access-key": 2}
    coloured: text, {"aws-access-key": 2}
    typed over: text, {"aws-access-key": 2}
    UTF-16: text, {"aws-access-key": 2}
    base64: text, {"aws-access-key": 2}
    binary: text, {"aws-access-key": 2}
    tool: JSON, {"aws-access-key": 7}
    spooled tool: JSON, {"aws-access-key": 7}
    "#);
}

#[test]
fn what_is_refused_is_neither_stored_nor_shown() {
    let offloader = offloader(storing(StoredSecrets::Refused));
    for (name, outcome) in outcomes(&offloader) {
        let Outcome::NotStored(lost) = outcome else {
            panic!("{name} is not refused: {outcome:?}")
        };
        assert!(matches!(lost.error, Unstored::Secrets { .. }), "{name}");
        assert_eq!(lost.sha256, None, "{name}");
        let text = lost.shown.text();
        assert!(
            !text.contains("worker") && !has_key(text.as_bytes()),
            "{name}: {text}"
        );
        if name == "log" {
            assert_snapshot!(text, @r#"[spillgate] env returned 17882 bytes, 401 lines (log); nothing of it is stored or shown: the output has secrets (2 × aws-access-key), and the user's setting `stored = "refused"` does not allow storing such an output. Ask for the part that has no secrets, or ask the user, who can change the setting."#);
        }
    }
    assert!(offloader.store().list().unwrap().is_empty());
    // A result without secrets is stored, and one that fits passes unchanged.
    let clean = log(400).replace(KEY, "no key");
    assert!(matches!(
        stream(&offloader, clean.as_bytes()),
        Outcome::Offloaded(_)
    ));
    assert!(matches!(
        stream(&offloader, KEY.as_bytes()),
        Outcome::Inline(_)
    ));
}

#[test]
fn a_message_says_that_marks_are_stored() {
    let offloader = offloader(storing(StoredSecrets::Redacted));
    let Outcome::Offloaded(one) = stream(&offloader, log(400).as_bytes()) else {
        panic!("not stored")
    };
    let handle = one.receipt.handle();
    let text = one.shown.text().replace(&handle.to_string(), "HANDLE");
    assert_snapshot!(text.lines().next().unwrap(), @"[spillgate] env returned 17894 bytes, 401 lines, 4474 tokens (log); stored with 2 secrets redacted as HANDLE");
    let query = ReadQuery {
        span: Span::Lines {
            start: 8,
            lines: Some(1),
        },
        budget: TokenBudget::new(100),
    };
    assert_snapshot!(offloader.read(handle, query).unwrap().text, @"upload with [redacted: aws-access-key] failed");
}

#[test]
fn modes_and_what_is_stored_are_independent() {
    let shown = |redact, stored| {
        let rule = Rule {
            redact: Some(redact),
            ..storing(stored)
        };
        let offloader = offloader(rule);
        let outcome = stream(&offloader, log(400).as_bytes());
        let (text, handle) = match &outcome {
            Outcome::Offloaded(one) => (one.shown.text(), Some(one.receipt.handle())),
            Outcome::NotStored(lost) => (lost.shown.text(), None),
            Outcome::Inline(_) => panic!("it fits"),
        };
        let page = |handle: Handle| {
            let query = ReadQuery {
                span: Span::Tail { lines: 500 },
                budget: TokenBudget::new(20_000),
            };
            offloader.read(handle, query).map(|page| page.text)
        };
        let page = handle.map(page);
        let seen = match &page {
            None => "no page",
            Some(Err(_)) => "blocked",
            Some(Ok(page)) if page.contains(KEY) => "key",
            Some(Ok(_)) => "marks",
        };
        let key = if text.contains(KEY) { "key" } else { "no key" };
        format!("{redact}, {stored}: {key}, {seen}")
    };
    let modes = [Redaction::Off, Redaction::Mark, Redaction::Block];
    let stored = [
        StoredSecrets::AsIs,
        StoredSecrets::Redacted,
        StoredSecrets::Refused,
    ];
    let all = modes
        .into_iter()
        .flat_map(|mode| stored.map(|stored| shown(mode, stored)));
    assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @"
    off, as-is: key, key
    off, redacted: no key, marks
    off, refused: no key, no page
    mark, as-is: no key, marks
    mark, redacted: no key, marks
    mark, refused: no key, no page
    block, as-is: no key, blocked
    block, redacted: no key, blocked
    block, refused: no key, no page
    ");
}

#[test]
fn a_small_result_is_covered_if_small_results_are_scanned() {
    let rule = Rule {
        redact: Some(Redaction::All),
        ..storing(StoredSecrets::Redacted)
    };
    let one = match stream(&offloader(rule.clone()), format!("key {KEY}\n").as_bytes()) {
        Outcome::Offloaded(one) => one,
        other => panic!("not stored: {other:?}"),
    };
    let facts = &one.receipt.manifest().facts;
    assert_eq!((facts.reason, facts.raw_bytes), (Reason::Secrets, 31));
    let refusing = Rule {
        stored_secrets: Some(StoredSecrets::Refused),
        ..rule
    };
    let outcome = stream(&offloader(refusing), format!("key {KEY}\n").as_bytes());
    assert!(matches!(outcome, Outcome::NotStored(_)), "{outcome:?}");
}
