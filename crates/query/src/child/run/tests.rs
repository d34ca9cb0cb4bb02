//! Tests the results of filters.

use proptest::prelude::*;
use spillgate_artifact::Layout;

use super::*;
use crate::protocol::Message;

fn request(filter: &str, format: Format) -> Request {
    Request {
        filter: filter.to_owned(),
        raw: false,
        slurp: false,
        fold: false,
        start: 0,
        byte: 0,
        window: 1 << 20,
        counted: 1000,
        format,
        from: 0,
        length: 0,
        memory: 0,
        cpu: 0,
        depth: 64,
    }
}

/// Returns the results of a filter, followed by the error if there is one.
fn given(request: &Request, data: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut sink = Sink::new(request, &mut out);
    let ran = run(request, data.as_bytes(), &mut sink);
    let messages = serde_json::Deserializer::from_slice(&out).into_iter();
    let result = |message| match message {
        Ok(Message::Result { text, .. }) => Some(text),
        _ => None,
    };
    let mut results: Vec<String> = messages.filter_map(result).collect();
    match ran {
        Ok(Summary {
            failure: Some(Failure { message, .. }),
            ..
        }) => results.push(format!("failed: {message}")),
        Ok(_) => {}
        Err(refusal) => results.push(format!("{refusal:?}")),
    }
    results
}

fn give(filter: &str, json: &str) -> String {
    given(&request(filter, Format::Json), json).join(" ")
}

