//! What was done in a session, and what did it come to?
//!
//! [`Journal`] has the tree of operations while the session runs, [`Trace`] is that
//! as a document, [`Accounting`] what it adds up to.

mod accounting;
mod document;
mod journal;

pub use accounting::{Accounting, ModelUse, Part, Spent, ToolUse};
pub use document::{Setup, TRACE_VERSION, Trace};
pub use journal::{About, Journal};
