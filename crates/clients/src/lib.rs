//! Edits the configuration of MCP clients: wraps their servers with the gateway, and unwraps them.
//!
//! [`Client`] and [`places`] tell where a client keeps its servers. [`wrap`] and [`unwrap`] make a
//! [`Plan`] for one file, which can be shown as a diff or carried out. [`inspect`] reports the
//! current state. Edits keep everything else in the file: comments, order, spaces and line ends.

mod client;
mod dialect;
mod diff;
mod document;
mod entry;
mod error;
mod file;
mod hooks;
mod inspect;
mod json;
mod launch;
mod lookups;
mod places;
mod plan;
mod record;
mod remote;
mod rewrite;
mod toml;
mod unwrap;
mod wrap;
mod yaml;
mod yaml_edit;

pub use client::Client;
pub use diff::{LineDiff, unified};
pub use error::ClientsError;
pub use file::digest;
pub use hooks::{HookReport, add_hooks, has_hooks, hook_files, inspect_hooks};
pub use inspect::{FileReport, ServerReport, inspect};
pub use json::json_values;
pub use launch::{Launch, UnsetVariable};
pub use lookups::{Forbidden, Lookups, forbidden, lookups};
pub use places::{Scope, ServerTable, Surroundings, explicit, places};
pub use plan::{Outcome, Plan, State};
pub use record::Records;
pub use rewrite::Gateway;
pub use unwrap::unwrap;
pub use wrap::{permit, wrap};
