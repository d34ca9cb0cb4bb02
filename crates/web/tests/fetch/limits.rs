//! Tests for bodies that are too large, too slow or broken.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use spillgate_web::{FetchError, FetchSettings, Fetcher};
use tokio::net::TcpListener;

use crate::server::{Answer, Server, head, ok};
use crate::{fetcher, settings, whole};

const MIB: u64 = 1 << 20;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn masked(error: &FetchError, server: &Server) -> String {
    let text = error.to_string();
    text.replace(&server.address.ip().to_string(), "SERVER")
}

#[tokio::test]
async fn bodies_that_are_too_large_are_refused() {
    let bomb = gzip(&vec![0; 100 << 20]);
    let declared = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
    let server = Server::start(vec![
        ("/declared", Answer::Drip(declared.to_vec())),
        ("/flood", Answer::Flood(head(""), 1 << 40)),
        ("/bomb", ok("content-encoding: gzip\r\n", &bomb)),
        (
            "/fits",
            ok("content-encoding: gzip\r\n", &gzip(&[b'x'; 1000])),
        ),
    ])
    .await;
    let fetcher = fetcher(&server);
    let mut told = Vec::new();
    for path in ["/declared", "/flood", "/bomb"] {
        let error = whole(&fetcher, &server, path, 5 * MIB).await.unwrap_err();
        told.push(masked(&error, &server));
    }
    told[2] = told[2].replace(&bomb.len().to_string(), "BOMB");
    insta::assert_snapshot!(told.join("\n"), @"
    The response of SERVER is larger than the maximum of 5242880 bytes (the server declares 99999999999 bytes).
    The response of SERVER is larger than the maximum of 5242880 bytes.
    The response of SERVER is larger than the maximum of 5242880 bytes.
    ");
    assert_eq!(
        whole(&fetcher, &server, "/fits", 1000).await.unwrap(),
        [b'x'; 1000]
    );
    assert!(whole(&fetcher, &server, "/fits", 999).await.is_err());
}

#[tokio::test]
async fn a_bomb_that_is_saved_comes_in_small_pieces() {
    let bomb = gzip(&vec![0; 100 << 20]);
    let server = Server::start(vec![("/bomb", ok("content-encoding: gzip\r\n", &bomb))]).await;
    let mut opened = fetcher(&server)
        .open(&server.url("/bomb"), None)
        .await
        .unwrap();
    opened.limit(u64::MAX).unwrap();
    let (mut total, mut largest) = (0, 0);
    while let Some(bytes) = opened.next().await.unwrap() {
        total += bytes.len();
        largest = largest.max(bytes.len());
    }
    assert_eq!(total, 100 << 20);
    assert!(largest <= 5 << 20, "{largest}");
}

#[tokio::test]
async fn what_is_slow_ends() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server::start(vec![
        ("/drip", Answer::Drip(head(""))),
        ("/head", Answer::Drip(b"HTTP/1.1 200 OK\r\nx: ".to_vec())),
    ])
    .await;
    let settings = FetchSettings {
        allowed: vec![
            server.address.to_string(),
            silent.local_addr().unwrap().to_string(),
        ],
        ..FetchSettings::default()
    };
    let fetcher = Fetcher::new(settings);
    let soon = Some(Duration::from_millis(1200));
    let mut told = Vec::new();
    let mut opened = fetcher.open(&server.url("/drip"), soon).await.unwrap();
    told.push(masked(&opened.whole().await.unwrap_err(), &server));
    let head = fetcher.open(&server.url("/head"), soon).await.unwrap_err();
    told.push(masked(&head, &server));
    let url = format!("http://{}/", silent.local_addr().unwrap());
    told.push(masked(
        &fetcher.open(&url, soon).await.unwrap_err(),
        &server,
    ));
    insta::assert_snapshot!(told.join("\n"), @"
    SERVER took longer than 1 s. No part of the page was kept; try again with a longer timeout (up to 120 s), or use another URL.
    SERVER took longer than 1 s. No part of the page was kept; try again with a longer timeout (up to 120 s), or use another URL.
    SERVER took longer than 1 s. No part of the page was kept; try again with a longer timeout (up to 120 s), or use another URL.
    ");
}

#[tokio::test]
async fn no_call_waits_longer_than_the_settings_allow() {
    let server = Server::start(vec![("/drip", Answer::Drip(head("")))]).await;
    let fetcher = Fetcher::new(FetchSettings {
        longest_timeout: Duration::from_secs(1),
        ..settings(&server)
    });
    let long = Some(Duration::from_hours(1));
    let mut opened = fetcher.open(&server.url("/drip"), long).await.unwrap();
    let error = opened.whole().await.unwrap_err();
    assert!(matches!(error, FetchError::Late { after, .. } if after.as_secs() == 1));
}

/// Returns the outcome of fetching each path of a server.
async fn told(answers: Vec<(&'static str, Answer)>) -> String {
    let paths: Vec<_> = answers.iter().map(|(path, _)| *path).collect();
    let server = Server::start(answers).await;
    let fetcher = fetcher(&server);
    let mut told = Vec::new();
    for path in paths {
        let text = match whole(&fetcher, &server, path, MIB).await {
            Ok(body) => format!("given {:?}", String::from_utf8_lossy(&body)),
            Err(error) => masked(&error, &server),
        };
        told.push(format!("{path}: {text}"));
    }
    told.join("\n")
}

#[tokio::test]
async fn what_is_no_answer_is_told() {
    let bytes = |text: &str| Answer::Bytes(text.as_bytes().to_vec());
    let head = |lines: &str| bytes(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n"));
    let told = told(vec![
        ("/short", head("content-length: 100\r\n\r\nonly this")),
        (
            "/long",
            head("content-length: 4\r\nconnection: close\r\n\r\nmore than this"),
        ),
        (
            "/two",
            head("content-length: 4\r\ncontent-length: 5\r\n\r\nmore than this"),
        ),
        (
            "/chunked",
            head("transfer-encoding: chunked\r\n\r\n5\r\nhello"),
        ),
        ("/header", head(&format!("x: {}\r\n", "x".repeat(4 << 20)))),
        ("/headers", head(&"a: b\r\n".repeat(1000))),
        ("/nonsense", bytes("220 mail.example ESMTP\r\n")),
        ("/nothing", bytes("")),
    ])
    .await;
    insta::assert_snapshot!(told, @r#"
    /short: The connection to SERVER broke off: end of file before message length reached. No part of the page was kept; try again.
    /long: given "more"
    /two: The connection to SERVER broke off: invalid content-length parsed. No part of the page was kept; try again.
    /chunked: The connection to SERVER broke off: unexpected EOF during chunk size line. No part of the page was kept; try again.
    /header: The connection to SERVER broke off: message head is too large. No part of the page was kept; try again.
    /headers: The connection to SERVER broke off: message head is too large. No part of the page was kept; try again.
    /nonsense: The connection to SERVER broke off: invalid HTTP version parsed. No part of the page was kept; try again.
    /nothing: The connection to SERVER broke off: connection closed before message completed. No part of the page was kept; try again.
    "#);
}

#[tokio::test]
async fn what_is_not_compressed_as_it_says_is_told() {
    let packed = gzip(&vec![b'x'; 100_000]);
    let encoded = |name: &str, body: &[u8]| ok(&format!("content-encoding: {name}\r\n"), body);
    let told = told(vec![
        ("/not-gzip", encoded("gzip", b"<html>")),
        ("/cut-gzip", encoded("gzip", &packed[..packed.len() / 2])),
        ("/cut-deflate", encoded("deflate", &[0x78, 0x9c, 0x4b])),
        ("/brotli", encoded("br", b"x")),
        (
            "/twice",
            encoded("gzip\r\ncontent-encoding: gzip", &gzip(&packed)),
        ),
    ])
    .await;
    insta::assert_snapshot!(told, @r#"
    /not-gzip: The response of SERVER is not valid gzip, although the server says that it is. Use another URL.
    /cut-gzip: The response of SERVER is not valid gzip, although the server says that it is. Use another URL.
    /cut-deflate: The response of SERVER is not valid deflate, although the server says that it is. Use another URL.
    /brotli: SERVER sends the page in the encoding "br", which was not requested. Use another URL.
    /twice: SERVER sends the page in the encoding "gzip, gzip", which was not requested. Use another URL.
    "#);
}

#[tokio::test]
async fn who_is_not_there_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let fetcher = Fetcher::new(FetchSettings {
        allowed: vec![address.to_string()],
        ..FetchSettings::default()
    });
    let error = fetcher
        .open(&format!("http://{address}/"), None)
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("127.0.0.1 could not be reached: Connection refused"),
        "{text}"
    );
}
