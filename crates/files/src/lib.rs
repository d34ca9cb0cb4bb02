//! `Read` and `Grep` over texts under one root, as a model calls them.
//!
//! The tools of seed 001's read-grep child (wire.md): a name leads to one text and
//! never out of the root, pages are bounded by tokens, and every answer is one
//! text. [`Pinned`] is the one stored output that a child may see, [`Root`] a
//! directory.

mod arguments;
mod error;
mod file_cache;
mod grep;
mod name;
mod opened_file;
mod page;
mod pinned_file;
mod read;
mod regular_file;
mod root;
mod tools;

pub use arguments::{ArgumentError, Arguments};
pub use error::FileError;
pub use file_cache::{Identity, Known};
pub use opened_file::{Files, Opened};
pub use pinned_file::Pinned;
pub use regular_file::{FileSource, NotOpened, open_regular};
pub use root::Root;
pub use tools::{Answer, FileTools, Tool};
