//! Tests for searches that take too long, and for files that change meanwhile.

use std::fs;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Map, Value, json};

use super::report::SearchReport;
use super::search::{GrepSearch, SearchResults};
use super::*;
use crate::tool_result::Body;
use crate::walk::{DeadlineFile, SkippedEntries};
use crate::workspace::Workspace;

fn shared() -> (tempfile::TempDir, Shared) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "needle\n").unwrap();
    let shared = Shared::new(Workspace::open(dir.path()).unwrap(), Rules::default());
    (dir, shared)
}

fn arguments(arguments: Value) -> Arguments {
    let members: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    Arguments::from(members)
}

#[test]
fn time_ends_it() {
    let (_dir, shared) = shared();
    let asked = [
        json!({"pattern": "needle"}),
        json!({"pattern": "needle", "max_results": 1}),
        json!({"pattern": "needle", "path": "file"}),
    ];
    let ended = asked.map(|asked| {
        let stop = Interrupt::default();
        let ended = call_within(&shared, &arguments(asked), &stop, Duration::ZERO);
        ended.unwrap_err().to_string()
    });
    assert_eq!(ended[0], ended[1]);
    assert_eq!(ended[0], ended[2]);
    assert_snapshot!(ended[0], @"Error: Search took longer than 0 s: 0 files searched, 0 matching lines in 0 files so far. Please narrow it with path or glob parameters.");
}

/// Each of these searches would run for hours if the deadline were not checked within a line.
#[test]
fn time_ends_it_within_a_line() {
    let (dir, shared) = shared();
    for piece in ["a", "aé"] {
        fs::write(dir.path().join("file"), piece.repeat(8 << 20)).unwrap();
        for multiline in [false, true] {
            let asked = json!({"pattern": "(?:a{0,300}){0,300}b", "multiline": multiline});
            let stop = Interrupt::default();
            let limit = Duration::from_millis(100);
            let ended = call_within(&shared, &arguments(asked), &stop, limit);
            let ended = ended.unwrap_err().to_string();
            assert!(ended.contains("Search took longer than"), "{ended}");
        }
    }
}

#[test]
fn who_is_gone_gets_nothing() {
    let (_dir, shared) = shared();
    let stop = Interrupt::default();
    stop.cancel();
    let ended = call(&shared, &arguments(json!({"pattern": "needle"})), &stop);
    assert_snapshot!(ended.unwrap_err(), @"Error: Search was stopped, nobody waited for it.");
}

#[test]
fn a_file_that_is_shortened_meanwhile_is_told_of() {
    let (dir, shared) = shared();
    let path = dir.path().join("file");
    fs::write(&path, "no match\n".repeat(100_000)).unwrap();
    let query = ContentQuery::of(&arguments(json!({"pattern": "needle"}))).unwrap();
    let stop = Interrupt::default();
    let deadline = Deadline::new(&stop, TIME_LIMIT);
    let search = GrepSearch::new(&query, &shared.rules);
    let mut told = Vec::new();
    for rest in [None, Some("no match"), Some("needle")] {
        fs::write(&path, "no match\n".repeat(100_000)).unwrap();
        let file = DeadlineFile::new(fs::File::open(&path).unwrap(), &deadline);
        if let Some(rest) = rest {
            fs::write(&path, rest).unwrap();
        }
        let mut found = SearchResults::default();
        let mut searcher = query.searcher(true, false, &deadline);
        found.search(&search, &mut searcher, file, b"file");
        let told_of = SearchReport {
            query: &query,
            found: &found,
            skipped: &SkippedEntries::default(),
            shared: &shared,
            path: &|| "file".to_owned(),
        };
        let Ok(Body::Text(text)) = told_of.whole(search.bytes.load(Ordering::Relaxed)) else {
            panic!("a short answer");
        };
        told.push(text);
    }
    let is_told = |text: &String| text.contains("Shortened while it was searched");
    assert_eq!(
        told.iter().map(is_told).collect::<Vec<_>>(),
        [false, true, true]
    );
    assert!(told[2].contains("needle"), "{}", told[2]);
}
