//! Tests that no request reaches a private network.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

use spillgate_web::{FetchError, FetchSettings, Fetcher};

use crate::server::{Server, ok, to};
use crate::{fetcher, settings};

fn names(names: &[(&str, &[&str])]) -> BTreeMap<String, Vec<IpAddr>> {
    let parsed = |addresses: &[&str]| addresses.iter().map(|ip| ip.parse().unwrap()).collect();
    names
        .iter()
        .map(|(name, addresses)| ((*name).to_owned(), parsed(addresses)))
        .collect()
}

#[tokio::test]
async fn a_server_of_this_machine_is_asked_only_where_it_is_allowed() {
    let server = Server::start(vec![("/", ok("", b"hello"))]).await;
    let strict = Fetcher::default();
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0.0.0.0",
        "2130706433",
        "[::ffff:127.0.0.1]",
    ] {
        let opened = strict.open(&format!("http://{host}:{port}/"), None).await;
        assert!(matches!(opened, Err(FetchError::Private { .. })), "{host}");
    }
    assert_eq!(server.asked.load(Ordering::Relaxed), 0);
    let mut opened = fetcher(&server).open(&server.url("/"), None).await.unwrap();
    assert_eq!(opened.whole().await.unwrap(), b"hello");
}

#[tokio::test]
async fn redirects_lead_into_no_private_network() {
    let inner = Server::start(vec![("/", ok("", b"secret"))]).await;
    let inside = inner.url("/");
    let port = inner.address.port();
    let outer = Server::start(vec![
        ("/loopback", to(&inside)),
        ("/metadata", to("http://169.254.169.254/latest/meta-data/")),
        ("/six", to(&format!("http://[::1]:{port}/"))),
        ("/name", to(&format!("http://inside.example:{port}/"))),
        ("/localhost", to(&format!("http://localhost:{port}/"))),
        ("/short", to(&format!("//127.1:{port}/"))),
        ("/file", to("file:///etc/passwd")),
        ("/login", to("http://user:pw@example.com/")),
        ("/port", to("http://example.com:25/")),
        ("/nonsense", to("http://[/")),
        ("/twice", to("/loopback")),
    ])
    .await;
    let fetcher = Fetcher::new(FetchSettings {
        names: names(&[("inside.example", &["127.0.0.1", "::1"])]),
        ..settings(&outer)
    });
    let mut told = Vec::new();
    for path in [
        "/loopback",
        "/metadata",
        "/six",
        "/name",
        "/localhost",
        "/short",
        "/file",
        "/login",
        "/port",
        "/nonsense",
        "/twice",
    ] {
        let error = fetcher.open(&outer.url(path), None).await.unwrap_err();
        assert!(
            matches!(error, FetchError::Redirect { .. }),
            "{path}: {error:?}"
        );
        told.push(format!("{path}: {error}"));
    }
    assert_eq!(inner.asked.load(Ordering::Relaxed), 0);
    insta::assert_snapshot!(told.join("\n"), @"
    /loopback: 127.0.0.1 redirects to a URL that is not fetched: 127.0.0.1 is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    /metadata: 127.0.0.1 redirects to a URL that is not fetched: 169.254.169.254 is not on the public web (link-local), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    /six: 127.0.0.1 redirects to a URL that is not fetched: [::1] is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    /name: 127.0.0.1 redirects to a URL that is not fetched: inside.example is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    /localhost: 127.0.0.1 redirects to a URL that is not fetched: localhost is not on the public web (a name of this machine or its network), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    /short: 127.0.0.1 redirects to a URL that is not fetched: 127.0.0.1 is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    /file: 127.0.0.1 redirects to a URL that is not fetched: URLs with the scheme file are not fetched. Give a URL that begins with http:// or https://.
    /login: 127.0.0.1 redirects to a URL that is not fetched: The url contains a user name or a password. Remove them; no credentials are sent.
    /port: 127.0.0.1 redirects to a URL that is not fetched: Port 25 is not a port for web pages, so it is not used. Use another URL.
    /nonsense: 127.0.0.1 redirects to a URL that is not fetched: The url is wrong: invalid IPv6 address. Give a whole URL such as https://example.com/page.
    /twice: 127.0.0.1 redirects to a URL that is not fetched: 127.0.0.1 is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    ");
}

#[tokio::test]
async fn names_lead_into_no_private_network() {
    let server = Server::start(vec![("/", ok("", b"secret"))]).await;
    let port = server.address.port();
    let settings = FetchSettings {
        names: names(&[
            ("inside.example", &["127.0.0.1"]),
            ("mapped.example", &["::ffff:127.0.0.1"]),
            ("cloud.example", &["169.254.169.254"]),
            ("many.example", &["10.0.0.1", "fd00::1", "127.0.0.1"]),
            ("nowhere.example", &[]),
        ]),
        // A host is allowed only at the given port, and only under the given name.
        allowed: vec!["inside.example:1".to_owned()],
        ..FetchSettings::default()
    };
    let fetcher = Fetcher::new(settings.clone());
    let mut told = Vec::new();
    for name in ["inside", "mapped", "cloud", "many", "nowhere"] {
        let url = format!("http://{name}.example:{port}/");
        told.push(fetcher.open(&url, None).await.unwrap_err().to_string());
    }
    assert_eq!(server.asked.load(Ordering::Relaxed), 0);
    insta::assert_snapshot!(told.join("\n"), @"
    inside.example is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    mapped.example is not on the public web (loopback), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    cloud.example is not on the public web (link-local), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    many.example is not on the public web (private), and private addresses are not fetched. Use a public URL; a person can allow this host in the configuration.
    The name nowhere.example was not found. Check the url.
    ");
    let allowed = Fetcher::new(FetchSettings {
        allowed: vec![format!("Inside.Example:{port}")],
        ..settings
    });
    let url = format!("http://inside.example:{port}/");
    let mut opened = allowed.open(&url, None).await.unwrap();
    assert_eq!(opened.whole().await.unwrap(), b"secret");
}

#[tokio::test]
async fn redirects_end() {
    let server = Server::start(vec![
        ("/around", to("/around")),
        ("/1", to("/2")),
        ("/2", to("/3")),
        ("/3", to("/4")),
        ("/4", to("http://SERVER/5?a=b#part")),
        ("/5?a=b", ok("", b"there")),
        ("/no-place", ok("", b"")),
    ])
    .await;
    let fetcher = fetcher(&server);
    let error = fetcher
        .open(&server.url("/around"), None)
        .await
        .unwrap_err();
    insta::assert_snapshot!(error, @"127.0.0.1 redirects more than 5 times, so the page cannot be fetched. Use another URL.");
    assert_eq!(server.asked.load(Ordering::Relaxed), 6);
    let mut opened = fetcher.open(&server.url("/1"), None).await.unwrap();
    assert_eq!(opened.url().as_str(), server.url("/5?a=b#part"));
    assert_eq!(opened.whole().await.unwrap(), b"there");
}

#[tokio::test]
async fn nothing_is_sent_that_was_not_asked_for() {
    let cookie = "set-cookie: id=1\r\n";
    let server = Server::start(vec![("/a", ok(cookie, b"")), ("/b", ok("", b""))]).await;
    let fetcher = fetcher(&server);
    for path in ["/a#part", "/b"] {
        fetcher
            .open(&server.url(path), None)
            .await
            .unwrap()
            .whole()
            .await
            .unwrap();
    }
    let heads = server.heads.lock().unwrap().join("");
    let heads = heads.replace(&server.address.to_string(), "SERVER");
    let heads = heads.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(heads.replace('\r', ""), @"
    GET /a HTTP/1.1
    accept: text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.8
    accept-encoding: gzip, deflate
    user-agent: spillgate/VERSION
    host: SERVER

    GET /b HTTP/1.1
    accept: text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.8
    accept-encoding: gzip, deflate
    user-agent: spillgate/VERSION
    host: SERVER
    ");
}
