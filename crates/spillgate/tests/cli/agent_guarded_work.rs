//! Tests that a model that follows the advice in each refusal reaches its goal with commands and
//! web pages, and that no oversized result is lost.

use insta::assert_snapshot;
use serde_json::json;

use super::agent_guarded::{Call, PROMPT, lab, number, talked, told, where_told};
use super::agent_lab::Step;

/// A command with a timeout of this many seconds.
fn run(command: &str, seconds: u64) -> Call {
    let arguments = json!({"command": command, "timeout": seconds});
    ("execute_shell", arguments)
}

fn runs(command: &str, seconds: u64) -> Step {
    Step::Calls(vec![run(command, seconds)])
}

fn commanding() -> Vec<Step> {
    vec![
        runs("seq 1 100000", 60),
        Step::Follows(|text| {
            let way = told(text, "pipe output through head/(tail)/grep")?;
            Some(run(&format!("seq 1 100000 | {way} -n 2"), 60))
        }),
        Step::Follows(|text| {
            told(text, "(100000)")?;
            Some(run("sleep 2; echo slept", 1))
        }),
        Step::Follows(|text| {
            let most = number(text, r"set timeout to more \(up to (\d+)\)")?;
            Some(run("sleep 2; echo slept", most))
        }),
        Step::Follows(|text| {
            told(text, "(slept)")?;
            Some(run("echo begun; sleep 600", 1))
        }),
        Step::Follows(|text| {
            let aside = told(text, r"in a file: \(command\) (> out.log 2>&1 &)")?;
            Some(run(
                &format!("(echo begun; sleep 1; echo done) {aside}"),
                60,
            ))
        }),
        Step::Follows(|text| {
            told(text, "(executed successfully)")?;
            Some(run("until grep -s done out.log; do sleep 0.1; done", 60))
        }),
        Step::Follows(|text| {
            let image = json!({"file_path": "logo.png"});
            where_told(text, "done", "read_file", image)
        }),
        Step::Follows(|text| {
            let tool = told(
                text,
                "Use (execute_shell) with a program that knows such data",
            )?;
            assert_eq!(tool, "execute_shell");
            Some(run("wc -c < logo.png", 60))
        }),
        Step::Reports("worked"),
    ]
}

