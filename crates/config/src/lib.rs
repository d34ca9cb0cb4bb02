//! The one reader of configuration files.
//!
//! ```text
//! TOML, YAML, JSON ─► Node: values, and where they stand ─► Layers ─► read ─► a type, or Problems
//! ```
//!
//! [`toml`], [`yaml`] and [`json`] read a text into a tree; [`Layers`] puts trees of several
//! sources over one another; [`read()`] makes a type of a tree, or finds all that is wrong
//! with it. The crate that knows the file has the words for its problems.

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
