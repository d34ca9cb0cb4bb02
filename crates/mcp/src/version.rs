//! Versions and generations of the protocol, and how to detect which one a peer speaks.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::meta::PROTOCOL_VERSION;
use crate::{Envelope, ObjectView, error_code, messages};

/// A version of the protocol. Versions are dates, so a later version compares greater.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion(String);

/// A generation of the protocol: a group of versions with the same message flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Generation {
    /// 2025-11-25 and older: `initialize`, sessions, requests from the server.
    Legacy,
    /// 2026-07-28 and later: stateless, `server/discover`.
    Modern,
}

impl ProtocolVersion {
    /// The modern version that bridges use.
    pub const MODERN: &str = "2026-07-28";
    /// The legacy version that bridges offer to servers.
    pub const LEGACY: &str = "2025-11-25";
    /// The first version with `resource_link` blocks.
    pub const RESOURCE_LINKS: &str = "2025-06-18";
    /// The versions with an `initialize` handshake.
    pub const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

    /// Parses a version; `None` if it is not a date.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is_date = name.len() == 10
            && name.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        is_date.then(|| Self(name.to_owned()))
    }

    /// The version as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this version no longer has `initialize`.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.0.as_str() >= Self::MODERN
    }

    /// The generation that the version belongs to.
    #[must_use]
    pub fn generation(&self) -> Generation {
        match self.is_modern() {
            true => Generation::Modern,
            false => Generation::Legacy,
        }
    }
}

impl Generation {
    /// The generation of a request with these parameters. Since 2026-07-28, each request names its
    /// version.
    #[must_use]
    pub fn of(params: Option<&RawValue>) -> Self {
        let params = params.and_then(ObjectView::of);
        Self::of_meta(params.and_then(|params| params.get("_meta")))
    }

    /// The generation of a request with this `_meta`.
    #[must_use]
    pub fn of_meta(meta: Option<&RawValue>) -> Self {
        let meta = meta.and_then(ObjectView::of);
        match meta.and_then(|meta| meta.get(PROTOCOL_VERSION)) {
            Some(_) => Self::Modern,
            None => Self::Legacy,
        }
    }

    /// Adds to `result`, a non-empty JSON object, the member that this generation requires of every
    /// result.
    #[must_use]
    pub fn complete(self, result: &str) -> String {
        match (self, result.strip_prefix('{')) {
            (Self::Modern, Some(members)) => format!("{{\"resultType\":\"complete\",{members}"),
            _ => result.to_owned(),
        }
    }

    /// Adds the members that this generation requires of a list that was merged from several
    /// servers, unless they are already there.
    pub fn fill_in(self, members: &mut Map<String, Value>) {
        if self == Self::Modern {
            let defaults = [
                ("resultType", json!("complete")),
                ("ttlMs", json!(0)),
                ("cacheScope", json!("private")),
            ];
            for (name, value) in defaults {
                members.entry(name).or_insert(value);
            }
        }
    }

