//! The commands of the program, each in a file of its own, from its arguments to its output.

#[cfg(feature = "agent")]
pub(crate) mod agent;
#[cfg(feature = "login")]
pub(crate) mod auth;
#[cfg(any(feature = "login", feature = "ui"))]
mod browser;
pub(crate) mod cat;
pub(crate) mod config;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod extract;
#[cfg(feature = "tools")]
pub(crate) mod fs_mcp;
pub(crate) mod generate;
pub(crate) mod grep;
pub(crate) mod hook;
pub(crate) mod init;
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
pub(crate) mod redact;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod search;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod share;
#[cfg(feature = "tools")]
pub(crate) mod shell_child;
pub(crate) mod show;
pub(crate) mod stats;
#[cfg(feature = "tools")]
pub(crate) mod tools;
mod trace;
#[cfg(feature = "ui")]
pub(crate) mod ui;
pub(crate) mod unwrap;
pub(crate) mod verify;
pub(crate) mod wrap;

pub(crate) use outcome::{failure, receipt};
