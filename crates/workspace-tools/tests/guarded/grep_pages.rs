//! Tests for paging matches, and for refusing too many.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use insta::assert_snapshot;
use proptest::prelude::*;
use rustix::fs::{RenameFlags, renameat_with};
use serde_json::json;
use spillgate_workspace_tools::{Body, Rules, Workspace, WorkspaceTools};

use crate::escapes::Ends;
use crate::tools;
use crate::tree::{plant, refused, rows, told, tree, trees, with};

const GREP: &str = "grep_content";

#[test]
fn pages() {
    let many = "line match\nother\n".repeat(5);
    let house = tree(&[("a.txt", &many), ("b.txt", &many), ("c.txt", "match\n")]);
    let tools = tools(house.path());
    let page = |more| told(&tools, GREP, &with(&more, "pattern", "match"));
    assert_snapshot!(page(json!({"max_results": 2})), @"
    [Results 1-2 of 11]
    Found 11 matching lines in 3 files
    a.txt:1:line match
    a.txt:3:line match
    ");
    assert_snapshot!(page(json!({"max_results": 2, "offset": 4, "context": 1})), @"
    [Results 5-6 of 11]
    Found 11 matching lines in 3 files
    a.txt-8-other
    a.txt:9:line match
    a.txt-10-other
    --
    b.txt:1:line match
    b.txt-2-other
    ");
    assert_snapshot!(page(json!({"offset": 10})), @"
    [Results 11-11 of 11]
    Found 11 matching lines in 3 files
    c.txt:1:match
    ");
    assert_snapshot!(page(json!({"max_results": 2, "mode": "files"})), @"
    [Results 1-2 of 3]
    Found 3 files
    a.txt
    b.txt
    ");
    assert_snapshot!(page(json!({"max_results": 9, "offset": 1, "mode": "count"})), @"
    [Results 2-3 of 3]
    Found 11 matching lines in 3 files
    b.txt:5
    c.txt:1
    ");
    assert_snapshot!(page(json!({"max_results": 1, "path": "a.txt", "offset": 4})), @"
    [Results 5-5 of 5]
    Found 5 matching lines in 1 file
    a.txt:9:line match
    ");
    // A page that contains all results has no page header.
    assert_eq!(page(json!({"max_results": 11})), page(json!({})));
    let past = refused(&tools, GREP, &json!({"pattern": "match", "offset": 11}));
    assert_snapshot!(past, @"Error: offset 11 is past the last result: there are 11. Please use a smaller offset.");
}

/// Tests that an answer of 100,003 bytes is returned and one of 100,004 bytes is refused, and that
/// the header counts towards the size.
#[test]
fn the_limit_counts_the_whole_answer() {
    let head = "Found 100 matching lines in 1 file\n".len();
    let row = "f:10:".len() + 1;
    // Nine rows have a shorter line number, one row a longer one.
    let text = 100_003 - head - 100 * row + 9 - 1;
    for (more, passes) in [(0, true), (1, false)] {
        let mut lines = vec!["x".repeat(text / 100); 100];
        lines[50].push_str(&"x".repeat(text % 100 + more));
        let house = tree(&[("f", &lines.join("\n"))]);
        let tools = tools(house.path());
        let asked = json!({"pattern": "x"});
        if passes {
            assert_eq!(told(&tools, GREP, &asked).len(), 100_003);
        } else {
            assert_snapshot!(refused(&tools, GREP, &asked), @"Error: Search returned ~25001 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.");
        }
    }
}

#[test]
fn too_much_is_refused_and_its_pages_are_not() {
    let lines = format!("{}\n", "match ".repeat(20)).repeat(2000);
    let house = tree(&[("a", &lines), ("b", &lines)]);
    let tools = tools(house.path());
    let asked = json!({"pattern": "match"});
    assert_snapshot!(refused(&tools, GREP, &asked), @"Error: Search returned ~127455 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.");
    // A page that is too large by itself is refused in the same way.
    assert_snapshot!(refused(&tools, GREP, &with(&asked, "max_results", 1000)), @"Error: Search returned ~31723 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.");
    assert_snapshot!(refused(&tools, GREP, &with(&asked, "offset", 1)), @"Error: Search returned ~127415 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.");
    let page = told(
        &tools,
        GREP,
        &with(&with(&asked, "max_results", 100), "offset", 1950),
    );
    assert!(
        page.starts_with(
            "[Results 1951-2050 of 4000]\nFound 4000 matching lines in 2 files\na:1951:"
        )
    );
    assert_eq!(rows(&page).len(), 100);
    assert!(page.contains("\nb:50:"), "{page}");
}

/// The result does not depend on which thread finishes first.
#[test]
fn how_much_is_refused_is_what_would_have_been_told() {
    let house = tree(&[]);
    for number in 0..40 {
        let mut text = "needle in a haystack \u{e9}\n".repeat(400).into_bytes();
        text.extend(b"needle \xff\xfe\n");
        text.extend(format!("{}needle\n", "x".repeat(5000)).bytes());
        fs::write(house.path().join(format!("f{number}")), text).unwrap();
    }
    let rules = Rules {
        max_tokens: 1 << 20,
        ..Rules::default()
    };
    let patient = WorkspaceTools::new(Workspace::open(house.path()).unwrap(), rules);
    for asked in [json!({}), json!({"context": 1})] {
        let asked = with(&asked, "pattern", "needle");
        let arguments = asked.as_object().unwrap().clone();
        let answer = crate::RUNTIME.block_on(patient.call(GREP, arguments));
        let Body::Text(all) = answer.body else {
            panic!("it is a text");
        };
        let refused = refused(&tools(house.path()), GREP, &asked);
        let told = format!("~{} tokens", all.len() / 4);
        assert!(refused.contains(&told), "{refused} {told}");
    }
}

/// A line that exceeds the searcher's memory is reported, not skipped silently.
#[test]
fn a_line_that_is_too_long_is_said() {
    let house = tree(&[("short", "needle\n")]);
    fs::write(house.path().join("huge"), vec![b'x'; 70 << 20]).unwrap();
    let tools = tools(house.path());
    let asked = json!({"pattern": "needle"});
    assert_snapshot!(told(&tools, GREP, &asked), @"
    Found 1 matching line in 1 file
    short:1:needle
    [Not searched to its end: 1 file with a line longer than 64 MiB: huge]
    ");
    assert_snapshot!(told(&tools, GREP, &with(&asked, "multiline", true)), @"
    Found 1 match in 1 file
    short:1:needle
    [Not searched to its end: 1 file larger than 64 MiB, too large to search over lines: huge]
    ");
    assert_snapshot!(told(&tools, GREP, &json!({"pattern": "absent"})), @"
    No matches found. 2 files were searched.
    [Not searched to its end: 1 file with a line longer than 64 MiB: huge]
    ");
}

#[test]
fn many_files() {
    let house = tempfile::tempdir().unwrap();
    for directory in 0..100 {
        let path = house.path().join(format!("d{directory:02}"));
        fs::create_dir(&path).unwrap();
        for file in 0..200 {
            let text = if file == 7 { "the needle\n" } else { "hay\n" };
            fs::write(path.join(format!("f{file:03}.txt")), text).unwrap();
        }
    }
    let tools = tools(house.path());
    let text = told(&tools, GREP, &json!({"pattern": "needle"}));
    let expected: Vec<String> = (0..100)
        .map(|n| format!("d{n:02}/f007.txt:1:the needle"))
        .collect();
    assert_eq!(rows(&text), expected);
    let text = told(&tools, GREP, &json!({"pattern": "nothing"}));
    assert_eq!(text, "No matches found. 20000 files were searched.");
    let text = refused(&tools, GREP, &json!({"pattern": "hay", "mode": "files"}));
    let bytes = "Found 19900 files\n".len() + 19_900 * "d00/f000.txt\n".len();
    assert!(text.contains(&format!("~{} tokens", bytes / 4)), "{text}");
}

/// Directories that are replaced by links to the outside during the walk give no results.
#[test]
fn swapped_directories_lead_nowhere() {
    let outside = tree(&[("f.txt", "needle secret\n"), ("g.txt", "needle secret\n")]);
    let house = tree(&[]);
    let both = |number| [format!("d/e{number}"), format!("d/.link{number}")];
    for [directory, link] in (0..40).map(both) {
        let directory = house.path().join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("f.txt"), "needle\n").unwrap();
        symlink(outside.path(), house.path().join(link)).unwrap();
    }
    let (tools, ended) = (tools(house.path()), AtomicBool::new(false));
    let root = fs::File::open(house.path()).unwrap();
    scope(|scope| {
        let _ends = Ends(&ended);
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                for [one, other] in (0..40).map(both) {
                    renameat_with(&root, one, &root, other, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        for round in 0..600 {
            let (tool, asked) = match round % 3 {
                0 => (GREP, json!({"pattern": "needle"})),
                1 => (GREP, json!({"pattern": "needle", "max_results": 30})),
                _ => ("glob_files", json!({"pattern": "*.txt"})),
            };
            let (text, _) = crate::call(&tools, tool, &asked);
            assert!(
                !text.contains("secret") && !text.contains("g.txt"),
                "{text}"
            );
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The pages of any size together contain the same rows as the whole answer.
    #[test]
    fn pages_are_the_whole(files in trees(), size in 1..7_u64) {
        let house = plant(&files);
        let tools = tools(house.path());
        for mode in ["lines", "files", "count"] {
            let asked = json!({"pattern": "foo", "mode": mode, "hidden": true, "max_results": size});
            let whole = rows(&told(&tools, GREP, &with(&asked, "max_results", 0)));
            let mut paged = Vec::new();
            while (paged.len() as u64) < whole.len() as u64 {
                let page = told(&tools, GREP, &with(&asked, "offset", paged.len()));
                prop_assert!(rows(&page).len() as u64 <= size);
                prop_assert!(!rows(&page).is_empty());
                paged.extend(rows(&page));
            }
            prop_assert_eq!(&paged, &whole);
        }
    }
}
