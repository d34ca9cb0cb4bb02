//! Tests of special results: a value that is sent twice, a failure, one result in a batch.

use super::*;

/// Returns results with rows in `structuredContent`, repeated as one text, and as one text per row.
fn rows_twice(n: usize) -> [Value; 2] {
    let rows: Vec<Value> = (0..n)
        .map(|id| json!({"id": id, "note": "Käse \"x\""}))
        .collect();
    let each = rows
        .iter()
        .map(|row| text_block(&serde_json::to_string_pretty(row).unwrap()));
    let each: Vec<Value> = each.collect();
    let one = text_block(&json!(rows).to_string());
    [json!([one]), json!(each)]
        .map(|content| json!({"content": content, "structuredContent": {"result": rows}}))
}

#[test]
fn one_value_in_two_forms_is_one_value() {
    for result in rows_twice(1000) {
        let frame = json!({"id": 1, "result": result}).to_string();
        same_in_all_ways(CALL, &Rule::default(), &frame, 4096, 1 << 16);
    }
}

#[test]
fn blocks_too_many_to_be_known_are_the_elements_of_a_list_too() {
    let [_, each] = rows_twice(60_000);
    let offloader = offloader();
    let frame = json!({"id": 1, "result": each}).to_string();
    let (_, stored) = streamed(&offloader, CALL, &frame, 4 << 20, 1 << 20);
    let all = kept(&offloader);
    let value = each["structuredContent"]["result"].to_string();
    let stats = &all[0].0.stats;
    assert!(stored && stats.bytes == value.len() as u64, "{stats:?}");
    assert_eq!(stats.kind, spillgate_artifact::ContentKind::Json);
}

#[test]
fn a_failed_result_is_bounded_in_every_profile() {
    let text = log(48_000);
    let result = json!({"content": [text_block(&text)], "isError": true});
    let frame = json!({"id": 1, "jsonrpc": "2.0", "result": result}).to_string();
    assert!(frame.len() > 3_000_000);
    for profile in Profile::BUILT_IN {
        let rule = Rule {
            profile: Some(profile.clone()),
            ..Rule::default()
        };
        let offloader = offloader_with(rule);
        for (left, is_stored) in [
            streamed(&offloader, CALL, &frame, 4096, 65_536),
            at_once(&offloader, CALL, &frame),
        ] {
            assert!(is_stored, "{profile}");
            assert!(left.len() < 20_000, "{profile}: {} bytes", left.len());
            let left: Value = serde_json::from_str(&left).unwrap();
            assert_eq!(left["result"]["isError"], true, "{profile}");
        }
    }
}

#[test]
fn each_result_of_a_batch_is_judged_by_itself() {
    let large = json!({"content": [text_block(&log(900))]});
    let small = json!({"content": [text_block("small")]});
    let frame = format!(
        r#"[{{"id":1,"result":{small}}},{{"id":2,"result":{large}}}, {{"id":3,"result":{large}}}]"#
    );
    same_in_all_ways(CALL, &Rule::default(), &frame, 1000, 100);
}
