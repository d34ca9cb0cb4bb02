//! Tests the requests and answers of the strategies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_extract::{ExtractionSettings, Mode, Status, Strategy};
use spillgate_llm::{ErrorKind, LlmError, Message, Scripted, Stop};
use spillgate_testkit::{log, records};

use super::{asked, data, offloader, oracle, says, stored};

fn small_chunks() -> ExtractionSettings {
    ExtractionSettings {
        chunk_tokens: 2000,
        ..ExtractionSettings::default()
    }
}

#[tokio::test]
async fn one_chunk_needs_no_reduction() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let model = Arc::new(oracle("E4217"));
    let found = asked(
        &offloader,
        handle,
        Some(model.clone()),
        ExtractionSettings::default(),
        Mode::Auto,
        "the error",
    )
    .await;
    assert_eq!(
        (found.status, found.strategy),
        (Status::Found, Strategy::FullChunked)
    );
    assert_eq!((found.calls, found.coverage.chunks), (1, 1));
    assert!(found.coverage.is_whole());
    assert_snapshot!(found.text().replace(&handle.to_string(), "HANDLE"));
    let request = &model.seen()[0];
    assert_snapshot!(
        request
            .system
            .split("OUTPUT FORMAT")
            .next()
            .unwrap()
            .replace("  \n", "\n")
    );
    let data = data(request);
    assert!(
        data.contains("501|2026-11-21T10:08:20Z ERROR worker-3 code=E4217"),
        "{data}"
    );
}

#[tokio::test]
async fn several_answers_are_put_together() {
    let offloader = offloader();
    let handle = stored(&offloader, log(900).as_bytes());
    let model = Arc::new(oracle("worker-16"));
    let found = asked(
        &offloader,
        handle,
        Some(model.clone()),
        small_chunks(),
        Mode::FullChunked,
        "worker 16",
    )
    .await;
    let maps = found.coverage.chunks;
    assert!(maps > 3, "{maps}");
    assert_eq!(found.calls, maps + 1);
    assert!(found.body.starts_with("put together"), "{}", found.body);
    let seen = model.seen();
    let reduce = seen.last().unwrap();
    assert!(reduce.system.contains("# Chunk 1\n`"), "{}", reduce.system);
    assert_eq!(
        reduce.messages,
        [Message::User(
            "Synthesize the extracted content into a final answer.".to_owned()
        )]
    );
    // Every line was shown to the model.
    let all: String = seen.iter().map(data).collect();
    for line in 1..=900 {
        assert!(all.contains(&format!("\n{line}|2026")), "line {line}");
    }
}

#[tokio::test]
async fn one_answer_among_many_chunks_is_the_answer() {
    let offloader = offloader();
    let handle = stored(&offloader, log(900).as_bytes());
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(oracle("E4217"))),
        small_chunks(),
        Mode::FullChunked,
        "the error",
    )
    .await;
    assert_eq!(found.calls, found.coverage.chunks);
    assert!(
        found
            .body
            .contains("code=E4217 disk quota exceeded on /data/vol7` [L501]"),
        "{}",
        found.body
    );
    assert_eq!(found.citations[0].lines.first, 501);
}

#[tokio::test]
async fn nothing_found_says_what_was_searched() {
    let offloader = offloader();
    let handle = stored(&offloader, log(900).as_bytes());
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(oracle("E9999"))),
        small_chunks(),
        Mode::FullChunked,
        "error E9999 of the disk quota",
    )
    .await;
    assert_eq!(
        (found.status, found.strategy),
        (Status::NotFound, Strategy::FullChunked)
    );
    assert_snapshot!(found.body);
}

/// Tests that a chunk that fails does not stop the reading of the others.
#[tokio::test]
async fn a_chunk_that_fails_is_told() {
    let offloader = offloader();
    let handle = stored(&offloader, log(900).as_bytes());
    let model = Scripted::new(|seen| {
        let data = data(&seen.request);
        if data.contains("\n501|") {
            let what = "500 Internal Server Error";
            return Err(LlmError::new(ErrorKind::Provider, Scripted::name(), what));
        }
        let answer = data.lines().find(|line| line.contains("worker-16"));
        Ok(says(&seen.request, answer.unwrap_or("put together")))
    });
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        small_chunks(),
        Mode::FullChunked,
        "worker 16",
    )
    .await;
    assert_eq!(found.status, Status::Partial);
    assert!(found.coverage.failed_chunks >= 1 && !found.coverage.is_whole());
    assert!(
        found
            .body
            .contains("could not be read: scripted/model: 500 Internal Server Error"),
        "{}",
        found.body
    );
}

#[tokio::test]
async fn where_no_chunk_can_be_read_the_ends_are_shown() {
    let offloader = offloader();
    let handle = stored(&offloader, log(900).as_bytes());
    let model = Scripted::new(|_| Ok(Scripted::says("I will not use your wrapper.")));
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        ExtractionSettings::default(),
        Mode::FullChunked,
        "the error",
    )
    .await;
    assert_eq!(
        (found.status, found.strategy),
        (Status::Failed, Strategy::Truncate)
    );
    // There are two requests, because the question is asked again after a reply without the tags
    // that should enclose the answer.
    assert_eq!(found.calls, 2);
    let head: Vec<&str> = found.body.lines().take(3).collect();
    assert_snapshot!(head.join("\n"));
}

