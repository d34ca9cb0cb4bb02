//! `Read` and `Grep` over texts under one root, as a model calls them.
//!
//! The tools of the read-grep child (docs/spec/texts.md, "Read and Grep"): a name
//! leads to one text and never out of the root, pages are bounded by tokens, and
//! every answer is one text. [`Pinned`] is the one stored output that a child may see, [`Root`] a
//! directory.

mod arguments;
mod error;
mod grep;
mod known;
mod name;
mod opened;
mod page;
mod pinned;
mod read;
mod regular;
mod root;
mod tools;

pub use arguments::{ArgumentError, Arguments};
pub use error::FileError;
pub use known::{Identity, Known};
pub use opened::{Files, Opened};
pub use pinned::Pinned;
pub use regular::{FileSource, NotOpened, open_regular};
pub use root::Root;
pub use tools::{Answer, FileTools, Tool};
