//! Which generation of the protocol does someone speak?

use std::fmt;

use spillgate_wire::{Envelope, messages};

use crate::json::Members;
use crate::names::PROTOCOL_VERSION;

/// A version of the protocol: a date, so that later ones are greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(String);

/// A generation of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2025-11-25 and older: `initialize`, sessions, requests of the server.
    Legacy,
    /// 2026-07-28 and later: stateless, `server/discover`.
    Modern,
}

impl Version {
    /// The modern version that bridges speak.
    pub const MODERN: &str = "2026-07-28";
    /// The legacy version that bridges offer to a server.
    pub const LEGACY: &str = "2025-11-25";
    /// The versions that have an `initialize`.
    pub const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

    /// The version of this name; `None` for what is no date.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is_date = name.len() == 10
            && name.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        is_date.then(|| Self(name.to_owned()))
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it has no `initialize` any more.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.0.as_str() >= Self::MODERN
    }

    /// Its generation.
    #[must_use]
    pub fn era(&self) -> Era {
        match self.is_modern() {
            true => Era::Modern,
            false => Era::Legacy,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a client speaks, by its first request: `initialize` exists only in the
/// one, `server/discover` and the version in `_meta` only in the other. `None`
/// where a message tells nothing, such as a `ping` before all else.
#[must_use]
pub fn era_of_client(message: &Envelope<'_>) -> Option<Era> {
    match message.method.as_deref()? {
        "initialize" | "notifications/initialized" => return Some(Era::Legacy),
        "server/discover" => return Some(Era::Modern),
        _ => {}
    }
    let meta = Members::of(message.params?)?.object("_meta")?;
    let version = meta.get(PROTOCOL_VERSION)?;
    // Whoever writes this key is modern, even if the version is a mistake; the
    // answer then says so in the modern way.
    let named = serde_json::from_str::<String>(version.get()).ok();
    let named = named.as_deref().and_then(Version::parse);
    Some(named.map_or(Era::Modern, |version| version.era()))
}

/// What a server speaks, by its answer to `asked` (`initialize` or
/// `server/discover`). `None` where the answer does not tell.
///
/// A refusal of `server/discover` means legacy, unless its code is one that only
/// modern servers use (2026-07-28, backward compatibility). A refusal of
/// `initialize` means modern with such a code, and nothing otherwise.
#[must_use]
pub fn era_of_server(asked: &str, answer: &[u8]) -> Option<Era> {
    /// Header mismatch, missing capability, unsupported version.
    const MODERN_CODES: std::ops::RangeInclusive<i64> = -32022..=-32020;
    let envelope = messages(answer).into_iter().next()?;
    if let Some(result) = envelope.result {
        let result = Members::of(result)?;
        if let Some(version) = result.text("protocolVersion") {
            return Some(Version::parse(&version)?.era());
        }
        let supported: Vec<String> = result.read("supportedVersions")?;
        return Some(newest_era(&supported));
    }
    let frame = Members::of_bytes(answer)?;
    let error = frame.object("error")?;
    let code: i64 = error.read("code")?;
    if !MODERN_CODES.contains(&code) {
        return (asked == "server/discover").then_some(Era::Legacy);
    }
    let supported: Option<Vec<String>> =
        error.object("data").and_then(|data| data.read("supported"));
    Some(supported.map_or(Era::Modern, |versions| newest_era(&versions)))
}

/// The generation of the latest of these versions.
fn newest_era(versions: &[String]) -> Era {
    let newest = versions
        .iter()
        .filter_map(|name| Version::parse(name))
        .max();
    newest.map_or(Era::Legacy, |version| version.era())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for name in Version::HANDSHAKES {
            assert!(!Version::parse(name).unwrap().is_modern(), "{name}");
        }
        assert!(Version::parse("2026-07-28").unwrap().is_modern());
        assert!(Version::parse("2027-01-01") > Version::parse("2026-07-28"));
        for name in ["", "draft", "2026-7-28", "2026-07-28x", "２０２６"] {
            assert_eq!(Version::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_client_by_its_first_message() {
        let cases = [
            (r#"{"id":1,"method":"initialize"}"#, Some(Era::Legacy)),
            (r#"{"id":1,"method":"server/discover"}"#, Some(Era::Modern)),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
                Some(Era::Modern),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}"#,
                Some(Era::Modern),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}"#,
                Some(Era::Legacy),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}"#,
                None,
            ),
            (r#"{"id":1,"method":"ping"}"#, None),
            (r#"{"id":1,"method":"x","params":[1]}"#, None),
            (r#"{"id":1,"result":{}}"#, None),
        ];
        for (frame, era) in cases {
            assert_eq!(
                era_of_client(&messages(frame.as_bytes())[0]),
                era,
                "{frame}"
            );
        }
    }

    #[test]
    fn a_server_by_its_answer() {
        let cases = [
            (
                "initialize",
                r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
                Some(Era::Legacy),
            ),
            (
                "initialize",
                r#"{"id":1,"result":{"protocolVersion":"2026-07-28"}}"#,
                Some(Era::Modern),
            ),
            (
                "initialize",
                r#"{"id":1,"error":{"code":-32022,"message":"","data":{"supported":["2026-07-28"]}}}"#,
                Some(Era::Modern),
            ),
            (
                "initialize",
                r#"{"id":1,"error":{"code":-32603,"message":""}}"#,
                None,
            ),
            (
                "server/discover",
                r#"{"id":1,"result":{"supportedVersions":["2025-11-25","2026-07-28"]}}"#,
                Some(Era::Modern),
            ),
            (
                "server/discover",
                r#"{"id":1,"result":{"supportedVersions":["2025-11-25"]}}"#,
                Some(Era::Legacy),
            ),
            (
                "server/discover",
                r#"{"id":1,"error":{"code":-32601,"message":""}}"#,
                Some(Era::Legacy),
            ),
            (
                "server/discover",
                r#"{"id":1,"error":{"code":-32020,"message":""}}"#,
                Some(Era::Modern),
            ),
            (
                "server/discover",
                r#"{"id":1,"error":{"code":-32022,"message":"","data":{"supported":["2025-06-18"]}}}"#,
                Some(Era::Legacy),
            ),
            ("server/discover", r#"{"id":1,"result":{}}"#, None),
            ("server/discover", "no json", None),
        ];
        for (asked, answer, era) in cases {
            assert_eq!(
                era_of_server(asked, answer.as_bytes()),
                era,
                "{asked} {answer}"
            );
        }
    }
}
