//! Tests of `spillgate extract` and `spillgate agent` with a real language model.
//!
//! `cargo xtask test-llm` installs a small model, serves it and runs these tests. The answers of
//! such a model are often wrong, so the tests do not judge them. They check the protocol: the form
//! of an answer, what it says about how it was made, and that what it cites exists.
//!
//! The server offers the model at three URLs, one for each [`ReplyForm`]:
//!
//! - `Free`: the model writes as it likes, often not in the requested form. An extraction may then
//!   fall back, and has to say so.
//! - `Held`: a grammar forces the model to use the requested form, as providers do, so every
//!   extraction has to finish.
//! - `Sure`: like `Held`, but the model cannot answer that it found nothing, so that there are
//!   answers to combine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "llm/agent.rs"]
mod agent;
#[path = "llm/agent_lab.rs"]
mod agent_lab;
#[path = "llm/lab.rs"]
mod lab;
#[path = "llm/servers.rs"]
mod servers;

use lab::{Lab, ReplyForm, Text};

/// The question. One of its words occurs in a line of the text.
const QUESTION: &str = "Which error code does the ERROR line have?";

#[test]
fn auto_reads_what_fits_whole() {
    let lab = Lab::new(ReplyForm::Held, "max_chunks = 1");
    let answer = lab.extract(&Text::log(15), &[QUESTION]);
    answer.is("full-chunked");
    answer.read_everything();
    assert_eq!(answer.chunks(), 1, "{answer:?}");
    assert_eq!(answer.calls(), 1, "one chunk needs no reduce: {answer:?}");
}

#[test]
fn auto_greps_in_what_does_not() {
    let lab = Lab::new(ReplyForm::Held, "max_chunks = 1\nchunk_tokens = 400");
    let answer = lab.extract(&Text::log(100), &[QUESTION]);
    answer.is("read-grep");
    assert!(
        answer.calls() >= 2,
        "a call of a tool, then the answer: {answer:?}"
    );
}

#[test]
fn full_chunked_is_obeyed() {
    let lab = Lab::new(ReplyForm::Held, "max_chunks = 1\nchunk_tokens = 400");
    let arguments = [QUESTION, "--mode", "full-chunked", "--trace"];
    let answer = lab.extract(&Text::log(15), &arguments);
    answer.is("full-chunked");
    answer.read_everything();
    answer.is_traced();
}

#[test]
fn read_grep_is_obeyed() {
    let lab = Lab::new(ReplyForm::Held, "max_chunks = 8");
    let answer = lab.extract(&Text::log(15), &[QUESTION, "--mode", "read-grep"]);
    answer.is("read-grep");
    assert!(
        answer.calls() >= 2,
        "a call of a tool, then the answer: {answer:?}"
    );
}

#[test]
fn truncate_is_obeyed_and_asks_nobody() {
    let lab = Lab::new(ReplyForm::Held, "truncate_tokens = 200");
    let answer = lab.extract(&Text::log(200), &[QUESTION, "--mode", "truncate"]);
    answer.is("truncate");
    assert_eq!(answer.calls(), 0, "{answer:?}");
    let body = answer.body();
    assert!(body.starts_with("[TRUNCATED IN THE MIDDLE BY ~"), "{body}");
    assert_eq!(body.matches("[···TRUNCATED ").count(), 1, "{body}");
}

#[test]
fn two_chunks_are_mapped_and_reduced() {
    let lab = Lab::new(ReplyForm::Sure, "max_chunks = 4\nparallel = 2");
    let arguments = [QUESTION, "--mode", "full-chunked", "--chunk-tokens", "250"];
    let answer = lab.extract(&Text::log(24), &arguments);
    answer.is("full-chunked");
    answer.read_everything();
    assert!(answer.chunks() >= 2, "{answer:?}");
    assert!(
        answer.calls() > answer.chunks(),
        "maps and a reduce: {answer:?}"
    );
}

#[test]
fn an_early_stop_says_how_far_it_came() {
    let lab = Lab::new(
        ReplyForm::Held,
        "chunk_tokens = 250\nearly_stop = true\nparallel = 1",
    );
    let answer = lab.extract(&Text::log(24), &[QUESTION, "--mode", "full-chunked"]);
    answer.is("full-chunked");
    let (examined, total) = answer.examined();
    assert!(0 < examined && examined <= total, "{answer:?}");
    assert!(
        examined == total || answer.status() != "not_found",
        "{answer:?}"
    );
}

#[test]
fn a_long_line_is_chunked_and_its_values_are_cited_from_it() {
    let lab = Lab::new(ReplyForm::Held, "max_chunks = 4");
    let question = "Which item is called \"pump\"? Quote its line.";
    let answer = lab.extract(&Text::json(12), &[question]);
    answer.is("full-chunked");
}

#[test]
fn a_model_that_forgets_the_form_is_told_of() {
    let lab = Lab::new(ReplyForm::Free, "max_turns = 3");
    for mode in ["full-chunked", "read-grep"] {
        let answer = lab.extract(&Text::log(15), &[QUESTION, "--mode", mode]);
        answer.is_or_fell_back_from(mode);
        assert!(answer.calls() > 0, "{answer:?}");
    }
}

#[test]
fn a_window_that_is_smaller_than_configured_is_survived() {
    let lab = Lab::with_window(ReplyForm::Held, 65_536, "max_chunks = 1");
    let answer = lab.extract(&Text::log(120), &[QUESTION, "--mode", "full-chunked"]);
    answer.is_or_fell_back_from("full-chunked");
}
