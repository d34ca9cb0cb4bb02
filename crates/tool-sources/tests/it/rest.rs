//! Tests tools that are HTTP requests.

use std::io::Read;
use std::sync::atomic::Ordering;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_tool_sources::{RestTool, RestTools};
use tokio::task::spawn_blocking;

use crate::web::{BLOCK, BLOCKS, Web, client};
use crate::{called, told};

fn tool(web: &Web, mut value: Value) -> RestTools {
    let url = value["url"].as_str().unwrap();
    value["url"] = url.replace("HOST", &web.address.to_string()).into();
    value["description"] = "what it is for".into();
    let tool = RestTool::from_value("t", &value).unwrap();
    RestTools::one("t", &tool, client()).unwrap()
}

/// Returns the request as the server received it, or the error text for the model.
async fn asked(web: &Web, value: Value, arguments: Value) -> String {
    let tool = tool(web, value);
    web.masked(&told(&tool, "t", &arguments.to_string()).await)
}

#[tokio::test]
async fn arguments_go_into_the_address() {
    let web = Web::start().await;
    let get = json!({
        "url": "http://HOST/items/${id}?fixed=1&q=${parameters.q}&gone=${gone}",
        "headers": {"X-Key": "k ${key}"},
        "query": ["tag"],
    });
    let delete = json!({"method": "delete", "url": "http://HOST/items/${id}"});
    let all_places = json!({"id": 7, "q": "a b&c=d", "key": "v", "tag": ["x", "y z"], "rest": true, "none": null});
    let mut all = Vec::new();
    for (value, arguments) in [
        (get.clone(), all_places),
        (get, json!({"id": "a/b?c#d", "q": "ü"})),
        (delete, json!({"id": "x", "force": true})),
    ] {
        all.push(asked(&web, value, arguments).await);
    }
    assert_snapshot!(all.join("\n---\n"), @"
    GET /items/7?fixed=1&q=a%20b%26c%3Dd&tag=x&tag=y+z&rest=true
    x-key: k v
    ---
    GET /items/a%2Fb%3Fc%23d?fixed=1&q=%C3%BC
    ---
    DELETE /items/x?force=true
    ");
}

#[tokio::test]
async fn arguments_go_into_the_body() {
    let web = Web::start().await;
    let template = json!({"query": {"text": "${q}", "size": "${n}", "all": ["${q}", "${gone}"]}, "note": "about ${q}"});
    let mut all = Vec::new();
    for (more, arguments) in [
        (json!({}), json!({"a": 1.0, "b": {"c": [null]}})),
        (json!({"body": "form"}), json!({"a": "1 & 2", "b": [1, 2]})),
        (
            json!({"bodyTemplate": template}),
            json!({"q": "say \"hi\"", "n": 10, "unused": 1}),
        ),
        (
            json!({"bodyTemplate": "{\"query\": ${q}, \"n\": ${parameters.n}}"}),
            json!({"q": "\", \"admin\": true, \"x\": \"", "n": [1]}),
        ),
        (
            json!({"method": "PUT", "headers": {"Content-Type": "application/merge-patch+json"}}),
            json!({}),
        ),
    ] {
        let mut value = json!({"method": "POST", "url": "http://HOST/items"});
        for (name, member) in more.as_object().unwrap() {
            value[name] = member.clone();
        }
        all.push(asked(&web, value, arguments).await);
    }
    assert_snapshot!(all.join("\n---\n"), @r#"
    POST /items
    content-type: application/json
    {"a":1.0,"b":{"c":[null]}}
    ---
    POST /items
    content-type: application/x-www-form-urlencoded
    a=1+%26+2&b=1&b=2
    ---
    POST /items
    content-type: application/json
    {"note":"about say \"hi\"","query":{"all":["say \"hi\""],"size":10,"text":"say \"hi\""}}
    ---
    POST /items
    content-type: application/json
    {"n":[1],"query":"\", \"admin\": true, \"x\": \""}
    ---
    PUT /items
    content-type: application/merge-patch+json
    {}
    "#);
}

#[tokio::test]
async fn nothing_leaves_its_place() {
    let web = Web::start().await;
    let value =
        json!({"url": "http://HOST/users/${user}/files/${file}", "headers": {"X-Key": "${key}"}});
    let mut all = Vec::new();
    for arguments in [
        json!({"user": "..", "file": "x"}),
        json!({"user": ".", "file": "x"}),
        json!({"user": "", "file": "x"}),
        json!({"file": "x"}),
        json!({"user": "../../admin", "file": "%2e%2e"}),
        json!({"user": "a\\..\\b", "file": "x\r\nHost: evil"}),
        json!({"user": "a", "file": "//evil.example/@x:1"}),
        json!({"user": "a", "file": "b", "key": "x\r\nX-Admin: 1"}),
        json!({"user": "a", "file": "b", "key": "nul\u{0}"}),
    ] {
        all.push(asked(&web, value.clone(), arguments).await);
    }
    assert_snapshot!(all.join("\n"), @r#"
    ERROR The argument `user` is a part of a path: it cannot be "..".
    ERROR The argument `user` is a part of a path: it cannot be ".".
    ERROR The argument `user` is a part of a path: it cannot be "".
    ERROR The address needs the argument `user`.
    GET /users/..%2F..%2Fadmin/files/%252e%252e
    GET /users/a%5C..%5Cb/files/x%0D%0AHost%3A%20evil
    GET /users/a/files/%2F%2Fevil.example%2F%40x%3A1
    ERROR The argument `key` goes into a header: it can have no line ends and no control characters.
    ERROR The argument `key` goes into a header: it can have no line ends and no control characters.
    "#);
}

#[tokio::test]
async fn arguments_must_fit_the_schema() {
    let web = Web::start().await;
    let value = json!({
        "url": "http://HOST/${id}",
        "parametersSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer", "minimum": 1}},
            "required": ["id"],
            "additionalProperties": false,
        },
    });
    let tool = tool(&web, value);
    let mut all = Vec::new();
    for arguments in [
        "{\"id\": 3}",
        "{\"id\": 0}",
        "",
        "{\"id\": 1, \"x\": 2}",
        "{\"id\"",
        "[]",
        "7",
    ] {
        all.push(told(&tool, "t", arguments).await);
    }
    all.push(told(&tool, "other", "{}").await);
    assert_snapshot!(all.join("\n"), @r#"
    GET /3
    ERROR The arguments do not fit the tool's schema: /id: 0 is less than the minimum of 1
    ERROR The arguments do not fit the tool's schema: "id" is a required property
    ERROR The arguments do not fit the tool's schema: Additional properties are not allowed ('x' was unexpected)
    ERROR The arguments are no JSON: EOF while parsing an object at line 1 column 5.
    ERROR The arguments do not fit the tool's schema: [] is not of type "object"
    ERROR The arguments do not fit the tool's schema: 7 is not of type "object"
    ERROR There is no tool 'other'.
    "#);
}

#[tokio::test]
async fn what_goes_wrong_is_told() {
    let web = Web::start().await;
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let mut all = Vec::new();
    for url in [
        "http://HOST/missing",
        "http://HOST/empty",
        "http://HOST/around",
        "http://HOST/file",
    ] {
        all.push(asked(&web, json!({"url": url}), json!({})).await);
    }
    let gone = asked(
        &web,
        json!({"url": format!("http://{nobody}/?key=secret")}),
        json!({}),
    )
    .await;
    all.push(gone.replace(&nobody, "NOBODY"));
    assert_snapshot!(all.join("\n"), @"
    ERROR GET HOST answered with HTTP 404 Not Found.
    no such thing
    (GET HOST: HTTP 204 No Content, without a body)
    ERROR GET HOST was redirected more than 5 times. The tool's address is wrong.
    ERROR GET HOST was redirected to an address that is not a web address.
    ERROR GET NOBODY could not be reached: Connection refused (os error 111). The service may be down; try it later.
    ");
}

#[tokio::test]
async fn redirects_take_no_secrets_along() {
    let other = Web::start().await;
    let web = Web::beside(Some(other.address)).await;
    let headers = json!({"Authorization": "Bearer secret", "X-Key": "secret"});
    let mut all = Vec::new();
    for (method, path) in [
        ("POST", "moved"),
        ("POST", "seen"),
        ("GET", "away"),
        ("POST", "away"),
        ("POST", "sent-away"),
        ("DELETE", "away"),
    ] {
        let value =
            json!({"method": method, "url": format!("http://HOST/{path}"), "headers": headers});
        let told = asked(&web, value, json!({"a": 1})).await;
        all.push(format!("{method} {path}: {}", other.masked(&told)));
    }
    assert_snapshot!(all.join("\n"), @r#"
    POST moved: POST /here?q=1
    authorization: Bearer secret
    content-type: application/json
    x-key: secret
    {"a":1}
    POST seen: GET /here
    authorization: Bearer secret
    x-key: secret
    GET away: GET /there
    POST away: GET /there
    POST sent-away: ERROR POST HOST was redirected to another host, 127.0.0.1, which the tool does not name: nothing was sent there.
    DELETE away: ERROR DELETE HOST was redirected to another host, 127.0.0.1, which the tool does not name: nothing was sent there.
    "#);
}

#[tokio::test]
async fn a_response_that_never_ends_is_cut_off() {
    let web = Web::start().await;
    let told = asked(
        &web,
        json!({"url": "http://HOST/endless", "timeoutS": 1}),
        json!({}),
    )
    .await;
    let (lines, end) = told.split_once('…').unwrap();
    assert!(lines.starts_with("more\nmore\n"), "{lines}");
    assert!(end.starts_with("broken: GET HOST did not"), "{end}");
    assert!(end.contains("did not come to its end within 1 s"), "{end}");
}

#[tokio::test]
async fn a_response_has_a_largest_size() {
    let web = Web::start().await;
    let value = json!({"url": "http://HOST/large", "maxResponseBytes": 2 << 20});
    let told = asked(&web, value, json!({})).await;
    let end = told.split_once('…').unwrap().1;
    assert!(end.ends_with("gave more than 2097152 bytes"), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_response_streams() {
    let web = Web::start().await;
    let tool = tool(&web, json!({"url": "http://HOST/large"}));
    let mut given = called(&tool, "t", "{}").await;
    given = spawn_blocking(move || {
        let mut first = vec![0; BLOCK];
        given.body.read_exact(&mut first).unwrap();
        given
    })
    .await
    .unwrap();
    // The rest of the body is not read, so the server stops sending.
    let mut sent = 0;
    while sent != web.sent.load(Ordering::Relaxed) {
        sent = web.sent.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(sent < BLOCKS / 2, "{sent} MiB are somewhere");
    let rest =
        spawn_blocking(move || std::io::copy(&mut given.body, &mut std::io::sink()).unwrap());
    assert_eq!(rest.await.unwrap(), ((BLOCKS - 1) * BLOCK) as u64);
}

#[test]
fn descriptions_that_cannot_be_used() {
    let mut all = Vec::new();
    for value in [
        json!({"url": "http://h/"}),
        json!({"description": "d", "url": "http://h/", "retries": 3}),
        json!({"description": "d", "url": "http://h/", "method": "TRACE"}),
        json!({"description": "d", "url": "ftp://h/x"}),
        json!({"description": "d", "url": "http://${host}/x"}),
        json!({"description": "d", "url": "/x"}),
        json!({"description": "d", "url": "http://h/${}"}),
        json!({"description": "d", "url": "http://h/", "headers": {"a b": "c"}}),
        json!({"description": "d", "url": "http://h/", "headers": {"Host": "evil"}}),
        json!({"description": "d", "url": "http://h/", "timeoutS": 0}),
        json!({"description": "d", "url": "http://h/", "method": "POST", "body": "json", "bodyTemplate": {}}),
        json!({"description": "d", "url": "http://h/", "method": "POST", "bodyTemplate": "{\"a\": \"x${q}"}),
        json!({"description": "d", "url": "http://h/", "parametersSchema": {"$ref": "http://h/schema"}}),
        json!({"description": "d", "url": "http://h/", "parametersSchema": true}),
        json!({"description": "d", "url": "http://h/${id}", "parametersSchema": {"properties": {"i": {}}}}),
        json!({"description": "d", "url": "http://h/", "method": "POST", "bodyTemplate": {"a": "${id}"}, "parametersSchema": {"properties": {"i": {}}}}),
    ] {
        let tool = RestTool::from_value("t", &value);
        let tool = tool.and_then(|tool| RestTools::one("t", &tool, client()));
        all.push(tool.unwrap_err().to_string());
    }
    assert_snapshot!(all.join("\n"), @r#"
    the REST tool `t`: its members: missing field `description`
    the REST tool `t`: its members: unknown field `retries`, expected one of `description`, `method`, `url`, `headers`, `parametersSchema`, `query`, `body`, `bodyTemplate`, `timeoutS`, `maxResponseBytes`
    the REST tool `t`: its members: unknown variant `TRACE`, expected one of `GET`, `get`, `POST`, `post`, `PUT`, `put`, `PATCH`, `patch`, `DELETE`, `delete`
    the REST tool `t`: url: must begin with http:// or https:// and a host
    the REST tool `t`: url: has a placeholder before its path, but a model must not choose the server
    the REST tool `t`: url: is not a URL: relative URL without a base
    the REST tool `t`: url: has a `${` that is not a placeholder: write ${parameters.NAME}
    the REST tool `t`: headers.a b: "a b" is not the name of a header
    the REST tool `t`: headers.Host: is set by the connection: leave it out
    the REST tool `t`: timeoutS: must be at least 1
    the REST tool `t`: bodyTemplate: cannot be combined with `body`, because a request has one body
    the REST tool `t`: bodyTemplate: is not JSON with placeholders in place of values
    the REST tool `t`: parametersSchema: Resource 'http://h/schema' is not present in a registry and retrieving it failed: `resolve-http` feature or a custom resolver is required to resolve external schemas via HTTP
    the REST tool `t`: parametersSchema: must be a JSON Schema of an object
    the REST tool `t`: parametersSchema: has no property `id`, which a placeholder needs
    the REST tool `t`: parametersSchema: has no property `id`, which a placeholder needs
    "#);
}

#[tokio::test]
async fn an_error_that_does_not_end_is_told() {
    let web = Web::start().await;
    let failing = tool(&web, json!({"url": "http://HOST/failing"}));
    let told = told(&failing.within(Duration::from_secs(1)), "t", "{}").await;
    assert_snapshot!(web.masked(&told), @"
    ERROR GET HOST answered with HTTP 500 Internal Server Error.
    quota exceeded… [GET HOST did not come to its end within 1 s (14 bytes came)]
    ");
}

#[tokio::test]
async fn a_dollar_begins_no_placeholder() {
    let web = Web::start().await;
    let value = json!({
        "method": "POST",
        "url": "http://HOST/${$}{id}/${$}${id}?q=${$}{id}",
        "headers": {"X-Key": "${$}{id}"},
        "bodyTemplate": {"a": "${$}{id}", "b": "${id}"},
    });
    assert_snapshot!(asked(&web, value, json!({"id": 7})).await, @r#"
    POST /$%7Bid%7D/$7?q=${id}
    content-type: application/json
    x-key: ${id}
    {"a":"${id}","b":7}
    "#);
}

#[test]
fn secrets_are_not_told() {
    let mut all = Vec::new();
    for value in [
        json!({"url": "http://h/secret${}"}),
        json!({"url": "http://h/?k=secret${}"}),
        json!({"url": "http://h/", "headers": {"X": "secret ${a b}"}}),
        json!({"url": "http://h/", "method": "POST", "bodyTemplate": {"a": "secret ${a b}"}}),
        json!({"url": "secret"}),
    ] {
        let mut value = value;
        value["description"] = "d".into();
        let tool = RestTool::from_value("t", &value).unwrap();
        all.push(
            RestTools::one("t", &tool, client())
                .unwrap_err()
                .to_string(),
        );
    }
    let all = all.join("\n");
    assert!(!all.contains("secret"), "{all}");
}

#[test]
fn secrets_are_not_printed() {
    let value = json!({"description": "d", "url": "http://h/secret/x?key=secret", "headers": {"Authorization": "Bearer secret"}});
    let tool = RestTool::from_value("t", &value).unwrap();
    let printed = format!(
        "{tool:?} {:?}",
        RestTools::one("t", &tool, client()).unwrap()
    );
    assert!(!printed.contains("secret"), "{printed}");
}
