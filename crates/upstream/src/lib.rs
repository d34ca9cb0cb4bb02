//! Uses an MCP server: connects to it when needed, reconnects and repeats the greeting (the
//! client's `initialize`) after the server has ended, and tracks the requests that wait for its
//! answers.
//!
//! The code that uses servers implements [`Owner`]. There are two owners: the gateway's session,
//! which has several servers and a client, and the agent's client of one server. An [`Upstream`] is
//! one server of an owner. It reports to its owner what the server sends ([`Owner::received`]) and
//! which requests will get no answer ([`Owner::unanswered`]). A request gets no answer if the
//! server has ended, could not be reached, lost the session or was silent for too long ([`watch`]).
//!
//! ```text
//! Owner ──▶ Upstream::pass ──▶ (opened, greeted) ──▶ Connection ──▶ server
//! Owner ◀── received, unanswered ◀── Upstream ◀───── Sink ◀──────── server
//! ```

mod error;
mod in_flight;
mod inbox;
mod owner;
mod request_span;
mod server;
mod upstream;
mod watchdog;

/// The tracing target of spans and of `info` lines. Trace collectors and log filters select by this
/// name.
pub const LOG_TARGET: &str = "spillgate_gateway";

pub use error::{RequestFailure, TOO_MUCH, error_frame, invalid_params, refused_answer};
pub use in_flight::{InFlight, InFlightRequest, RequestResult};
pub use owner::{GREETING, Owner};
pub use request_span::{
    Method, RequestMeter, RequestOutcome, RequestSpan, Target, TracePropagator, call_span,
};
pub use server::{DEFAULT_TIMEOUT, Server, ToolFilter};
pub use upstream::{Slot, Upstream};
pub use watchdog::watch;
