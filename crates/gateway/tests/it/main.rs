//! Tests of the gateway with a test client and fake servers, which are functions of the tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod aggregate;
mod ended;
mod ends;
mod eras;
mod fake;
mod fanout;
mod large;
mod links;
mod odd;
mod programs;
mod request_span;
mod shared;
mod slow;
mod tool_search;
mod unreadable;

/// The environment variable that marks the second run of this suite. Its value is the limit on
/// frames in memory, in bytes.
const SPOOL_AT: &str = "SPILLGATE_TEST_SPOOL_AT";

/// Runs the suite once more with results that are not held in memory. The outcomes must be the
/// same.
#[test]
fn the_suite_holds_for_frames_in_the_store() {
    if std::env::var_os(SPOOL_AT).is_some() {
        return;
    }
    let mut suite = std::process::Command::new(std::env::current_exe().unwrap());
    let output = suite.env(SPOOL_AT, "4096").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("test result: ok"), "{told}");
}
