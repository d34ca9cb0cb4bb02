//! Parses configuration files and merges them.
//!
//! ```text
//! TOML, YAML, JSON ─► Node: values and their positions ─► Layers ─► read ─► a type, or Problems
//! ```
//!
//! [`toml`], [`yaml`] and [`json`] parse a text into a tree. [`Layers`] merges the trees of several
//! [`Source`]s. [`read()`] converts a tree into a type, or finds all problems in it. The crate that
//! defines the file formats the messages.

pub mod json;
mod layers;
mod lines;
mod node;
mod problem;
mod read;
pub mod toml;
pub mod yaml;

pub use layers::{LayerSource, Layers};
pub use node::{
    MAX_FILE_BYTES, Malformed, Member, Node, NodeKind, Number, Position, Text, camel, snake,
};
pub use problem::{Problem, ProblemKind, Step};
pub use read::{Naming, read};
