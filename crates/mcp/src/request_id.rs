//! The id of a request.

use serde_json::value::RawValue;

/// The id of a request as JSON, a string or a number, in one canonical spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(String);

impl RequestId {
    /// The id of a message; `None` if the value cannot be an id.
    #[must_use]
    pub fn of(id: &RawValue) -> Option<Self> {
        Self::of_json(id.get())
    }

    /// The id in a JSON text; `None` if the value cannot be an id.
    pub(crate) fn of_json(text: &str) -> Option<Self> {
        if !text.contains('\\') {
            let is_id =
                text.starts_with('"') || text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            return is_id.then(|| Self(text.to_owned()));
        }
        let decoded: String = serde_json::from_str(text).ok()?;
        serde_json::to_string(&decoded).ok().map(Self)
    }

    /// Returns an id that is this number.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self(number.to_string())
    }

    /// The id as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}
