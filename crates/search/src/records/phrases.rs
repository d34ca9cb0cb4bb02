//! Questions in the words of people who had not seen the program: thresholds of counts, regions,
//! months of any year, parts of names, numbers inside of texts and lengths.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_artifact::{ContentKind, TokenBudget};
use spillgate_text::Tokenizer;

use super::answer_of;
use super::load::Document;
use super::wordings::heads;

/// Findings of a linter.
fn findings() -> String {
    let all: Vec<Value> = (0..60)
        .map(|i: usize| {
            let (code, message) = match i % 5 {
                0 => ("C901", format!("`run{i}` is too complex ({} > 10)", 10 + i)),
                1 => ("E501", "Line too long".to_owned()),
                2 => (
                    "PLR0913",
                    format!("Too many arguments in `f{i}` ({} > 5)", 5 + i % 9),
                ),
                _ => ("F401", format!("`module{i}` imported but unused")),
            };
            json!({
                "code": if i == 3 || i == 8 { "S324" } else { code },
                "message": message,
                "filename": format!("src/part{}.py", i * i % 13),
                "fix": {"applicability": if i.is_multiple_of(3) { "safe" } else { "unsafe" }},
            })
        })
        .collect();
    Value::from(all).to_string()
}

/// Stations of a network.
fn stations() -> String {
    let names = [
        "Kent State University",
        "Ohio Valley",
        "Eastport",
        "Quo Vadis?",
        "Wiley~bpo12",
    ];
    let all: Vec<Value> = (0..60)
        .map(|i: usize| {
            let [state, place] = [["TX", "Nevada"], ["NM", "Alaska"], ["HI", "Chile"]][i % 3];
            let month = i % 12 + 1;
            json!({
                "code": format!("S{i:02}"),
                "name": format!("{} {}", names[i % 5], if i % 5 == 3 { "" } else { "field" }).trim(),
                "city": if i.is_multiple_of(7) { names[i % 5].to_owned() } else { format!("City {i}") },
                "title": if i.is_multiple_of(7) { names[i % 5].to_owned() } else { format!("Title {i}") },
                "state": state,
                "place": format!("{i}km N of Somewhere, {place}"),
                "magnitude": i % 9,
                "latitude": i * 7 % 41,
                "damage": (["None", "Minor", "Substantial"][i % 4 % 3]),
                "repair_cost": if i.is_multiple_of(2) { i * 100 } else { 0 },
                "total_cost": i * 50,
                "operator": format!("{} AIR", ["BLUE", "RED", "GREEN", "GREY"][i * i % 11 % 4]),
                "species": (["Unknown bird", "Gull", "Owl"][i % 5 % 3]),
                "owner": if i.is_multiple_of(6) { "UNKNOWN" } else { "ADA" },
                "opened": format!("{}-{month:02}-{:02}", 1990 + i, i % 27 + 1),
                "needs_python": format!(">=3.{}", i % 5 + 9),
            })
        })
        .collect();
    Value::from(all).to_string()
}

/// Packages with what they need, and what they build.
fn packages() -> String {
    let all: Vec<Value> = (0..20)
        .map(|i: usize| {
            let targets: Vec<Value> = (0..i % 4)
                .map(
                    |j| json!({"name": format!("t{i}-{j}"), "optional": (i + j).is_multiple_of(2)}),
                )
                .collect();
            let needs = json!([format!("serde>={i}"), "libc", format!("p{}", i % 3)]);
            json!({"name": format!("p{i}"), "requires": needs, "targets": targets})
        })
        .collect();
    json!({ "packages": all }).to_string()
}

