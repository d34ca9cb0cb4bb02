//! `Read` and `Grep` over texts below one root, in the form in which a model calls them.
//!
//! The model that extracts an answer in the mode `read-grep` calls these tools
//! (docs/spec/texts.md, "Read and Grep"). A name refers to one text, which is never outside the
//! root. Every answer is one page of text with a bounded number of tokens. [`PinnedFile`] gives
//! access to a single stored output, [`Root`] to a directory.

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
