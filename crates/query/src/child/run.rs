//! How is a filter run on documents?

use std::cell::RefCell;
use std::ops::ControlFlow;

use jaq_json::{Val, read};
use sonic_rs::LazyValue;

use super::documents::{Document, Documents};
use super::jq::{Jq, cut};
use super::json::{check, render};
use super::lazy::{Stop, document, start as lazy_start, walk};
use super::missing::missing;
use super::plan::{Part, Plan, Step, plan};
use super::sink::Sink;
use super::text::{too_deep, without_lone_surrogates};
use crate::protocol::{Failure, Format, Refusal, Request, Summary};

/// Stands before the text of some Windows programs.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Runs what was asked for; the results go to the sink.
pub(crate) fn run(request: &Request, data: &[u8], sink: &mut Sink<'_>) -> Result<Summary, Refusal> {
    let program = Program::compile(request)?;
    let data = data.strip_prefix(BYTE_ORDER_MARK).unwrap_or(data);
    let is_json = matches!(request.format, Format::Json | Format::Ndjson);
    let data = match is_json {
        true => without_lone_surrogates(data),
        false => data.into(),
    };
    let is_one = request.format == Format::Json;
    let runner = Runner {
        program: &program,
        depth: request.depth,
        documents: RefCell::new(Documents::new(&data, request.format, request.depth)),
    };
    let lazy = match (is_one, &program.parts) {
        (true, Some(parts)) => lazy_start(&data, &parts.plan.steps),
        _ => None,
    };
    if is_one
        && lazy.is_none()
        && let Some(at) = too_deep(&data, request.depth)
    {
        return Err(Refusal::TooDeep { at: at as u64 });
    }
    let mut summary = Summary::default();
    let ran = match lazy {
        Some((value, steps)) => {
            summary.documents = 1;
            let ran = program.lazily(value, steps, &runner, sink);
            note(ran, &mut summary, 1, sink)
        }
        None if request.slurp => runner.slurped(&mut summary, sink),
        None => runner.each(&mut summary, sink),
    };
    summary.complete = ran.is_continue();
    summary.results = sink.results;
    let documents = runner.documents.into_inner();
    if is_one
        && documents.seen == 1
        && let Some((_, why)) = documents.first_bad
    {
        return Err(Refusal::NotJson { message: why });
    }
    summary.documents = summary.documents.max(documents.seen);
    (summary.bad, summary.first_bad) = (documents.bad, documents.first_bad);
    if is_json
        && sink.only_nulls
        && let Some(parts) = &program.parts
    {
        summary.missing =
            first_text(&data, request.format).and_then(|text| missing(text, &parts.plan.steps));
    }
    Ok(summary)
}

/// The text of the first document.
fn first_text(data: &[u8], format: Format) -> Option<&[u8]> {
    match format {
        Format::Json => Some(data),
        _ => data
            .split(|&byte| byte == b'\n')
            .find(|line| document(line).is_some()),
    }
}

/// A filter, compiled whole and in the parts of its plan.
struct Program<'f> {
    whole: Jq,
    parts: Option<Parts<'f>>,
}

struct Parts<'f> {
    plan: Plan<'f>,
    each: Option<Jq>,
    then: Option<Jq>,
}

impl<'f> Program<'f> {
    fn compile(request: &'f Request) -> Result<Self, Refusal> {
        let whole = Jq::compile(&request.filter)?;
        let parts = match plan(&request.filter).filter(|_| !request.slurp) {
            Some(plan) => Some(Parts {
                each: plan.each.map(Jq::compile).transpose()?,
                then: plan.then.map(Jq::compile).transpose()?,
                plan,
            }),
            None => None,
        };
        Ok(Self { whole, parts })
    }

    /// The results for a value that is still text.
    fn lazily(
        &self,
        value: LazyValue<'_>,
        steps: &[Step],
        runner: &Runner<'_, '_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Stop> {
        let parts = self.parts.as_ref().expect("invariant: asked before");
        let parsed = |text: &str| parsed(text, runner.depth);
        let is_one = !steps.iter().any(|step| step.part == Part::Each);
        if !parts.plan.gathers {
            return flow(walk(value, steps, &mut |text| {
                let ran = match &parts.each {
                    Some(each) => parsed(text).and_then(|value| {
                        keep(&value, is_one);
                        runner.jq(each, value, &mut |value| emit(&value, sink))
                    }),
                    None if sink.wants_text() => parsed(text).and_then(|value| emit(&value, sink)),
                    // It is only counted, so it is not parsed.
                    None => count(text, sink),
                };
                ran.map_or_else(ControlFlow::Break, ControlFlow::Continue)
            }));
        }
        let mut all = Vec::new();
        flow(walk(value, steps, &mut |text| {
            let gather = &mut |value| {
                all.push(value);
                Ok(())
            };
            let ran = parsed(text).and_then(|value| match &parts.each {
                Some(each) => runner.jq(each, value, gather),
                None => gather(value),
            });
            ran.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        }))?;
        let all = all.into_iter().collect();
        match &parts.then {
            Some(then) => runner.jq(then, all, &mut |value| emit(&value, sink)),
            None => emit(&all, sink),
        }
    }
}

/// A program on its documents; `inputs` takes from them too.
struct Runner<'p, 'd> {
    program: &'p Program<'p>,
    /// Levels that a value may nest.
    depth: usize,
    documents: RefCell<Documents<'d>>,
}

impl Runner<'_, '_> {
    /// The filter on each document.
    fn each(&self, summary: &mut Summary, sink: &mut Sink<'_>) -> ControlFlow<()> {
        loop {
            let Some(next) = self.documents.borrow_mut().next_document() else {
                return ControlFlow::Continue(());
            };
            let number = self.documents.borrow().seen;
            let ran = match next {
                Document::Text(text) => self.text(text, sink),
                Document::Value(value) => {
                    keep(&value, number == 1);
                    self.whole(value, sink)
                }
                Document::Bad(_) => Ok(()),
            };
            note(ran, summary, number, sink)?;
        }
    }

