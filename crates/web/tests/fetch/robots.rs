//! Tests for obeying `robots.txt`.

use std::fmt::Write as _;

use spillgate_web::{FetchSettings, Fetcher};

use crate::server::{Answer, Server, ok, response, to};
use crate::settings;

const RULES: &[u8] = b"User-agent: *\nDisallow: /private\n";

/// Returns a fetcher that obeys the rules of these servers.
fn obedient(servers: &[&Server]) -> Fetcher {
    Fetcher::new(FetchSettings {
        allowed: servers.iter().map(|one| one.address.to_string()).collect(),
        robots: true,
        ..settings(servers[0])
    })
}

/// Returns the outcome of opening each path.
async fn opened(fetcher: &Fetcher, server: &Server, paths: &[&str]) -> String {
    let mut told = String::new();
    for path in paths {
        let opened = fetcher.open(&server.url(path), None).await;
        let opened = match opened {
            Ok(opened) => opened.status_text(),
            Err(error) => error.to_string(),
        };
        writeln!(told, "{path}: {opened}").unwrap();
    }
    told
}

/// Returns the paths that were requested from a server.
fn asked(server: &Server) -> Vec<String> {
    let heads = server.heads.lock().unwrap();
    let paths = heads.iter().map(|head| head.split(' ').nth(1).unwrap());
    paths.map(str::to_owned).collect()
}

#[tokio::test]
async fn rules_are_asked_for_once_and_hold() {
    let server = Server::start(vec![
        ("/robots.txt", ok("", RULES)),
        ("/a", ok("", b"a")),
        ("/b?c", ok("", b"b")),
        ("/private/x", ok("", b"secret")),
        ("/leads", to("/private/x")),
    ])
    .await;
    let paths = ["/a", "/b?c#d", "/private/x", "/leads"];
    let told = opened(&obedient(&[&server]), &server, &paths).await;
    insta::assert_snapshot!(told, @"
    /a: 200 OK
    /b?c#d: 200 OK
    /private/x: 127.0.0.1 does not want programs to fetch this page: its robots.txt says so. Use another source; a person can open the page, or switch this check off in the configuration.
    /leads: 127.0.0.1 redirects to a URL that is not fetched: 127.0.0.1 does not want programs to fetch this page: its robots.txt says so. Use another source; a person can open the page, or switch this check off in the configuration.
    ");
    assert_eq!(asked(&server), ["/robots.txt", "/a", "/b?c", "/leads"]);
    // By default the rules are not fetched.
    let told = opened(&crate::fetcher(&server), &server, &["/private/x"]).await;
    assert_eq!(told, "/private/x: 200 OK\n");
    assert_eq!(asked(&server).len(), 5);
}

#[tokio::test]
async fn each_server_has_its_own() {
    let strict = Server::start(vec![
        ("/robots.txt", ok("", RULES)),
        ("/private", ok("", b"no")),
    ])
    .await;
    let leading = to(&strict.url("/private"));
    let open = Server::start(vec![("/private", ok("", b"yes")), ("/away", leading)]).await;
    let fetcher = obedient(&[&open, &strict]);
    let told = opened(&fetcher, &open, &["/private", "/away"]).await;
    insta::assert_snapshot!(told, @"
    /private: 200 OK
    /away: 127.0.0.1 redirects to a URL that is not fetched: 127.0.0.1 does not want programs to fetch this page: its robots.txt says so. Use another source; a person can open the page, or switch this check off in the configuration.
    ");
    assert_eq!(asked(&strict), ["/robots.txt"]);
}

#[tokio::test]
async fn who_cannot_say_is_not_asked() {
    let status = |status| Answer::Bytes(response(status, "", b"User-agent: *\nDisallow: /\n"));
    let cases = [
        ("none", status("HTTP/1.1 404 Not Found")),
        ("not for us", status("HTTP/1.1 403 Forbidden")),
        ("down", status("HTTP/1.1 503 Service Unavailable")),
        ("around", to("/robots.txt")),
        ("elsewhere", to("/else")),
        ("inside", to("http://169.254.169.254/robots.txt")),
        (
            "broken",
            Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nUser".to_vec()),
        ),
        ("no web server", Answer::Bytes(b"hello\r\n".to_vec())),
        (
            "endless",
            Answer::Flood(
                b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /a\n".to_vec(),
                4 << 20,
            ),
        ),
        ("patterns", ok("", &b"Disallow: /*$\n".repeat(2000))),
    ];
    let mut told = String::new();
    for (what, answer) in cases {
        let server = Server::start(vec![
            ("/robots.txt", answer),
            ("/else", ok("", b"User-agent: *\nDisallow: /a\n")),
            ("/a", ok("", b"a")),
        ])
        .await;
        told += &format!(
            "{what}: {}",
            opened(&obedient(&[&server]), &server, &["/a"]).await
        );
    }
    insta::assert_snapshot!(told, @"
    none: /a: 200 OK
    not for us: /a: 200 OK
    down: /a: The robots.txt of 127.0.0.1, which says what programs may fetch there, could not be fetched: HTTP 503 Service Unavailable. Without it, nothing is fetched from this host; try again later, or use another source.
    around: /a: 200 OK
    elsewhere: /a: 127.0.0.1 does not want programs to fetch this page: its robots.txt says so. Use another source; a person can open the page, or switch this check off in the configuration.
    inside: /a: The robots.txt of 127.0.0.1, which says what programs may fetch there, could not be fetched: 127.0.0.1 redirects to a URL that is not fetched: 169.254.169.254 is not on the public web (link-local), and private addresses are not fetched. Without it, nothing is fetched from this host; try again later, or use another source.
    broken: /a: The robots.txt of 127.0.0.1, which says what programs may fetch there, could not be fetched: The connection to 127.0.0.1 broke off: end of file before message length reached. Without it, nothing is fetched from this host; try again later, or use another source.
    no web server: /a: The robots.txt of 127.0.0.1, which says what programs may fetch there, could not be fetched: The connection to 127.0.0.1 broke off: invalid HTTP version parsed. Without it, nothing is fetched from this host; try again later, or use another source.
    endless: /a: 127.0.0.1 does not want programs to fetch this page: its robots.txt says so. Use another source; a person can open the page, or switch this check off in the configuration.
    patterns: /a: The robots.txt of 127.0.0.1, which says what programs may fetch there, could not be fetched: it has more rules than are read. Without it, nothing is fetched from this host; try again later, or use another source.
    ");
}

#[tokio::test]
async fn rules_that_were_not_had_are_asked_for_again() {
    let down = Answer::Bytes(response("HTTP/1.1 500 Broken", "", b""));
    let server = Server::start(vec![("/robots.txt", down), ("/a", ok("", b"a"))]).await;
    opened(&obedient(&[&server]), &server, &["/a", "/a"]).await;
    assert_eq!(asked(&server), ["/robots.txt", "/robots.txt"]);
}

#[tokio::test]
async fn they_are_not_looked_for_in_a_private_network() {
    let server = Server::start(vec![("/robots.txt", ok("", RULES)), ("/", ok("", b"x"))]).await;
    let strict = Fetcher::new(FetchSettings {
        robots: true,
        ..FetchSettings::default()
    });
    opened(&strict, &server, &["/"]).await;
    assert!(asked(&server).is_empty());
}
