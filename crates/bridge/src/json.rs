//! Edits members of messages and leaves all other bytes unchanged.

use bytes::Bytes;
use serde_json::value::RawValue;
use spillgate_mcp::{ByteEdits, Envelope, ObjectView, RequestId, span_in};

/// Returns a text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Inserts members (`"a":1,"b":2`) before the first member of an object.
pub(crate) fn put_first(splice: &mut ByteEdits, whole: &[u8], object: &RawValue, members: &str) {
    let start = span_in(whole, object.get()).start + 1;
    let is_empty = ObjectView::of(object).is_none_or(|all| all.is_empty());
    let comma = if is_empty { "" } else { "," };
    splice.replace(start..start, format!("{members}{comma}"));
}

/// Replaces a value.
pub(crate) fn put_for(splice: &mut ByteEdits, whole: &[u8], old: &RawValue, new: &str) {
    splice.replace(span_in(whole, old.get()), new);
}

/// Splits a frame into its messages. Batches are split because the modern generation has none.
pub(crate) fn parts(frame: &Bytes) -> Vec<Bytes> {
    if !frame.trim_ascii_start().starts_with(b"[") {
        return vec![frame.clone()];
    }
    let batch: Vec<&RawValue> = serde_json::from_slice(frame).unwrap_or_default();
    let parts = batch.into_iter();
    parts
        .map(|part| frame.slice(span_in(frame, part.get())))
        .collect()
}

/// Replaces the id of a message.
pub(crate) fn put_id(splice: &mut ByteEdits, whole: &[u8], envelope: &Envelope<'_>, id: &str) {
    if let Some(old) = envelope.id {
        put_for(splice, whole, old, id);
    }
}

/// Inserts members at the start of `_meta` in a message's parameters. Creates `_meta` and the
/// parameters if they are missing. Removes the members of `_meta` that `replaced` names. Returns
/// `None` if the parameters are a list.
pub(crate) fn add_meta(
    frame: &[u8],
    envelope: &Envelope<'_>,
    members: &str,
    replaced: &[&str],
) -> Option<ByteEdits> {
    let mut splice = ByteEdits::default();
    let Some(params) = envelope.params else {
        let whole: &RawValue = serde_json::from_slice(frame).ok()?;
        let added = format!(r#""params":{{"_meta":{{{members}}}}}"#);
        // `"params":null` means no parameters; a second `params` would duplicate the key.
        let all = ObjectView::of(whole)?;
        match all.get("params") {
            Some(null) => put_for(&mut splice, frame, null, &added["\"params\":".len()..]),
            None => put_last(&mut splice, frame, whole, &added),
        }
        return Some(splice);
    };
    let all = ObjectView::of(params)?;
    let Some(meta) = all.get("_meta") else {
        put_first(
            &mut splice,
            frame,
            params,
            &format!(r#""_meta":{{{members}}}"#),
        );
        return Some(splice);
    };
    match ObjectView::of(meta) {
        Some(old)
            if old
                .iter()
                .any(|(name, _)| replaced.contains(&name.as_ref())) =>
        {
            let kept = old.without(replaced);
            let comma = if kept == "{}" { "" } else { "," };
            put_for(
                &mut splice,
                frame,
                meta,
                &format!("{{{members}{comma}{}", &kept[1..]),
            );
        }
        Some(_) => put_first(&mut splice, frame, meta, members),
        None => put_for(&mut splice, frame, meta, &format!("{{{members}}}")),
    }
    Some(splice)
}

/// Inserts members after the last member of a non-empty object.
fn put_last(splice: &mut ByteEdits, whole: &[u8], object: &RawValue, members: &str) {
    let end = span_in(whole, object.get()).end - 1;
    splice.replace(end..end, format!(",{members}"));
}

/// Returns the error text of an error frame.
pub(crate) fn complaint(frame: &[u8]) -> String {
    let whole = ObjectView::of_bytes(frame).unwrap_or_default();
    let error = whole.object("error").unwrap_or_default();
    let said = error.text("message");
    said.unwrap_or_else(|| "no reason given".to_owned())
}

/// Returns the id of the request that a `notifications/cancelled` names: its exact text, and its
/// canonical form.
pub(crate) fn cancelled<'a>(envelope: &Envelope<'a>) -> Option<(&'a RawValue, RequestId)> {
    let id = ObjectView::of(envelope.params?)?.get("requestId")?;
    Some((id, RequestId::of(id)?))
}

/// Replaces the code of an error if it is `from`.
pub(crate) fn put_code(splice: &mut ByteEdits, frame: &[u8], from: i64, to: i64) {
    let whole = ObjectView::of_bytes(frame).unwrap_or_default();
    let error = whole.object("error").unwrap_or_default();
    if error.read("code") == Some(from)
        && let Some(old) = error.get("code")
    {
        put_for(splice, frame, old, &to.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillgate_mcp::messages;

    #[test]
    fn meta_is_added_wherever_it_belongs() {
        let cases = [
            (
                r#"{"id":1,"method":"x"}"#,
                r#"{"id":1,"method":"x","params":{"_meta":{"k":1}}}"#,
            ),
            (
                r#"{"id":1,"params":null,"method":"x"}"#,
                r#"{"id":1,"params":{"_meta":{"k":1}},"method":"x"}"#,
            ),
            (
                r#"{"method":"x","params": { } }"#,
                r#"{"method":"x","params": {"_meta":{"k":1} } }"#,
            ),
            (
                r#"{"method":"x","params":{"a":1.0}}"#,
                r#"{"method":"x","params":{"_meta":{"k":1},"a":1.0}}"#,
            ),
            (
                r#"{"method":"x","params":{"_meta":{}}}"#,
                r#"{"method":"x","params":{"_meta":{"k":1}}}"#,
            ),
            (
                r#"{"method":"x","params":{"_meta":{"b": 1}}}"#,
                r#"{"method":"x","params":{"_meta":{"k":1,"b": 1}}}"#,
            ),
            (
                r#"{"method":"x","params":{"_meta":{"k":2,"b": 1}}}"#,
                r#"{"method":"x","params":{"_meta":{"k":1,"b":1}}}"#,
            ),
            (
                r#"{"method":"x","params":{"_meta":7}}"#,
                r#"{"method":"x","params":{"_meta":{"k":1}}}"#,
            ),
        ];
        for (frame, want) in cases {
            let envelope = &messages(frame.as_bytes())[0];
            let splice = add_meta(frame.as_bytes(), envelope, r#""k":1"#, &["k"]).unwrap();
            let got = String::from_utf8(splice.apply(frame.as_bytes())).unwrap();
            assert_eq!(got, want);
        }
        let list = r#"{"method":"x","params":[1]}"#;
        let envelope = &messages(list.as_bytes())[0];
        assert!(add_meta(list.as_bytes(), envelope, "", &[]).is_none());
    }

    #[test]
    fn batches_are_taken_apart() {
        let frame = Bytes::from_static(br#" [{"id":1}, {"id":2}]"#);
        assert_eq!(parts(&frame), [&b"{\"id\":1}"[..], b"{\"id\":2}"]);
        assert!(parts(&Bytes::from_static(b"[")).is_empty());
        assert_eq!(parts(&Bytes::from_static(b"x")).len(), 1);
    }
}
