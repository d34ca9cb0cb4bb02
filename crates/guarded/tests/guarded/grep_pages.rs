//! How are many matches paged, and too many refused?

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use crate::tools;
use crate::tree::{plant, refused, rows, told, tree, trees, with};

const GREP: &str = "grep_content";

#[test]
fn pages() {
    let many = "line match\nother\n".repeat(5);
    let house = tree(&[("a.txt", &many), ("b.txt", &many), ("c.txt", "match\n")]);
    let tools = tools(house.path());
    let page = |more| told(&tools, GREP, &with(&more, "pattern", "match"));
    assert_snapshot!(page(json!({"max_results": 2})), @"");
    assert_snapshot!(page(json!({"max_results": 2, "offset": 4, "context": 1})), @"");
    assert_snapshot!(page(json!({"offset": 10})), @"");
    assert_snapshot!(page(json!({"max_results": 2, "mode": "files"})), @"");
    assert_snapshot!(page(json!({"max_results": 9, "offset": 1, "mode": "count"})), @"");
    assert_snapshot!(page(json!({"max_results": 1, "path": "a.txt", "offset": 4})), @"");
    // All of them is no page.
    assert_eq!(page(json!({"max_results": 11})), page(json!({})));
    let past = refused(&tools, GREP, &json!({"pattern": "match", "offset": 11}));
    assert_snapshot!(past, @"");
}

/// 100,003 bytes pass and 100,004 do not, head and all.
#[test]
fn the_limit_counts_the_whole_answer() {
    let head = "Found 100 matching lines in 1 file\n".len();
    let row = "f:10:".len() + 1;
    // Nine rows have a shorter number, one a longer one.
    let text = 100_003 - head - 100 * row + 9 - 1;
    for (more, passes) in [(0, true), (1, false)] {
        let mut lines = vec!["x".repeat(text / 100); 100];
        lines[50].push_str(&"x".repeat(text % 100 + more));
        let house = tree(&[("f", &lines.join("\n"))]);
        let tools = tools(house.path());
        match passes {
            true => assert_eq!(told(&tools, GREP, &json!({"pattern": "x"})).len(), 100_003),
            false => assert_snapshot!(refused(&tools, GREP, &json!({"pattern": "x"})), @""),
        }
    }
}

#[test]
fn too_much_is_refused_and_its_pages_are_not() {
    let lines = format!("{}\n", "match ".repeat(20)).repeat(2000);
    let house = tree(&[("a", &lines), ("b", &lines)]);
    let tools = tools(house.path());
    let asked = json!({"pattern": "match"});
    assert_snapshot!(refused(&tools, GREP, &asked), @"");
    // A page that is too much by itself is refused likewise.
    assert_snapshot!(refused(&tools, GREP, &with(&asked, "max_results", 1000)), @"");
    assert_snapshot!(refused(&tools, GREP, &with(&asked, "offset", 1)), @"");
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

/// A line that no searcher can hold is not passed over in silence.
#[test]
fn a_line_that_is_too_long_is_said() {
    let house = tree(&[("short", "needle\n")]);
    let huge = fs::File::create(house.path().join("huge")).unwrap();
    // Sparse, and no NUL that is met before it is too long: the first is at its end.
    huge.set_len(0).unwrap();
    drop(huge);
    fs::write(house.path().join("huge"), vec![b'x'; 70 << 20]).unwrap();
    let text = told(&tools(house.path()), GREP, &json!({"pattern": "needle"}));
    assert_snapshot!(text, @"");
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
    assert_eq!(text.matches("~69653 tokens").count(), 1, "{text}");
}

/// A directory that becomes a link to the outside while it is walked leads nowhere.
#[test]
fn a_swapped_directory_leads_nowhere() {
    let outside = tree(&[("f0.txt", "needle secret\n"), ("g.txt", "needle secret\n")]);
    let house = tree(&[]);
    let (inside, aside) = (house.path().join("in"), house.path().join("in/.aside"));
    for number in 0..20 {
        let path = inside.join(format!("d/e/f{number}.txt"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "needle\n").unwrap();
    }
    let (tools, ended) = (tools(&inside), AtomicBool::new(false));
    scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                fs::rename(inside.join("d/e"), &aside).unwrap();
                symlink(outside.path(), inside.join("d/e")).unwrap();
                fs::remove_file(inside.join("d/e")).unwrap();
                fs::rename(&aside, inside.join("d/e")).unwrap();
            }
        });
        for round in 0..1500 {
            let (tool, asked) = match round % 3 {
                0 => (GREP, json!({"pattern": "needle"})),
                1 => (GREP, json!({"pattern": "needle", "max_results": 30})),
                _ => ("glob_files", json!({"pattern": "*.txt"})),
            };
            let (text, _) = crate::call(&tools, tool, &asked);
            let leaks = text.contains("secret") || text.contains("g.txt");
            ended.fetch_or(leaks, Ordering::Relaxed);
            assert!(!leaks, "{text}");
        }
        ended.store(true, Ordering::Relaxed);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Pages of any size together are the whole.
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
