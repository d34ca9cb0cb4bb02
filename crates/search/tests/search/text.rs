//! Searches in logs, prose and code.

use std::collections::BTreeSet;

use super::*;

#[test]
fn lines_of_a_log() {
    let artifact = artifact(&log());
    assert_snapshot!(find(&artifact, "Which block has too few replicas?", 60).render(), @"
    [1 of 1 passage]
    701:10:11:40 WARN  DataNode: blk_-4217 has 1 replica, 3 are wanted
    ");
    assert_snapshot!(find(&artifact, "Who failed to give the password for root, and was E77123 hit?", 60).render(), @"
    Not in the text: E77123
    [1 of 1 passage]
    1201:10:20:00 ERROR sshd[77]: Failed password for root from 10.0.0.7 port 2201
    ");
    // Lines that follow one template do not crowd out other lines.
    let page = find(&artifact, "PacketResponder blk_-4217", 300);
    assert!(page.passages[0].text.contains("blk_-4217"));
}

#[test]
fn common_lines_leave_room_for_others() {
    let mut text = "10:00:00 INFO  cache lookup of user 17 took 3 ms\n".repeat(500);
    text.push_str("10:00:09 INFO  the cache was moved to shard b for user data by hand\n");
    text.push_str(&"10:00:10 INFO  cache lookup of user 18 took 4 ms\n".repeat(500));
    let page = find(&artifact(&text), "user cache", 400);
    assert!(
        page.passages.iter().any(|one| one.text.contains("shard b")),
        "{}",
        page.render()
    );
}

#[test]
fn nothing_found_says_what_to_do() {
    let artifact = artifact(&log());
    assert_snapshot!(find(&artifact, "Where is zebra E4217X?", 100).render(), @"
    Not in the text: E4217X
    No passage: none of these words is in the text. Ask with fewer or other words, or grep for a part of a word.
    ");
    let query = SearchQuery::new(" ?! ", TokenBudget::new(100));
    let error = search(&artifact, &query, &*Tokenizer::Heuristic.counter()).unwrap_err();
    assert!(matches!(error, LookupError::EmptyQuestion) && error.is_callers());
    assert_snapshot!(error, @"the question has no word to look for");
}

#[test]
fn a_page_says_what_is_not_there() {
    let quiet = artifact(&"10:00:00 INFO  block 7 of the backup was copied\n".repeat(40));
    assert_snapshot!(find(&quiet, "Why did it fail?", 100).render(), @"No line of the text reports a failure.");
    assert_snapshot!(find(&quiet, "ackup", 40).render(), @"
    The words occur only inside longer words.
    [1 of 40 passages]
    1:10:00:00 INFO  block 7 of the backup was copied
    ");
    let page = find(&quiet, "block", 60);
    assert_eq!(page.total, 40);
    assert!(page.render().starts_with("[1 of 40 passages]\n") || page.passages[0].lines.last > 1);
}

#[test]
fn an_identifier_in_another_spelling_is_not_absent() {
    let text = r#"{"server": {"max_size": 3, "url": "https://x.example/a%2Fb_c?q", "name": "Caf\u00e9_1", "path": "usr\/lib_x"}}"#;
    let artifact = artifact(text);
    for words in [
        "server.max_size",
        "a/b_c",
        "CAF\u{c9}_1",
        "usr/lib_x",
        "MAX_SIZE",
        "Is caf\u{e9}_1 there?",
    ] {
        assert_eq!(
            find(&artifact, words, 200).absent,
            Vec::<String>::new(),
            "{words}"
        );
    }
    for words in ["server.min_size", "a/b_dd", "caf\u{e8}_1"] {
        assert_eq!(find(&artifact, words, 200).absent, [words], "{words}");
    }
}

#[test]
fn reports_of_failures_stand_in_the_order_of_the_text() {
    let mut text = "step one\nerror: cannot find value `limit` in this scope\n".to_owned();
    text.push_str(&"   Compiling something v1.0\n".repeat(60));
    text.push_str(
        "error: could not compile `app` due to 1 previous error\nmake: *** [all] Error 2\n",
    );
    let page = find(&artifact(&text), "Why did it fail?", 300);
    let firsts: Vec<u64> = page.passages.iter().map(|one| one.lines.first).collect();
    assert!(firsts.len() > 1 && firsts.is_sorted(), "{firsts:?}");
}

#[test]
fn paragraphs_of_prose() {
    let mut text = String::new();
    for i in 0..60 {
        text.push_str(&format!("The town of Name{i} lies by a river. It has a mill\nand an old bridge, which people cross on foot.\n\n"));
    }
    text.push_str("Horses were kept in the valley until the flood.\nAfter it, farmers turned to sheep and wool.\n\n");
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "What did the farmers keep before the flooding?", 60).render(), @"
    [1 of 1 passage]
    181:Horses were kept in the valley until the flood.
    182:After it, farmers turned to sheep and wool.
    ");
}

#[test]
fn signs_and_neighbouring_words_of_prose() {
    let mut text = String::new();
    for i in 0..30 {
        let what = match i % 10 {
            0 => "The exit of town {i} lies by a river, and its status is that of a market.",
            _ => "The mill of town {i} lies by a river, and people cross it on the bridge.",
        };
        text.push_str(&format!("{}\n\n", what.replace("{i}", &i.to_string())));
    }
    text.push_str("Write %% where the text has one such sign.\n\nBread is sold at noon.\n\n");
    text.push_str("What one leaves behind is its exit status, in the town, by the river.\n\n");
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "how is a percent escaped?", 60).render(), @"
    [1 of 1 passage]
    61:Write %% where the text has one such sign.
    ");
    assert_snapshot!(find(&artifact, "what does a % do?", 60).render(), @"
    [2 of 2 passages]
    61:Write %% where the text has one such sign.
    65:What one leaves behind is its exit status, in the town, by the river.
    ");
    assert_snapshot!(find(&artifact, "exit status", 70).render(), @"
    [3 of 4 passages]
    65:What one leaves behind is its exit status, in the town, by the river.
    1:The exit of town 0 lies by a river, and its status is that of a market.
    21:The exit of town 10 lies by a river, and its status is that of a market.
    ");
}

#[test]
fn passages_say_what_they_stand_below() {
    let mut text = String::from("# Changes\n\n");
    for version in 0..40 {
        text.push_str(&format!("3.{version}.0 / 2024-01-02\n==========\n\n"));
        for item in 0..12 {
            text.push_str(&format!(
                "  * change number {item} of the parser for numbers and words\n"
            ));
        }
        text.push_str(if version == 7 {
            "  * add `partitioned` option for cookies\n\n"
        } else {
            "\n"
        });
    }
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "new attribute of the cookie in 3.7.0", 60).render(), @"
    [2 of 2 passages]
    130:  * add `partitioned` option for cookies
    115:3.7.0 / 2024-01-02
    ");
}

#[test]
fn code_with_lines_around() {
    let mut text = String::from("use std::fs;\n\n");
    for i in 0..80 {
        text.push_str(&format!(
            "fn helper_{i}(x: u32) -> u32 {{\n    let y = x + {i};\n    y * 2\n}}\n\n"
        ));
    }
    text.push_str("fn parse_header(line: &str) -> Option<Header> {\n    let name = line.split(':').next()?;\n    Some(Header { name })\n}\n");
    assert_snapshot!(find(&artifact(&text), "parseHeader", 120).render(), @"
    Not in the text: parseHeader
    In another spelling: parse_header
    [2 of 2 passages]
    401:}
    402:
    403:fn parse_header(line: &str) -> Option<Header> {
    404:    let name = line.split(':').next()?;
    405:    Some(Header { name })
    406:}
    ");
}

#[test]
fn why_the_build_failed() {
    let mut text = String::new();
    for i in 0..400 {
        text.push_str(&format!(
            "[INFO] Compiling module {i}\n[WARNING] module {i} uses a deprecated error handler\n"
        ));
    }
    text.push_str("[INFO] Running tests\nTests run: 12, Failures: 0, Errors: 0\nmkdir: cannot create directory 'x': No space left on device\n");
    text.push_str(
        "[INFO] cleaning up\n[INFO] done\n[INFO] BUILD FAILURE\n[INFO] Total time: 3 s\n",
    );
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "Why did the build fail?", 200).render(), @"
    [4 of 4 passages]
    792:[WARNING] module 395 uses a deprecated error handler
    794:[WARNING] module 396 uses a deprecated error handler
    796:[WARNING] module 397 uses a deprecated error handler
    --
    798:[WARNING] module 398 uses a deprecated error handler
    799:[INFO] Compiling module 399
    800:[WARNING] module 399 uses a deprecated error handler
    801:[INFO] Running tests
    802:Tests run: 12, Failures: 0, Errors: 0
    803:mkdir: cannot create directory 'x': No space left on device
    804:[INFO] cleaning up
    805:[INFO] done
    806:[INFO] BUILD FAILURE
    807:[INFO] Total time: 3 s
    ");
    // No line of this text is too long for a budget, so more budget shows all that less shows.
    let numbers = |budget: u64| -> BTreeSet<u64> {
        let page = find(&artifact, "Why did the build fail?", budget);
        let lines = page.passages.iter().flat_map(Passage::numbered);
        lines.map(|(number, _)| number).collect()
    };
    let pages: Vec<_> = (1..20).map(|budget| numbers(budget * 40)).collect();
    for pair in pages.windows(2) {
        assert!(pair[0].is_subset(&pair[1]), "{pair:?}");
    }
    assert!(pages[0].len() < 5 && pages[18].len() > 30, "{pages:?}");
}

#[test]
fn hostile_texts_and_questions() {
    let long_line = "needle word ".repeat(90_000);
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let keys = format!(
        "{{\"{}\":{{\"needle\":[\"{}\"]}}}}",
        "k".repeat(50_000),
        "needle ".repeat(50_000)
    );
    let many: String = (0..10_000).map(|i| format!("word{i} needle ")).collect();
    let questions = ["needle", ".*[(+?\\d", "needle \u{0} \"' OR 1=1", &many];
    for text in [
        &long_line,
        &nested,
        &keys,
        "",
        "\n\n\n",
        "needle",
        "\u{feff}{\"needle\": \"\\ud83d needle\"}",
    ] {
        if text.is_empty() {
            continue;
        }
        let artifact = artifact(text);
        for question in questions {
            for budget in [1, 100, 1000] {
                find(&artifact, question, budget);
            }
        }
    }
    let page = find(&artifact(&long_line), "needle", 100);
    assert!(!page.passages.is_empty());
}

#[test]
fn a_text_larger_than_a_window_is_searched_to_its_end() {
    let mut text = log().repeat(100);
    text.push_str("10:59:59 INFO  the last line names Zanzibar\n");
    let artifact = artifact(&text);
    let page = find(&artifact, "Zanzibar INFO terminating", 200);
    assert_eq!(page.passages[0].lines.first, artifact.view().lines());
}

#[test]
fn places_in_text_have_no_path() {
    assert_eq!(
        paths_at(&artifact("a\nb\n"), &[0, 2]).unwrap(),
        [None, None]
    );
}

#[test]
fn what_only_the_bytes_of_a_binary_contain_is_not_absent() {
    // A terminal takes `ESC 0x01 % R` for a control sequence.
    let binary = "\0\u{1}\u{2}rows\0\u{1b}\u{1}%RB-8043Mwrong torque\0\0\nmore\0\0rows\0\0\n";
    let artifact = artifact(binary);
    let pages = ["RB-8043", "RB-9999"].map(|words| find(&artifact, words, 500).render());
    assert_snapshot!(pages.join("---\n"), @"
    In the bytes of this binary, but not in its text: RB-8043
    [1 of 1 passage]
    1:rowsB-8043Mwrong torque
    ---
    Not in the text: RB-9999
    No passage: none of these words is in the text. Ask with fewer or other words, or grep for a part of a word.
    ");
}
