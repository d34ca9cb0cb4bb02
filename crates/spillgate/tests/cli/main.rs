//! The command line as a user meets it: one test binary, one module per topic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agent;
mod agent_ends;
mod agent_guarded;
mod agent_guarded_work;
mod agent_lab;
mod agent_lasts;
mod agent_mistakes;
mod agent_tools;
mod auth;
mod broken;
mod capture;
mod clients;
mod ended;
mod extract;
mod faults;
mod files;
mod gateway;
mod gateway_extract;
mod gateway_forms;
mod guarded_settings;
mod guarded_shell;
mod interface;
mod large;
mod lookups;
mod many_files;
mod mistakes;
mod profiles;
mod provider;
mod query;
mod raw;
mod redact;
mod retrieval;
mod run;
mod seen;
mod servers;
mod session;
mod settings;
mod shapes;
mod stalls;
mod store;
mod strict;
mod tool;
mod tools;
mod written;