    /// Adds to `result` the members that this generation requires of a cacheable result. `for_ms`
    /// is the lifetime of the result in milliseconds.
    #[must_use]
    pub fn cached(self, mut result: Value, for_ms: u64) -> Value {
        if self == Self::Modern {
            result["resultType"] = json!("complete");
            result["ttlMs"] = json!(for_ms);
            result["cacheScope"] = json!("private");
        }
        result
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the generation that a client speaks, judged by its first request. `initialize` exists
/// only in the legacy generation; `server/discover` and a version in `_meta` exist only in the
/// modern one. `None` if the message is the same in both, such as a `ping`.
#[must_use]
pub fn generation_of_client(message: &Envelope<'_>) -> Option<Generation> {
    match message.method.as_deref()? {
        "initialize" | "notifications/initialized" => return Some(Generation::Legacy),
        "server/discover" => return Some(Generation::Modern),
        _ => {}
    }
    let meta = ObjectView::of(message.params?)?.object("_meta")?;
    let version = meta.get(PROTOCOL_VERSION)?;
    // A client that writes the version into `_meta` is modern even if the value is not a version.
    // The error response then has the modern form.
    let named = serde_json::from_str::<String>(version.get()).ok();
    let named = named.as_deref().and_then(ProtocolVersion::parse);
    Some(named.map_or(Generation::Modern, |version| version.generation()))
}

/// Returns the generation that a server speaks, judged by its response to the request `asked`
/// (`initialize` or `server/discover`). `None` if the response does not show it.
///
/// An error code that only modern servers use means modern. Any other error means legacy if the
/// request was `server/discover` (the 2026-07-28 specification, "Backward compatibility"), and
/// shows nothing if it was `initialize`.
#[must_use]
pub fn generation_of_server(asked: &str, answer: &[u8]) -> Option<Generation> {
    /// The codes for unsupported version, missing capability and header mismatch.
    const MODERN_CODES: RangeInclusive<i64> =
        error_code::UNSUPPORTED_VERSION..=error_code::HEADER_MISMATCH;
    let envelope = messages(answer).into_iter().next()?;
    if let Some(result) = envelope.result {
        let result = ObjectView::of(result)?;
        if let Some(version) = result.text("protocolVersion") {
            return Some(ProtocolVersion::parse(&version)?.generation());
        }
        let supported: Vec<String> = result.read("supportedVersions")?;
        return Some(newest(&supported));
    }
    let frame = ObjectView::of_bytes(answer)?;
    let error = frame.object("error")?;
    let code: i64 = error.read("code")?;
    if !MODERN_CODES.contains(&code) {
        return (asked == "server/discover").then_some(Generation::Legacy);
    }
    let supported: Option<Vec<String>> =
        error.object("data").and_then(|data| data.read("supported"));
    Some(supported.map_or(Generation::Modern, |versions| newest(&versions)))
}

/// The generation of the latest of these versions; legacy if there is none.
fn newest(versions: &[String]) -> Generation {
    let newest = versions
        .iter()
        .filter_map(|name| ProtocolVersion::parse(name))
        .max();
    newest.map_or(Generation::Legacy, |version| version.generation())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for name in ProtocolVersion::HANDSHAKES {
            assert!(!ProtocolVersion::parse(name).unwrap().is_modern(), "{name}");
        }
        assert!(ProtocolVersion::parse("2026-07-28").unwrap().is_modern());
        assert!(ProtocolVersion::parse("2027-01-01") > ProtocolVersion::parse("2026-07-28"));
        for name in ["", "draft", "2026-7-28", "2026-07-28x", "２０２６"] {
            assert_eq!(ProtocolVersion::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_client_by_its_first_message() {
        let cases = [
            (
                r#"{"id":1,"method":"initialize"}"#,
                Some(Generation::Legacy),
            ),
            (
                r#"{"id":1,"method":"server/discover"}"#,
                Some(Generation::Modern),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
                Some(Generation::Modern),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}"#,
                Some(Generation::Modern),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}"#,
                Some(Generation::Legacy),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}"#,
                None,
            ),
            (r#"{"id":1,"method":"ping"}"#, None),
            (r#"{"id":1,"method":"x","params":[1]}"#, None),
            (r#"{"id":1,"result":{}}"#, None),
        ];
        for (frame, generation) in cases {
            assert_eq!(
                generation_of_client(&messages(frame.as_bytes())[0]),
                generation,
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
                Some(Generation::Legacy),
            ),
            (
                "initialize",
                r#"{"id":1,"result":{"protocolVersion":"2026-07-28"}}"#,
                Some(Generation::Modern),
            ),
            (
                "initialize",
                r#"{"id":1,"error":{"code":-32022,"message":"","data":{"supported":["2026-07-28"]}}}"#,
                Some(Generation::Modern),
            ),
            (
                "initialize",
                r#"{"id":1,"error":{"code":-32603,"message":""}}"#,
                None,
            ),
            (
                "server/discover",
                r#"{"id":1,"result":{"supportedVersions":["2025-11-25","2026-07-28"]}}"#,
                Some(Generation::Modern),
            ),
            (
                "server/discover",
                r#"{"id":1,"result":{"supportedVersions":["2025-11-25"]}}"#,
                Some(Generation::Legacy),
            ),
            (
                "server/discover",
                r#"{"id":1,"error":{"code":-32601,"message":""}}"#,
                Some(Generation::Legacy),
            ),
            (
                "server/discover",
                r#"{"id":1,"error":{"code":-32020,"message":""}}"#,
                Some(Generation::Modern),
            ),
            (
                "server/discover",
                r#"{"id":1,"error":{"code":-32022,"message":"","data":{"supported":["2025-06-18"]}}}"#,
                Some(Generation::Legacy),
            ),
            ("server/discover", r#"{"id":1,"result":{}}"#, None),
            ("server/discover", "no json", None),
        ];
        for (asked, answer, generation) in cases {
            assert_eq!(
                generation_of_server(asked, answer.as_bytes()),
                generation,
                "{asked} {answer}"
            );
        }
    }
}
