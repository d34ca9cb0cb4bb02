//! Scenarios from the systems that Spillgate's profiles reproduce, run with the real pipeline and a
//! scripted model. Each row of a scenario states the conversation that must result.

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
