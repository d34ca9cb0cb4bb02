//! Determines from a server's answer which generation of MCP the server speaks.

use serde::Deserialize;
use spillgate_mcp::{Envelope, Generation, RequestId, error_code, generation_of_server, messages};
use spillgate_transport::{Frame, Item, ServerEvent};

/// What an answer to `initialize` or `server/discover` shows about the server's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The server speaks 2025-11-25 or older.
    Legacy,
    /// The server speaks 2026-07-28. If the request was `initialize`, the server speaks no older
    /// version.
    Modern,
    /// The server refused, and the answer does not show why.
    Unclear,
    /// The server could not be reached, or it denied access.
    Failed,
}

/// Returns what an event shows if it answers the request `key` with the method `asked`; `None` if
/// it does not answer this request.
pub(crate) fn verdict(asked: &str, key: &RequestId, event: &ServerEvent) -> Option<Verdict> {
    match &event.item {
        Item::Message(Frame::Memory(frame)) => {
            let all = messages(frame);
            let [one] = &*all else { return None };
            let is_it = one.is_response() && one.key().as_ref() == Some(key);
            is_it.then(|| of_answer(asked, frame))
        }
        Item::Refused(refusal) if event.of.as_ref() == Some(key) => Some(match refusal.status {
            400..=499 if matches!(refusal.status, 401 | 403 | 407 | 408 | 429) => Verdict::Failed,
            400..=499 => {
                let said = messages(&refusal.body);
                match said.first().is_some_and(is_error) {
                    true => of_answer(asked, &refusal.body),
                    false if asked == "initialize" => Verdict::Unclear,
                    // The server requires a session, or it does not know `server/discover`. In both
                    // cases, it is a legacy server.
                    false => Verdict::Legacy,
                }
            }
            _ => Verdict::Failed,
        }),
        Item::Failed(_) if event.of.as_ref() == Some(key) => Some(Verdict::Failed),
        _ => None,
    }
}

/// Returns whether an answer is an error. The id of the answer may be `null` if the server did not
/// read the request.
fn is_error(envelope: &Envelope<'_>) -> bool {
    envelope.method.is_none() && envelope.result.is_none()
}

fn of_answer(asked: &str, answer: &[u8]) -> Verdict {
    #[derive(Deserialize)]
    struct Answer {
        error: Option<Failure>,
    }
    #[derive(Deserialize)]
    struct Failure {
        code: i64,
    }
    let said: Option<Answer> = serde_json::from_slice(answer).ok();
    let code = said.and_then(|said| said.error).map(|error| error.code);
    match (generation_of_server(asked, answer), code) {
        (Some(Generation::Legacy), _) => Verdict::Legacy,
        // All legacy servers support `initialize`.
        (Some(Generation::Modern), _) | (None, Some(error_code::METHOD_NOT_FOUND)) => {
            Verdict::Modern
        }
        // Any other result of `initialize` comes from a legacy server.
        (None, None) if asked == "initialize" => Verdict::Legacy,
        (None, _) => Verdict::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use spillgate_transport::{ConnectionError, Refusal};

    use super::*;

    fn key() -> RequestId {
        RequestId::number(1)
    }

    const CASES: [(&str, &str, Verdict); 12] = [
        (
            "initialize",
            r#""result":{"protocolVersion":"2025-11-25"}"#,
            Verdict::Legacy,
        ),
        ("initialize", r#""result":{}"#, Verdict::Legacy),
        (
            "initialize",
            r#""result":{"protocolVersion":"2026-07-28"}"#,
            Verdict::Modern,
        ),
        (
            "initialize",
            r#""error":{"code":-32601,"message":""}"#,
            Verdict::Modern,
        ),
        (
            "initialize",
            r#""error":{"code":-32022,"message":"","data":{"supported":["2026-07-28"]}}"#,
            Verdict::Modern,
        ),
        (
            "initialize",
            r#""error":{"code":-32022,"message":"","data":{"supported":["2025-06-18"]}}"#,
            Verdict::Legacy,
        ),
        (
            "initialize",
            r#""error":{"code":-32602,"message":""}"#,
            Verdict::Unclear,
        ),
        (
            "server/discover",
            r#""error":{"code":-32601,"message":""}"#,
            Verdict::Legacy,
        ),
        (
            "server/discover",
            r#""error":{"code":-32602,"message":""}"#,
            Verdict::Legacy,
        ),
        (
            "server/discover",
            r#""error":{"code":-32021,"message":""}"#,
            Verdict::Modern,
        ),
        (
            "server/discover",
            r#""result":{"supportedVersions":["2026-07-28"]}"#,
            Verdict::Modern,
        ),
        ("server/discover", r#""result":{}"#, Verdict::Unclear),
    ];

    #[test]
    fn answers() {
        for (asked, said, want) in CASES {
            let event = ServerEvent::message(spillgate_mcp::frame::answer(1, said));
            assert_eq!(verdict(asked, &key(), &event), Some(want), "{asked} {said}");
            assert_eq!(verdict(asked, &RequestId::number(2), &event), None);
        }
    }

    const MODERN: &str = r#"{"id":null,"error":{"code":-32020,"message":""}}"#;

    #[test]
    fn refusals() {
        let refused = |status, body: &'static str| ServerEvent {
            of: Some(key()),
            event: None,
            item: Item::Refused(Refusal {
                status,
                content_type: None,
                challenge: None,
                session_lost: false,
                body: body.into(),
                server: None,
            }),
        };
        let cases = [
            ("server/discover", 400, "Missing session", Verdict::Legacy),
            ("server/discover", 404, "", Verdict::Legacy),
            ("server/discover", 401, "", Verdict::Failed),
            ("server/discover", 503, "", Verdict::Failed),
            ("server/discover", 400, MODERN, Verdict::Modern),
            ("initialize", 400, MODERN, Verdict::Modern),
            ("initialize", 400, "", Verdict::Unclear),
        ];
        for (asked, status, body, want) in cases {
            let event = refused(status, body);
            assert_eq!(
                verdict(asked, &key(), &event),
                Some(want),
                "{asked} {status}"
            );
        }
        let failed = ServerEvent {
            item: Item::Failed(ConnectionError::Unreachable(String::new())),
            ..refused(0, "")
        };
        assert_eq!(
            verdict("initialize", &key(), &failed),
            Some(Verdict::Failed)
        );
    }
}
