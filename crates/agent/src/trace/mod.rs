//! Records what a session does and computes its totals.
//!
//! [`Journal`] holds the tree of operations while the session runs, [`Trace`] is the finished
//! document, and [`Accounting`] contains the totals.

mod accounting;
mod document;
mod journal;

pub use accounting::{Accounting, ModelUse, Part, Spent, ToolUse};
pub use document::{Setup, TRACE_VERSION, Trace};
pub use journal::{About, Journal};
