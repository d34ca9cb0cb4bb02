//! The guarded tools as a client calls them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod web;