#[tokio::test]
async fn a_chunk_over_the_context_is_split_and_read_again() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let model = Arc::new(Scripted::new(|seen| {
        let data = data(&seen.request);
        match data.len() > 20_000 {
            true => Err(LlmError::new(
                ErrorKind::ContextLength,
                Scripted::name(),
                "too long",
            )),
            false => Ok(says(
                &seen.request,
                match data.contains("\n501|") {
                    true => "\"E4217\" [L501]",
                    false => "NO RELEVANT DATA FOUND",
                },
            )),
        }
    }));
    let found = asked(
        &offloader,
        handle,
        Some(model),
        ExtractionSettings::default(),
        Mode::FullChunked,
        "the error",
    )
    .await;
    assert_eq!(found.status, Status::Found);
    assert!(found.coverage.chunks >= 2 && found.coverage.failed_chunks == 0);
    assert!(found.coverage.is_whole());
}

#[tokio::test]
async fn a_reduction_that_does_not_fit_is_done_in_rounds() {
    let offloader = offloader();
    let handle = stored(&offloader, records(3000).as_bytes());
    let long = "word ".repeat(500);
    let model = Scripted::new(move |seen| Ok(says(&seen.request, &long))).with_limits(4000, 1000);
    let settings = ExtractionSettings {
        answer_tokens: 600,
        ..ExtractionSettings::default()
    };
    let model = Arc::new(model);
    let found = asked(
        &offloader,
        handle,
        Some(model.clone()),
        settings,
        Mode::FullChunked,
        "everything",
    )
    .await;
    let reductions = found.calls - found.coverage.chunks;
    assert!(
        reductions > 3,
        "{} calls, {} chunks",
        found.calls,
        found.coverage.chunks
    );
    assert_eq!(found.status, Status::Found);
    // No request exceeds the window.
    let counter = offloader.counter();
    for request in model.seen() {
        let tokens = counter.count(&request.system) + counter.count(&data(&request));
        assert!(tokens + request.max_output_tokens <= 4000, "{tokens}");
    }
}

/// Tests that several chunks are read at the same time, but not more than `parallel`.
#[tokio::test(start_paused = true)]
async fn chunks_are_read_at_once() {
    let offloader = offloader();
    let handle = stored(&offloader, log(3000).as_bytes());
    let model = oracle("E4217").with_latency(Duration::from_secs(10));
    let settings = ExtractionSettings {
        parallel: 3,
        ..small_chunks()
    };
    let began = tokio::time::Instant::now();
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        settings,
        Mode::FullChunked,
        "the error",
    )
    .await;
    let rounds = found.coverage.chunks.div_ceil(3);
    let took = began.elapsed().as_secs();
    assert!(
        took >= rounds * 10 && took < rounds * 10 + 10,
        "{took} s for {rounds} rounds"
    );
}

#[tokio::test]
async fn a_single_fact_may_end_the_reading() {
    let offloader = offloader();
    let handle = stored(&offloader, log(3000).as_bytes());
    let settings = ExtractionSettings {
        early_stop: true,
        parallel: 1,
        ..small_chunks()
    };
    let question = "which code has the ERROR of worker-3 about the disk quota";
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(oracle("E4217"))),
        settings.clone(),
        Mode::FullChunked,
        question,
    )
    .await;
    assert_eq!(found.status, Status::Found);
    assert_eq!(found.calls, 1, "the best chunk is read first");
    assert!(!found.coverage.is_whole());
    assert!(
        found
            .body
            .contains("[reading ended at the first verified answer]"),
        "{}",
        found.body
    );
    // Reading cannot stop early if the question asks for everything.
    let all = asked(
        &offloader,
        handle,
        Some(Arc::new(oracle("E4217"))),
        settings,
        Mode::FullChunked,
        "all ERROR codes",
    )
    .await;
    assert_eq!(all.calls, all.coverage.chunks);
}

/// Tests that chunks that were not read are reported (docs/spec/behaviour.md, "Chunks").
#[tokio::test]
async fn chunks_that_nobody_read_are_told() {
    let offloader = offloader();
    let handle = stored(&offloader, log(3000).as_bytes());
    let settings = ExtractionSettings {
        max_chunks_hard: 4,
        ..small_chunks()
    };
    let model = oracle("E4217").with_limits(6000, 1000);
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        settings,
        Mode::FullChunked,
        "ERROR disk quota code",
    )
    .await;
    assert_eq!((found.status, found.calls), (Status::Partial, 4));
    assert!(found.coverage.chunks > 4 && !found.coverage.is_whole());
    let told = "the least promising ones; max_chunks_hard allows 4]";
    assert!(found.body.contains(told), "{}", found.body);
    assert!(
        found.body.contains("E4217"),
        "the most promising are read: {}",
        found.body
    );
    assert!(
        found
            .body
            .contains(&format!("[read {} of ", found.coverage.bytes_examined))
    );
}

