//! The types that all crates share: handles, manifests, spans, units.
//!
//! The crate contains plain data: ids, units and spans, descriptions of results and of their
//! origin, and manifests. It contains no I/O and no protocol. Its only dependencies serialise and
//! format this data.
//!
//! ```
//! use spillgate_artifact::{ByteRange, Handle};
//!
//! let handle: Handle =
//!     "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001".parse()?;
//! assert!("session-x/../../etc/passwd".parse::<Handle>().is_err());
//! assert_eq!("10..20".parse::<ByteRange>()?.len(), Some(10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file_name;
mod handle;
mod interrupt;
mod kind;
mod manifest;
mod origin;
mod principal;
mod source;
mod span;
mod time;
mod tokens;

pub use file_name::{FileName, FileNameError};
pub use handle::{FileId, Handle, HandleError, HandleForm, SessionId, Word};
pub use interrupt::{Interrupt, Interrupted, LOOKUP_TIMEOUT};
pub use kind::ContentKind;
pub use manifest::{
    Checks, Encryption, Facts, Layout, Manifest, Reason, Scheme, SecretFacts, Stats, ViewFacts,
};
pub use origin::{Ending, Origin, RawForm, TextPart, has_failed};
pub use principal::{Principal, PrincipalError};
pub use source::{ByteSource, Interruptible, ReadRange, SourceTruncated};
pub use span::{ByteRange, LineRange, SpanError};
pub use time::{Clock, SystemClock, Timestamp};
pub use tokens::{TokenBudget, Tokens};
