//! A view of a JSON object's members that keeps their order and spelling.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

/// The members of an object, in their order and as they are spelled.
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

    /// The value of a member. If several have this name, the last one, as in most parsers.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| decoded(key) == name);
        found.map(|(_, value)| *value)
    }

    /// The members of a member that is an object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<ObjectView<'a>> {
        ObjectView::of(self.get(name)?)
    }

    /// A member that is an object, as it is spelled.
    #[must_use]
    pub fn spelled(&self, name: &str) -> Option<String> {
        self.object(name)?;
        Some(self.get(name)?.get().to_owned())
    }

    /// The text of a member that is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }

    /// A member parsed as `T`; `None` if it is missing or of another type.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Whether a member is `true`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }

    /// A member that is a string, as it is spelled, with its quotes.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get().starts_with('"'))
    }

    /// Iterates over names and values.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'a, str>, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (decoded(key), *value))
    }

    /// Iterates over names.
    pub fn names(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.0.iter().map(|(key, _)| decoded(key))
    }

    /// Whether the object has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the object without some of its members. Keys and values keep their spelling; the
    /// whitespace between them goes.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> String {
        self.written(names, &[])
    }

    /// Writes the object with the members `more` first, then its own members except `gone` and
    /// those that `more` replaces.
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

/// The decoded text of a key. A key that is not valid text (half a surrogate pair) gives the empty
/// string, which matches no key that we look for.
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
