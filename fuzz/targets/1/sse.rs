//! Runs `spillgate_fuzz_targets::sse` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| spillgate_fuzz_targets::sse(bytes));
