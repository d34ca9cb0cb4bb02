//! Which members does an object have, in their order and as they are spelled?

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;
use spillgate_view::decode_json_string;
use spillgate_wire::{object, object_in};

/// The members of an object, their values unread. Of two with the same name the
/// later one counts, as most parsers have it.
#[derive(Debug)]
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Those of `json`, if it is an object.
    pub(crate) fn of(json: &'a RawValue) -> Option<Self> {
        object(json)
    }

    /// Those of the object that `json` is.
    pub(crate) fn of_text(json: &'a str) -> Option<Self> {
        object_in(json)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let mut members = self.0.iter().rev();
        members
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }

    /// A member as a JSON string, still with its quotes.
    pub(crate) fn string(&self, name: &str) -> Option<&'a RawValue> {
        self.get(name).filter(|value| value.get().starts_with('"'))
    }

    /// A member that is a string, decoded.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        decode_json_string(self.string(name)?.get().as_bytes())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The object without the members `gone`, then with the members `more`.
    pub(crate) fn written(&self, gone: &[&str], more: &[(&str, String)]) -> String {
        let kept = self.0.iter().filter(|(name, _)| {
            !gone.contains(&name.as_str()) && more.iter().all(|(key, _)| key != name)
        });
        let kept = kept.map(|(name, value)| format!("{}:{value}", json!(name)));
        let more = more
            .iter()
            .map(|(name, value)| format!("{}:{value}", json!(name)));
        let all: Vec<String> = more.chain(kept).collect();
        format!("{{{}}}", all.join(","))
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        from.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_and_written_as_they_are() {
        let json = r#"{"a": 1.0, "b\u0022":{"x" : 1e2},"a":"\ud83d","c":null}"#;
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let members = Members::of(raw).unwrap();
        assert_eq!(members.text("a").as_deref(), Some("\u{fffd}"));
        assert_eq!(members.string("c").map(RawValue::get), None);
        let more = [("d", "17".to_owned()), ("c", "true".to_owned())];
        assert_eq!(
            members.written(&["a"], &more),
            r#"{"d":17,"c":true,"b\"":{"x" : 1e2}}"#
        );
        for other in ["[1]", "1", "null"] {
            let raw: &RawValue = serde_json::from_str(other).unwrap();
            assert!(Members::of(raw).is_none(), "{other}");
        }
    }
}