#[tokio::test]
async fn without_a_model_it_searches() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let found = asked(
        &offloader,
        handle,
        None,
        ExtractionSettings::default(),
        Mode::Auto,
        "disk quota exceeded",
    )
    .await;
    assert_eq!(
        (found.status, found.strategy, found.calls),
        (Status::Found, Strategy::Search, 0)
    );
    assert!(
        found.body.contains("501:2026-11-21T10:08:20Z ERROR"),
        "{}",
        found.body
    );
    assert_eq!(found.citations[0].lines.first, 501);
    let asked_for = asked(
        &offloader,
        handle,
        None,
        ExtractionSettings::default(),
        Mode::ReadGrep,
        "disk quota exceeded",
    )
    .await;
    assert!(
        asked_for
            .body
            .starts_with("WARNING: tool_output fallback to search (no model is configured).\n"),
        "{}",
        asked_for.body
    );
}

#[tokio::test]
async fn a_child_reads_and_greps_in_one_file() {
    let offloader = offloader();
    let handle = stored(&offloader, log(9000).as_bytes());
    let other = stored(&offloader, log(700).as_bytes()).to_string();
    let name = handle.to_string();
    let turn = AtomicUsize::new(0);
    let model = Arc::new(Scripted::new(move |seen| {
        Ok(match turn.fetch_add(1, Ordering::Relaxed) {
            0 => Scripted::calls(&[
                (
                    "Grep",
                    json!({"file": name, "regex": "ERROR", "before": 0, "after": 0}),
                ),
                ("Read", json!({"file": other})),
            ]),
            1 => Scripted::calls(&[("Read", json!({"file": name, "start": 499, "lines": 3}))]),
            _ => says(&seen.request, "\"code=E4217\" [L501]"),
        })
    }));
    let found = asked(
        &offloader,
        handle,
        Some(model.clone()),
        ExtractionSettings::default(),
        Mode::Auto,
        "the error",
    )
    .await;
    assert_eq!(
        (found.status, found.strategy, found.calls),
        (Status::Found, Strategy::ReadGrep, 3)
    );
    let seen = model.seen();
    let Message::Tools(replies) = &seen[1].messages[2] else {
        panic!("{:?}", seen[1].messages)
    };
    assert!(
        replies[0].text.contains(" 501→2026-11-21T10:08:20Z ERROR"),
        "{}",
        replies[0].text
    );
    assert!(
        replies[1].is_error && replies[1].text.contains("no such file"),
        "{}",
        replies[1].text
    );
    assert!(found.coverage.bytes_examined > 0 && !found.coverage.is_whole());
    let told = "[searched the whole output for /ERROR/]";
    assert!(found.body.contains(told), "{}", found.body);
    assert_snapshot!(
        seen[0]
            .system
            .split("OUTPUT FORMAT")
            .next()
            .unwrap()
            .replace(&handle.to_string(), "HANDLE")
    );
}

#[tokio::test]
async fn a_child_without_an_answer_is_a_failure() {
    let offloader = offloader();
    let handle = stored(&offloader, log(9000).as_bytes());
    let model = Scripted::new(|_| Ok(Scripted::says("no wrapper here")));
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        ExtractionSettings::default(),
        Mode::ReadGrep,
        "the error",
    )
    .await;
    assert_eq!(
        (found.status, found.strategy),
        (Status::Failed, Strategy::Truncate)
    );
    assert!(
        found
            .body
            .starts_with("WARNING: tool_output fallback to truncate (read-grep failed).\n"),
        "{}",
        found.body
    );
}

#[tokio::test]
async fn a_refusal_is_a_failure_that_says_so() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let model = Scripted::new(|_| {
        Ok(spillgate_llm::Reply {
            stop: Stop::Refused,
            ..Scripted::says("I can't help with that.")
        })
    });
    let found = asked(
        &offloader,
        handle,
        Some(Arc::new(model)),
        ExtractionSettings::default(),
        Mode::FullChunked,
        "the error",
    )
    .await;
    assert_eq!(found.status, Status::Failed);
    assert!(
        found.body.contains("Reason: the model refused"),
        "{}",
        found.body
    );
}

#[tokio::test]
async fn a_question_that_fills_the_model_is_told() {
    let offloader = offloader();
    let handle = stored(&offloader, log(600).as_bytes());
    let extract = "the error code ".repeat(400);
    for mode in [Mode::FullChunked, Mode::ReadGrep] {
        let model = oracle("E4217").with_limits(1000, 200);
        let found = asked(
            &offloader,
            handle,
            Some(Arc::new(model)),
            ExtractionSettings::default(),
            mode,
            &extract,
        )
        .await;
        assert_eq!((found.status, found.calls), (Status::Failed, 0));
        assert!(
            found
                .body
                .contains("Reason: the prompt alone fills the model's window of 1000 tokens"),
            "{}",
            found.body
        );
    }
}
