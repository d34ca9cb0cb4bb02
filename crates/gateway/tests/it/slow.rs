//! Tests of servers that are silent, slow, dead or noisy while another server works.
//!
//! The clock is paused, so that each wait is measured exactly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_gateway::{Prefix, Several};
use tokio::time::Instant;

use crate::fake::{Client, Servers, after, raw, stuck, the_end};

/// A server with one tool, which answers after `seconds` seconds. If `modern` is true, it supports
/// `server/discover` and not `initialize`.
fn server(tool: &'static str, seconds: u64, modern: bool) -> impl Fn(&Value) -> Vec<Value> {
    move |frame| {
        let Some(id) = frame.get("id") else {
            return vec![];
        };
        let answer = |result: Value| {
            let frame = json!({"jsonrpc": "2.0", "id": id, "result": result});
            vec![after(seconds, &frame)]
        };
        match frame["method"].as_str() {
            Some("initialize") if !modern => answer(
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "instructions": format!("use {tool}")}),
            ),
            Some("server/discover") if modern => answer(
                json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
            ),
            Some("tools/list") => answer(json!({"tools": [{"name": tool}]})),
            Some("tools/call") => answer(json!({"content": []})),
            _ => vec![
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
            ],
        }
    }
}

fn of_today(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// Returns the response to a request, and how many seconds it took. Other messages are added to
/// `told`.
async fn ask(
    client: &mut Client,
    method: &str,
    params: &Value,
    told: &mut Vec<String>,
) -> (Value, u64) {
    let start = Instant::now();
    client
        .send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
        .await;
    loop {
        let frame = client.next().await;
        if frame["id"] == method {
            return (frame, start.elapsed().as_secs());
        }
        told.push(frame.to_string());
    }
}

fn tools(list: &Value) -> String {
    let tools = list["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    let theirs = names.filter(|name| !name.starts_with("spillgate_"));
    theirs.collect::<Vec<_>>().join(" ")
}

async fn greet(client: &mut Client, told: &mut Vec<String>) -> (Value, u64) {
    let params = json!({"protocolVersion": "2025-11-25"});
    let greeted = ask(client, "initialize", &params, told).await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    greeted
}

/// A server with two pages of tools that fails from the second request on: it answers the request
/// for the given page with an error of this code.
fn failing(code: i64, page: usize) -> impl Fn(&Value) -> Vec<Value> {
    let times = std::sync::Mutex::new([0; 2]);
    let others = server("old", 0, false);
    move |frame| {
        if frame["method"] != "tools/list" {
            return others(frame);
        }
        let at = usize::from(frame["params"]["cursor"] == "2");
        let mut times = times.lock().unwrap();
        times[at] += 1;
        let id = &frame["id"];
        if at == page && times[at] > 1 {
            let error = json!({"code": code, "message": "no"});
            return vec![json!({"jsonrpc": "2.0", "id": id, "error": error})];
        }
        let result = match at {
            0 => json!({"tools": [{"name": "one"}], "nextCursor": "2"}),
            _ => json!({"tools": [{"name": "two"}]}),
        };
        vec![json!({"jsonrpc": "2.0", "id": id, "result": result})]
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_place_of_a_list_does_not_empty_it() {
    for (code, page, want) in [
        (-32603, 0, "one two work"),
        (-32603, 1, "one two work"),
        // `-32601` (method not found): the server no longer offers this list.
        (-32601, 0, "work"),
    ] {
        let servers = Servers::default()
            .with("failing", failing(code, page))
            .with("good", server("work", 0, false));
        let mut client = Client::of(servers, |server| server);
        let mut told = Vec::new();
        greet(&mut client, &mut told).await;
        let (list, _) = ask(&mut client, "tools/list", &json!({}), &mut told).await;
        assert_eq!(tools(&list), "one two work");
        let (list, _) = ask(&mut client, "tools/list", &json!({}), &mut told).await;
        assert_eq!(tools(&list), want, "{code} {page} {told:?}");
    }
}

type Bad = Box<dyn Fn(&Value) -> Vec<Value> + Send + Sync>;

fn bad() -> [(&'static str, Bad); 4] {
    let noisy = server("noisy", 0, false);
    [
        ("silent", Box::new(|_: &Value| vec![])),
        ("reads nothing", Box::new(|_: &Value| vec![stuck()])),
        ("dead", Box::new(|_: &Value| vec![the_end()])),
        (
            "noisy",
            Box::new(move |frame: &Value| {
                let mut all = vec![
                    raw("Starting server..."),
                    raw("{bad json"),
                    raw("\"noise\""),
                ];
                all.extend(noisy(frame));
                all
            }),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_bad_server_holds_up_nobody() {
    let mut table = Vec::new();
    for (name, bad) in bad() {
        let servers = Servers::default()
            .with("bad", bad)
            .with("good", server("work", 0, false));
        let mut client = Client::of(servers, |server| server);
        let mut told = Vec::new();
        let (greeting, greeted) = greet(&mut client, &mut told).await;
        for kind in ["tools", "prompts", "resources"] {
            let declared = &greeting["result"]["capabilities"][kind]["listChanged"];
            assert_eq!(*declared, true, "{name} {kind}: {greeting}");
        }
        let (list, listed) = ask(&mut client, "tools/list", &json!({}), &mut told).await;
        let (_, again) = ask(&mut client, "tools/list", &json!({}), &mut told).await;
        let call = json!({"name": "work"});
        let (answer, called) = ask(&mut client, "tools/call", &call, &mut told).await;
        assert!(answer["result"].is_object(), "{name}: {answer}");
        let note = greeting["result"]["instructions"].as_str().unwrap();
        let note = note.lines().find(|line| line.starts_with("[spillgate]"));
        let figures = client.hub().metrics().text();
        let mut figures = figures.lines();
        let missing = figures.find(|line| line.starts_with("spillgate_server_unavailable{"));
        table.push(format!(
            "{name}: {greeted} {listed} {again} {called} s: {}\n  {note:?}\n  {told:?}\n  {missing:?}",
            tools(&list)
        ));
        assert!(told.iter().all(|frame| !frame.contains("raw")), "{told:?}");
    }
    assert_snapshot!(table.join("\n"), @r#"
    silent: 3 0 0 0 s: work
      Some("[spillgate] Not available yet: `bad` (has not answered yet). What they offer is listed once they answer.")
      ["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"the server `bad` is not available: it has not answered yet; the other servers work, and this one is added once it answers\",\"level\":\"warning\",\"logger\":\"spillgate\"}}"]
      Some("spillgate_server_unavailable{server=\"bad\"} 1")
    reads nothing: 3 0 0 0 s: work
      Some("[spillgate] Not available yet: `bad` (has not answered yet). What they offer is listed once they answer.")
      ["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"the server `bad` is not available: it has not answered yet; the other servers work, and this one is added once it answers\",\"level\":\"warning\",\"logger\":\"spillgate\"}}"]
      Some("spillgate_server_unavailable{server=\"bad\"} 1")
    dead: 0 0 0 0 s: work
      Some("[spillgate] Not available yet: `bad` (exited with status 7). What they offer is listed once they answer.")
      ["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"the server `bad` is not available: it exited with status 7; the other servers work, and this one is added once it answers\",\"level\":\"warning\",\"logger\":\"spillgate\"}}"]
      Some("spillgate_server_unavailable{server=\"bad\"} 1")
    noisy: 0 0 0 0 s: noisy work
      None
      []
      None
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_late_server_joins_and_is_known_the_next_time() {
    let servers = Servers::default()
        .with("good", server("work", 0, false))
        .with("late", server("slow", 10, false));
    let mut client = Client::of(servers, |server| server);
    let mut told = Vec::new();
    let (greeting, greeted) = greet(&mut client, &mut told).await;
    assert!(!greeting.to_string().contains("use slow"), "{greeting}");
    let (list, listed) = ask(&mut client, "tools/list", &json!({}), &mut told).await;
    assert_eq!((greeted, listed, &*tools(&list)), (3, 0, "work"));
    let changed = loop {
        let frame = client.next().await;
        if frame["method"] != "notifications/message" {
            break frame;
        }
    };
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    let late = client.sent();
    let late: Vec<&str> = late
        .lines()
        .filter(|line| line.starts_with("late"))
        .collect();
    let initialized = late
        .iter()
        .filter(|line| line.contains("initialized"))
        .count();
    assert_eq!(initialized, 1, "{late:?}");
    let (list, listed) = ask(&mut client, "tools/list", &json!({}), &mut told).await;
    // The server is running, but its list takes longer than any client waits.
    assert_eq!((listed, &*tools(&list)), (3, "work slow"));
    let call = json!({"name": "slow"});
    let (answer, called) = ask(&mut client, "tools/call", &call, &mut told).await;
    assert!(
        answer["result"].is_object() && called == 10,
        "{called} {answer}"
    );

    let mut second = client.second();
    let (greeting, greeted) = greet(&mut second, &mut told).await;
    assert!(greeting.to_string().contains("use slow"), "{greeting}");
    let (list, listed) = ask(&mut second, "tools/list", &json!({}), &mut told).await;
    assert_eq!((greeted, listed, &*tools(&list)), (0, 0, "work slow"));
    // A call of the good server does not wait for the slow server, but a call of the slow server
    // waits.
    second
        .send(&json!({"jsonrpc": "2.0", "id": "late", "method": "tools/call", "params": call}))
        .await;
    let work = json!({"name": "work"});
    let (_, called) = ask(&mut second, "tools/call", &work, &mut told).await;
    assert_eq!(called, 0);
    let answer = loop {
        let frame = second.next().await;
        if frame["id"] == "late" {
            break frame;
        }
        assert_ne!(frame["method"], "notifications/tools/list_changed");
    };
    assert!(answer["result"].is_object(), "{answer}");
}

/// Tests that a client waits only once for a server that has never answered. The next client, in
/// this process or after a restart, waits only briefly. If the server answers later, its tools are
/// still added. After that, clients wait for it as usual.
#[tokio::test(start_paused = true)]
async fn a_silent_server_is_waited_for_once() {
    let speaks = Arc::new(AtomicBool::new(false));
    let (is_back, late) = (Arc::clone(&speaks), server("late", 1, false));
    let silent = move |frame: &Value| match is_back.load(Ordering::Relaxed) {
        true => late(frame),
        false => vec![],
    };
    let servers = Servers::default()
        .with("silent", silent)
        .with("good", server("work", 0, false));
    let mut client = Client::of(servers, |server| server);
    let (mut table, mut told) = (Vec::new(), Vec::new());
    for at in 1..=4 {
        let start = Instant::now();
        greet(&mut client, &mut told).await;
        let (list, _) = ask(&mut client, "tools/list", &json!({}), &mut told).await;
        let prompts = ask(&mut client, "prompts/list", &json!({}), &mut told).await;
        assert!(prompts.0["result"].is_object(), "{prompts:?}");
        let call = json!({"name": "work"});
        ask(&mut client, "tools/call", &call, &mut told).await;
        let took = start.elapsed().as_millis();
        table.push(format!("{at}: {took} ms, {}", tools(&list)));
        if at == 3 {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        speaks.store(at >= 2, Ordering::Relaxed);
        client = client.second();
    }
    assert_snapshot!(table.join("\n"), @"
    1: 3000 ms, work
    2: 300 ms, work
    3: 300 ms, work
    4: 0 ms, work late
    ");
}

#[tokio::test(start_paused = true)]
async fn the_modern_generation_does_not_wait_either() {
    let servers = Servers::default()
        .with("bad", |_: &Value| vec![])
        .with("good", server("work", 0, true))
        .with("late", server("slow", 10, true));
    let client = Client::of(servers, |server| server);
    // A stateless client, and a client with its own connection.
    for (mut client, name) in [(client.another(), "stateless"), (client.second(), "stdio")] {
        let mut told = Vec::new();
        let params = of_today(json!({}));
        let (greeting, greeted) = ask(&mut client, "server/discover", &params, &mut told).await;
        assert!(
            greeting["result"]["supportedVersions"].is_array(),
            "{greeting}"
        );
        assert!(greeted <= 3, "{name} {greeted}");
        let (_, first) = ask(&mut client, "tools/list", &params, &mut told).await;
        let (list, listed) = ask(&mut client, "tools/list", &params, &mut told).await;
        assert!(tools(&list).starts_with("work"), "{name} {list}");
        let call = of_today(json!({"name": "work"}));
        let (answer, called) = ask(&mut client, "tools/call", &call, &mut told).await;
        assert!(answer["result"].is_object(), "{name} {answer}");
        assert!(
            first <= 3 && (listed, called) == (0, 0),
            "{name} {first} {listed} {called}"
        );
        tokio::time::sleep(Duration::from_secs(30)).await;
        let (list, listed) = ask(&mut client, "tools/list", &params, &mut told).await;
        assert!(listed <= 3, "{name} {listed}");
        assert_eq!(tools(&list), "work slow", "{name}");
        let mut wants = params.clone();
        wants["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
        ask(&mut client, "tools/list", &wants, &mut told).await;
        let is_told = |frame: &String| frame.contains("the server `bad` is not available");
        assert!(told.iter().any(is_told), "{told:?}");
    }
}

#[tokio::test]
async fn an_old_name_leads_to_the_new_ones() {
    let servers = || {
        Servers::default()
            .with("a", server("text", 0, false))
            .with("b", server("text", 0, false))
            .with("c", server("rows", 0, false))
    };
    let mut told = Vec::new();
    for prefix in [Prefix::Clash, Prefix::Always] {
        let several = Several {
            prefix,
            ..Several::default()
        };
        let mut client = Client::several(servers(), several);
        let list = client.ask(1, "tools/list", &json!({})).await;
        told.push(tools(&list));
        for name in ["text", "rows", "c_rows", "none`\n"] {
            let answer = client.ask(2, "tools/call", &json!({"name": name})).await;
            told.push(match answer["error"]["message"].as_str() {
                Some(message) => message.to_owned(),
                None => format!("{name} works"),
            });
        }
    }
    assert_snapshot!(told.join("\n"), @"
    a_text b_text rows
    no tool `text`; there are a_text and b_text
    rows works
    no tool `c_rows`; there is rows
    no server behind this gateway has the tool `none`
    a_text b_text c_rows
    no tool `text`; there are a_text and b_text
    no tool `rows`; there is c_rows
    c_rows works
    no server behind this gateway has the tool `none`
    ");
}
