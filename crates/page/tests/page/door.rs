//! Who comes in, and from where.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::Request;
use axum::http::header::ORIGIN;
use insta::assert_snapshot;
use spillgate_http_api::{Caller, StillValid};
use spillgate_store::ArtifactStore;

use crate::house::{House, Rights};

#[tokio::test]
async fn the_link_becomes_a_cookie_and_leaves_the_address() {
    let mut house = House::with(Rights::OWNER);
    let refused = house.get("/").await;
    assert_eq!(refused.status, 401);
    assert!(
        refused.text().contains("Open the link"),
        "{}",
        refused.text()
    );
    let script = house.get_with("/rows", &[]).await;
    assert_eq!(
        (script.status.as_u16(), script.header("content-type")),
        (401, "application/problem+json")
    );
    let wrong = house.get("/login?token=0000").await;
    assert_eq!(
        (wrong.status.as_u16(), wrong.header("set-cookie")),
        (401, "-")
    );
    let link = house.page.link().unwrap();
    let link = link.strip_prefix("/ui").unwrap();
    let welcome = house.get(link).await;
    assert_eq!(welcome.status, 200);
    assert!(
        welcome.text().contains("content=\"0;url=/ui/\""),
        "{}",
        welcome.text()
    );
    let cookie = welcome.header("set-cookie");
    let (secret, rest) = cookie.split_once(';').unwrap();
    assert!(
        secret.starts_with("spillgate_ui_8701=") && secret.len() > 64,
        "{secret}"
    );
    assert_snapshot!(rest, @" Path=/ui; HttpOnly; SameSite=Strict; Max-Age=43200");
    house.keep_cookie(&welcome);
    assert_eq!(house.get("/").await.status, 200);
    // The link can be opened again, also by another browser.
    assert_eq!(house.get(link).await.status, 200);
    assert_eq!(house.post("/logout", "").await.status, 303);
    assert_eq!(house.get("/").await.status, 401);
}

#[tokio::test]
async fn a_browser_says_who_asks() {
    let house = House::new().await;
    let page = [
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    let frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    let fetch = [("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];
    for (site, how, status) in [
        ("same-origin", fetch, 200),
        ("none", page, 200),
        ("cross-site", page, 200),
        ("same-site", page, 200),
        ("same-site", fetch, 403),
        ("same-site", frame, 403),
        ("cross-site", fetch, 403),
    ] {
        let headers = [&[("sec-fetch-site", site)], &how[..]].concat();
        let answer = house.get_with("/", &headers).await;
        assert_eq!(answer.status, status, "{site} {how:?}");
    }
}

#[tokio::test]
async fn a_change_needs_more_than_the_cookie() {
    let house = House::new().await;
    let handle = house.store("make", &"line\n".repeat(9000)).await;
    let path = format!("/a/{handle}/remove");
    let request = || Request::post(&path);
    let form = || Body::from("sure=1");
    let plain = request().body(form()).unwrap();
    assert_eq!(house.send(plain).await.status, 403);
    let cross = request()
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-dest", "document");
    assert_eq!(house.send(cross.body(form()).unwrap()).await.status, 403);
    // Somebody must have ticked the box.
    assert_eq!(house.post(&path, "").await.status, 400);
    assert_eq!(house.get(&format!("/a/{handle}")).await.status, 200);
    let own = request().header(ORIGIN, "http://localhost:8701");
    let answer = house.send(own.body(form()).unwrap()).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("location")),
        (303, "/ui/")
    );
    assert_eq!(house.get(&format!("/a/{handle}")).await.status, 410);
}

#[tokio::test]
async fn where_clients_have_tokens_a_person_logs_in_with_one() {
    let rights = Rights {
        is_owner: false,
        has_tokens: true,
    };
    let mut house = House::with(rights);
    assert_eq!(house.page.link(), None);
    let form = house.get("/login").await;
    assert!(
        form.text().contains("Log in with a token"),
        "{}",
        form.text()
    );
    // The server did not recognize the token, so it names no caller.
    let refused = house.post("/login", "token=of-somebody-else").await;
    assert_eq!(
        (refused.status.as_u16(), refused.header("set-cookie")),
        (401, "-")
    );
    let known = Request::post("/login").body(Body::from("token=good"));
    let mut known = known.unwrap();
    known.extensions_mut().insert(Caller("token 1".to_owned()));
    let is_valid = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&is_valid);
    let validity = StillValid(Arc::new(move || asked.load(Ordering::Relaxed)));
    known.extensions_mut().insert(validity);
    let welcome = house.send(known).await;
    assert_eq!(welcome.status, 200);
    house.keep_cookie(&welcome);
    assert_eq!(house.get("/").await.status, 200);
    let head = Request::head("/").body(Body::empty()).unwrap();
    assert_eq!(house.send(head).await.status, 200);
    // A session makes no other token good, and does not renew itself.
    for answer in [
        house.post("/login", "token=of-somebody-else").await,
        house.get("/login?token=x").await,
    ] {
        assert_eq!(
            (answer.status.as_u16(), answer.header("set-cookie")),
            (401, "-")
        );
    }
    // The footer does not tell where the store is.
    let place = house.base.path().display().to_string();
    assert!(!house.get("/").await.text().contains(&place));
    assert!(House::new().await.get("/").await.text().contains(" · /"));
    // A session ends with the token of its login.
    is_valid.store(false, Ordering::Relaxed);
    assert_eq!(house.get("/").await.status, 401);
}

