//! What is in a frame, as far as the gateway must know?

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The envelope of a JSON-RPC message. Everything else in the frame stays
/// unread.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
}

/// The messages of a frame: one, or those of a batch. Nothing for a frame that
/// is no JSON-RPC at all, which then passes as it is.
pub(crate) fn messages(frame: &[u8]) -> Vec<Envelope<'_>> {
    let Ok(text) = std::str::from_utf8(frame) else {
        return Vec::new();
    };
    if text.trim_ascii_start().starts_with('[') {
        let batch: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
        return batch.into_iter().filter_map(object).collect();
    }
    object_in(text).into_iter().collect()
}

/// An object with the members of `T`. Plain `serde` takes an array for one, too.
pub(crate) fn object<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Option<T> {
    object_in(json.get())
}

fn object_in<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with('{');
    is_object.then(|| serde_json::from_str(json).ok())?
}

impl Envelope<'_> {
    /// The id in one spelling, so that a request and its answer meet whatever
    /// escapes they use.
    pub(crate) fn key(&self) -> Option<String> {
        key_of(self.id?)
    }

    /// Whether it answers a request.
    pub(crate) fn is_response(&self) -> bool {
        self.method.is_none() && self.id.is_some()
    }
}

/// One spelling of an id: a string or a number; `None` for anything else.
pub(crate) fn key_of(id: &RawValue) -> Option<String> {
    let text = id.get();
    if !text.contains('\\') {
        let is_id =
            text.starts_with('"') || text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        return is_id.then(|| text.to_owned());
    }
    let decoded: String = serde_json::from_str(text).ok()?;
    serde_json::to_string(&decoded).ok()
}

/// Where `part` lies in `whole`, which it is a slice of.
pub(crate) fn span_in(whole: &[u8], part: &str) -> std::ops::Range<usize> {
    let start = part.as_ptr().addr() - whole.as_ptr().addr();
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes() {
        let cases: [(&str, &[Option<&str>]); 10] = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, &[Some("1")]),
            (r#"{"id":"a","result":{}}"#, &[Some("\"a\"")]),
            (r#"{"result":"\ud83d","id":"\u0061"}"#, &[Some("\"a\"")]),
            (r#"{"method":"note"}"#, &[None]),
            (r#"{"id":null,"error":{}}"#, &[None]),
            (r#" [{"id":1},{"id":2}]"#, &[Some("1"), Some("2")]),
            (r#"[{"id":1,"result":{}}]"#, &[Some("1")]),
            (r#"[[7],8,{"id":1}]"#, &[Some("1")]),
            ("not json", &[]),
            ("17", &[]),
        ];
        for (frame, want) in cases {
            let keys: Vec<Option<String>> = messages(frame.as_bytes())
                .iter()
                .map(Envelope::key)
                .collect();
            let want: Vec<Option<String>> = want.iter().map(|k| k.map(str::to_owned)).collect();
            assert_eq!(keys, want, "{frame}");
        }
    }

    #[test]
    fn kinds_of_messages() {
        let cases = [
            (
                r#"{"id":1,"method":"tools/call"}"#,
                false,
                Some("tools/call"),
            ),
            (
                r#"{"id":1,"method":"tools\/call"}"#,
                false,
                Some("tools/call"),
            ),
            (r#"{"id":1,"result":null}"#, true, None),
            (r#"{"error":{},"id":1}"#, true, None),
            (r#"{"method":"note"}"#, false, Some("note")),
            (r#"{"id":{},"params":[1.0,"\ud83d"]}"#, true, None),
        ];
        for (frame, is_response, method) in cases {
            let all = messages(frame.as_bytes());
            assert_eq!(all[0].is_response(), is_response, "{frame}");
            assert_eq!(all[0].method.as_deref(), method, "{frame}");
        }
    }

    #[test]
    fn what_is_no_message_is_none() {
        let nested = "[".repeat(100_000);
        for frame in [
            "",
            "\n",
            "{",
            "[]",
            "[1]",
            "\"text\"",
            r#"{"method":1}"#,
            &nested,
        ] {
            assert!(messages(frame.as_bytes()).is_empty(), "{frame:.20}");
        }
        assert!(messages(b"{\"id\":1,\"x\":\"\xff\"}").len() <= 1);
        let deep = format!(r#"{{"id":1,"result":{nested}{}}}"#, "]".repeat(100_000));
        assert!(messages(deep.as_bytes())[0].result.is_some());
    }

    #[test]
    fn a_part_is_found_in_its_frame() {
        let frame = br#"{"id": 7, "result": {"a": 1}}"#;
        let result = messages(frame)[0].result.unwrap();
        assert_eq!(&frame[span_in(frame, result.get())], br#"{"a": 1}"#);
    }
}
