//! Tests of all forms of oversized results and their replacements.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_artifact::{Origin, TokenBudget};
use spillgate_mcp::{Generation, messages};
use spillgate_offload::{Offloader, Redaction, Rule};
use spillgate_testkit::{log, records};

use super::super::*;
use crate::fixture::{offloader, offloader_with, replaced, without_handles, without_previews};
use crate::resources::read;

/// Returns the result that the client receives. Checks that exactly the original bytes are stored.
fn leaves(offloader: &Offloader, form: Form, links: bool, result: &str) -> String {
    let frame = format!("{{\"id\":1,\"result\":{result}}}");
    let case = Case {
        form,
        links,
        shown_part: crate::results::client_view::ShownPart::default(),
        limits: offloader.limits(&Origin::tool("shoot")),
        origin: Origin::tool("shoot"),
        history: None,
    };
    let raw = messages(frame.as_bytes())[0].result.unwrap();
    let before = offloader.store().list().unwrap().len();
    let (splice, stored) = replaced(offloader, case, frame.as_bytes(), raw.get());
    let listed = offloader.store().list().unwrap();
    assert_eq!(listed.len() - before, usize::from(stored));
    if stored {
        let handle = listed.last().unwrap().manifest.handle;
        let artifact = offloader.revealing().artifact(handle).unwrap();
        assert_eq!(
            artifact.raw().bytes(0, u64::MAX).unwrap(),
            result.as_bytes()
        );
    }
    let frame = String::from_utf8(splice.apply(frame.as_bytes())).unwrap();
    let frame = frame.strip_prefix("{\"id\":1,\"result\":").unwrap();
    frame.strip_suffix('}').unwrap().to_owned()
}

/// Returns the result that the client receives, with previews, handles and Base64 masked.
fn masked(form: Form, result: &str) -> String {
    let left = leaves(&offloader(), form, true, result);
    let left = without_handles(&without_previews(&left));
    let mut short = String::new();
    for part in left.split_inclusive("AAAA") {
        if part != "AAAA" || !short.ends_with("AAAA") {
            short.push_str(part);
        }
    }
    short
}

/// Returns `kib` KiB of data in Base64.
fn base64(kib: usize) -> String {
    "AAAA".repeat(kib * 1024 / 3 + 1)
}

fn text(text: &str) -> String {
    json!({"type": "text", "text": text}).to_string()
}

fn image(kib: usize) -> String {
    let data = base64(kib);
    format!(
        r#"{{"type":"image","data":"{data}","mimeType":"image/png","annotations":{{"priority":1.0}},"_meta":{{"x":1e2}}}}"#
    )
}

