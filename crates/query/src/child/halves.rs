//! Reads and checks large data on two threads, a half each.

use std::borrow::Cow;
use std::io;
use std::thread::{Builder, scope};

use memchr::memmem;
use spillgate_artifact::ByteSource;

use super::text::ESCAPE;

/// Size in bytes from which two threads take less time than one. Below it, the start of a thread
/// costs more than it saves.
const SHARED_FROM: usize = 4 << 20;

/// Stack of the second thread, in bytes. Reading and checking do not recurse.
const STACK: usize = 256 << 10;

/// What a filter has to know about its data before it parses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) is_utf8: bool,
    /// Whether the data may contain an escape `\uXXXX`.
    pub(crate) may_escape: bool,
}

impl Checked {
    /// For data that are used as they are: tables and texts.
    pub(crate) const UNCHANGED: Self = Self {
        is_utf8: true,
        may_escape: false,
    };
}

/// Returns `length` bytes of `input` from `from` on. `buffer` is for few bytes; many have a buffer of
/// their own.
pub(crate) fn read<'a>(
    input: &'a dyn ByteSource,
    from: u64,
    length: u64,
    buffer: &'a mut Vec<u8>,
) -> io::Result<Cow<'a, [u8]>> {
    let size = usize::try_from(length).map_err(io::Error::other)?;
    if size < SHARED_FROM {
        let data = input.window(from, from.saturating_add(length), buffer)?;
        return match data.len() == size {
            true => Ok(Cow::Borrowed(data)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    let mut all = vec![0; size]; // from the system, which has zeros without writing them
    let (left, right) = all.split_at_mut(size / 2);
    let middle = from.saturating_add(left.len() as u64);
    let (left, right) = both(
        || input.read_exact_at(left, from),
        || input.read_exact_at(right, middle),
    )?;
    left.and(right)?;
    Ok(Cow::Owned(all))
}

/// Checks data.
pub(crate) fn check(data: &[u8]) -> io::Result<Checked> {
    let one = |bytes: &[u8]| Checked {
        is_utf8: simdutf8::basic::from_utf8(bytes).is_ok(),
        // The rest of an escape may be in the other half.
        may_escape: bytes.ends_with(b"\\") || memmem::find(bytes, ESCAPE).is_some(),
    };
    if data.len() < SHARED_FROM {
        return Ok(one(data));
    }
    let (left, right) = data.split_at(boundary(data, data.len() / 2));
    let (left, right) = both(|| one(left), || one(right))?;
    Ok(Checked {
        is_utf8: left.is_utf8 && right.is_utf8,
        may_escape: left.may_escape || right.may_escape,
    })
}

/// Returns the start of the character at `at`. In text that is not UTF-8 it may be another position,
/// and one of the halves is then not UTF-8 either.
fn boundary(data: &[u8], at: usize) -> usize {
    let is_continuation = |&at: &usize| data[at] & 0xc0 == 0x80;
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|at| !is_continuation(at))
        .unwrap_or(at)
}

/// Runs both functions at the same time.
pub(crate) fn both<L: Send, R>(
    left: impl FnOnce() -> L + Send,
    right: impl FnOnce() -> R,
) -> io::Result<(L, R)> {
    scope(|scope| {
        let left = Builder::new().stack_size(STACK).spawn_scoped(scope, left)?;
        let right = right();
        let left = left
            .join()
            .map_err(|_| io::Error::other("the reader panicked"))?;
        Ok((left, right))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_checked_as_the_whole() {
        let marks: [&[u8]; 7] = [
            "é".as_bytes(),
            "€".as_bytes(),
            "𝄞".as_bytes(),
            b"\\u00e9",
            b"\xe2\x82",
            b"\x80\x80\x80\x80\x80",
            b"",
        ];
        for mark in marks {
            for before in 0..8 {
                let mut data = vec![b'a'; SHARED_FROM];
                let at = SHARED_FROM / 2 - before;
                data[at..at + mark.len()].copy_from_slice(mark);
                let want = Checked {
                    is_utf8: std::str::from_utf8(&data).is_ok(),
                    may_escape: memmem::find(&data, ESCAPE).is_some(),
                };
                assert_eq!(check(&data).unwrap(), want, "{mark:?} at -{before}");
            }
        }
    }

    #[test]
    fn both_halves_are_read() {
        let source: Vec<u8> = (0..=250).cycle().take(SHARED_FROM + 77).collect();
        for length in [7, SHARED_FROM + 7] {
            let bytes = |from: usize| {
                let (from, length) = (from as u64, length as u64);
                read(&source, from, length, &mut Vec::new()).map(Cow::into_owned)
            };
            assert!(bytes(70).unwrap() == source[70..70 + length]);
            let error = bytes(source.len() - length + 1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