#[tokio::test]
async fn many_logins_end_only_the_sessions_of_the_same_caller() {
    let rights = Rights {
        is_owner: false,
        has_tokens: true,
    };
    let mut house = House::with(rights);
    let login = |who: &str| {
        let mut request = Request::post("/login").body(Body::empty()).unwrap();
        request.extensions_mut().insert(Caller(who.to_owned()));
        request
    };
    let welcome = house.send(login("alice")).await;
    house.keep_cookie(&welcome);
    for _ in 0..300 {
        house.send(login("bob")).await;
    }
    assert_eq!(house.get("/").await.status, 200);
    for _ in 0..8 {
        house.send(login("alice")).await;
    }
    assert_eq!(house.get("/").await.status, 401);
}

#[tokio::test]
async fn every_answer_has_the_headers_of_the_page() {
    let house = House::new().await;
    let handle = house.store("make", &"line\n".repeat(9000)).await;
    for path in [
        "/".to_owned(),
        "/rows".to_owned(),
        "/find".to_owned(),
        "/find/hits?what=line".to_owned(),
        "/meter".to_owned(),
        "/login".to_owned(),
        "/assets/page.js".to_owned(),
        "/nowhere".to_owned(),
        format!("/a/{handle}"),
        format!("/a/{handle}/lines"),
        format!("/a/{handle}/download"),
        format!("/v1/artifacts/{handle}/grep?pattern=x"),
    ] {
        let answer = house.get(&path).await;
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), value, "{path}");
        }
        let is_asset = path.starts_with("/assets");
        assert_eq!(
            answer.header("cache-control") == "no-store",
            !is_asset,
            "{path}"
        );
    }
}

#[tokio::test]
async fn only_the_look_ups_of_the_api_are_there() {
    let house = House::new().await;
    let handle = house.store("make", &"line\n".repeat(9000)).await;
    let grep = house
        .get(&format!(
            "/v1/artifacts/{handle}/grep?pattern=line&max_matches=1"
        ))
        .await;
    assert!(grep.json()["text"].as_str().unwrap().contains("1:line"));
    for path in [
        "/v1/artifacts",
        &format!("/v1/artifacts/{handle}/raw"),
        "/v1/openapi.json",
    ] {
        assert_eq!(house.get(path).await.status, 404, "{path}");
    }
    assert_eq!(house.post("/v1/offload?tool=x", "x").await.status, 404);
    assert_eq!(house.store.count().unwrap(), 1);
}
