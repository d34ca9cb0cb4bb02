//! Sizes and times as people write them (`"10 GiB"`, `"30d"`), parsed when the settings are read.

use std::time::Duration;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

/// A number of bytes such as `"10 GiB"`; 0 is no limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub(crate) struct Size {
    written: String,
    pub(crate) bytes: Option<u64>,
}

/// A length of time such as `"30d"`; 0 is no limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub(crate) struct Span {
    written: String,
    pub(crate) time: Option<Duration>,
}

/// `quota = 0` means the same as `quota = "0"`.
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

/// For the default settings, whose texts are constants.
impl Size {
    pub(crate) fn of(text: &str) -> Self {
        let written = Written::Text(text.to_owned());
        Self::try_from(written).expect("invariant: a default setting is valid")
    }
}

/// For the default settings, whose texts are constants.
impl Span {
    pub(crate) fn of(text: &str) -> Self {
        let written = Written::Text(text.to_owned());
        Self::try_from(written).expect("invariant: a default setting is valid")
    }
}
