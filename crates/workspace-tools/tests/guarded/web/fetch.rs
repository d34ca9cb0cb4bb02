//! Tests for the answers of `web_fetch`.

use std::io::Read;

use serde_json::{Value, json};
use spillgate_web::FetchSettings;
use spillgate_workspace_tools::{Body, OnOverflow, OversizedOutput, Rules, Writable};

use super::server::{Server, endless, page, to};
use super::{answer, call, rules, tools};

const PAGE: &str = "<title>A page</title><nav>menu</nav><main><h1>Heading</h1>\
    <p>Text with a <a href='/next'>link</a>.</main>";

async fn server() -> Server {
    Server::start(vec![
        ("/page", page(200, "text/html; charset=utf-8", PAGE)),
        ("/moved", to("http://SERVER/page")),
        ("/text", page(200, "text/plain", "as <it> is\n")),
        ("/latin", page(200, "text/plain; charset=utf-8", b"caf\xe9")),
        ("/empty", page(200, "text/plain", "")),
        (
            "/scripts",
            page(200, "text/html", "<title>App</title><script>go()</script>"),
        ),
        ("/pdf", page(200, "application/pdf", "%PDF-1.7 \0\0")),
        ("/zeros", page(200, "text/plain", "a\0b")),
        ("/down", page(503, "text/plain", "x".repeat(5000))),
        ("/login", page(401, "application/octet-stream", "\0")),
        ("/most", page(200, "text/plain", "x".repeat(90_000))),
        ("/more", page(200, "text/plain", "x".repeat(100_004))),
        ("/huge", page(200, "text/plain", "x".repeat(6 << 20))),
        ("/inside", to("http://169.254.169.254/")),
        ("/slow", endless("text/plain", b"x")),
    ])
    .await
}

/// Returns the answers to the calls.
async fn told(calls: impl Fn(&Server) -> Vec<Value>) -> String {
    let root = tempfile::tempdir().unwrap();
    let server = server().await;
    let tools = tools(root.path(), rules(&server));
    let mut told = Vec::new();
    for arguments in calls(&server) {
        let text = call(&tools, "web_fetch", &arguments).await;
        told.push(server.masked(&format!("{arguments}\n{text}")));
    }
    told.join("\n----\n").replace(&"x".repeat(1000), "xxx")
}

