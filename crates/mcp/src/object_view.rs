//! A view of a JSON object's members that keeps their order and their exact text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

/// The members of an object in their original order, each with its exact text.
#[derive(Debug, Default)]
pub struct ObjectView<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'a> ObjectView<'a> {
    /// Parses a value; `None` if it is not an object.
    #[must_use]
    pub fn of(value: &'a RawValue) -> Option<Self> {
        Self::of_text(value.get())
    }

    /// Parses a frame; `None` if it is not an object.
    #[must_use]
    pub fn of_bytes(frame: &'a [u8]) -> Option<Self> {
        Self::of_text(std::str::from_utf8(frame).ok()?)
    }

    /// Parses a text; `None` if it is not an object.
    #[must_use]
    pub fn of_text(text: &'a str) -> Option<Self> {
        let is_object = text.trim_ascii_start().starts_with('{');
        is_object.then(|| serde_json::from_str(text).ok())?
    }

    /// The value of a member. If several members have this name, the last one counts, as in most
    /// parsers.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| decoded(key) == name);
        found.map(|(_, value)| *value)
    }

    /// The view of a member whose value is an object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<ObjectView<'a>> {
        ObjectView::of(self.get(name)?)
    }

    /// The exact text of a member whose value is an object.
    #[must_use]
    pub fn spelled(&self, name: &str) -> Option<String> {
        self.object(name)?;
        Some(self.get(name)?.get().to_owned())
    }

    /// The decoded text of a member whose value is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// A member's value parsed as `T`; `None` if the member is missing or has another type.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Whether a member's value is `true`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }

    /// The exact text, with quotes, of a member whose value is a string.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get().starts_with('"'))
    }

    /// Iterates over the members as pairs of name and value.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'a, str>, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (decoded(key), *value))
    }

    /// Iterates over the names of the members.
    pub fn names(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.0.iter().map(|(key, _)| decoded(key))
    }

    /// Whether the object has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the object as JSON without the named members. Keys and values keep their exact text;
    /// whitespace between them is dropped.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> String {
        self.written(names, &[])
    }

    /// Returns the object as JSON: the members `more` first, then the object's own members except
    /// those in `gone` and those that `more` replaces.
    #[must_use]
    pub fn written(&self, gone: &[&str], more: &[(&str, String)]) -> String {
        let is_kept =
            |name: &str| !gone.contains(&name) && more.iter().all(|(key, _)| *key != name);
        let kept = self.0.iter().filter(|(key, _)| is_kept(&decoded(key)));
        let kept = kept.map(|(key, value)| format!("{key}:{value}"));
        let more = more
            .iter()
            .map(|(name, value)| format!("{}:{value}", json!(name)));
        let all: Vec<String> = more.chain(kept).collect();
        format!("{{{}}}", all.join(","))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectView<'a> {
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

/// The decoded text of a key. A key that is not valid text, such as half a surrogate pair, becomes
/// the empty string, which is never looked up.
fn decoded(key: &RawValue) -> Cow<'_, str> {
    let text = key.get();
    if text.contains('\\') {
        return Cow::Owned(serde_json::from_str(text).unwrap_or_default());
    }
    Cow::Borrowed(text.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_spelling() {
        let text = r#" {"a": 1.0 ,"\u0062":[ 2 ],"c":null,"a":3}"#;
        let members = ObjectView::of_bytes(text.as_bytes()).unwrap();
        assert_eq!(members.get("a").unwrap().get(), "3");
        assert_eq!(members.get("b").unwrap().get(), "[ 2 ]");
        assert_eq!(members.without(&["a"]), r#"{"\u0062":[ 2 ],"c":null}"#);
        assert_eq!(members.without(&["a", "b", "c"]), "{}");
        for text in ["[]", "[1,2]", "7", "", "{", "\"a\"", "{\"a\":\"\\ud83d\"}x"] {
            assert!(ObjectView::of_bytes(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn members_are_read_and_written_as_they_are() {
        let json = r#"{"a": 1.0, "b\u0022":{"x" : 1e2},"a":"\ud83d","c":null}"#;
        let members = ObjectView::of_text(json).unwrap();
        assert_eq!(members.text("a"), None);
        assert_eq!(members.string("a").map(RawValue::get), Some(r#""\ud83d""#));
        assert_eq!(members.string("c").map(RawValue::get), None);
        let more = [("d", "17".to_owned()), ("c", "true".to_owned())];
        assert_eq!(
            members.written(&["a"], &more),
            r#"{"d":17,"c":true,"b\u0022":{"x" : 1e2}}"#
        );
    }
}
