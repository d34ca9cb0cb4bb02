//! A notation for conversations through a bridge.

#![allow(dead_code, reason = "not every test file needs all")]

use std::fmt::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use spillgate_bridge::{
    Bridge, Caller, ClientFrame, Config, DeclaredCapabilities, Limits, Step, TokenGenerator,
};
use spillgate_mcp::RequestId;
use spillgate_transport::{Frame, Item, Refusal, ServerEvent};

/// The `_meta` of a modern client that declares all capabilities.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{},"sampling":{}}}"#;

pub(crate) fn config() -> Config {
    let mut count = 0;
    Config {
        server: "files".to_owned(),
        ourselves: ("spillgate".to_owned(), "0".to_owned()),
        declare: DeclaredCapabilities::FirstRequest,
        streams: false,
        tokens: TokenGenerator::new(move || {
            count += 1;
            format!("state-{count}")
        }),
        limits: Limits::default(),
    }
}

/// A record of the messages that pass through a bridge. A line with input begins with `C` (client)
/// or `S` (server); a line with output begins with an arrow.
pub(crate) struct Talk {
    bridge: Bridge,
    now: Instant,
    from: Caller,
    pub(crate) said: String,
}

impl Talk {
    pub(crate) fn to_legacy(config: Config) -> Self {
        Self::new(Bridge::modern_client_legacy_server(config))
    }

    pub(crate) fn to_modern(config: Config) -> Self {
        Self::new(Bridge::legacy_client_modern_server(config))
    }

    fn new(bridge: Bridge) -> Self {
        Self {
            bridge,
            now: Instant::now(),
            from: Caller(0),
            said: String::new(),
        }
    }

    /// Sends all following frames as another client.
    pub(crate) fn of(&mut self, caller: u64) -> &mut Self {
        self.from = Caller(caller);
        self
    }

    /// Sends a frame as the client. `META` in the text is replaced by the constant.
    pub(crate) fn client(&mut self, frame: &str) -> &mut Self {
        writeln!(self.said, "C {frame}").unwrap();
        let frame = Bytes::from(frame.replace("META", META));
        let heard = ClientFrame {
            from: self.from,
            frame: &frame,
            headers: &[],
            now: self.now,
        };
        let steps = self.bridge.from_client(heard);
        self.note(&steps)
    }

    /// Sends a frame as the server.
    pub(crate) fn server(&mut self, frame: &str) -> &mut Self {
        self.server_on(None, frame)
    }

    /// Sends a frame as the server, on the stream of one of the bridge's requests.
    pub(crate) fn server_on(&mut self, of: Option<u64>, frame: &str) -> &mut Self {
        let on = of.map(|number| format!(" on {number}")).unwrap_or_default();
        writeln!(self.said, "S{on} {frame}").unwrap();
        let event =
            ServerEvent::message(Bytes::from(frame.to_owned())).of(of.map(RequestId::number));
        let steps = self.bridge.from_server(event, self.now);
        self.note(&steps)
    }

    /// Sends this event, which need not be a message, as the server.
    pub(crate) fn item(&mut self, of: Option<u64>, item: Item) -> &mut Self {
        writeln!(self.said, "S {item:?}").unwrap();
        let event = ServerEvent {
            of: of.map(RequestId::number),
            event: None,
            item,
        };
        let steps = self.bridge.from_server(event, self.now);
        self.note(&steps)
    }

    /// Refuses one of the bridge's requests at the HTTP level.
    pub(crate) fn refused(&mut self, of: u64, status: u16, body: &str) -> &mut Self {
        let refusal = Refusal {
            status,
            content_type: None,
            challenge: None,
            session_lost: false,
            server: None,
            body: Bytes::from(body.to_owned()),
        };
        self.item(Some(of), Item::Refused(refusal))
    }

    /// Closes the response stream of a client's request.
    pub(crate) fn abandoned(&mut self, key: u64) -> &mut Self {
        writeln!(self.said, "C closes {key}").unwrap();
        let steps = self.bridge.abandoned(self.from, &RequestId::number(key));
        self.note(&steps)
    }

    /// Disconnects the client.
    pub(crate) fn client_disconnected(&mut self) -> &mut Self {
        writeln!(self.said, "C leaves").unwrap();
        let steps = self.bridge.client_disconnected(self.from);
        self.note(&steps)
    }

    /// Lets time pass.
    pub(crate) fn later(&mut self, by: Duration) -> &mut Self {
        let due = self
            .bridge
            .deadline()
            .map(|at| at.saturating_duration_since(self.now));
        writeln!(self.said, "{by:?} pass, due in {due:?}").unwrap();
        self.now += by;
        let steps = self.bridge.tick(self.now);
        self.note(&steps)
    }

    /// Opens a session with a legacy server, and removes these steps from the record.
    pub(crate) fn opened(&mut self, capabilities: &str) -> &mut Self {
        self.client(r#"{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{META}}"#);
        self.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"2"}}}}}}"#));
        self.said.clear();
        self
    }

    /// Opens a session with a legacy client, and removes these steps from the record.
    pub(crate) fn initialized(&mut self, declared: &str, capabilities: &str) -> &mut Self {
        self.client(&format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{declared},"clientInfo":{{"name":"c","version":"1"}}}}}}"#));
        self.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private"}}}}"#));
        self.said.clear();
        self
    }

    fn note(&mut self, steps: &[Step]) -> &mut Self {
        for step in steps {
            let line = line(step).replace(META, "META");
            writeln!(self.said, "    {line}").unwrap();
        }
        self
    }
}

fn line(step: &Step) -> String {
    match step {
        Step::ToServer(message) => {
            let name = message.name.as_ref().map(|name| format!(" ({name})"));
            let text = String::from_utf8_lossy(&message.frame);
            format!("-> server{} {text}", name.unwrap_or_default())
        }
        Step::ToClient { to, event } => {
            let of = event
                .of
                .as_ref()
                .map(|key| format!(" on {}", key.as_json()));
            let of = of.unwrap_or_default();
            match &event.item {
                Item::Message(Frame::Memory(frame)) => {
                    format!("-> client {}{of} {}", to.0, String::from_utf8_lossy(frame))
                }
                item => format!("-> client {}{of} {item:?}", to.0),
            }
        }
        Step::Abandon(key) => format!("-> server: close the response to {}", key.as_json()),
        Step::Listen => "-> server: open the stream".to_owned(),
    }
}
