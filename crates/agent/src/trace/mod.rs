//! Records what a session does and adds it up.
//!
//! [`Journal`] holds the tree of operations while the session runs, [`Trace`] is the finished
//! document, [`Accounting`] adds it up.

mod accounting;
mod document;
mod journal;

pub use accounting::{Accounting, ModelUse, Part, Spent, ToolUse};
pub use document::{Setup, TRACE_VERSION, Trace};
pub use journal::{About, Journal};
