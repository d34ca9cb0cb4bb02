//! Tests of lists of tools: a search in their place, and what a long one costs.

use insta::assert_snapshot;
use serde_json::json;
use spillgate_testkit::log;

use super::session::{LARGE, Session, names};
use super::tool::Tool;

#[test]
fn a_list_may_be_a_search() {
    let tool = Tool::new();
    let file = tool.home().join("s.toml");
    std::fs::write(
        &file,
        "tool_list = \"search\"\n\n[servers.mine]\ntool_list = \"all\"\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let mut all = Vec::new();
    for (options, variable) in [
        (vec![], ""),
        (vec!["--tool-list", "search"], ""),
        (vec![], "search"),
        (vec!["--config", file], ""),
        (vec!["--config", file, "--name", "mine"], ""),
        (
            vec!["--config", file, "--name", "mine", "--tool-list", "search"],
            "",
        ),
    ] {
        let args = [vec!["mcp"], options.clone(), vec!["--", "sh", "-c", LARGE]].concat();
        let mut command = tool.command(&args);
        command.env("SPILLGATE_TOOL_LIST", variable);
        let mut session = Session::of(command);
        session.send(1, "initialize", &json!({}));
        session.receive();
        session.send(2, "tools/list", &json!({}));
        let list = session.receive();
        let first = names(&list)[0].to_owned();
        let last = (*names(&list).last().unwrap()).to_owned();
        session.end();
        let options = options.join(" ").replace(file, "FILE");
        all.push(format!("{options} [{variable}]: {first} … {last}"));
    }
    let wrong = tool.run(&["mcp", "--tool-list", "none", "--", "true"], b"");
    all.push(String::from_utf8(wrong.stderr).unwrap());
    assert_snapshot!(all.join("\n"), @"
     []: big … spillgate_search
    --tool-list search []: spillgate_find_tools … spillgate_search
     [search]: spillgate_find_tools … spillgate_search
    --config FILE []: spillgate_find_tools … spillgate_search
    --config FILE --name mine []: big … spillgate_search
    --config FILE --name mine --tool-list search []: spillgate_find_tools … spillgate_search
    error: invalid value 'none' for '--tool-list <LIST>': is none of all, search, found
    hint: `spillgate help mcp` shows how it is used
    ");
}

#[test]
fn a_long_list_is_reported_with_its_cost() {
    let tool = Tool::new();
    // Without a store there is no account.
    tool.put(log(600).as_bytes());
    for (options, budget) in [
        (["--name", "short"].as_slice(), "10000"),
        (&["--name", "long"], "3"),
        (&["--name", "searched", "--tool-list", "search"], "10000"),
    ] {
        let args = [&["mcp"], options, &["--", "sh", "-c", LARGE]].concat();
        let mut command = tool.command(&args);
        command.env("SPILLGATE_TOOL_LIST_BUDGET", budget);
        let mut session = Session::of(command);
        session.send(1, "initialize", &json!({}));
        session.receive();
        session.send(2, "tools/list", &json!({}));
        session.receive();
        session.end();
    }
    let mut stats = tool.command(&["stats"]);
    stats.env("SPILLGATE_TOOL_LIST_BUDGET", "3");
    let text = String::from_utf8(stats.output().unwrap().stdout).unwrap();
    let (_, lists) = text.split_once("TOOL LISTS").unwrap();
    assert_snapshot!(lists.trim_end(), @r#"
    , IN EVERY REQUEST OF A MODEL:
    long: 1 tools, 5 tokens, over the budget of 3; tool_list = "search" lists some 600
    searched: 1 tools, 0 of 5 tokens are listed, the rest is found by a search
    "#);
}
