//! Tests decisions 1 to 26 (docs/spec/sources.md, "Decisions of the extraction design"). Each has a
//! test with its number in the name, or a line in ADR 8.

use std::sync::Arc;

use serde_json::json;
use spillgate_artifact::SystemClock;
use spillgate_extract::{ExtractionSettings, Extractor, Mode, NoWatch, Op, Status, Strategy};
use spillgate_llm::Scripted;
use spillgate_offload::{NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_retrieval::audience;
use spillgate_store::{ArtifactStore, FileStore, Lifetime};
use spillgate_testkit::{log, records};
use spillgate_text::Tokenizer;

use super::{asked, data, offloader, oracle, origin, says, stored};

/// The source of this file, which names the decisions that are tested.
const TESTS: &str = include_str!("decisions.rs");
/// The ADR that records the decisions that no test checks.
const RECORD: &str = include_str!("../../../../docs/decisions/0008-extraction.md");

#[test]
fn every_decision_is_tested_or_recorded() {
    let missing: Vec<u32> = (1..=26)
        .filter(|n| !TESTS.contains(&format!("fn decision_{n:02}_")))
        .filter(|n| !RECORD.contains(&format!("Decision {n}:")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn in_files(lifetime: Lifetime) -> (tempfile::TempDir, Arc<FileStore>, Offloader) {
    let base = tempfile::tempdir().unwrap();
    let store = Arc::new(FileStore::new(base.path(), lifetime, Arc::new(SystemClock)));
    let rule = Rule {
        profile: Some(Profile::Handle),
        max_bytes: Some(12_288),
        ..Rule::default()
    };
    let offloader = Offloader::new(
        Arc::clone(&store) as Arc<dyn ArtifactStore>,
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::O200kBase.counter(),
        audience::usual_tools(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    );
    (base, store, offloader)
}

/// Decision 1: storage under a directory. Decision 9: each output is a file with a random name.
/// Decision 26: handles are `session-<uuid>/<file-uuid>` under one root.
#[test]
fn decision_01_files_under_a_base_directory() {
    let (base, _store, offloader) = in_files(Lifetime::Session);
    let one = stored(&offloader, log(600).as_bytes()).to_string();
    assert!(base.path().join(&one).is_file(), "{one}");
}

#[test]
fn decision_09_each_output_is_a_random_file() {
    let (_base, _store, offloader) = in_files(Lifetime::Session);
    let text = log(600);
    let handles: Vec<String> = (0..3)
        .map(|_| stored(&offloader, text.as_bytes()).to_string())
        .collect();
    let (session, file) = handles[0].split_once('/').unwrap();
    assert!(handles[1].starts_with(session) && !handles[1].ends_with(file));
    assert_ne!(handles[1], handles[2]);
}

#[test]
fn decision_26_handles_are_paths_under_one_root() {
    let (base, _store, offloader) = in_files(Lifetime::Session);
    let handle = stored(&offloader, log(600).as_bytes()).to_string();
    let (session, file) = handle.split_once('/').unwrap();
    assert!(session.starts_with("session-") && session.len() == 8 + 36 && file.len() == 36);
    assert!(base.path().join(session).is_dir());
}

/// Decision 2: no limits within a session. Decision 13: outputs are kept until the session ends.
#[test]
fn decision_02_outputs_go_with_the_session_and_not_before() {
    let (base, store, offloader) = in_files(Lifetime::Session);
    let handles: Vec<_> = (0..20)
        .map(|_| stored(&offloader, log(600).as_bytes()))
        .collect();
    assert!(handles.iter().all(|&handle| store.manifest(handle).is_ok()));
    drop((offloader, store));
    let left: Vec<_> = std::fs::read_dir(base.path())
        .unwrap()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("session-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn decision_13_an_output_can_be_asked_again_and_again() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    for _ in 0..3 {
        let found = asked(
            &offloader,
            handle,
            Some(Arc::new(oracle("E4217"))),
            ExtractionSettings::default(),
            Mode::Auto,
            "the error",
        )
        .await;
        assert_eq!(found.status, Status::Found);
    }
}

/// Decision 3: "Default `MAX_CHUNKS_FOR_FULL_MODE` = 1" and "avg line size > 1000 bytes →
/// full-chunked". Both are configurable.
#[tokio::test]
async fn decision_03_size_and_lines_route() {
    let lines = log(9000);
    let json = records(9000);
    for (text, max_chunks, threshold, strategy) in [
        (&lines, 1, 1000, Strategy::ReadGrep),
        (&lines, 100, 1000, Strategy::FullChunked),
        (&lines, 1, 40, Strategy::FullChunked),
        (&json, 1, 1000, Strategy::FullChunked),
    ] {
        let offloader = offloader();
        let handle = stored(&offloader, text.as_bytes());
        let settings = ExtractionSettings {
            max_chunks,
            avg_line_bytes_threshold: threshold,
            ..ExtractionSettings::default()
        };
        let model = Scripted::new(|seen| Ok(says(&seen.request, "NO RELEVANT DATA FOUND")));
        let found = asked(
            &offloader,
            handle,
            Some(Arc::new(model)),
            settings,
            Mode::Auto,
            "x",
        )
        .await;
        assert_eq!(
            found.strategy, strategy,
            "{max_chunks} chunks, {threshold} bytes"
        );
    }
}

/// Decision 4: "return truncate with explicit warning" and "Not found is not a failure".
#[tokio::test]
async fn decision_04_a_failure_is_a_truncation_with_a_warning() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    for (mode, reason) in [
        (Mode::FullChunked, "full-chunked failed"),
        (Mode::ReadGrep, "read-grep failed"),
    ] {
        let silent = Scripted::new(|_| Ok(Scripted::says("")));
        let found = asked(
            &offloader,
            handle,
            Some(Arc::new(silent)),
            ExtractionSettings::default(),
            mode,
            "x",
        )
        .await;
        let first = found.body.lines().next().unwrap();
        assert_eq!(
            first,
            format!("WARNING: tool_output fallback to truncate ({reason}).")
        );
        assert!(found.text().contains(", STRATEGY:truncate:\n\nWARNING: "));
        let honest =
            Scripted::new(|seen| Ok(says(&seen.request, "NO RELEVANT DATA FOUND\nlog lines")));
        let found = asked(
            &offloader,
            handle,
            Some(Arc::new(honest)),
            ExtractionSettings::default(),
            mode,
            "x",
        )
        .await;
        assert_eq!(
            (found.status, found.strategy.name()),
            (Status::NotFound, mode.name())
        );
    }
}

/// Decision 5: "keep truncate as a single mode". If the mode is requested, the answer carries no
/// warning (a correction of the shipped system).
#[tokio::test]
async fn decision_05_truncate_keeps_top_and_bottom() {
    let offloader = offloader();
    let handle = stored(&offloader, log(3000).as_bytes());
    let found = asked(
        &offloader,
        handle,
        None,
        ExtractionSettings::default(),
        Mode::Truncate,
        "x",
    )
    .await;
    let lines: Vec<&str> = found.body.lines().collect();
    assert!(
        lines[0].starts_with("[TRUNCATED IN THE MIDDLE BY ~"),
        "{}",
        lines[0]
    );
    assert!(lines[1].starts_with("2026-11-21T10:00:00Z"));
    assert!(lines.last().unwrap().contains("2026-11-21T10:49:59Z"));
    assert_eq!((found.status, found.calls), (Status::Partial, 0));
}

/// Decision 6: "closing tag is optional (models may omit it)".
#[tokio::test]
async fn decision_06_the_closing_tag_is_optional() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let model = Scripted::new(|seen| {
        let mut reply = says(&seen.request, "\"E4217\" [L501]");
        reply.text = reply.text.split("</ai-agent").next().unwrap().to_owned();
        Ok(reply)
    });
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        ExtractionSettings::default(),
        Mode::FullChunked,
        "the code",
    )
    .await;
    assert!(found.body.starts_with("\"E4217\" [L501]"), "{}", found.body);
}

/// Decision 7: "return handle only; model calls `tool_output` explicitly". Decision 10: only
/// oversized outputs are stored. Decision 11: the size is judged by bytes or by the projected
/// context. Decision 12: the message is the tool's result.
#[test]
fn decision_07_the_message_is_a_handle_and_nothing_more() {
    let (_base, _store, offloader) = in_files(Lifetime::Session);
    let mut reader: &[u8] = &log(600).into_bytes();
    let Outcome::Offloaded(offloaded) = offloader
        .stream(origin(), &mut reader, &mut |_| {})
        .unwrap()
    else {
        panic!("not stored")
    };
    let text = offloaded.shown.text();
    assert!(
        text.starts_with("Tool output is too large (") && text.lines().count() == 3,
        "{text}"
    );
    assert!(!text.contains("E4217"));
}

#[test]
fn decision_10_only_oversized_outputs_are_stored() {
    let (_base, _store, offloader) = in_files(Lifetime::Session);
    for (bytes, is_stored) in [(12_288, false), (12_289, true)] {
        let text = "x".repeat(bytes);
        let outcome = offloader
            .stream(origin(), &mut text.as_bytes(), &mut |_| {})
            .unwrap();
        assert_eq!(
            matches!(outcome, Outcome::Offloaded(_)),
            is_stored,
            "{bytes}"
        );
    }
}

/// Decision 8: "Only Read and Grep".
#[tokio::test]
async fn decision_08_the_child_has_two_tools() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let model = Arc::new(Scripted::new(|seen| {
        Ok(says(&seen.request, "NO RELEVANT DATA FOUND"))
    }));
    asked(
        &offloader,
        handle,
        Some(model.clone()),
        ExtractionSettings::default(),
        Mode::ReadGrep,
        "x",
    )
    .await;
    let tools: Vec<String> = model.seen()[0]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(tools, ["Read", "Grep"]);
}

/// Decision 17: "Include tool name + arguments", with the arguments as "verbatim JSON string".
#[tokio::test]
async fn decision_17_prompts_name_the_tool_and_its_arguments() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    for mode in [Mode::FullChunked, Mode::ReadGrep] {
        let model = Arc::new(Scripted::new(|seen| {
            Ok(says(&seen.request, "NO RELEVANT DATA FOUND"))
        }));
        asked(
            &offloader,
            handle,
            Some(model.clone()),
            ExtractionSettings::default(),
            mode,
            "x",
        )
        .await;
        let source =
            "SOURCE TOOL\n- Name: fetch_log\n- Arguments (verbatim JSON): {\"query\":\"worker\"}\n";
        assert!(
            model.seen()[0].system.contains(source),
            "{}",
            model.seen()[0].system
        );
    }
}

