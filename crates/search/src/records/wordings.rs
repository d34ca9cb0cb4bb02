//! Questions as people ask them about lists of pull requests, customers and machines.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_artifact::{ContentKind, TokenBudget};
use spillgate_text::Tokenizer;

use super::answer_of;
use super::cell::Cell;
use super::load::Document;
use super::plan::By;
use super::plan::Order;
use super::table::{cell_text, sort};

/// Returns the first two lines of each answer.
fn answers(text: &str, kind: ContentKind, questions: &[&str]) -> String {
    let document = Document::of(text.as_bytes().to_vec(), kind);
    let parsed = document.parse().unwrap();
    let counter = Tokenizer::Heuristic.counter();
    let answer = |question: &&str| {
        let table = answer_of(
            &parsed,
            document.text(),
            question,
            TokenBudget::new(600),
            &*counter,
        );
        let table = table.unwrap_or_else(|| "no table".to_owned());
        let lines: Vec<&str> = table.lines().take(3).collect();
        format!("{question}\n    {}", lines.join(" | ").replace('\t', ", "))
    };
    let answers: Vec<String> = questions.iter().map(answer).collect();
    answers.join("\n")
}

#[test]
fn pull_requests() {
    let all: Vec<Value> = (0..30)
        .map(|i| {
            let merged = i % 3 == 0;
            json!({
                "createdAt": format!("2025-03-{:02}T08:{:02}:00Z", i % 27 + 1, i),
                "number": 500 + i,
                "state": if merged { "MERGED" } else { "OPEN" },
                "mergedAt": if merged { json!(format!("2025-04-{:02}T10:00:00Z", i % 30 + 1)) } else { Value::Null },
                "comments": i * 7 % 31,
                "deprecated": if i % 10 == 4 { json!("moved") } else { Value::Null },
                "assignee": if i % 4 == 0 { json!({"login": "ada"}) } else { Value::Null },
            })
        })
        .collect();
    let questions = [
        "How many were merged?",
        "Which were not assigned to anybody?",
        "Which are deprecated?",
        "Which PR was discussed the most?",
        "Which open PR has been waiting longest?",
        "What was the very last one to be created?",
        "Which comes second in comments?",
        "Which have four comments or fewer?",
    ];
    assert_snapshot!(answers(&Value::from(all).to_string(), ContentKind::Json, &questions), @r#"
    How many were merged?
        10 of 30 in .[] have state = MERGED: | number | 500
    Which were not assigned to anybody?
        22 of 30 in .[] have assignee absent: | number | 501
    Which are deprecated?
        3 of 30 in .[] have deprecated present: | number, deprecated, assignee.login, comments, createdAt, mergedAt, state | 504, moved, ada, 28, 2025-03-05T08:04:00Z, , OPEN
    Which PR was discussed the most?
        30 of 30 in .[]; largest comments first: | number, comments, assignee.login, createdAt, state, deprecated | 522, 30, , 2025-03-23T08:22:00Z, OPEN, 
    Which open PR has been waiting longest?
        20 of 30 in .[] have state = OPEN; smallest createdAt first: | number, createdAt, assignee.login, comments, state, deprecated | 501, 2025-03-02T08:01:00Z, , 7, OPEN, 
    What was the very last one to be created?
        30 of 30 in .[]; largest createdAt first: | number, createdAt, assignee.login, comments, mergedAt, state, deprecated | 526, 2025-03-27T08:26:00Z, , 27, , OPEN, 
    Which comes second in comments?
        30 of 30 in .[]; largest comments first: | number, comments, assignee.login, createdAt, state, deprecated | 522, 30, , 2025-03-23T08:22:00Z, OPEN, 
    Which have four comments or fewer?
        5 of 30 in .[] have comments <= 4: | number, comments, assignee.login, createdAt, mergedAt, state | 500, 0, ada, 2025-03-01T08:00:00Z, 2025-04-01T10:00:00Z, MERGED
    "#);
}

#[test]
fn a_table_with_semicolons() {
    let rows = (0..20).map(|i| {
        let (stock, churned) = (i * 3 % 5, if i % 6 == 1 { "yes" } else { "no" });
        format!(
            "C{i:02};{};20{:02}-05-01;20{:02}-01-01;{stock};{churned}",
            i * 11 % 50,
            10 + i % 13,
            26 + i % 9
        )
    });
    let header = "Customer;Seats;Signed;Renewal date;Stock;Churned".to_owned();
    let rows: Vec<String> = std::iter::once(header).chain(rows).collect();
    let questions = [
        "Who has been with us the longest?",
        "Which renewal is the soonest?",
        "Which customers have churned?",
        "How many are out of stock?",
        "most seats",
    ];
    assert_snapshot!(answers(&rows.join("\n"), ContentKind::Csv, &questions), @r#"
    Who has been with us the longest?
        20 of 20 records; smallest Signed first: | Customer, Signed, Seats, Renewal date, Stock, Churned | C00, 2010-05-01, 0, 2026-01-01, 0, no
    Which renewal is the soonest?
        20 of 20 records; smallest Renewal date first: | Customer, Renewal date, Seats, Signed, Stock, Churned | C00, 2026-01-01, 0, 2010-05-01, 0, no
    Which customers have churned?
        4 of 20 records have Churned = true: | Customer, Churned, Seats, Signed, Renewal date, Stock | C01, yes, 11, 2011-05-01, 2027-01-01, 3
    How many are out of stock?
        4 of 20 records have Stock == 0: | Customer | C00
    most seats
        20 of 20 records; largest Seats first: | Customer, Seats, Signed, Renewal date, Stock, Churned | C09, 49, 2019-05-01, 2026-01-01, 2, no
    "#);
}

#[test]
fn years_beside_other_numbers() {
    let rows = (0..36).map(|i| {
        format!(
            "20{:02}-{:02}-01,{},{}",
            9 + i / 12,
            i % 12 + 1,
            129_000 + i * 7,
            i * 13 % 9 - 4
        )
    });
    let rows: Vec<String> = std::iter::once("month,jobs,jobs_change".to_owned())
        .chain(rows)
        .collect();
    let questions = [
        "2010 jobs_change > 0 count",
        "How many months of 2010 had jobs_change above zero?",
        "sum jobs_change 2011",
        "On which day did jobs grow the most?",
    ];
    assert_snapshot!(answers(&rows.join("\n"), ContentKind::Csv, &questions), @r#"
    2010 jobs_change > 0 count
        5 of 36 records have jobs_change > 0, month from 2010-01-01 to 2010-12-31: | month | 2010-02-01
    How many months of 2010 had jobs_change above zero?
        5 of 36 records have jobs_change > 0, month from 2010-01-01 to 2010-12-31: | month | 2010-02-01
    sum jobs_change 2011
        12 of 36 records have month from 2011-01-01 to 2011-12-31; 12 values of jobs_change: sum 0, mean 0, median 0.5, smallest -4, largest 4: | month, jobs_change, jobs | 2011-01-01, 2, 129168
    On which day did jobs grow the most?
        36 of 36 records; largest jobs first: | month, jobs, jobs_change | 2011-12-01, 129245, 1
    "#);
}

#[test]
fn machines() {
    let all: Vec<Value> = (0..20)
        .map(|i| {
            json!({
                "host": format!("web-{i}"),
                "uptime_days": i * 7 % 20,
                "last_seen": format!("2025-01-{:02}T00:00:00Z", i * 11 % 28 + 1),
                "license": if i % 5 == 0 { "Apache-2.0" } else { "MIT" },
            })
        })
        .collect();
    let questions = [
        "Which machine has been up the longest?",
        "Which host was seen the longest time ago?",
        "Which have a license of Apache?",
        "longest uptime",
    ];
    assert_snapshot!(answers(&Value::from(all).to_string(), ContentKind::Json, &questions), @r#"
    Which machine has been up the longest?
        20 of 20 in .[]; largest uptime_days first: | host, uptime_days, last_seen, license | web-17, 19, 2025-01-20T00:00:00Z, MIT
    Which host was seen the longest time ago?
        20 of 20 in .[]; smallest last_seen first: | host, last_seen, license, uptime_days | web-0, 2025-01-01T00:00:00Z, Apache-2.0, 0
    Which have a license of Apache?
        4 of 20 in .[] have license beginning with "Apache-": | host, license, last_seen, uptime_days | web-0, Apache-2.0, 2025-01-01T00:00:00Z, 0
    longest uptime
        20 of 20 in .[]; largest uptime_days first: | host, uptime_days, last_seen, license | web-17, 19, 2025-01-20T00:00:00Z, MIT
    "#);
}

#[test]
fn records_are_read_only_if_a_word_may_be_theirs() {
    let text = br#"[{"state":"failed"}]"#;
    for (question, may) in [
        ("why did it fail?", true),
        ("what is the error?", false),
        ("how many errors?", true),
        ("why did the last run break?", true),
        ("why did run 7 break?", true),
        ("why?", false),
    ] {
        assert_eq!(super::may_concern(question, text), may, "{question}");
    }
}

#[test]
fn other_words_for_ends_of_orders_and_ranges() {
    let all: Vec<Value> = (0..24)
        .map(|i| {
            json!({
                "name": format!("p{i:02}"),
                "off": (["DAL", "NYG", "PHI"][i % 7 % 3]),
                "offscore": i * 5 % 17,
                "size_kb": i * 20_000,
                "state": if i % 2 == 0 { "open" } else { "closed" },
            })
        })
        .collect();
    let questions = [
        "What is larger than everything else?",
        "Which has more offscore than any other?",
        "Which are between 100 and 200 MB?",
        "most frequent off",
        "top 2 off by number of plays",
        "Which open one leads?",
    ];
    assert_snapshot!(answers(&Value::from(all).to_string(), ContentKind::Json, &questions), @r#"
    What is larger than everything else?
        24 of 24 in .[]; largest size_kb first: | name, size_kb, off, offscore, state | p23, 460000, PHI, 13, closed
    Which has more offscore than any other?
        24 of 24 in .[]; largest offscore first: | name, offscore, off, size_kb, state | p10, 16, DAL, 200000, open
    Which are between 100 and 200 MB?
        5 of 24 in .[] have size_kb >= 102400, size_kb <= 204800: | name, size_kb, off, offscore, state | p06, 120000, DAL, 13, open
    most frequent off
        24 of 24 in .[]; 3 different off, most frequent first: | 10, DAL | 7, NYG
    top 2 off by number of plays
        24 of 24 in .[]; 3 different off, most frequent first: | 10, DAL | 7, NYG
    Which open one leads?
        12 of 24 in .[] have state = open: | name, off, offscore, size_kb, state | p00, DAL, 0, 0, open
    "#);
}

#[test]
fn a_count_tells_the_sizes_of_other_lists() {
    let list = |count: usize, kind: &str| -> Vec<Value> {
        (0..count)
            .map(
                |i| json!({"id": i, "kind": kind, "state": if i % 2 == 0 { "up" } else { "down" }}),
            )
            .collect()
    };
    let text = json!({"servers": list(9, "s"), "disks": list(5, "d")}).to_string();
    let document = Document::of(text.into_bytes(), ContentKind::Json);
    let parsed = document.parse().unwrap();
    let counter = Tokenizer::Heuristic.counter();
    let table = answer_of(
        &parsed,
        document.text(),
        "How many are down?",
        TokenBudget::new(600),
        &*counter,
    );
    let table = table.unwrap();
    assert_snapshot!(table.lines().last().unwrap(), @"Or 2 of 5 in .disks[] have state = down");
}

#[test]
fn loans_and_files() {
    let all: Vec<Value> = (0..40)
        .map(|i| {
            json!({
                "loan": 900 + i,
                "item": {"title": format!("Book {}", i % 6), "pages": 80 + i * 11 % 300},
                "region": if i % 3 == 0 { "Europe" } else { "South America" },
                "due": format!("2026-0{}-{:02}", i % 8 + 1, i % 27 + 1),
                "returned": if i % 4 == 0 { Value::Null } else { json!(format!("2026-0{}-{:02}", i % 7 + 2, i % 13 + 1)) },
                "file": if i % 5 == 0 { format!("lib{i}.so") } else { format!("mod{i}.py") },
                "path": format!("{}/n{i}", if i % 2 == 0 { "Pacific" } else { "Atlantic" }),
                "bytes": i * 1_000_000,
                "retries": i % 4,
                "kind": if i % 3 == 0 { "udp" } else { "tcp" },
                "labels": if i % 5 == 1 { json!([{"name": "bug"}]) } else { json!([]) },
                "maintainer": format!("Ada {}", i % 9),
            })
        })
        .collect();
    let questions = [
        "returned > due",
        "How many came back late?",
        "Which were returned on time?",
        "due >= 2026-08-01",
        "due < 2026-02 count",
        "Which are due in July or August 2026?",
        "Which loans are of books with fewer than 90 pages?",
        "Which files end in .so?",
        "*.py files",
        "path Pacific/ count",
        "How many are larger than 10 MB?",
        "bytes 20000000 - 22000000",
        "How many had to be tried again at least twice?",
        "How many have just one retry?",
        "How many are UDP?",
        "How many different people maintain these?",
        "South American loans",
    ];
    assert_snapshot!(answers(&Value::from(all).to_string(), ContentKind::Json, &questions), @r#"
    returned > due
        17 of 40 in .[] have returned > due: | item.title, due, returned, bytes, file, item.pages, kind, loan, maintainer | Book 1, 2026-02-02, 2026-03-02, 1000000, mod1.py, 91, tcp, 901, Ada 1
    How many came back late?
        17 of 40 in .[] have returned > due: | item.title | Book 1
    Which were returned on time?
        13 of 40 in .[] have returned <= due, returned present: | item.title, returned, bytes, due, file, item.pages, kind, loan, maintainer, path, region, retries | Book 1, 2026-02-08, 7000000, 2026-08-08, mod7.py, 157, tcp, 907, Ada 7, Atlantic/n7, South America, 3
    due >= 2026-08-01
        5 of 40 in .[] have due from 2026-08-01 on: | item.title, due, bytes, file, item.pages, kind, loan, maintainer, path, region, retries, returned | Book 1, 2026-08-08, 7000000, mod7.py, 157, tcp, 907, Ada 7, Atlantic/n7, South America, 3, 2026-02-08
    due < 2026-02 count
        5 of 40 in .[] have due before 2026-02-01: | item.title | Book 0
    Which are due in July or August 2026?
        10 of 40 in .[] have due from 2026-07-01 to 2026-08-31: | item.title, due, bytes, file, item.pages, kind, loan, maintainer, path, region, retries, returned | Book 0, 2026-07-07, 6000000, mod6.py, 146, udp, 906, Ada 6, Pacific/n6, Europe, 2, 2026-08-07
    Which loans are of books with fewer than 90 pages?
        2 of 40 in .[] have item.pages < 90: | item.title, loan, item.pages, bytes, due, file, kind, maintainer, path, region, retries | Book 0, 900, 80, 0, 2026-01-01, lib0.so, udp, Ada 0, Pacific/n0, Europe, 0
    Which files end in .so?
        8 of 40 in .[] have file ending with ".so": | item.title, file, bytes, due, item.pages, kind, loan, maintainer, path, region, retries, returned | Book 0, lib0.so, 0, 2026-01-01, 80, udp, 900, Ada 0, Pacific/n0, Europe, 0, 
    *.py files
        32 of 40 in .[] have file ending with ".py": | item.title, file | Book 1, mod1.py
    path Pacific/ count
        20 of 40 in .[] have path beginning with "Pacific/": | item.title | Book 0
    How many are larger than 10 MB?
        29 of 40 in .[] have bytes > 10485760: | item.title | Book 5
    bytes 20000000 - 22000000
        3 of 40 in .[] have bytes >= 20000000, bytes <= 22000000: | item.title, bytes, due, file, item.pages, kind, loan, maintainer, path, region, retries, returned | Book 2, 20000000, 2026-05-21, lib20.so, 300, tcp, 920, Ada 2, Pacific/n20, South America, 0, 
    How many had to be tried again at least twice?
        20 of 40 in .[] have retries >= 2: | item.title | Book 2
    How many have just one retry?
        10 of 40 in .[] have retries == 1: | item.title, retries | Book 1, 1
    How many are UDP?
        14 of 40 in .[] have kind = udp: | item.title | Book 0
    How many different people maintain these?
        40 of 40 in .[]; 9 different maintainer, most frequent first: | 5, Ada 0 | 5, Ada 1
    South American loans
        26 of 40 in .[] have region = South America: | item.title, loan | Book 1, 901
    "#);
}

#[test]
fn rows_may_lack_their_last_cells() {
    let mut text = "version,codename,release,eol,legacy\n".to_owned();
    for i in 0..12 {
        let legacy = if i > 8 {
            format!(",203{}-01-01", i % 9)
        } else {
            String::new()
        };
        text.push_str(&format!(
            "{i}.04,Name {i},20{:02}-04-20,20{:02}-04-20{legacy}\n",
            10 + i,
            15 + i
        ));
    }
    let questions = [
        "What are the newest three versions?",
        "release >= 2019",
        "Which versions released since 2014 have legacy support at all?",
    ];
    assert_snapshot!(answers(&text, ContentKind::Csv, &questions), @r#"
    What are the newest three versions?
        12 of 12 records; largest version first: | codename, version, release, eol, legacy | Name 11, 11.04, 2021-04-20, 2026-04-20, 2032-01-01
    release >= 2019
        3 of 12 records have release from 2019-01-01 on: | codename, version, release, eol, legacy | Name 9, 9.04, 2019-04-20, 2024-04-20, 2030-01-01
    Which versions released since 2014 have legacy support at all?
        8 of 12 records have release from 2014-01-01 on: | codename, version, legacy, release, eol | Name 4, 4.04, , 2014-04-20, 2019-04-20
    "#);
}

#[test]
fn the_root_of_a_lock_file_is_counted_apart() {
    let mut packages = serde_json::Map::new();
    packages.insert(String::new(), json!({"name": "shop", "license": "ISC"}));
    for i in 0..20 {
        let license = if i % 4 == 0 { "ISC" } else { "MIT" };
        packages.insert(
            format!("node_modules/p{i}"),
            json!({"version": format!("1.{i}.0"), "license": license, "size": {"unpacked": i}}),
        );
    }
    let text = json!({"packages": packages}).to_string();
    let document = Document::of(text.into_bytes(), ContentKind::Json);
    let parsed = document.parse().unwrap();
    let counter = Tokenizer::Heuristic.counter();
    let budget = TokenBudget::new(600);
    let table = answer_of(
        &parsed,
        document.text(),
        "How many are ISC?",
        budget,
        &*counter,
    )
    .unwrap();
    let further: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("Or"))
        .collect();
    assert_snapshot!(further.join("\n"), @r#"
    Or 5 of 21 in .packages[] have license = ISC, key present
    Or by license (2 different): MIT 15, ISC 6
    "#);
}

#[test]
fn the_largest_of_inner_lists() {
    let all: Vec<Value> = (0..12)
        .map(|i| {
            let assets: Vec<Value> = (0..=i % 3)
                .map(|k| {
                    let (duration, taken) = (90 - i, i * 5 % 12);
                    json!({
                        "name": format!("a{i}-{k}"),
                        "download_count": i * 10 + k,
                        "duration": duration,
                        "transfer_time": taken * 10 + k,
                    })
                })
                .collect();
            json!({"tag": format!("v{i}"), "name": format!("Release {i}"), "assets": assets})
        })
        .collect();
    let questions = [
        "asset with highest download_count",
        "release with the most assets",
        "slowest asset to transfer",
        "slowest release",
    ];
    assert_snapshot!(answers(&Value::from(all).to_string(), ContentKind::Json, &questions), @r#"
    asset with highest download_count
        24 of 24 in .[].assets[]; largest download_count first: | name, in name, download_count, duration, transfer_time | a11-2, Release 11, 112, 79, 72
    release with the most assets
        12 of 12 in .[]; largest assets first: | name, assets, tag | Release 2, 3 items, v2
    slowest asset to transfer
        24 of 24 in .[].assets[]; largest transfer_time first: | name, in name, transfer_time, download_count, duration | a7-1, Release 7, 111, 71, 83
    slowest release
        24 of 24 in .[].assets[]; largest duration first: | name, in name, duration, download_count, transfer_time | a0-0, Release 0, 90, 0, 0
    "#);
}

#[test]
fn crates_and_their_lists() {
    let licenses = ["MIT", "MIT OR Apache-2.0", "Apache-2.0", "MPL-2.0"];
    let all: Vec<Value> = (0..24)
        .map(|i| {
            let needs: Vec<String> = (0..i % 4).map(|k| format!("dep_{k}>=1.{i}")).collect();
            json!({
                "crate": format!("c{i}"),
                "license": licenses[i % 4],
                "authors": [format!("Ada {}", i % 5), "The Project"],
                "requires": needs,
                "fix": if i % 3 == 0 { json!({"edits": 1}) } else { Value::Null },
                "longitude": i * 7 % 24,
            })
        })
        .collect();
    let questions = [
        "Which crates are not available under MIT?",
        "How many are under MIT?",
        "Who is author of the most crates?",
        "most frequent author",
        "Which two have the most dependencies?",
        "How many do not depend on anything?",
        "How many cannot be fixed?",
        "Which need dep-2?",
        "What is the most western one?",
    ];
    assert_snapshot!(answers(&Value::from(all).to_string(), ContentKind::Json, &questions), @r#"
    Which crates are not available under MIT?
        12 of 24 in .[] have license not with "MIT": | crate, license, fix.edits, longitude | c2, Apache-2.0, , 14
    How many are under MIT?
        6 of 24 in .[] have license = MIT: | crate | c0
    Who is author of the most crates?
        24 of 24 in .[]; 6 different authors, most frequent first: | 24, The Project | 5, Ada 0
    most frequent author
        24 of 24 in .[]; 6 different authors, most frequent first: | 24, The Project | 5, Ada 0
    Which two have the most dependencies?
        24 of 24 in .[]; largest requires first: | crate, requires, fix.edits, license, longitude | c3, 3 items, 1, MPL-2.0, 21
    How many do not depend on anything?
        6 of 24 in .[] have requires absent: | crate | c0
    How many cannot be fixed?
        16 of 24 in .[] have fix absent: | crate | c1
    Which need dep-2?
        6 of 24 in .[] have requires = dep_2: | crate, fix.edits, license, longitude | c3, 1, MPL-2.0, 21
    What is the most western one?
        24 of 24 in .[]; smallest longitude first: | crate, longitude, fix.edits, license | c0, 0, 1, MIT
    "#);
}

#[test]
fn joined_names_drops_codes_and_denied_nouns() {
    let all: Vec<Value> = (0..24)
        .map(|i| {
            json!({
                "name": format!("n{i:02}"),
                "togo": i * 7 % 41,
                "change": ([-9, 4, 12, -2][i % 4]),
                "code": format!("{}{}", ["PLR09", "E5", "UP0"][i % 3], 10 + i),
                "place": (["town", "village", "city"][i % 3]),
                "width": i * 11 % 31,
                "noise_db": i * 5 % 37,
                "python": format!("3.{}", 8 + i % 5),
            })
        })
        .collect();
    let questions = [
        "Which had 35 or more yards to go?",
        "Which saw the biggest drop?",
        "steepest weekly fall of change",
        "Which is the widest?",
        "three loudest",
        "Where do PLR rules fire?",
        "Which of those with togo over 30 are no towns?",
        "names whose minimum python is 3.11",
    ];
    assert_snapshot!(heads(&Value::from(all).to_string(), ContentKind::Json, &questions), @r#"
    Which had 35 or more yards to go?
        4 of 24 in .[] have togo >= 35:
    Which saw the biggest drop?
        24 of 24 in .[]; smallest change first:
    steepest weekly fall of change
        24 of 24 in .[]; smallest change first:
    Which is the widest?
        24 of 24 in .[]; largest width first:
    three loudest
        24 of 24 in .[]; largest noise_db first:
    Where do PLR rules fire?
        8 of 24 in .[] have code beginning with "PLR":
    Which of those with togo over 30 are no towns?
        5 of 24 in .[] have togo > 30, place != town:
    names whose minimum python is 3.11
        5 of 24 in .[] have python = 3.11:
    "#);
    let packages: serde_json::Map<String, Value> = (0..12)
        .map(|i| {
            let name = ["ms", "debug", "tslib"][i * i % 3];
            let path = format!("node_modules/p{i}/node_modules/{name}");
            (path, json!({"engines": {"node": format!(">={i}")}}))
        })
        .collect();
    let text = json!({ "packages": packages }).to_string();
    let question = "names that occur most often under different node_modules paths";
    assert_snapshot!(answers(&text, ContentKind::Json, &[question]), @r"
    names that occur most often under different node_modules paths
        12 of 12 in .packages[]; 2 different key, most frequent first: | 8, debug | 4, ms
    ");
}

#[test]
fn maintainers_in_a_table_without_names_of_columns() {
    let rows = (0..20).map(|i| {
        format!(
            "pkg{i}\t1.{i}\tadmin\t{}\tDev {} <dev{}@example.org>",
            i * 31 % 97,
            i * i % 4,
            i * i % 4
        )
    });
    let rows: Vec<String> = rows.collect();
    let questions = [
        "Who maintains the most packages?",
        "maintainer with most packages",
        "top 2 maintainers by number of packages",
    ];
    assert_snapshot!(answers(&rows.join("\n"), ContentKind::Tsv, &questions), @r#"
    Who maintains the most packages?
        20 of 20 records; 2 different column 5, most frequent first: | 10, Dev 0 <dev0@example.org> | 10, Dev 1 <dev1@example.org>
    maintainer with most packages
        20 of 20 records; 2 different column 5, most frequent first: | 10, Dev 0 <dev0@example.org> | 10, Dev 1 <dev1@example.org>
    top 2 maintainers by number of packages
        20 of 20 records; 2 different column 5, most frequent first: | 10, Dev 0 <dev0@example.org> | 10, Dev 1 <dev1@example.org>
    "#);
}

/// Returns the first line of each answer.
pub(super) fn heads(text: &str, kind: ContentKind, questions: &[&str]) -> String {
    let lines = questions.iter().map(|question| {
        let answer = answers(text, kind, &[question]);
        answer.split(" | ").next().unwrap_or_default().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Records with values of several kinds.
fn mixed() -> String {
    let all: Vec<Value> = (0..48)
        .map(|i: usize| {
            let degrees = i32::try_from(i).unwrap();
            json!({
                "commit": format!("c{i:02}"),
                "weather": (["fog", "sun", "rain"][i % 3]),
                "temp_max": degrees - 4,
                "temp_min": degrees % 9 - 14 + degrees / 9,
                "origin": (["USA", "Japan", "Europe"][i % 5 % 3]),
                "party": (["DEM", "REP", "LIB", "IND"][i % 7 % 4]),
                "type": (["union territory", "emirate", "canton", "parish"][i % 4]),
                "topic": (["docs", "tests", "search"][i % 11 % 3]),
                "debts_owed": if i.is_multiple_of(4) { i * 1000 } else { 0 },
                "loans_of_commits": i * 700,
                "size": if i % 6 == 5 { 0 } else { i * 100_000 },
                "files": i % 4 + 1,
                "needs": format!(">=3.{},<4", i % 3 + 9),
                "licenses": [{"expression": if i % 8 == 3 { "MIT OR GPL-2.0" } else { "MIT" }}],
                "borders": if i % 9 == 2 { json!(["PRT"]) } else { json!([]) },
                "latitude": i * 13 % 47,
            })
        })
        .collect();
    Value::from(all).to_string()
}

#[test]
fn words_are_forms_of_values() {
    let questions = [
        "How many foggy days were there?",
        "number of sunny ones",
        "Which American ones are empty?",
        "How many Japanese ones are there?",
        "How many Republicans are there?",
        "Which are neither Democrats nor Republicans?",
        "Which union territories are there?",
        "Which emirates are listed?",
        "number of docs commits",
        "Which have a GPL license?",
        "Which border Portugal (PRT)?",
    ];
    assert_snapshot!(heads(&mixed(), ContentKind::Json, &questions), @r#"
    How many foggy days were there?
        16 of 48 in .[] have weather = fog:
    number of sunny ones
        16 of 48 in .[] have weather = sun:
    Which American ones are empty?
        4 of 48 in .[] have origin = USA, size == 0:
    How many Japanese ones are there?
        19 of 48 in .[] have origin = Japan:
    How many Republicans are there?
        14 of 48 in .[] have party = REP:
    Which are neither Democrats nor Republicans?
        20 of 48 in .[] have party != DEM or REP:
    Which union territories are there?
        12 of 48 in .[] have type = union territory:
    Which emirates are listed?
        12 of 48 in .[] have type = emirate:
    number of docs commits
        18 of 48 in .[] have topic = docs:
    Which have a GPL license?
        6 of 48 in .[] have licenses with "GPL":
    Which border Portugal (PRT)?
        6 of 48 in .[] have borders = PRT:
    "#);
}

#[test]
fn more_words_for_comparisons() {
    let questions = [
        "Which days were hotter than 40?",
        "Which days were below -10 degrees?",
        "temp_max greater than or equal to 41",
        "How many are larger than 4 megabytes?",
        "Which commits touched a single file?",
        "Which commits owe more than 40,000?",
        "How many have debts?",
        "needs >=3.11",
        "needs containing 3.10",
        "three-file commits",
    ];
    assert_snapshot!(heads(&mixed(), ContentKind::Json, &questions), @r#"
    Which days were hotter than 40?
        3 of 48 in .[] have temp_max > 40:
    Which days were below -10 degrees?
        10 of 48 in .[] have temp_min < -10:
    temp_max greater than or equal to 41
        3 of 48 in .[] have temp_max >= 41:
    How many are larger than 4 megabytes?
        5 of 48 in .[] have size > 4194304:
    Which commits touched a single file?
        12 of 48 in .[] have files == 1:
    Which commits owe more than 40,000?
        1 of 48 in .[] have debts_owed > 40000:
    How many have debts?
        11 of 48 in .[] have debts_owed > 0:
    needs >=3.11
        16 of 48 in .[] have needs with ">=3.11":
    needs containing 3.10
        16 of 48 in .[] have needs with "3.10":
    three-file commits
        12 of 48 in .[] have files = 3:
    "#);
}

#[test]
fn more_words_for_ends_of_orders() {
    let questions = [
        "Which topic dominates?",
        "largest two topics by number of commits",
        "rank topic by count, 2",
        "What was the coldest day?",
        "Which one is furthest north?",
    ];
    assert_snapshot!(heads(&mixed(), ContentKind::Json, &questions), @r"
    Which topic dominates?
        48 of 48 in .[]; 3 different topic, most frequent first:
    largest two topics by number of commits
        48 of 48 in .[]; 3 different topic, most frequent first:
    rank topic by count, 2
        48 of 48 in .[]; 3 different topic, most frequent first:
    What was the coldest day?
        48 of 48 in .[]; smallest temp_min first:
    Which one is furthest north?
        48 of 48 in .[]; largest latitude first:
    ");
}

#[test]
fn values_of_several_kinds_have_an_order() {
    // A sort needs an order of all values, whatever they are.
    let rows = (0..60).map(|i| match i % 6 {
        0 => format!("n{i},{}.04 LTS", i % 20),
        1 => format!("n{i},{}.10", i % 20),
        2 => format!("n{i},2024-01-{:02}", i % 28 + 1),
        3 => format!("n{i},{i} apples"),
        4 => format!("n{i},1.{i}.0"),
        _ => format!("n{i},{i}"),
    });
    let rows: Vec<String> = std::iter::once("name,release".to_owned())
        .chain(rows)
        .collect();
    let text = rows.join("\n");
    let document = Document::of(text.into_bytes(), ContentKind::Csv);
    let parsed = document.parse().unwrap();
    let collections = parsed.collections();
    let mut records: Vec<_> = collections[0].records.iter().collect();
    let order = Order {
        by: By::Value,
        column: 1,
        is_descending: false,
        count: 1,
    };
    sort(&mut records, &order);
    assert_eq!(records.len(), 60);
    for (at, one) in records.iter().enumerate() {
        for other in &records[at..] {
            let pair = one.get(1).zip(other.get(1));
            let (one, other) = pair.unwrap();
            let is_figure = matches!(one, Cell::Figure(..)) || matches!(other, Cell::Figure(..));
            assert!(
                is_figure || one.compared(other).is_le(),
                "{one:?} {other:?}"
            );
        }
    }
}

#[test]
fn versions_with_names_have_an_order() {
    let versions = (0..30).map(|i| match i % 3 {
        0 => format!("{i},{i}.04 LTS,n{i}"),
        _ => format!("{i},{i}.{},n{i}", i % 2 * 6 + 4),
    });
    let header = std::iter::once("at,version,name".to_owned());
    let versions: Vec<String> = header.chain(versions).collect();
    let questions = ["Which two versions are newest?", "oldest version"];
    assert_snapshot!(answers(&versions.join("\n"), ContentKind::Csv, &questions), @r"
    Which two versions are newest?
        30 of 30 records; largest version first: | name, version, at | n29, 29.10, 29
    oldest version
        30 of 30 records; smallest version first: | name, version, at | n0, 0.04 LTS, 0
    ");
}

#[test]
fn units_of_columns_years_that_are_not_told_and_even_groups() {
    // Each bird was measured three times.
    let rows = (0..24).map(|i| {
        let sex = if i % 2 == 0 { "Male" } else { "Female" };
        format!(
            "bird {},{sex},{},{},2024-0{}-{:02}",
            i % 8,
            3000 + i * 150,
            170 + i,
            i % 6 + 1,
            i % 20 + 10
        )
    });
    let header = std::iter::once("name,sex,Body Mass (g),wing_mm,seen".to_owned());
    let rows: Vec<String> = header.chain(rows).collect();
    let questions = [
        "Which weigh more than 6 kg?",
        "wing over 19 cm",
        "How many women were measured?",
        "How many were seen on April 13?",
        "seen in March: how many",
        "How many were seen on April 13 2023?",
    ];
    assert_snapshot!(heads(&rows.join("\n"), ContentKind::Csv, &questions), @"
    Which weigh more than 6 kg?
        3 of 24 records have Body Mass (g) > 6000:
    wing over 19 cm
        3 of 24 records have wing_mm > 190:
    How many women were measured?
        12 of 24 records have sex = Female:
    How many were seen on April 13?
        1 of 24 records have seen from 2024-04-13 to 2024-04-13:
    seen in March: how many
        4 of 24 records have seen from 2024-03-01 to 2024-03-31:
    How many were seen on April 13 2023?
        0 of 24 records have seen from 2023-04-13 to 2023-04-13
    ");
    let counts = (0..24).map(|i| {
        format!(
            "{},{},{}",
            ["Clerk", "Cook", "Smith", "Miller", "Baker", "Tailor"][i % 6],
            1900 + i / 6,
            i * 7 % 25
        )
    });
    let header = std::iter::once("job,year,count".to_owned());
    let counts: Vec<String> = header.chain(counts).collect();
    let questions = [
        "Which job had the most people?",
        "two most common jobs in 1902",
        "How many rows per job?",
    ];
    assert_snapshot!(heads(&counts.join("\n"), ContentKind::Csv, &questions), @"
    Which job had the most people?
        24 of 24 records; largest count first:
    two most common jobs in 1902
        6 of 24 records have year >= 1902, year <= 1902; largest count first:
    How many rows per job?
        24 of 24 records; 6 different job, most frequent first:
    ");
}

#[test]
fn lines_of_versions() {
    let suffixes = ["", "-alpha.1", "-rc.1", "-canary-1"];
    let versions: Vec<String> = (0..48)
        .map(|i| {
            format!(
                "{}.{}.{}{}",
                i / 24 + 1,
                i % 24 / 8,
                i % 8 / 4,
                suffixes[i % 4]
            )
        })
        .collect();
    let text = json!({ "versions": versions }).to_string();
    let questions = [
        "Which stable 1.2 releases exist?",
        "all final versions in the 2.0 line",
        "Which alpha or rc prereleases came before 1.2.0 final?",
        "versions newer than 2.1",
        "How many stable versions?",
    ];
    assert_snapshot!(heads(&text, ContentKind::Json, &questions), @r#"
    Which stable 1.2 releases exist?
        2 of 48 in .versions[] have key without a suffix (a release), key beginning with "1.2.":
    all final versions in the 2.0 line
        2 of 48 in .versions[] have key without a suffix (a release), key beginning with "2.0.":
    Which alpha or rc prereleases came before 1.2.0 final?
        3 of 48 in .versions[] have key beginning with "1.2.0-":
    versions newer than 2.1
        12 of 48 in .versions[] have key > 2.1 (as versions):
    How many stable versions?
        12 of 48 in .versions[] have key without a suffix (a release):
    "#);
}

#[test]
fn values_that_stand_beside_others() {
    let teams = ["Ajax", "Bolton", "Celtic", "Dinamo"];
    let all: Vec<Value> = (0..48)
        .map(|i| {
            json!({
                "played": format!("2024-0{}-{:02}", i % 6 + 1, i % 27 + 1),
                "at_home": teams[i % 4],
                "away": teams[(i / 4 + i + 1) % 4],
                "goals": i % 5,
                "kind": (["proc-macro", "lib"][i % 2]),
                "reason": (["build-script-executed", "artifact"][i % 3 % 2]),
                "path": format!("src/{}", ["macro", "main"][i % 2]),
                "name": (["Malay Sign Language", "Bengali", "Bulgarian Sign Language", "Welsh"][i * 3 % 7 % 4]),
                "borders": if i % 9 == 2 { json!(["DIN"]) } else { json!(["BOL"]) },
                "needs_python": (["^1", ">=3.11", ">=3.9"][i % 3]),
                "words": (["python", "text"][i % 2]),
                "version": format!("{}.{}.0", i % 4 + 1, i),
                "alpha_2": if i % 4 == 0 { json!(format!("a{i}")) } else { Value::Null },
                "bin": if i % 6 == 1 { json!({"run": "run.js"}) } else { Value::Null },
            })
        })
        .collect();
    let text =
        json!({"matches": all, "required": ["at_home", "away", "played", "goals"]}).to_string();
    let questions = [
        "When did Celtic host Ajax?",
        "Celtic v Ajax",
        "home matches of Celtic or Ajax",
        "How many build scripts were executed?",
        "number of proc macro matches",
        "sign languages that begin with B",
        "Which need Python 3.11 or newer?",
        "need python >=3.11",
        "Which have a two-letter code (alpha_2)?",
        "How many ship an executable?",
        "Which are required?",
        "size of the resolved set",
    ];
    assert_snapshot!(heads(&text, ContentKind::Json, &questions), @r#"
    When did Celtic host Ajax?
        3 of 48 in .matches[] have at_home = Celtic, away = Ajax:
    Celtic v Ajax
        3 of 48 in .matches[] have at_home = Celtic, away = Ajax:
    home matches of Celtic or Ajax
        24 of 48 in .matches[] have at_home = Celtic or Ajax:
    How many build scripts were executed?
        32 of 48 in .matches[] have reason = build-script-executed:
    number of proc macro matches
        24 of 48 in .matches[] have kind = proc-macro:
    sign languages that begin with B
        14 of 48 in .matches[] have name beginning with "B", name with "sign":
    Which need Python 3.11 or newer?
        16 of 48 in .matches[] have needs_python of 3.11 or later:
    need python >=3.11
        16 of 48 in .matches[] have needs_python = >=3.11:
    Which have a two-letter code (alpha_2)?
        12 of 48 in .matches[] have alpha_2 present:
    How many ship an executable?
        8 of 48 in .matches[] have bin present:
    Which are required?
        4 of 4 in .required[]:
    size of the resolved set
        48 of 48 in .matches[]:
    "#);
}

#[test]
fn what_needs_something_and_what_is_needed() {
    let names = [
        "requests",
        "body-parser",
        "import-meta",
        "terser",
        "debug",
        "chart",
    ];
    let packages: serde_json::Map<String, Value> = (0..6)
        .map(|i| {
            let needs = json!({names[(i + 1) % 6]: format!("^{i}.1"), "ms": "2.0"});
            let record = json!({
                "version": format!("{i}.0.7"),
                "requested": i == 3,
                "integrity": format!("sha512-{i}abc"),
                "needs_python": format!(">=3.{i}"),
                "dependencies": needs,
                "scripts": if i == 5 { json!(null) } else { json!("build") },
            });
            (format!("node_modules/{}", names[i]), record)
        })
        .chain((0..6).map(|i| {
            (
                format!("node_modules/other-{i}"),
                json!({"version": "1.0.0"}),
            )
        }))
        .collect();
    let text = json!({ "packages": packages }).to_string();
    let questions = [
        "body-parser's requirement on import-meta",
        "Which range of import-meta does body-parser ask for?",
        "version constraint for import-meta declared by top-level body-parser",
        "needs_python of terser",
        "Which needs import-meta?",
        "import-meta integrity",
        "version of requests",
        "How many declare no dependencies?",
    ];
    assert_snapshot!(answers(&text, ContentKind::Json, &questions), @r#"
    body-parser's requirement on import-meta
        1 of 12 in .packages[] have key ending with "/body-parser", dependencies = import-meta: | key, node_modules/body-parser | version, 1.0.7
    Which range of import-meta does body-parser ask for?
        1 of 12 in .packages[] have key ending with "/body-parser", dependencies = import-meta: | key, node_modules/body-parser | version, 1.0.7
    version constraint for import-meta declared by top-level body-parser
        1 of 12 in .packages[] have key ending with "/body-parser", dependencies = import-meta: | key, node_modules/body-parser | version, 1.0.7
    needs_python of terser
        1 of 12 in .packages[] have key ending with "/terser": | key, node_modules/terser | version, 3.0.7
    Which needs import-meta?
        1 of 12 in .packages[] have dependencies = import-meta: | key, node_modules/body-parser | version, 1.0.7
    import-meta integrity
        1 of 12 in .packages[] have key ending with "/import-meta": | key, node_modules/import-meta | version, 2.0.7
    version of requests
        1 of 12 in .packages[] have key ending with "/requests": | key, node_modules/requests | version, 0.0.7
    How many declare no dependencies?
        6 of 12 in .packages[] have dependencies absent: | key | node_modules/other-0
    "#);
}

#[test]
fn of_a_long_path_the_end_is_shown() {
    let path =
        "/usr/lib/a/rather/long/path/of/more/than/eighty/characters/in/all/as/such/paths/are/1.py";
    let shown = "/usr/lib/a/rathe…ath/of/more/than/eighty/characters/in/all/as/such/paths/are/1.py";
    assert_eq!(cell_text(path), shown);
    assert!(cell_text(&path.replace('/', " ")).contains("bytes)"));
}
