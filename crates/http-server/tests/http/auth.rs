//! Tests of authentication: static tokens, access tokens and forged ones.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use spillgate_artifact::{Clock, Timestamp};
use spillgate_http_server::{
    Auth, HttpServer, HttpServerError, HttpServerSettings, Token, ValidTokens,
};
use tokio::net::TcpListener;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::fake::{Event, Fake, message, note};
use crate::running::{Reader, Running, http, initialize, modern, request};

const NOW: u64 = 1_900_000_000;

#[derive(Debug)]
struct At(u64);

impl Clock for At {
    fn now(&self) -> Timestamp {
        Timestamp::new(UNIX_EPOCH + Duration::from_secs(self.0))
    }
}

fn settings(auth: &Value) -> HttpServerSettings {
    HttpServerSettings {
        auth: serde_json::from_value(auth.clone()).unwrap(),
        ..HttpServerSettings::default()
    }
}

async fn bearer() -> Running {
    let settings = settings(&json!({"kind": "bearer", "token_env": ["TEAM"]}));
    let tokens = Token::in_file("# the team's\nfirst # alice's\n\n second \n").unwrap();
    Running::with(settings, |front| front.tokens(&tokens)).await
}

#[tokio::test]
async fn tokens_open_the_door() {
    let front = bearer().await;
    for (header, status) in [
        (None, 401),
        (Some("Bearer first"), 200),
        (Some("bearer second"), 200),
        (Some("Bearer third"), 401),
        (Some("Bearer "), 401),
        (Some("Bearer firs"), 401),
        (Some("Bearer first second"), 401),
        (Some("Basic first"), 401),
        (Some("first"), 401),
        (Some("# the team's"), 401),
    ] {
        let mut post = front.post(&initialize());
        if let Some(header) = header {
            post = post.header("authorization", header);
        }
        let response = post.send().await.unwrap();
        assert_eq!(response.status(), status, "{header:?}");
        let challenge = response.headers().get("www-authenticate");
        assert_eq!(challenge.is_some(), status == 401, "{header:?}");
    }
    let twice = front
        .post(&initialize())
        .header("authorization", "Bearer first");
    let twice = twice
        .header("authorization", "Bearer first")
        .send()
        .await
        .unwrap();
    assert_eq!(twice.status(), 401);
    let query = front
        .http
        .post(format!("{}?access_token=first", front.url()));
    assert_eq!(query.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_session_is_its_owners() {
    let front = bearer().await;
    let first = front
        .post(&initialize())
        .header("authorization", "Bearer first");
    let response = first.send().await.unwrap();
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    for (token, status) in [("first", 200), ("second", 404)] {
        let ping = front.post_in(&session, &request(1, "ping", &json!({})));
        let ping = ping.header("authorization", format!("Bearer {token}"));
        assert_eq!(ping.send().await.unwrap().status(), status);
        let get = front
            .get_in(&session)
            .header("authorization", format!("Bearer {token}"));
        assert_eq!(get.send().await.unwrap().status(), status);
    }
    assert!(!format!("{:?}", front.log.headers.lock().unwrap()).contains("first"));
    assert_eq!(format!("{:?}", Token::new("first")), "Some([hidden])");
}

#[tokio::test]
async fn nothing_is_served_to_everybody_by_mistake() {
    let open = HttpServerSettings::default();
    let insecure = HttpServerSettings {
        insecure_no_auth: true,
        ..HttpServerSettings::default()
    };
    let no_tokens = settings(&json!({"kind": "bearer"}));
    let no_client = oauth_settings("https://issuer.example", None);
    let bad_path = HttpServerSettings {
        path: "/healthz".to_owned(),
        ..HttpServerSettings::default()
    };
    for (settings, address, expected) in [
        (
            open.clone(),
            "0.0.0.0:0",
            "can be reached from other machines",
        ),
        (open, "127.0.0.1:0", ""),
        (insecure, "0.0.0.0:0", ""),
        (no_tokens, "127.0.0.1:0", "no token was found"),
        (no_client, "127.0.0.1:0", "needs an HTTP client"),
        (bad_path, "127.0.0.1:0", "used by the HTTP server"),
    ] {
        let listener = TcpListener::bind(address).await.unwrap();
        let front = HttpServer::of(Arc::new(Fake::new()), settings);
        let served = front.serve(listener, std::future::ready(())).await;
        let said = served
            .err()
            .map_or(String::new(), |error: HttpServerError| error.to_string());
        assert_eq!(said.is_empty(), expected.is_empty(), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

const RESOURCE: &str = "https://mcp.example/mcp";

fn oauth_settings(issuer: &str, jwks: Option<&str>) -> HttpServerSettings {
    settings(&json!({
        "kind": "oauth", "issuer": issuer, "resource": RESOURCE, "jwks_url": jwks,
        "scopes": ["mcp:use"],
    }))
}

/// An issuer with an Ed25519 key and a P-256 key.
struct Issuer {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let way = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(way, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(way, ec.as_ref(), &random).unwrap(),
        }
    }

    fn jwks(&self) -> Value {
        let point = &self.ec.public_key().as_ref()[1..];
        let rsa: Value = serde_json::from_str(include_str!("rsa_key.json")).unwrap();
        json!({"keys": [
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": BASE64.encode(self.ed.public_key())},
            {"kty": "EC", "crv": "P-256", "kid": "ec",
             "x": BASE64.encode(&point[..32]), "y": BASE64.encode(&point[32..])},
            {"kty": "OKP", "crv": "Ed25519", "kid": "for encryption", "use": "enc",
             "x": BASE64.encode(self.ed.public_key())},
            {"kty": "unheard of", "kid": "odd"},
            rsa,
        ]})
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |json: &Value| BASE64.encode(json.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = match header["alg"].as_str().unwrap() {
            "ES256" => {
                let random = SystemRandom::new();
                let signed = self.ec.sign(&random, message.as_bytes()).unwrap();
                signed.as_ref().to_vec()
            }
            "none" => Vec::new(),
            "HS256" => {
                // A forged token that uses the public key as a shared secret (algorithm confusion).
                let key =
                    ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.ed.public_key().as_ref());
                ring::hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
            }
            _ => self.ed.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", BASE64.encode(signature))
    }
}

fn claims(change: &Value) -> Value {
    let mut claims = json!({
        "iss": "https://issuer.example", "aud": RESOURCE, "exp": NOW + 300, "sub": "ada",
        "scope": "mcp:use profile",
    });
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

async fn keys_of(issuer: &Issuer, times: u64) -> MockServer {
    let server = MockServer::start().await;
    let jwks = ResponseTemplate::new(200).set_body_json(issuer.jwks());
    let mock = Mock::given(method("GET"))
        .and(path("/jwks"))
        .respond_with(jwks);
    mock.expect(times).mount(&server).await;
    server
}

async fn oauth(settings: HttpServerSettings) -> Running {
    Running::with(settings, |front| front.oauth(http(), Arc::new(At(NOW)))).await
}

async fn status_of(front: &Running, token: &str) -> (u16, String) {
    let post = front.post(&initialize());
    let response = post.header("authorization", format!("Bearer {token}"));
    let response = response.send().await.unwrap();
    let challenge = response.headers().get("www-authenticate");
    let challenge = challenge.map_or("", |challenge| challenge.to_str().unwrap());
    (response.status().as_u16(), challenge.to_owned())
}

/// Checks the outcomes of tokens. The keys are fetched only once.
async fn check(tokens: impl FnOnce(&Issuer) -> Vec<(&'static str, String, u16)>) {
    let issuer = Issuer::new();
    // A token that names an unknown key does not cause another fetch.
    let keys = keys_of(&issuer, 1).await;
    let jwks = format!("{}/jwks", keys.uri());
    let front = oauth(oauth_settings("https://issuer.example", Some(&jwks))).await;
    for (what, token, status) in tokens(&issuer) {
        let (got, challenge) = status_of(&front, &token).await;
        assert_eq!(got, status, "{what}");
        let error = match status {
            401 => "error=\"invalid_token\"",
            403 => "error=\"insufficient_scope\"",
            _ => "",
        };
        assert!(challenge.contains(error), "{what}: {challenge}");
    }
}

#[tokio::test]
#[rustfmt::skip]
async fn claims_are_checked() {
    check(|issuer| {
        let ed = json!({"alg": "EdDSA", "kid": "ed", "typ": "at+jwt"});
        let with = |change: Value| issuer.sign(&ed, &claims(&change));
        vec![
            ("good", with(json!({})), 200),
            ("among audiences", with(json!({"aud": ["x", RESOURCE]})), 200),
            ("within leeway", with(json!({"exp": NOW - 30})), 200),
            ("scopes as a list", with(json!({"scope": null, "scp": ["mcp:use"]})), 200),
            ("expired", with(json!({"exp": NOW - 61})), 401),
            ("never expires", with(json!({"exp": null})), 401),
            ("expires as a text", with(json!({"exp": "2099"})), 401),
            ("not yet", with(json!({"nbf": NOW + 61})), 401),
            ("not yet, as a text", with(json!({"nbf": "now"})), 401),
            ("other audience", with(json!({"aud": "https://other.example/mcp"})), 401),
            ("no audience", with(json!({"aud": null})), 401),
            ("other issuer", with(json!({"iss": "https://issuer.example.evil"})), 401),
            ("no issuer", with(json!({"iss": null})), 401),
            ("nobody", with(json!({"sub": null})), 401),
            ("no scope", with(json!({"scope": "profile"})), 403),
            ("part of a scope", with(json!({"scope": "mcp:user"})), 403),
        ]
    })
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn signatures_are_checked() {
    check(|issuer| {
        let ed = json!({"alg": "EdDSA", "kid": "ed"});
        let header = |header: Value| issuer.sign(&header, &claims(&json!({})));
        let mut tampered = header(ed.clone());
        let at = tampered.find('.').unwrap() + 5;
        let other = if &tampered[at..=at] == "A" { "B" } else { "A" };
        tampered.replace_range(at..=at, other);
        vec![
            ("P-256", header(json!({"alg": "ES256", "kid": "ec"})), 200),
            ("RSA", include_str!("rsa_token.txt").trim().to_owned(), 200),
            ("alg none", header(json!({"alg": "none", "kid": "ed"})), 401),
            ("alg HS256", header(json!({"alg": "HS256", "kid": "ed"})), 401),
            ("wrong key", Issuer::new().sign(&ed, &claims(&json!({}))), 401),
            ("key of another kind", header(json!({"alg": "EdDSA", "kid": "ec"})), 401),
            ("unknown key", header(json!({"alg": "EdDSA", "kid": "new"})), 401),
            ("encryption key", header(json!({"alg": "EdDSA", "kid": "for encryption"})), 401),
            ("extension", header(json!({"alg": "EdDSA", "kid": "ed", "crit": ["x"]})), 401),
            ("other kind", header(json!({"alg": "EdDSA", "kid": "ed", "typ": "dpop+jwt"})), 401),
            ("tampered", tampered, 401),
            ("no JWT", "abc".to_owned(), 401),
            ("too long", "a".repeat(20_000), 401),
        ]
    })
    .await;
}

#[tokio::test]
async fn clients_learn_where_to_get_a_token() {
    let front = oauth(oauth_settings("https://issuer.example", None)).await;
    let response = front.post(&initialize()).send().await.unwrap();
    assert_eq!(response.status(), 401);
    insta::assert_snapshot!(response.headers()["www-authenticate"].to_str().unwrap(), @r#"Bearer scope="mcp:use", resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp""#);
    for path in ["", "/mcp"] {
        let url = format!(
            "http://{}/.well-known/oauth-protected-resource{path}",
            front.at
        );
        let text = front
            .http
            .get(url)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        let metadata: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({
            "resource": RESOURCE, "authorization_servers": ["https://issuer.example"],
            "scopes_supported": ["mcp:use"], "bearer_methods_supported": ["header"],
        });
        assert_eq!(metadata, expected);
    }
}

#[tokio::test]
async fn the_issuers_metadata_says_where_its_keys_are() {
    let issuer = Issuer::new();
    let keys = keys_of(&issuer, 1).await;
    let metadata = json!({"issuer": keys.uri(), "jwks_uri": format!("{}/jwks", keys.uri())});
    Mock::given(path("/.well-known/openid-configuration"))
        .respond_with(ResponseTemplate::new(200).set_body_json(metadata))
        .mount(&keys)
        .await;
    let front = oauth(oauth_settings(&keys.uri(), None)).await;
    let ed = json!({"alg": "EdDSA", "kid": "ed"});
    let token = issuer.sign(&ed, &claims(&json!({"iss": keys.uri()})));
    assert_eq!(status_of(&front, &token).await.0, 200);
}

#[tokio::test]
async fn without_keys_nobody_comes_in() {
    let server = MockServer::start().await;
    let front = oauth(oauth_settings(&server.uri(), None)).await;
    let issuer = Issuer::new();
    let ed = json!({"alg": "EdDSA", "kid": "ed"});
    let token = issuer.sign(&ed, &claims(&json!({"iss": server.uri()})));
    for _ in 0..2 {
        assert_eq!(status_of(&front, &token).await.0, 503);
    }
}

#[test]
fn addresses_that_others_could_answer_for_are_refused() {
    let auth: Auth = serde_json::from_value(json!({
        "kind": "oauth", "issuer": "http://issuer.example", "resource": RESOURCE,
    }))
    .unwrap();
    let settings = HttpServerSettings {
        auth,
        ..HttpServerSettings::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let front = HttpServer::of(Arc::new(Fake::new()), settings);
        let front = front.oauth(http(), Arc::new(At(NOW)));
        let said = front
            .serve(listener, std::future::ready(()))
            .await
            .unwrap_err();
        assert!(
            said.to_string().contains("must begin with https://"),
            "{said}"
        );
    });
}

#[tokio::test]
async fn a_subscription_ends_with_its_token() {
    let settings = HttpServerSettings {
        session_idle_seconds: 1, // tokens are checked four times as often
        ..settings(&json!({"kind": "bearer", "token_env": ["TEAM"]}))
    };
    let valid = ValidTokens::new(&Token::in_file("first\nsecond\n").unwrap());
    let changing = valid.clone();
    let front = Running::with(settings, move |front| front.changing_tokens(changing)).await;
    let mut streams = Vec::new();
    for (at, token) in ["first", "second"].into_iter().enumerate() {
        let mut body = modern(&json!(1), "never", &json!({}));
        body["method"] = json!("subscriptions/listen");
        let post = front
            .post(&body)
            .header("authorization", format!("Bearer {token}"))
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "subscriptions/listen");
        let pending = tokio::spawn(post.send());
        let came = move |event: &Event| matches!(event, Event::Took(took, _) if *took == at);
        front.log.until(came).await;
        let changed = note("changed");
        front.log.sink(at).take(message(None, &changed)).await;
        let mut stream = Reader::new(pending.await.unwrap().unwrap());
        stream.until("changed").await;
        streams.push(stream);
    }
    valid.replace(&Token::in_file("second\n").unwrap());
    streams.remove(0).end().await;
    // The other one goes on.
    front.log.sink(1).take(message(None, &note("later"))).await;
    streams.remove(0).until("later").await;
}

#[test]
fn comments_and_names_in_token_files() {
    let all = Token::in_file("# the team's\n a:b \t# not a name\nalice:  t#1 # new\n").unwrap();
    let names = all
        .iter()
        .map(|token| token.principal().map(ToString::to_string));
    assert_eq!(names.collect::<Vec<_>>(), [None, Some("alice".to_owned())]);
    for text in ["alice:\n", "x\nalice: # soon\n", "alice:   \n"] {
        let error = Token::in_file(text).unwrap_err().to_string();
        assert!(error.ends_with("has a name, but no token"), "{error}");
    }
    let owners = |text: &str| Token::check_owners(&Token::in_file(text).unwrap());
    assert_eq!(owners("alice: t\nalice: t\nalice: u\nbob: v\n"), Ok(()));
    let error = owners("alice: t\nbob: t\n").unwrap_err().to_string();
    assert_eq!(error, "the same token belongs to alice and to bob");
}
