//! How are members of an object found, taken out and put in while all other
//! bytes stay?

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use spillgate_wire::{Envelope, Key, Splice, span_in};

/// The members of an object as they are spelled, in their order.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'a> Members<'a> {
    /// The members of this value; `None` if it is no object.
    pub(crate) fn of(value: &'a RawValue) -> Option<Self> {
        Self::of_text(value.get())
    }

    /// The members of the object that these bytes are.
    pub(crate) fn of_bytes(frame: &'a [u8]) -> Option<Self> {
        Self::of_text(std::str::from_utf8(frame).ok()?)
    }

    fn of_text(text: &'a str) -> Option<Self> {
        let is_object = text.trim_ascii_start().starts_with('{');
        is_object.then(|| serde_json::from_str(text).ok())?
    }

    /// The value of a member; of several with this name the last, as most
    /// parsers have it.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| decoded(key) == name);
        found.map(|(_, value)| *value)
    }

    /// The members of a member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Members<'a>> {
        Members::of(self.get(name)?)
    }

    /// A member that is an object, as it is spelled.
    pub(crate) fn spelled(&self, name: &str) -> Option<String> {
        self.object(name)?;
        Some(self.get(name)?.get().to_owned())
    }

    /// A member that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// A member that is of this type.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Whether a member is `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }

    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Cow<'a, str>, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (decoded(key), *value))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object without some of its members: keys and values as they were
    /// spelled, nothing between them.
    pub(crate) fn without(&self, names: &[&str]) -> String {
        let mut object = String::from("{");
        for (key, value) in &self.0 {
            if names.contains(&decoded(key).as_ref()) {
                continue;
            }
            if object.len() > 1 {
                object.push(',');
            }
            object.push_str(key.get());
            object.push(':');
            object.push_str(value.get());
        }
        object.push('}');
        object
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(All).map(Self)
    }
}

/// What a key says. One that is no proper text (half a surrogate pair) is no
/// key that we look for.
fn decoded(key: &RawValue) -> Cow<'_, str> {
    let text = key.get();
    if text.contains('\\') {
        return Cow::Owned(serde_json::from_str(text).unwrap_or_default());
    }
    Cow::Borrowed(text.trim_matches('"'))
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Puts members (`"a":1,"b":2`) before the first of an object.
pub(crate) fn put_first(splice: &mut Splice, whole: &[u8], object: &RawValue, members: &str) {
    let start = span_in(whole, object.get()).start + 1;
    let is_empty = Members::of(object).is_none_or(|all| all.is_empty());
    let comma = if is_empty { "" } else { "," };
    splice.replace(start..start, format!("{members}{comma}"));
}

/// Puts a value in the place of another.
pub(crate) fn put_for(splice: &mut Splice, whole: &[u8], old: &RawValue, new: &str) {
    splice.replace(span_in(whole, old.get()), new);
}

/// The messages of a frame, each with its bytes: a batch is taken apart, which
/// neither generation has in common.
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

/// Changes the id of a message.
pub(crate) fn put_id(splice: &mut Splice, whole: &[u8], envelope: &Envelope<'_>, id: &str) {
    if let Some(old) = envelope.id {
        put_for(splice, whole, old, id);
    }
}

/// Makes `_meta` of a message's parameters begin with these members, whether or
/// not it has any, or parameters at all. `None` if the parameters are a list.
pub(crate) fn add_meta(
    frame: &[u8],
    envelope: &Envelope<'_>,
    members: &str,
    replaced: &[&str],
) -> Option<Splice> {
    let mut splice = Splice::default();
    let Some(params) = envelope.params else {
        let whole: &RawValue = serde_json::from_slice(frame).ok()?;
        let added = format!(r#""params":{{"_meta":{{{members}}}}}"#);
        // `"params":null` reads like no parameters, and would stand there twice.
        let all = Members::of(whole)?;
        match all.get("params") {
            Some(null) => put_for(&mut splice, frame, null, &added["\"params\":".len()..]),
            None => put_last(&mut splice, frame, whole, &added),
        }
        return Some(splice);
    };
    let all = Members::of(params)?;
    let Some(meta) = all.get("_meta") else {
        put_first(
            &mut splice,
            frame,
            params,
            &format!(r#""_meta":{{{members}}}"#),
        );
        return Some(splice);
    };
    match Members::of(meta) {
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

/// Puts members after the last of an object that is not empty.
fn put_last(splice: &mut Splice, whole: &[u8], object: &RawValue, members: &str) {
    let end = span_in(whole, object.get()).end - 1;
    splice.replace(end..end, format!(",{members}"));
}

/// The message of the error that a frame is.
pub(crate) fn complaint(frame: &[u8]) -> String {
    let whole = Members::of_bytes(frame).unwrap_or_default();
    let error = whole.object("error").unwrap_or_default();
    let said = error.text("message");
    said.unwrap_or_else(|| "no reason given".to_owned())
}

/// The request that a `notifications/cancelled` names: as it is spelled, and its
/// key.
pub(crate) fn cancelled<'a>(envelope: &Envelope<'a>) -> Option<(&'a RawValue, Key)> {
    let id = Members::of(envelope.params?)?.get("requestId")?;
    Some((id, Key::of(id)?))
}

/// Changes the code of an error, if it is `from`.
pub(crate) fn put_code(splice: &mut Splice, frame: &[u8], from: i64, to: i64) {
    let whole = Members::of_bytes(frame).unwrap_or_default();
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
    use spillgate_wire::messages;

    #[test]
    fn members_keep_their_spelling() {
        let text = r#" {"a": 1.0 ,"\u0062":[ 2 ],"c":null,"a":3}"#;
        let members = Members::of_bytes(text.as_bytes()).unwrap();
        assert_eq!(members.get("a").unwrap().get(), "3");
        assert_eq!(members.get("b").unwrap().get(), "[ 2 ]");
        assert_eq!(members.without(&["a"]), r#"{"\u0062":[ 2 ],"c":null}"#);
        assert_eq!(members.without(&["a", "b", "c"]), "{}");
        for text in ["[]", "[1,2]", "7", "", "{", "\"a\"", "{\"a\":\"\\ud83d\"}x"] {
            assert!(Members::of_bytes(text.as_bytes()).is_none(), "{text}");
        }
    }

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
