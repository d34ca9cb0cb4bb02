//! Tests of logins at an authorization server on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request as Visit;
use axum::response::Response;
use reqwest::header::HeaderValue;
use reqwest::{Client, Url};
use serde_json::{Value, json};
use spillgate_auth::{Callback, LoginAttempt, LoginError, LoginRequest, TokenKeeper, Vault};
use spillgate_transport::{Authority, Refused, http_client};

/// An MCP server that is its own authorization server. It accepts each refresh token once.
#[derive(Debug, Default)]
struct State {
    origin: String,
    /// The requests that the server received, in order.
    asked: Vec<String>,
    /// The number of tokens that the server issued.
    given: u32,
    /// The issuer that the server claims to be; `None` for the true one.
    issuer: Option<String>,
    /// Whether the server answers a refresh with an error.
    refuses: bool,
}

type Server = Arc<Mutex<State>>;

async fn server() -> (Server, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let state = Server::default();
    state.lock().unwrap().origin.clone_from(&origin);
    let shared = Arc::clone(&state);
    let router = Router::new().fallback(move |visit: Visit| {
        let state = Arc::clone(&shared);
        async move {
            let (head, body) = visit.into_parts();
            let body = to_bytes(body, 1 << 20).await.unwrap();
            answer(&mut state.lock().unwrap(), head.uri.path(), &body)
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (state, origin)
}

fn reply(status: u16, body: &Value) -> Response {
    let builder = Response::builder().status(status);
    let builder = builder.header("content-type", "application/json");
    builder.body(body.to_string().into()).unwrap()
}

fn answer(state: &mut State, path: &str, body: &Bytes) -> Response {
    let origin = state.origin.clone();
    match path {
        "/.well-known/oauth-protected-resource/mcp" => reply(
            200,
            &json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin],
                "scopes_supported": ["tools"]}),
        ),
        "/.well-known/oauth-authorization-server" => reply(
            200,
            &json!({"issuer": state.issuer.clone().unwrap_or(origin.clone()),
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}),
        ),
        "/register" => {
            let asked: Value = serde_json::from_slice(body).unwrap();
            state
                .asked
                .push(format!("register {}", asked["client_name"]));
            let redirects = asked["redirect_uris"].clone();
            reply(201, &json!({"client_id": "c1", "redirect_uris": redirects}))
        }
        "/token" => token(state, &form(body)),
        _ => reply(404, &json!({})),
    }
}

fn form(body: &Bytes) -> HashMap<String, String> {
    let text = std::str::from_utf8(body).unwrap();
    let url = Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

fn token(state: &mut State, form: &HashMap<String, String>) -> Response {
    let kind = form["grant_type"].as_str();
    let resource = form["resource"].replace(&state.origin, "");
    let shown = match kind {
        "authorization_code" => format!(
            "code {} verifier={}",
            form["code"],
            form.contains_key("code_verifier")
        ),
        _ => form["refresh_token"].clone(),
    };
    state.asked.push(format!("{kind} {shown} for {resource}"));
    let is_good = match kind {
        "authorization_code" => form["code"] == "good",
        _ => !state.refuses && form["refresh_token"] == format!("refresh{}", state.given),
    };
    if !is_good {
        let said = format!("no {shown} here");
        return reply(
            400,
            &json!({"error": "invalid_grant", "error_description": said}),
        );
    }
    state.given += 1;
    let given = state.given;
    reply(
        200,
        &json!({"access_token": format!("access{given}"), "token_type": "Bearer", "expires_in": 1,
            "refresh_token": format!("refresh{given}")}),
    )
}

fn client() -> Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let builder = http_client(Client::builder()).no_proxy();
    builder.tls_backend_preconfigured(tls).build().unwrap()
}

async fn attempt(origin: &str, redirect: &str) -> LoginAttempt {
    let request = LoginRequest {
        url: format!("{origin}/mcp"),
        redirect: redirect.to_owned(),
        ..LoginRequest::default()
    };
    LoginAttempt::begin(request, client()).await.unwrap()
}

fn state_of(attempt: &LoginAttempt) -> String {
    let page = Url::parse(attempt.page()).unwrap();
    let mut pairs = page.query_pairs();
    pairs
        .find(|(name, _)| name == "state")
        .unwrap()
        .1
        .into_owned()
}

/// Logs in as a browser does.
async fn log_in(origin: &str, vault: &Vault) {
    let callback = Callback::listen().await.unwrap();
    let attempt = attempt(origin, &callback.url()).await;
    let visit = format!("{}?code=good&state={}", callback.url(), state_of(&attempt));
    let browser = client();
    let ((), answer) = tokio::join!(
        async {
            let early = browser
                .get(visit.replace("state", "x"))
                .send()
                .await
                .unwrap();
            assert_eq!(early.status(), 400);
            assert!(
                browser
                    .get(&visit)
                    .send()
                    .await
                    .unwrap()
                    .status()
                    .is_success()
            );
        },
        callback.wait()
    );
    attempt.finish(&answer.unwrap(), vault).await.unwrap();
}

