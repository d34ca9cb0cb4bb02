//! The tool result pipeline: decides whether a result fits, stores it if not, and renders what the
//! model sees instead (docs/spec/behaviour.md).
//!
//! ```text
//! intercept → sanitize → measure → decide → store → present      …later…      retrieve → account
//! ```
//!
//! [`Offloader`] is the entry point for authors of Rust agents: it takes a result and returns one
//! message.
//!
//! ```
//! use std::sync::Arc;
//!
//! use spillgate_artifact::{Origin, SystemClock};
//! use spillgate_text::Tokenizer;
//! use spillgate_offload::{Audience, NoLedger, Offloader, Outcome, Policy};
//! use spillgate_store::MemoryStore;
//!
//! let offloader = Offloader::new(
//!     Arc::new(MemoryStore::default()),
//!     Policy::default(),
//!     Tokenizer::O200kBase.counter(),
//!     Audience::default(),
//!     Arc::new(SystemClock),
//!     Arc::new(NoLedger),
//! );
//! let log = "2026-11-21T10:00:01Z INFO worker-17 processed a batch\n".repeat(10_000);
//! let outcome = offloader.stream(Origin::tool("journal"), &mut log.as_bytes(), &mut |_| {})?;
//! let Outcome::Offloaded(offloaded) = outcome else { panic!("550 KB do not fit") };
//! assert!(offloaded.shown.tokens() <= 600);
//! let stored = offloader.artifact(offloaded.receipt.handle())?;
//! assert_eq!(stored.raw().len(), log.len() as u64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call_ids;
mod capture;
mod encoded;
mod history;
mod ledger;
mod limits;
mod offloader;
mod pending;
mod pipeline;
mod policy;
mod present;
mod recovery;
mod redaction;
mod references;
mod rejection;
mod result_mode;
mod retrieve;
mod sanitize;
mod seen;
mod stored_secrets;
mod verify;

pub use capture::{Captured, Hashed, JsonResult};
pub use history::History;
pub use ledger::{Exit, FileLedger, Ledger, LedgerEntry, NoLedger, Spent};
pub use limits::{
    DEFAULT_BINARY_BYTES, DEFAULT_IMAGE_BYTES, DEFAULT_PREVIEW_TOKENS, LEAST_PREVIEW_TOKENS,
    Limits, Rule, ValueKind,
};
pub use offloader::Offloader;
pub use pending::{Fits, PendingResult};
pub use pipeline::{Choice, NotStored, Offloaded, Outcome};
pub use policy::Policy;
pub use present::{
    Audience, Bounds, ContinuationError, DEFAULT_MAX_BYTES, DEFAULT_MAX_TOKENS,
    DEFAULT_SLICE_CHARS, FUNNEL_CHARS, FUNNEL_LINES, FUNNEL_PROMPT, ObservationSummary,
    Presentation, Profile, Purpose, Quoting, REJECT_TOKENS, TemplateError, TemplateName, Templates,
    Way, middle_cut,
};
pub use recovery::{Entry, RECOVERY_TOKENS, Recovery, Structure, call};
pub use redaction::Redaction;
pub use references::{ByReference, DEFAULT_REFERENCE_BYTES};
pub use rejection::{Rejection, estimated_tokens};
pub use result_mode::{ResultMode, UnknownMode};
pub use retrieve::{CONTINUATION_TOOL, RetrieveError, continuation_schema, whole_number};
pub use spillgate_outline::grouped;
pub use stored_secrets::{StoredSecrets, Unstored};
pub use verify::{Checked, ChecksumError, Verified, verify};
