//! Outlines as a model sees them, and what is promised of all.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod properties;
mod samples;
mod support;
