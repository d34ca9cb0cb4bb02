//! Sizes and times as users write them (`"10 GiB"`, `"30d"`), parsed when the settings are read.

use std::time::Duration;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

/// A number of bytes such as `"10 GiB"`; 0 is no limit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub(crate) struct Size {
    written: String,
    pub(crate) bytes: Option<u64>,
}

/// A length of time such as `"30d"`; 0 is no limit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub(crate) struct Span {
    written: String,
    pub(crate) time: Option<Duration>,
}

/// A size or time as the user wrote it. A number is accepted besides a text, so that `quota = 0`
/// means the same as `quota = "0"`.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text such as \"10 GiB\" or \"30d\", or a whole number"
)]
enum Written {
    Text(String),
    Number(u64),
}

impl Written {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

impl TryFrom<Written> for Size {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let written = written.text();
        let size: ByteSize = written
            .parse()
            .map_err(|_| format!("{written:?} is not a number of bytes"))?;
        let bytes = Some(size.as_u64()).filter(|&bytes| bytes > 0);
        // A size of 0 means no limit. "0.3" bytes would be rounded to 0, so it is an error.
        if bytes.is_none() && written.contains(|c| matches!(c, '1'..='9')) {
            return Err(format!("{written:?} is less than one byte"));
        }
        Ok(Self { written, bytes })
    }
}

impl TryFrom<Written> for Span {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let written = written.text();
        let time = match written.trim() {
            "0" => None,
            text => Some(
                humantime::parse_duration(text)
                    .map_err(|error| format!("{written:?} is not a length of time: {error}"))?,
            ),
        };
        let time = time.filter(|time| !time.is_zero());
        Ok(Self { written, time })
    }
}

impl From<Size> for String {
    fn from(size: Size) -> Self {
        size.written
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.written
    }
}

/// The constructor for default settings, whose texts are constants.
impl Size {
    pub(crate) fn of(text: &str) -> Self {
        let written = Written::Text(text.to_owned());
        Self::try_from(written).expect("invariant: a default setting is valid")
    }
}

/// The constructor for default settings, whose texts are constants.
impl Span {
    pub(crate) fn of(text: &str) -> Self {
        let written = Written::Text(text.to_owned());
        Self::try_from(written).expect("invariant: a default setting is valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (written, want) in [
            ("0", Ok(None)),
            ("0 GiB", Ok(None)),
            ("1", Ok(Some(1))),
            ("1.5 KiB", Ok(Some(1536))),
            ("0.5 B", Err("\"0.5 B\" is less than one byte")),
            ("5 potatoes", Err("\"5 potatoes\" is not a number of bytes")),
        ] {
            let size = Size::try_from(Written::Text(written.to_owned()));
            let bytes = size.map(|size| size.bytes);
            assert_eq!(bytes, want.map_err(str::to_owned), "{written}");
        }
    }
}
