//! Tests for saving pages: what is saved, where, and what a failure leaves behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::server::{Server, endless, page};
use super::{call, rules, tools};

const PAGE: &str = "<title>A page</title><main><h1>Heading</h1><p>Text.</main>";

fn count(root: &Path) -> usize {
    fs::read_dir(root).unwrap().count()
}

/// Serves pages of all kinds, including a page with the text `large`.
async fn pages(large: &str) -> Server {
    Server::start(vec![
        ("/page", page(200, "text/html", PAGE)),
        ("/pdf", page(200, "application/pdf", b"%PDF\0\xff\n")),
        ("/large", page(200, "text/plain", large)),
        ("/html", page(200, "text/html", format!("<p>{large}"))),
        ("/missing", page(404, "text/plain", "no")),
    ])
    .await
}

#[tokio::test]
async fn pages_are_saved() {
    let root = tempfile::tempdir().unwrap();
    let large = "line of text\n".repeat(1 << 20);
    let server = pages(&large).await;
    let tools = tools(root.path(), rules(&server));
    let mut told = Vec::new();
    for (path, save_to, raw) in [
        ("/page", "pages/a.md", false),
        ("/page", "pages/a.html", true),
        ("/pdf", "./b.pdf", false),
        ("/large", "large.txt", false),
        ("/html", "large.md", false),
        ("/html", "large.html", true),
        ("/page", "pages/a.md", false),
        ("/page", "../a.md", false),
        ("/page", ".git/hooks/post-checkout", false),
        ("/missing", "c/missing", false),
    ] {
        let arguments = json!({ "url": server.url(path), "save_to": save_to, "raw": raw });
        told.push(server.masked(&call(&tools, "web_fetch", &arguments).await));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    Saved [http://SERVER/page, 200, text/html] to 'pages/a.md' as Markdown: 17 bytes, 3 lines, ~4 tokens.
    Title: A page
    Use grep_content to search it, or read_file with offset and limit to read portions of it.

    Saved [http://SERVER/page, 200, text/html] to 'pages/a.html' as it came: 58 bytes, 1 lines, ~14 tokens.
    Use grep_content to search it, or read_file with offset and limit to read portions of it.

    Saved [http://SERVER/pdf, 200, application/pdf] to 'b.pdf' as it came: 7 bytes.
    It is no text: read_file and grep_content do not show it.

    Saved [http://SERVER/large, 200, text/plain] to 'large.txt' as it came: 13631488 bytes, 1048576 lines, ~3407872 tokens.
    Use grep_content to search it, or read_file with offset and limit to read portions of it.

    Error: The page's HTML is larger than 5242880 bytes, the most that becomes Markdown. Nothing was saved. Use raw=true to save it as it is.
    Saved [http://SERVER/html, 200, text/html] to 'large.html' as it came: 13631491 bytes, 1048576 lines, ~3407872 tokens.
    Use grep_content to search it, or read_file with offset and limit to read portions of it.

    Error: 'pages/a.md' is there already and is not written over. Give save_to a name that is not there yet.
    Error: save_to '../a.md' leads out of the root. Give a path relative to the root.
    Error: save_to '.git/hooks/post-checkout' lies in a .git, where nothing is written. Give another path.
    Error: HTTP 404 Not Found from http://SERVER/missing. Check the url, or look for the page elsewhere.

    no
    ");
    let read = |name: &str| fs::read(root.path().join(name)).unwrap();
    assert_eq!(read("pages/a.md"), b"# Heading\n\nText.\n");
    assert_eq!(read("pages/a.html"), PAGE.as_bytes());
    assert_eq!(read("b.pdf"), b"%PDF\0\xff\n");
    assert_eq!(read("large.txt"), large.as_bytes());
    // Failures leave nothing behind.
    assert_eq!(
        (count(root.path()), count(&root.path().join("pages"))),
        (4, 2)
    );
}

#[tokio::test]
async fn nothing_is_left_of_what_breaks_off_or_is_dropped() {
    let root = tempfile::tempdir().unwrap();
    let mut broken = page(200, "text/plain", "x".repeat(3 << 20));
    broken.body.truncate(2 << 20);
    let server = Server::start(vec![
        ("/broken", broken),
        ("/slow", endless("text/plain", &vec![b'x'; 2 << 20])),
    ])
    .await;
    let tools = tools(root.path(), rules(&server));
    let arguments = |path| json!({ "url": server.url(path), "save_to": "a/b/c", "timeout": 1 });
    let told = call(&tools, "web_fetch", &arguments("/broken")).await;
    assert!(told.contains("broke off"), "{told}");
    assert_eq!(count(root.path()), 0);
    let told = call(&tools, "web_fetch", &arguments("/slow")).await;
    assert!(told.contains("took longer than 1 s"), "{told}");
    assert_eq!(count(root.path()), 0);
    let arguments = json!({ "url": server.url("/slow"), "save_to": "a/b/c" });
    let dropped = call(&tools, "web_fetch", &arguments);
    let begun = async {
        while !root.path().join("a/b").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        told = dropped => panic!("{told}"),
        () = begun => {}
    }
    // If a write was in progress, its thread finishes the write first.
    for _ in 0..2000 {
        if count(root.path()) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(count(root.path()), 0);
}
