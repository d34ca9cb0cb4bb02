//! A table from pairs of tokens to the token that they merge into. The build script makes it, and it
//! is used where it lies in the binary.
//!
//! The table is a perfect hash: a key's bucket has a seed, and the seed gives each key of the bucket
//! a slot that no other key has. A look-up reads one seed and one slot, also if the pair is not in
//! the table.

use super::layout::{KEY_BITS, bucket, hash, key, place};

/// The answer for a pair that does not merge. It is larger than every token.
pub(super) const NONE: u32 = u32::MAX;

/// A vocabulary's merges. All numbers in it are little-endian.
#[derive(Clone, Copy)]
pub(super) struct Pairs {
    /// A seed for each bucket.
    pub(super) seeds: &'static [[u8; 2]],
    /// The slots.
    pub(super) slots: &'static [[u8; 8]],
}

impl Pairs {
    /// Returns the token that `left` and `right` merge into, or [`NONE`]. Of all pairs in a text,
    /// that with the smallest token merges first.
    pub(super) fn merged(self, left: u32, right: u32) -> u32 {
        let key = key(left, right);
        let hash = hash(key);
        let seed = u16::from_le_bytes(self.seeds[bucket(hash, self.seeds.len())]);
        let slot = u64::from_le_bytes(self.slots[place(hash, seed, self.slots.len())]);
        match slot & ((1 << KEY_BITS) - 1) == key {
            true => u32::try_from(slot >> KEY_BITS).unwrap_or(NONE),
            false => NONE,
        }
    }
}
