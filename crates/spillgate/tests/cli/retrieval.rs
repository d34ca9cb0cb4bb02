//! Tests of reading and searching stored results.

use serde_json::Value;
use spillgate_testkit::{log, records};

use crate::tool::Tool;

/// Returns the pages of `read` with these arguments, following `next` from page to page.
fn pages(tool: &Tool, handle: &str, first: &[&str], tokens: &str) -> Vec<String> {
    let mut args: Vec<String> = first.iter().map(|&arg| arg.to_owned()).collect();
    let mut pages = Vec::new();
    loop {
        let mut all = vec!["read".to_owned(), handle.to_owned()];
        all.extend(args);
        all.extend(["--max-tokens".to_owned(), tokens.to_owned()]);
        let page = tool.json(&all, b"");
        pages.push(page["text"].as_str().unwrap().to_owned());
        let Value::Object(next) = &page["next"] else {
            return pages;
        };
        let flag = |(name, value): (&String, &Value)| {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            [format!("--{name}"), value]
        };
        args = next.iter().flat_map(flag).collect();
    }
}

#[test]
fn the_middle_of_a_line_of_8_mb_pages_to_its_end() {
    let tool = Tool::new();
    let line: String = (0..1_200_000).map(|i| format!("{i:07}")).collect();
    let handle = tool.put(line.as_bytes());
    let by_byte = pages(&tool, &handle, &["--bytes", "8000000.."], "20000");
    assert!(by_byte.len() > 5);
    assert_eq!(by_byte.concat(), line[8_000_000..]);
    let by_line = pages(&tool, &handle, &["--start", "4100"], "30000");
    assert!(by_line.len() > 2 && line.ends_with(&by_line.concat()));
    assert!(by_line.concat().len() > 100_000);
}

#[test]
fn lines_from_either_end() {
    let tool = Tool::new();
    let log = log(5000);
    let lines: Vec<&str> = log.lines().collect();
    let handle = tool.put(log.as_bytes());
    let page = tool.json(&["read", &handle, "--start", "4000", "--lines", "3"], b"");
    assert_eq!(page["text"], format!("{}\n", lines[3999..4002].join("\n")));
    assert_eq!(page["lines"], serde_json::json!([4000, 4002]));
    assert_eq!(page["total_lines"], 5000);
    assert!(page["next"].is_null());
    let plain = tool.run(&["read", &handle, "--tail", "--lines", "2"], b"");
    assert_eq!(
        plain.stdout,
        format!("{}\n", lines[4998..].join("\n")).into_bytes()
    );
    assert_eq!(
        pages(&tool, &handle, &["--start", "1"], "3000").concat(),
        log
    );
}

#[test]
fn numbered_lines_are_view_lines() {
    let tool = Tool::new();
    let text = format!("{}\nshort\n", "word ".repeat(450));
    let handle = tool.put(text.repeat(40).as_bytes());
    let args = ["read", &handle, "-n", "--start", "2", "--lines", "4"];
    let shown = String::from_utf8(tool.run(&args, b"").stdout).unwrap();
    let numbers: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(numbers, ["2", "3", "4", "5"]);
    assert!(shown.lines().nth(2).unwrap().ends_with("     4 short"));
}

#[test]
fn matches_with_context_and_pages() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    let page = tool.json(&["grep", &handle, "e4217", "-i", "-B", "1", "-A", "1"], b"");
    assert_eq!(page["total"], 1);
    assert_eq!(page["matches"][0]["line"], 501);
    assert_eq!(page["matches"][0]["before"][0]["line"], 500);
    assert_eq!(page["matches"][0]["after"][0]["line"], 502);
    assert_eq!(tool.json(&["grep", &handle, "e4217"], b"")["total"], 0);
    let (mut start, mut seen) = (1, 0);
    loop {
        let start_text = start.to_string();
        let args = [
            "grep",
            &handle,
            "worker-3 ",
            "--start",
            &start_text,
            "--max-matches",
            "100",
        ];
        let page = tool.json(&args, b"");
        assert_eq!(page["total"], 295);
        seen += page["matches"].as_array().unwrap().len();
        match page["next"]["start"].as_u64() {
            Some(next) => start = next,
            None => break,
        }
    }
    assert_eq!(seen, 295);
}

#[test]
fn a_view_line_leads_back_to_its_raw_bytes() {
    let tool = Tool::new();
    let json = records(2000);
    let handle = tool.put(json.as_bytes());
    let found = tool.json(&["grep", &handle, "item 1234\""], b"");
    let line = found["matches"][0]["line"].to_string();
    assert_eq!(
        found["matches"][0]["text"],
        "      \"name\": \"item 1234\","
    );
    let shown = tool.json(&["show", &handle, "--line", &line], b"");
    let at = |n: usize| usize::try_from(shown["line"]["raw_bytes"][n].as_u64().unwrap()).unwrap();
    assert_eq!(&json[at(0)..at(1)], "\"name\":\"item 1234\",");
}

#[test]
fn a_dead_handle_says_why() {
    let tool = Tool::new();
    let handle = tool.put(log(5000).as_bytes());
    assert!(tool.run(&["rm", &handle], b"").status.success());
    let (error, code) = tool.error(&["read", &handle]);
    assert_eq!(
        (code, &error["kind"], &error["fault"]),
        (1, &"not_found".into(), &"caller".into())
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("It was removed on 2"), "{message}");
    assert!(
        message.contains("call stdin again to recreate it."),
        "{message}"
    );
}

#[test]
fn options_of_a_search_may_stand_behind_its_words() {
    let tool = Tool::new();
    let handle = tool.put(log(3000).as_bytes());
    let args = [
        "search",
        &handle,
        "disk",
        "quota",
        "--max-tokens",
        "60",
        "--json",
    ];
    let page = tool.run(&args, b"").stdout;
    let page: serde_json::Value = serde_json::from_slice(&page).unwrap();
    assert_eq!(page["passages"][0]["lines"], serde_json::json!([501, 501]));
    assert!(page["tokens"].as_u64().unwrap() <= 60);
    assert_eq!(page["absent"], serde_json::json!([]));
    let absent = tool.json(&["search", &handle, "code E9999"], b"");
    assert_eq!(absent["absent"], serde_json::json!(["E9999"]));
    // Words that begin with a dash stand after `--`; an unknown option is an error.
    assert_eq!(
        tool.error(&["search", &handle, "quota", "--tokens", "7"]).1,
        2
    );
    let dashed = tool.run(&["search", &handle, "--", "--quota"], b"");
    assert!(dashed.status.success());
    let (error, code) = tool.error(&["search", &handle, "?!"]);
    assert_eq!(
        (&error["kind"], code),
        (&serde_json::json!("empty_question"), 1)
    );
}
