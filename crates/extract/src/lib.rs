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
#[allow(dead_code, reason = "the strategies are to call it")]
mod ground;
#[allow(dead_code, reason = "the strategies are to call it")]
mod mask;
#[allow(dead_code, reason = "the strategies are to call it")]
mod nearest;
mod outcome;
mod settings;
#[cfg(test)]
mod testing;
mod trace;
#[allow(dead_code, reason = "the strategies are to call it")]
mod truncate;
mod watch;

pub use asked::{Asked, Mode, UnknownMode};
pub use extractor::Extractor;
pub use outcome::{Citation, Coverage, Extraction, Match, Status, Strategy};
pub use settings::Settings;
pub use trace::{Op, OpKind};
pub use watch::{NoWatch, Watch};
