//! Traces of operations: what was done, in which order, at which cost.
//!
//! [`Op`] holds the facts of an operation and those within it; [`Scope`] records operations while
//! they run.

mod op;
mod scope;

pub use op::{Decided, Made, Op, OpKind, PREVIEW_BYTES, Sum};
pub use scope::{Scope, Span};
