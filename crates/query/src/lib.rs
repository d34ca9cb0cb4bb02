//! Runs jq filters over stored texts, in a child process.
//!
//! [`query`] runs a filter over an artifact and returns a page of its results. Filters and
//! documents come from outside, so they meet in a child process with limits on memory and time,
//! which sees the stored bytes and nothing else ([`Engine`], [`child_main`]). A filter that never
//! ends, a document of a million brackets or a result of ten gigabytes ends that process, with an
//! error that names the cause.

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
pub use page::{MissingPath, Query, QueryNext, QueryPage, query};
pub use protocol::REQUEST;
