//! Ranges of bytes and lines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes `start..end`, half open; no `end` means "to the end".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// First byte, 0-based.
    pub start: u64,
    /// The offset after the last byte; `None` means the end of the text.
    pub end: Option<u64>,
}

impl ByteRange {
    /// Returns the number of bytes; `None` if the end is open.
    #[must_use]
    pub fn len(&self) -> Option<u64> {
        self.end.map(|end| end.saturating_sub(self.start))
    }

    /// Returns whether the range is certainly empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..", self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, "{end}"))
    }
}

impl FromStr for ByteRange {
    type Err = SpanError;

    /// Parses `A..B`, `A..` and `..B`, and also `A-B` and `A:B`, because people type these forms.
    fn from_str(text: &str) -> Result<Self, SpanError> {
        let error = || SpanError {
            given: text.chars().take(40).collect(),
        };
        let (start, end) = ["..", "-", ":"]
            .iter()
            .find_map(|separator| text.trim().split_once(separator))
            .ok_or_else(error)?;
        let number = |part: &str| match part.trim() {
            "" => Ok(None),
            digits => digits.parse::<u64>().map(Some).map_err(|_| error()),
        };
        let range = Self {
            start: number(start)?.unwrap_or(0),
            end: number(end)?,
        };
        match range.end {
            Some(end) if end < range.start => Err(error()),
            _ => Ok(range),
        }
    }
}

impl Serialize for ByteRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The error for a text that is not a byte range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a byte range; write START..END, for example 4096..8192 or 4096..")]
pub struct SpanError {
    /// The given text, cut after 40 characters.
    given: String,
}

/// View lines `first..=last`, 1-based. `last` is `first - 1` if the range contains no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineRange {
    /// First line.
    pub first: u64,
    /// Last line, which is included.
    pub last: u64,
}

impl Serialize for LineRange {
    /// Writes the range as `[first, last]`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.first, self.last).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LineRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (first, last) = Deserialize::deserialize(deserializer)?;
        Ok(Self { first, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_ranges() {
        let cases = [
            ("1..5", Some((1, Some(5)))),
            ("1..", Some((1, None))),
            ("..5", Some((0, Some(5)))),
            (" 1-5 ", Some((1, Some(5)))),
            ("7:9", Some((7, Some(9)))),
            ("5..5", Some((5, Some(5)))),
            ("5..1", None),
            ("5", None),
            ("a..b", None),
            ("-1..5", None),
        ];
        for (given, want) in cases {
            let got = given.parse::<ByteRange>().ok().map(|r| (r.start, r.end));
            assert_eq!(got, want, "{given}");
        }
    }

    #[test]
    fn what_is_known_to_be_empty() {
        for (given, want) in [("5..5", true), ("1..5", false), ("1..", false)] {
            let range: ByteRange = given.parse().unwrap();
            assert_eq!(range.is_empty(), want, "{given}");
        }
    }

    #[test]
    fn a_printed_range_parses_again() {
        for range in ["3..9", "3.."] {
            assert_eq!(range.parse::<ByteRange>().unwrap().to_string(), range);
        }
    }
}
