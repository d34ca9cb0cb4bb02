//! Runs jq filters over stored texts, in a child process.
//!
//! [`query`] runs a filter over an artifact and returns a page of its results. Filters and
//! documents are untrusted, so they are processed in a child process with limits on memory and
//! time, which can access only the stored bytes ([`Engine`], [`child_main`]). If a filter never
//! ends, a document has a million brackets, or a result has ten gigabytes, only the child process
//! is ended, and the error names the cause.

mod child;
mod engine;
mod error;
mod page;
mod protocol;
mod source;

pub use child::child_main;
#[doc(hidden)]
pub use child::unconfined;
pub use engine::{Child, Engine, QueryLimits};
pub use error::QueryError;
#[doc(hidden)]
pub use page::query_unconfined;
pub use page::{MissingPath, Query, QueryNext, QueryPage, query};
pub use protocol::REQUEST;
