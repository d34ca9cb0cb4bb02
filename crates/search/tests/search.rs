//! Searches in each kind of content.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use insta::assert_snapshot;
use proptest::prelude::*;
use spillgate_artifact::{Layout, Origin, SystemClock, TokenBudget};
use spillgate_lookup::{Artifact, LookupError};
use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy, Profile, Rule};
use spillgate_search::{
    Passage, SearchPage, SearchQuery, SeveralPage, paths_at, search, search_several,
};
use spillgate_store::MemoryStore;
use spillgate_text::{TokenCounter, Tokenizer};

/// Stores a text like a tool result, however small it is.
fn artifact(text: &str) -> Artifact {
    let everything = Rule {
        max_bytes: Some(1),
        profile: Some(Profile::Handle),
        ..Rule::default()
    };
    let offloader = Offloader::new(
        Arc::new(MemoryStore::default()),
        Policy::default().under(everything),
        Tokenizer::Heuristic.counter(),
        Audience::default(),
        Arc::new(SystemClock),
        Arc::new(NoLedger),
    );
    let outcome = offloader.stream(Origin::tool("test"), &mut text.as_bytes(), &mut |_| {});
    match outcome.unwrap() {
        Outcome::Offloaded(offloaded) => offloader.artifact(offloaded.receipt.handle()).unwrap(),
        other => panic!("not stored: {other:?}"),
    }
}

fn find(artifact: &Artifact, words: &str, budget: u64) -> SearchPage {
    let counter = Tokenizer::O200kBase.counter();
    let query = SearchQuery::new(words, TokenBudget::new(budget));
    let page = search(artifact, &query, &*counter).unwrap();
    check(artifact, &page, budget, &*counter);
    page
}

/// Checks what holds for every page.
fn check(artifact: &Artifact, page: &SearchPage, budget: u64, counter: &dyn TokenCounter) {
    let rendered = page.render();
    assert_eq!(page.tokens, counter.count(&rendered));
    assert!(
        page.tokens <= TokenBudget::new(budget).get(),
        "{} of {budget}",
        page.tokens
    );
    let view = artifact.view();
    let mut shown = Vec::new();
    for passage in &page.passages {
        let (first, last) = (passage.lines.first, passage.lines.last);
        assert!(
            (1..=last).contains(&first) && last <= view.lines(),
            "{first}-{last}"
        );
        let (start, end) = (
            view.offset_of_line(first).unwrap(),
            view.offset_of_line(last + 1).unwrap(),
        );
        let lines = String::from_utf8(view.source().bytes(start, end).unwrap()).unwrap();
        match passage.is_cut {
            true => assert!(lines.contains(&passage.text)),
            false => assert_eq!(lines.strip_suffix('\n').unwrap_or(&lines), passage.text),
        }
        shown.push((first, last));
    }
    shown.sort_unstable();
    for pair in shown.windows(2) {
        assert!(pair[0].1 < pair[1].0, "{shown:?} overlap");
    }
}

