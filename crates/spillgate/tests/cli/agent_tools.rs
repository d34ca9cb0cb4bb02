//! Tests that the settings of tools in an agent's files take effect, for each kind of tool source.

use serde_json::{Value, json};

use super::agent_lab::{Lab, PROMPT, Step, trace};

/// Collects all operations of a tool in a trace, in their order.
fn calls<'a>(op: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
    if op["kind"] == "tool" && op["name"] == name {
        found.push(op);
    }
    for child in op["children"].as_array().into_iter().flatten() {
        calls(child, name, found);
    }
}

/// Runs the agent with a trace; there must be a report.
fn traced(lab: &Lab) -> Value {
    let output = lab.run(&["agent.ai", "find it", "--trace", "t.json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    trace(&lab.path("t.json"))
}

/// Returns the last tool result that the model was sent.
fn last_reply(lab: &Lab) -> String {
    let asked = lab.script.asked();
    let messages = asked.last().unwrap()["messages"]
        .as_array()
        .unwrap()
        .clone();
    let mut replies = messages.iter().filter(|message| message["role"] == "tool");
    replies.next_back().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn extraction_is_in_the_tree_and_in_the_account() {
    let extract = Step::Says(
        "<ai-agent-NONCE-FINAL format=\"text\">It says: line 500 of the log</ai-agent-NONCE-FINAL>",
    );
    let lab = Lab::of(vec![
        ("You are an internal extraction agent", vec![extract]),
        (
            "",
            vec![
                Step::Calls(vec![("log", json!({}))]),
                Step::Calls(vec![(
                    "tool_output",
                    json!({"handle": "HANDLE", "extract": "line 500"}),
                )]),
                Step::Reports("found"),
            ],
        ),
    ]);
    let trace = traced(&lab);
    assert!(
        last_reply(&lab).contains("STRATEGY:full-chunked"),
        "{}",
        last_reply(&lab)
    );
    let mut found = Vec::new();
    calls(&trace["root"], "tool_output", &mut found);
    let text = found[0].to_string();
    assert!(
        text.contains("full-chunked") && text.contains("map 1/1"),
        "{text}"
    );
    let models = trace["accounting"]["models"].as_array().unwrap();
    let parts: Vec<(&Value, &Value)> = models
        .iter()
        .map(|row| (&row["part"], &row["calls"]))
        .collect();
    assert_eq!(
        parts,
        [
            (&json!("own"), &json!(3)),
            (&json!("tool_output"), &json!(1))
        ]
    );
}

#[test]
fn a_real_server_is_asked_and_ends() {
    let lab = Lab::new(vec![
        Step::Calls(vec![
            ("Read", json!({"file": "text/log"})),
            (
                "Grep",
                json!({"file": "text/log", "regex": "E4217", "before": 0, "after": 0}),
            ),
        ]),
        Step::Reports("found"),
    ]);
    let text = lab.path("text");
    std::fs::create_dir(&text).unwrap();
    lab.write("text/log", &spillgate_testkit::log(3000));
    let mut config = lab.config("");
    let home = lab.path("");
    config["mcpServers"]["files"] = json!({
        "command": env!("CARGO_BIN_EXE_spillgate"), "args": ["fs-mcp", "--root", home, "--max-tokens", "20000"],
    });
    lab.write(".ai-agent.json", &config.to_string());
    lab.write("agent.ai", &PROMPT.replace("[lab]", "[files]"));
    let trace = traced(&lab);
    let mut found = Vec::new();
    calls(&trace["root"], "Read", &mut found);
    calls(&trace["root"], "Grep", &mut found);
    let decided: Vec<&Value> = found.iter().map(|op| &op["decided"]["as"]).collect();
    assert_eq!(decided, ["stored", "shown"]);
    assert!(
        last_reply(&lab).contains("disk quota exceeded"),
        "{}",
        last_reply(&lab)
    );
}

#[test]
fn pages_instead_of_extraction() {
    let lab = Lab::new(vec![
        Step::Calls(vec![("log", json!({}))]),
        Step::Calls(vec![(
            "get_continuation",
            json!({"tool_call_id": "call-0-0"}),
        )]),
        Step::Reports("found"),
    ]);
    lab.write(
        "agent.ai",
        &PROMPT.replace("tools:", "toolOutput: {profile: continuation}\ntools:"),
    );
    traced(&lab);
    let page = last_reply(&lab);
    assert!(
        page.contains("[truncated — showing 4000-8000/40893 chars."),
        "{page:.300}"
    );
}

#[test]
fn what_is_cut_where_nothing_is_stored() {
    let lab = Lab::new(vec![
        Step::Calls(vec![("log", json!({}))]),
        Step::Reports("found"),
    ]);
    let output = lab.run(&[
        "agent.ai",
        "find it",
        "--no-tool-output",
        "--tool-response-max-bytes",
        "500",
    ]);
    assert!(output.status.success());
    let text = last_reply(&lab);
    assert!(text.contains("TRUNCATED") && text.len() <= 500, "{text}");
}

#[test]
fn a_result_from_the_cache_gets_a_handle_of_its_own() {
    let lab = Lab::new(vec![
        Step::Calls(vec![("log", json!({}))]),
        Step::Calls(vec![("log", json!({}))]),
        Step::Reports("found"),
    ]);
    let mut config = lab.config("");
    config["cache"] = json!({"tools": {"lab/l*": "10m"}, "dir": "kept"});
    lab.write(".ai-agent.json", &config.to_string());
    let trace = traced(&lab);
    let mut found = Vec::new();
    calls(&trace["root"], "log", &mut found);
    assert_eq!(
        (found.len(), &found[0]["cached"], &found[1]["cached"]),
        (2, &Value::Null, &json!(true))
    );
    let handle = |op: &Value| op["decided"]["handle"].as_str().unwrap().to_owned();
    assert_ne!(handle(found[0]), handle(found[1]));
    assert!(lab.path("kept").is_dir());
}

#[test]
fn a_call_that_takes_too_long_is_given_up() {
    let lab = Lab::new(vec![
        Step::Calls(vec![("slow", json!({}))]),
        Step::Reports("found"),
    ]);
    lab.write(
        "agent.ai",
        &PROMPT.replace("tools:", "toolTimeout: 1s\ntools:"),
    );
    let trace = traced(&lab);
    let mut found = Vec::new();
    calls(&trace["root"], "slow", &mut found);
    assert_eq!(found[0]["decided"]["as"], "failed");
    let told = "The tool 'slow' of 'lab' gave nothing within 1 s; the call was cancelled.";
    assert_eq!(last_reply(&lab), told);
}

#[test]
fn requests_of_http_are_tools() {
    let lab = Lab::new(vec![
        Step::Calls(vec![("weather", json!({"city": "New/York"}))]),
        Step::Calls(vec![("at", json!({"id": "7"}))]),
        Step::Reports("found"),
    ]);
    let base = lab.script.url().replace("/v1", "");
    let mut config = lab.config("");
    config["restTools"] = json!({"weather": {
        "description": "the weather", "url": format!("{base}/weather/${{parameters.city}}"),
        "parametersSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }});
    config["openapiSpecs"] = json!({"places": {"spec": "api.yaml", "baseUrl": base}});
    lab.write(".ai-agent.json", &config.to_string());
    lab.write("api.yaml", "openapi: 3.1.0\ninfo: {title: places, version: '1'}\npaths:\n  /places/{id}:\n    get:\n      operationId: at\n      \
        parameters: [{name: id, in: path, required: true, schema: {type: string}}]\n      responses: {'200': {description: it}}\n");
    lab.write(
        "agent.ai",
        &PROMPT.replace("[lab]", "[lab/note, weather, places]"),
    );
    let trace = traced(&lab);
    let mut found = Vec::new();
    calls(&trace["root"], "weather", &mut found);
    assert_eq!(found[0]["response_preview"], "rain in /weather/New%2FYork");
    assert_eq!(last_reply(&lab), "rain in /places/7");
    let tools = lab.script.asked()[0]["tools"].clone();
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "note",
            "weather",
            "at",
            "agent__final_report",
            "agent__task_status",
            "agent__batch"
        ]
    );
}
