//! `Read` and `Grep` over texts under one root, as a model calls them.
//!
//! The tools of the read-grep child (docs/spec/texts.md, "Read and Grep"): a name
//! leads to one text and never out of the root, pages are bounded by tokens, and
//! every answer is one text. [`PinnedFile`] is the one stored output that a child may see, [`Root`] a
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
pub use file_cache::{FileCache, Identity};
pub use opened_file::{Files, OpenedFile};
pub use pinned_file::PinnedFile;
pub use regular_file::{FileSource, OpenError, open_regular};
pub use root::Root;
pub use tools::{FileToolResult, FileTools, Tool};
