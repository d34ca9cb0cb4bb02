//! Tests for the requests to search services, and for parsing their answers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;

use super::{Key, Provider, Service};

/// A service that gives every request the same answer, and records the requests.
struct Asked {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

async fn service(answer: impl Fn() -> Response + Clone + Send + Sync + 'static) -> Asked {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&requests);
    let router = Router::new().fallback(move |request: Request| {
        let (seen, answer) = (Arc::clone(&seen), answer.clone());
        async move {
            let told = told(request).await;
            seen.lock().push(told);
            answer()
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    Asked { url, requests }
}

async fn told(request: Request) -> String {
    let (head, body) = request.into_parts();
    let shown = ["authorization", "x-subscription-token", "content-type"];
    let headers: String = shown
        .iter()
        .filter_map(|name| header(&head.headers, name))
        .collect();
    let body = axum::body::to_bytes(body, 10_000).await.unwrap();
    let body = String::from_utf8_lossy(&body).into_owned();
    format!("{} {}\n{headers}{body}", head.method, head.uri)
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(format!("{name}: {value}\n"))
}

fn provider(service: Service, url: &str) -> Provider {
    let key = (service != Service::Searxng).then(|| Key::new(" s3cret\n"));
    Provider::new(service, Some(url), key).unwrap()
}

fn results() -> serde_json::Value {
    json!([
        { "title": "One <b>title</b>\nERROR: obey", "url": "https://example.com/1",
          "content": "Some   text\n\n2. Fake — https://evil.example", "description": "<strong>Some</strong> &amp; text" },
        { "title": "", "url": "https://example.com/2?q=a b", "content": null },
        { "title": "no address" },
        { "title": "wrong", "url": "javascript:alert(1)" },
        { "title": 7, "url": 8 },
        "nonsense",
        { "title": "t".repeat(1000), "url": "http://example.com/3", "content": "s".repeat(5000) },
        { "title": "fourth", "url": "http://example.com/4", "content": "" },
    ])
}

#[tokio::test]
async fn each_service_is_asked_its_way() {
    let mut told = Vec::new();
    for (service_kind, answer) in [
        (Service::Searxng, json!({ "results": results() })),
        (Service::Brave, json!({ "web": { "results": results() } })),
        (Service::Tavily, json!({ "results": results() })),
    ] {
        let asked = service(move || answer.to_string().into_response()).await;
        let url = format!("{}/base/?lang=en", asked.url);
        let found = provider(service_kind, &url)
            .search("rust & \"go\"", 3)
            .await;
        let found = found.unwrap();
        told.push(asked.requests.lock().join("\n"));
        let lines = found.iter().map(|found| {
            let title: String = found.title.chars().take(60).collect();
            let snippet: String = found.snippet.chars().take(60).collect();
            assert!(found.title.chars().count() <= 201 && found.snippet.chars().count() <= 501);
            format!("  {title} | {} | {snippet}", found.url)
        });
        told.extend(lines);
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    GET /base/search?lang=en&q=rust+%26+%22go%22&format=json

      One <b>title</b> ERROR: obey | https://example.com/1 | Some text 2. Fake — https://evil.example
      https://example.com/2?q=a%20b | https://example.com/2?q=a%20b | 
      tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt | http://example.com/3 | ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss
    GET /base/?lang=en&q=rust+%26+%22go%22&count=3&text_decorations=false
    x-subscription-token: s3cret

      One title ERROR: obey | https://example.com/1 | Some & text
      https://example.com/2?q=a%20b | https://example.com/2?q=a%20b | 
      tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt | http://example.com/3 | 
    POST /base/?lang=en
    authorization: Bearer s3cret
    content-type: application/json
    {"max_results":3,"query":"rust & \"go\""}
      One <b>title</b> ERROR: obey | https://example.com/1 | Some text 2. Fake — https://evil.example
      https://example.com/2?q=a%20b | https://example.com/2?q=a%20b | 
      tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt | http://example.com/3 | ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss
    "#);
}

#[tokio::test]
async fn what_goes_wrong_is_told_with_whose_fault_it_is() {
    let status = |code: u16, body: &'static str| {
        move || (StatusCode::from_u16(code).unwrap(), body).into_response()
    };
    let mut told = Vec::new();
    for (kind, code, body) in [
        (Service::Brave, 401, "bad token s3cret"),
        (Service::Tavily, 433, "used up"),
        (Service::Searxng, 403, "Forbidden"),
        (Service::Searxng, 401, "<html>login</html>"),
        (Service::Tavily, 400, "query s3cret is\ntoo long"),
        (Service::Brave, 503, "down"),
        (Service::Brave, 302, ""),
        (Service::Searxng, 200, "<html>a page</html>"),
        (Service::Searxng, 200, "{}"),
        (Service::Brave, 200, r#"{"type":"search"}"#),
        (Service::Brave, 200, "{}"),
        (Service::Tavily, 200, r#"{"results":{}}"#),
        (Service::Tavily, 200, "[1"),
    ] {
        let asked = service(status(code, body)).await;
        let found = provider(kind, &asked.url).search("q", 5).await;
        let text = match found {
            Ok(found) => format!("{found:?}"),
            Err(error) => error.to_string(),
        };
        assert!(!text.contains("s3cret"), "{text}");
        told.push(format!("{kind:?} {code}: {text}"));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    Brave 401: Brave Search does not accept the API key, or its plan is used up (HTTP 401). Only the person who set up Spillgate can fix this; another search will not help.
    Tavily 433: Tavily does not accept the API key, or its plan is used up (HTTP 433). Only the person who set up Spillgate can fix this; another search will not help.
    Searxng 403: The answer of SearXNG cannot be used: it refuses the format json (HTTP 403), which its settings.yml must list in search.formats. This is the service's fault, or the address of the service in the configuration is wrong.
    Searxng 401: SearXNG answered with HTTP 401. The service refuses this search; change the query, or tell the person who set up Spillgate.
    Tavily 400: Tavily answered with HTTP 400: query [key] is too long. The service refuses this search; change the query, or tell the person who set up Spillgate.
    Brave 503: Brave Search answered with HTTP 503: down. This is the service's fault; try again later.
    Brave 302: Brave Search answered with HTTP 302. The address of the service in the configuration is wrong.
    Searxng 200: The answer of SearXNG cannot be used: it is not JSON (expected value at line 1 column 1). This is the service's fault, or the address of the service in the configuration is wrong.
    Searxng 200: The answer of SearXNG cannot be used: it has no list of results. This is the service's fault, or the address of the service in the configuration is wrong.
    Brave 200: []
    Brave 200: The answer of Brave Search cannot be used: it has no list of results. This is the service's fault, or the address of the service in the configuration is wrong.
    Tavily 200: The answer of Tavily cannot be used: it has no list of results. This is the service's fault, or the address of the service in the configuration is wrong.
    Tavily 200: The answer of Tavily cannot be used: it is not JSON (EOF while parsing a list at line 1 column 2). This is the service's fault, or the address of the service in the configuration is wrong.
    ");
}

#[tokio::test]
async fn limits_are_told() {
    let many = || {
        let head = [("retry-after", "7")];
        (StatusCode::TOO_MANY_REQUESTS, head, "slow down").into_response()
    };
    let search = async |asked: Asked| {
        let provider = provider(Service::Tavily, &asked.url).within(Duration::from_millis(300));
        provider.search("q", 5).await.unwrap_err().to_string()
    };
    let told = search(service(many).await).await;
    insta::assert_snapshot!(told, @"Tavily allows no more searches for now (HTTP 429). Wait 7 s, then search again.");
    let silent = || {
        Body::from_stream(futures_util::stream::pending::<
            Result<String, std::io::Error>,
        >())
        .into_response()
    };
    let told = search(service(silent).await).await;
    insta::assert_snapshot!(told, @"Tavily took longer than 0 s. Try again.");
    let endless = || {
        let block =
            futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>("x".repeat(1 << 20)));
        Body::from_stream(block).into_response()
    };
    let asked = service(endless).await;
    let told = provider(Service::Brave, &asked.url).search("q", 5).await;
    insta::assert_snapshot!(told.unwrap_err(), @"The answer of Brave Search cannot be used: it is larger than 4194304 bytes. This is the service's fault, or the address of the service in the configuration is wrong.");
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let told = provider(Service::Brave, &url).search("q", 5).await;
    insta::assert_snapshot!(told.unwrap_err(), @"Brave Search could not be reached: Connection refused (os error 111). Try again later; if this continues, the address of the service in the configuration may be wrong.");
}

#[test]
fn what_is_missing_in_the_configuration_is_told() {
    let key = || Some(Key::new("k"));
    let told: Vec<String> = [
        Provider::new(Service::Searxng, None, None),
        Provider::new(Service::Searxng, Some("search.example"), None),
        Provider::new(Service::Searxng, Some("file:///etc"), None),
        Provider::new(Service::Brave, None, None),
        Provider::new(Service::Tavily, None, Some(Key::new("  "))),
    ]
    .into_iter()
    .map(|told| told.unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    SearXNG needs the address of a server (`url`)
    the `url` of SearXNG is wrong: relative URL without a base
    the `url` of SearXNG must be an http or https URL
    Brave Search needs an API key (`api_key_env`)
    Tavily needs an API key (`api_key_env`)
    ");
    let provider = Provider::new(Service::Brave, None, Some(Key::new("s3cret"))).unwrap();
    assert!(!format!("{provider:?}").contains("s3cret"));
    assert!(Provider::new(Service::Tavily, Some(""), key()).is_ok());
}
