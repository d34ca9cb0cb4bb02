//! Tests that no request to a model and no answer contains a secret.

use std::sync::Arc;

use spillgate_extract::{ExtractionSettings, Mode};
use spillgate_llm::Scripted;
use spillgate_testkit::log;

use super::{asked, data, offloader, says, stored};

const KEY: &str = "AKIAQ3EGXZ7LKTPNWB5M";

#[tokio::test]
async fn prompts_and_answers_have_marks() {
    let offloader = offloader();
    // A key in every twentieth line, so that it also stands at the borders of chunks.
    let text: String = log(600)
        .lines()
        .enumerate()
        .map(|(at, line)| match at % 20 {
            0 => format!("{line} key={KEY}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let handle = stored(&offloader, text.as_bytes());
    // Answers with the line of the key, as far as the model sees it.
    let model = Arc::new(Scripted::new(|seen| {
        let request = &seen.request;
        let data = data(request);
        let line = data.lines().find(|line| line.contains("key="));
        let answer = match line.and_then(|line| line.split_once('|')) {
            Some((number, text)) => format!("`{}` [L{number}]", text.trim()),
            None => "put together".to_owned(),
        };
        Ok(says(request, &answer))
    }));
    for mode in [
        Mode::Auto,
        Mode::FullChunked,
        Mode::ReadGrep,
        Mode::Truncate,
    ] {
        let settings = ExtractionSettings {
            chunk_tokens: 700,
            ..ExtractionSettings::default()
        };
        let model = Arc::clone(&model);
        let found = asked(
            &offloader,
            handle,
            Some(model.clone()),
            settings,
            mode,
            "the key",
        )
        .await;
        assert!(!model.seen().is_empty(), "{mode:?}");
        for seen in model.seen() {
            let told = format!("{} {:?}", seen.system, seen.messages);
            assert!(!told.contains("Q3EGXZ7L"), "{mode:?}: {told}");
        }
        let trace = serde_json::to_string(&found.trace).unwrap();
        assert!(!trace.contains("Q3EGXZ7L"), "{mode:?}: {trace}");
        assert!(
            !found.text().contains("Q3EGXZ7L"),
            "{mode:?}: {}",
            found.text()
        );
    }
}
