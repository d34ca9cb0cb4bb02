//! Tests of tenants: what one principal stored, no other reaches through any door, and cannot tell
//! from what does not exist: not by an answer, and not by what the store does.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use spillgate_testkit::log;

use super::bucket_server::Server;
use super::tool::Tool;

/// A server with two tools: the result of `big` is large and has an image, `echo` tells the length of
/// what it got.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"big","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]}';;
    *'"name":"big"'*) text=$(seq -s, 1 20000); image=$(seq -s A 1 9000); result='{"content":[{"type":"text","text":"oyster '$text'"},{"type":"image","mimeType":"image/png","data":"'$image'"}]}';;
    *'"name":"echo"'*) result='{"content":[{"type":"text","text":"got '${#line}'"}]}';;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue;;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

/// A word that only the outputs of the first principal have.
const MARK: &str = "oyster";

/// Where the outputs are.
enum Place {
    Files,
    Bucket(Server),
}

/// A running server for two principals.
struct House {
    tool: Tool,
    child: Child,
    at: String,
    place: Place,
}

/// An answer: its status, the lines of its head, and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// A principal with a session and a cookie.
struct Principal {
    token: &'static str,
    session: String,
    cookie: String,
}

/// A request to a door.
#[derive(Debug, Clone)]
enum Ask {
    /// Method, path below the server and body, with the token.
    Api(&'static str, String, String),
    /// Method, path and form, with the cookie.
    Page(&'static str, String, String),
    /// Method and parameters, in the session.
    Session(&'static str, Value),
    /// Method and parameters of a request without a session.
    Alone(&'static str, Value),
}

impl House {
    fn start(place: Place, more: &str) -> Self {
        let tool = Tool::new();
        let [tokens, server, config] =
            ["tokens", "server.sh", "spillgate.toml"].map(|name| tool.home().join(name));
        fs::write(&tokens, "alice: one\nbob: two\n").unwrap();
        fs::write(&server, SERVER).unwrap();
        let text = format!(
            "by_reference = [\"*\"]\nmax_tokens = 1000\n{more}\n\
             [tenants]\nenabled = true\n[ui]\nenabled = true\n[tool_output]\nenabled = true\n\
             [servers.one]\ncommand = \"sh\"\nargs = [{:?}]\n\
             [http.auth]\nkind = \"bearer\"\ntoken_files = [{:?}]\n",
            server.display().to_string(),
            tokens.display().to_string(),
        );
        fs::write(&config, text).unwrap();
        let config = config.display().to_string();
        let mut command = tool.command(&["serve", "--listen", "0", "--config", &config]);
        if let Place::Bucket(server) = &place {
            command.env("SPILLGATE_STORE", "s3://bucket/prefix");
            command.envs(server.environment());
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut from = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("the page is at") {
            let got = from.read_line(&mut said).unwrap();
            assert!(got > 0, "{said}");
        }
        std::thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()));
        let at = said.split_once("http://").unwrap().1;
        let at = at.split_once('/').unwrap().0.to_owned();
        Self {
            tool,
            child,
            at,
            place,
        }
    }

    fn send(&self, line: &str, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        let limit = Some(Duration::from_secs(10));
        stream.set_read_timeout(limit).unwrap();
        let (at, length) = (&self.at, body.len());
        let request = format!(
            "{line} HTTP/1.0\r\nhost: {at}\r\n{head}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        read.unwrap_or_else(|error| panic!("{line} {body}: {error}"));
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let timeless = head.lines().filter(|line| !line.starts_with("date:"));
        Answer {
            status,
            head: timeless.collect::<Vec<_>>().join("\n"),
            body: body.to_owned(),
        }
    }

    /// Sends a JSON-RPC message in a session; without a session, as a stateless request if `name` says
    /// of what.
    fn rpc(&self, of: &Principal, is_alone: bool, method: &str, params: &Value) -> Answer {
        let mut params = params.clone();
        let token = of.token;
        let mut head = format!(
            "authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n"
        );
        if is_alone {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let named = params["name"].as_str().or(params["uri"].as_str());
            let _ = write!(
                head,
                "mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n"
            );
            if let Some(named) = named {
                let _ = write!(head, "mcp-name: {named}\r\n");
            }
        } else if !of.session.is_empty() {
            let _ = write!(head, "mcp-session-id: {}\r\n", of.session);
        }
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.send("POST /mcp", &head, &body.to_string())
    }

    fn enter(&self, token: &'static str) -> Principal {
        let mut one = Principal {
            token,
            session: String::new(),
            cookie: String::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.rpc(&one, false, "initialize", &hello);
        let session = answer.head.split("mcp-session-id: ").nth(1);
        let session = session.unwrap_or_else(|| panic!("{answer:?}"));
        session.lines().next().unwrap().clone_into(&mut one.session);
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let head = format!(
            "authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-session-id: {}\r\n",
            one.session
        );
        assert_eq!(self.send("POST /mcp", &head, &note).status, 202);
        let form = format!("token={token}");
        let head = format!("origin: http://{}\r\n", self.at);
        let answer = self.send("POST /ui/login", &head, &form);
        let cookie = answer.head.split("set-cookie: ").nth(1);
        let cookie = cookie.unwrap_or_else(|| panic!("{answer:?}"));
        cookie
            .split(';')
            .next()
            .unwrap()
            .clone_into(&mut one.cookie);
        one
    }

    fn ask(&self, of: &Principal, ask: &Ask) -> Answer {
        match ask {
            Ask::Api(method, path, body) => {
                let head = format!("authorization: Bearer {}\r\n", of.token);
                self.send(&format!("{method} {path}"), &head, body)
            }
            Ask::Page(method, path, form) => {
                let origin = format!("http://{}", self.at);
                let head = format!(
                    "cookie: {}\r\norigin: {origin}\r\naccept: text/html\r\n",
                    of.cookie
                );
                self.send(&format!("{method} /ui{path}"), &head, form)
            }
            Ask::Session(method, params) => self.rpc(of, false, method, params),
            Ask::Alone(method, params) => self.rpc(of, true, method, params),
        }
    }

    /// Stores a text that has the mark, and returns its handle.
    fn store(&self, of: &Principal, text: &str) -> String {
        let path = "/v1/offload?tool=journal&call_id=call-1".to_owned();
        let answer = self.ask(of, &Ask::Api("POST", path, text.to_owned()));
        assert_eq!(answer.status, 201, "{answer:?}");
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        answer["handle"].as_str().unwrap().to_owned()
    }

    /// Replaces a result in a conversation, and returns its hash.
    fn compress(&self, of: &Principal, text: &str) -> String {
        let messages = json!([{"role": "tool", "tool_call_id": "x", "content": text}]);
        let body = json!({"messages": messages, "model": "m"}).to_string();
        let answer = self.ask(of, &Ask::Api("POST", "/v1/compress".to_owned(), body));
        assert_eq!(answer.status, 200, "{answer:?}");
        let hash = answer.body.split("hash=").nth(1);
        let hash = hash.unwrap_or_else(|| panic!("{answer:?}"));
        hash.trim_start_matches(['\\', '"'])
            .chars()
            .take(24)
            .collect()
    }

    /// Returns the requests to the bucket since the last call, with `handle` masked.
    fn seen(&self, handle: &str) -> Vec<String> {
        match &self.place {
            Place::Files => Vec::new(),
            Place::Bucket(server) => {
                let seen = server.seen().into_iter();
                let mut seen: Vec<String> =
                    seen.map(|line| line.replace(handle, "HANDLE")).collect();
                seen.sort_unstable();
                seen
            }
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// All ways to ask for an output by its handle.
fn by_handle(handle: &str, own: &str) -> Vec<Ask> {
    let mut all = Vec::new();
    let api = |rest: &str| format!("/v1/artifacts/{handle}{rest}");
    for rest in [
        "",
        "/raw",
        "/read",
        "/read?start=2&lines=3",
        "/read?tail=true",
        "/read?bytes=0..90",
        "/grep?pattern=oyster",
        "/grep?pattern=OYSTER&ignore_case=true&before=1",
        "/query?filter=.",
        "/search?words=oyster",
        "/outline",
    ] {
        all.push(Ask::Api("GET", api(rest), String::new()));
    }
    all.push(Ask::Api("HEAD", api("/raw"), String::new()));
    all.push(Ask::Api(
        "GET",
        format!("/v1/artifacts?before={handle}"),
        String::new(),
    ));
    for path in [
        "",
        "?tab=outline",
        "?tab=message",
        "?tab=difference",
        "/message",
        "/outline",
        "/lines?start=1",
        "/error",
        "/hex",
        "/image",
        "/tree?path=",
        "/download",
        "/download?form=raw",
    ] {
        all.push(Ask::Page(
            "GET",
            format!("/a/{handle}{path}"),
            String::new(),
        ));
    }
    let path = format!("/a/{own}?tab=difference&with={handle}");
    all.push(Ask::Page("GET", path, String::new()));
    for path in [
        "/read",
        "/grep?pattern=oyster",
        "/query?filter=.",
        "/search?words=oyster",
    ] {
        let path = format!("/v1/artifacts/{handle}{path}");
        all.push(Ask::Page("GET", path, String::new()));
    }
    let tools = [
        ("spillgate_read", json!({"handle": handle})),
        ("spillgate_read", json!({"handle": handle, "tail": true})),
        (
            "spillgate_read",
            json!({"handle": handle, "bytes": "0..90"}),
        ),
        ("spillgate_read", json!({"handle": handle, "path": ".a"})),
        (
            "spillgate_read",
            json!({"handle": format!("handle={handle}")}),
        ),
        ("spillgate_grep", json!({"handle": handle, "pattern": MARK})),
        ("spillgate_query", json!({"handle": handle, "filter": "."})),
        ("spillgate_search", json!({"handle": handle, "words": MARK})),
        (
            "get_continuation",
            json!({"tool_call_id": handle, "offset": 0}),
        ),
        (
            "tool_output",
            json!({"handle": handle, "extract": MARK, "mode": "search"}),
        ),
        ("echo", json!({"text": {"$spill": handle}})),
        ("echo", json!({"text": {"$spill": handle, "lines": "1-2"}})),
        ("echo", json!({"text": {"$spill": handle, "bytes": "0..9"}})),
        ("echo", json!({"text": {"$spill": handle, "query": "."}})),
    ];
    for (name, arguments) in tools {
        let params = json!({"name": name, "arguments": arguments});
        all.push(Ask::Session("tools/call", params.clone()));
        all.push(Ask::Alone("tools/call", params));
    }
    for part in ["", "/content/0", "/content/1", "/messages/0", "/contents/0"] {
        let params = json!({"uri": format!("spillgate://artifact/{handle}{part}")});
        all.push(Ask::Session("resources/read", params.clone()));
        all.push(Ask::Alone("resources/read", params));
    }
    // The last ones, because they would take the output away.
    let form = "pinned=1".to_owned();
    all.push(Ask::Page("POST", format!("/a/{handle}/pin"), form));
    let form = "sure=1".to_owned();
    all.push(Ask::Page("POST", format!("/a/{handle}/remove"), form));
    all.push(Ask::Api("DELETE", api(""), String::new()));
    all
}

/// All ways to come to an output without its handle, or with another name of it.
fn otherwise(hash: &str) -> Vec<Ask> {
    let mut all = Vec::new();
    for query in ["", "lines: 1+2", "grep: oyster", "jq: .", "oyster"] {
        let query: String = form_urlencoded(query);
        let path = format!("/v1/retrieve/{hash}?query={query}");
        all.push(Ask::Api("GET", path, String::new()));
    }
    for path in ["/v1/artifacts", "/v1/artifacts?tool=journal"] {
        all.push(Ask::Api("GET", path.to_owned(), String::new()));
    }
    for path in [
        "/",
        "/rows",
        "/find?what=oyster",
        "/find/hits?what=oyster&by=words",
        "/meter",
    ] {
        all.push(Ask::Page("GET", path.to_owned(), String::new()));
    }
    for (name, arguments) in [
        ("spillgate_search", json!({"words": MARK})),
        (
            "get_continuation",
            json!({"tool_call_id": "call-1", "offset": 0}),
        ),
        (
            "get_continuation",
            json!({"tool_call_id": "1", "offset": 0}),
        ),
    ] {
        let params = json!({"name": name, "arguments": arguments});
        all.push(Ask::Session("tools/call", params));
    }
    all
}

fn form_urlencoded(text: &str) -> String {
    text.replace(' ', "%20").replace(':', "%3A")
}

/// Checks that `bob` reaches nothing of `alice`. Returns the number of attempts.
fn attempts(place: Place) -> usize {
    let house = House::start(place, "");
    let [alice, bob] = ["one", "two"].map(|token| house.enter(token));
    let text = format!("{MARK}\n{}", log(3000));
    let handle = house.store(&alice, &text);
    let big = json!({"name": "big", "arguments": {}});
    let big = house.ask(&alice, &Ask::Session("tools/call", big)).body;
    let linked = big
        .split("stored whole as ")
        .nth(1)
        .unwrap_or_else(|| panic!("{big}"));
    let linked: String = linked.chars().take(14).collect();
    let hash = house.compress(&alice, &format!("{text}more\n"));
    let own = house.store(&bob, &log(3000));
    // Nobody stored anything under these names.
    let backwards = |name: &str| name.chars().rev().collect::<String>();
    // What a first request sets up is not part of what is counted.
    for ask in by_handle(&own, &own)
        .iter()
        .take(20)
        .chain(&otherwise(&backwards(&hash)))
    {
        house.ask(&bob, ask);
    }
    let mut count = 0;
    let mut requests = 0;
    for foreign in [&handle, &linked] {
        let unknown = backwards(foreign);
        for (at, ask) in by_handle(foreign, &own).iter().enumerate() {
            house.seen("");
            let got = house.ask(&bob, ask);
            let done = house.seen(foreign);
            let other = house.ask(&bob, &by_handle(&unknown, &own)[at]);
            let done_otherwise = house.seen(&unknown);
            let masked = |answer: &Answer, handle: &str| {
                let text = format!("{answer:?}").replace(handle, "HANDLE");
                text.replace(&alice.session, "SESSION")
            };
            assert_eq!(masked(&got, foreign), masked(&other, &unknown), "{ask:?}");
            assert_eq!(done, done_otherwise, "{ask:?}");
            requests += done.len();
            assert!(
                !got.body.contains(MARK) || got.status >= 400,
                "{ask:?} {got:?}"
            );
            let fails = got.status >= 400
                || got.body.contains("It was never stored here.")
                || got.body.contains("\"isError\":true")
                || got.body.contains("\"error\":");
            assert!(fails, "{ask:?} {got:?}");
            count += 1;
        }
    }
    if let Place::Bucket(server) = &house.place {
        assert!(requests > 40, "{requests}");
        // The names of the objects tell that each principal has a part of its own.
        let objects = server.objects();
        let parts = objects.keys().filter_map(|key| key.split('/').nth(2));
        let parts: std::collections::BTreeSet<_> =
            parts.filter(|part| part.starts_with("t-")).collect();
        assert_eq!(parts.len(), 2, "{objects:?}");
    }
    for ask in otherwise(&hash) {
        let got = house.ask(&bob, &ask);
        for secret in [MARK, &handle, &linked] {
            let without = got.body.replace(&format!("value=\"{MARK}\""), "");
            assert!(
                !without.contains(secret) || is_echo(&ask),
                "{ask:?} {got:?}"
            );
        }
        count += 1;
    }
    // The session of another is not there, either.
    let thief = Principal {
        token: bob.token,
        session: alice.session.clone(),
        cookie: bob.cookie.clone(),
    };
    let read = json!({"name": "spillgate_read", "arguments": {"handle": handle}});
    let got = house.ask(&thief, &Ask::Session("tools/call", read));
    assert_eq!(got.status, 404);
    // All of this works for the principal that stored it, and nothing was changed.
    let mut worked = 0;
    for ask in by_handle(&handle, &linked) {
        let got = house.ask(&alice, &ask);
        let is_right = got.status < 400
            && !got.body.contains("\"isError\":true")
            && !got.body.contains("\"error\":");
        worked += usize::from(is_right);
    }
    assert!(worked > 40, "{worked}");
    count + 1
}

/// Whether an answer repeats the words of a request.
fn is_echo(ask: &Ask) -> bool {
    match ask {
        Ask::Page(_, path, _) | Ask::Api(_, path, _) => path.contains(MARK),
        Ask::Session(_, params) => params.to_string().contains(MARK),
        Ask::Alone(..) => false,
    }
}

#[test]
fn no_door_leads_to_the_output_of_another() {
    let count = attempts(Place::Files);
    assert!(count >= 60, "{count}");
}

#[test]
fn a_foreign_output_costs_the_bucket_the_same_as_none() {
    let count = attempts(Place::Bucket(Server::start()));
    assert!(count >= 60, "{count}");
}

/// A secret that the rules find.
const SECRET: &str = "AKIAQ3EGXZ7LKTPNWB5M";

/// Runs `spillgate share` with the configuration of the server.
fn share(house: &House, args: &[&str]) -> (i32, String) {
    let config = house.tool.home().join("spillgate.toml");
    let config = config.display().to_string();
    let args = [&["share"], args, &["--config", &config]].concat();
    let output = house.tool.run(&args, b"");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    (output.status.code().unwrap(), said)
}

/// Checks that look-ups in sessions are recorded with these, and others without.
fn check_sessions(lines: &str) {
    let sessions = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["event"] == "look_up").then(|| line["session"].clone())
    });
    let sessions: Vec<Value> = sessions.flatten().collect();
    let has_one = |session: &Value| {
        session
            .as_str()
            .is_some_and(|one| one.starts_with("session-"))
    };
    assert!(sessions.iter().any(has_one), "{lines}");
    assert!(sessions.iter().any(Value::is_null), "{lines}");
}

#[test]
fn a_shared_output_is_read_with_marks_until_the_time_is_over() {
    let audit = tempfile::tempdir().unwrap();
    let audit = audit.path().join("audit.ndjson");
    // The owner's settings show secrets.
    let more =
        format!("redact = \"off\"\n[secrets]\nraw_anywhere = true\n[audit]\nto = {audit:?}\n");
    let house = House::start(Place::Files, &more);
    let [alice, bob] = ["one", "two"].map(|token| house.enter(token));
    let text = format!("{MARK} key {SECRET}\n{}", log(3000));
    let handle = house.store(&alice, &text);
    let read = |of: &Principal| {
        let call = json!({"name": "spillgate_read", "arguments": {"handle": handle, "lines": 1}});
        house.ask(of, &Ask::Session("tools/call", call))
    };
    let unknown = read(&bob);
    let answers = || -> Vec<Answer> {
        let asks = by_handle(&handle, &handle);
        let reads = asks.iter().take(asks.len() - 3);
        reads.map(|ask| house.ask(&bob, ask)).collect()
    };
    let before = answers();
    assert!(read(&alice).body.contains(SECRET));

    let (code, said) = share(&house, &[&handle, "--owner", "alice", "--with", "bob"]);
    assert_eq!(code, 0, "{said}");
    let shown = read(&bob).body;
    assert!(shown.contains("[redacted: aws-access-key]"), "{shown}");
    let during = answers();
    assert!(during.iter().all(|answer| !answer.body.contains(SECRET)));
    let differ = before
        .iter()
        .zip(&during)
        .filter(|(one, other)| one != other);
    assert!(differ.count() > 30);
    // It is in no list of the reader, who cannot remove it or get its bytes.
    for ask in otherwise("none") {
        // The meter names what the reader itself has read.
        if matches!(&ask, Ask::Page(_, path, _) if path == "/meter") {
            continue;
        }
        assert!(!house.ask(&bob, &ask).body.contains(&handle), "{ask:?}");
    }
    let api = |method, rest: &str| {
        let path = format!("/v1/artifacts/{handle}{rest}");
        house
            .ask(&bob, &Ask::Api(method, path, String::new()))
            .status
    };
    assert_eq!((api("DELETE", ""), api("GET", "/raw")), (404, 403));
    let (_, list) = share(&house, &["--list", "--owner", "alice"]);
    assert!(
        list.starts_with(&handle) && list.ends_with("bob\n"),
        "{list}"
    );

    let (code, _) = share(
        &house,
        &[&handle, "--owner", "alice", "--with", "bob", "--end"],
    );
    assert_eq!(code, 0);
    for (after, before) in answers().iter().zip(&before) {
        assert_eq!(after, before);
    }
    let (code, said) = share(&house, &[&handle, "--owner", "alice", "--end"]);
    assert_eq!(code, 1, "{said}");

    // A time that is over ends it, too.
    let short = [&handle, "--owner", "alice", "--with", "bob", "--for", "1s"];
    assert_eq!(share(&house, &short).0, 0);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(read(&bob), unknown);
    assert_eq!(share(&house, &["--list", "--owner", "alice"]).1, "");

    let lines = fs::read_to_string(&audit).unwrap();
    assert!(!lines.contains(MARK) && !lines.contains(SECRET));
    for (event, who) in [
        ("store", "alice"),
        ("look_up", "alice"),
        ("deny", "bob"),
        ("look_up", "bob"),
        ("describe", "bob"),
        ("share", "local"),
        ("end_share", "local"),
    ] {
        let has = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            let is_shared = line["shared"] == json!(true);
            line["event"] == event
                && line["principal"] == who
                && line["handle"] == handle
                && is_shared == (event == "look_up" && who == "bob")
        };
        assert!(lines.lines().any(has), "{event} {who}: {lines}");
    }
    check_sessions(&lines);
}

#[test]
fn tokens_change_while_the_server_runs() {
    let house = House::start(Place::Files, "");
    let [alice, bob] = ["one", "two"].map(|token| house.enter(token));
    let handle = house.store(&alice, &log(3000));
    let read = |token: &'static str| {
        let path = format!("/v1/artifacts/{handle}/read");
        let of = Principal {
            token,
            session: String::new(),
            cookie: String::new(),
        };
        house.ask(&of, &Ask::Api("GET", path, String::new())).status
    };
    let until = |token: &'static str, wanted: u16| {
        for _ in 0..100 {
            if read(token) == wanted {
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    };
    let tokens = house.tool.home().join("tokens");
    // A file that cannot be used changes nothing: with tenants, each token has a name.
    fs::write(&tokens, "nameless\n").unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(
        (read("one"), read("two"), read("nameless")),
        (200, 404, 401)
    );
    // A new token of the same name has the same store.
    fs::write(&tokens, "alice: three\ncarol: four\n").unwrap();
    assert!(until("three", 200), "the new token is not valid");
    assert_eq!((read("one"), read("two"), read("four")), (401, 401, 404));
    // A cookie is not better than the token with which it began.
    let page = Ask::Page("GET", "/".to_owned(), String::new());
    assert_eq!(house.ask(&bob, &page).status, 401);
}

#[test]
fn a_new_configuration_holds_for_principals_who_are_served() {
    let house = House::start(Place::Files, "");
    let alice = house.enter("one");
    let echo = || {
        let call = json!({"name": "echo", "arguments": {}});
        let answer = house.ask(&alice, &Ask::Session("tools/call", call));
        assert!(answer.body.contains("got"), "{answer:?}");
    };
    let status = || {
        let path = "/v1/offload?tool=journal".to_owned();
        let ask = Ask::Api("POST", path, "some words\n".repeat(250));
        house.ask(&alice, &ask).status
    };
    echo();
    assert_eq!(status(), 200);
    let page = Ask::Page("GET", "/".to_owned(), String::new());
    assert_eq!(house.ask(&alice, &page).status, 200);
    let config = house.tool.home().join("spillgate.toml");
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace("max_tokens = 1000", "max_tokens = 100");
    fs::write(&config, text).unwrap();
    let is_new = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        status() == 201
    });
    assert!(is_new, "the API still has the old rules");
    // The session goes on, and nothing that it did is forgotten.
    echo();
    let mut house = house;
    let id = house.child.id().to_string();
    let killed = std::process::Command::new("kill").arg(&id).status();
    assert!(killed.unwrap().success());
    house.child.wait().unwrap();
    let find = std::process::Command::new("find")
        .arg(house.tool.home())
        .args(["-path", "*/tenants/t-*/ledger.ndjson"])
        .output();
    let found = String::from_utf8(find.unwrap().stdout).unwrap();
    let ledger = fs::read_to_string(found.trim()).unwrap();
    let entries = ledger
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let inline = entries.filter(|entry| entry["exit"] == "inline");
    let results: u64 = inline.map(|entry| entry["results"].as_u64().unwrap()).sum();
    assert!(results >= 3, "{ledger}");
}

#[test]
fn tenants_need_principals() {
    let tool = Tool::new();
    let config = tool.home().join("spillgate.toml");
    let tokens = tool.home().join("tokens");
    let operator = tool.home().join("operator");
    fs::write(&tokens, "nameless\n").unwrap();
    fs::write(&operator, "local: secret\n").unwrap();
    let with = |text: &str, args: &[&str]| {
        fs::write(&config, text).unwrap();
        let config = config.display().to_string();
        let (error, code) = tool.error(&[args, &["--config", &config]].concat());
        format!("{code} {}\n  {}", error["message"], error["hint"])
    };
    let [tokens, operator] = [tokens, operator].map(|file| file.display().to_string());
    let serve = ["serve", "--listen", "0"];
    let on = "[tenants]\nenabled = true\n";
    let all = [
        with(on, &serve),
        with(on, &["serve", "--listen", "0", "--token-file", &tokens]),
        with(on, &["serve", "--listen", "0", "--token-file", &operator]),
        with(&format!("{on}[tenants.named.\" \"]\n"), &serve),
        with(&format!("{on}quotas = 1\n"), &serve),
        with("", &["share", "kqvbnrtzaewmxo", "--with", "bob"]),
        with(on, &["share", "kqvbnrtzaewmxo", "--with", "bob"]),
    ];
    let all = all.join("\n").replace(&tokens, "TOKENS");
    let all = all.replace(&operator, "TOKENS");
    let all = all.replace(&tool.home().display().to_string(), "HOME");
    insta::assert_snapshot!(all, @r#"
    1 "`tenants.enabled` gives each principal a store of its own, but clients send no token"
      "set [http.auth], or pass --token-file FILE; docs/tenants.md has an example"
    1 "token 1 of the token file TOKENS has no name"
      "with `tenants.enabled`, write `NAME: TOKEN`; the tokens of one name have the same store, and the name `local` is reserved for the operator"
    1 "token 1 of the token file TOKENS has no name"
      "with `tenants.enabled`, write `NAME: TOKEN`; the tokens of one name have the same store, and the name `local` is reserved for the operator"
    1 "HOME/spillgate.toml:3: `tenants.named. `: is no principal: the name of a principal has a control character, or white space at its beginning or end"
      "write the name of a token, or the subject of an access token"
    1 "HOME/spillgate.toml:3: `tenants.quotas`: there is no such setting"
      "did you mean `quota`?"
    2 "there are no tenants: every client that knows a handle can read its output"
      "set `enabled = true` in [tenants]; docs/tenants.md describes them"
    1 "no stored artifact kqvbnrtzaewmxo: It was never stored here."
      "`spillgate ls` lists what is stored; --store DIR looks elsewhere"
    "#);
}

#[test]
fn no_principal_has_all_sessions() {
    let house = House::start(
        Place::Files,
        "[tenants.named.alice]\nmax_sessions = 1\n[http]\nmax_sessions = 8\n",
    );
    let status = |token: &'static str| {
        let of = Principal {
            token,
            session: String::new(),
            cookie: String::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        house.rpc(&of, false, "initialize", &hello).status
    };
    assert_eq!(["one", "one"].map(status), [200, 429]);
    // Without a limit of its own, a principal has a quarter.
    assert_eq!(["two", "two", "two"].map(status), [200, 200, 429]);
}

#[test]
fn a_token_file_that_can_be_misread_is_refused() {
    let tool = Tool::new();
    let tokens = tool.home().join("tokens");
    let tokens = tokens.display().to_string();
    let said = |text: &str| {
        fs::write(&tokens, text).unwrap();
        let (error, code) = tool.error(&["serve", "--listen", "0", "--token-file", &tokens]);
        let said = format!("{code} {}\n  {}", error["message"], error["hint"]);
        assert!(!said.contains("5d41402abc"), "{said}");
        said.replace(&tokens, "TOKENS")
    };
    let all = [
        said("alice: 5d41402abc\nbob: 5d41402abc\n"),
        said("alice: 5d41402abc\n5d41402abc # old\n"),
        said("alice: 5d41402abc\nbob: # to be added\n"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    1 "the same token belongs to alice and to bob"
      "give each name a token of its own; a name can have several"
    1 "the same token belongs to alice and to a line without a name"
      "give each name a token of its own; a name can have several"
    1 "the token file TOKENS: line 2 has a name, but no token"
      "write one token per line in a file, or a single token in a variable"
    "#);
}
