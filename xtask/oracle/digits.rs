//! A `getrandom` whose bytes have only decimal digits in hexadecimal, loaded before the C library's
//! own.
//!
//! Handles are random, and the number of tokens of a handle depends on its letters. A tokenizer
//! takes three decimal digits at a time, so with this function all handles cost the same, and the
//! output of two builds can be compared.

use std::ffi::{c_long, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// High digits of a byte that remain decimal when a UUID sets two bits of the byte. The byte then
/// begins with 8 or 9.
const HIGH: [u8; 6] = [0, 1, 4, 5, 8, 9];

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Fills `buffer`, as `getrandom(2)` would.
///
/// # Safety
///
/// `buffer` points to `length` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, _: c_uint) -> c_long {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let seed = u64::from(now) ^ u64::from(std::process::id()) << 32 ^ count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut state = seed | 1;
    for at in 0..length {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let digits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
        let byte = (digits % 10) as u8 | HIGH[(digits / 10 % 6) as usize] << 4;
        // SAFETY: `at` is below `length`.
        unsafe { buffer.cast::<u8>().add(at).write(byte) };
    }
    length as c_long
}
