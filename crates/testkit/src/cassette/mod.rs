//! Exchanges with a model, recorded in a file and played again.
//!
//! A cassette is a file of JSON lines: first whose replies they are, then a request
//! and what came of it on each line.

mod recorder;
mod replayer;
mod varying;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use spillgate_llm::{LlmError, ModelLimits, Reply, Request, Target};

pub use recorder::Recorder;
pub use replayer::{CassetteError, Replayer};
pub use varying::{Varying, nonces};

/// The first line of a cassette.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// The version of the format.
    cassette: u32,
    target: Target,
    /// Requests are cut to these, so that they belong to the recording.
    limits: ModelLimits,
}

/// The version that is written and read.
const VERSION: u32 = 1;

/// Each line after the first.
#[derive(Debug, Serialize, Deserialize)]
struct Exchange {
    request: Request,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Reply(Reply),
    Error(LlmError),
}
