//! Tests of the server over real sockets, with a scripted gateway behind it and raw HTTP clients,
//! or the official SDK's, in front of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod auth;
mod connections;
mod crowd;
mod doors;
mod fake;
mod modern;
mod official;
mod running;
mod sessions;
mod streams;
