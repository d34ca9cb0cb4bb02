//! Marks the request ids and progress tokens of several servers, so that they stay distinct.
//!
//! Two servers may use the same request id, or the same progress token. The client receives each of
//! them as a string: the server's slot, a colon, and the original value. This string can be mapped
//! back without stored state.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use spillgate_mcp::{ByteEdits, Envelope, object, span_in};

use spillgate_upstream::Slot;

#[derive(Deserialize)]
struct Marked<'a> {
    #[serde(borrow, default, rename = "requestId")]
    request: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken")]
    token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    token: Option<&'a RawValue>,
}

/// Returns the edits that mark a request of the server in `slot`, or the cancellation of such a
/// request.
pub(crate) fn mark_request(slot: Slot, frame: &[u8], envelope: &Envelope<'_>) -> ByteEdits {
    let mut splice = ByteEdits::default();
    let mut mark = |id: Option<&RawValue>| {
        if let Some(id) = id {
            let marked = Value::from(format!("{slot}:{}", id.get()));
            splice.replace(span_in(frame, id.get()), marked.to_string());
        }
    };
    let params = envelope.params.and_then(object::<Marked<'_>>);
    match envelope.method.as_deref() {
        Some("notifications/cancelled") => mark(params.and_then(|params| params.request)),
        _ if envelope.id.is_some() => {
            mark(envelope.id);
            let meta = params
                .and_then(|params| params.meta)
                .and_then(object::<Meta<'_>>);
            mark(meta.and_then(|meta| meta.token));
        }
        _ => {}
    }
    splice
}

/// Returns the server for which a client's response is meant, and the frame with the server's own
/// id.
pub(crate) fn unmarked_answer(envelope: &Envelope<'_>, frame: &[u8]) -> Option<(Slot, Bytes)> {
    unmarked(envelope.id?, frame)
}

/// Like [`unmarked_answer`], for the progress that the client reports on a server's request.
pub(crate) fn progress_of_client(envelope: &Envelope<'_>, frame: &[u8]) -> Option<(Slot, Bytes)> {
    if envelope.method.as_deref() != Some("notifications/progress") {
        return None;
    }
    unmarked(object::<Marked<'_>>(envelope.params?)?.token?, frame)
}

fn unmarked(id: &RawValue, frame: &[u8]) -> Option<(Slot, Bytes)> {
    let marked: String = serde_json::from_str(id.get()).ok()?;
    let (slot, original) = marked.split_once(':')?;
    // The original value must be valid JSON, because it is inserted into the frame.
    let original: &RawValue = serde_json::from_str(original).ok()?;
    let mut splice = ByteEdits::default();
    splice.replace(span_in(frame, id.get()), original.get());
    Some((slot.parse().ok()?, splice.apply(frame).into()))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use spillgate_mcp::messages;

    #[test]
    fn what_is_marked_comes_back_as_it_was() {
        let mut told = Vec::new();
        for frame in [
            r#"{"id":7,"method":"sampling/createMessage","params":{"_meta":{"progressToken":"a\"b"},"x":1.0}}"#,
            r#"{"id":"\u0061","method":"roots/list"}"#,
            r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#,
            r#"{"method":"notifications/message","params":{"data":7}}"#,
        ] {
            let envelope = &messages(frame.as_bytes())[0];
            let marked = mark_request(3, frame.as_bytes(), envelope).apply(frame.as_bytes());
            let text = String::from_utf8(marked).unwrap();
            if let [marked] = &*messages(text.as_bytes())
                && marked.id.is_some()
            {
                let answer = format!(r#"{{"result":{{}},"id":{}}}"#, marked.id.unwrap().get());
                let answer = messages(answer.as_bytes())
                    .iter()
                    .find_map(|envelope| unmarked_answer(envelope, answer.as_bytes()))
                    .unwrap();
                let wanted = format!(r#"{{"result":{{}},"id":{}}}"#, envelope.id.unwrap().get());
                assert_eq!(answer, (3, Bytes::from(wanted)));
            }
            told.push(text);
        }
        assert_snapshot!(told.join("\n"), @r#"
        {"id":"3:7","method":"sampling/createMessage","params":{"_meta":{"progressToken":"3:\"a\\\"b\""},"x":1.0}}
        {"id":"3:\"\\u0061\"","method":"roots/list"}
        {"method":"notifications/cancelled","params":{"requestId":"3:7"}}
        {"method":"notifications/message","params":{"data":7}}
        "#);
    }

    #[test]
    fn what_was_never_asked_is_for_nobody() {
        for answer in [
            r#"{"id":7,"result":{}}"#,
            r#"{"id":"7","result":{}}"#,
            r#"{"id":"x:7","result":{}}"#,
            r#"{"id":"1:","result":{}}"#,
            r#"{"id":"1:7}","result":{}}"#,
        ] {
            let envelope = &messages(answer.as_bytes())[0];
            assert_eq!(
                unmarked_answer(envelope, answer.as_bytes()),
                None,
                "{answer}"
            );
        }
    }
}
