//! An MCP proxy in front of one server or several.
//!
//! Frames pass byte for byte. What changes is spliced: greetings and lists gain
//! what the gateway serves itself, oversized results become previews and links,
//! and arguments by reference become what they refer to. Parsing into typed
//! messages and printing them again would lose unknown fields and respell numbers
//! (deps.md), so only the envelope of a frame is read.
//!
//! ```text
//! client ──▶ Session ─▶ ours? ─▶ several ─▶ Upstream ─▶ Bridged? ─▶ Connection ──▶ server
//! client ◀── Sink ◀─── rewrite ◀── answers ◀──────────── Sink ◀────────────── server
//! ```

mod aggregate;
mod answers;
mod arguments;
mod attempts;
mod binary;
mod blocks;
mod bridging;
mod builtin_calls;
mod builtin_tools;
mod calls;
mod canonical;
mod capabilities;
mod catalogue;
mod duplicate_text;
mod error;
#[cfg(test)]
mod fixture;
mod gateway;
mod holes;
mod hub;
mod in_flight;
mod incoming;
mod intercept;
mod listing;
mod malformed;
mod meter;
mod metrics;
mod notes;
mod place;
mod progress;
mod questions;
mod references;
mod request_span;
mod resources;
mod restart_backoff;
mod results;
mod rewrite;
mod session;
mod shared;
mod shown;
mod shows;
mod spooled;
mod standard;
mod tasks;
mod tool_access;
mod upstream;
mod upstream_set;
mod uri;
mod watchdog;
mod watched;
mod widening;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use blocks::Base64;
pub use builtin_tools::{ListTools, own_tools};
pub use duplicate_text::is_twin;
pub use error::GatewayError;
pub use gateway::{Bridging, DEFAULT_TIMEOUT, Gateway, Prefix, Server, Several, ToolFilter};
pub use hub::Hub;
pub use incoming::Incoming;
pub use metrics::{Metrics, ServerState};
pub use place::Place;
pub use request_span::Traces;
pub use session::Session;
pub use standard::{Signals, run};

/// Each change under these locks is one call, so a panic elsewhere leaves what
/// they guard whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
