//! Measures how fast 128 MB are stored and read, plain and encrypted.
//!
//! `cargo run --release -p spillgate-store --example encrypted -- DIR`

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement at the command line"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use spillgate_artifact::{HandleForm, SystemClock};
use spillgate_store::conformance::facts_of;
use spillgate_store::{ArtifactStore, FileStore, Gone, Lifetime, Part, StoreKey};

const BYTES: usize = 128_000_000;
const BLOCK: usize = 256 << 10;
const ROUNDS: usize = 5;

fn main() {
    let base = PathBuf::from(std::env::args_os().nth(1).unwrap());
    let bytes: Vec<u8> = (b' '..b'y').cycle().take(BYTES).collect();
    let of = || FileStore::new(&base, Lifetime::Session, Arc::new(SystemClock));
    let key = StoreKey::from_hex(&"a".repeat(64)).unwrap();
    for (name, store) in [("plain", of()), ("encrypted", of().encrypting(Some(key)))] {
        let (mut put, mut read, mut lines) = (f64::MAX, f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let mut draft = store.draft().unwrap();
            for block in bytes.chunks(BLOCK) {
                draft.write(Part::Raw, block).unwrap();
            }
            let mut facts = facts_of(b"");
            facts.raw_bytes = BYTES as u64;
            facts.view.bytes = BYTES as u64;
            let handle = draft
                .commit(facts, b"", HandleForm::Short)
                .unwrap()
                .handle();
            put = put.min(began.elapsed().as_secs_f64());
            let stored = store.open(handle).unwrap();
            let began = Instant::now();
            let mut buffer = Vec::new();
            for start in (0..BYTES as u64).step_by(BLOCK) {
                let end = start + BLOCK as u64;
                stored.raw.window(start, end, &mut buffer).unwrap();
            }
            read = read.min(began.elapsed().as_secs_f64());
            // 1,000 pages of 4 KiB from everywhere.
            let began = Instant::now();
            for page in 0..1000 {
                let start = page * 7_919 * 4096 % BYTES as u64;
                stored.raw.bytes(start, start + 4096).unwrap();
            }
            lines = lines.min(began.elapsed().as_secs_f64());
            let now = facts_of(b"").created;
            store.remove(handle, Gone::Removed, now).unwrap();
        }
        println!("{name}: put {put:.3} s, read {read:.3} s, 1,000 pages {lines:.4} s");
    }
}
