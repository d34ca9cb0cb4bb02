//! Failed results keep to the limits, in memory and streamed.

use super::*;

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
