//! Counts the tokens of one piece of a text: merges pairs of tokens, the smallest token first and of
//! equal ones the leftmost first, until no pair merges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::{NONE, Pairs};

/// Longest piece whose pairs are all looked at before each merge. That takes quadratic time, but less
/// time than a heap for short pieces. Nearly all pieces are words.
const SHORT: usize = 64;

/// Bytes of a long piece that are merged at once, at first.
const WINDOW: usize = 1024;

/// A vocabulary, used where it lies in the binary.
#[derive(Clone, Copy)]
pub(super) struct Merges {
    /// The token of each byte.
    pub(super) bytes: &'static [u8],
    /// The token of each pair.
    pub(super) pairs: Pairs,
}

impl Merges {
    /// Returns the number of tokens of a piece.
    pub(super) fn count(self, piece: &[u8]) -> u64 {
        match piece.len() {
            0 | 1 => piece.len() as u64,
            2..=SHORT => self.count_short(piece),
            _ => self.count_long(piece),
        }
    }

    fn token(self, byte: u8) -> u32 {
        u32::from(self.bytes[usize::from(byte)])
    }

    fn count_short(self, piece: &[u8]) -> u64 {
        let mut tokens = [0; SHORT];
        // What each token and the next one merge into.
        let mut merged = [NONE; SHORT];
        let mut len = piece.len();
        for (token, &byte) in tokens.iter_mut().zip(piece) {
            *token = self.token(byte);
        }
        for at in 1..len {
            merged[at - 1] = self.pairs.merged(tokens[at - 1], tokens[at]);
        }
        loop {
            let (mut at, mut first) = (0, NONE);
            for (candidate, &token) in merged[..len - 1].iter().enumerate() {
                if token < first {
                    (at, first) = (candidate, token);
                }
            }
            if first == NONE {
                return len as u64;
            }
            tokens[at] = first;
            tokens.copy_within(at + 2..len, at + 1);
            merged.copy_within(at + 1..len, at);
            len -= 1;
            if at + 1 < len {
                merged[at] = self.pairs.merged(first, tokens[at + 1]);
            }
            if at > 0 {
                merged[at - 1] = self.pairs.merged(tokens[at - 1], first);
            }
        }
    }

    fn count_long(self, piece: &[u8]) -> u64 {
        let mut window = WINDOW;
        loop {
            match self.count_windows(piece, window) {
                Some(count) => return count,
                None => window *= 2,
            }
        }
    }

    /// Counts the tokens of a piece window by window, so that time is linear and memory is bounded.
    ///
    /// Windows overlap: each begins at a token of the window before, near its end. If it begins with
    /// the same token, then no merge in the whole piece crosses the ends of that token, because a
    /// merge depends only on the tokens within it and on what is merged before. So the tokens before
    /// it are those of the piece. Otherwise returns `None`: the windows are too small.
    fn count_windows(self, piece: &[u8], window: usize) -> Option<u64> {
        let (mut start, mut count) = (0, 0);
        let mut list = TokenList::default();
        list.merge(self, &piece[..window.min(piece.len())]);
        while start + window < piece.len() {
            let kept = list.len() * 3 / 4;
            let (first, bytes) = list.nth(kept);
            start += bytes;
            count += kept as u64;
            list.merge(self, &piece[start..piece.len().min(start + window)]);
            if kept == 0 || list.tokens[0] != first {
                return None;
            }
        }
        Some(count + list.len() as u64)
    }
}

/// The tokens of a window. Each lies at the offset of its first byte.
#[derive(Default)]
struct TokenList {
    /// The token at each offset; [`NONE`] within a token.
    tokens: Vec<u32>,
    /// What each token and the next one merge into.
    merged: Vec<u32>,
    /// Where the next token begins.
    next: Vec<u32>,
    /// Where the token before begins.
    before: Vec<u32>,
    /// Pairs that merge, as the merged token above the offset.
    heap: BinaryHeap<Reverse<u64>>,
}

