//! The command line as a user meets it: one binary of tests, a module a topic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod capture;
mod faults;
mod files;
mod gateway;
mod interface;
mod profiles;
mod query;
mod retrieval;
mod run;
mod shapes;
mod tool;
