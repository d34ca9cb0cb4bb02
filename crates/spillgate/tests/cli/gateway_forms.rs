//! Tests of links that the gateway serves and of arguments by reference, with frames as a client
//! sends them.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_testkit::records;

use super::session::Session;
use super::tool::Tool;

/// A server with two tools: one returns an audio block of 6,000 bytes, the other appends the
/// request to a file. Its answers have the ids of the requests.
fn server(tool: &Tool) -> String {
    let sent = tool.home().join("sent");
    let sent = sent.display();
    format!(
        r#"
while IFS= read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%,*}}
  say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
  case "$line" in
    *initialize*) say '{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}}}}';;
    *tools/list*) say '{{"tools":[{{"name":"write_file","description":"Writes.","inputSchema":{{"type":"object","properties":{{"text":{{"type":"string"}},"ids":{{"type":"array"}}}}}}}},{{"name":"speak"}}]}}';;
    *write_file*) printf '%s\n' "$line" >>'{sent}'; say '{{"content":[]}}';;
    *speak*) data=$(head -c 6000 /dev/zero | tr '\000' x | base64 | tr -d '\n'); say '{{"content":[{{"type":"text","text":"here"}},{{"type":"audio","mimeType":"audio/x","data":"'$data'"}}]}}';;
    *) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id";;
  esac
done"#
    )
}

fn asked(session: &mut Session, id: u64, method: &str, params: &Value) -> Value {
    session.send(id, method, params);
    session.receive()
}

#[test]
fn a_sound_is_served_as_it_was() {
    let tool = Tool::new();
    let mut session = Session::start(&tool, &[], &server(&tool));
    let greeting = asked(&mut session, 1, "initialize", &json!({}));
    assert_eq!(
        greeting["result"]["capabilities"],
        json!({"resources": {}, "tools": {}})
    );
    let call = json!({"name": "speak", "arguments": {}});
    let result = asked(&mut session, 2, "tools/call", &call)["result"].clone();
    assert_eq!(result["content"][0]["text"], "here");
    let link = &result["content"][1];
    assert_eq!(
        (&link["type"], &link["size"]),
        (&json!("resource_link"), &json!(6000))
    );
    let uri = link["uri"].as_str().unwrap();
    let served = asked(&mut session, 3, "resources/read", &json!({"uri": uri}));
    let contents = &served["result"]["contents"][0];
    // "xxx" is "eHh4" in base64.
    assert_eq!(contents["blob"], "eHh4".repeat(2000));
    assert_eq!(
        (&contents["mimeType"], &contents["uri"]),
        (&json!("audio/x"), &json!(uri))
    );
    let list = asked(&mut session, 4, "resources/list", &json!({}));
    assert_eq!(list["result"], json!({"resources": []}));
    let wrong = uri.replace("/content/1", "/content/7");
    let told = asked(&mut session, 5, "resources/read", &json!({"uri": wrong}));
    assert_eq!(told["error"]["code"], -32002);
    let theirs = asked(
        &mut session,
        6,
        "resources/read",
        &json!({"uri": "file:///x"}),
    );
    assert_eq!(theirs["error"]["code"], -32601);
    session.end();
    let handle = uri.strip_prefix("spillgate://artifact/").unwrap();
    let handle = handle.strip_suffix("/content/1").unwrap();
    let raw = tool.run(&["cat", "--raw", handle], b"").stdout;
    let raw: Value = serde_json::from_slice(&raw).unwrap();
    assert_eq!(raw["content"][1]["data"], contents["blob"]);
}

/// Calls the tool with these arguments; returns `sent` or the error.
fn written(session: &mut Session, arguments: &Value) -> String {
    let params = json!({"name": "write_file", "arguments": arguments});
    let result = asked(session, 3, "tools/call", &params)["result"].clone();
    let text = result["content"][0]["text"].as_str().unwrap_or("sent");
    let fault = if result["isError"] == true {
        "error: "
    } else {
        ""
    };
    format!("{fault}{text}")
}

#[test]
fn arguments_by_reference_reach_the_server() {
    let tool = Tool::new();
    let handle = tool.put(records(5000).as_bytes());
    let config = tool.home().join("c.toml");
    std::fs::write(&config, "by_reference = [\"write_*\"]\n").unwrap();
    let options = ["--config", config.to_str().unwrap()];
    let mut session = Session::start(&tool, &options, &server(&tool));
    asked(&mut session, 1, "initialize", &json!({}));
    let list = asked(&mut session, 2, "tools/list", &json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    assert_snapshot!(tools[0]["description"].as_str().unwrap(), @r#"
    Writes.
    Any value may be {"$spill":HANDLE} for a stored output, with "lines":"A-B", "bytes":"A..B" or "query":JQ for a part.
    "#);
    assert_eq!(tools[1].get("description"), None);
    let mut call = |arguments: Value| written(&mut session, &arguments);
    let answers = [
        call(json!({"text": {"$spill": handle, "query": ".items[4711].name"}})),
        call(json!({"ids": {"$spill": handle, "query": ".items[:3][].id"}})),
        // Values of the wrong type: an object and a text instead of a text and a list.
        call(json!({"text": {"$spill": handle, "query": ".items[7] | {id, price}"}})),
        call(json!({"ids": {"$spill": handle, "query": "[1, 2] | tojson"}})),
        call(json!({"text": {"$spill": handle, "lines": "1-2"}, "ids": []})),
        call(json!({"text": {"$spill": handle, "query": ".items[].nmae"}})),
        call(json!({"text": {"$spill": handle, "query": "empty"}})),
        call(json!({"text": {"$spill": handle, "query": ".items["}})),
        call(json!({"text": {"$spill": handle, "query": "[range(300000)]"}})),
        call(json!({"ids": {"$spill": handle, "query": ".items[0].name"}})),
    ];
    session.end();
    let sent = std::fs::read_to_string(tool.home().join("sent")).unwrap();
    let sent = sent.lines().map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        frame["params"]["arguments"].to_string()
    });
    let sent: Vec<String> = sent.collect();
    assert_snapshot!(format!("{}\n\n{}", answers.join("\n"), sent.join("\n")), @r#"
    sent
    sent
    sent
    sent
    sent
    error: nothing was sent: `/text`: the filter gives nothing: .items[] has no .nmae; did you mean .name? It has "name", "id", "price", "tags", "stock"
    error: nothing was sent: `/text`: the filter gives nothing
    error: nothing was sent: `/text`: the filter is not valid jq: closing bracket expected
      .items[
             ^
    try: .items[]; filters are jq: .items[] | select(.price > 5) | .name
    error: nothing was sent: `/text`: the filter gives more than the 1048576 bytes that an argument by reference may have: let it give less
    error: nothing was sent: the arguments with the references put in do not fit the tool's inputSchema: `/ids`: value is not of type "array"

    {"text":"item 4711"}
    {"ids":[0,1,2]}
    {"text":"{\"id\":7,\"price\":21.50}"}
    {"ids":[1,2]}
    {"ids":[],"text":"{\n  \"total\": 5000,\n"}
    "#);
}
