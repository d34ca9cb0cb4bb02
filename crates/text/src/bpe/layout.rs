//! The layout of the table of pairs, for the build script, which makes it, and for `pairs`, which
//! reads it.

/// Bits of a token's number.
pub(crate) const TOKEN_BITS: u32 = 18;
/// Bits of a key: two tokens. A slot holds a key, and above it the merged token.
pub(crate) const KEY_BITS: u32 = 2 * TOKEN_BITS;

/// Returns the key of a pair.
pub(crate) fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << TOKEN_BITS | u64::from(right)
}

/// Returns a hash of a key.
pub(crate) fn hash(key: u64) -> u64 {
    let mixed = (key ^ (key >> 15)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

/// Returns the bucket of a hash. There are fewer than 2³² buckets.
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    scaled(hash & 0xffff_ffff, buckets)
}

/// Returns the slot of a hash under the seed of its bucket. There are fewer than 2³² slots.
pub(crate) fn place(hash: u64, seed: u16, slots: usize) -> usize {
    let mixed = hash ^ u64::from(seed).wrapping_mul(0xd6e8_feb8_6659_fd93);
    scaled(mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32, slots)
}

/// Maps a number below 2³² to one below `limit`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the result is below `limit`"
)]
fn scaled(number: u64, limit: usize) -> usize {
    ((number * limit as u64) >> 32) as usize
}
