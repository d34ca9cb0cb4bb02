//! The one reader of configuration files.
//!
//! ```text
//! TOML, YAML, JSON ─► Node: values, and where they stand ─► Layers ─► read ─► a type
//!                       └► expand: variables                            └► Problems
//! ```
//!
//! [`toml`], [`yaml`] and [`json`] read a text into a tree; [`Layers`] puts trees of several
//! [`Source`]s over one another; [`read()`] makes a type of a tree, or finds all that is wrong
//! with it. In which words that is told is for whoever knows the file.

mod expand;
pub mod json;
mod layers;
mod lines;
mod node;
mod problem;
mod read;
pub mod toml;
pub mod yaml;

pub use expand::{Expansion, Lookup, Part, Unset, expand};
pub use layers::{Layers, Source};
pub use node::{
    MAX_FILE_BYTES, Malformed, Member, Node, NodeKind, Number, Position, Text, camel, snake,
};
pub use problem::{Actual, Problem, ProblemKind, Step};
pub use read::{Naming, read};
