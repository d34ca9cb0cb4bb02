//! Searches in JSON and NDJSON, and in the texts inside of it.

use super::*;

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

#[test]
fn objects_of_laid_out_json() {
    let packages = (0..40).map(|i| {
        format!("    \"node_modules/part-{i}\": {{\n      \"version\": \"1.{i}.0\",\n      \"bin\": \"cmd-{i}\"\n    }}")
    });
    let packages: Vec<String> = packages.collect();
    let text = format!(
        "{{\n  \"packages\": {{\n{}\n  }}\n}}\n",
        packages.join(",\n")
    );
    let artifact = artifact(&text);
    let counter = Tokenizer::O200kBase.counter();
    let page = |words: &str| {
        let query = SearchQuery::new(words, TokenBudget::new(200)).passages_only();
        search(&artifact, &query, &*counter).unwrap().render()
    };
    // The line that opens an object, and a line in it.
    assert_snapshot!(page("part-17"), @r#"
    [1 of 1 passage]
    71:    "node_modules/part-17": {
    72:      "version": "1.17.0",
    73:      "bin": "cmd-17"
    74:    },
    "#);
    assert_snapshot!(page("cmd-23"), @r#"
    [1 of 1 passage]
    95:    "node_modules/part-23": {
    96:      "version": "1.23.0",
    97:      "bin": "cmd-23"
    98:    },
    "#);
}
