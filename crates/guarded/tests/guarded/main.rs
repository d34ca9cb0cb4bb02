//! The tools as those meet them who call them: one binary of tests, a module a tool.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod execute_shell;
