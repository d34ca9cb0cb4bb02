//! Tests of the checks of Host and Origin, and of the pages other than the endpoint.

use reqwest::Method;
use serde_json::Value;
use spillgate_config::Naming;
use spillgate_http_server::{Health, HttpServerSettings, Rate, RateBy};

use crate::running::{Running, initialize};

#[tokio::test]
async fn names_of_others_and_pages_of_others_are_refused() {
    let settings = HttpServerSettings {
        allow_hosts: vec![
            "mcp.example.org".to_owned(),
            "other.example:8443".to_owned(),
        ],
        allow_origins: vec![
            "https://app.example.org".to_owned(),
            "http://plain.example:8080".to_owned(),
        ],
        ..HttpServerSettings::default()
    };
    let front = Running::new(settings).await;
    let port = front.at.port();
    for (host, status) in [
        ("localhost".to_owned(), 200),
        (format!("LOCALHOST:{port}"), 200),
        ("127.0.0.1:1".to_owned(), 200),
        ("[::1]".to_owned(), 200),
        ("mcp.example.org".to_owned(), 200),
        ("MCP.example.org:99".to_owned(), 200),
        ("other.example:8443".to_owned(), 200),
        ("other.example".to_owned(), 403),
        ("evil.example".to_owned(), 403),
        (format!("evil.example:{port}"), 403),
        ("localhost.evil.example".to_owned(), 403),
        ("mcp.example.org.evil.example".to_owned(), 403),
        ("a@localhost".to_owned(), 403),
        ("192.0.2.1".to_owned(), 403),
        ("0.0.0.0".to_owned(), 403),
        (String::new(), 403),
    ] {
        let post = front.post(&initialize()).header("host", &host);
        assert_eq!(post.send().await.unwrap().status(), status, "{host}");
    }
    for (origin, status) in [
        ("http://localhost:5173", 200),
        ("https://127.0.0.1", 200),
        ("http://[::1]:80", 200),
        ("https://app.example.org", 200),
        ("https://app.example.org:443", 200),
        ("HTTPS://APP.example.org", 200),
        ("http://plain.example:8080", 200),
        ("http://app.example.org", 403),
        ("https://app.example.org:8443", 403),
        ("https://app.example.org.evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost@evil.example", 403),
        ("http://plain.example", 403),
        ("null", 403),
        ("", 403),
        ("localhost", 403),
    ] {
        let post = front.post(&initialize()).header("origin", origin);
        assert_eq!(post.send().await.unwrap().status(), status, "{origin}");
    }
}

#[tokio::test]
async fn a_browser_asks_first() {
    let front = Running::usual().await;
    for (origin, status, allowed) in [
        ("http://localhost:5173", 200, true),
        ("https://evil.example", 403, false),
    ] {
        let preflight = front.request(Method::OPTIONS).header("origin", origin);
        let preflight = preflight
            .header("access-control-request-method", "POST")
            .header(
                "access-control-request-headers",
                "mcp-session-id,content-type",
            );
        let response = preflight.send().await.unwrap();
        assert_eq!(response.status(), status);
        let headers = response.headers();
        let is_allowed = headers
            .get("access-control-allow-origin")
            .is_some_and(|got| got == origin);
        assert_eq!(is_allowed, allowed);
    }
    let post = front
        .post(&initialize())
        .header("origin", "http://localhost:5173");
    let response = post.send().await.unwrap();
    let exposed = response.headers()["access-control-expose-headers"]
        .to_str()
        .unwrap();
    assert!(exposed.contains("mcp-session-id"), "{exposed}");
}

#[tokio::test]
async fn rates_are_kept() {
    let rate = |by| HttpServerSettings {
        rate: Some(Rate {
            per_second: 1,
            burst: Some(2),
            by,
        }),
        ..HttpServerSettings::default()
    };
    let front = Running::new(rate(RateBy::Ip)).await;
    let mut refused = 0;
    for _ in 0..20 {
        let response = front.post(&initialize()).send().await.unwrap();
        if response.status() == 429 {
            assert_eq!(response.headers()["retry-after"], "1");
            refused += 1;
        }
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn health_and_metrics_have_pages() {
    let front = Running::with(HttpServerSettings::default(), |front| {
        let health = || Health {
            version: "1.2.3".to_owned(),
            servers_up: 1,
            servers: 2,
            required_down: 0,
        };
        front.health(health).metrics(|| "up 1\n".to_owned())
    })
    .await;
    let page = |path: &str| front.http.get(format!("http://{}{path}", front.at)).send();
    let health = page("/healthz").await.unwrap();
    assert_eq!(health.status(), 200);
    insta::assert_snapshot!(health.text().await.unwrap(), @r#"{"servers":{"all":2,"up":1},"status":"ok","version":"1.2.3"}"#);
    assert_eq!(
        page("/metrics").await.unwrap().text().await.unwrap(),
        "up 1\n"
    );
    assert_eq!(page("/").await.unwrap().status(), 404);
    let down = |front: spillgate_http_server::HttpServer| {
        front.health(|| Health {
            servers: 1,
            ..Health::default()
        })
    };
    let front = Running::with(HttpServerSettings::default(), down).await;
    let response = front
        .http
        .get(format!("http://{}/healthz", front.at))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 503);
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!(body["status"], "no server is up");
}

#[test]
fn settings_are_read_and_misspelt_ones_found() {
    let read = |text: &str| {
        let root = spillgate_config::toml::parse(text).unwrap();
        spillgate_config::read::<HttpServerSettings>(&root, Naming::Exact)
    };
    let settings = read(
        "listen = \"127.0.0.1:9000\"\nrate = { per_second = 5 }\n\
         [auth]\nkind = \"bearer\"\ntoken_files = [\"tokens\"]\n",
    )
    .unwrap();
    assert_eq!(settings.listen.port(), 9000);
    assert_eq!(settings.max_body_bytes, 16 << 20);
    for wrong in [
        "lisen = 1",
        "[auth]\nkind = \"magic\"",
        "[auth]\nkind = \"bearer\"\nx = 1",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