#[tokio::test]
async fn pages_are_told() {
    let told = told(|server| {
        vec![
            json!({ "url": server.url("/page") }),
            json!({ "url": server.url("/moved"), "timeout": "20", "save_to": null }),
            json!({ "url": server.url("/page"), "raw": "true", "save_to": " " }),
            json!({ "url": server.url("/text"), "timeout": 0 }),
            json!({ "url": server.url("/latin") }),
        ]
    });
    insta::assert_snapshot!(told.await, @r#"
    {"url":"http://SERVER/page"}
    [http://SERVER/page, 200, text/html]
    Title: A page

    # Heading

    Text with a [link](http://SERVER/next).

    ----
    {"save_to":null,"timeout":"20","url":"http://SERVER/moved"}
    [http://SERVER/page, 200, text/html]
    Title: A page

    # Heading

    Text with a [link](http://SERVER/next).

    ----
    {"raw":"true","save_to":" ","url":"http://SERVER/page"}
    [http://SERVER/page, 200, text/html]

    <title>A page</title><nav>menu</nav><main><h1>Heading</h1><p>Text with a <a href='/next'>link</a>.</main>
    ----
    {"timeout":0,"url":"http://SERVER/text"}
    [http://SERVER/text, 200, text/plain]

    as <it> is

    ----
    {"url":"http://SERVER/latin"}
    [http://SERVER/latin, 200, text/plain]
    (Some bytes mean nothing in UTF-8 and are shown as �.)

    caf�
    "#);
}

#[tokio::test]
async fn what_has_no_text_is_told() {
    let told = told(|server| {
        vec![
            json!({ "url": server.url("/empty") }),
            json!({ "url": server.url("/scripts") }),
        ]
    });
    insta::assert_snapshot!(told.await, @r#"
    {"url":"http://SERVER/empty"}
    [http://SERVER/empty, 200, text/plain]

    (empty)

    ----
    {"url":"http://SERVER/scripts"}
    [http://SERVER/scripts, 200, text/html]
    Title: App

    (The page has no text of its own; scripts, which are not run, may make it.)
    "#);
}

#[tokio::test]
async fn what_is_no_page_is_told() {
    let told = told(|server| {
        vec![
            json!({ "url": server.url("/pdf") }),
            json!({ "url": server.url("/zeros") }),
            json!({ "url": server.url("/missing") }),
            json!({ "url": server.url("/down") }),
            json!({ "url": server.url("/login") }),
            json!({ "url": server.url("/more") }),
            json!({ "url": server.url("/huge") }),
        ]
    });
    insta::assert_snapshot!(told.await, @r#"
    {"url":"http://SERVER/pdf"}
    Error: http://SERVER/pdf is application/pdf, 11 bytes: no text that could be shown. Please use save_to parameter to save it to a file.
    ----
    {"url":"http://SERVER/zeros"}
    Error: http://SERVER/zeros is text/plain, 3 bytes: no text that could be shown. Please use save_to parameter to save it to a file.
    ----
    {"url":"http://SERVER/missing"}
    Error: HTTP 404 Not Found from http://SERVER/missing. Check the url, or look for the page elsewhere.

    Lost
    # No such page
    ----
    {"url":"http://SERVER/down"}
    Error: HTTP 503 Service Unavailable from http://SERVER/down. This is the server's fault. Try it later, or use another source.

    xxx… (+4000 bytes)
    ----
    {"url":"http://SERVER/login"}
    Error: HTTP 401 Unauthorized from http://SERVER/login. The page is not for everybody, and logins are not sent. Use another source.
    ----
    {"url":"http://SERVER/more"}
    Error: Page content (~25013 tokens) exceeds maximum allowed tokens (25000). Please use save_to parameter to save content to a file, then use grep_content to search it.
    ----
    {"url":"http://SERVER/huge"}
    Error: The response of HOST is larger than the maximum of 5242880 bytes (the server declares 6291456 bytes). Please use save_to parameter to save content to a file, then use grep_content to search it.
    "#);
}

#[tokio::test]
async fn what_cannot_be_asked_is_told() {
    let told = told(|server| {
        vec![
            json!({ "url": server.url("/inside") }),
            json!({ "url": server.url("/slow"), "timeout": 1 }),
            json!({ "url": "example.com" }),
            json!({ "url": "http://10.0.0.1/" }),
            json!({}),
            json!({ "url": server.url("/page"), "timeout": "soon" }),
        ]
    });
    insta::assert_snapshot!(told.await, @r#"
    {"url":"http://SERVER/inside"}
    Error: HOST redirects to a URL that is not fetched: 169.254.169.254 is not on the public web (link-local), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    ----
    {"timeout":1,"url":"http://SERVER/slow"}
    Error: HOST took longer than 1 s. No part of the page was kept; try again with a longer timeout (up to 120 s), or use another URL.
    ----
    {"url":"example.com"}
    Error: The url is wrong: it must begin with http:// or https://. Give a whole URL such as https://example.com/page.
    ----
    {"url":"http://10.0.0.1/"}
    Error: 10.0.0.1 is not on the public web (private), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    ----
    {}
    Error: url is missing
    ----
    {"timeout":"soon","url":"http://SERVER/page"}
    Error: timeout must be a whole number from 0 on
    "#);
}

#[tokio::test]
async fn the_limit_holds_with_the_header() {
    let root = tempfile::tempdir().unwrap();
    let server = server().await;
    let header = format!("[{}, 200, text/plain]\n\n", server.url("/most"));
    let bytes = (90_000 + header.len()) as u64;
    for (max_tokens, is_error) in [(bytes / 4, false), (bytes / 4 - 1, true)] {
        let rules = Rules {
            max_tokens,
            ..rules(&server)
        };
        let tools = tools(root.path(), rules);
        let told = answer(&tools, "web_fetch", &json!({ "url": server.url("/most") })).await;
        assert_eq!(told.is_error, is_error, "{told:?}");
    }
}

#[tokio::test]
async fn what_is_too_much_is_given_whole_to_a_pipeline() {
    let root = tempfile::tempdir().unwrap();
    let server = server().await;
    let rules = Rules {
        on_overflow: OnOverflow::Offload,
        ..rules(&server)
    };
    let tools = tools(root.path(), rules);
    let told = answer(&tools, "web_fetch", &json!({ "url": server.url("/more") })).await;
    assert!(!told.is_error);
    let Body::Oversized(OversizedOutput { mut whole, .. }) = told.body else {
        panic!("{:?}", told.body);
    };
    let mut text = String::new();
    whole.read_to_string(&mut text).unwrap();
    assert!(text.starts_with('[') && text.ends_with(&"x".repeat(100_004)));
}

#[tokio::test]
async fn no_advice_leads_to_the_next_refusal() {
    let root = tempfile::tempdir().unwrap();
    let server = server().await;
    let rules = Rules {
        writable: Writable::Nowhere,
        ..rules(&server)
    };
    let definition = tools(root.path(), rules.clone()).definitions();
    let definition = definition
        .iter()
        .find(|known| known.name == "web_fetch")
        .unwrap();
    assert!(
        definition.is_read_only
            && !definition.schema["properties"]
                .to_string()
                .contains("save_to")
    );
    let tools = tools(root.path(), rules);
    let mut told = Vec::new();
    for arguments in [
        json!({ "url": server.url("/more") }),
        json!({ "url": server.url("/huge") }),
        json!({ "url": server.url("/pdf") }),
        json!({ "url": server.url("/page"), "save_to": "x" }),
    ] {
        told.push(server.masked(&call(&tools, "web_fetch", &arguments).await));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    Error: Page content (~25013 tokens) exceeds maximum allowed tokens (25000). Nothing may be saved here; please fetch a page with less in it.
    Error: The response of HOST is larger than the maximum of 5242880 bytes (the server declares 6291456 bytes). Nothing may be saved here; please fetch a page with less in it.
    Error: http://SERVER/pdf is application/pdf, 11 bytes: no text that could be shown. Nothing may be saved here; please use another source.
    Error: Nothing may be saved here. Leave save_to out.
    ");
}

#[tokio::test]
async fn what_is_switched_off_says_so() {
    let root = tempfile::tempdir().unwrap();
    let rules = Rules {
        web: None,
        ..Rules::default()
    };
    let tools = tools(root.path(), rules);
    let told = call(
        &tools,
        "web_fetch",
        &json!({ "url": "https://example.com/" }),
    )
    .await;
    assert_eq!(told, "Error: web_fetch is switched off here.");
    assert!(
        tools
            .definitions()
            .iter()
            .all(|known| known.name != "web_fetch")
    );
}

#[test]
fn the_definition_says_what_holds() {
    let root = tempfile::tempdir().unwrap();
    let fetcher = spillgate_web::Fetcher::new(FetchSettings::default());
    let rules = Rules {
        web: Some(fetcher),
        ..Rules::default()
    };
    let definitions = tools(root.path(), rules).definitions();
    let known = definitions
        .iter()
        .find(|known| known.name == "web_fetch")
        .unwrap();
    let schema = serde_json::to_string_pretty(&known.schema).unwrap();
    insta::assert_snapshot!(format!("{}\n{schema}", known.description), @r#"
    Fetch a page of the public web. HTML becomes Markdown: the main part, with absolute links; scripts are not run. Text and JSON stay as they are. Redirects are followed; private addresses are refused, and nothing is logged in to. A page of more than 25000 tokens is refused, never cut: use save_to to save it to a file instead, then grep_content or read_file to read it.
    {
      "properties": {
        "raw": {
          "default": false,
          "description": "Give a page's HTML as it is.",
          "type": "boolean"
        },
        "save_to": {
          "description": "A new file, relative to the root, to which the content is saved. Only a confirmation is returned. Needed for PDFs, images and archives.",
          "type": "string"
        },
        "timeout": {
          "default": 30,
          "description": "Seconds.",
          "maximum": 120,
          "minimum": 1,
          "type": "integer"
        },
        "url": {
          "description": "A whole http or https URL.",
          "type": "string"
        }
      },
      "required": [
        "url"
      ],
      "type": "object"
    }
    "#);
}
