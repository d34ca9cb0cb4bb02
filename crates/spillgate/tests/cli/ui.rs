//! Tests of `spillgate ui` as a process: its link, its guard, and the figures of its meter.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_testkit::log;
use spillgate_text::Tokenizer;

use super::session::{LARGE, Session};
use super::tool::Tool;

/// A running `spillgate ui`.
struct Ui {
    child: Child,
    at: String,
    /// The path of the link.
    link: String,
    cookie: String,
}

impl Ui {
    fn start(tool: &Tool, more: &[&str]) -> Self {
        let mut command = tool.command(&[&["ui", "--json", "--port", "0"], more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let said = child.stdout.take().unwrap();
        BufReader::new(said).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let link = said["link"].as_str().unwrap().to_owned();
        let link = link.strip_prefix("http://").unwrap();
        let (at, path) = link.split_once('/').unwrap();
        let mut ui = Self {
            child,
            at: at.to_owned(),
            link: format!("/{path}"),
            cookie: String::new(),
        };
        let (status, head, _) = ui.ask(&ui.link, "");
        assert_eq!(status, 200, "{head}");
        let cookie = head.split("set-cookie: ").nth(1).unwrap();
        let cookie = cookie.split(';').next().unwrap();
        cookie.clone_into(&mut ui.cookie);
        ui
    }

    /// Sends a request, and returns status, head and body of the answer.
    fn ask(&self, path: &str, head: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        let host = match head.contains("host:") {
            true => String::new(),
            false => format!("host: {}\r\n", self.at),
        };
        let cookie = &self.cookie;
        let request = format!(
            "GET {path} HTTP/1.0\r\n{host}cookie: {cookie}\r\naccept: text/html\r\n{head}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn the_page_has_what_the_command_line_stores_and_its_figures() {
    let tool = Tool::new();
    let stored = tool.run(
        &["put", "--tool", "journal", "--json"],
        log(3000).as_bytes(),
    );
    let stored: Value = serde_json::from_slice(&stored.stdout).unwrap();
    let handle = stored["handle"].as_str().unwrap();
    tool.run(&["grep", handle, "ERROR"], b"");
    let ui = Ui::start(&tool, &[]);
    let (status, _, list) = ui.ask("/ui/", "");
    assert_eq!(status, 200);
    assert!(list.contains(handle), "{list}");
    // A filter runs in a process of its own; what a person reads is not counted.
    let before = tool.run(&["stats", "--json"], b"").stdout;
    let (_, _, found) = ui.ask(&format!("/ui/v1/artifacts/{handle}/grep?pattern=ERROR"), "");
    assert!(found.contains("ERROR"), "{found}");
    assert_eq!(tool.run(&["stats", "--json"], b"").stdout, before);
    let stats: Value = serde_json::from_slice(&before).unwrap();
    let total = &stats["total"];
    let (_, _, meter) = ui.ask("/ui/meter", "");
    for name in [
        "tokens_saved",
        "tokens_in",
        "tokens_shown",
        "tokens_retrieved",
    ] {
        let figure = total[name].as_u64().unwrap();
        assert!(figure > 0, "{name}");
        let figure = spillgate_offload::grouped(figure);
        assert!(
            meter.contains(&format!(">{figure}</strong>")),
            "{name} {figure}: {meter}"
        );
    }
}

/// What a session sent to a model, in tokens: counted from the recorded frames, not from the ledger.
#[derive(Debug, Default, PartialEq, Eq)]
struct Recorded {
    came_in: u64,
    shown: u64,
    looked_up: u64,
    definitions: u64,
}

/// Records a session: two large results, three look-ups, and the definitions of our tools.
fn recorded(tool: &Tool) -> Recorded {
    let count = |text: &str| Tokenizer::O200kBase.counter().count(text);
    let mut session = Session::start(tool, &[], LARGE);
    let mut sum = Recorded::default();
    session.send(1, "initialize", &json!({}));
    session.receive();
    session.send(2, "tools/list", &json!({}));
    let list = session.receive_line();
    // Ours follow those of the server.
    let (_, ours) = list.split_once(r#"{"name":"big"},"#).unwrap();
    let (ours, _) = ours.rsplit_once(']').unwrap();
    sum.definitions += count(ours);
    let numbers: Vec<String> = (1..=20_000).map(|number| number.to_string()).collect();
    let mut handle = String::new();
    for _ in 0..2 {
        session.send(3, "tools/call", &json!({"name": "big"}));
        let result = session.receive();
        let message = result["result"]["content"][0]["text"].as_str().unwrap();
        sum.came_in += count(&numbers.join(","));
        sum.shown += count(message);
        let (_, after) = message.split_once("stored whole as ").unwrap();
        handle = after.chars().take_while(char::is_ascii_lowercase).collect();
    }
    for (name, arguments) in [
        (
            "spillgate_grep",
            json!({"handle": handle, "pattern": "777"}),
        ),
        ("spillgate_read", json!({"handle": handle, "lines": 3})),
        (
            "spillgate_search",
            json!({"handle": handle, "words": "nowhere"}),
        ),
    ] {
        let text = session.call(name, &arguments);
        // The ledger counts a page without the line above it and the call of the next one below it.
        let page = text.split_once("\nnext: ").map_or(&*text, |(page, _)| page);
        let page = match page.split_once('\n') {
            Some((head, page)) if head.starts_with('[') => page,
            _ => page,
        };
        sum.looked_up += count(page);
    }
    session.end();
    sum
}

#[test]
fn the_meter_is_the_sum_of_a_recorded_session_token_for_token() {
    let tool = Tool::new();
    let sum = recorded(&tool);
    let stats = tool.json(&["stats"], b"");
    let ui = Ui::start(&tool, &[]);
    let (_, _, meter) = ui.ask("/ui/meter", "");
    let grouped = spillgate_offload::grouped;
    let by_day = meter.split("<figcaption").nth(1).unwrap();
    for part in ["total", "servers"] {
        let of = match part {
            "total" => &stats["total"],
            _ => &stats["servers"]["sh"],
        };
        let figure = |name: &str| of[name].as_u64().unwrap();
        let told = Recorded {
            came_in: figure("tokens_in"),
            shown: figure("tokens_shown"),
            looked_up: figure("tokens_retrieved"),
            definitions: figure("tokens_schema"),
        };
        assert_eq!(told, sum, "{part}");
        assert_eq!(of["tokens_in_estimated"], 0);
        let spent = sum.shown + sum.looked_up + sum.definitions;
        assert_eq!(figure("tokens_saved"), sum.came_in - spent);
    }
    for figure in [
        sum.came_in,
        sum.shown,
        sum.looked_up,
        sum.definitions,
        sum.came_in - sum.shown - sum.looked_up - sum.definitions,
    ] {
        let figure = grouped(figure);
        assert!(
            meter.contains(&format!(">{figure}</strong>")),
            "{figure}: {meter}"
        );
        // Everything happened on one day.
        assert!(
            figure == grouped(sum.came_in) || by_day.contains(&format!(">{figure}</td>")),
            "{figure}: {by_day}"
        );
    }
    // The only tool costs what was shown and looked up, the server also the definitions.
    for cost in [
        sum.shown + sum.looked_up,
        sum.shown + sum.looked_up + sum.definitions,
    ] {
        let cell = format!("<td class=\"number cost\">{}</td>", grouped(cost));
        assert!(meter.contains(&cell), "{cell}: {meter}");
    }
}

#[test]
fn only_its_own_pages_reach_it() {
    let tool = Tool::new();
    let ui = Ui::start(&tool, &[]);
    let own = format!("origin: http://{}\r\n", ui.at);
    for (head, status) in [
        ("", 200),
        (own.as_str(), 200),
        ("host: evil.example\r\n", 403),
        ("origin: http://evil.example\r\n", 403),
        ("origin: http://127.0.0.1:1\r\n", 403),
        ("origin: null\r\n", 403),
    ] {
        let (got, answer, _) = ui.ask("/ui/", head);
        assert_eq!(got, status, "{head}");
        assert!(!answer.contains("access-control-allow-origin"), "{answer}");
    }
    // Nothing but the page is there.
    for path in ["/v1/artifacts", "/mcp", "/metrics"] {
        assert_eq!(ui.ask(path, "").0, 404, "{path}");
    }
}

#[test]
fn a_gateway_offers_the_page_if_its_configuration_says_so() {
    let tool = Tool::new();
    let config = tool.home().join("spillgate.toml");
    fs::write(&config, "[ui]\nenabled = true\n").unwrap();
    let args = [
        "serve",
        "--listen",
        "0",
        "--config",
        config.to_str().unwrap(),
    ];
    let mut command = tool.command(&args);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let lines = [said.next().unwrap().unwrap(), said.next().unwrap().unwrap()];
    drop(child.kill());
    drop(child.wait());
    assert!(lines[0].ends_with("/v1"), "{lines:?}");
    assert!(
        lines[1].contains("the page is at http://127.0.0.1:"),
        "{lines:?}"
    );
    assert!(lines[1].contains("/ui/login?token="), "{lines:?}");
}
