//! The envelope of a JSON-RPC message, parsed without its contents.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{ObjectView, RequestId};

/// The envelope of a JSON-RPC message. The rest of the frame is not parsed.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    #[serde(borrow, default)]
    /// The id exactly as the sender wrote it.
    pub id: Option<&'a RawValue>,
    /// The method; `None` for a response.
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    /// The parameters as unparsed JSON.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// The result as unparsed JSON.
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
}

/// Returns the messages of a frame: a single message, or all messages of a batch. Empty if the
/// frame is not JSON-RPC. Callers pass such a frame on unchanged.
#[must_use]
pub fn messages(frame: &[u8]) -> Vec<Envelope<'_>> {
    let Ok(text) = std::str::from_utf8(frame) else {
        return Vec::new();
    };
    if text.trim_ascii_start().starts_with('[') {
        let batch: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
        return batch.into_iter().filter_map(object).collect();
    }
    object_in(text).into_iter().collect()
}

/// Whether a text is a message: an object with a `jsonrpc` member.
#[must_use]
pub fn is_message(text: &str) -> bool {
    ObjectView::of_text(text).is_some_and(|members| members.get("jsonrpc").is_some())
}

/// Parses an object into `T`. Unlike plain `serde`, it does not accept an array in place of an
/// object.
#[must_use]
pub fn object<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Option<T> {
    object_in(json.get())
}

/// Parses like [`object`], from a text that may not be JSON.
#[must_use]
pub fn object_in<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with('{');
    is_object.then(|| serde_json::from_str(json).ok())?
}

impl Envelope<'_> {
    /// The id in its canonical spelling. A request and its response then match even if they escape
    /// the id differently.
    #[must_use]
    pub fn key(&self) -> Option<RequestId> {
        RequestId::of(self.id?)
    }

    /// Whether the message is a response.
    #[must_use]
    pub fn is_response(&self) -> bool {
        self.method.is_none() && self.id.is_some()
    }
}

/// Whether a frame is a response or a batch. Stops parsing at the first member that decides this.
#[must_use]
pub fn is_answer(frame: &[u8]) -> bool {
    let mut found = false;
    // The visitor stops at the deciding member, before the end of the JSON, so an error is expected
    // here and is ignored.
    let _ = serde_json::Deserializer::from_slice(frame).deserialize_any(Kind(&mut found));
    found
}

/// Returns the id of the request that a malformed frame answers. Such a frame is truncated or not
/// UTF-8. `None` unless the id precedes the defect.
#[must_use]
pub fn broken_answer(frame: &[u8]) -> Option<RequestId> {
    let mut found = Broken::default();
    // Parsing always ends with an error, because the frame is malformed.
    let _ = serde_json::Deserializer::from_slice(frame).deserialize_any(&mut found);
    found.key.filter(|_| found.is_answer && !found.is_request)
}

/// What could be read of a malformed message.
#[derive(Default)]
struct Broken {
    key: Option<RequestId>,
    is_answer: bool,
    is_request: bool,
}

impl<'de> Visitor<'de> for &mut Broken {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        // Accept an id only after the next member name: a number at the very end of the frame may
        // be incomplete.
        let mut key = None;
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            self.key = key.take().or(self.key.take());
            match &*name {
                "id" => key = RequestId::of(&members.next_value::<Box<RawValue>>()?),
                "result" | "error" => {
                    self.is_answer = true;
                    members.next_value::<IgnoredAny>()?;
                }
                name => {
                    self.is_request |= name == "method";
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.key = key.or(self.key.take());
        Ok(())
    }
}

struct Kind<'a>(&'a mut bool);

impl<'de> Visitor<'de> for Kind<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        *self.0 = true;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            match &*name {
                "method" => return Ok(()),
                "result" | "error" => {
                    *self.0 = true;
                    return Ok(());
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Returns the range of `part` in `whole`. `part` must be a slice of `whole`.
#[must_use]
pub fn span_in(whole: &[u8], part: &str) -> std::ops::Range<usize> {
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
            let keys: Vec<Option<RequestId>> = messages(frame.as_bytes())
                .iter()
                .map(Envelope::key)
                .collect();
            let want: Vec<Option<RequestId>> = want
                .iter()
                .map(|k| k.map(|k| RequestId::of_json(k).unwrap()))
                .collect();
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
    fn answers_are_known_by_their_first_members() {
        let cases = [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true),
            (r#" {"id":1,"error":{"#, true),
            (r#"[{"id":1}]"#, true),
            (r#"{"id":1,"method":"x","result":1}"#, false),
            (r#"{"params":{"result":1},"method":"x"}"#, false),
            (r#"{"jsonrpc":"2.0"}"#, false),
            ("\"result\"", false),
            ("", false),
        ];
        for (frame, want) in cases {
            assert_eq!(is_answer(frame.as_bytes()), want, "{frame}");
        }
    }

    #[test]
    fn a_broken_answer_may_still_say_what_it_answers() {
        let cases: [(&[u8], Option<&str>); 11] = [
            (
                br#"{"jsonrpc":"2.0","id":7,"result":{"content":["#,
                Some("7"),
            ),
            (br#"{"id":"\u0061","error":{"#, Some("\"a\"")),
            (b"{\"id\":7,\"result\":\"\xff\"}", Some("7")),
            (b"{\"result\":\"\xff\",\"id\":7}", Some("7")),
            (br#"{"result":{},"id":7,"x":"#, Some("7")),
            // The frame is cut off inside the id, which may have been 71.
            (br#"{"result":{},"id":7"#, None),
            (br#"{"result":{"id":7"#, None),
            (br#"{"id":7,"method":"x","result":"#, None),
            (br#"{"id":7,"x":"#, None),
            (br#"[{"id":7,"result":"#, None),
            (b"some log line", None),
        ];
        for (frame, want) in cases {
            let key = broken_answer(frame);
            let shown = String::from_utf8_lossy(frame);
            assert_eq!(key.as_ref().map(RequestId::as_json), want, "{shown}");
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
