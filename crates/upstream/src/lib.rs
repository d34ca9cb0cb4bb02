//! An MCP server behind us: opened when it is needed, opened and greeted again when it has
//! ended, and the requests that wait for its answers.
//!
//! Whoever uses servers is an [`Owner`]: the gateway's session, which has several of them and
//! a client, and the agent's client of one server. An [`Upstream`] is one server of an owner.
//! It tells its owner what the server sends ([`Owner::received`]) and which requests will get
//! no answer ([`Owner::unanswered`]): because the server has ended, could not be reached, lost
//! the session or was silent for too long ([`watch`]).
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

/// The tracing target of spans and of `info` lines. Collectors of traces select spans by it, and
/// people may filter logs by it.
pub const LOG_TARGET: &str = "spillgate_gateway";

pub use error::{RequestFailure, TOO_MUCH, error_frame, invalid_params, refused_answer};
pub use in_flight::{InFlight, InFlightRequest, RequestResult};
pub use owner::{GREETING, Owner};
pub use request_span::{
    Method, RequestMeter, RequestOutcome, RequestSpan, TracePropagator, call_span,
};
pub use server::{DEFAULT_TIMEOUT, Server, ToolFilter};
pub use upstream::{Slot, Upstream};
pub use watchdog::watch;
