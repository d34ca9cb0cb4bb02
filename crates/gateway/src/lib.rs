//! An MCP proxy in front of one server.
//!
//! Frames pass byte for byte. Two things change: `tools/list` gains the
//! gateway's own tools, and the text of an oversized `tools/call` result
//! becomes a preview. Parsing into typed messages and printing them again would
//! lose unknown fields and respell numbers (deps.md), so only the envelope of a
//! frame is read, and changes are spliced into its bytes.
//!
//! ```text
//!            ┌──────────── relay ────────────┐
//! client ──▶ │ frame ─▶ tools? ──────▶ server│ ──▶ upstream
//! client ◀── │ splice ◀─ intercept ◀─ frame  │ ◀── upstream
//!            └───────────────────────────────┘
//! ```

mod answers;
mod calls;
mod capabilities;
mod catalogue;
mod error;
#[cfg(test)]
mod fixture;
mod gateway;
mod hub;
mod incoming;
mod intercept;
mod large;
mod listing;
mod own;
mod own_calls;
mod pending;
mod progress;
mod questions;
mod rest;
mod results;
mod roster;
mod session;
mod several;
mod shared;
mod spooled;
mod standard;
mod tools;
mod twins;
mod upstream;
mod watchdog;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::GatewayError;
pub use gateway::{DEFAULT_TIMEOUT, Gateway, Server, ToolFilter};
pub use hub::Hub;
pub use incoming::Incoming;
pub use own::{ListTools, own_tools};
pub use session::Session;
pub use standard::run;

/// Each change under these locks is one call, so a panic elsewhere leaves what
/// they guard whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