/// Filters, documents and the expected results.
const MANUAL: &[(&str, &str, &str)] = &[
    (
        ".",
        r#"{"a" : [1, 2.50, 1e3, 12345678901234567890]}"#,
        r#"{"a":[1,2.50,1e3,12345678901234567890]}"#,
    ),
    (".foo", r#"{"foo": 42, "bar": "less"}"#, "42"),
    (".foo", r#"{"bar": 42}"#, "null"),
    (".foo?", "[1, 2]", ""),
    (r#".["foo"]"#, r#"{"foo": 42}"#, "42"),
    (
        ".[0]",
        r#"[{"name":"JSON"}, {"name":"XML"}]"#,
        r#"{"name":"JSON"}"#,
    ),
    (".[2]", "[1,2]", "null"),
    (".[-2]", "[1,2,3]", "2"),
    (".[2:4]", r#"["a","b","c","d","e"]"#, r#"["c","d"]"#),
    (".[]", r#"{"a": 1, "b": 1}"#, "1 1"),
    (".foo, .bar", r#"{"foo": 42, "bar": "x"}"#, r#"42 "x""#),
    (
        ".[] | .name",
        r#"[{"name":"JSON"}, {"name":"XML"}]"#,
        r#""JSON" "XML""#,
    ),
    (
        "[.user, .projects[]]",
        r#"{"user":"s", "projects": ["jq", "wf"]}"#,
        r#"["s","jq","wf"]"#,
    ),
    (
        "{user, title: .titles[]}",
        r#"{"user":"s","titles":["a","b"]}"#,
        r#"{"user":"s","title":"a"} {"user":"s","title":"b"}"#,
    ),
    ("..|.a?", r#"[[{"a":1}]]"#, "1"),
    (".a + 1", r#"{"a": 7}"#, "8"),
    (
        ".a + .b",
        r#"{"a": {"b":1}, "b": {"c":2}}"#,
        r#"{"b":1,"c":2}"#,
    ),
    (". - [\"a\"]", r#"["a","b","a"]"#, r#"["b"]"#),
    (
        ".[] | length",
        r#"[[1,2], "string", {"a":2}, null, -5]"#,
        "2 6 1 0 5",
    ),
    (
        "keys",
        r#"{"abc": 1, "abcd": 2, "Foo": 3}"#,
        r#"["Foo","abc","abcd"]"#,
    ),
    ("map(has(\"foo\"))", r#"[{"foo": 42}, {}]"#, "[true,false]"),
    ("map(.+1)", "[1,2,3]", "[2,3,4]"),
    ("map_values(.+1)", r#"{"a": 1}"#, r#"{"a":2}"#),
    ("path(..)", "[[1]]", "[] [0] [0,0]"),
    ("del(.foo)", r#"{"foo": 42, "bar": 9}"#, r#"{"bar":9}"#),
    ("to_entries", r#"{"a": 1}"#, r#"[{"key":"a","value":1}]"#),
    (
        "with_entries(.key |= \"K\" + .)",
        r#"{"a": 1}"#,
        r#"{"Ka":1}"#,
    ),
    (
        ".[] | select(.id == \"b\")",
        r#"[{"id":"a"},{"id":"b"}]"#,
        r#"{"id":"b"}"#,
    ),
    ("add", "[1,2,3]", "6"),
    ("any, all", "[true, false]", "true false"),
    ("flatten", "[1, [2], [[3]]]", "[1,2,3]"),
    ("[range(2;4)]", "null", "[2,3]"),
    ("tostring, (\"1\" | tonumber)", "[1]", r#""[1]" 1"#),
    (
        "sort_by(.foo) | map(.foo)",
        r#"[{"foo":4},{"foo":2}]"#,
        "[2,4]",
    ),
    (
        "group_by(.f) | map(length)",
        r#"[{"f":1},{"f":3},{"f":1}]"#,
        "[2,1]",
    ),
    (
        "min_by(.f), max_by(.f)",
        r#"[{"f":1},{"f":3}]"#,
        r#"{"f":1} {"f":3}"#,
    ),
    ("unique, reverse", "[1,2,1]", "[1,2] [1,2,1]"),
    (
        "[.[]|startswith(\"foo\")]",
        r#"["fo","foo"]"#,
        "[false,true]",
    ),
    (
        "[.[]|ltrimstr(\"foo\")]",
        r#"["fo","foobar"]"#,
        r#"["fo","bar"]"#,
    ),
    ("split(\", \"), join(\"-\")?", r#""a, b""#, r#"["a","b"]"#),
    (
        "[recurse(if . < 3 then .+1 else empty end)]",
        "1",
        "[1,2,3]",
    ),
    ("\"\\(.a)!\"", r#"{"a":[1]}"#, r#""[1]!""#),
    ("@csv", r#"[1,"a\"b",null,true]"#, r#""1,\"a\"\"b\",,true""#),
    ("@tsv", r#"[1,"a\tb"]"#, r#""1\ta\\tb""#),
    (
        "@base64, @uri, @html",
        r#""<a b>""#,
        r#""PGEgYj4=" "%3Ca%20b%3E" "&lt;a b&gt;""#,
    ),
    ("todate", "1425599621", r#""2015-03-05T23:53:41Z""#),
    (
        "if . == 0 then \"z\" elif . == 1 then \"o\" else \"m\" end",
        "1",
        r#""o""#,
    ),
    ("(.a | tonumber)? // \"none\"", r#"{"a":"x"}"#, r#""none""#),
    ("try error(\"no\") catch .", "1", r#""no""#),
    (
        "test(\"fo+\"), [scan(\"o\")]",
        r#""foo""#,
        r#"true ["o","o"]"#,
    ),
    (
        "sub(\"(?<x>o)\"; \"<\\(.x)>\"), gsub(\"o\"; \"0\")",
        r#""foo""#,
        r#""f<o>o" "f00""#,
    ),
    (". as [$a, {b: $c}] | $a + $c", r#"[1, {"b": 2}]"#, "3"),
    ("def f(g): g | g; f(. * 2)", "3", "12"),
    (
        "reduce .[] as $i (0; . + $i), [foreach .[] as $i (0; . + $i)]",
        "[1,2,3]",
        "6 [1,3,6]",
    ),
    (
        "[limit(2; .[])], first(.[]), isempty(empty)",
        "[1,2,3]",
        "[1,2] 1 true",
    ),
    (".a.b |= . + 1", r#"{"a":{"b":1}}"#, r#"{"a":{"b":2}}"#),
    (
        "[paths], getpath([\"a\",\"b\"])",
        r#"{"a":{"b":1}}"#,
        r#"[["a"],["a","b"]] 1"#,
    ),
    ("INDEX(.id)", r#"[{"id":1}]"#, r#"{"1":{"id":1}}"#),
    (
        "[tostream]",
        r#"{"a":[1]}"#,
        r#"[[["a",0],1],[["a",0]],[["a"]]]"#,
    ),
    ("[., input]", "1 2 3 4", "[1,2] [3,4]"),
    ("[., inputs]", "1 2 3", "[1,2,3]"),
    ("debug", "1", "1"),
    ("nan, [-infinite]", "1", "null [-1.7976931348623157e+308]"),
    (
        "{a: nan, b: infinite} | ., tojson, tostring, @json",
        "1",
        r#"{"a":null,"b":1.7976931348623157e+308} "{\"a\":null,\"b\":1.7976931348623157e+308}" "{\"a\":null,\"b\":1.7976931348623157e+308}" "{\"a\":null,\"b\":1.7976931348623157e+308}""#,
    ),
    ("error(\"no\")", "1", "failed: no"),
    ("error({a: 1})", "1", r#"failed: {"a":1}"#),
    (
        "3, {(.): 2}",
        "1",
        "3 failed: Object keys must be strings, not 1",
    ),
    (
        "to_entries | from_entries",
        "[5]",
        "failed: Object keys must be strings, not 0",
    ),
    (
        "[{([]): 2}] | tojson",
        "1",
        "failed: Object keys must be strings, not []",
    ),
    ("tobytes, [tobytes]", r#""a\u00e9""#, r#""aé" ["aé"]"#),
    (
        ".[]",
        "[+1.5, 01.5, +2, NaN, 1e999]",
        "1.5 1.5 2 null 1e999",
    ),
    (
        ".a[",
        "1",
        "Filter { message: \"closing bracket expected\", at: 3, fix: Some(\".a[]\") }",
    ),
    (
        ".a | nope(1)",
        "1",
        "Filter { message: \"there is no nope with 1 argument\", at: 5, fix: None }",
    ),
    (
        "include \"x\"; .",
        "1",
        "Filter { message: \"modules are not available\", at: 9, fix: None }",
    ),
    (
        ".a.b",
        r#"{"a":5}"#,
        "failed: cannot index number with \"b\"",
    ),
    (
        ".",
        "[1,",
        "NotJson { message: \"byte offset 3: value expected\" }",
    ),
    (
        ".a",
        r#"{"a":"\ud83d \ud83d\ude80","\udc00":1}"#,
        "\"\u{fffd} 🚀\"",
    ),
];

#[test]
fn filters_of_the_manual() {
    for &(filter, json, want) in MANUAL {
        let got = give(filter, json);
        assert_eq!(got, want, "{filter}");
    }
}

#[test]
fn what_looks_outside_is_refused() {
    for filter in [
        "env",
        "now",
        "localtime",
        "strflocaltime(\"\")",
        "halt",
        "halt_error",
        "env.PATH",
    ] {
        let got = give(filter, "1");
        assert!(
            got.contains("is not available: a filter sees"),
            "{filter}: {got}"
        );
    }
    for filter in [
        "$ENV",
        "$ENV.PATH",
        "input_filename",
        "$__prog_args",
        "import \"a\" as $a; $a",
    ] {
        let got = give(filter, "1");
        assert!(got.starts_with("Filter {"), "{filter}: {got}");
    }
}

#[test]
fn lines_rows_and_text() {
    let lines = |filter, data| given(&request(filter, Format::Ndjson), data).join(" ");
    let data = "{\"a\":1}\nnonsense\n\n{\"a\":{\"b\":2}}\n[[[\n{\"a\":3}";
    assert_eq!(lines(".a", data), r#"1 {"b":2} 3"#);
    assert_eq!(lines("[.a, (inputs | .a)]", data), r#"[1,{"b":2},3]"#);
    assert_eq!(
        lines(".a.b", data),
        "2 failed: cannot index number with \"b\""
    );
    let slurp = Request {
        slurp: true,
        ..request("map(.a) | length", Format::Ndjson)
    };
    assert_eq!(given(&slurp, data), ["3"]);
    let table = Format::Table { delimiter: b',' };
    let rows = "name,price\na,1.50\nb,20\n";
    let got = given(&request("select(.price > 5) | .name", table), rows);
    assert_eq!(got, ["\"b\""]);
    let text = Format::Lines {
        layout: Layout::AsIs,
    };
    let got = given(&request("select(test(\"b\"))", text), "abc\r\nxyz\n\"b\"");
    assert_eq!(got, ["\"abc\"", r#""\"b\"""#]);
}

const PEOPLE: &str = "name,team,age,zip,score\nann,x,30,01234,1.50\nbob,y,41,10001,n/a\n\
    cy,x,,02134,20\n";

/// Returns the results of a filter on records, and the notes and hints about them.
fn explained(filter: &str, format: Format, data: &str) -> String {
    let asked = request(filter, format);
    let mut out = Vec::new();
    let ran = run(&asked, data.as_bytes(), &mut Sink::new(&asked, &mut out));
    let mut lines = vec![format!("{filter}: {}", given(&asked, data).join(" "))];
    match ran {
        Ok(summary) => {
            let reading = summary.reading.map(|reading| format!("{reading:?}"));
            lines.extend(reading);
            lines.extend(
                summary
                    .not_read
                    .map(|why| format!("not the other way: {why}")),
            );
            lines.extend(summary.missing.map(|missing| missing.to_string()));
            lines.extend(summary.hints);
        }
        Err(refusal) => lines.push(format!("{refusal:?}")),
    }
    lines.join("\n  ")
}

#[test]
fn filters_read_records_as_they_are_written() {
    let table = Format::Table { delimiter: b',' };
    let all: Vec<String> = [
        // These filters read the array of all rows.
        ".[] | select(.team == \"x\") | .name",
        "map(select(.age > 30)) | length",
        "[.[] | select(.team == \"x\") | .name]",
        "group_by(.team) | map({team: .[0].team, n: length})",
        "length",
        ".[1].name, .[0].zip",
        ".[0:2] | map(.zip)",
        ".[-1].score",
        "sort_by(.age) | map(.name)",
        "map(.age) | add",
        "max_by(.age).name",
        "first(.[] | select(.age > 35)).name",
        "reduce .[] as $p (0; . + ($p.age // 0))",
        "{n: length, oldest: (map(.age) | max)}",
        // These filters read each row.
        "select(.team == \"y\") | .name",
        ".zip",
        "[.name, .age] | @csv",
        "keys | length",
        // These filters fail on the input that is tried first and succeed on the other one.
        "[.[]] | @csv",
        "if type == \"array\" then length else error(\"no array\") end",
        "[., inputs] | length",
    ]
    .map(|filter| explained(filter, table, PEOPLE))
    .into();
    insta::assert_snapshot!(all.join("\n"), @r#"
    .[] | select(.team == "x") | .name: "ann" "cy"
      All
    map(select(.age > 30)) | length: 1
      All
    [.[] | select(.team == "x") | .name]: ["ann","cy"]
      All
    group_by(.team) | map({team: .[0].team, n: length}): [{"team":"x","n":2},{"team":"y","n":1}]
      All
    length: 3
      All
    .[1].name, .[0].zip: "bob" "01234"
      All
    .[0:2] | map(.zip): ["01234","10001"]
      All
    .[-1].score: "20"
      All
    sort_by(.age) | map(.name): ["cy","ann","bob"]
      All
    map(.age) | add: 71
      All
    max_by(.age).name: "bob"
      All
    first(.[] | select(.age > 35)).name: "bob"
      All
    reduce .[] as $p (0; . + ($p.age // 0)): 71
      All
    {n: length, oldest: (map(.age) | max)}: {"n":3,"oldest":41}
      All
    select(.team == "y") | .name: "bob"
    .zip: "01234" "10001" "02134"
    [.name, .age] | @csv: "\"ann\",30" "\"bob\",41" "\"cy\","
    keys | length: 5 5 5
      Each
    [.[]] | @csv: "\"ann\",\"x\",30,\"01234\",\"1.50\"" "\"bob\",\"y\",41,\"10001\",\"n/a\"" "\"cy\",\"x\",,\"02134\",\"20\""
      Each
      not the other way: not a cell: object
    if type == "array" then length else error("no array") end: 3
      All
    [., inputs] | length: 3
    "#);
}

#[test]
fn filters_read_lines_as_they_are_written() {
    let lines = "{\"a\":1,\"b\":{\"c\":\"x\"}}\n{\"a\":20}\nno JSON\n{\"a\":3}\n";
    let all: Vec<String> = [
        ".[] | select(.a > 1) | .a",
        "map(.a) | add",
        "length",
        ".[0].b.c",
        "[.[].b.c?] | length",
        ".a",
        ".b.d",
        ".[].aa",
        "select(.type == \"x\")",
    ]
    .map(|filter| explained(filter, Format::Ndjson, lines))
    .into();
    insta::assert_snapshot!(all.join("\n"), @r#"
    .[] | select(.a > 1) | .a: 20 3
      All
    map(.a) | add: 24
      All
    length: 3
      All
    .[0].b.c: "x"
      All
    [.[].b.c?] | length: 3
      All
    .a: 1 20 3
    .b.d: null null null
      .b has no .d; it has "c"
    .[].aa: null null null
      All
      .[] has no .aa; it has "a", "b"
    select(.type == "x"): 
      . has no .type; it has "a", "b"
    "#);
    let all: Vec<String> = [".[0]", "length", "map(.x)"]
        .map(|filter| explained(filter, Format::Ndjson, "[1,2]\n[3]\n"))
        .into();
    insta::assert_snapshot!(all.join("\n"), @r#"
    .[0]: 1 3
      Each
    length: 2 1
      Each
    map(.x): failed: cannot index 1 with "x"
      Each
      .[] has no .x; it is a number
    "#);
}

#[test]
fn columns_that_are_taken_for_something_else_are_named() {
    let table = Format::Table { delimiter: b',' };
    let all: Vec<String> = [
        "map(select(.score > 10)) | length",
        "map(select(.zip == 2134)) | length",
        "select(.age == \"41\")",
        "sort_by(.score) | .[0].name",
        "map(.score) | add",
        "map(select(.team = \"x\")) | length",
        ".naem",
        "group_by(.teem) | length",
        ".[] | select(.Score != null) | .name",
        "map(.salary)",
        "select(.nmae | startswith(\"a\"))",
        "select(.age | startswith(\"4\"))",
        "map(select(.score | tonumber? // 0 | . > 10)) | length",
    ]
    .map(|filter| explained(filter, table, PEOPLE))
    .into();
    insta::assert_snapshot!(all.join("\n"), @r#"
    map(select(.score > 10)) | length: 3
      All
      .score holds text (row 2: "n/a"), and text is greater than every number: take (.score | tonumber? // null)
    map(select(.zip == 2134)) | length: 0
      All
      .zip holds text (row 1: "01234"), and text is greater than every number: take (.zip | tonumber? // null)
    select(.age == "41"): 
      .age holds numbers, which never equal a text: compare with a number, or take (.age | tostring)
    sort_by(.score) | .[0].name: "ann"
      All
      .score holds text (row 2: "n/a"), and text is greater than every number: take (.score | tonumber? // null)
    map(.score) | add: "1.50n/a20"
      All
      .score holds text (row 2: "n/a"), and text is greater than every number: take (.score | tonumber? // null)
    map(select(.team = "x")) | length: 3
      All
      `=` in `select` assigns, so nothing is dropped: compare with `==`
    .naem: null null null
      . has no .naem; did you mean .name? It has "name", "team", "age", "zip", "score"
    group_by(.teem) | length: 1
      All
      .[] has no .teem; did you mean .team? It has "team", "name", "age", "zip", "score"
    .[] | select(.Score != null) | .name: 
      All
      .[] has no .Score; did you mean .score? It has "score", "name", "age", "team", "zip"
    map(.salary): [null,null,null]
      All
      .[] has no .salary; it has "score", "name", "team", "age", "zip"
    select(.nmae | startswith("a")): failed: cannot use null as string
      . has no .nmae; did you mean .name? It has "name", "team", "age", "zip", "score"
    select(.age | startswith("4")): failed: cannot use 30 as string
    map(select(.score | tonumber? // 0 | . > 10)) | length: 1
      All
    "#);
}

#[test]
fn a_filter_that_is_not_jq_is_repaired_if_the_fault_is_plain() {
    let fixed = |filter: &str| match run(
        &request(filter, Format::Json),
        b"1",
        &mut Sink::new(&request(filter, Format::Json), &mut Vec::new()),
    ) {
        Err(Refusal::Filter { fix, .. }) => fix.unwrap_or_else(|| "?".to_owned()),
        other => format!("{other:?}"),
    };
    let cases = [
        ("map(select(.a == 'x y'))", "map(select(.a == \"x y\"))"),
        (".[] | select(.a == “x”)", ".[] | select(.a == \"x\")"),
        (".a && .b", ".a and .b"),
        (
            "select(.a === 1 || .b !== \"||\")",
            "select(.a == 1 or .b != \"||\")",
        ),
        (".items[0", ".items[0]"),
        ("[.a | {b: .c", "[.a | {b: .c}]"),
        ("select(.a == \"x)", "select(.a == \"x\")"),
        ("select(.a == \"x) | .b", "?"),
        ("select(.a == \"x", "select(.a == \"x\")"),
        (".items[*].name", ".items[].name"),
        ("$.items[*].name", ".items[].name"),
        ("$[0].name", ".[0].name"),
        ("items[].name", ".items[].name"),
        (
            ".[] | select(name == \"x\")",
            ".[] | select(.name == \"x\")",
        ),
        (".a | lenght", ".a | length"),
        ("map(.a) | sum", "map(.a) | add"),
        ("[.[].a] | avg", "[.[].a] | (add / length)"),
        ("sort(.a) | group(.b)", "sort_by(.a) | group_by(.b)"),
        (".a | startsWith(\"x\")", ".a | startswith(\"x\")"),
        ("jq '.a | count'", ".a | length"),
        (".a |", ".a"),
        (".a ==", "?"),
        ("frobnicate(.a; .b)", "?"),
        ("$x", "?"),
    ];
    for (filter, want) in cases {
        assert_eq!(fixed(filter), want, "{filter}");
    }
}

/// Generates filters that read the array of all records.
fn of_all() -> impl Strategy<Value = String> {
    let each = proptest::sample::select(vec![
        ".a",
        ".b?",
        "select(.a == 1)",
        ".",
        "[.a, .b]",
        "length",
    ]);
    let total = proptest::sample::select(vec!["length", ".", "add", "map(tojson)", ".[0]"]);
    let first = proptest::sample::select(vec![
        ".[0]",
        ".[2].a",
        ".[0:2]",
        ".[1:2] | length",
        ".[:1][].b",
        "length",
        "sort_by(.a)",
        "first",
        "[.[0].a, .[1].a]",
        "group_by(.b)",
        ".[-1]",
    ]);
    prop_oneof![
        each.clone().prop_map(|each| format!(".[] | {each}")),
        (each.clone(), total.clone()).prop_map(|(each, total)| format!("[.[] | {each}] | {total}")),
        (each, total).prop_map(|(each, total)| format!("map({each}) | {total}")),
        first.prop_map(str::to_owned),
    ]
}

proptest! {
    /// A filter on the array of all records reads the records one by one where it can. Its results
    /// are the same as with `-s`, where all records are in memory.
    #[test]
    fn streamed_records_give_what_an_array_gives(
        records in proptest::collection::vec((0..4_i32, "[a-c]{0,2}"), 1..8),
        filter in of_all(),
        is_table in any::<bool>(),
    ) {
        let rows: String = records.iter().map(|(a, b)| format!("{a},{b}\n")).collect();
        let line = |(a, b): &(i32, String)| format!("{{\"a\":{a},\"b\":\"{b}\"}}\n");
        let lines: String = records.iter().map(line).collect();
        let (format, data) = if is_table {
            (Format::Table { delimiter: b',' }, format!("a,b\n{rows}"))
        } else {
            (Format::Ndjson, lines)
        };
        let asked = request(&filter, format);
        let slurped = Request { slurp: true, ..asked.clone() };
        prop_assert_eq!(given(&asked, &data), given(&slurped, &data), "{} of {}", filter, data);
    }
}

#[test]
fn bytes_that_are_no_text_are_no_reason_to_break_down() {
    for (filter, data, want) in [
        (".", &b"\"\x9c\""[..], "\u{fffd}"),
        (".a", b"{\"\xff\":1,\"a\":\"\xe2\x82\"}", "\u{fffd}"),
        ("length", b"\"\xff\"", "1"),
    ] {
        let asked = Request {
            raw: true,
            ..request(filter, Format::Json)
        };
        let mut out = Vec::new();
        run(&asked, data, &mut Sink::new(&asked, &mut out))
            .ok()
            .unwrap();
        let said = String::from_utf8(out).unwrap();
        assert!(
            said.contains(&format!("\"text\":\"{want}\"")),
            "{filter}: {said}"
        );
    }
}

#[test]
fn deep_documents_are_refused_before_they_are_parsed() {
    let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    assert_eq!(give("length", &deep), "TooDeep { at: 64 }");
    let inner = format!(r#"{{"a":{deep},"b":1}}"#);
    assert_eq!(give(".b", &inner), "1");
    assert_eq!(
        give(".a", &inner),
        "failed: the value nests deeper than 64 levels"
    );
    assert_eq!(give("length", &deep[1..130]), "1");
}

/// Generates JSON as untrusted tools may write it: with white space, escapes, repeated keys, and
/// numbers of any form.
fn any_json() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?";
    let string = r#""([a-c \[\]{},:é漢🚀]|\\["\\/bfnrt]|\\u00e9|\\ud83d\\ude80|\\u0041){0,4}""#;
    let key = r#""(a|b|c|\\u0061|é| )""#;
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        number.prop_map(|number| number),
        string.prop_map(|string| string),
    ];
    leaf.prop_recursive(4, 30, 4, move |inner| {
        let member = (key, " ?", inner.clone())
            .prop_map(|(key, gap, value)| format!("{key}{gap}:{gap}{value}"));
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(" ,"))),
            proptest::collection::vec(member, 0..5)
                .prop_map(|all| format!("{{{} }}", all.join(",\n"))),
        ]
    })
}

fn any_path() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        Just(".a"),
        Just(".b"),
        Just(".c"),
        Just(".[\"é\"]"),
        Just(".\" \""),
        Just(".[]"),
        Just(".[0]"),
        Just(".[1]"),
        Just(".[-1]"),
        Just(".a?"),
        Just(".[]?"),
        Just(".[1]?"),
    ];
    let then = prop_oneof![
        Just(""),
        Just(" | .a?"),
        Just(" | length"),
        Just(" | tojson, 1")
    ];
    let path = (proptest::collection::vec(step, 1..5), then)
        .prop_map(|(steps, then)| format!("{}{then}", steps.join(" | ")));
    prop_oneof![
        path.clone(),
        path.clone()
            .prop_map(|path| path.replace(" | .", ".").replace("..", ".")),
        path.clone().prop_map(|path| format!("[{path}]")),
        path.clone().prop_map(|path| format!("[{path}] | length")),
        path.prop_map(|path| format!("map({path}) | tojson")),
    ]
}

/// Generates filters that build values that JSON cannot represent.
fn odd() -> impl Strategy<Value = String> {
    let value = proptest::sample::select(vec![
        ".",
        "nan",
        "infinite",
        "-infinite",
        "1e400",
        "tobytes?",
        "1.50",
        "{}",
        "[.[]?]",
    ]);
    let key = proptest::sample::select(vec!["\"a\"", "1", "null", "[]", "nan", "tojson"]);
    let made = (key, value).prop_map(|(key, value)| format!("{{({key}): {value}}}"));
    let then = proptest::sample::select(vec![
        "",
        "| [.]",
        "| tojson",
        "| tostring",
        "| @json",
        "| (to_entries | from_entries)?",
    ]);
    (made, then).prop_map(|(made, then)| format!("., ({made} {then})"))
}

proptest! {
    #[test]
    fn a_result_is_json(json in any_json(), filter in odd()) {
        let mut results = given(&request(&filter, Format::Json), &json);
        results.retain(|result| !result.starts_with("failed: "));
        prop_assert!(!results.is_empty());
        for result in results {
            let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&result);
            prop_assert!(parsed.is_ok(), "{} of {}", result, filter);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn paths_in_the_bytes_give_what_jaq_gives(json in any_json(), path in any_path()) {
        // A definition at the start prevents a plan, so jaq runs the whole filter.
        let whole = format!("def whole: .; {path}");
        prop_assert!(plan(&whole).is_none());
        let fails = |mut results: Vec<String>| {
            // Both must fail at the same place, but jaq's own messages differ.
            let failed = results.pop_if(|last| last.starts_with("failed: "));
            (results, failed.is_some())
        };
        let lazy = fails(given(&request(&path, Format::Json), &json));
        let jaq = fails(given(&request(&whole, Format::Json), &json));
        prop_assert_eq!(lazy, jaq, "{} on {}", path, json);
    }
}