#[test]
fn a_command_says_less_or_gets_more_time() {
    let lab = lab(json!({"onOverflow": "reject"}), commanding());
    assert_snapshot!(talked(&lab), @r#"
    user: find it
    assistant: execute_shell {"command":"seq 1 100000","timeout":60}
    tool: Error: Command output (~147223 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.
    assistant: execute_shell {"command":"seq 1 100000 | tail -n 2","timeout":60}
    tool: 99999
    100000

    assistant: execute_shell {"command":"sleep 2; echo slept","timeout":1}
    tool: Error: Command timed out after 1 s and was stopped with everything it had started. Please set timeout to more (up to 600), or run it in the background with its output in a file: (command) > out.log 2>&1 &

    It had printed nothing.
    assistant: execute_shell {"command":"sleep 2; echo slept","timeout":600}
    tool: slept

    assistant: execute_shell {"command":"echo begun; sleep 600","timeout":1}
    tool: Error: Command timed out after 1 s and was stopped with everything it had started. Please set timeout to more (up to 600), or run it in the background with its output in a file: (command) > out.log 2>&1 &

    Its output until then:
    begun
    assistant: execute_shell {"command":"(echo begun; sleep 1; echo done) > out.log 2>&1 &","timeout":60}
    tool: Command executed successfully (no output)
    assistant: execute_shell {"command":"until grep -s done out.log; do sleep 0.1; done","timeout":60}
    tool: done

    assistant: read_file {"file_path":"logo.png"}
    tool: Error: 'logo.png' is not a text file (PNG image, 16 bytes). Use execute_shell with a program that knows such data, or go on without it.
    assistant: execute_shell {"command":"wc -c < logo.png","timeout":60}
    tool: 16
    "#);
}

#[test]
fn what_a_command_said_too_much_is_stored_whole() {
    let steps = vec![
        runs("seq 1 100000", 60),
        Step::Follows(|text| {
            let handle = told(text, r#"tool_output\(handle = "([^"]+)""#)?;
            let question =
                json!({"handle": handle, "extract": "the last number", "mode": "truncate"});
            Some(("tool_output", question))
        }),
        Step::Reports("looked"),
    ];
    let lab = lab(json!({}), steps);
    let said = talked(&lab);
    assert_snapshot!(said, @r#"
    user: find it
    assistant: execute_shell {"command":"seq 1 100000","timeout":60}
    tool: Tool output is too large (588895 bytes, 100001 lines, 299704 tokens).
    Call tool_output(handle = "HANDLE", extract = "what to extract").
    Provide precise and detailed instructions in `extract` about what you are looking for.
    assistant: tool_output {"extract":"the last number","handle":"HANDLE","mode":"truncate"}
    tool: 1038 lines: ABSTRACT FROM TOOL OUTPUT execute_shell WITH HANDLE HANDLE, STRATEGY:truncate:
    "#);
    let asked = lab.script.asked();
    let last = asked.last().unwrap()["messages"].to_string();
    assert!(last.contains("99999\\n100000"), "its end is there, too");
}

#[test]
fn a_command_is_run_each_time() {
    let again = || runs("echo line >> lines; wc -l < lines", 60);
    let lab = lab(json!({}), vec![again(), again(), Step::Reports("ran")]);
    lab.write("agent.ai", &PROMPT.replace("tools:", "cache: 10m\ntools:"));
    let said = talked(&lab);
    assert!(
        said.contains("tool: 1\n") && said.contains("tool: 2\n"),
        "{said}"
    );
}

#[test]
fn the_time_that_a_person_set_is_over_what_a_model_asks_for() {
    let steps = vec![runs("echo begun; sleep 600", 600), Step::Reports("late")];
    let lab = lab(json!({}), steps);
    lab.write(
        "agent.ai",
        &PROMPT.replace("tools:", "toolTimeout: 1s\ntools:"),
    );
    assert_snapshot!(talked(&lab), @r#"
    user: find it
    assistant: execute_shell {"command":"echo begun; sleep 600","timeout":600}
    tool: Error: Command timed out after 1 s and was stopped with everything it had started. Please run it in the background with its output in a file: (command) > out.log 2>&1 &

    [timeout is in seconds and 1 at most; it was 600, 1 was taken]

    Its output until then:
    begun
    "#);
}

#[test]
fn a_page_is_saved_and_searched() {
    let steps = vec![
        Step::Calls(vec![("web_fetch", json!({"url": "http://BASE/large"}))]),
        Step::Follows(|text| {
            let parameter = told(text, "use (save_to) parameter")?;
            let mut arguments = json!({"url": "http://BASE/large"});
            arguments[parameter] = json!("pages/large.md");
            Some(("web_fetch", arguments))
        }),
        Step::Follows(|text| {
            let path = told(text, r"(pages/large\.md)")?;
            let search = json!({"pattern": "paragraph 4999:", "path": path});
            where_told(text, "grep_content", "grep_content", search)
        }),
        Step::Follows(|text| {
            let private = json!({"url": "http://127.0.0.1:1/"});
            where_told(text, "rain is expected", "web_fetch", private)
        }),
        Step::Follows(|text| {
            let search = json!({"query": "rain"});
            where_told(
                text,
                "private addresses are not fetched",
                "web_search",
                search,
            )
        }),
        Step::Follows(|text| {
            let report = json!({"report_content": "fetched, without a search"});
            where_told(text, "web_search", "agent__final_report", report)
        }),
    ];
    let allowed = json!({"onOverflow": "reject", "web": {"allowPrivate": ["BASE"]}});
    let lab = lab(allowed, steps);
    assert_snapshot!(talked(&lab), @r#"
    user: find it
    assistant: web_fetch {"url":"http://BASE/large"}
    tool: Error: Page content (~58488 tokens) exceeds maximum allowed tokens (25000). Please use save_to parameter to save content to a file, then use grep_content to search it.
    assistant: web_fetch {"save_to":"pages/large.md","url":"http://BASE/large"}
    tool: Saved [http://BASE/large, 200, text/html] to 'pages/large.md' as Markdown: 233892 bytes, 9999 lines, ~58473 tokens.
    Title: Large
    Use grep_content to search it, or read_file with offset and limit to read portions of it.

    assistant: grep_content {"path":"pages/large.md","pattern":"paragraph 4999:"}
    tool: Found 1 matching line in 1 file
    pages/large.md:9997:paragraph 4999: rain is expected in the north

    assistant: web_fetch {"url":"http://127.0.0.1:1/"}
    tool: Error: 127.0.0.1 is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    assistant: web_search {"query":"rain"}
    tool: There is no tool 'web_search'; there are read_file, grep_content, glob_files, execute_shell, web_fetch, agent__final_report, agent__task_status, agent__batch.
    "#);
}
