//! What was done, in which order, and what did it cost?
//!
//! [`Op`] is what is known of an operation and those within it; [`Scope`] is where
//! operations are written down while they are done.

mod op;
mod scope;

pub use op::{Decided, Made, Op, OpKind, PREVIEW_BYTES, Sum};
pub use scope::{Scope, Span};
