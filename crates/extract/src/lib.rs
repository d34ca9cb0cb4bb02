//! `tool_output`: answers a question about a stored tool output.
//!
//! ```text
//! handle, extract, mode
//!   → route      which strategy can answer?
//!   → strategy   full-chunked · read-grep · truncate · search
//!   → ground     are the quotes in the text, and where?
//!   → envelope   the answer as a model sees it
//! ```
//!
//! The rules are in docs/spec/behaviour.md, "Extraction". If a strategy cannot run, the answer is a
//! truncated text that says so; nothing is cut silently. The entry point is [`Extractor`]; start
//! reading with `extractor.rs`.

mod ask;
mod asked;
mod bound;
mod case;
mod chunks;
mod door;
mod drafted;
mod envelope;
mod extractor;
mod full_chunked;
mod map;
mod mask;
mod nearest;
mod outcome;
mod passages;
mod plan;
mod prompt;
mod read_grep;
mod reduce;
mod report;
mod route;
mod settings;
#[cfg(test)]
mod testing;
mod trace;
mod truncate;
mod verify;
mod watch;

pub use asked::{Asked, Mode, UnknownMode};
pub use door::{TOOL, ToolOutput, tool_schema};
pub use extractor::Extractor;
pub use outcome::{Citation, Coverage, Extraction, Match, Status, Strategy};
#[doc(hidden)]
pub use plan::plan_chunks;
pub use prompt::NOTHING;
pub use settings::ExtractionSettings;
pub use trace::{
    Decided, ExtractionRecord, Made, Op, OpKind, OutcomeRecord, PREVIEW_BYTES, Scope, Span, Sum,
    TraceKeeper, preview,
};
pub use watch::{NoWatch, Watch};
