//! Tests of the server over real sockets. Behind it is a scripted gateway, in front of it are raw
//! HTTP clients or the client of the official SDK.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod auth;
mod connections;
mod crowd;
mod doors;
mod fake;
mod modern;
mod official;
mod page;
mod running;
mod sessions;
mod streams;
mod tenants;
