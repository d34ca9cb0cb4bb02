//! `tool_output`: what does a stored tool output say about something?
//!
//! ```text
//! handle, extract, mode
//!   → route      which strategy can answer?
//!   → strategy   full-chunked · read-grep · truncate · search
//!   → ground     are the quotes in the text, and where?
//!   → envelope   the answer as a model sees it
//! ```
//!
//! Seeds 000 and 001, with the corrections of SPEC section 3. A strategy that
//! cannot run ends in a truncation that says so; nothing is cut silently.

mod asked;
mod envelope;
mod extractor;
mod outcome;
#[allow(
    dead_code,
    reason = "the strategies that call it are written beside it"
)]
mod plan;
mod settings;
mod trace;
mod watch;

pub use asked::{Asked, Mode, UnknownMode};
pub use extractor::Extractor;
pub use outcome::{Citation, Coverage, Extraction, Match, Status, Strategy};
#[doc(hidden)]
pub use plan::plan_chunks;
pub use settings::Settings;
pub use trace::{Op, OpKind};
pub use watch::{NoWatch, Watch};
