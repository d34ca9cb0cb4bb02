//! The views: the list, one output, the search over all, and the meter.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::{Value, json};
use spillgate_retrieval::Account;
use spillgate_store::{ArtifactStore, Gone};

use crate::house::House;

/// Returns the handles in the order of a list.
fn listed(text: &str) -> Vec<String> {
    let rows = text.split("<tr data-key=\"").skip(1);
    rows.map(|row| row.split('"').next().unwrap().to_owned())
        .collect()
}

/// Returns a text of this many lines that is too large to pass.
fn lines(many: usize) -> String {
    (1..=many)
        .map(|at| format!("line {at} of a text that is too large\n"))
        .collect()
}

#[tokio::test]
async fn the_list_filters_sorts_and_pages() {
    let house = House::new().await;
    let mut all = Vec::new();
    for at in 0..103 {
        let many = if at == 50 { 4000 } else { 1500 };
        let tool = if at % 2 == 0 { "make" } else { "Search" };
        let body = json!({
            "tool": tool,
            "server": if at % 2 == 0 { Value::Null } else { "tracker".into() },
            "arguments": { "number": at },
            "is_error": at == 7,
            "content": lines(many),
        });
        all.push(house.store_of(body).await);
    }
    let list = async |path: &str| listed(&house.get(path).await.text());
    let first = list("/").await;
    assert_eq!(first.len(), 100);
    let second = list("/?page=2").await;
    assert_eq!(second.len(), 3);
    assert!(first.iter().all(|one| !second.contains(one)));
    assert_eq!(list("/?order=size").await[0], all[50]);
    assert_eq!(list("/?order=tokens").await[0], all[50]);
    assert_eq!(list("/?failed=1").await, [all[7].clone()]);
    assert_eq!(list("/?q=NUMBER%22%3A42").await, [all[42].clone()]);
    assert_eq!(list("/?q=tracker+search").await.len(), 51);
    assert_eq!(list("/?tool=make").await.len(), 52);
    assert_eq!(list("/?server=tracker&kind=text&since=1d").await.len(), 51);
    assert_eq!(list("/?kind=json").await.len(), 0);
    assert!(house.get("/?page=x").await.status == 400);
    // Pins are seen at once.
    assert_eq!(
        house
            .post(&format!("/a/{}/pin", all[3]), "pinned=1")
            .await
            .status,
        303
    );
    assert_eq!(list("/?pinned=1").await, [all[3].clone()]);
    assert!(
        house
            .get(&format!("/a/{}", all[3]))
            .await
            .text()
            .contains(">Unpin<")
    );
    // A script that has the same rows gets no rows.
    let rows = house.get("/rows").await;
    let tag = rows.header("etag").to_owned();
    let same = house.get_with("/rows", &[("if-none-match", &tag)]).await;
    assert_eq!((same.status.as_u16(), same.body.len()), (304, 0));
    house
        .post(&format!("/a/{}/remove", first[0]), "sure=1")
        .await;
    let other = house.get_with("/rows", &[("if-none-match", &tag)]).await;
    assert_eq!(other.status, 200);
    assert!(!listed(&other.text()).contains(&first[0]));
}

