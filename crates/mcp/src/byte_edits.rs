//! Edits that replace a few ranges of a byte string and keep all other bytes.

use std::ops::Range;

/// Replacements in a byte string, collected in any order.
#[derive(Debug, Clone, Default)]
pub struct ByteEdits {
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

impl ByteEdits {
    /// Adds a replacement of `range` by `with`. Ranges must not overlap.
    pub fn replace(&mut self, range: Range<usize>, with: impl Into<Vec<u8>>) {
        self.edits.push((range, with.into()));
    }

    /// Adds the replacements of `other`.
    pub fn merge(&mut self, other: Self) {
        self.edits.extend(other.edits);
    }

    /// Whether a single replacement covers all of `range`.
    #[must_use]
    pub fn covers(&self, range: &Range<usize>) -> bool {
        let mut edits = self.edits.iter();
        edits.any(|(edit, _)| edit.start <= range.start && range.end <= edit.end)
    }

    /// Whether there are no replacements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Splits the replacements into those before `middle` and those after `middle`. Ranges after
    /// `middle` are then counted from its end. `None` if a replacement overlaps `middle`.
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

    /// Applies the replacements to `bytes` and returns the result.
    #[must_use]
    pub fn apply(mut self, bytes: &[u8]) -> Vec<u8> {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut edited = Vec::with_capacity(bytes.len().min(64 << 10));
        let mut kept = 0;
        for (range, with) in self.edits {
            edited.extend_from_slice(&bytes[kept..range.start]);
            edited.extend_from_slice(&with);
            kept = range.end;
        }
        edited.extend_from_slice(&bytes[kept..]);
        edited
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
