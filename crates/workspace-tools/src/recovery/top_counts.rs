//! Keeps the names with the highest counts.

use std::cmp::Reverse;

use super::{PathCount, TOP};

/// The [`TOP`] names with the highest counts. Among names with equal counts, those that sort first
/// are kept, so that the result does not depend on the order of the threads.
#[derive(Debug, Default)]
pub(crate) struct TopCounts {
    /// Sorted by count, highest first.
    top: Vec<(Reverse<u64>, Vec<u8>)>,
}

impl TopCounts {
    pub(crate) fn push(&mut self, name: &[u8], count: u64) {
        let place = |(there, known): &(Reverse<u64>, Vec<u8>)| {
            (*there, known.as_slice()) < (Reverse(count), name)
        };
        let at = self.top.partition_point(place);
        if at < TOP {
            self.top.truncate(TOP - 1);
            self.top.insert(at, (Reverse(count), name.to_vec()));
        }
    }

    /// Adds the counts of another thread.
    pub(crate) fn join(&mut self, other: Self) {
        for (Reverse(count), name) in other.top {
            self.push(&name, count);
        }
    }

    /// Returns the names, highest count first.
    pub(crate) fn sorted(&self) -> Vec<PathCount> {
        let top = self.top.iter();
        top.map(|(count, name)| (name.clone(), count.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whoever_saw_what(
            counts in proptest::collection::vec(0u64..9, 0..40),
            split in 0usize..40,
        ) {
            let mut all: Vec<PathCount> = counts
                .iter()
                .enumerate()
                .map(|(at, &count)| (format!("f{at:02}").into_bytes(), count))
                .collect();
            let (mut one, mut other) = (TopCounts::default(), TopCounts::default());
            for (at, (name, count)) in all.iter().enumerate() {
                let most = if at < split { &mut other } else { &mut one };
                most.push(name, *count);
            }
            one.join(other);
            all.sort_by_key(|(name, count)| (Reverse(*count), name.clone()));
            all.truncate(TOP);
            prop_assert_eq!(one.sorted(), all);
        }
    }
}
