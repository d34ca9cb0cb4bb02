//! What tools print stays text.

use serde_json::json;

use crate::house::{House, Rights};

/// Markup, a terminal's escapes, a right-to-left override, and an end of a script.
const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>\u{202e}\u{1b}[31m</textarea>{{7*7}}";

/// Parts of it that would be at work.
const AT_WORK: [&str; 6] = [
    "<script>alert",
    "<img src=x",
    "<svg onload",
    "</textarea>",
    "\u{202e}",
    "\u{1b}",
];

async fn is_inert(house: &House, path: &str) {
    let answer = house.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    let text = answer.text();
    let kind = answer.header("content-type");
    // JSON is read by the script, which makes text nodes of it; browsers take it for nothing else.
    let is_json = kind.starts_with("application/json") || kind == "application/x-ndjson";
    for part in AT_WORK {
        let is_markup = part.starts_with('<') && is_json;
        assert!(is_markup || !text.contains(part), "{path} {kind}: {part:?}");
    }
}

#[tokio::test]
async fn markup_escapes_and_bidi_are_inert_in_every_view() {
    let house = House::new().await;
    let line = format!("ERROR {HOSTILE}\n");
    let records: Vec<_> = (0..900)
        .map(|at| json!({ HOSTILE: HOSTILE, "b": at }))
        .collect();
    let csv = format!(
        "{},b\n{}",
        csv(HOSTILE),
        format!("{},1\n", csv(HOSTILE)).repeat(900)
    );
    let html = format!(
        "<!doctype html><html><body>{}</body></html>",
        HOSTILE.repeat(400)
    );
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\">{}</svg>",
        HOSTILE.repeat(400)
    );
    let ndjson: String = records.iter().map(|one| format!("{one}\n")).collect();
    for text in [
        line.repeat(400),
        json!(records).to_string(),
        csv,
        html,
        svg,
        ndjson,
    ] {
        let handle = house
            .store_of(json!({
                "tool": HOSTILE,
                "server": HOSTILE,
                "arguments": { "command": HOSTILE },
                "content": text,
            }))
            .await;
        for tab in ["text", "table", "tree", "bytes", "difference", "image"] {
            is_inert(&house, &format!("/a/{handle}?tab={tab}&filter=script")).await;
        }
        for part in ["message", "outline", "lines", "hex", "error"] {
            is_inert(&house, &format!("/a/{handle}/{part}")).await;
        }
        let download = house.get(&format!("/a/{handle}/download?form=raw")).await;
        assert_eq!(download.header("content-type"), "application/octet-stream");
        assert!(
            download
                .header("content-disposition")
                .starts_with("attachment; filename=\"")
        );
        assert_eq!(house.get(&format!("/a/{handle}/image")).await.status, 404);
    }
    for path in ["/", "/rows", "/meter", "/find/hits?what=alert"] {
        is_inert(&house, path).await;
    }
    // What the person typed comes back as text, too.
    let query: String = form_urlencoded::byte_serialize("<script>alert".as_bytes()).collect();
    for path in ["/?q=", "/?tool=", "/find?what=", "/meter?price=1&x="] {
        let answer = house.get(&format!("{path}{query}")).await;
        assert!(!answer.text().contains("<script>alert"), "{path}");
    }
    let answer = house.get("/a/%3Cscript%3Ealert").await;
    assert_eq!(answer.status, 400);
    assert!(!answer.text().contains("<script>alert"));
}

/// Returns a cell of a table in quotes.
fn csv(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[tokio::test]
async fn what_would_take_much_memory_is_refused() {
    let house = House::new().await;
    let good = "1,a\n".repeat(2000);
    let junk = "x".repeat(3 << 20);
    for (csv, said) in [
        (
            format!("id,name\n{good}2,\"{junk}\n"),
            "row 2001 has more than",
        ),
        (
            format!("id,name\n{good}2,{junk}\n"),
            "row 2001 has more than",
        ),
    ] {
        let handle = house.store("export", &csv).await;
        let page = house.get(&format!("/a/{handle}?tab=table")).await;
        assert_eq!(page.status, 200);
        assert!(page.text().contains(said), "{}", page.text());
    }
    let records = "{\"id\": 1, \"name\": \"a\"}\n".repeat(900);
    let long = json!({ "id": 2, "name": "y".repeat(900_000) });
    let longer = json!({ "id": 3, "name": junk });
    let handle = house
        .store("export", &format!("{records}{long}\n{longer}\n"))
        .await;
    for query in ["", "&page=19", "&sort=1&down=1", "&filter=y"] {
        let page = house.get(&format!("/a/{handle}?tab=table{query}")).await;
        assert_eq!(page.status, 200, "{query}");
        assert!(page.body.len() < 100_000, "{query}: {}", page.body.len());
    }
    let page = house
        .get(&format!("/a/{handle}?tab=table&page=19"))
        .await
        .text();
    assert!(
        page.contains("(a row of 3.0 MiB, which is too long for a table)"),
        "{page}"
    );
    let (one, other) = ("a\n".repeat(300_000), "b\n".repeat(300_000));
    let (one, other) = (
        house.store("make", &one).await,
        house.store("make", &other).await,
    );
    let page = house
        .get(&format!("/a/{one}?tab=difference&with={other}"))
        .await;
    assert_eq!(page.status, 400);
    assert!(
        page.text()
            .contains("the two outputs have 600,000 lines; at most 500,000 are compared"),
        "{}",
        page.text()
    );
}

/// A token that a rule finds, and its hidden part.
const SECRET: &str = "ghp_1234567890abcdefghijABCDEFGHIJ123456";

#[tokio::test]
async fn secrets_are_for_the_owner_who_asks() {
    for is_owner in [true, false] {
        let rights = Rights {
            is_owner,
            has_tokens: false,
        };
        let mut house = House::with(rights);
        let link = house.page.link().unwrap();
        let answer = house.get(link.strip_prefix("/ui").unwrap()).await;
        house.keep_cookie(&answer);
        let text = format!("{}\ntoken {SECRET}\n", "a line\n".repeat(2000));
        let command = format!("curl -H 'Authorization: Bearer {SECRET}'");
        let handle = house
            .store_of(
                json!({ "tool": "curl", "arguments": { "command": command }, "content": text }),
            )
            .await;
        let of = |rest: &str| format!("/a/{handle}{rest}");
        for path in [
            "/".to_owned(),
            "/find/hits?what=token".to_owned(),
            of(""),
            of("/message"),
            of("/outline"),
            of("/lines?start=1990"),
            of("/download?form=text"),
            format!(
                "/v1{}",
                of("/grep?pattern=token").replace("/a/", "/artifacts/")
            ),
        ] {
            let answer = house.get(&path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            assert!(!answer.text().contains(SECRET), "{path}");
        }
        for path in [of("/download?form=raw"), of("/hex?start=870")] {
            assert_eq!(house.get(&path).await.status, 403, "{path}");
        }
        let asked = house.get(&of("/lines?start=1990&secrets=1")).await;
        assert_eq!(asked.text().contains(SECRET), is_owner);
        let raw = house.get(&of("/download?form=raw&secrets=1")).await;
        assert_eq!(raw.status == 200, is_owner);
        let page = house.get(&of("")).await.text();
        assert!(
            page.contains("Marks stand in place of the secrets"),
            "{page}"
        );
        assert_eq!(page.contains("Show secrets"), is_owner);
    }
}