impl TokenList {
    /// Takes the tokens of a text.
    fn merge(&mut self, merges: Merges, text: &[u8]) {
        let len = text.len();
        self.tokens.clear();
        self.tokens
            .extend(text.iter().map(|&byte| merges.token(byte)));
        self.merged.clear();
        self.merged.resize(len, NONE);
        self.next.clear();
        self.next.extend((1..).take(len));
        self.before.clear();
        self.before
            .extend((0..).take(len).map(|at: u32| at.saturating_sub(1)));
        for at in 1..len {
            self.look_up(merges, at - 1, at);
        }
        while let Some(Reverse(entry)) = self.heap.pop() {
            let (merged, at) = ((entry >> 32) as u32, (entry & 0xffff_ffff) as usize);
            if self.merged[at] != merged {
                continue; // one of the pair is already part of another token
            }
            let right = self.next[at] as usize;
            let after = self.next[right] as usize;
            self.tokens[at] = merged;
            self.tokens[right] = NONE;
            self.merged[right] = NONE;
            self.merged[at] = NONE;
            self.next[at] = self.next[right];
            if after < len {
                self.before[after] = self.before[right];
                self.look_up(merges, at, after);
            }
            if at > 0 {
                self.look_up(merges, self.before[at] as usize, at);
            }
        }
    }

    /// Looks up what two tokens side by side merge into.
    fn look_up(&mut self, merges: Merges, left: usize, right: usize) {
        let merged = merges.pairs.merged(self.tokens[left], self.tokens[right]);
        self.merged[left] = merged;
        if merged != NONE {
            self.heap
                .push(Reverse(u64::from(merged) << 32 | left as u64));
        }
    }

    fn len(&self) -> usize {
        self.tokens.iter().filter(|&&token| token != NONE).count()
    }

    /// Returns a token, by its number in the list, and its offset.
    fn nth(&self, number: usize) -> (u32, usize) {
        let offset = (0..number).fold(0, |at, _| self.next[at] as usize);
        (self.tokens[offset], offset)
    }
}

/// Remembers how many tokens short pieces have, because most pieces of a text occur again.
pub(super) struct Memo {
    /// Each entry is a piece, its length in byte 14, and its tokens in byte 15.
    entries: Vec<u128>,
}

impl Memo {
    /// Longest piece that is remembered, in bytes.
    const PIECE: usize = 14;

    /// Returns a memo for a text with this number of bytes.
    pub(super) fn for_text(bytes: usize) -> Self {
        let entries = (bytes / 32).clamp(16, 4096).next_power_of_two();
        Self {
            entries: vec![0; entries],
        }
    }

    /// Returns the number of tokens of the piece `text[start..end]`.
    #[allow(clippy::cast_possible_truncation, reason = "a hash drops bits")]
    pub(super) fn count(&mut self, merges: Merges, text: &[u8], start: usize, end: usize) -> u64 {
        let piece = &text[start..end];
        if piece.len() > Self::PIECE || piece.len() < 2 {
            return merges.count(piece);
        }
        let bytes = match text[start..].first_chunk::<16>() {
            Some(bytes) => u128::from_le_bytes(*bytes) & ((1 << (8 * piece.len())) - 1),
            None => piece
                .iter()
                .rev()
                .fold(0, |bytes, &byte| bytes << 8 | u128::from(byte)),
        };
        let key = bytes | (piece.len() as u128) << 112;
        let hash = ((key ^ (key >> 64)) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = (hash >> 40) as usize & (self.entries.len() - 1);
        let entry = &mut self.entries[entry];
        if *entry & ((1 << 120) - 1) == key {
            return (*entry >> 120) as u64;
        }
        let count = merges.count(piece);
        *entry = key | u128::from(count) << 120;
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::bpe::Bpe;

    proptest! {
        /// Also with windows that hold only a few tokens, which are often too small.
        #[test]
        fn windows_give_the_tokens_of_the_whole_piece(
            text in "[a-e]{100,900}|[a-zA-Z]{100,900}|(ab|abc| |=){100,900}|[^ -~]{60,400}",
            window in 2_usize..400,
        ) {
            for bpe in [Bpe::O200K_BASE, Bpe::CL100K_BASE] {
                let whole = bpe.merges.count_windows(text.as_bytes(), text.len());
                let windows = bpe.merges.count_windows(text.as_bytes(), window);
                prop_assert!(whole.is_some());
                prop_assert!(windows.is_none() || windows == whole);
            }
        }

        #[test]
        fn short_pieces_merge_as_long_ones_do(text in "[a-zA-Z =]{2,64}|[^ -~]{2,16}") {
            for bpe in [Bpe::O200K_BASE, Bpe::CL100K_BASE] {
                let long = bpe.merges.count_windows(text.as_bytes(), text.len());
                prop_assert_eq!(Some(bpe.merges.count(text.as_bytes())), long);
            }
        }
    }
}
