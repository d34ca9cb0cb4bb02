//! libFuzzer on `spillgate_fuzz_targets::arguments`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| spillgate_fuzz_targets::arguments(bytes));