fn keeper(vault: &Vault, origin: &str) -> TokenKeeper {
    TokenKeeper::new(
        vault.clone(),
        &format!("{origin}/mcp"),
        "spillgate auth x",
        client(),
    )
}

fn refused(token: &str) -> Refused {
    Refused {
        credential: Some(HeaderValue::from_str(token).unwrap()),
        challenge: Some("Bearer error=\"invalid_token\"".to_owned()),
    }
}

/// Tests that a login stored by an earlier version can still be read.
#[tokio::test]
async fn an_old_login_is_read() {
    const NAME: &str = "23d3bab64dbe7d869b0ee285256c1b5f.json";
    let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spillgate/tests/written/logins");
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(written.join(NAME), directory.path().join(NAME)).unwrap();
    let vault = Vault::new(directory.path());
    let url = "http://127.0.0.1:37317/mcp";
    assert_eq!(vault.servers().unwrap(), [url]);
    assert!(vault.has(url).unwrap());
    let kept = keeper(&vault, "http://127.0.0.1:37317").credential().await;
    assert_eq!(kept.unwrap(), "Bearer access2");
}

#[tokio::test]
async fn a_login_is_kept_and_renewed_by_one_of_many() {
    let (state, origin) = server().await;
    let directory = tempfile::tempdir().unwrap();
    let vault = Vault::new(directory.path().join("auth"));
    let url = format!("{origin}/mcp");
    assert!(!vault.has(&url).unwrap());
    log_in(&origin, &vault).await;
    assert_eq!(vault.servers().unwrap(), std::slice::from_ref(&url));

    for entry in std::fs::read_dir(directory.path().join("auth")).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let kept = keeper(&vault, &origin).credential().await.unwrap();
    assert_eq!(kept, "Bearer access1");
    let printed = format!("{kept:?} {vault:?} {:?}", keeper(&vault, &origin));
    assert!(!printed.contains("access1"), "{printed}");

    // Eight gateways renew at the same time: the token is renewed once and all of them receive it.
    let all = (0..8).map(|_| keeper(&vault, &origin));
    let all = all.map(|keeper| async move { keeper.refused(refused("Bearer access1")).await });
    for renewed in futures_util::future::join_all(all).await {
        assert_eq!(renewed.unwrap(), "Bearer access2");
    }
    let asked = state.lock().unwrap().asked.join("\n");
    assert_eq!(
        asked,
        "register \"Spillgate\"\n\
         authorization_code code good verifier=true for /mcp\n\
         refresh_token refresh1 for /mcp"
    );
    assert!(vault.remove(&url).unwrap());
    assert!(!vault.remove(&url).unwrap());
    assert!(keeper(&vault, &origin).credential().await.is_none());
}

#[tokio::test]
async fn what_a_person_must_do() {
    let (state, origin) = server().await;
    let directory = tempfile::tempdir().unwrap();
    let vault = Vault::new(directory.path());
    let told = async |refused: Refused| {
        let answer = keeper(&vault, &origin).refused(refused).await;
        answer.unwrap_err().to_string()
    };
    let run = "to log in, run `spillgate auth x`";
    let nobody = told(refused("Bearer x")).await;
    assert_eq!(nobody, format!("nobody has logged in yet; {run}"));

    log_in(&origin, &vault).await;
    let mut scope = refused("Bearer access1");
    scope.challenge = Some("Bearer error=\"insufficient_scope\"".to_owned());
    let rights = told(scope).await;
    assert_eq!(
        rights,
        format!("the login does not include the permissions that this request needs; {run}")
    );

    state.lock().unwrap().refuses = true;
    let expired = told(refused("Bearer access1")).await;
    assert_eq!(expired, format!("the login has expired; {run}"));

    state.lock().unwrap().issuer = Some("http://127.0.0.1:1".to_owned());
    let moved = told(refused("Bearer access1")).await;
    assert!(
        !moved.contains("refresh1") && moved.ends_with(run),
        "{moved}"
    );
}

#[tokio::test]
async fn answers_that_are_none() {
    let (_state, origin) = server().await;
    let directory = tempfile::tempdir().unwrap();
    let vault = Vault::new(directory.path());
    let cases = [
        ("code=good&state=forged", "getting a token failed"),
        ("code=secret&state=STATE", "getting a token failed"),
        ("state=STATE", "reading the browser's answer failed"),
        (
            "error=access_denied&error_description=not+you&state=STATE",
            "the login was refused: access_denied (not you)",
        ),
    ];
    for (answer, want) in cases {
        let attempt = attempt(&origin, "http://127.0.0.1:9/callback").await;
        let answer = answer.replace("STATE", &state_of(&attempt));
        let url = format!("http://127.0.0.1:9/callback?{answer}");
        let error = attempt.finish(&url, &vault).await.unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(vault.servers().unwrap().is_empty());
    let nowhere = LoginRequest {
        url: "nowhere".to_owned(),
        ..LoginRequest::default()
    };
    let error = LoginAttempt::begin(nowhere, client()).await.unwrap_err();
    assert!(matches!(error, LoginError::Url(_)));
}
