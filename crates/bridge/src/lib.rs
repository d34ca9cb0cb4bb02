//! Connects clients of one generation of MCP with servers of the other.
//!
//! A [`Bridge`] is a state machine without I/O. Its caller passes in what arrives from either side
//! and when, and the bridge returns the steps to take. Every conversation can therefore be tested
//! as text. Frames stay unchanged except for the edits that the other generation requires.
//! [`BridgedConnector`] does the I/O: it finds out which generation a server speaks, and uses a
//! bridge if needed. [`SharedServers`] lets the requests of many clients share one server process.
//!
//! ```text
//! client 2026-07-28 ──▶ Bridge::modern_client_legacy_server ──▶ server ≤ 2025-11-25
//! client ≤ 2025-11-25 ─▶ Bridge::legacy_client_modern_server ──▶ server 2026-07-28
//! ```
//!
//! A bridge assigns its own numbers to its requests to the server. Each answer gets the client's id
//! back, exactly as the client spelled it.

mod bridged_connector;
mod bridging;
mod config;
mod generations;
mod json;
mod large_message;
mod names;
mod negotiation;
mod question;
mod refusal;
mod running_bridge;
mod shared;
mod steps;
mod to_legacy;
mod to_modern;
mod translation;

use std::time::Instant;

use spillgate_mcp::RequestId;
use spillgate_transport::{Message, ServerEvent};

use self::steps::Steps;
use self::translation::Translation;

pub use bridged_connector::BridgedConnector;
pub use bridging::{BridgeObserver, Bridging};
pub use config::{Caller, ClientFrame, Config, DeclaredCapabilities, Limits, TokenGenerator};
pub use generations::KnownGenerations;
pub use shared::SharedServers;

/// A step that the caller of a bridge must take.
#[derive(Debug)]
pub enum Step {
    /// Send this message to the server.
    ToServer(Message),
    /// Deliver this event to a client.
    ToClient {
        /// The client.
        to: Caller,
        /// The event, with the client's request to whose stream it belongs.
        event: ServerEvent,
    },
    /// Stop waiting for this request to the server, because no client needs its answer: close its
    /// response stream (`Connection::abandon`).
    Abandon(RequestId),
    /// Open the stream for messages that belong to no request (`Connection::listen`).
    Listen,
}

/// The state of a connection whose ends speak different generations.
#[derive(Debug)]
pub struct Bridge(Box<dyn Translation + Send>);

impl Bridge {
    /// Creates a bridge between clients that speak 2026-07-28 and a server that speaks 2025-11-25
    /// or older.
    #[must_use]
    pub fn modern_client_legacy_server(config: Config) -> Self {
        Self(Box::new(to_legacy::ToLegacy::new(config)))
    }

    /// Creates a bridge between one client that speaks 2025-11-25 or older and a server that speaks
    /// 2026-07-28.
    #[must_use]
    pub fn legacy_client_modern_server(config: Config) -> Self {
        Self(Box::new(to_modern::ToModern::new(config)))
    }

    /// Handles a frame from a client. Returns the steps to take.
    #[must_use]
    pub fn from_client(&mut self, received: ClientFrame<'_>) -> Vec<Step> {
        let mut steps = Steps::default();
        translation::from_client(&mut *self.0, received, &mut steps);
        steps.0
    }

    /// Handles an event from the server. Returns the steps to take.
    #[must_use]
    pub fn from_server(&mut self, event: ServerEvent, now: Instant) -> Vec<Step> {
        let mut steps = Steps::default();
        translation::from_server(&mut *self.0, event, now, &mut steps);
        steps.0
    }

    /// Called when a client closed the response stream of its request, which cancels the request in
    /// 2026-07-28.
    #[must_use]
    pub fn abandoned(&mut self, by: Caller, request: &RequestId) -> Vec<Step> {
        let mut steps = Steps::default();
        self.0.abandoned(by, request, &mut steps);
        steps.0
    }

    /// Called when a client disconnected. Cancels the requests that the client waits for. Questions
    /// to the client stay open until they time out, because the client may return on another
    /// connection.
    #[must_use]
    pub fn client_disconnected(&mut self, caller: Caller) -> Vec<Step> {
        let mut steps = Steps::default();
        self.0.client_disconnected(caller, &mut steps);
        steps.0
    }

    /// Returns when [`Bridge::tick`] must be called next; `None` if no time limit is running.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    /// Performs everything that is due at `now`, and returns the steps to take.
    #[must_use]
    pub fn tick(&mut self, now: Instant) -> Vec<Step> {
        let mut steps = Steps::default();
        self.0.tick(now, &mut steps);
        steps.0
    }
}
