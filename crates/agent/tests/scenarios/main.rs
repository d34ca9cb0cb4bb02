//! Scenarios of the earlier designs, with the real pipeline and a scripted model: each row says
//! what conversation results.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod batches;
mod cached;
mod endings;
mod journal;
mod limits;
mod paging;
mod results;
mod stage;
mod tools;
