//! The gateway between a client and servers that are functions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod aggregate;
mod ended;
mod ends;
mod eras;
mod fake;
mod fanout;
mod large;
mod links;
mod odd;
mod request_span;
mod shared;
mod slow;
mod unreadable;
