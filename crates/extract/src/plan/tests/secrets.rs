//! Property tests: what a model is shown of a text, and what an answer about it becomes, do not depend
//! on its secrets.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use spillgate_conversation::{Nonce, Nonces};
use spillgate_redact::{Redactor, Rules};
use spillgate_testkit::pairs::{Pair, pairs};
use spillgate_text::Tokenizer;

use super::*;
use crate::ExtractionSettings;
use crate::case::Case;
use crate::prompt::{self, ChunkInfo};
use crate::testing::artifact_of;
use crate::trace::{OpKind, Span};
use crate::verify::ground;

/// Compiling the rules takes longer than a case.
static RULES: LazyLock<Rules> = LazyLock::new(Rules::builtin);

#[derive(Debug)]
struct SameNonce;

impl Nonces for SameNonce {
    fn fresh(&self) -> Nonce {
        Nonce::of([7; 16])
    }
}

fn case(text: &str) -> Case {
    let redactor = Arc::new(Redactor::new(RULES.clone()));
    Case {
        artifact: Arc::new(artifact_of(text, redactor)),
        extract: "the key".into(),
        settings: Arc::new(ExtractionSettings::default()),
        counter: Tokenizer::Heuristic.counter(),
        nonces: Arc::new(SameNonce),
        scope: Span::root(OpKind::Session, "tool_output").scope().clone(),
    }
}

/// Returns the text with marks.
fn view(case: &Case) -> Vec<u8> {
    case.artifact.view().source().bytes(0, u64::MAX).unwrap()
}

/// Returns all prompts of an extraction that reads everything, and what becomes of answers.
fn told(case: &Case, want: &Want, answers: &[String]) -> Vec<String> {
    let handle = case.artifact.manifest().handle.to_string();
    let plan = plan(&case.artifact, want, &*case.counter).unwrap();
    let mut told = Vec::new();
    for (at, chunk) in plan.chunks.iter().enumerate() {
        let rendered = plan.render(&case.artifact, chunk).unwrap();
        let slot = case.slot(&rendered);
        let info = ChunkInfo {
            index: at + 1,
            total: plan.chunks.len(),
            overlap_percent: plan.overlap_percent,
            lines: chunk.lines,
            path: chunk.path.clone(),
        };
        told.push(prompt::map(case, &info, &slot));
        told.push(prompt::chunk(case, &rendered, &slot));
    }
    for answer in answers {
        told.push(format!("{:?}", ground(&case.artifact, answer).unwrap()));
    }
    let masked = told.into_iter().map(|text| text.replace(&handle, "HANDLE"));
    masked.collect()
}

/// Returns answers that quote a part of each secret of one text, as a model could guess them.
fn guesses(pair: &Pair, from: usize, length: usize) -> Vec<String> {
    let parts = pair.secrets.iter().map(|secret| {
        let part: String = secret
            .chars()
            .skip(from % secret.len())
            .take(length)
            .collect();
        format!("The key is `{}` [L{}].", part.replace('\n', " "), from + 1)
    });
    parts.collect()
}

fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(150),
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn prompts_and_citations_do_not_depend_on_secrets(
        pair in pairs(),
        chunk_tokens in 20u64..900,
        overlap_percent in 0u64..50,
        guessed in (0usize..60, 4usize..40),
    ) {
        let [one, other] = [&pair.one, &pair.other].map(|text| case(text));
        let is_shown = |piece: &&[u8]| memchr::memmem::find(&view(&one), piece).is_some();
        prop_assume!(view(&one) == view(&other) && !pair.pieces().iter().any(is_shown));
        let want = Want { chunk_tokens, overlap_percent, most_chunks: 64 };
        let answers = guesses(&pair, guessed.0, guessed.1);
        let [one, other] = [&one, &other].map(|case| told(case, &want, &answers));
        prop_assert_eq!(&one, &other);
        let (prompts, _) = one.split_at(one.len() - answers.len());
        for text in prompts {
            for piece in pair.pieces() {
                let is_shown = memchr::memmem::find(text.as_bytes(), piece).is_some();
                prop_assert!(!is_shown, "{:?} in {text}", String::from_utf8_lossy(piece));
            }
        }
    }
}