#[test]
fn how_many_records_a_value_has() {
    let questions = [
        "Which codes are reported exactly twice?",
        "codes with more than 12 findings",
        "source files with six problems or more",
        "rule codes that fired just twice",
        "files with fewer than 4 violations",
    ];
    assert_snapshot!(heads(&findings(), ContentKind::Json, &questions), @"
    Which codes are reported exactly twice?
        60 of 60 in .[]; 5 different code; 1 of them in == 2 records, most frequent first:
    codes with more than 12 findings
        60 of 60 in .[]; 5 different code; 1 of them in > 12 records, most frequent first:
    source files with six problems or more
        60 of 60 in .[]; 7 different filename; 6 of them in >= 6 records, most frequent first:
    rule codes that fired just twice
        60 of 60 in .[]; 5 different code; 1 of them in == 2 records, most frequent first:
    files with fewer than 4 violations
        60 of 60 in .[]; 7 different filename; 0 of them in < 4 records, least frequent first:
    ");
}

#[test]
fn numbers_and_lengths_of_texts() {
    let questions = [
        "Which files have a function with a complexity of 50 or more?",
        "C901 complexity >= 50",
        "Which file has the function with the most arguments?",
        "Which message is the longest?",
        "shortest filename",
        "message with the most characters",
    ];
    assert_snapshot!(heads(&findings(), ContentKind::Json, &questions), @r#"
    Which files have a function with a complexity of 50 or more?
        4 of 60 in .[] have message with "complex…" and a number >= 50:
    C901 complexity >= 50
        4 of 60 in .[] have message with "complex…" and a number >= 50, code = C901:
    Which file has the function with the most arguments?
        60 of 60 in .[]; largest number in message with "argument…" first:
    Which message is the longest?
        60 of 60 in .[]; longest message first:
    shortest filename
        60 of 60 in .[]; shortest filename first:
    message with the most characters
        60 of 60 in .[]; longest message first:
    "#);
}

#[test]
fn regions_places_and_parts_of_names() {
    let questions = [
        "Which stations are in Texas?",
        "new mexico stations",
        "hawaii: the two northernmost",
        "Nevada's strongest",
        "strongest in alaska",
        "Which Chilean stations have a magnitude above 6?",
        "stations below magnitude 2, excluding those in Nevada",
        "Which have University in their name?",
        "name contains bpo",
        "Which names end with a question mark?",
        "names that do not end with \"field\"",
        "name begins Wiley",
    ];
    assert_snapshot!(heads(&stations(), ContentKind::Json, &questions), @r#"
    Which stations are in Texas?
        20 of 60 in .[] have state = TX:
    new mexico stations
        20 of 60 in .[] have state = NM:
    hawaii: the two northernmost
        20 of 60 in .[] have state = HI; largest latitude first:
    Nevada's strongest
        20 of 60 in .[] have place with "Nevada"; largest magnitude first:
    strongest in alaska
        20 of 60 in .[] have place with "alaska"; largest magnitude first:
    Which Chilean stations have a magnitude above 6?
        6 of 60 in .[] have magnitude > 6, place with "chile":
    stations below magnitude 2, excluding those in Nevada
        7 of 60 in .[] have magnitude < 2, place not with "Nevada":
    Which have University in their name?
        12 of 60 in .[] have name with "University":
    name contains bpo
        12 of 60 in .[] have name with "bpo":
    Which names end with a question mark?
        12 of 60 in .[] have name ending with "?":
    names that do not end with "field"
        12 of 60 in .[] have name not ending with "field":
    name begins Wiley
        12 of 60 in .[] have name beginning with "Wiley":
    "#);
}

#[test]
fn dates_without_a_year_and_values_of_two_columns() {
    let questions = [
        "Which opened in December?",
        "opened on 12 December",
        "Which have the same city and title?",
        "city and title are identical",
        "Which need Python 3.12 or newer?",
        "total cost > 2900",
    ];
    assert_snapshot!(heads(&stations(), ContentKind::Json, &questions), @"
    Which opened in December?
        5 of 60 in .[] have opened in month 12 of any year:
    opened on 12 December
        1 of 60 in .[] have opened on 12-12 of any year:
    Which have the same city and title?
        9 of 60 in .[] have city == title:
    city and title are identical
        9 of 60 in .[] have city == title:
    Which need Python 3.12 or newer?
        24 of 60 in .[] have needs_python of 3.12 or later:
    total cost > 2900
        1 of 60 in .[] have total_cost > 2900:
    ");
}

#[test]
fn who_and_what_is_left_out() {
    let questions = [
        "Which operators had repair costs?",
        "Which operators had some damage?",
        "Which species, not counting the unknown birds, were seen in Texas?",
        "Which states are rarest?",
        "who has substantial damage most often?",
        "two operators with the lowest number of records",
    ];
    assert_snapshot!(heads(&stations(), ContentKind::Json, &questions), @"
    Which operators had repair costs?
        29 of 60 in .[] have repair_cost > 0:
    Which operators had some damage?
        30 of 60 in .[] have damage != None:
    Which species, not counting the unknown birds, were seen in Texas?
        12 of 60 in .[] have species != Unknown bird, state = TX:
    Which states are rarest?
        60 of 60 in .[]; 3 different state, least frequent first:
    who has substantial damage most often?
        15 of 60 in .[] have damage = Substantial; 3 different operator, most frequent first:
    two operators with the lowest number of records
        60 of 60 in .[]; 3 different operator, least frequent first:
    ");
}

#[test]
fn what_is_needed_most_and_lists_inside_of_records() {
    let questions = [
        "What are the most popular requirements?",
        "Which packages are required by the most others?",
        "Which packages have the most optional targets?",
    ];
    assert_snapshot!(heads(&packages(), ContentKind::Json, &questions), @"
    What are the most popular requirements?
        20 of 20 in .packages[]; 5 different requires, most frequent first:
    Which packages are required by the most others?
        20 of 20 in .packages[]; 5 different requires, most frequent first:
    Which packages have the most optional targets?
        10 of 30 in .packages[].targets[] have optional = true; 10 different in name, most frequent first:
    ");
}

#[test]
fn a_name_that_no_record_has_is_told() {
    let questions = [
        "strongest in Nebraska",
        "two northernmost stations of \"Atlantis\"",
        "magnitude above 6 in Nevada or Oslo",
        "Which Texas stations near Oslo are above magnitude 3?",
        "Top 3 by Magnitude",
        "Strongest in Nevada",
        "How many are in Oslo?",
    ];
    assert_snapshot!(heads(&stations(), ContentKind::Json, &questions), @r#"
    strongest in Nebraska
        60 of 60 in .[]; no record has "Nebraska"; largest magnitude first:
    two northernmost stations of "Atlantis"
        60 of 60 in .[]; no record has "Atlantis"; largest latitude first:
    magnitude above 6 in Nevada or Oslo
        no table
    Which Texas stations near Oslo are above magnitude 3?
        6 of 60 in .[] have magnitude > 3, state = TX; no record has "Oslo":
    Top 3 by Magnitude
        60 of 60 in .[]; largest magnitude first:
    Strongest in Nevada
        20 of 60 in .[] have place with "Nevada"; largest magnitude first:
    How many are in Oslo?
        0 of 60 in .[] have "Oslo"
    "#);
    // It may belong to a record in a way that the table does not show.
    let text =
        json!({"of": "Nebraska", "stations": serde_json::from_str::<Value>(&stations()).unwrap()});
    assert_snapshot!(heads(&text.to_string(), ContentKind::Json, &["strongest in Nebraska"]), @"
    strongest in Nebraska
        60 of 60 in .stations[]; largest magnitude first:
    ");
}

/// A report in SARIF: a list with a single run, whose results have lists with a single place.
fn sarif() -> String {
    let results: Vec<Value> = (0..40)
        .map(|i: usize| {
            json!({
                "ruleId": (["C901", "E501", "F401"][i % 7 % 3]),
                "message": {"text": format!("line {i}")},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": format!("src/m{}.py", i % 9 % 4)},
                    "region": {"startLine": i * 3},
                }}],
            })
        })
        .collect();
    let driver = json!({"name": "lint", "rules": [{"id": "C901"}, {"id": "E501"}]});
    json!({"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]})
        .to_string()
}

#[test]
fn results_of_a_single_run() {
    let questions = [
        "Which two files have the most findings?",
        "results per file",
        "files with more than 9 findings",
        "C901 in src/m2.py",
        "startLine above 100",
    ];
    assert_snapshot!(heads(&sarif(), ContentKind::Json, &questions), @"
    Which two files have the most findings?
        40 of 40 in .runs[0].results[]; 4 different locations.physicalLocation.artifactLocation.uri, most frequent first:
    results per file
        40 of 40 in .runs[0].results[]; 4 different locations.physicalLocation.artifactLocation.uri, most frequent first:
    files with more than 9 findings
        40 of 40 in .runs[0].results[]; 4 different locations.physicalLocation.artifactLocation.uri; 1 of them in > 9 records, most frequent first:
    C901 in src/m2.py
        4 of 40 in .runs[0].results[] have locations.physicalLocation.artifactLocation.uri = src/m2.py, ruleId = C901:
    startLine above 100
        6 of 40 in .runs[0].results[] have locations.physicalLocation.region.startLine > 100:
    ");
}

/// Records of which few have a charset, and few a list.
fn media() -> String {
    let all: Vec<(String, Value)> = (0..60)
        .map(|i: usize| {
            let kind = ["audio", "video", "text", "image"][i % 4];
            let mut record = json!({
                "source": (["iana", "apache", "nginx"][i % 5 % 3]),
                "title": format!("{} & {}", ["Sound", "Hall", "House"][i % 3], i),
                "weight_in_kg": i * 13 % 59,
                "wind": i % 13,
                "temp_min": i64::try_from(i % 7).unwrap() - 3,
                "temp_max": i % 9 + 4,
                "changed": format!("201{}-0{}-11", i % 8, i % 9 + 1),
                "capitals": if i.is_multiple_of(9) { vec![] } else { vec!["x"] },
            });
            if i % 6 == 2 {
                record["charset"] = json!(["UTF-8", "US-ASCII"][i % 4 / 2]);
            }
            if i % 7 < 5 {
                record["compressible"] = json!(i % 7 < 2);
            }
            (format!("{kind}/t{i}"), record)
        })
        .collect();
    Value::Object(all.into_iter().collect()).to_string()
}

#[test]
fn conditions_as_in_a_program() {
    let questions = [
        "charset != \"UTF-8\"",
        "charset exists and charset != \"UTF-8\"",
        "Which types have a charset other than UTF-8?",
        "source=apache, compressible=false",
        "capitals == []",
        "source == 'iana' or 'nginx'",
        "title like \"Ho%\" and contains \"&\" and not title ends with \"8\"",
        "title does not contain \"Hall\"",
        "compressible is false and source not like \"%a\"",
        "sort source=nginx by weight_in_kg descending, first three",
        "group source=nginx by charset",
        "wind above 11 and a minimum temperature below zero",
        "temp_min below 0",
        "wind 3 or 5",
        "weight between 2e1 and 3e1",
        "changed 2014 or 2015",
        "oldest change date",
    ];
    assert_snapshot!(heads(&media(), ContentKind::Json, &questions), @r#"
    charset != "UTF-8"
        5 of 60 in .[] have charset != UTF-8, charset present:
    charset exists and charset != "UTF-8"
        5 of 60 in .[] have charset != UTF-8, charset present:
    Which types have a charset other than UTF-8?
        5 of 60 in .[] have charset != UTF-8, charset present:
    source=apache, compressible=false
        11 of 60 in .[] have source = apache, compressible = false:
    capitals == []
        7 of 60 in .[] have capitals absent:
    source == 'iana' or 'nginx'
        36 of 60 in .[] have source = iana or nginx:
    title like "Ho%" and contains "&" and not title ends with "8"
        18 of 60 in .[] have title beginning with "Ho", title with "&", title not ending with "8":
    title does not contain "Hall"
        40 of 60 in .[] have title not with "Hall":
    compressible is false and source not like "%a"
        16 of 60 in .[] have source not ending with "a", compressible = false:
    sort source=nginx by weight_in_kg descending, first three
        12 of 60 in .[] have source = nginx; largest weight_in_kg first:
    group source=nginx by charset
        12 of 60 in .[] have source = nginx; 2 different charset, most frequent first:
    wind above 11 and a minimum temperature below zero
        1 of 60 in .[] have wind > 11, temp_min < 0:
    temp_min below 0
        27 of 60 in .[] have temp_min < 0:
    wind 3 or 5
        10 of 60 in .[] have wind = 3 or 5:
    weight between 2e1 and 3e1
        11 of 60 in .[] have weight_in_kg >= 20, weight_in_kg <= 30:
    changed 2014 or 2015
        14 of 60 in .[] have changed from 2014-01-01 to 2015-12-31:
    oldest change date
        60 of 60 in .[]; smallest changed first:
    "#);
}

/// Subdivisions with codes, and packages of which some have several versions.
fn units() -> String {
    let all: Vec<Value> = (0..60)
        .map(|i: usize| {
            json!({
                "code": format!("{}-{i:02}", ["DE", "MX", "GB"][i % 3]),
                "name": format!("{}{}", ["Hesse", "Baden-Baden", "Isle & Man", "The Islands", "Ho"][i % 7 % 5], if i < 40 { i.to_string() } else { String::new() }),
                "version": format!("1.{i}.0"),
                "tests": 1,
                "duration": f64::from(u32::try_from(i).unwrap()) / 7000.0,
                "changed": format!("2019-0{}-11", i % 9 + 1),
                "cylinders": i * 3 % 8 + 1,
                "parts": vec!["top"; i % 11],
                "compressible": if i.is_multiple_of(3) { json!(false) } else if i % 3 == 1 { json!(true) } else { Value::Null },
            })
        })
        .collect();
    Value::from(all).to_string()
}

#[test]
fn codes_signs_and_lengths() {
    let questions = [
        "MX subdivisions",
        "units with a hyphen in their name",
        "Which have \"&\" in the name but do not end in \"8\"?",
        "names starting with He or Is",
        "units whose name has an H as its first letter",
        "initial letter T",
        "cylinders is not 4, 6 or 8",
        "cylinders other than 1, 2, 3",
        "the pair of units with the longest names",
        "names ordered by length descending, top three",
        "sort by length of parts, first two",
        "most parts top 2",
        "Which tests took more than 4 milliseconds?",
        "Which names are there in three or more versions?",
        "units last changed in 2019-03",
        "not compressible",
    ];
    assert_snapshot!(heads(&units(), ContentKind::Json, &questions), @r#"
    MX subdivisions
        20 of 60 in .[] have code beginning with "MX-":
    units with a hyphen in their name
        17 of 60 in .[] have name with "-":
    Which have "&" in the name but do not end in "8"?
        9 of 60 in .[] have name with "&", name not ending with "8":
    names starting with He or Is
        26 of 60 in .[] have name beginning with "He" or "Is":
    units whose name has an H as its first letter
        25 of 60 in .[] have name beginning with "H":
    initial letter T
        9 of 60 in .[] have name beginning with "T":
    cylinders is not 4, 6 or 8
        38 of 60 in .[] have cylinders != 4 or 6 or 8:
    cylinders other than 1, 2, 3
        37 of 60 in .[] have cylinders != 1 or 2 or 3:
    the pair of units with the longest names
        60 of 60 in .[]; longest name first:
    names ordered by length descending, top three
        60 of 60 in .[]; longest name first:
    sort by length of parts, first two
        60 of 60 in .[]; largest parts first:
    most parts top 2
        60 of 60 in .[]; largest parts first:
    Which tests took more than 4 milliseconds?
        31 of 60 in .[] have duration > 0.004:
    Which names are there in three or more versions?
        60 of 60 in .[]; 45 different name; 4 of them in >= 3 records, most frequent first:
    units last changed in 2019-03
        7 of 60 in .[] have changed from 2019-03-01 to 2019-03-31; largest changed first:
    not compressible
        40 of 60 in .[] have compressible != true (20 false, 20 without it):
    "#);
}

#[test]
fn sums_per_month_and_what_others_need() {
    let document = Document::of(units().into_bytes(), ContentKind::Json);
    let parsed = document.parse().unwrap();
    let counter = Tokenizer::Heuristic.counter();
    let ask = |question: &str| {
        let budget = TokenBudget::new(1000);
        let table = answer_of(&parsed, document.text(), question, budget, &*counter).unwrap();
        table
            .split_once("\nOr ")
            .map_or(table.clone(), |(_, rest)| rest.to_owned())
    };
    assert_snapshot!(ask("total cylinders per month"), @"
    cylinders by changed by month:
    changed by month	records	sum	mean
    2019-02	7	35	5
    2019-05	7	34	4.857143
    2019-03	7	32	4.571429
    2019-06	7	31	4.428571
    2019-01	7	30	4.285714
    2019-04	7	29	4.142857
    2019-09	6	27	4.5
    2019-08	6	25	4.166667
    … 1 more
    ");
    let most = ask("which month had the most cylinders");
    assert!(
        most.starts_with(&ask("total cylinders per month")),
        "{most}"
    );
    let all: Vec<Value> = (0..20)
        .map(|i: usize| json!({"ref": format!("p{i}"), "dependsOn": (i + 1..20).step_by(i % 4 + 1).map(|n| format!("p{n}")).collect::<Vec<_>>()}))
        .collect();
    let text = json!({"dependencies": all}).to_string();
    let questions = [
        "Which two packages do most others depend on?",
        "most dependencies",
    ];
    assert_snapshot!(heads(&text, ContentKind::Json, &questions), @"
    Which two packages do most others depend on?
        20 of 20 in .dependencies[]; 19 different dependsOn, most frequent first:
    most dependencies
        20 of 20 in .dependencies[]; largest dependsOn first:
    ");
}

#[test]
fn tables_with_years_and_without_a_first_name() {
    let rows: String = (0..40)
        .map(|i| {
            let rate = if i % 8 == 3 {
                "NA".to_owned()
            } else {
                format!("{}.5", i * 7 % 11)
            };
            format!(
                "\"{i}\",Land {i},{rate},{}.25,{}\n",
                i * 3 % 13,
                ["DELETE", "GET"][i % 2]
            )
        })
        .collect();
    let text = format!("\"\",\"country\",\"1960\",\"2011\",\"verb\"\n{rows}");
    let questions = [
        "Which countries were above 9 in 2011?",
        "1960 above 9.9",
        "highest in 2011, three countries",
        "countries where 1960 is missing",
        "DELETE rows with a value below 1 in 2011",
        "country and verb where 2011 < 1",
    ];
    assert_snapshot!(heads(&text, ContentKind::Csv, &questions), @"
    Which countries were above 9 in 2011?
        12 of 40 records have 2011 > 9:
    1960 above 9.9
        3 of 40 records have 1960 > 9.9:
    highest in 2011, three countries
        40 of 40 records; largest 2011 first:
    countries where 1960 is missing
        5 of 40 records have 1960 absent:
    DELETE rows with a value below 1 in 2011
        2 of 40 records have 2011 < 1, verb = DELETE:
    country and verb where 2011 < 1
        4 of 40 records have 2011 < 1:
    ");
}

#[test]
fn codes_counts_and_values_that_are_not_given() {
    let all: Vec<Value> = (0..60)
        .map(|i: usize| {
            let mut one = json!({
                "code": ([2016, 2317, 2207, 1091][i % 11 % 4]),
                "stop_name": format!("Stop {}", "x".repeat(i * 7 % 23)),
                "engines": i % 5,
                "sub": (["LG", "LG??"][i % 2]),
                "path": format!("/a{i}/delete"),
            });
            if !i.is_multiple_of(6) {
                one["density"] = json!(i);
            }
            one
        })
        .collect();
    let text = json!({"comments": all}).to_string();
    let questions = [
        "Which codes are reported more than 15 times?",
        "code having count == 10",
        "Which stop has the longest name?",
        "the stop whose name has the most letters",
        "stop_name with max length",
        "with three or four engines",
        "For which stops is no density given?",
        "sub == 'LG??'",
    ];
    assert_snapshot!(heads(&text, ContentKind::Json, &questions), @"
    Which codes are reported more than 15 times?
        60 of 60 in .comments[]; 4 different code; 3 of them in > 15 records, most frequent first:
    code having count == 10
        60 of 60 in .comments[]; 4 different code; 0 of them in == 10 records, most frequent first:
    Which stop has the longest name?
        60 of 60 in .comments[]; longest stop_name first:
    the stop whose name has the most letters
        60 of 60 in .comments[]; longest stop_name first:
    stop_name with max length
        60 of 60 in .comments[]; longest stop_name first:
    with three or four engines
        24 of 60 in .comments[] have engines = 3 or 4:
    For which stops is no density given?
        10 of 60 in .comments[] have density absent:
    sub == 'LG??'
        30 of 60 in .comments[] have sub = LG??:
    ");
}

/// Coverage of files, each with a map of functions.
fn coverage() -> String {
    let of = |lines: usize| json!({"summary": {"num_statements": lines}, "missing_lines": vec![7; lines % 9]});
    let files: serde_json::Map<String, Value> = (0..9)
        .map(|file: usize| {
            let functions = (0..5).map(|i| (format!("f{file}_{i}"), of(file * 3 + i * 5)));
            let functions = functions.chain([(String::new(), of(90 + file))]);
            let mut one = of(100 + file);
            one["functions"] = Value::Object(functions.collect());
            (format!("src/m{file}.py"), one)
        })
        .collect();
    json!({"files": files}).to_string()
}

#[test]
fn maps_inside_of_records_and_lists_in_texts() {
    let questions = [
        "Which three named functions have the most missing lines?",
        "top 3 named functions by num_statements",
        "files with the most missing lines",
        "functions with more than 30 num_statements",
    ];
    assert_snapshot!(heads(&coverage(), ContentKind::Json, &questions), @"
    Which three named functions have the most missing lines?
        45 of 54 in .files[].functions[] have key present; largest missing_lines first:
    top 3 named functions by num_statements
        45 of 54 in .files[].functions[] have key present; largest summary.num_statements first:
    files with the most missing lines
        9 of 9 in .files[]; largest missing_lines first:
    functions with more than 30 num_statements
        19 of 54 in .files[].functions[] have summary.num_statements > 30:
    ");
    let rows: String = (0..48)
        .map(|i: usize| {
            let codes = ["200", "200,404", "201,410,422", "204,404,410"][i % 7 % 4];
            let stop = [
                "Kent State School",
                "State School - Hail and Ride",
                "Ross St",
            ][i % 5 % 3];
            format!("op{i}\t{codes}\t{stop}\n")
        })
        .collect();
    let text = format!("operation\tresponses\tstop_name\n{rows}");
    let questions = [
        "Which operations can answer 410?",
        "responses 201 or 204",
        "responses contains 404 or 422",
        "operations with the most responses",
        "most frequent responses",
        "State School in the name but not Hail and Ride",
    ];
    assert_snapshot!(heads(&text, ContentKind::Tsv, &questions), @r#"
    Which operations can answer 410?
        20 of 48 records have responses = 410:
    responses 201 or 204
        20 of 48 records have responses = 201 or 204:
    responses contains 404 or 422
        34 of 48 records have responses = 404 or 422:
    operations with the most responses
        48 of 48 records; largest responses first:
    most frequent responses
        48 of 48 records; 6 different responses, most frequent first:
    State School in the name but not Hail and Ride
        19 of 48 records have stop_name with "State School", stop_name not with "Hail and Ride":
    "#);
    let zone = |i: usize| json!({"name": format!("Zone {i}"), "countries": vec!["A"; i % 3 + 1]});
    let land = |i: usize| json!({"name": format!("Land {i}"), "zones": vec!["Z"; i % 5]});
    let zones: serde_json::Map<String, Value> =
        (0..20).map(|i| (format!("z{i}"), zone(i))).collect();
    let lands: serde_json::Map<String, Value> =
        (0..12).map(|i| (format!("l{i}"), land(i))).collect();
    let text = json!({"zones": zones, "countries": lands}).to_string();
    let questions = [
        "Which two countries have the most zones?",
        "zones with most countries",
    ];
    assert_snapshot!(heads(&text, ContentKind::Json, &questions), @"
    Which two countries have the most zones?
        12 of 12 in .countries[]; largest zones first:
    zones with most countries
        20 of 20 in .zones[]; largest countries first:
    ");
}

#[test]
fn names_that_are_columns_or_explain() {
    let all: Vec<Value> = (0..60)
        .map(|i: usize| {
            let mut one = json!({
                "district": format!("{i}-North"),
                "Joly": i * 7 % 53,
                "Bergeron": i * 11 % 47,
                "winner": (["Joly", "Bergeron", "Coderre"][i % 3]),
                "status": ([200, 404, 301][i % 7 % 3]),
                "area": i % 9,
                "perc_native": i % 13,
                "freeTier": i.is_multiple_of(2),
                "burstable": i % 3 < 2,
                "issue_severity": (["LOW", "MEDIUM"][i % 5 / 3]),
                "name": (["Public Holiday", "Labour Day", "Boxing Day"][i % 4 % 3]),
                "path": format!("/p{i}/license"),
            });
            if i % 8 < 7 {
                one["url"] = json!(format!("https://a.example/{i}/LICENSE"));
            }
            one
        })
        .collect();
    let text = Value::from(all).to_string();
    let questions = [
        "In which two districts did Joly get the most?",
        "sort by Joly desc limit 2",
        "winner Joly",
        "Which were requested but not found (404)?",
        "Which are more than 11 percent native (perc_native)?",
        "freeTier yes, burstable no",
        "severity = MEDIUM",
        "Which license ids have no url?",
        "order by length(district) desc limit 2",
        "public holidays with winner Coderre",
    ];
    assert_snapshot!(heads(&text, ContentKind::Json, &questions), @"
    In which two districts did Joly get the most?
        60 of 60 in .[]; largest Joly first:
    sort by Joly desc limit 2
        60 of 60 in .[]; largest Joly first:
    winner Joly
        20 of 60 in .[] have winner = Joly:
    Which were requested but not found (404)?
        17 of 60 in .[] have status = 404:
    Which are more than 11 percent native (perc_native)?
        4 of 60 in .[] have perc_native > 11:
    freeTier yes, burstable no
        10 of 60 in .[] have burstable = false, freeTier = true:
    severity = MEDIUM
        24 of 60 in .[] have issue_severity = MEDIUM:
    Which license ids have no url?
        7 of 60 in .[] have url absent:
    order by length(district) desc limit 2
        60 of 60 in .[]; longest district first:
    public holidays with winner Coderre
        10 of 60 in .[] have name = Public Holiday, winner = Coderre:
    ");
    let ports: serde_json::Map<String, Value> = (0..20)
        .map(|i| {
            (
                format!("{i}/tcp"),
                json!([format!("svc{i}"), (["MySQL proxy", "Web"][i % 3 / 2])]),
            )
        })
        .collect();
    let text = Value::Object(ports).to_string();
    assert_snapshot!(heads(&text, ContentKind::Json, &["entries with MySQL", "svc4"]), @r#"
    entries with MySQL
        14 of 20 in .[] have value with "MySQL":
    svc4
        no table
    "#);
}

#[test]
fn the_highest_has_the_most_elevation() {
    let peaks: Vec<Value> = (0..20)
        .map(|i| json!({"number": 100 + i, "name": format!("Mount {}", "a".repeat(i + 1)), "land": (["Japan", "Chile"][i % 2]), "elevation": i * 7 % 19}))
        .collect();
    let questions = ["highest peaks in Japan, 3", "lowest in Chile"];
    assert_snapshot!(heads(&Value::from(peaks).to_string(), ContentKind::Json, &questions), @"
    highest peaks in Japan, 3
        10 of 20 in .[] have land = Japan; largest elevation first:
    lowest in Chile
        10 of 20 in .[] have land = Chile; smallest elevation first:
    ");
}