/// Decision 20: "Configurable". An extractor asks only the model that it was given.
#[tokio::test]
async fn decision_20_the_model_is_configurable() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(oracle("E4217"))),
        ExtractionSettings::default(),
        Mode::FullChunked,
        "x",
    )
    .await;
    let targets = targets(&found.trace);
    assert_eq!(targets, ["scripted/model"]);
}

fn targets(op: &Op) -> Vec<String> {
    let below = op.children.iter().flat_map(targets);
    op.target.clone().into_iter().chain(below).collect()
}

/// Decision 22: "store sanitized output". The view is readable text; the raw bytes are kept, too.
#[tokio::test]
async fn decision_22_the_model_sees_sanitized_text() {
    let offloader = offloader();
    let text = format!("{}\u{1b}[31mred\u{1b}[0m E4217\n", log(20));
    let handle = stored(&offloader, text.as_bytes());
    let model = Arc::new(oracle("E4217"));
    asked(
        &offloader,
        handle,
        Some(model.clone()),
        ExtractionSettings::default(),
        Mode::FullChunked,
        "x",
    )
    .await;
    assert!(
        data(&model.seen()[0]).contains("|red E4217"),
        "{}",
        data(&model.seen()[0])
    );
    let raw = offloader
        .artifact(handle)
        .unwrap()
        .raw()
        .bytes(0, u64::MAX)
        .unwrap();
    assert_eq!(raw, text.as_bytes());
}

