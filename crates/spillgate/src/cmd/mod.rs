//! One file a command: from its arguments to its output.

pub(crate) mod agent;
pub(crate) mod auth;
pub(crate) mod cat;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod extract;
pub(crate) mod fs_mcp;
pub(crate) mod generate;
pub(crate) mod grep;
pub(crate) mod ls;
pub(crate) mod mcp;
pub(crate) mod more;
mod outcome;
pub(crate) mod outline;
pub(crate) mod pin;
pub(crate) mod prompt;
pub(crate) mod put;
pub(crate) mod query;
pub(crate) mod read;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod stats;
mod trace;
pub(crate) mod unwrap;
pub(crate) mod wrap;
