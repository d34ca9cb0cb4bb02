//! Runs `spillgate_fuzz_targets::filter` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| spillgate_fuzz_targets::filter(bytes));
