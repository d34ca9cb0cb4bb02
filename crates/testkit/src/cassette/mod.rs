//! Records exchanges with a model in a file and replays them.
//!
//! A cassette is a file of JSON lines. The first line names the model; each further line holds a
//! request and its outcome.

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
    /// The model's limits. They are recorded, because requests are cut to these limits.
    limits: ModelLimits,
}

/// The format version that is written and read.
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
