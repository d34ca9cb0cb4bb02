//! An HTTP client for both generations of the protocol that checks its replies.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::RequestBuilder;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

/// A reply that takes longer counts as lost.
const LOST_AFTER: Duration = Duration::from_mins(1);

/// Maximum length of a message that replaces a result, in characters: hosts cut longer messages.
const MESSAGE_MAX: usize = 12_000;

/// Results of up to this many bytes are never replaced.
const INLINE: usize = 1_000;

/// The generation of the protocol that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25: `initialize`, then a session.
    Sessions,
    /// 2026-07-28: every request is self-contained.
    Stateless,
}

/// Where the tool puts its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The tool puts its output into a text block.
    Text,
    /// The tool puts its output into `structuredContent`.
    Structured,
}

/// A connection to one server.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    era: Era,
    session: Option<String>,
    id: u64,
}

/// The result of a call, and the message that contained it, byte for byte.
pub(crate) struct Reply {
    result: Value,
    message: String,
}

impl Client {
    /// Connects and, with sessions, initializes.
    pub(crate) async fn begin(url: &str, era: Era) -> Result<Self> {
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(no_tls()?)
            .no_proxy()
            .timeout(LOST_AFTER)
            .build()?;
        let mut client = Self {
            http,
            url: url.to_owned(),
            era,
            session: None,
            id: 0,
        };
        if era == Era::Sessions {
            client.initialize().await?;
        }
        Ok(client)
    }

    async fn initialize(&mut self) -> Result<()> {
        let client = json!({"name": "load", "version": "0"});
        let parameters =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let request =
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters});
        let response = self.post().body(request.to_string()).send().await?;
        let session = response.headers().get("mcp-session-id");
        let session = session.context("there is no session")?.to_str()?.to_owned();
        self.session = Some(session);
        message(response, 0).await?;
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = self.post().body(told.to_string()).send().await?;
        response.error_for_status()?;
        Ok(())
    }

    /// Calls the fixture server's tool, which returns this many bytes that contain `tag`.
    pub(crate) async fn call(&mut self, kind: Kind, tag: &str, bytes: usize) -> Result<Reply> {
        self.id += 1;
        let name = match kind {
            Kind::Text => "big",
            Kind::Structured => "structured",
        };
        let mut parameters = json!({"name": name, "arguments": {"tag": tag, "bytes": bytes}});
        let mut post = self.post();
        if self.era == Era::Stateless {
            parameters["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            post = post
                .header("mcp-method", "tools/call")
                .header("mcp-name", name);
        }
        let request =
            json!({"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": parameters});
        let response = post.body(request.to_string()).send().await?;
        let (mut message, text) = message(response, self.id).await?;
        ensure!(message["error"].is_null(), "an error: {}", message["error"]);
        Ok(Reply {
            result: message["result"].take(),
            message: text,
        })
    }

    fn post(&self) -> RequestBuilder {
        let version = match self.era {
            Era::Sessions => "2025-11-25",
            Era::Stateless => "2026-07-28",
        };
        let mut post = self.http.post(&self.url);
        post = post.header(CONTENT_TYPE, "application/json");
        post = post.header(ACCEPT, "application/json, text/event-stream");
        post = post.header("mcp-protocol-version", version);
        match &self.session {
            Some(session) => post.header("mcp-session-id", session),
            None => post,
        }
    }
}

/// Returns the message with `id` in a response, in its body or in one of its events. It must be the
/// only answer there.
async fn message(response: reqwest::Response, id: u64) -> Result<(Value, String)> {
    let status = response.status();
    let body = response.text().await?;
    ensure!(status.is_success(), "status {status}: {body:.200}");
    // A JSON message contains no line break, so an event's data is one line.
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let messages: Vec<&str> = match body.starts_with('{') {
        true => vec![&body],
        false => events
            .map(str::trim)
            .filter(|data| !data.is_empty())
            .collect(),
    };
    let mut found = None;
    for text in messages {
        let message: Value = serde_json::from_str(text)?;
        if message["id"].is_null() {
            continue;
        }
        ensure!(
            message["id"] == id,
            "a reply to somebody's {} came for {id}",
            message["id"]
        );
        ensure!(found.is_none(), "two replies to {id}");
        found = Some((message, text.to_owned()));
    }
    found.with_context(|| format!("no reply to {id} among {} bytes", body.len()))
}

impl Reply {
    /// Checks that this reply is the requested result, or a message that replaces it; returns the
    /// number of bytes.
    pub(crate) fn check(&self, kind: Kind, tag: &str, bytes: usize) -> Result<usize> {
        let text = self.result["content"][0]["text"]
            .as_str()
            .context("no text")?;
        let whole = filled(tag, bytes);
        let is_whole = match kind {
            Kind::Text => text == whole,
            Kind::Structured => {
                let lines = self.result["structuredContent"]["lines"].as_array();
                lines.is_some_and(|lines| {
                    lines
                        .iter()
                        .map(|line| line.as_str())
                        .eq(whole.lines().map(Some))
                })
            }
        };
        let shown = self.result.to_string();
        if is_whole {
            return Ok(shown.len());
        }
        ensure!(bytes > INLINE, "a small result was changed: {shown:.300}");
        ensure!(
            shown.len() <= 2 * MESSAGE_MAX,
            "{} bytes that are not the result",
            shown.len()
        );
        // The message must contain the tag of this call and no other tag. A cut line may end within
        // the tag.
        let tags = shown.match_indices("client").map(|(at, _)| {
            let rest = &shown[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
            &rest[..end.unwrap_or(rest.len())]
        });
        let tags: Vec<&str> = tags.collect();
        ensure!(
            tags.contains(&tag) && tags.iter().all(|found| tag.starts_with(found)),
            "somebody else's: {shown:.300}"
        );
        self.handle().context("it says no handle")?;
        Ok(shown.len())
    }

    /// Returns the handle of the stored result, if the result was replaced.
    pub(crate) fn handle(&self) -> Option<&str> {
        let text = self.result["content"][0]["text"].as_str()?;
        let (_, rest) = text.split_once("stored whole as ")?;
        rest.split(char::is_whitespace).next()
    }

    /// Returns whether `stored`, which was read back from the store, is the whole result in this
    /// message, which came from the server directly: at least `bytes` long, and a part of the
    /// message.
    pub(crate) fn is_of(&self, stored: &str, bytes: usize) -> bool {
        stored.len() >= bytes && self.message.contains(stored)
    }
}

/// Returns the text that the fixture server generates for `tag` and `bytes`.
fn filled(tag: &str, bytes: usize) -> String {
    let mut filled = String::with_capacity(bytes + 64);
    for line in 0_u64.. {
        if filled.len() >= bytes {
            break;
        }
        filled += &format!("{tag} line {line:08} of a long result\n");
    }
    filled.truncate(bytes);
    filled
}

/// The client library requires a TLS configuration even for plain HTTP.
fn no_tls() -> Result<rustls::ClientConfig> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions()?;
    Ok(config
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth())
}
