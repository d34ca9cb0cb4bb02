//! Tests the outlines of real tool outputs, as a model sees them.

use std::fmt::Write;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;
use spillgate_outline::DEFAULT_TOKENS;

use crate::support::Returned;

fn shown(text: &str) -> String {
    Returned::of(text).shown(DEFAULT_TOKENS)
}

fn pick(values: &[&'static str], at: u64) -> &'static str {
    values[usize::try_from(at).unwrap() % values.len()]
}

#[test]
fn issues_of_a_github_repository() {
    let issues: Vec<_> = (0..30u64)
        .map(|i| {
            let at = |path: &str| format!("https://api.github.com/repos/octo/hello/issues/{i}{path}");
            let user = json!({
                "login": pick(&["octocat", "hubot"], i), "id": i % 2 + 1, "node_id": "MDQ6VXNlcjE=",
                "avatar_url": "https://github.com/images/error/octocat_happy.gif", "url": at("/u"),
                "html_url": "https://github.com/octocat", "type": "User", "site_admin": false,
            });
            let mut issue = json!({
                "id": 1_900_000_000 + i, "node_id": format!("I_{i}"), "url": at(""), "repository_url": at("/r"),
                "labels_url": at("/labels{/name}"), "comments_url": at("/comments"), "html_url": at("/h"),
                "number": 1347 - i, "state": if i % 3 == 0 { "closed" } else { "open" },
                "title": format!("Found a bug in part {i}"), "body": "I'm having a problem with this.", "user": user,
                "labels": (0..i % 3).map(|n| json!({"id": n, "name": pick(&["bug", "docs"], n), "color": "f29513", "default": n == 0})).collect::<Vec<_>>(),
                "assignee": if i % 2 == 0 { json!(null) } else { user.clone() },
                "milestone": null, "locked": false, "comments": i * 2,
                "created_at": format!("2026-04-{:02}T20:09:31Z", i % 28 + 1), "closed_at": null,
            });
            if i % 5 == 0 {
                issue["pull_request"] = json!({"url": at("/p"), "merged_at": null});
            }
            issue
        })
        .collect();
    assert_snapshot!(shown(&json!(issues).to_string()), @r#"
    json
      (laid out as 1261 lines)
      .[]: array(30) of object {also .created_at, .id, .locked, .milestone, .node_id, .number, .title}
        .assignee: object | null {.id: number, .login: string, .node_id: string, .site_admin: boolean, .type: string, 3 keys with URLs}
        .body: string: "I'm having a problem with this.…"
        .closed_at: null
        .comments: number 0–58
        .labels[]: array(0–2) of object {.color, .default, .id, .name}
        .pull_request? (6 of 30): object {.merged_at: null, .url: string}
        .state: string (2 distinct: "closed", "open")
        .user: object {.id, .login, .node_id, .site_admin, .type, 3 keys with URLs}
        .comments_url, .html_url, .labels_url, .repository_url, …: 5 keys with URLs
      (… 7 finer lines left out)
    "#);
}

#[test]
fn cargo_metadata_of_this_workspace() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = Returned::of(&String::from_utf8(output.stdout).unwrap()).shown(4000);
    // Compare only the lines that stay the same while the workspace grows.
    let stable: Vec<&str> = [
        "  object",
        ".packages[]",
        ".name:",
        ".edition",
        ".targets[]",
        ".workspace_members[]",
    ]
    .into_iter()
    .map(|start| {
        let line = text
            .lines()
            .find(|line| line.trim().starts_with(start.trim()));
        line.unwrap_or_else(|| panic!("no {start} in\n{text}"))
    })
    .map(|line| line.split_once("array(").map_or(line, |(before, _)| before))
    .map(|line| {
        line.split_once("spillgate-")
            .map_or(line, |(before, _)| before)
    })
    .collect();
    assert_snapshot!(stable.join("\n"), @r#"
    object
      .packages[]: 
        .name: string: "
          .edition: string: "2024"
        .targets[]: 
      .workspace_members[]:
    "#);
}

#[test]
fn a_package_of_npm() {
    let versions: Vec<String> = (0..300)
        .map(|i| format!("{}.{}.{}", i / 100, i / 10 % 10, i % 10))
        .collect();
    let time: serde_json::Map<_, _> = ["created", "modified"]
        .into_iter()
        .map(str::to_owned)
        .chain(versions.clone())
        .map(|key| (key, json!("2026-01-01T00:00:00.000Z")))
        .collect();
    let package = json!({
        "_id": "react@2.9.9", "name": "react", "dist-tags": {"latest": "2.9.9", "next": "3.0.0-rc.1", "beta": "3.0.0-beta"},
        "versions": versions, "time": time, "description": "React is a JavaScript library for building user interfaces.",
        "keywords": ["react"], "license": "MIT", "homepage": "https://react.dev/",
        "repository": {"url": "git+https://github.com/facebook/react.git", "type": "git", "directory": "packages/react"},
        "engines": {"node": ">=0.10.0"}, "dependencies": {"loose-envify": "^1.1.0"},
        "dist": {"shasum": "ab", "tarball": "https://registry.example/react.tgz", "fileCount": 31, "unpackedSize": 1_234_567_890_123_456_789u64},
    });
    assert_snapshot!(shown(&serde_json::to_string_pretty(&package).unwrap()), @r#"
    json
      object {also .name}
        ._id: string: "react@2.9.9"
        .dependencies."loose-envify": string: "^1.1.0"
        .description: string: "React is a JavaScript library f…"
        .dist: object {.fileCount: number, .shasum: string, .tarball: string, .unpackedSize: number}
        ."dist-tags": object {.beta: string, .latest: string, .next: string}
        .engines.node: string: ">=0.10.0"
        .homepage: string: "https://react.dev/"
        .keywords[]: array(1) of string: "react"
        .license: string: "MIT"
        .repository: object {.directory: string, .type: string, .url: string}
        .time[]: {<302 keys like "0.0.0">: string: "2026-01-01T00:00:00.000Z"}
        .versions[]: array(300) of string: "0.0.0", …
      (… 1 finer lines left out)
    "#);
}

#[test]
fn a_list_of_kubernetes_pods() {
    let pods: Vec<_> = (0..12u64)
        .map(|i| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": format!("web-{i}"), "namespace": pick(&["default", "kube-system"], i), "uid": format!("6f9d-{i}"),
                    "labels": {"app.kubernetes.io/name": "web", "tier": "front"}, "creationTimestamp": "2026-11-01T08:00:00Z",
                },
                "spec": {"nodeName": format!("node-{}", i % 3), "containers": [{"name": "web", "image": "nginx:1.27", "ports": [{"containerPort": 80}]}]},
                "status": {"phase": if i == 7 { "Pending" } else { "Running" }, "podIP": format!("10.0.0.{i}"),
                    "containerStatuses": [{"name": "web", "ready": i != 7, "restartCount": i * i}]},
            })
        })
        .collect();
    let list = json!({"apiVersion": "v1", "items": pods, "kind": "List", "metadata": {"resourceVersion": ""}});
    assert_snapshot!(shown(&list.to_string()), @r#"
    json
      (laid out as 477 lines)
      object
        .apiVersion: string: "v1"
        .items[]: array(12) of object
          .apiVersion: string: "v1"
          .kind: string: "Pod"
          .metadata: object {also .creationTimestamp, .name, .uid}
            .labels: object {."app.kubernetes.io/name": string: "web", .tier: string: "front"}
            .namespace: string (2 distinct: "default", "kube-system")
          .spec: object
            .containers[]: array(1) of object {also .image, .name, .ports[]}
            .nodeName: string (3 distinct: "node-0", "node-1", "node-2")
          .status: object {also .phase, .podIP}
            .containerStatuses[]: array(1) of object {.name: string, .ready: boolean (11 true, 1 false), .restartCount: number}
        .kind: string: "List"
        .metadata.resourceVersion: string: ""
      (… 8 finer lines left out)
    "#);
}

/// Returns the log of a service with templates, levels, and a single line that matters.
fn log_of(bytes: usize) -> String {
    let mut log = String::with_capacity(bytes + 200);
    let mut i = 0u64;
    while log.len() < bytes {
        let (hour, minute, second) = (i / 36_000 % 24, i / 600 % 60, i / 10 % 60);
        let id = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        write!(
            log,
            "2026-03-01T{hour:02}:{minute:02}:{second:02}.{:03}Z ",
            i % 10 * 100
        )
        .unwrap();
        match i % 1000 {
            17 => writeln!(
                log,
                "WARN  pool    timeout after {}ms on shard-{}, retry {} of 5",
                id % 3000,
                id % 16,
                id % 5
            ),
            18 if i > 100_000 => writeln!(
                log,
                "ERROR net     upstream 10.8.0.{}:8443: connection reset by peer",
                id % 255
            ),
            n if n % 3 == 0 => writeln!(
                log,
                "DEBUG cache   key=session:{id:016x} outcome={} size={}",
                pick(&["hit", "miss"], n),
                id % 9999
            ),
            n if n % 3 == 1 => writeln!(
                log,
                "INFO  http    req={id:016x} method={} path=/api/v2/orders/{} status=200",
                pick(&["GET", "POST"], n),
                id % 99_999
            ),
            _ => writeln!(
                log,
                "INFO  worker  worker-{} finished job {} in {} ms",
                id % 20,
                id % 7777,
                id % 500
            ),
        }
        .unwrap();
        if i == 77_777 {
            log.push_str("2026-03-01T02:09:37.750Z FATAL ledger  reconciliation aborted code=E4217 operator action required\n");
        }
        i += 1;
    }
    log
}

/// The log is a fifth as long as the one in `benches/outline.py`, so that debug builds are fast.
#[test]
fn a_long_log() {
    let log = log_of(20_000_000);
    assert_snapshot!(shown(&log), @"
    log
      77779: FATAL ledger  reconciliation aborted code=E4217 operator action required
      218019: WARN  pool    timeout after 2789ms on shard-5, retry 4 of 5
      218020: ERROR net     upstream 10.8.0.218:8443: connection reset by peer (119 like it)
      levels: FATAL 1, ERROR 119, WARN 219, INFO 145,121, DEBUG 72,770
      from 2026-03-01T00:00:00.000Z to 2026-03-01T06:03:42.800Z
      72,770× (line 1) <*> DEBUG cache key=session:<*> outcome=<*> size=<*>
      72,670× (line 2) <*> INFO http req=<*> method=<*> path=/api/<*>/orders/<*> status=<*>
      219× (line 18) <*> WARN pool timeout after <*> on shard-<*>, retry <*> of <*>
      (… 3 finer lines left out)
    ");
}

#[test]
fn an_html_page() {
    let rows: String = (0..40)
        .map(|i| format!("<tr><td>v{i}</td><td>2026</td></tr>\n"))
        .collect();
    let page = format!(
        "<!DOCTYPE html>\n<html><head><title>Release\n notes &amp; more</title><script>if (a < b) '<h1>no</h1>'</script></head>\n\
        <body><nav aria-label=\"Main\"><a href=/>Home</a> <a href=/docs>Docs</a></nav>\n<main id=content>\n\
        <h1>Release <em>notes</em></h1><p>Intro<p>More\n<h2 id=new>What is new</h2>\n\
        <table class=\"releases wide\"><thead><tr><th>Version</th><th>Year</th></tr></thead>\n{rows}</table>\n\
        <h2>Contact</h2><h3>By mail\n</h3><form id=ask><input name=email><select name=topic></select><textarea name=text></textarea></form>\n\
        <section><h2>Unclosed & broken <b></h2></main><footer>x</body></html>\n"
    );
    assert_snapshot!(shown(&page), @r#"
    html
      (laid out as 200 lines)
      title: Release notes & more
      2 links, 2 paragraphs, 1 scripts
      9: nav "Main"
      12: main#content
      13: h1 Release notes
        16: h2 What is new
      17: table.releases.wide, 40 rows: Version | Year
        185: h2 Contact
          186: h3 By mail
      188: form#ask: email, topic, text
        196: h2 Unclosed & broken
    "#);
}

#[test]
fn a_table_with_newlines_in_its_fields() {
    let mut text = "order,placed,region,amount,note\r\n".to_owned();
    for i in 0..500u64 {
        let note = if i % 7 == 0 {
            "\"two\r\nlines, and a \"\"comma\"\"\""
        } else {
            ""
        };
        let region = pick(&["eu", "us", "ap"], i);
        write!(
            text,
            "{},2026-{:02}-01,{region},{}.50,{note}\r\n",
            1000 + i,
            i % 12 + 1,
            i * 3
        )
        .unwrap();
    }
    assert_snapshot!(shown(&text), @r#"
    csv
      500 rows, 5 columns
      order: integer 1000–1499
      placed: date/time 2026-01-01 – 2026-12-01
      region: text (3 distinct: 167× eu, 167× us, 166× ap)
      amount: number 0.50–1497.50
      note: text: always two\r\nlines, and a "comma…; 428 empty
    "#);
}

#[test]
fn a_diff() {
    let text = "diff --git a/src/lib.rs b/src/lib.rs\nindex 83db48f..bf269f4 100644\n--- a/src/lib.rs\n+++ b/src/lib.rs\n\
        @@ -1,3 +1,5 @@\n use std::fmt;\n+use std::io;\n+use std::fs;\n \n-fn old() {}\n+fn new() {}\n\
        @@ -10,2 +12,1 @@ impl A {\n-    a\n     b\n\
        diff --git a/docs/old.md b/docs/new.md\nsimilarity index 100%\nrename from docs/old.md\nrename to docs/new.md\n\
        diff --git a/.gitignore b/.gitignore\nnew file mode 100644\nindex 0000000..ea8c4bf\n--- /dev/null\n+++ b/.gitignore\n@@ -0,0 +1 @@\n+/target\n";
    assert_snapshot!(shown(text), @"
    diff
      3 files, +4 −2
      1: src/lib.rs +3 −2
      15: docs/new.md (renamed) +0 −0
      19: .gitignore (new) +1 −0
    ");
}

#[test]
fn a_rust_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../artifact/src/tokens.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let shown = shown(&text);
    // Drop the line numbers, because they change.
    let lines: Vec<&str> = shown
        .lines()
        .map(|line| {
            line.trim_start_matches([' ', ':', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        })
        .collect();
    assert_snapshot!(lines.join("\n"), @"
    code
    pub struct Tokens
    impl Tokens
    pub fn exact(count: u64) -> Self
    pub fn estimated(count: u64) -> Self
    impl fmt::Display for Tokens
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result
    pub struct TokenBudget(u64);
    impl TokenBudget
    pub fn new(tokens: u64) -> Self
    pub fn get(self) -> u64
    pub fn less(self, spent: u64) -> Self
    ");
}

#[test]
fn failing_tests_of_cargo() {
    let passed: String = (0..120)
        .map(|i| format!("test store::tests::case_{i} ... ok\n"))
        .collect();
    let text = format!(
        "   Compiling shop v0.1.0 (/home/me/shop)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.33s\n     Running unittests src/lib.rs (target/debug/deps/shop-507999230d6984fa)\n\nrunning 123 tests\n{passed}\
        test cart::empty_cart_is_free ... FAILED\ntest totals_are_rounded ... FAILED\ntest slow ... ignored\n\nfailures:\n\n\
        ---- cart::empty_cart_is_free stdout ----\n\nthread 'cart::empty_cart_is_free' (22515) panicked at src/lib.rs:3:46:\nprice of nothing is 3\n\
        note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n---- totals_are_rounded stdout ----\n\n\
        thread 'totals_are_rounded' (22519) panicked at src/lib.rs:2:35:\nassertion `left == right` failed: total of order 17\n  left: 2.0\n right: 2.5\n\n\n\
        failures:\n    cart::empty_cart_is_free\n    totals_are_rounded\n\ntest result: FAILED. 120 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
        error: test failed, to rerun pass `--lib`\n"
    );
    assert_snapshot!(shown(&text), @"
    log
      126: test cart::empty_cart_is_free ... FAILED
      127: test totals_are_rounded ... FAILED
      132: ---- cart::empty_cart_is_free stdout ----
      134: thread 'cart::empty_cart_is_free' (22515) panicked at src/lib.rs:3:46:
      135: price of nothing is 3
      136: note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
      138: ---- totals_are_rounded stdout ----
      140: thread 'totals_are_rounded' (22519) panicked at src/lib.rs:2:35:
      141: assertion `left == right` failed: total of order 17
      142:   left: 2.0
      148:     totals_are_rounded
      150: test result: FAILED. 120 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
      152: error: test failed, to rerun pass `--lib`
      (… 26 finer lines left out)
    ");
}

#[test]
fn failing_tests_of_pytest() {
    let text = "============================= test session starts ==============================\nplatform linux -- Python 3.12.3, pytest-8.3.3, pluggy-1.5.0\nrootdir: /home/me/shop\ncollected 61 items\n\n\
        tests/test_cart.py ..F.......F............................................ [ 90%]\ntests/test_api.py .....E                                                  [100%]\n\n\
        ==================================== ERRORS ====================================\n_________________________ ERROR at setup of test_login _________________________\nfixture 'client' not found\n\
        =================================== FAILURES ===================================\n__________________________ test_total[USD] _____________________________\n\n    def test_total(currency):\n>       assert total(currency) == 12\nE       AssertionError: assert 11 == 12\nE        +  where 11 = total('USD')\n\ntests/test_cart.py:14: AssertionError\n\
        ________________________________ test_empty ____________________________________\n\nE       ZeroDivisionError: division by zero\n\nsrc/cart.py:7: ZeroDivisionError\n\
        =========================== short test summary info ============================\nFAILED tests/test_cart.py::test_total[USD] - AssertionError: assert 11 == 12\nFAILED tests/test_cart.py::test_empty - ZeroDivisionError: division by zero\nERROR tests/test_api.py::test_login\n\
        =================== 2 failed, 58 passed, 1 error in 1.92s ====================\n";
    assert_snapshot!(shown(text), @"
    log
      10: _________________________ ERROR at setup of test_login _________________________
      11: fixture 'client' not found
      13: __________________________ test_total[USD] _____________________________
      15:     def test_total(currency):
      16: >       assert total(currency) == 12
      17: E       AssertionError: assert 11 == 12
      18: E        +  where 11 = total('USD')
      20: tests/test_cart.py:14: AssertionError
      21: ________________________________ test_empty ____________________________________
      23: E       ZeroDivisionError: division by zero
      26: =========================== short test summary info ============================
      27: FAILED tests/test_cart.py::test_total[USD] - AssertionError: assert 11 == 12
      28: FAILED tests/test_cart.py::test_empty - ZeroDivisionError: division by zero
      29: ERROR tests/test_api.py::test_login
      30: =================== 2 failed, 58 passed, 1 error in 1.92s ====================
      (… 29 finer lines left out)
    ");
}
