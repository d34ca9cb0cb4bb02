//! Records operations: what was done, in which order, and at which cost.
//!
//! [`Op`] contains the facts of an operation and of the operations within it. [`Scope`] records
//! operations while they run.

mod op;
mod record;
mod scope;

pub use op::{Decided, Made, Op, OpKind, PREVIEW_BYTES, Sum, preview};
pub use record::{ExtractionRecord, OutcomeRecord, TraceKeeper};
pub use scope::{Scope, Span};
