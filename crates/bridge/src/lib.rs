//! A client of one generation of MCP and a server of the other, brought
//! together without any I/O.
//!
//! A [`Bridge`] is told what came from either side and when, and says what to
//! do: pure steps, so that every conversation can be tested as a text. Frames
//! stay as they are but for what the other generation needs, which is spliced.
//!
//! ```text
//! client 2026-07-28 ──▶ Bridge::modern_client_legacy_server ──▶ server ≤ 2025-11-25
//! client ≤ 2025-11-25 ─▶ Bridge::legacy_client_modern_server ──▶ server 2026-07-28
//! ```
//!
//! Ids: a bridge numbers its requests to the server itself and gives each answer
//! the id that the client had, as it was spelled.

mod config;
mod json;
mod large;
mod names;
mod question;
mod steps;
mod to_legacy;
mod to_modern;
mod version;
mod words;

use std::time::Instant;

use bytes::Bytes;
use spillgate_wire::{Frame, Key, Message, Parcel};

pub use config::{Caller, Config, Declare, Heard, Limits, Tokens};
pub use version::{Era, Version, era_of_client, era_of_server};

/// What is to be done.
#[derive(Debug)]
pub enum Step {
    /// Send this to the server.
    ToServer(Message),
    /// Give this to a client.
    ToClient {
        /// To which.
        to: Caller,
        /// What, with the client's request on whose stream it belongs.
        parcel: Parcel,
    },
    /// Nobody waits for this request to the server any more: close its response
    /// stream (`Link::abandon`).
    Abandon(Key),
    /// Open the stream for what belongs to no request (`Link::listen`).
    Listen,
}

/// The state of a connection whose two ends speak different generations.
#[derive(Debug)]
pub struct Bridge(Way);

#[derive(Debug)]
enum Way {
    ToLegacy(Box<to_legacy::ToLegacy>),
    ToModern(Box<to_modern::ToModern>),
}

impl Bridge {
    /// Between clients that speak 2026-07-28 and a server that speaks 2025-11-25
    /// or older.
    #[must_use]
    pub fn modern_client_legacy_server(config: Config) -> Self {
        Self(Way::ToLegacy(Box::new(to_legacy::ToLegacy::new(config))))
    }

    /// Between one client that speaks 2025-11-25 or older and a server that
    /// speaks 2026-07-28.
    #[must_use]
    pub fn legacy_client_modern_server(config: Config) -> Self {
        Self(Way::ToModern(Box::new(to_modern::ToModern::new(config))))
    }

    /// Takes a frame from a client.
    #[must_use]
    pub fn from_client(&mut self, heard: Heard<'_>) -> Vec<Step> {
        match &mut self.0 {
            Way::ToLegacy(way) => way.client_said(heard),
            Way::ToModern(way) => way.client_said(heard),
        }
    }

    /// Takes what came from the server.
    #[must_use]
    pub fn from_server(&mut self, parcel: Parcel, now: Instant) -> Vec<Step> {
        match &mut self.0 {
            Way::ToLegacy(way) => way.server_said(parcel, now),
            Way::ToModern(way) => way.server_said(parcel, now),
        }
    }

    /// The client closed the response stream of one of its requests: in 2026-07-28
    /// a cancellation.
    #[must_use]
    pub fn abandoned(&mut self, by: Caller, request: &Key) -> Vec<Step> {
        match &mut self.0 {
            Way::ToLegacy(way) => way.abandoned(by, request),
            Way::ToModern(way) => way.abandoned(request),
        }
    }

    /// A client is gone: cancels what it waits for. What it was asked stays open
    /// until its time is over, for it may come back on another connection.
    #[must_use]
    pub fn left(&mut self, caller: Caller) -> Vec<Step> {
        match &mut self.0 {
            Way::ToLegacy(way) => way.left(caller),
            Way::ToModern(way) => way.left(),
        }
    }

    /// When [`Bridge::tick`] has something to do next, if ever.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match &self.0 {
            Way::ToLegacy(way) => way.deadline(),
            Way::ToModern(way) => way.deadline(),
        }
    }

    /// Does what is due by now.
    #[must_use]
    pub fn tick(&mut self, now: Instant) -> Vec<Step> {
        match &mut self.0 {
            Way::ToLegacy(way) => way.tick(now),
            Way::ToModern(way) => way.tick(now),
        }
    }
}

/// The bytes of a frame that came from the server, and is in memory.
fn in_memory(frame: &Frame) -> Bytes {
    frame.in_memory().cloned().unwrap_or_default()
}
