//! Tests outlines as a model sees them, and the properties that all outlines have.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod properties;
mod samples;
mod support;
