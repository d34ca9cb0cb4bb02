//! Tests of what a program receives of an oversized result.

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use serde_json::json;
use spillgate_mcp::messages;
use spillgate_offload::{Exit, Ledger, LedgerEntry, Redaction, Rule};
use spillgate_testkit::{log, records};

use super::super::*;
use super::{block, case_of};
use crate::fixture::{offloader_with, replaced, without_previews};

/// A ledger that keeps what it records.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<String>>);

impl Ledger for Kept {
    fn record(&self, entry: LedgerEntry) {
        let said = match entry.exit {
            Exit::Program => {
                assert_eq!(entry.tokens_in, entry.tokens_shown);
                format!("program {}", entry.bytes_in)
            }
            other => json!(other).as_str().unwrap().to_owned(),
        };
        self.0.lock().unwrap().push(said);
    }

    fn inline(&self, _: u64) {
        self.0.lock().unwrap().push("inline".to_owned());
    }
}

/// Returns what a client receives of a result and what the ledger records. Large parts that are
/// unchanged are masked.
fn received(rule: &Rule, result: &str) -> String {
    let frame = format!("{{\"id\":1,\"result\":{result}}}");
    let kept = Arc::<Kept>::default();
    let offloader = offloader_with(rule.clone()).with_ledger(Arc::clone(&kept) as Arc<dyn Ledger>);
    let case = case_of(&offloader);
    let raw = messages(frame.as_bytes())[0].result.unwrap().get();
    let (splice, stored) = replaced(&offloader, case, frame.as_bytes(), raw);
    let left = String::from_utf8(splice.apply(frame.as_bytes())).unwrap();
    let mut shown = match left == frame {
        true => "unchanged".to_owned(),
        false => without_previews(&left),
    };
    for (large, name) in [(json!(log(600)).to_string(), "LOG"), (records(400), "ROWS")] {
        shown = shown.replace(&large, name);
    }
    let recorded = kept.0.lock().unwrap().join(", ");
    let stored = if stored { "stored" } else { "not stored" };
    format!("{shown}\n  {stored}; {recorded}")
}

fn rule(results: ResultMode) -> Rule {
    Rule {
        results: Some(results),
        ..Rule::default()
    }
}

#[test]
fn each_mode_and_each_form_of_a_result() {
    let (log, rows) = (log(600), records(400));
    let forms = [
        ("text only", format!(r#"{{"content":[{}]}}"#, block(&log))),
        (
            "text and structured content",
            format!(
                r#"{{"content":[{}],"structuredContent":{rows}}}"#,
                block(&rows)
            ),
        ),
        (
            "a summary and structured content",
            format!(
                r#"{{"content":[{}],"structuredContent":{rows}}}"#,
                block("400 rows")
            ),
        ),
        (
            "structured content only",
            format!(r#"{{"content":[],"structuredContent":{rows}}}"#),
        ),
        (
            "failed",
            format!(
                r#"{{"content":[{}],"structuredContent":{rows},"isError":true}}"#,
                block(&log)
            ),
        ),
        (
            "small",
            r#"{"content":[],"structuredContent":{"a":1.0}}"#.to_owned(),
        ),
    ];
    let mut all = Vec::new();
    for results in [
        ResultMode::Preview,
        ResultMode::Structured,
        ResultMode::Whole,
    ] {
        for (name, result) in &forms {
            all.push(format!(
                "{results}, {name}: {}",
                received(&rule(results), result)
            ));
        }
    }
    assert_snapshot!(all.join("\n"), @r#"
    preview, text only: {"id":1,"result":{"content":[{"type":"text","text":PREVIEW}]}}
      stored; offloaded
    preview, text and structured content: {"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"structuredContent":{"spillgate":PREVIEW}}}
      stored; offloaded
    preview, a summary and structured content: {"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"structuredContent":{"spillgate":PREVIEW}}}
      stored; offloaded
    preview, structured content only: {"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}],"structuredContent":{"spillgate":PREVIEW}}}
      stored; offloaded
    preview, failed: {"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"structuredContent":{"spillgate":PREVIEW},"isError":true}}
      stored; offloaded
    preview, small: unchanged
      not stored; inline
    structured, text only: {"id":1,"result":{"content":[{"type":"text","text":PREVIEW}]}}
      stored; offloaded
    structured, text and structured content: {"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"structuredContent":ROWS}}
      stored; program 36981, offloaded
    structured, a summary and structured content: unchanged
      not stored; program 36981
    structured, structured content only: {"id":1,"result":{"content":[{"text":PREVIEW,"type":"text"}],"structuredContent":ROWS}}
      stored; program 36981, offloaded
    structured, failed: {"id":1,"result":{"content":[{"type":"text","text":PREVIEW}],"structuredContent":ROWS,"isError":true}}
      stored; program 36981, offloaded
    structured, small: unchanged
      not stored; inline
    whole, text only: unchanged
      not stored; program 38594
    whole, text and structured content: unchanged
      not stored; program 45787
    whole, a summary and structured content: unchanged
      not stored; program 36981
    whole, structured content only: unchanged
      not stored; program 36981
    whole, failed: unchanged
      not stored; program 38594
    whole, small: unchanged
      not stored; inline
    "#);
}

#[test]
fn secrets_reach_no_program_where_small_results_are_scanned() {
    let key = ["AKIA", "Z7QTRLB2WPXM5NCV"].concat();
    let rows = records(400).replacen("item 7\"", &format!("item {key}\""), 1);
    assert!(rows.contains(&key));
    let result = format!(
        r#"{{"content":[{}],"structuredContent":{rows}}}"#,
        block(&log(600))
    );
    let mut all = Vec::new();
    for results in [ResultMode::Structured, ResultMode::Whole] {
        for (redact, stored) in [
            (Redaction::Off, StoredSecrets::AsIs),
            (Redaction::Mark, StoredSecrets::AsIs),
            (Redaction::All, StoredSecrets::AsIs),
            (Redaction::Block, StoredSecrets::AsIs),
            (Redaction::Mark, StoredSecrets::Redacted),
            (Redaction::Mark, StoredSecrets::Refused),
        ] {
            let rule = Rule {
                redact: Some(redact),
                stored_secrets: Some(stored),
                ..rule(results)
            };
            let received = received(&rule, &result);
            let secret = if received.contains(&key) || received.contains("unchanged") {
                "has the secret"
            } else {
                "no secret"
            };
            all.push(format!("{results}, {redact}, {stored}: {secret}"));
            // A result without secrets passes in every mode.
            let clean = result.replace(&key, "x");
            let kept = self::received(&rule, &clean);
            let is_kept = kept.starts_with("unchanged") || kept.contains(r#""total":400"#);
            assert!(is_kept, "{results}, {redact}, {stored}: {kept}");
        }
    }
    assert_snapshot!(all.join("\n"), @r"
    structured, off, as-is: has the secret
    structured, mark, as-is: has the secret
    structured, all, as-is: no secret
    structured, block, as-is: no secret
    structured, mark, redacted: no secret
    structured, mark, refused: no secret
    whole, off, as-is: has the secret
    whole, mark, as-is: has the secret
    whole, all, as-is: no secret
    whole, block, as-is: no secret
    whole, mark, redacted: no secret
    whole, mark, refused: no secret
    ");
}