fn log() -> String {
    let line = |i: usize| match i {
        700 => "10:11:40 WARN  DataNode: blk_-4217 has 1 replica, 3 are wanted\n".to_owned(),
        1200 => {
            "10:20:00 ERROR sshd[77]: Failed password for root from 10.0.0.7 port 2201\n".to_owned()
        }
        _ => format!(
            "10:{:02}:{:02} INFO  PacketResponder {} for block blk_{i} terminating\n",
            i / 60,
            i % 60,
            i % 3
        ),
    };
    (0..2000).map(line).collect()
}

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
fn json_by_path_and_by_sibling() {
    let orders: Vec<String> = (0..300)
        .map(|i| {
            let items: Vec<String> = (0..3)
                .map(|n| format!(r#"{{"name":"Thing {}","price":{i}.{n},"tags":["a","b"]}}"#, i * 3 + n))
                .collect();
            format!(
                r#"{{"order_id":"W{i}00","user":{{"name":"user_{i}","city":"Town {i}"}},"items":[{}],"status":"{}"}}"#,
                items.join(","),
                if i == 7 { "lost at sea" } else { "sent" }
            )
        })
        .collect();
    let by_name: Vec<String> = (0..200)
        .map(|i| format!(r#""prop-{i}":{{"support":{{"fire fox":{{"added":"{i}.1"}},"chrome":{{"added":"{i}.2"}}}}}}"#))
        .collect();
    let text = format!(
        r#"{{"orders":[{}],"by_name":{{{}}}}}"#,
        orders.join(","),
        by_name.join(",")
    );
    let artifact = artifact(&text);
    assert_eq!(artifact.view().layout(), Layout::Json);
    assert_snapshot!(find(&artifact, "What is the price of Thing 605?", 90).render(), @r#"
    [3 of 3 passages]
    .orders[201].items[2]
    6860:{"name":"Thing 605","price":201.2,"tags":["a","b"]}
    "#);
    assert_snapshot!(find(&artifact, "Since when does fire fox support prop-17?", 60).render(), @"
    1 of 200 in .by_name[] have key = prop-17:
    key	prop-17
    support.fire fox.added	17.1
    support.chrome	{added: 17.2}
    ");
    assert_snapshot!(find(&artifact, "Which order was lost at sea?", 70).render(), @r#"
    1 of 300 in .orders[] have status = lost at sea:
    order_id	W700
    user.name	user_7
    --
    [2 of 2 passages]
    .orders[7].order_id
    242:"order_id":"W700"
    --
    .orders[7].status
    273:"status":"lost at sea"
    "#);
}

/// Output like that of `cargo metadata`: large objects that name each other.
fn packages() -> Artifact {
    let names = [
        "alpha",
        "alpha_core",
        "beta",
        "tokyo",
        "tokyo-util",
        "gamma",
    ];
    let package = |(i, name): (usize, &&str)| {
        let others: Vec<String> = names
            .iter()
            .filter(|other| *other != name)
            .map(|other| format!(r#"{{"name":"{other}","req":"^{i}","kind":null,"features":["version","license"]}}"#))
            .collect();
        let filler = format!(r#""some words of {name} that tell nothing""#);
        format!(
            r#"{{"name":"{name}","version":"{i}.2.3","id":"registry+https://example.org#{name}@{i}.2.3","license":"L-{i}","license_file":null,"description":"The version of alpha that tokyo uses","dependencies":[{}],"targets":[{{"kind":["lib"],"name":"{name}","edition":"20{i}8"}}],"keywords":[{}],"authors":["A. {name}"],"edition":"20{i}1","rust_version":"1.{i}"}}"#,
            others.join(","),
            vec![filler; 40].join(","),
        )
    };
    let packages: Vec<String> = names.iter().enumerate().map(package).collect();
    artifact(&format!(
        r#"{{"packages":[{}],"version":1}}"#,
        packages.join(",")
    ))
}

#[test]
fn the_object_that_is_named_and_what_is_asked_of_it() {
    let artifact = packages();
    let cases: [(&str, &[&str]); 7] = [
        ("version of alpha", &["\"alpha\"", "\"0.2.3\""]),
        (
            "what version of tokyo is used?",
            &["\"tokyo\"", "\"3.2.3\""],
        ),
        ("license of alpha_core", &["\"alpha_core\"", "\"L-1\""]),
        (
            "What is the edition of tokyo-util?",
            &["\"tokyo-util\"", "\"2041\""],
        ),
        (
            "Version of gamma, and its license",
            &["\"gamma\"", "\"5.2.3\"", "\"L-5\""],
        ),
        ("who are the authors of beta", &["\"beta\"", "A. beta"]),
        ("rust_version of beta.", &["\"beta\"", "\"1.2\""]),
    ];
    for (question, want) in cases {
        for budget in [150, 300] {
            let page = find(&artifact, question, budget);
            let start: String = page.render().lines().take(14).collect();
            for part in want {
                // In a table values have no quotes.
                assert!(
                    start.contains(part.trim_matches('"')),
                    "{question}: {part}\n{}",
                    page.render()
                );
            }
        }
    }
    assert_snapshot!(find(&artifact, "What is the license of tokyo?", 60).render(), @r#"
    [2 of 146 passages]
    .packages[3].name
    337:"name":"tokyo"
    --
    .packages[3].license
    340:"license":"L-3"
    --
    .packages[0].dependencies[2].name
    30:"name":"tokyo"
    "#);
}

#[test]
fn what_is_absent_brings_nothing_else() {
    let text = "frob the x and y\nthe x of it\n".repeat(30);
    assert_snapshot!(find(&artifact(&text), "zorb_x", 60).render(), @"
    Not in the text: zorb_x
    No passage: none of these words is in the text. Ask with fewer or other words, or grep for a part of a word.
    ");
    let orders: Vec<String> = (0..60)
        .map(|i| format!(r##""#W{i}00":{{"status":"sent","order_id":"#W{i}00"}}"##))
        .collect();
    let text = format!("{{{}}}", orders.join(","));
    for budget in [60, 200, 600, 1000] {
        let page = find(&artifact(&text), "status of #W9999999", budget);
        assert_eq!(page.absent, ["W9999999"]);
        let is_document = |one: &Passage| one.path.as_deref() == Some(".");
        assert!(!page.passages.iter().any(is_document), "{}", page.render());
    }
}

#[test]
fn a_document_a_line() {
    let mut text = String::new();
    for i in 0..300 {
        let filler = "lorem ipsum ".repeat(100);
        text.push_str(&format!(
            "{{\"ticket\":\"T-{i}\",\"body\":\"{filler}\",\"owner\":\"user{i}\"}}\n"
        ));
    }
    // More than a view line lies between the name and the answer.
    let page = find(&artifact(&text), "Who owns ticket T-77?", 500);
    assert!(
        page.passages[0].text.contains("user77"),
        "{}",
        page.render()
    );
}

#[test]
fn rows_of_a_table() {
    let mut text = String::from("id,city,temperature,note\n");
    for i in 0..500 {
        let city = ["Oslo", "New York", "York", "Lima"][i % 4];
        text.push_str(&format!("{i},{city},{}.5,\"a, b {i}\"\n", i % 30));
    }
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "What was the temperature in New York?", 90).render(), @"
    125 of 500 records have city = New York:
    note	id	temperature
    a, b 1	1	1.5
    a, b 5	5	5.5
    a, b 9	9	9.5
    a, b 13	13	13.5
    a, b 17	17	17.5
    … 120 more
    ");
}

#[test]
fn a_row_with_line_breaks_in_a_cell() {
    let mut text = String::from("id,name,note,city\n");
    for i in 0..300 {
        let city = ["Oslo", "Lima", "Rome"][i % 3];
        text.push_str(&format!(
            "{i},Person {i},\"first line\nsecond line, \"\"{i}\"\"\nlast\",{city}\n"
        ));
    }
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "What is the city of Person 77?", 250).render(), @r#"
    1 of 300 records have name = Person 77:
    name	Person 77
    id	77
    city	Rome
    note	first line second line, "77" last
    --
    [1 of 2 passages]
    1:id,name,note,city
    233:77,Person 77,"first line
    234:second line, ""77""
    235:last",Rome
    "#);
}

#[test]
fn rows_of_a_table_in_markdown() {
    let mut text = String::from("# Fares\n\nWhat people pay.\n\n| City | Fare |\n|---|---|\n");
    for i in 0..80 {
        text.push_str(&format!("| Town {i} | {i}.5 |\n"));
    }
    text.push_str("\nThe last town is the dearest.\n");
    assert_snapshot!(find(&artifact(&text), "fare in Town 57", 45).render(), @"
    [4 of 84 passages]
    64:| Town 57 | 57.5 |
    --
    5:| City | Fare |
    6:|---|---|
    --
    3:What people pay.
    ");
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

/// A page with a price list.
fn page() -> String {
    let card = |i: usize| {
        format!(
            "<div class=\"card\" data-id=\"p-{i}\"><div class=\"name\">Lamp {i}</div>\n<div class=\"price\">{i}.99 &euro;</div></div>\n"
        )
    };
    let cards: String = (0..60).map(card).collect();
    format!(
        "<html><head><title>Shop</title></head><body><h1>Lamps</h1>\n<p>All lamps are <b>hand-made</b> in Turin and\nshipped within two days.</p>\n{cards}</body></html>\n"
    )
}

#[test]
fn elements_of_html_with_their_children() {
    let artifact = artifact(&page());
    assert_snapshot!(find(&artifact, "How much is Lamp 17?", 40).render(), @"
    [1 of 1 passage]
    (tags left out)
    77:Lamp 17
    79:17.99 €
    ");
    assert_snapshot!(find(&artifact, "Where are lamps manufactured by hand?", 50).render(), @"
    [2 of 2 passages]
    (tags left out)
    6:Lamps
    7:All lamps are hand-made in Turin and
    8:shipped within two days.
    9:Lamp 0
    11:0.99 €
    ");
    // A name that occurs only in a tag is shown with the tag.
    assert_snapshot!(find(&artifact, "p-23", 80).render(), @r#"
    [1 of 1 passage]
    101:<div class="card" data-id="p-23">
    102:<div class="name">Lamp 23</div>
    103:<div class="price">23.99 &euro;</div>
    104:</div>
    "#);
}

#[test]
fn elements_of_xml_and_snapshots_with_their_children() {
    let row = |at: u32| {
        format!(
            "  <product id=\"p-{at}\">\n    <name>Lamp {at}</name>\n    <price>{at}.99</price>\n  </product>\n"
        )
    };
    let rows: String = (0..60).map(row).collect();
    let xml = artifact(&format!("<?xml version=\"1.0\"?>\n<shop>\n{rows}</shop>\n"));
    assert_snapshot!(find(&xml, "price of p-23", 80).render(), @r#"
    [1 of 1 passage]
    95:  <product id="p-23">
    96:    <name>Lamp 23</name>
    97:    <price>23.99</price>
    98:  </product>
    "#);
    let row = |at: u32| {
        format!(
            "    - row \"Lamp {at} {at}.99\" [ref=e{at}0]:\n      - cell \"Lamp {at}\" [ref=e{at}1]\n      - cell \"{at}.99\" [ref=e{at}2]\n"
        )
    };
    let rows: String = (10..60).map(row).collect();
    let page = artifact(&format!(
        "- main [ref=e1]:\n  - heading \"Lamps\" [level=1] [ref=e2]\n  - table [ref=e3]:\n{rows}"
    ));
    assert_snapshot!(find(&page, "price of Lamp 23", 120).render(), @r#"
    [1 of 1 passage]
    43:    - row "Lamp 23 23.99" [ref=e230]:
    44:      - cell "Lamp 23" [ref=e231]
    45:      - cell "23.99" [ref=e232]
    "#);
    let row = |at: u32| {
        format!(
            "  uid=1_{at}0 row\n    uid=1_{at}1 StaticText \"Lamp {at}\"\n    uid=1_{at}2 StaticText \"{at}.99\"\n"
        )
    };
    let rows: String = (10..60).map(row).collect();
    let page = artifact(&format!("uid=1_0 RootWebArea \"Lamps\"\n{rows}"));
    assert_snapshot!(find(&page, "Lamp 23", 80).render(), @r#"
    [1 of 1 passage]
    41:  uid=1_230 row
    42:    uid=1_231 StaticText "Lamp 23"
    43:    uid=1_232 StaticText "23.99"
    "#);
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

/// Hits in records are counted only if all records can be read.
#[test]
fn only_what_was_read_whole_is_counted() {
    let lines = |bad: &str| {
        let line = |i: usize| match i {
            9 => format!("{bad}\n"),
            _ => format!("{{\"name\":\"thing {i}\",\"kind\":\"Odd\"}}\n"),
        };
        (0..20).map(line).collect::<String>()
    };
    let rows = |bad: &str| {
        let row = |i: usize| {
            if i == 9 {
                format!("{bad}\n")
            } else {
                format!("thing {i},Odd\n")
            }
        };
        format!("name,kind\n{}", (0..20).map(row).collect::<String>())
    };
    let list = |bad: &str| {
        let item = |i: usize| {
            if i == 9 {
                bad.to_owned()
            } else {
                format!("{{\"name\":\"thing {i}\",\"kind\":\"Odd\"}}")
            }
        };
        format!("[{}]", (0..20).map(item).collect::<Vec<_>>().join(",\n"))
    };
    let good = "{\"name\":\"thing 9\",\"kind\":\"Odd\"}";
    let cases = [
        (lines(good), true),
        (lines("{\"name\":"), false),
        (rows("thing 9,Odd"), true),
        (list(good), true),
        (list("7"), false),
    ];
    for (text, is_counted) in cases {
        let page = find(&artifact(&text), "How many things are Odd?", 200);
        let table = page.table.unwrap_or_default();
        assert_eq!(table.starts_with("20 of 20"), is_counted, "{text} {table}");
    }
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
    assert_snapshot!(find(&artifact(&text), "Why did the build fail?", 200).render(), @"
    [2 of 2 passages]
    790:[WARNING] module 394 uses a deprecated error handler
    791:[INFO] Compiling module 395
    792:[WARNING] module 395 uses a deprecated error handler
    793:[INFO] Compiling module 396
    794:[WARNING] module 396 uses a deprecated error handler
    795:[INFO] Compiling module 397
    796:[WARNING] module 397 uses a deprecated error handler
    797:[INFO] Compiling module 398
    798:[WARNING] module 398 uses a deprecated error handler
    799:[INFO] Compiling module 399
    800:[WARNING] module 399 uses a deprecated error handler
    801:[INFO] Running tests
    802:Tests run: 12, Failures: 0, Errors: 0
    803:mkdir: cannot create directory 'x': No space left on device
    804:[INFO] cleaning up
    805:[INFO] done
    806:[INFO] BUILD FAILURE
    ");
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_page_is_verbatim_and_within_the_budget(
        text in prop_oneof![
            "([a-e]{1,4}[ .:_-]{0,1}|\n|[0-9]{1,5} |é漢 |x{900,1100}){1,120}",
            json(),
            "(a,b\n)([a-c]{1,3},[0-9]{1,3}\n){1,40}",
        ],
        question in "([a-e]{1,4}[ ._-]?|[0-9]{1,3} |why |fail |漢字){1,8}",
        budget in 1u64..600,
    ) {
        // A text of one byte is within any limit and is not stored.
        prop_assume!(text.len() > 1);
        let artifact = artifact(&text);
        let counter = Tokenizer::O200kBase.counter();
        match search(&artifact, &SearchQuery::new(&question, TokenBudget::new(budget)), &*counter) {
            Ok(page) => check(&artifact, &page, budget, &*counter),
            Err(error) => prop_assert!(matches!(error, LookupError::EmptyQuestion)),
        }
    }
}

/// Generates any JSON object.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<i16>().prop_map(Into::into),
        "([a-e]{1,4} ?|\"|\\\\|é){0,6}".prop_map(Into::into),
    ];
    let value = leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::btree_map("[a-e.-]{0,4}", inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    });
    value.prop_map(|value| serde_json::json!({ "a": value }).to_string())
}

#[test]
fn places_in_json_have_paths() {
    let json = r#"{"a":{"b":[1,[2,{"c d":null}],{}]},"":"x","9":[],"e":[{"f":1},{"f":2}],"g":""#;
    // Shorter lines are left unchanged.
    let artifact = artifact(&format!("{json}{}\"}}", "y".repeat(980)));
    let view = artifact.view();
    let starts: Vec<u64> = (1..=view.lines())
        .map(|line| view.offset_of_line(line).unwrap())
        .collect();
    let text = view.source().bytes(0, view.bytes()).unwrap();
    let text = String::from_utf8(text).unwrap();
    // The offsets may come in any order.
    let mut wanted: Vec<u64> = starts.clone();
    wanted.reverse();
    let mut paths = paths_at(&artifact, &wanted).unwrap();
    paths.reverse();
    let told = text
        .lines()
        .zip(paths)
        .map(|(line, path)| format!("{:<18}{:.9}\n", path.unwrap(), line.trim()));
    assert_snapshot!(told.collect::<String>(), @r#"
    .                 {
    .a                "a": {
    .a.b              "b": [
    .a.b[0]           1,
    .a.b[1]           [
    .a.b[1][0]        2,
    .a.b[1][1]        {
    .a.b[1][1]."c d"  "c d": nu
    .a.b[1][1]        }
    .a.b[1]           ],
    .a.b[2]           {}
    .a.b              ]
    .a                },
    .""               "": "x",
    ."9"              "9": [],
    .e                "e": [
    .e[0]             {
    .e[0].f           "f": 1
    .e[0]             },
    .e[1]             {
    .e[1].f           "f": 2
    .e[1]             }
    .e                ],
    .g                "g": "yyy
    .                 }
    "#);
}

/// A key that is longer than a window of the pass still opens its object.
#[test]
fn a_key_longer_than_a_window_has_no_path() {
    let long = "k".repeat(600 << 10);
    let text = format!(r#"{{"a":{{"{long}":{{"b":{{"c":1}},"d":2}},"e":3}},"f":4}}"#);
    let artifact = artifact(&text);
    let view = artifact.view();
    let all = String::from_utf8(view.source().bytes(0, view.bytes()).unwrap()).unwrap();
    let at = |key: &str| all.find(&format!("\"{key}\"")).unwrap() as u64;
    let paths = paths_at(&artifact, &["c", "d", "e", "f"].map(at)).unwrap();
    let paths: Vec<Option<&str>> = paths.iter().map(Option::as_deref).collect();
    assert_eq!(paths, [None, None, Some(".a.e"), Some(".f")]);
}

#[test]
fn places_in_text_have_no_path() {
    assert_eq!(
        paths_at(&artifact("a\nb\n"), &[0, 2]).unwrap(),
        [None, None]
    );
}

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

/// Returns a JSON document with a diff, a log and a list of files in strings.
fn texts_in_json() -> String {
    let diff: String = (1..40)
        .map(|at| format!(" fn step_{at}() {{ run(\"{at}\") }}\n"))
        .collect();
    let diff = format!(
        "diff --git a/src/run.rs b/src/run.rs\n@@ -1,40 +1,40 @@\n{diff}-    retry(\"three\");\n+    retry(\"five\");\n"
    );
    let log: String = (1..60)
        .map(|at| format!("2026-11-21T10:00:{at:02}Z INFO step {at} done\n"))
        .collect();
    let log = format!("{log}2026-11-21T10:01:00Z ERROR disk quota exceeded on vol7\n");
    let file = |name: &str, port: u16| {
        let lines: String = (1..50)
            .map(|at| format!("# option {at} of the server\n"))
            .collect();
        serde_json::json!({"name": name, "content": format!("{lines}listen = {port}\n")})
    };
    serde_json::json!({
        "id": 7,
        "patch": diff,
        "log": log,
        "files": [file("edge.conf", 8443), file("core.conf", 9090)],
    })
    .to_string()
}

#[test]
fn texts_in_json_are_searched_as_texts() {
    let artifact = artifact(&texts_in_json());
    let pages = [
        "how often does it retry?",
        "disk quota",
        "on which port does core.conf listen?",
        "zygote",
    ]
    .map(|words| {
        let counter = Tokenizer::O200kBase.counter();
        let query = SearchQuery::new(words, TokenBudget::new(150));
        let page = search(&artifact, &query, &*counter).unwrap();
        assert!(page.tokens <= 150 && page.tokens == counter.count(&page.render()));
        for passage in page.passages.iter().filter(|one| one.is_inside) {
            let inner = artifact.inside(passage.path.as_deref().unwrap()).unwrap();
            let at = inner.view().offset_of_line(passage.lines.first).unwrap();
            let end = inner.view().offset_of_line(passage.lines.last + 1).unwrap();
            let lines = inner.view().source().bytes(at, end).unwrap();
            assert_eq!(String::from_utf8_lossy(&lines).trim_end(), passage.text);
        }
        page.render()
    });
    assert_snapshot!(pages.join("=====\n"), @r#"
    [2 of 2 passages]
    .patch (lines of this text)
    40: fn step_38() { run("38") }
    41: fn step_39() { run("39") }
    42:-    retry("three");
    43:+    retry("five");
    =====
    [1 of 1 passage]
    .log (lines of this text)
    60:2026-11-21T10:01:00Z ERROR disk quota exceeded on vol7
    =====
    [3 of 3 passages]
    .files[1].content (lines of this text)
    50:listen = 9090
    --
    .files[1].name
    11:"name":"core.conf"
    --
    .files[0].content (lines of this text)
    50:listen = 8443
    =====
    Not in the text: zygote
    No passage: none of these words is in the text. Ask with fewer or other words, or grep for a part of a word.
    "#);
}
