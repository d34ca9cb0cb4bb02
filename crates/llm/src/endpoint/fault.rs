//! Classifies the failures of providers.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::ErrorKind;

/// Why there is no reply. The target is added later, and the message may still contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Fault {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Returns the fault of an answer that does not follow the protocol.
    pub(super) fn bad_reply(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadReply, what)
    }

    /// Returns the fault of an answer with an error status.
    pub(super) fn of_status(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let details = serde_json::from_slice::<Value>(body).map_or_else(
            |_| ErrorDetails {
                message: String::from_utf8_lossy(body).trim().to_owned(),
                ..ErrorDetails::default()
            },
            |body| ErrorDetails::of(&body),
        );
        let message = match &details.message {
            _ if (300..400).contains(&status) => {
                format!("HTTP {status}: the server points elsewhere; redirects are not followed")
            }
            none if none.is_empty() => format!("HTTP {status}"),
            message => format!("HTTP {status}: {message}"),
        };
        let mut fault = Self::new(details.kind(status), message);
        fault.retry_after = retry_after(headers);
        fault
    }

    /// Returns the fault of an error object in an answer with a success status or within a stream.
    pub(super) fn of_error(error: &Value) -> Self {
        let details = ErrorDetails::of(error);
        let kind = details.kind(details.status());
        let message = match &details.message {
            none if none.is_empty() => error.to_string(),
            message => message.clone(),
        };
        Self::new(kind, format!("the provider reported an error: {message}"))
    }
}

/// What a provider says about an error.
#[derive(Debug, Default)]
struct ErrorDetails {
    message: String,
    /// The machine-readable values: code, type and status.
    codes: Vec<String>,
}

impl ErrorDetails {
    /// Reads the usual formats: `{"error": {"message", "type", "code"}}` (OpenAI, Anthropic,
    /// llama.cpp, and Google, which puts it into a list), `{"error": "…"}` (Ollama), `{"message"}`
    /// (vLLM, Mistral), `{"detail"}` (FastAPI).
    fn of(body: &Value) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").unwrap_or(body);
        let message = match error {
            Value::String(text) => text.clone(),
            error => ["message", "detail", "error"]
                .iter()
                .find_map(|name| error.get(name))
                .map_or_else(String::new, |value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                }),
        };
        let codes = ["code", "type", "status"].iter().filter_map(|name| {
            error.get(name).map(|value| match value {
                Value::String(text) => text.to_lowercase(),
                other => other.to_string(),
            })
        });
        Self {
            codes: codes.collect(),
            message,
        }
    }

    fn has(&self, code: &str) -> bool {
        self.codes.iter().any(|own| own == code)
    }

    /// Returns the HTTP status that the codes stand for.
    fn status(&self) -> u16 {
        let named = self.codes.iter().find_map(|code| {
            Some(match code.as_str() {
                "authentication_error" | "permission_error" | "invalid_api_key" => 401,
                "rate_limit_error" | "rate_limit_exceeded" => 429,
                "invalid_request_error" | "not_found_error" => 400,
                "request_too_large" => 413,
                _ => code.parse().ok().filter(|code| (400..600).contains(code))?,
            })
        });
        named.unwrap_or(500)
    }

    fn kind(&self, status: u16) -> ErrorKind {
        match status {
            401..=403 => ErrorKind::Auth,
            _ if self.is_too_long() => ErrorKind::ContextLength,
            429 if self.has("insufficient_quota") => ErrorKind::Auth,
            // A single request has more tokens than are allowed per minute, so waiting does not
            // help.
            429 if self.message.to_lowercase().contains("request too large") => {
                ErrorKind::ContextLength
            }
            429 => ErrorKind::RateLimited,
            408 => ErrorKind::Timeout,
            413 => ErrorKind::ContextLength,
            409 | 425 | 500.. => ErrorKind::Provider,
            _ => ErrorKind::BadRequest,
        }
    }

    /// Returns whether the error says that the request is longer than the model's context.
    fn is_too_long(&self) -> bool {
        let codes = ["context_length_exceeded", "exceed_context_size_error"];
        let message = self.message.to_lowercase();
        codes.iter().any(|code| self.has(code))
            || TOO_LONG.iter().any(|parts| {
                let mut rest = message.as_str();
                parts.iter().all(|part| {
                    let found = rest.find(part).map(|at| &rest[at + part.len()..]);
                    found.inspect(|after| rest = after).is_some()
                })
            })
    }
}

