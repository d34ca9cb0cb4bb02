//! An agent session: a model, its tools and its report (docs/spec/behaviour.md, "The agent").
//!
//! [`Session`] is a pure step function: it takes [`Event`]s and returns [`Effect`]s. [`run()`]
//! carries out the effects: it asks the model, calls the tools, passes their results through the
//! pipeline (`spillgate-offload`), and records everything in a tree of operations.
//!
//! Start reading with `session/mod.rs`, then `session/results.rs`, which decides about each result.

mod allowance;
mod batch;
mod cache;
mod event;
mod host;
mod internal;
mod orchestrator;
mod report;
mod run;
mod schema;
mod session;
mod settings;
mod sub_agent;
mod texts;
mod trace;

pub use allowance::{Allowance, Metered, RunLimits, Share};
pub use cache::{
    CacheEntry, CacheKey, CacheLimits, CacheRules, Caching, DEFAULT_ENTRY_BYTES,
    DEFAULT_TOTAL_BYTES, DirectoryCache, ToolCache,
};
pub use event::{Abort, CallId, Effect, Event, Kept, Planned, Returned, Settled, Status};
pub use host::{Given, Host};
pub use internal::{BATCH, FINAL_REPORT, GET_CONTINUATION, RESERVED, TASK_STATUS, TOOL_OUTPUT};
pub use orchestrator::{Orchestrator, Retrieval};
pub use report::{Ending, Finished, Report, Source};
pub use run::{NoWatcher, Until, Watcher, run};
pub use session::{Session, TooLong};
pub use settings::{
    CONCURRENCY, DEFAULT_CALLS_PER_TURN, DEFAULT_MAX_TURNS, Format, MAX_PAGING_TURNS, Offers,
    Settings, Window,
};
pub use spillgate_extract::{Decided, Made, Op, OpKind, Scope, Span, Strategy};
pub use sub_agent::{BadInput, DEFAULT_MAX_DEPTH, Launch, NotLaunched, SubAgent};
pub use trace::{
    About, Accounting, Journal, ModelUse, Part, Setup, Spent, TRACE_VERSION, ToolUse, Trace,
};
