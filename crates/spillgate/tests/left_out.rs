//! What a build answers for the parts that it does not contain. `cargo xtask features` runs these
//! tests; a build with features has nothing to answer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(not(any(
    feature = "agent",
    feature = "cl100k",
    feature = "login",
    feature = "pdf",
    feature = "references",
    feature = "serve",
    feature = "telemetry",
    feature = "templates",
    feature = "tools",
    feature = "ui"
)))]
#[path = "left_out/parts.rs"]
mod parts;