/// Phrases with which servers say that a request is too long. All parts of an entry must occur, in
/// this order.
const TOO_LONG: [&[&str]; 16] = [
    // OpenAI, DeepSeek, vLLM, OpenRouter, Mistral
    &["maximum context length"],
    &["exceeds the context window"],
    &["input tokens exceed"],
    // Anthropic
    &["prompt is too long"],
    &["input length and `max_tokens` exceed context limit"],
    // llama.cpp and its Python server
    &["exceeds the available context size"],
    &["context size has been exceeded"],
    &["exceed context window"],
    // vLLM, older wording
    &["longer than the maximum model length"],
    // Ollama
    &["exceeds", "context length"],
    &["longer than the context length"],
    // Google
    &["input token count", "exceeds the maximum"],
    // Groq
    &["reduce the length of the messages"],
    // Text Generation Inference, Together
    &["`inputs` tokens + `max_new_tokens` must be"],
    &["inputs tokens + max_new_tokens must be"],
    // Bedrock behind a gateway
    &["input is too long for requested model"],
];

/// Returns how long a provider asks to wait. It says so in `retry-after-ms`, or in `retry-after` as
/// seconds or a date. A date is compared with the date in the same answer, so our clock need not
/// agree with the server's.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let seconds = |text: &str| {
        let seconds = text.trim().parse::<f64>().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    };
    if let Some(ms) = text("retry-after-ms").and_then(seconds) {
        return Some(ms / 1000);
    }
    let asked = text(RETRY_AFTER.as_str())?;
    seconds(asked).or_else(|| {
        let until = httpdate::parse_http_date(asked).ok()?;
        let now = httpdate::parse_http_date(text(DATE.as_str())?).ok()?;
        Some(until.duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::ErrorKind::{Auth, BadRequest, ContextLength, Provider, RateLimited, Timeout};

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    const ANSWERS: [(u16, &str, ErrorKind); 14] = [
        (
            401,
            r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            Auth,
        ),
        (403, "<html>no</html>", Auth),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#, Auth),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            Auth,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#,
            RateLimited,
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000."}}"#,
            ContextLength,
        ),
        (500, "", Provider),
        (
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            Provider,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Provider,
        ),
        (408, "", Timeout),
        (
            404,
            r#"{"error":{"message":"model 'x' not found","type":"api_error"}}"#,
            BadRequest,
        ),
        (
            400,
            r#"{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens"}}"#,
            BadRequest,
        ),
        (
            422,
            r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
            BadRequest,
        ),
        (302, "", BadRequest),
    ];

    #[test]
    fn answers_have_a_kind() {
        for (status, body, kind) in ANSWERS {
            let fault = Fault::of_status(status, &HeaderMap::new(), body.as_bytes());
            assert_eq!(fault.kind, kind, "{status} {body}");
        }
    }

    const TOO_LONG_ANSWERS: [(u16, &str); 16] = [
        // OpenAI
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model.","code":null}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens."}}"#,
        ),
        // Anthropic
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        ),
        // llama.cpp, several versions
        (
            400,
            r#"{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390}}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
        ),
        (
            500,
            r#"{"error":{"message":"Requested tokens (2285) exceed context window of 2048"}}"#,
        ),
        // vLLM
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096."}"#,
        ),
        // Ollama, LM Studio
        (
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
        ),
        (
            500,
            r#"{"error":{"message":"input exceeds maximum context length"}}"#,
        ),
        (
            400,
            r#"{"error":"Input length 6491 exceeds context length 1500"}"#,
        ),
        // Google
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        ),
    ];

    #[test]
    fn too_long_a_request_is_known_in_every_servers_words() {
        for (status, body) in TOO_LONG_ANSWERS {
            let fault = Fault::of_status(status, &HeaderMap::new(), body.as_bytes());
            assert_eq!(fault.kind, ErrorKind::ContextLength, "{status} {body}");
        }
    }

    #[test]
    fn errors_inside_of_an_answer_have_a_kind() {
        let cases = [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                ErrorKind::Provider,
            ),
            (
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"slower"}}"#,
                ErrorKind::RateLimited,
            ),
            (
                r#"{"error":{"code":401,"message":"No auth"}}"#,
                ErrorKind::Auth,
            ),
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                ErrorKind::ContextLength,
            ),
            (
                r#"{"error":{"message":"bad schema","type":"invalid_request_error"}}"#,
                ErrorKind::BadRequest,
            ),
            (r#"{"error":{"message":"?"}}"#, ErrorKind::Provider),
        ];
        for (error, kind) in cases {
            let error: Value = serde_json::from_str(error).unwrap();
            assert_eq!(Fault::of_error(&error).kind, kind, "{error}");
        }
    }

    #[test]
    fn the_time_to_wait_is_read_in_every_form() {
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let cases = [
            (vec![("retry-after", "7")], Some(7_000)),
            (vec![("retry-after", "1.5")], Some(1_500)),
            (
                vec![("retry-after", "7"), ("retry-after-ms", "250")],
                Some(250),
            ),
            (
                vec![("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"), date],
                Some(30_000),
            ),
            (
                vec![("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT"), date],
                Some(0),
            ),
            (vec![("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")], None),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "1e300")], None),
            (vec![], None),
        ];
        for (given, wait) in cases {
            let wait = wait.map(Duration::from_millis);
            assert_eq!(retry_after(&headers(&given)), wait, "{given:?}");
        }
    }
}