fn call(blocks: &[String]) -> String {
    format!(r#"{{"content":[{}],"x":1.0}}"#, blocks.join(","))
}

#[test]
fn bytes_become_links() {
    let audio = format!(r#"{{"type":"audio","data":"{}"}}"#, base64(5));
    let inner = format!(
        r#"{{"uri":"file:///a\nb.bin","blob":"{}","mimeType":"application/x"}}"#,
        base64(5)
    );
    let blob =
        format!(r#"{{"resource":{inner},"type":"resource","annotations":{{"priority":0.0}}}}"#);
    let picture = blob.replace("application/x", "image/gif");
    let all = [
        call(&[text("small"), image(1025)]),
        call(&[image(1023), audio.clone()]),
        call(&[blob.clone(), picture]),
        call(&[text(&log(600)), image(1025), image(1)]),
        format!(r#"{{"content":[{blob}],"structuredContent":{{"a":1.0}},"isError":true}}"#),
    ];
    let all = all.map(|result| masked(Form::Call, &result));
    assert_snapshot!(all.join("\n\n"), @r#"
    {"content":[{"text":"small","type":"text"},{"type":"resource_link","uri":"spillgate://artifact/HANDLE/content/1","name":"image 2 of shoot","size":1049601,"description":"1049601 bytes, stored whole: resources/read gives them","mimeType":"image/png","annotations":{"priority":1.0},"_meta":{"x":1e2}}],"x":1.0}

    {"content":[{"type":"image","data":"AAAA","mimeType":"image/png","annotations":{"priority":1.0},"_meta":{"x":1e2}},{"type":"resource_link","uri":"spillgate://artifact/HANDLE/content/1","name":"data 2 of shoot","size":5121,"description":"5121 bytes, stored whole: resources/read gives them"}],"x":1.0}

    {"content":[{"type":"resource_link","uri":"spillgate://artifact/HANDLE/content/0","name":"file:///a b.bin","size":5121,"description":"5121 bytes, stored whole: resources/read gives them; it was file:///a b.bin","mimeType":"application/x","annotations":{"priority":0.0}},{"resource":{"uri":"file:///a\nb.bin","blob":"AAAA","mimeType":"image/gif"},"type":"resource","annotations":{"priority":0.0}}],"x":1.0}

    {"content":[{"text":PREVIEW,"type":"text"},{"type":"resource_link","uri":"spillgate://artifact/HANDLE/content/1","name":"image 2 of shoot","size":1049601,"description":"1049601 bytes, stored whole: resources/read gives them","mimeType":"image/png","annotations":{"priority":1.0},"_meta":{"x":1e2}},{"type":"image","data":"AAAA","mimeType":"image/png","annotations":{"priority":1.0},"_meta":{"x":1e2}}],"x":1.0}

    {"content":[{"type":"resource_link","uri":"spillgate://artifact/HANDLE/content/0","name":"file:///a b.bin","size":5121,"description":"5121 bytes, stored whole: resources/read gives them; it was file:///a b.bin","mimeType":"application/x","annotations":{"priority":0.0}}],"structuredContent":{"a":1.0},"isError":true}
    "#);
}

#[test]
fn documents_keep_their_names() {
    let document = |uri: &str, text: &str| {
        let resource = json!({"uri": uri, "text": text, "mimeType": "text/x"});
        json!({"type": "resource", "resource": resource, "_meta": {"y": 1}}).to_string()
    };
    let all = [
        call(&[document("file:///a", &log(600))]),
        call(&[
            document("file:///a", &log(300)),
            text("between"),
            document("file:///b", &log(300)),
        ]),
        call(&[text(&log(300)), document("file:///b", &log(300))]),
        call(&[text("small"), document("file:///b", "small")]),
    ];
    let all = all.map(|result| masked(Form::Call, &result));
    assert_snapshot!(all.join("\n"), @r#"
    {"content":[{"_meta":{"y":1},"resource":{"mimeType":"text/x","text":PREVIEW,"uri":"file:///a"},"type":"resource"}],"x":1.0}
    {"content":[{"_meta":{"y":1},"resource":{"mimeType":"text/x","text":PREVIEW,"uri":"file:///a"},"type":"resource"},{"_meta":{"y":1},"resource":{"mimeType":"text/x","text":PREVIEW,"uri":"file:///b"},"type":"resource"}],"x":1.0}
    {"content":[{"text":PREVIEW,"type":"text"},{"_meta":{"y":1},"resource":{"mimeType":"text/x","text":PREVIEW,"uri":"file:///b"},"type":"resource"}],"x":1.0}
    {"content":[{"text":"small","type":"text"},{"_meta":{"y":1},"resource":{"mimeType":"text/x","text":"small","uri":"file:///b"},"type":"resource"}],"x":1.0}
    "#);
}

#[test]
fn what_is_read_and_prompts() {
    let (log, blob) = (json!(log(600)), base64(1025));
    let read = [
        format!(
            r#"{{"contents":[{{"uri":"file:///a","mimeType":"text/x","text":{log}}}],"ttlMs":1.0}}"#
        ),
        format!(r#"{{"contents":[{{"uri":"a:1","text":"small"}},{{"uri":"a:2","text":{log}}}]}}"#),
        format!(
            r#"{{"contents":[{{"uri":"a:1","blob":"{blob}","mimeType":"image/png","_meta":{{}}}}]}}"#
        ),
        format!(
            r#"{{"contents":[{{"uri":"a:1","blob":"{}"}}]}}"#,
            base64(1000)
        ),
    ];
    let message = |content: &str| format!(r#"{{"role":"user","content":{content},"z":1.0}}"#);
    let text = |text: &str| format!(r#"{{"type":"text","text":{text}}}"#);
    let prompts = [
        vec![
            message(&text("\"before\"")),
            message(&text(&log.to_string())),
        ],
        vec![
            message(&image(1025)),
            message("17"),
            message(&text("\"after\"")),
        ],
    ];
    let prompts =
        prompts.map(|all| format!(r#"{{"description":"d","messages":[{}]}}"#, all.join(",")));
    let read = read.map(|result| masked(Form::Read, &result));
    let prompts = prompts.map(|result| masked(Form::Prompt, &result));
    assert_snapshot!(format!("{}\n\n{}", read.join("\n"), prompts.join("\n")), @r#"
    {"contents":[{"uri":"file:///a","mimeType":"text/x","text":PREVIEW}],"ttlMs":1.0}
    {"contents":[{"uri":"a:1","text":"small"},{"uri":"a:2","text":PREVIEW}]}
    {"contents":[{"mimeType":"text/plain","text":PREVIEW,"uri":"a:1","_meta":{}}]}
    {"contents":[{"uri":"a:1","blob":"AAAA"}]}

    {"description":"d","messages":[{"role":"user","content":{"type":"text","text":"before"},"z":1.0},{"role":"user","content":{"type":"text","text":PREVIEW},"z":1.0}]}
    {"description":"d","messages":[{"role":"user","content":{"type":"resource_link","uri":"spillgate://artifact/HANDLE/messages/0","name":"image 1 of shoot","size":1049601,"description":"1049601 bytes, stored whole: resources/read gives them","mimeType":"image/png","annotations":{"priority":1.0},"_meta":{"x":1e2}},"z":1.0},{"role":"user","content":17,"z":1.0},{"role":"user","content":{"type":"text","text":"after"},"z":1.0}]}
    "#);
}

#[test]
fn a_client_without_links_is_told_in_words() {
    let result = call(&[image(1025)]);
    let left = leaves(&offloader(), Form::Call, false, &result);
    assert_snapshot!(without_handles(&left), @r#"{"content":[{"text":"[spillgate] image/png, 1049601 bytes, stored whole: resources/read gives them as spillgate://artifact/HANDLE/content/0","type":"text"}],"x":1.0}"#);
}

#[test]
fn who_asks_for_more_has_marks_if_small_results_are_scanned() {
    let key = "AKIAQ3EGXZ7LKTPNWB5M";
    let asks = format!(
        r#"{{"resultType":"input_required","requestState":"{key}","inputRequests":{{"a":{{"message":"use {key}?\n"}}}}}}"#
    );
    let left = |redact| {
        let rule = Rule {
            redact: Some(redact),
            ..Rule::default()
        };
        leaves(&offloader_with(rule), Form::Call, true, &asks)
    };
    assert_eq!(left(Redaction::Mark), asks);
    assert_eq!(left(Redaction::All), left(Redaction::Block));
    assert_snapshot!(left(Redaction::All), @r#"{"resultType":"input_required","requestState":"AKIAQ3EGXZ7LKTPNWB5M","inputRequests":{"a":{"message":"use [redacted: aws-access-key]?\n"}}}"#);
}

#[test]
fn who_asks_for_more_is_not_touched() {
    let asks = format!(
        r#"{{"resultType":"input_required","requestState":"{}","content":[{}]}}"#,
        base64(100),
        text(&log(600))
    );
    assert_eq!(leaves(&offloader(), Form::Call, true, &asks), asks);
    let complete = asks.replace("input_required", "complete");
    let left = leaves(&offloader(), Form::Call, true, &complete);
    let state = format!("\"requestState\":\"{}\"", base64(100));
    assert!(left.contains("[spillgate]") && left.contains(&state));
}

#[test]
fn limits_are_set_by_rule() {
    for (max, kept) in [
        (Some(10), false),
        (Some(4000), true),
        (Some(0), true),
        (None, true),
    ] {
        let rule = Rule {
            max_binary_bytes: max,
            ..Rule::default()
        };
        let result = call(&[image(2)]);
        let left = leaves(&offloader_with(rule), Form::Call, true, &result);
        assert_eq!(left == result, kept, "{max:?}");
    }
}

#[test]
fn images_count_together() {
    let count = |blocks: &[String]| {
        let left = leaves(&offloader(), Form::Call, true, &call(blocks));
        let left: Value = serde_json::from_str(&left).unwrap();
        let kinds = left["content"].as_array().unwrap().iter();
        let kinds = kinds.map(|block| block["type"].as_str().unwrap());
        let images = kinds.clone().filter(|&kind| kind == "image").count();
        let links = kinds.filter(|&kind| kind == "resource_link").count();
        (images, links)
    };
    assert_eq!(count(&vec![image(1000); 6]), (4, 2));
    assert_eq!(count(&vec![image(1); 21]), (20, 1));
    assert_eq!(count(&vec![image(1); 20]), (20, 0));
    // A block that exceeds the limit by itself uses none of the limit, so later blocks can use all
    // of it.
    assert_eq!(count(&[image(5000), image(1000)]), (1, 1));
}

/// Returns the size of what a model may see: everything except images.
fn seen(left: &str) -> usize {
    let result: Value = serde_json::from_str(left).unwrap();
    let blocks = result["content"].as_array().unwrap().iter();
    let shown = blocks.filter(|block| block["type"] != "image");
    let shown: usize = shown.map(|block| block.to_string().len() + 1).sum();
    shown + result["structuredContent"].to_string().len()
}

#[test]
fn a_model_sees_little_of_it() {
    let link =
        |n: usize| json!({"type": "resource_link", "uri": format!("x:{n}"), "name": "n".repeat(n)});
    let links: Vec<String> = (0..1000).map(|n| link(n).to_string()).collect();
    let strange: Vec<String> = (0..1000)
        .map(|n| format!("{{\"type\":\"new\",\"n\":{n}}}"))
        .collect();
    let audio = format!(
        r#"{{"type":"audio","data":"{}","mimeType":"{}"}}"#,
        base64(5),
        "m".repeat(9000)
    );
    let document = json!({"type": "resource", "resource": {"uri": "u".repeat(900), "text": "x"}});
    let quoted = "\"\\\" \"\\\"".repeat(20).repeat(2000);
    let wide = format!("{}\n", " ".repeat(400)).repeat(2000);
    let all = [
        call(&links),
        call(&strange),
        call(&vec![audio; 1000]),
        call(&vec![image(1); 1000]),
        call(&vec![document.to_string(); 3000]),
        call(&vec![text("a few words"); 3000]),
        call(&[text(&quoted)]),
        call(&[text(&wide)]),
        format!(
            r#"{{"content":[],"structuredContent":{{"a":{}}}}}"#,
            json!(quoted)
        ),
        format!(
            r#"{{"content":[{}],"structuredContent":{}}}"#,
            links.join(","),
            records(900)
        ),
    ];
    for (at, result) in all.iter().enumerate() {
        let left = leaves(&offloader(), Form::Call, true, result);
        assert!(left.contains("[spillgate]"), "{at}: {left:.300}");
        assert!(seen(&left) < 10_000, "{at}: {} bytes", seen(&left));
    }
    let few = call(&links[..5]);
    assert_eq!(leaves(&offloader(), Form::Call, true, &few), few);
}

#[test]
fn what_found_no_room_is_told() {
    let audio = format!(r#"{{"type":"audio","data":"{}"}}"#, base64(5));
    let left = leaves(&offloader(), Form::Call, true, &call(&vec![audio; 1000]));
    let left: Value = serde_json::from_str(&left).unwrap();
    let blocks = left["content"].as_array().unwrap();
    let last = blocks.last().unwrap()["text"].as_str().unwrap();
    assert_snapshot!(without_handles(last), @"[spillgate] 979 more blocks are stored with this result; resources/read gives each by its place, the first as spillgate://artifact/HANDLE/content/0");
    assert!(last.contains(&format!("{} more", 1001 - blocks.len())));
}

fn blocks_of_any_kind() -> impl Strategy<Value = Vec<(String, Option<String>)>> {
    let text = "[ -~é漢]{0,60}".prop_map(|words| (text(&words.repeat(40)), None));
    let data = proptest::collection::vec("[A-Za-z0-9+/]{4}", 0..12);
    let binary = (data, 0..3u8).prop_map(|(data, kind)| {
        let data = json!(data.concat().repeat(120));
        let block = match kind {
            0 => format!(r#"{{"type":"image","data":{data},"mimeType":"image/x"}}"#),
            1 => format!(r#"{{"type":"audio","data":{data},"mimeType":"audio/x"}}"#),
            _ => format!(
                r#"{{"type":"resource","resource":{{"uri":"a:b","blob":{data},"mimeType":"c/x"}}}}"#
            ),
        };
        (block, Some(data.to_string()))
    });
    proptest::collection::vec(prop_oneof![text, binary], 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Tests that, for each block that becomes a link, the gateway serves the block's exact
    /// original bytes.
    #[test]
    fn links_lead_to_what_was_there(blocks in blocks_of_any_kind()) {
        let all: Vec<String> = blocks.iter().map(|(block, _)| block.clone()).collect();
        let rule = Rule { max_binary_bytes: Some(1000), ..Rule::default() };
        let offloader = offloader_with(rule);
        let left = leaves(&offloader, Form::Call, true, &call(&all));
        let left: Value = serde_json::from_str(&left).unwrap();
        for block in left["content"].as_array().unwrap() {
            let Some(uri) = block["uri"].as_str() else { continue };
            let at: usize = uri.rsplit('/').next().unwrap().parse().unwrap();
            let served = read(&offloader, TokenBudget::new(300), uri, Generation::Legacy);
            let served: Value = serde_json::from_str(&format!("{{{served}}}")).unwrap();
            let contents = &served["result"]["contents"][0];
            prop_assert_eq!(Some(contents["blob"].to_string()), blocks[at].1.clone());
            prop_assert_eq!(&contents["mimeType"], &block["mimeType"]);
        }
    }

    /// Tests that no result causes a failure, and that the output is always JSON.
    #[test]
    fn anything_may_come(shape in "[\\[\\]{}:,\"a-z0-9 ]{0,40}", at in 0..3usize) {
        let form = [Form::Call, Form::Prompt, Form::Read][at];
        let list = form.list();
        let log = json!(log(600));
        for result in [
            format!(r#"{{"{list}":{shape}}}"#),
            format!(r#"{{"{list}":[{shape},{{"type":"text","text":{log}}}]}}"#),
            format!(r#"{{"{list}":[{{"role":"user","text":{log},"content":{shape}}}]}}"#),
        ] {
            if serde_json::from_str::<&RawValue>(&result).is_ok() {
                let left = leaves(&offloader(), form, true, &result);
                prop_assert!(serde_json::from_str::<Value>(&left).is_ok());
            }
        }
    }
}

#[test]
fn what_stands_beside_a_preview_has_no_secret() {
    let key = "AKIAQ3EGXZ7LKTPNWB5M";
    let env = format!("AWS_ACCESS_KEY_ID={key}\\n");
    let blob = data_encoding::BASE64.encode(env.replace("\\n", "\n").repeat(20).as_bytes());
    let documents = format!(
        r#"{{"contents":[{{"uri":"a:b","text":{}}},{{"uri":"a:c","text":"{env}"}},{{"uri":"a:d","text":"small"}}]}}"#,
        json!(log(600))
    );
    let blocks = format!(
        r#"{{"content":[{},{{"type":"resource","resource":{{"uri":"file:.env","blob":"{blob}"}}}}]}}"#,
        text(&log(600))
    );
    // Fits, and no text has a secret.
    let small = format!(
        r#"{{"content":[{},{{"type":"resource","resource":{{"uri":"file:.env","blob":"{blob}"}}}}]}}"#,
        text("one line")
    );
    let marked = format!(
        r#"{{"content":[{}],"_meta":{{"spillgate/retrieval":true}}}}"#,
        text(&env.replace("\\n", " "))
    );
    let mut shown = Vec::new();
    for redact in [Redaction::Mark, Redaction::All, Redaction::Block] {
        for (form, result) in [
            (Form::Read, &documents),
            (Form::Call, &blocks),
            (Form::Call, &small),
            (Form::Call, &marked),
        ] {
            let rule = Rule {
                redact: Some(redact),
                ..Rule::default()
            };
            let left = leaves(&offloader_with(rule), form, true, result);
            let has_key = left.contains(key) || left.contains(&blob);
            let is_stored = left.contains("stored");
            shown.push(format!("{redact}: secret {has_key}, stored {is_stored}"));
        }
    }
    // In the mode `mark`, a result that fits passes unchanged.
    assert_snapshot!(shown.join("\n"), @"
    mark: secret false, stored true
    mark: secret false, stored true
    mark: secret true, stored false
    mark: secret true, stored false
    all: secret false, stored true
    all: secret false, stored true
    all: secret false, stored true
    all: secret false, stored true
    block: secret false, stored true
    block: secret false, stored true
    block: secret false, stored true
    block: secret false, stored true
    ");
}