/// Decision 24: "Store summary-only requests (message count + byte size) and truncate response
/// previews" to 4096 bytes.
#[tokio::test]
async fn decision_24_a_trace_keeps_figures_and_previews() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let model = Scripted::new(|seen| Ok(says(&seen.request, &"é".repeat(5000))));
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        ExtractionSettings::default(),
        Mode::FullChunked,
        "x",
    )
    .await;
    let strategy = found
        .trace
        .children
        .iter()
        .find(|op| op.name == "full-chunked")
        .unwrap();
    let call = &strategy.children[0];
    assert_eq!(call.messages, Some(2));
    assert!(call.request_bytes.unwrap() > 30_000);
    assert!(call.response_bytes.unwrap() > 10_000);
    assert!(call.response_preview.as_ref().unwrap().len() <= 4096);
    let whole = json!(found.trace).to_string();
    assert!(
        whole.len() < 10_000 && !whole.contains("worker-3 code="),
        "{} bytes",
        whole.len()
    );
}

/// Decision 25: "Restore legacy truncation when `tool_output` is disabled", which is the profile
/// `truncate`.
#[test]
fn decision_25_without_it_outputs_are_cut_to_the_cap() {
    let rule = Rule {
        profile: Some(Profile::Truncate),
        max_bytes: Some(12_288),
        ..Rule::default()
    };
    let offloader = Offloader::new(
        Arc::new(spillgate_store::MemoryStore::default()),
        Policy::new(rule, [], []).unwrap(),
        Tokenizer::O200kBase.counter(),
        audience::usual_tools(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    );
    let text = log(600);
    let Outcome::Offloaded(cut) = offloader
        .stream(origin(), &mut text.as_bytes(), &mut |_| {})
        .unwrap()
    else {
        panic!("not cut")
    };
    assert!(cut.shown.text().len() <= 12_288 && cut.shown.text().contains("[···TRUNCATED "));
}

/// Invalid calls are answered with the exact error envelopes.
#[tokio::test]
async fn calls_that_are_wrong_are_told() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes()).to_string();
    let extractor = Extractor::new(offloader, None, ExtractionSettings::default());
    let unknown =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";
    let mut all = Vec::new();
    for (handle, extract, mode) in [
        (None, Some("x"), None),
        (Some(handle.as_str()), Some("  "), Some("truncate")),
        (Some(&handle), Some("x"), Some("magic")),
        (Some(unknown), Some("x"), Some("truncate")),
        (Some("../../etc/passwd\nINJECTED"), Some("x"), None),
    ] {
        let given = extractor.tool_output(handle, extract, mode, &NoWatch).await;
        all.push(format!(
            "{}: {}",
            given.is_error,
            given.shown.text().replace(unknown, "UNKNOWN")
        ));
    }
    insta::assert_snapshot!(all.join("\n---\n").replace(&handle, "HANDLE"));
    let good = extractor
        .tool_output(
            Some(&format!(" {handle}\n")),
            Some("E4217"),
            Some(" search "),
            &NoWatch,
        )
        .await;
    let start =
        format!("ABSTRACT FROM TOOL OUTPUT fetch_log WITH HANDLE {handle}, STRATEGY:search:\n\n");
    assert!(
        good.shown.text().starts_with(&start) && !good.is_error,
        "{}",
        good.shown.text()
    );
}
