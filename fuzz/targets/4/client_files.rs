//! Runs `spillgate_fuzz_targets::client_files` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| spillgate_fuzz_targets::client_files(bytes));
