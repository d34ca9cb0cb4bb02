//! The view of a gateway.

use std::sync::Arc;

use spillgate_page::{GatewayWatch, WatchedServer, WatchedSetting};

use crate::house::{House, Rights};

const HOSTILE: &str = "<script>alert(1)</script>\u{202e}";

/// A gateway that says always the same.
#[derive(Debug)]
struct Still;

impl GatewayWatch for Still {
    fn metrics(&self) -> String {
        let of = |name: &str, labels: &str, value: u64| {
            format!("spillgate_{name}{{server=\"tracker\"{labels}}} {value}\n")
        };
        let calls = ",method=\"tools/call\"";
        [
            "spillgate_sessions 3\n".to_owned(),
            of("requests_total", &format!("{calls},outcome=\"ok\""), 150),
            of("requests_total", &format!("{calls},outcome=\"error\""), 40),
            of(
                "requests_total",
                &format!("{calls},outcome=\"timeout\""),
                10,
            ),
            of("requests_total", ",method=\"tools/list\",outcome=\"ok\"", 7),
            of(
                "upstream_seconds_bucket",
                &format!("{calls},le=\"0.1\""),
                100,
            ),
            of(
                "upstream_seconds_bucket",
                &format!("{calls},le=\"2.1\""),
                200,
            ),
            of(
                "upstream_seconds_bucket",
                &format!("{calls},le=\"+Inf\""),
                200,
            ),
            of("server_starts_total", "", 4),
            of("server_failed_starts_total", "", 1),
            of("server_ends_total", "", 2),
        ]
        .concat()
    }

    fn servers(&self) -> Vec<WatchedServer> {
        let server = |name: &str, state, tools| WatchedServer {
            name: name.to_owned(),
            state,
            reached: "npx".to_owned(),
            tools,
        };
        vec![
            server("tracker", "up", Some(41)),
            server(HOSTILE, "resting", None),
        ]
    }

    fn clients(&self) -> Vec<Option<String>> {
        let name = || Some("claude-code".to_owned());
        vec![name(), None, name(), Some(HOSTILE.to_owned())]
    }

    fn settings(&self) -> Vec<WatchedSetting> {
        vec![WatchedSetting {
            key: "ui.enabled".to_owned(),
            value: "true".to_owned(),
            source: "TOML file spillgate.toml".to_owned(),
        }]
    }

    fn log(&self) -> Vec<String> {
        [
            "2026-11-26T10:00:00Z  INFO spillgate_gateway: it starts",
            "2026-11-26T10:00:01Z  WARN spillgate_gateway: it is slow",
            "2026-11-26T10:00:02Z ERROR spillgate_upstream: <script>alert(1)</script>",
            "2026-11-26T10:00:03Z  WARN spillgate_upstream: key AKIAQ3EGXZ7LKTPNWB5M",
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

#[tokio::test]
async fn servers_clients_settings_and_the_log() {
    let house = House::of_gateway(Rights::OWNER, Some(Arc::new(Still)))
        .let_in()
        .await;
    let page = house.get("/gateway").await.text();
    for part in [
        "3 clients connected",
        "<td class=\"number\">200</td>",
        "50 (25.0%)",
        "≈100 ms",
        "≈1.9 s",
        "4, 1 failed",
        "<li>claude-code × 2</li>",
        "<li>no name yet</li>",
        "TOML file spillgate.toml",
        "row w",
        "row e",
        "&lt;script&gt;",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(
        !page.contains("<script>alert") && !page.contains('\u{202e}'),
        "{page}"
    );
    assert!(!page.contains("AKIAQ3EGXZ7LKTPNWB5M"), "{page}");
    let errors = house.get("/gateway?level=error").await.text();
    assert!(
        !errors.contains("it is slow") && errors.contains("row e"),
        "{errors}"
    );
    let part = house.get("/gateway?part=1").await;
    assert!(!part.text().contains("<html"));
    let tag = part.header("etag").to_owned();
    let same = house
        .get_with("/gateway?part=1", &[("if-none-match", &tag)])
        .await;
    assert_eq!(same.status, 304);
}

#[tokio::test]
async fn a_page_without_a_gateway_says_where_there_is_one() {
    let house = House::new().await;
    let page = house.get("/gateway").await.text();
    assert!(page.contains("This page belongs to no gateway"), "{page}");
}

#[tokio::test]
async fn clients_with_tokens_see_neither_the_log_nor_runs() {
    let rights = Rights {
        is_owner: false,
        has_tokens: true,
    };
    let house = House::of_gateway(rights, Some(Arc::new(Still)));
    let page = house.get_as_client("/gateway").await.text();
    assert!(page.contains("3 clients connected"), "{page}");
    assert!(
        !page.contains("it is slow") && !page.contains("spillgate.toml"),
        "{page}"
    );
    let runs = house.get_as_client("/runs").await.text();
    assert!(
        runs.contains("Clients of a gateway do not see the runs"),
        "{runs}"
    );
    assert!(!runs.contains(">Runs</a>"), "{runs}");
}
