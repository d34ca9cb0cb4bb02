//! The command line as a user meets it: one binary of tests, a module a topic.

mod capture;
mod faults;
mod interface;
mod retrieval;
mod run;
mod tool;
