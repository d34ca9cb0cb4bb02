//! Searches in several outputs at once.

use super::*;

/// Stores texts in one store and returns them, newest first.
fn several(texts: &[&str]) -> Vec<Artifact> {
    texts.iter().rev().map(|text| artifact(text)).collect()
}

fn find_in(artifacts: &[Artifact], words: &str, budget: u64) -> SeveralPage {
    let counter = Tokenizer::O200kBase.counter();
    let query = SearchQuery::new(words, TokenBudget::new(budget));
    let page = search_several(artifacts, 2, &query, &*counter).unwrap();
    assert_eq!(page.tokens, counter.count(&page.render()));
    assert!(page.tokens <= budget.max(60), "{} of {budget}", page.tokens);
    for found in &page.outputs {
        let artifact = artifacts
            .iter()
            .find(|one| one.manifest().handle == found.handle)
            .unwrap();
        check(artifact, &found.page, budget, &*counter);
    }
    page
}

/// Returns the page with `HANDLE-n` for the handle of artifact `n`.
fn told(page: &SeveralPage, artifacts: &[Artifact]) -> String {
    let mut text = page.render();
    for (at, artifact) in artifacts.iter().enumerate() {
        let handle = artifact.manifest().handle.to_string();
        text = text.replace(&handle, &format!("HANDLE-{at}"));
    }
    text
}

#[test]
fn several_outputs_are_one_page() {
    let build = "compiling core\nwarning: unused import\nerror: the linker `ld` was killed\n";
    let users = r#"{"users": [{"name": "Ann", "city": "Oslo"}, {"name": "Bob", "city": "Rome"}]}"#;
    let notes = "The linker is killed if memory is short.\n\nThe city office opens at nine.\n";
    let all = several(&[build, users, notes]);
    let pages = [
        "linker killed ld",
        "city Rome",
        "why did it fail?",
        "zygote_cache",
    ]
    .map(|words| told(&find_in(&all, words, 400), &all));
    assert_snapshot!(pages.join("=====\n"), @r#"
    [HANDLE-2: test]
    [1 of 1 passage]
    1:compiling core
    2:warning: unused import
    3:error: the linker `ld` was killed
    [HANDLE-0: test]
    [1 of 1 passage]
    1:The linker is killed if memory is short.
    (2 older outputs were not searched: name a handle)
    =====
    [HANDLE-1: test]
    [1 of 1 passage]
    1:{"users": [{"name": "Ann", "city": "Oslo"}, {"name": "Bob", "city": "Rome"}]}
    [HANDLE-0: test]
    [1 of 1 passage]
    3:The city office opens at nine.
    (2 older outputs were not searched: name a handle)
    =====
    [HANDLE-2: test]
    [1 of 1 passage]
    1:compiling core
    2:warning: unused import
    3:error: the linker `ld` was killed
    (2 older outputs were not searched: name a handle)
    =====
    Not in the text: zygote_cache
    No passage: none of 3 outputs has one of these words.
    (2 older outputs were not searched: name a handle)
    "#);
    for budget in [1, 30, 60, 90] {
        find_in(&all, "linker killed city", budget);
    }
    let none = told(&find_in(&[], "linker", 400), &[]);
    assert_snapshot!(none, @"
    No passage: no output is stored.
    (2 older outputs were not searched: name a handle)
    ");
}