#[tokio::test]
async fn one_output_with_its_message_and_its_shape() {
    let house = House::new().await;
    let log: String = (1..2000)
        .map(|at| match at % 500 {
            0 => format!("2026-11-26T10:00:00 ERROR request {at} failed\n"),
            _ => format!("2026-11-26T10:00:00 INFO request {at} done\n"),
        })
        .collect();
    let body = json!({ "tool": "journal", "arguments": { "unit": "web" }, "content": log });
    let handle = house.store_of(body.clone()).await;
    let of = |rest: &str| format!("/a/{handle}{rest}");
    let page = house.get(&of("")).await.text();
    for part in [
        "journal",
        "{&quot;unit&quot;:&quot;web&quot;}",
        "size cap",
        "data-total=\"1999\"",
        "What the model saw",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let message = house.get(&of("/message")).await.text();
    assert!(
        message.contains(&format!("stored whole as {handle}")),
        "{message}"
    );
    // It came from no gateway, so it names commands.
    assert!(message.contains("next: spillgate "), "{message}");
    assert!(
        message.contains("class=\"line\" href=\"#L500\""),
        "{message}"
    );
    let outline = house.get(&of("/outline")).await.text();
    assert!(outline.contains("levels: ERROR 3, INFO 1,996"), "{outline}");
    let rows = house.get(&of("/lines?start=499&count=3")).await.json();
    assert_snapshot!(rows.to_string(), @r#"{"rows":[["499","2026-11-26T10:00:00 INFO request 499 done",""],["500","2026-11-26T10:00:00 ERROR request 500 failed","e"],["501","2026-11-26T10:00:00 INFO request 501 done",""]],"total":1999}"#);
    for (query, line) in [
        ("from=0", json!(500)),
        ("from=500", json!(1000)),
        ("from=1500", Value::Null),
        ("from=1500&back=1", json!(1000)),
        ("from=99999&back=1", json!(1500)),
        ("from=500&back=1", Value::Null),
    ] {
        let found = house.get(&of(&format!("/error?{query}"))).await.json();
        assert_eq!(found["line"], line, "{query}");
    }
    // Similar lines are folded, and levels are filtered.
    let folded = house.get(&of("/lines?lens=folded&line=700")).await.json();
    assert_eq!((&folded["total"], &folded["row"]), (&json!(7), &json!(3)));
    assert_snapshot!(folded["rows"][0].to_string(), @r#"["1","2026-11-26T10:00:00 INFO request 1 done","","+ 498 lines like it"]"#);
    let errors = house
        .get(&of("/lines?lens=errors&start=2&count=1&line=501"))
        .await
        .json();
    assert_snapshot!(errors.to_string(), @r#"{"row":2,"rows":[["1000","2026-11-26T10:00:00 ERROR request 1000 failed","e"]],"total":3}"#);
    let bytes = house.get(&of("/hex?start=2&count=1")).await.json();
    assert_eq!(bytes["rows"][0][0], "00000010");
    for past in ["/lines?start=99999999", "/hex?start=99999999"] {
        assert_eq!(
            house.get(&of(past)).await.json()["rows"],
            json!([]),
            "{past}"
        );
    }
    // The next output of the same call can be compared.
    let mut body = body;
    body["content"] = log
        .replace("request 1000 failed", "request 1000 was lost")
        .into();
    let newer = house.store_of(body).await;
    house.get("/").await;
    let difference = house
        .get(&format!("/a/{newer}?tab=difference"))
        .await
        .text();
    assert!(difference.contains("1 line added"), "{difference}");
    assert!(
        difference.contains("ERROR request 1000 was lost"),
        "{difference}"
    );
    assert!(!difference.contains("request 990 "), "{difference}");
    let download = house.get(&of("/download?form=raw")).await;
    assert_eq!(download.body, log.as_bytes());
}

#[tokio::test]
async fn tables_are_sorted_and_filtered_by_the_server() {
    let house = House::new().await;
    let mut csv = "id,name,price\n".to_owned();
    let mut ndjson = String::new();
    let mut records = Vec::new();
    for at in 0..1200 {
        let price = (at * 7919) % 1200;
        csv.push_str(&format!("{at},\"name, {at}\",{price}\n"));
        let record = json!({ "id": at, "name": format!("name, {at}"), "price": price });
        ndjson.push_str(&format!("{record}\n"));
        records.push(record);
    }
    let document = json!({ "total": 1200, "items": records }).to_string();
    for text in [csv, ndjson, document] {
        let handle = house.store("export", &text).await;
        let table = async |query: &str| {
            let answer = house.get(&format!("/a/{handle}?tab=table{query}")).await;
            assert_eq!(answer.status, 200);
            rows_of(&answer.text())
        };
        let plain = table("").await;
        assert_eq!(plain.len(), 50);
        assert_eq!(plain[0], ["1", "0", "name, 0", "0"]);
        assert_eq!(
            table("&page=24").await[49],
            ["1,200", "1199", "name, 1199", "481"]
        );
        // Numbers are sorted as numbers.
        let sorted = table("&sort=3&down=1").await;
        assert_eq!(sorted[0][3], "1199");
        assert_eq!(sorted[49][3], "1150");
        assert_eq!(table("&sort=3&page=24").await[49][3], "1199");
        let found = table("&filter=NAME,+77&sort=1&down=1").await;
        assert_eq!(found.len(), 11);
        assert_eq!(found[0][1], "779");
        assert_eq!(table("&filter=nothing").await.len(), 0);
        assert_eq!(table("&sort=99").await.len(), 50);
    }
    // What is no table says so, and the other views are there.
    let handle = house
        .store("api", &json!({ "text": "x ".repeat(9000) }).to_string())
        .await;
    let answer = house.get(&format!("/a/{handle}?tab=table")).await;
    assert_eq!(answer.status, 200);
    assert!(
        answer.text().contains("there is no array"),
        "{}",
        answer.text()
    );
}

/// Returns the cells of a table without markup.
fn rows_of(text: &str) -> Vec<Vec<String>> {
    let body = text.split("<table class=\"sheet\">").nth(1).unwrap();
    let body = body
        .split("<tbody>")
        .nth(1)
        .unwrap()
        .split("</tbody>")
        .next()
        .unwrap();
    let cells = |row: &str| {
        let cells = row.split("<td").skip(1);
        let cells = cells.map(|cell| {
            let cell = cell.split_once('>').unwrap().1;
            cell.split('<').next().unwrap().to_owned()
        });
        cells.collect()
    };
    body.split("<tr>").skip(1).map(cells).collect()
}

#[tokio::test]
async fn a_tree_opens_branch_by_branch() {
    let house = House::new().await;
    let items: Vec<_> = (0..450)
        .map(|at| json!({ "id": at, "a/b": { "deep": [at, "x".repeat(20)] } }))
        .collect();
    let document = json!({ "items": items, "total": 450 }).to_string();
    let handle = house.store("api", &document).await;
    let page = house.get(&format!("/a/{handle}")).await.text();
    assert!(page.contains("data-branch"), "{page}");
    let branch = async |query: &str| house.get(&format!("/a/{handle}/tree?{query}")).await;
    let items = branch("path=/items").await.text();
    assert!(items.contains("250 more…"), "{items}");
    let last = branch("path=/items&from=400").await.text();
    assert_eq!(last.matches("<li>").count(), 50);
    let deep = branch("path=/items/449/a~1b/deep").await.text();
    assert!(deep.contains("<span class=\"digits\">449</span>"), "{deep}");
    assert_eq!(branch("path=/nothing").await.status, 400);
}

#[tokio::test]
async fn images_are_shown_and_other_bytes_are_digits() {
    let house = House::new().await;
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend((0..60_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8));
    let handle = house.store_bytes("screenshot", &png).await;
    let page = house.get(&format!("/a/{handle}")).await.text();
    assert!(page.contains(&format!("/ui/a/{handle}/image")), "{page}");
    let image = house.get(&format!("/a/{handle}/image")).await;
    assert_eq!(image.header("content-type"), "image/png");
    assert_eq!(
        image.header("content-security-policy"),
        "default-src 'none'; sandbox"
    );
    assert_eq!(image.body, png);
    let bytes = house.get(&format!("/a/{handle}/hex?count=1")).await.json();
    assert_eq!(
        bytes["rows"][0][1].as_str().unwrap()[..24],
        *"89 50 4e 47 0d 0a 1a 0a "
    );
}

#[tokio::test]
async fn the_search_over_all_sends_hits_as_lines() {
    let house = House::new().await;
    let mut handles = Vec::new();
    for at in 0..30 {
        let text = lines(1500).replace("line 700 ", &format!("line 700 Code E{at:04} "));
        handles.push(house.store("make", &text).await);
    }
    house.get("/").await;
    let found = house.get("/find/hits?what=code+e0017").await.text();
    let found: Vec<Value> = found
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let hits: Vec<&Value> = found.iter().filter(|line| !line["hit"].is_null()).collect();
    assert_eq!(hits.len(), 1, "{found:?}");
    assert_eq!(hits[0]["hit"]["handle"], handles[17]);
    assert_eq!(hits[0]["lines"][0][0], 700);
    let last = found.last().unwrap();
    assert_eq!(
        (&last["done"], &last["searched"], &last["found"]),
        (&json!(true), &json!(30), &json!(1))
    );
    let words = house
        .get("/find/hits?by=words&what=which+output+has+E0005")
        .await
        .text();
    let first: Value = serde_json::from_str(words.lines().next().unwrap()).unwrap();
    assert_eq!(first["hit"]["handle"], handles[5], "{words}");
    assert_eq!(house.get("/find/hits?what=").await.status, 400);
}

#[tokio::test]
async fn a_search_leaves_no_trace_and_tells_what_it_skipped() {
    let house = House::new().await;
    let mut handles = Vec::new();
    for at in 0..4 {
        handles.push(house.store("make", &format!("{at} {}", lines(1500))).await);
    }
    let noise = (0..60_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8);
    house.store_bytes("dump", &noise.collect::<Vec<_>>()).await;
    house.get("/").await;
    // Another program removes an output.
    let gone = handles[2].parse().unwrap();
    let now = house.store.manifest(gone).unwrap().facts.created;
    house.store.remove(gone, Gone::Removed, now).unwrap();
    // The clock stands, so the last use is moved into the past.
    age(house.base.path());
    let used = || {
        let listed = house.store.list().unwrap().into_iter();
        listed.map(|one| one.used).collect::<Vec<_>>()
    };
    let before = used();
    for (by, hits) in [("text", 3), ("words", 1)] {
        let found = house.get(&format!("/find/hits?what=line&by={by}")).await;
        let last: Value = serde_json::from_str(found.text().lines().last().unwrap()).unwrap();
        assert_eq!(
            [
                &last["found"],
                &last["searched"],
                &last["skipped"],
                &last["of"]
            ],
            [&json!(hits), &json!(3), &json!(2), &json!(5)],
            "{by}"
        );
        assert_eq!(used(), before, "{by}");
    }
    house.get(&format!("/a/{}/lines", handles[0])).await;
    assert_ne!(used(), before);
}

/// Makes all files old.
fn age(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
        } else {
            let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
            fs::File::open(path).unwrap().set_modified(old).unwrap();
        }
    }
}

#[tokio::test]
async fn searches_leave_turns_to_the_views() {
    let house = House::new().await;
    house.store("make", &lines(1500)).await;
    let running = [
        house.begin("/find/hits?what=a").await,
        house.begin("/find/hits?what=b").await,
    ];
    let refused = house.get("/find/hits?what=c").await;
    assert_eq!(refused.status, 429);
    assert_eq!(
        refused.json()["detail"],
        "2 searches of all outputs are running"
    );
    drop(running);
    assert_eq!(house.get("/find/hits?what=c").await.status, 200);
}

#[tokio::test]
async fn the_meter_has_the_figures_of_the_ledger() {
    let house = House::new().await;
    for at in 0..5 {
        let body = json!({ "tool": format!("tool{at}"), "server": "tracker", "content": lines(1500 + at) });
        house.store_of(body).await;
    }
    let before = house.ledger.entries().unwrap();
    let account = Account::of(&before);
    assert_eq!(account.total.offloaded, 5);
    let text = house.get("/meter?price=2.5").await.text();
    let grouped = |count: u64| spillgate_offload::grouped(count);
    for sums in account
        .tools
        .values()
        .chain(account.servers.values())
        .chain([&account.total])
    {
        for figure in [sums.tokens_shown, sums.tokens_saved.unsigned_abs()] {
            assert!(text.contains(&grouped(figure)), "{figure}: {text}");
        }
    }
    let dollars = account.total.tokens_saved as f64 * 2.5 / 1e6;
    assert!(text.contains(&format!("${dollars:.2}")), "{text}");
    for price in ["x", "-1", "NaN", "inf"] {
        assert_eq!(
            house.get(&format!("/meter?price={price}")).await.status,
            400,
            "{price}"
        );
    }
    // What models looked up again adds up to the same figures.
    let handle = before[0].handle.unwrap();
    for (query, found) in [("pattern=line+7", true), ("pattern=nowhere", false)] {
        house
            .look_up(&format!("/v1/artifacts/{handle}/grep?{query}"))
            .await;
        let entries = house.ledger.entries().unwrap();
        assert_eq!(entries.last().unwrap().found, Some(found), "{query}");
    }
    house
        .look_up(&format!("/v1/artifacts/{handle}/read?lines=3"))
        .await;
    let before = house.ledger.entries().unwrap();
    let account = Account::of(&before);
    let of = &account.outputs[&handle];
    assert_eq!((of.times, of.found, of.in_vain), (3, 1, 1));
    let tokens: u64 = account.outputs.values().map(|one| one.tokens).sum();
    assert_eq!(tokens, account.total.tokens_retrieved);
    let times: u64 = account.outputs.values().map(|one| one.times).sum();
    assert_eq!(
        times,
        account.total.retrievals + account.total.extraction.count
    );
    let text = house.get("/meter").await.text();
    // What was looked up costs most, and stands first.
    let dearest = &account.tools["tracker/tool0"];
    let cost = dearest.tokens_shown + dearest.tokens_retrieved;
    let told = format!(
        "<strong>tracker/tool0</strong> costs most: {} tokens",
        grouped(cost)
    );
    assert!(text.contains(&told), "{told}: {text}");
    let (_, by_tool) = text.split_once("By tool").unwrap();
    let first = by_tool.split("<tr><th scope=\"row\">").nth(1).unwrap();
    let row = format!(
        "tracker/tool0</th><td class=\"number cost\">{}</td>",
        grouped(cost)
    );
    assert!(first.starts_with(&row), "{row}: {first}");
    assert!(
        text.contains("1 of 2 searches, filters and extractions found what they asked for (50%)"),
        "{text}"
    );
    assert!(
        text.contains(&format!("<a href=\"/ui/a/{handle}\">tracker/tool0</a>")),
        "{text}"
    );
    // What a person reads is not counted.
    for path in ["/", "/find/hits?what=line", "/meter"] {
        house.get(path).await;
    }
    assert_eq!(house.ledger.entries().unwrap(), before);
}
