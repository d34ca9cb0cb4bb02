//! The gateway between a client and servers that are functions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod ended;
mod ends;
mod eras;
mod fake;
mod fanout;
mod large;
mod links;
mod odd;
mod seen;
mod several;
mod shared;
mod slow;
mod unreadable;