    /// The filter on all documents as one array.
    fn slurped(&self, summary: &mut Summary, sink: &mut Sink<'_>) -> ControlFlow<()> {
        let all: Val = std::iter::from_fn(|| self.documents.borrow_mut().next_value()).collect();
        note(self.whole(all, sink), summary, 1, sink)
    }

    fn text(&self, text: &[u8], sink: &mut Sink<'_>) -> Result<(), Stop> {
        if let Some(parts) = &self.program.parts
            && let Some(value) = document(text)
        {
            return self.program.lazily(value, &parts.plan.steps, self, sink);
        }
        match read::parse_single(text) {
            Ok(value) => self.whole(value, sink),
            Err(error) => {
                self.documents.borrow_mut().is_bad(error.to_string());
                Ok(())
            }
        }
    }

    fn whole(&self, value: Val, sink: &mut Sink<'_>) -> Result<(), Stop> {
        self.jq(&self.program.whole, value, &mut |value| emit(&value, sink))
    }

    fn jq(
        &self,
        filter: &Jq,
        value: Val,
        each: &mut dyn FnMut(Val) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut inputs = std::iter::from_fn(|| self.documents.borrow_mut().next_value());
        filter.run(value, &mut inputs, each)
    }
}

/// Enters how a document went; whether to go on to the next.
fn note(
    ran: Result<(), Stop>,
    summary: &mut Summary,
    document: u64,
    sink: &Sink<'_>,
) -> ControlFlow<()> {
    match ran {
        Ok(()) => ControlFlow::Continue(()),
        Err(Stop::Enough) => ControlFlow::Break(()),
        Err(Stop::Error(message)) => {
            summary.failed += 1;
            summary.failure.get_or_insert(Failure {
                document,
                after: sink.results,
                message,
            });
            ControlFlow::Continue(())
        }
    }
}

fn flow(walked: ControlFlow<Stop>) -> Result<(), Stop> {
    match walked {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(stop) => Err(stop),
    }
}

/// Keeps a value from being freed: that takes as long for a large document as
/// parsing it, and the end of the process does it for nothing.
fn keep(value: &Val, is_one: bool) {
    if is_one {
        std::mem::forget(value.clone());
    }
}

fn parsed(text: &str, depth: usize) -> Result<Val, Stop> {
    if too_deep(text.as_bytes(), depth).is_some() {
        let message = format!("the value nests deeper than {depth} levels");
        return Err(Stop::Error(message));
    }
    read::parse_single(text.as_bytes()).map_err(|error| Stop::Error(error.to_string()))
}

fn emit(value: &Val, sink: &mut Sink<'_>) -> Result<(), Stop> {
    let refused = |error| Stop::Error(cut(&error));
    let text = match sink.wants_text() {
        true => render(value, sink.raw).map_err(refused)?,
        // It fails on whichever page.
        false => check(value).map(|()| Vec::new()).map_err(refused)?,
    };
    match sink.result(matches!(value, Val::Null), || text) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stop::Enough),
    }
}

fn count(text: &str, sink: &mut Sink<'_>) -> Result<(), Stop> {
    match sink.result(text == "null", Vec::new) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stop::Enough),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_artifact::Layout;

    use super::*;
    use crate::protocol::Message;

    fn request(filter: &str, format: Format) -> Request {
        Request {
            filter: filter.to_owned(),
            raw: false,
            slurp: false,
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

    /// The results, and behind them what went wrong.
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

    /// A filter, a document, and what it gives.
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
            "Filter { message: \"closing bracket expected\", at: 3 }",
        ),
        (
            ".a | nope(1)",
            "1",
            "Filter { message: \"there is no nope with 1 arguments\", at: 5 }",
        ),
        (
            "include \"x\"; .",
            "1",
            "Filter { message: \"modules are not available\", at: 9 }",
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

    /// JSON as hostile tools write it: white space, escapes, keys that stand
    /// twice, numbers of any form.
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
                proptest::collection::vec(inner, 0..4)
                    .prop_map(|all| format!("[{}]", all.join(" ,"))),
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

    /// Filters that make what JSON has not.
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
            // A definition at the front leaves the filter whole.
            let whole = format!("def whole: .; {path}");
            prop_assert!(plan(&whole).is_none());
            let fails = |mut results: Vec<String>| {
                // Both fail at the same place; jaq's own words differ.
                let failed = results.pop_if(|last| last.starts_with("failed: "));
                (results, failed.is_some())
            };
            let lazy = fails(given(&request(&path, Format::Json), &json));
            let jaq = fails(given(&request(&whole, Format::Json), &json));
            prop_assert_eq!(lazy, jaq, "{} on {}", path, json);
        }
    }
}
