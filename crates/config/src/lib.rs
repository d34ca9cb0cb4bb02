//! Configuration files as trees of values that know where they stand.
//!
//! [`yaml`] and [`json`] read a text into the same tree of [`Node`]s, with the line and
//! the column of each value and key.

pub mod json;
mod node;
pub mod yaml;

pub use node::{
    DEEPEST, MAX_FILE_BYTES, Malformed, Member, Node, Position, Text, What, camel, snake,
};
