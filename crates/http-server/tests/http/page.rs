//! Tests of the routes of a page for a person: who reaches them, and who the server says that asks.

use axum::extract::Request;
use axum::{Router, routing};
use futures_util::{StreamExt, stream};
use insta::assert_snapshot;
use reqwest::Method;
use serde_json::{Value, json};
use spillgate_http_api::Caller;
use spillgate_http_server::{HttpServerSettings, Token};

use crate::running::Running;

/// A page that answers with the name of the caller, and with the body.
fn page() -> Router {
    let told = async |request: Request| {
        let caller = request.extensions().get::<Caller>().cloned();
        let body = axum::body::to_bytes(request.into_body(), 1 << 20).await;
        let body = String::from_utf8(body.unwrap().to_vec()).unwrap();
        format!("{:?} {body}", caller.map(|Caller(name)| name))
    };
    Router::new()
        .route("/", routing::any(told))
        .route("/login", routing::any(told))
}

async fn running(auth: &Value) -> Running {
    let settings = HttpServerSettings {
        auth: serde_json::from_value(auth.clone()).unwrap(),
        ..HttpServerSettings::default()
    };
    let tokens = Token::in_file("first\nsecond\n").unwrap();
    let set = |front: spillgate_http_server::HttpServer| front.tokens(&tokens).page("/ui", page());
    Running::with(settings, set).await
}

#[tokio::test]
async fn only_pages_of_this_server_reach_it() {
    let front = running(&json!({ "kind": "none" })).await;
    let at = front.at;
    for (host, origin, status) in [
        (at.to_string(), None, 200),
        (at.to_string(), Some(format!("http://{at}")), 200),
        ("evil.example".to_owned(), None, 403),
        (
            at.to_string(),
            Some("http://localhost:5173".to_owned()),
            403,
        ),
        (
            at.to_string(),
            Some("http://127.0.0.1:5173".to_owned()),
            403,
        ),
        (at.to_string(), Some("https://evil.example".to_owned()), 403),
        (at.to_string(), Some("null".to_owned()), 403),
    ] {
        let mut request = front.http.get(format!("http://{at}/ui/"));
        request = request.header("host", &host);
        if let Some(origin) = &origin {
            request = request.header("origin", origin);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{host} {origin:?}");
        let cors = response.headers().get("access-control-allow-origin");
        assert_eq!(cors, None, "{host} {origin:?}");
    }
    // The MCP endpoint has its own rules.
    let request = front
        .request(Method::GET)
        .header("origin", "http://localhost:5173");
    assert_ne!(request.send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn a_token_names_the_caller_and_that_of_somebody_else_names_none() {
    let front = running(&json!({ "kind": "bearer", "token_env": ["TEAM"] })).await;
    let at = front.at;
    let mut told = Vec::new();
    for (method, path, token, form) in [
        (Method::GET, "/", None, ""),
        (Method::GET, "/", Some("first"), ""),
        (Method::GET, "/", Some("third"), ""),
        (Method::POST, "/login", None, "token=second"),
        (Method::POST, "/login", None, "token=+second%0A"),
        (Method::POST, "/login", None, "token=third"),
        (Method::POST, "/login", Some("first"), "token=third"),
        (Method::POST, "/", None, "token=second"),
    ] {
        let mut request = front
            .http
            .request(method.clone(), format!("http://{at}/ui{path}"));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let response = request.body(form).send().await.unwrap();
        let text = response.text().await.unwrap();
        // The name is a hash of the token.
        let text = text.replace("token ", "").replace('=', "");
        told.push(format!(
            "{method} {path} {token:?} {form}: {}",
            text.trim_end()
        ));
    }
    assert_snapshot!(told.join("\n"), @r#"
    GET / None : None
    GET / Some("first") : Some("p5N7ZLjKpY8Dchu2us9ceMsjX+vg5wsbhM2ZVBRhoI4")
    GET / Some("third") : None
    POST /login None token=second: Some("FjZ6rLZ6SgF8jairlWgsyzkIY3gPcRTdoKDgxVZEx8Q") tokensecond
    POST /login None token=+second%0A: Some("FjZ6rLZ6SgF8jairlWgsyzkIY3gPcRTdoKDgxVZEx8Q") token+second%0A
    POST /login None token=third: None tokenthird
    POST /login Some("first") token=third: None tokenthird
    POST / None token=second: None tokensecond
    "#);
    let large = "token=".to_owned() + &"x".repeat(40 << 10);
    let request = front.http.post(format!("http://{at}/ui/login")).body(large);
    assert_eq!(request.send().await.unwrap().status(), 413);
}

#[tokio::test]
async fn a_form_that_does_not_come_in_time_is_refused() {
    let settings = HttpServerSettings {
        auth: serde_json::from_value(json!({ "kind": "bearer", "token_env": ["TEAM"] })).unwrap(),
        read_seconds: 1,
        ..HttpServerSettings::default()
    };
    let tokens = Token::in_file("first\n").unwrap();
    let set = |front: spillgate_http_server::HttpServer| front.tokens(&tokens).page("/ui", page());
    let front = Running::with(settings, set).await;
    let first = Ok::<_, std::convert::Infallible>("token=");
    let slow = stream::iter([first]).chain(stream::pending());
    let login = front.http.post(format!("http://{}/ui/login", front.at));
    let answer = login.body(reqwest::Body::wrap_stream(slow)).send().await;
    assert_eq!(answer.unwrap().status(), 408);
}
