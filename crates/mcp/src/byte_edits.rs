//! Changes to a few places of some bytes; all others stay.

use std::ops::Range;

/// Replacements in some bytes, collected in any order.
#[derive(Debug, Default)]
pub struct ByteEdits {
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

impl ByteEdits {
    /// Puts `with` in the place of `range`. Ranges must not overlap.
    pub fn replace(&mut self, range: Range<usize>, with: impl Into<Vec<u8>>) {
        self.edits.push((range, with.into()));
    }

    /// Takes over the replacements of `other`.
    pub fn merge(&mut self, other: Self) {
        self.edits.extend(other.edits);
    }

    /// Whether all of `range` is replaced by one change.
    #[must_use]
    pub fn covers(&self, range: &Range<usize>) -> bool {
        let mut edits = self.edits.iter();
        edits.any(|(edit, _)| edit.start <= range.start && range.end <= edit.end)
    }

    /// Whether nothing is to be changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The replacements as those of three stretches, of which the middle one is
    /// `middle`: before, and behind it, counted from its end. `None` if any of
    /// them reaches into it.
    #[must_use]
    pub fn around(self, middle: &Range<usize>) -> Option<(Self, Self)> {
        let (mut before, mut after) = (Self::default(), Self::default());
        for (range, with) in self.edits {
            if range.end <= middle.start {
                before.replace(range, with);
            } else if range.start >= middle.end {
                after.replace(range.start - middle.end..range.end - middle.end, with);
            } else {
                return None;
            }
        }
        Some((before, after))
    }

    /// The bytes with the replacements made.
    #[must_use]
    pub fn apply(mut self, bytes: &[u8]) -> Vec<u8> {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut editsd = Vec::with_capacity(bytes.len().min(64 << 10));
        let mut kept = 0;
        for (range, with) in self.edits {
            editsd.extend_from_slice(&bytes[kept..range.start]);
            editsd.extend_from_slice(&with);
            kept = range.end;
        }
        editsd.extend_from_slice(&bytes[kept..]);
        editsd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_in_any_order() {
        let mut edits = ByteEdits::default();
        assert!(edits.is_empty());
        edits.replace(8..9, "C");
        edits.replace(0..1, "aaa");
        edits.replace(4..4, "+");
        assert_eq!(edits.apply(b"a bc de f c"), b"aaa bc+ de C c");
    }
}
