//! Serves Streamable HTTP to many clients, in front of the gateway.
//!
//! A POST contains messages, and its response is the stream of all messages that belong to them. A
//! GET opens the stream for all other messages. Legacy clients (2025-11-25 and older) have a
//! session; modern clients (2026-07-28) do not. Frames are passed on as bytes; only their envelopes
//! are parsed. The routes of the API for programs (`spillgate_http_api`) pass the same checks.
//!
//! ```text
//!            guard ─▶ auth ─▶ endpoint ─────────────────────────────────────────────▶ Peer
//! client ──▶ Host     token   generation, headers, session                             │ gateway
//! client ◀── OpenStream ◀─ StreamReceiver ◀═ StreamSender ◀─ ClientStreams (Sink) ◀────┘
//! ```

mod api;
mod auth;
mod backend;
mod client_streams;
mod endpoint;
mod error;
mod frame;
mod generation;
mod guard;
mod health;
mod limits;
mod media;
mod names;
mod page;
mod post_body;
mod problem;
mod readiness;
mod reply;
mod serve;
mod server;
mod sessions;
mod settings;
mod sse;
mod stream_channel;
mod stream_router;
mod tenants;

pub use auth::ValidTokens;
pub use backend::{Backend, Peer};
pub use error::HttpServerError;
pub use health::Health;
pub use readiness::{NotReady, Readiness};
pub use server::HttpServer;
pub use settings::{Algorithm, Auth, HttpServerSettings, OAuth, Rate, RateBy, Token, TokenError};
pub use tenants::{DoorLimits, Doors, Tenants, Unopened};
