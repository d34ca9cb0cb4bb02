//! Tests of `spillgate auth` with an authorization server on loopback and a user who pastes the
//! answer.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wiremock::matchers::{body_string_contains, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::tool::Tool;

async fn mount(server: &MockServer, verb: &str, at: &str, status: u16, body: Value) {
    let reply = ResponseTemplate::new(status).set_body_json(body);
    let mock = Mock::given(method(verb)).and(path(at));
    mock.respond_with(reply).mount(server).await;
}

async fn authorization_server() -> MockServer {
    let server = MockServer::start().await;
    let origin = server.uri();
    let metadata = json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "code_challenge_methods_supported": ["S256"],
    });
    let well_known = "/.well-known/oauth-authorization-server";
    mount(&server, "GET", well_known, 200, metadata).await;
    let registered = json!({"client_id": "c1", "redirect_uris": []});
    mount(&server, "POST", "/register", 201, registered).await;
    let token = json!({"access_token": "hush", "token_type": "Bearer", "refresh_token": "hush2"});
    let reply = ResponseTemplate::new(200).set_body_json(token);
    Mock::given(method("POST"))
        .and(path("/token"))
        .and(body_string_contains("code=good"))
        .respond_with(reply)
        .mount(&server)
        .await;
    server
}

/// Runs the login and pastes an answer with this code; returns all that it printed.
fn log_in(tool: &Tool, url: &str, code: &str) -> (String, Option<i32>) {
    let mut child = tool
        .command(&["auth", url, "--no-browser"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut written = Vec::new();
    let page = loop {
        let line = lines.next().unwrap().unwrap();
        if let Some((_, state)) = line.split_once("state=") {
            break state.split('&').next().unwrap().to_owned();
        }
        written.push(line);
    };
    let answer = format!("http://127.0.0.1:1/callback?code={code}&state={page}\n");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(answer.as_bytes()).unwrap();
    written.extend(lines.map(|line| line.unwrap()));
    (written.join("\n"), child.wait().unwrap().code())
}

#[test]
fn in_and_out() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(authorization_server());
    let url = format!("{}/mcp?key=secret", server.uri());
    let tool = Tool::new();
    let is_in = |args: &[&str]| tool.run(args, b"").status.code();

    assert_eq!(is_in(&["auth", &url, "--status"]), Some(1));
    let (written, code) = log_in(&tool, &url, "bad");
    assert_eq!(code, Some(1), "{written}");
    assert!(
        written.contains("error: getting a token failed"),
        "{written}"
    );
    let (written, code) = log_in(&tool, &url, "good");
    assert_eq!(code, Some(0), "{written}");
    assert!(
        !written.contains("hush") && !written.contains("secret"),
        "{written}"
    );

    let listed = tool.json(&["auth", "--status"], b"");
    assert_eq!(
        listed,
        json!({"server": format!("{}/mcp", server.uri()), "logged_in": true})
    );
    assert_eq!(is_in(&["auth", &url, "--status"]), Some(0));
    let out = tool.json(&["auth", &url, "--logout"], b"");
    assert_eq!(out["was_logged_in"], true);
    assert_eq!(is_in(&["auth", &url, "--status"]), Some(1));
}

/// Tests that a server can be given by its name in `spillgate.toml`, in a client's list of servers,
/// or in a wrapped entry of a client.
#[test]
fn servers_have_names() {
    let tool = Tool::new();
    let write = |name: &str, text: &str| {
        let file = tool.home().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let ours = write(
        "spillgate.toml",
        "[servers.far]\nurl = \"http://127.0.0.1:1/mcp?key=secret\"\n[servers.files]\ncommand = \"sh\"\n",
    );
    let list = write(
        ".mcp.json",
        "{\"mcpServers\": {\"listed\": {\"url\": \"http://127.0.0.1:2/mcp\"}}} // mine",
    );
    let status = |config: &str, name: &str| {
        let output = tool.json_of_any(&["auth", "--config", config, name, "--status"]);
        output["server"].as_str().map(str::to_owned)
    };
    assert_eq!(
        status(&ours, "far").as_deref(),
        Some("http://127.0.0.1:1/mcp")
    );
    assert_eq!(
        status(&list, "listed").as_deref(),
        Some("http://127.0.0.1:2/mcp")
    );
    let cursor = "{\"mcpServers\": {\"plain\": {\"url\": \"http://127.0.0.1:3/mcp\"}, \
                  \"keyed\": {\"url\": \"http://127.0.0.1:4/mcp?key=secret\"}}}";
    write(".cursor/mcp.json", cursor);
    assert!(tool.run(&["wrap", "cursor"], b"").status.success());
    assert_eq!(
        status(&ours, "plain").as_deref(),
        Some("http://127.0.0.1:3/mcp")
    );
    assert_eq!(
        status(&ours, "keyed").as_deref(),
        Some("http://127.0.0.1:4/mcp")
    );

    let wrong = ["fra", "files", "login"].map(|name| {
        let error = tool.error(&["auth", "--config", &ours, name]).0;
        let part = |key: &str| error[key].as_str().unwrap().to_owned();
        format!("{}\n  {}", part("message"), part("hint"))
    });
    assert_snapshot!(wrong.join("\n"), @"
    fra: not a URL, and not the name of a server with a `url`
      there are far, keyed, plain
    the server `files` is a local program: there is no login for it
      pass its key in `env`; only servers with a `url` have a login
    login: not a URL, and not the name of a server with a `url`
      `spillgate auth SERVER` logs in; --status and --logout are options of it
    ");
}

#[test]
fn what_is_no_server() {
    let tool = Tool::new();
    for server in ["github", "ftp://host/", "http://"] {
        let (error, code) = tool.error(&["auth", server]);
        assert_eq!(
            (error["kind"].as_str(), code),
            (Some("server"), 1),
            "{error}"
        );
    }
    let unreachable = tool.error(&["auth", "http://127.0.0.1:1/mcp"]).0;
    assert_eq!(unreachable["fault"], "upstream", "{unreachable}");
}
