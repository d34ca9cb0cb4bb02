//! Makes the tables of the vocabularies (`src/bpe/pairs.rs`) from the tokens that the crate `tiktoken`
//! knows.

#[path = "src/bpe/layout.rs"]
mod layout;

use std::path::Path;
use std::{env, fs};

use rustc_hash::FxHashMap;

/// Keys in a bucket, on average. More keys make the seeds fewer and harder to find.
const BUCKET_KEYS: usize = 5;
/// One slot in this many stays empty, so that seeds are found soon.
const SPARE: usize = 40;
/// The slot of no pair: no vocabulary has as many tokens as its key names.
const EMPTY: [u8; 8] = [u8::MAX; 8];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/bpe/layout.rs");
    let directory = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    let is_asked =
        |name: &str| name != "cl100k_base" || env::var_os("CARGO_FEATURE_CL100K").is_some();
    for name in ["o200k_base", "cl100k_base"]
        .into_iter()
        .filter(|name| is_asked(name))
    {
        let tokens = tokens(name);
        let (bytes, merges) = merges(&tokens);
        let (seeds, slots) = table(&merges);
        for (kind, content) in [("bytes", bytes), ("seeds", seeds), ("slots", slots)] {
            let path = Path::new(&directory).join(format!("{name}.{kind}"));
            fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// Returns the bytes of each token. The smaller of two tokens merges first.
fn tokens(name: &str) -> Vec<Vec<u8>> {
    let vocabulary = tiktoken::get_encoding(name).expect("the vocabulary is compiled in");
    let size = u32::try_from(vocabulary.vocab_size()).expect("vocabularies are small");
    assert!(size < 1 << layout::TOKEN_BITS, "{name} has too many tokens");
    (0..size).map(|token| vocabulary.decode(&[token])).collect()
}

/// Returns the token of each byte, and for each other token the pair from which it is made, as its
/// key. A token is made in one way only: by merging its bytes with the tokens before it.
fn merges(tokens: &[Vec<u8>]) -> (Vec<u8>, Vec<(u64, u32)>) {
    let mut of_byte = vec![0; 256];
    for (token, bytes) in tokens[..256].iter().enumerate() {
        assert_eq!(bytes.len(), 1, "the first tokens are the bytes");
        of_byte[usize::from(bytes[0])] = u8::try_from(token).expect("there are 256");
    }
    let mut known = FxHashMap::default();
    for (token, bytes) in (0..).zip(tokens).skip(256) {
        let mut parts: Vec<u32> = bytes
            .iter()
            .map(|&byte| u32::from(of_byte[usize::from(byte)]))
            .collect();
        while parts.len() > 2 {
            let first = (0..parts.len() - 1)
                .filter_map(|at| Some((*known.get(&layout::key(parts[at], parts[at + 1]))?, at)))
                .min();
            let (merged, at) = first.expect("two tokens merge into each token");
            parts[at] = merged;
            parts.remove(at + 1);
        }
        known.insert(layout::key(parts[0], parts[1]), token);
    }
    assert_eq!(known.len(), tokens.len() - 256, "two tokens are equal");
    (of_byte, known.into_iter().collect())
}

/// Returns the slot that says that the pair with this key merges into `token`.
fn slot(key: u64, token: u32) -> [u8; 8] {
    (u64::from(token) << layout::KEY_BITS | key).to_le_bytes()
}

/// Returns the seeds and the slots of the perfect hash.
fn table(merges: &[(u64, u32)]) -> (Vec<u8>, Vec<u8>) {
    let mut buckets = vec![Vec::new(); merges.len() / BUCKET_KEYS];
    for &(key, token) in merges {
        let hash = layout::hash(key);
        let bucket = layout::bucket(hash, buckets.len());
        buckets[bucket].push((hash, slot(key, token)));
    }
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&bucket| std::cmp::Reverse(buckets[bucket].len()));
    let mut seeds = vec![[0; 2]; buckets.len()];
    let mut slots = vec![EMPTY; merges.len() + merges.len() / SPARE];
    let mut places = Vec::new();
    for bucket in order {
        let fits = |seed: &u16| {
            places.clear();
            buckets[bucket].iter().all(|&(hash, _)| {
                let place = layout::place(hash, *seed, slots.len());
                let free = slots[place] == EMPTY && !places.contains(&place);
                places.push(place);
                free
            })
        };
        let seed = (0..u16::MAX).find(fits).expect("a seed fits");
        seeds[bucket] = seed.to_le_bytes();
        for &(hash, slot) in &buckets[bucket] {
            let place = layout::place(hash, seed, slots.len());
            slots[place] = slot;
        }
    }
    (seeds.concat(), slots.concat())
}
