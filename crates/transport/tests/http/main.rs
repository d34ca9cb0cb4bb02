//! Tests of connections to servers behind HTTP, against servers on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod broken;
mod legacy;
mod login;
mod modern;
mod oracle;
mod server;
mod sse;
mod streams;
