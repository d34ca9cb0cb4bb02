//! Tests that pages stay within their budget and together contain the whole text.

use std::fs;
use std::io::Write;

use proptest::prelude::*;
use serde_json::{Value, json};
use spillgate_files::FileTools;

use super::{call, pinned, root, tools};

/// Returns the arguments that the last line of an answer suggests.
fn next(answer: &str) -> Option<Value> {
    let hint = answer.rsplit('\n').next()?.strip_prefix("[cut: ")?;
    let named = hint.split_once("with ")?.1;
    let named = named.split([']', ';']).next()?;
    let mut arguments = json!({});
    for argument in named.split(", ") {
        let Some((name, value)) = argument.split_once('=') else {
            break;
        };
        arguments[name] = value.trim_matches('"').into();
    }
    Some(arguments)
}

/// Returns the number and the text of each line of a page.
fn rows(answer: &str, file: &str) -> Vec<(u64, String)> {
    let shown = answer.lines().filter(|line| !line.starts_with("[cut: "));
    let shown = shown.filter(|line| !line.starts_with(file));
    let row = |line: &str| {
        let line = line.trim_start();
        let (number, text) = line.split_once(' ').unwrap_or((line, ""));
        (
            number.parse().unwrap_or_else(|_| panic!("{line:?}")),
            text.to_owned(),
        )
    };
    shown.map(row).collect()
}

/// Returns all pages, beginning with the call `arguments`.
fn pages(tools: &FileTools, mut arguments: Value) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        arguments["file"] = "out".into();
        let page = call(tools, "Read", &arguments);
        assert!(!page.starts_with("error"), "{page} for {arguments}");
        assert!(
            !tools.counter.exceeds(&page, tools.budget.get().max(128)),
            "{page}"
        );
        let more = next(&page);
        all.push(page);
        assert!(all.len() < 5000);
        match more {
            Some(more) => arguments = more,
            None => return all,
        }
    }
}

/// Joins lines that were split over several rows.
fn joined(rows: Vec<(u64, String)>) -> Vec<String> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for (number, text) in rows {
        match lines.last_mut() {
            Some((last, line)) if *last == number => line.push_str(&text),
            _ => lines.push((number, text)),
        }
    }
    lines.into_iter().map(|(_, text)| text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_are_together_the_lines(
        text in proptest::collection::vec("[a-z ]{0,40}|[漢é🚀]{0,300}|x{0,990}", 1..40),
        budget in 100u64..700,
        start in 0u64..9,
        wanted in proptest::option::of(1u64..30),
    ) {
        let whole: Vec<String> = text;
        let (pinned, _) = pinned(&(whole.join("\n") + "\n"));
        let tools = tools(pinned, budget);
        let start = start.min(whole.len() as u64 - 1);
        let mut arguments = json!({"start": start});
        if let Some(wanted) = wanted {
            arguments["lines"] = wanted.into();
        }
        let shown = pages(&tools, arguments);
        let shown = shown.iter().flat_map(|page| rows(page, "out ")).collect();
        let from = usize::try_from(start).unwrap();
        let count = wanted.map_or(usize::MAX, |wanted| usize::try_from(wanted).unwrap());
        let want: Vec<String> = whole.iter().skip(from).take(count).cloned().collect();
        prop_assert_eq!(joined(shown), want);
    }

    #[test]
    fn pages_from_the_end_are_together_the_lines(
        text in proptest::collection::vec("[a-z ]{0,40}|[漢é]{0,30}", 1..80),
        budget in 160u64..700,
        start in 0u64..9,
    ) {
        let (pinned, _) = pinned(&(text.join("\n") + "\n"));
        let tools = tools(pinned, budget);
        let start = start.min(text.len() as u64 - 1);
        let shown = pages(&tools, json!({"headOrTail": "tail", "start": start}));
        let shown = shown.iter().rev().flat_map(|page| rows(page, "out "));
        let shown: Vec<String> = shown.map(|(_, text)| text).collect();
        let count = text.len() - usize::try_from(start).unwrap();
        prop_assert_eq!(&shown[..], &text[..count]);
    }

    #[test]
    fn every_match_is_on_a_page(
        text in proptest::collection::vec("(hit|miss) [a-z ]{0,60}", 1..80),
        budget in 128u64..600,
        around in 0u64..3,
    ) {
        let (pinned, _) = pinned(&(text.join("\n") + "\n"));
        let tools = tools(pinned, budget);
        let (mut start, mut found) = (json!(0), Vec::new());
        loop {
            let arguments = json!({"file": "out", "regex": "^hit", "before": around, "after": around, "start": start});
            let page = call(&tools, "Grep", &arguments);
            prop_assert!(!tools.counter.exceeds(&page, budget));
            found.extend(page.lines().filter_map(|line| line.trim().split_once('→')).map(|(number, _)| number.parse::<usize>().unwrap()));
            match next(&page) {
                Some(next) => start = next["start"].clone(),
                None => break,
            }
        }
        let hits = text.iter().enumerate().filter(|(_, line)| line.starts_with("hit"));
        let want: Vec<usize> = hits.map(|(at, _)| at + 1).collect();
        prop_assert_eq!(found, want);
    }
}

#[test]
fn a_name_cannot_fill_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let name = "名".repeat(80);
    let files: [(&str, &[u8]); 1] = [(&name, b"text\n")];
    let tools = tools(root(dir.path(), &files), 128);
    let page = call(&tools, "Read", &json!({"file": name}));
    assert!(
        page.ends_with("\n   1 text") && !tools.counter.exceeds(&page, 128),
        "{page}"
    );
}

#[test]
fn large_files_are_read_where_they_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (1..=300_000)
        .map(|i| format!("line number {i}\n"))
        .collect();
    let tools = tools(root(dir.path(), &[("big", text.as_bytes())]), 500);
    let read = |start: u64| {
        call(
            &tools,
            "Read",
            &json!({"file": "big", "start": start, "lines": 1}),
        )
    };
    assert_eq!(
        read(299_999),
        "big [head 300000-300000/300000]\n300000 line number 300000"
    );
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(dir.path().join("big"))
        .unwrap();
    file.write_all(b"one more\n").unwrap();
    assert_eq!(
        read(300_000),
        "big [head 300001-300001/300001]\n300001 one more"
    );
}
