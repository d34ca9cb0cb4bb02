//! Keeps the best candidates while the text streams by.
//!
//! The worth of a term is known only at the end of the scan. So candidates are grouped by the set
//! of terms that they hold. Among candidates with the same terms the better one stays better,
//! whatever the terms turn out to be worth.

use rustc_hash::FxHashMap;

use crate::question::{MOST_TERMS, Terms};

/// Most candidates kept for one set of terms: more than a page has room for.
const KEPT: usize = 96;
/// Most sets of terms kept. Beyond that, the sets with the fewest terms are dropped.
const SETS: usize = 512;
/// Most sets of terms whose places are counted.
const MOST_TALLIES: usize = 4096;
/// Most candidates of one template kept for one set of terms.
const KEPT_ALIKE: usize = 48;

/// A place that may answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    /// First byte in the view.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// Terms in the place and in the keys above it.
    pub terms: Terms,
    /// How good it is among places with the same terms; higher is better.
    pub rank: f64,
    /// Hash of its text without digits ([`template`]), or of its depth and key in JSON.
    pub template: u64,
    /// Facts about a place in JSON.
    pub json: Option<Box<crate::json::Node>>,
}

/// The candidates and counts of a scan.
#[derive(Debug)]
pub(crate) struct Candidates {
    sets: FxHashMap<Terms, CandidateSet>,
    /// Sets with fewer terms are no longer accepted.
    fewest: u32,
    /// How many units (records, or lines where there are no records) contain each term.
    pub units_with: [u64; MOST_TERMS],
    /// How many units were counted.
    pub units: u64,
    /// How many places with hits hold each set of terms.
    tallies: FxHashMap<Terms, u64>,
}

/// Candidates with the same terms.
#[derive(Debug, Default)]
struct CandidateSet {
    /// Best first; ties in the order of the text.
    candidates: Vec<Candidate>,
    /// How many of them each template has.
    alike: FxHashMap<u64, usize>,
}

impl CandidateSet {
    /// Returns whether there is room for a candidate.
    fn wants(&self, rank: f64, template: impl FnOnce() -> u64) -> bool {
        let beats = |candidate: Option<&Candidate>| {
            candidate.is_some_and(|candidate| rank > candidate.rank)
        };
        if self.candidates.len() >= KEPT && !beats(self.candidates.last()) {
            return false;
        }
        let template = template();
        let alike = self.alike.get(&template).copied().unwrap_or(0);
        let of_template = |candidate: &&Candidate| candidate.template == template;
        alike < KEPT_ALIKE || beats(self.candidates.iter().rev().find(of_template))
    }

    fn keep(&mut self, candidate: Candidate) {
        let alike = self.alike.entry(candidate.template).or_default();
        *alike += 1;
        let gone = match *alike > KEPT_ALIKE {
            true => self
                .candidates
                .iter()
                .rposition(|one| one.template == candidate.template),
            false if self.candidates.len() == KEPT => Some(KEPT - 1),
            false => None,
        };
        if let Some(gone) = gone {
            let gone = self.candidates.remove(gone);
            self.alike
                .entry(gone.template)
                .and_modify(|alike| *alike -= 1);
        }
        let at = self
            .candidates
            .partition_point(|one| one.rank >= candidate.rank);
        self.candidates.insert(at, candidate);
    }
}

impl Default for Candidates {
    fn default() -> Self {
        Self {
            sets: FxHashMap::default(),
            fewest: 0,
            units_with: [0; MOST_TERMS],
            units: 0,
            tallies: FxHashMap::default(),
        }
    }
}

impl Candidates {
    /// Returns whether no candidate was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Counts `units` units that hold `terms`.
    pub(crate) fn count(&mut self, terms: Terms, units: u64) {
        let mut left = terms;
        while left != 0 {
            self.units_with[left.trailing_zeros() as usize] += units;
            left &= left - 1;
        }
    }

    /// Counts a place with hits.
    pub(crate) fn tally(&mut self, terms: Terms, places: u64) {
        if self.tallies.len() < MOST_TALLIES || self.tallies.contains_key(&terms) {
            *self.tallies.entry(terms).or_default() += places;
        }
    }

    /// Returns how many places hold terms that are worth at least `share` of the best set of terms.
    pub(crate) fn matching(&self, share: f64, worth: impl Fn(Terms) -> f64) -> u64 {
        let worths = self
            .tallies
            .iter()
            .map(|(terms, places)| (worth(*terms), places));
        let worths: Vec<(f64, &u64)> = worths.filter(|(worth, _)| *worth > 0.0).collect();
        let best = worths
            .iter()
            .fold(0.0f64, |best, (worth, _)| best.max(*worth));
        let matching = worths.iter().filter(|(worth, _)| *worth >= best * share);
        matching.map(|(_, places)| **places).sum()
    }

    /// Returns whether a candidate would be kept. Callers ask before they build its costlier parts.
    pub(crate) fn wants(&self, terms: Terms, rank: f64, template: impl FnOnce() -> u64) -> bool {
        match self.sets.get(&terms) {
            Some(set) => set.wants(rank, template),
            None => terms != 0 && terms.count_ones() >= self.fewest,
        }
    }

    /// Keeps a candidate if it is good enough. Of equal candidates the first stays.
    pub(crate) fn keep(&mut self, candidate: Candidate) {
        if !self.wants(candidate.terms, candidate.rank, || candidate.template) {
            return;
        }
        self.sets
            .entry(candidate.terms)
            .or_default()
            .keep(candidate);
        if self.sets.len() > SETS {
            self.shed();
        }
    }

    /// Adds what the scan of a later part found.
    pub(crate) fn merge(&mut self, later: Self) {
        self.units += later.units;
        for (terms, places) in &later.tallies {
            self.tally(*terms, *places);
        }
        for (mine, others) in self.units_with.iter_mut().zip(later.units_with) {
            *mine += others;
        }
        let mut candidates: Vec<Candidate> = later.into_all().collect();
        candidates.sort_by_key(|candidate| candidate.start);
        for candidate in candidates {
            self.keep(candidate);
        }
    }

    /// Returns all kept candidates in the order of the text.
    pub(crate) fn into_candidates(self) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = self.into_all().collect();
        candidates.sort_by_key(|candidate| (candidate.start, candidate.end));
        candidates
    }

    fn into_all(self) -> impl Iterator<Item = Candidate> {
        self.sets.into_values().flat_map(|set| set.candidates)
    }

    /// Drops the half of the sets that has the fewest terms.
    fn shed(&mut self) {
        let mut sets: Vec<(u32, Terms)> = self
            .sets
            .keys()
            .map(|&set| (set.count_ones(), set))
            .collect();
        sets.sort_unstable();
        for (terms, set) in &sets[..sets.len() / 2] {
            self.fewest = self.fewest.max(*terms);
            self.sets.remove(set);
        }
    }
}

/// Hashes a text without its digits: lines of one template have the same hash.
pub(crate) fn template(text: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric()).peekable();
    let mut at = 0;
    while let Some(word) = words.next() {
        // A word with a digit is a number, a time or an id.
        match word.iter().any(u8::is_ascii_digit) {
            true => mix(b'0'),
            false => word.iter().for_each(|&byte| mix(byte)),
        }
        at += word.len();
        if words.peek().is_some() {
            mix(text[at]);
            at += 1;
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(start: u64, terms: Terms, rank: f64, template: u64) -> Candidate {
        Candidate {
            start,
            end: start + 1,
            terms,
            rank,
            template,
            json: None,
        }
    }

    #[test]
    fn the_best_of_each_set_stay() {
        let mut found = Candidates::default();
        for at in 0..1000 {
            found.keep(place(at, 1, 1.0, at));
        }
        found.keep(place(5000, 1, 2.0, 1));
        found.keep(place(6000, 2, 0.1, 1));
        let starts: Vec<u64> = found
            .into_candidates()
            .iter()
            .map(|place| place.start)
            .collect();
        let mut want: Vec<u64> = (0..KEPT as u64 - 1).collect();
        want.extend([5000, 6000]);
        assert_eq!(starts, want);
    }

    #[test]
    fn one_template_does_not_take_all_places() {
        let mut found = Candidates::default();
        for at in 0..1000 {
            found.keep(place(at, 1, 2.0, 7));
        }
        found.keep(place(5000, 1, 1.0, 8));
        assert_eq!(found.into_candidates().len(), KEPT_ALIKE + 1);
    }

    #[test]
    fn sets_are_bounded() {
        let mut found = Candidates::default();
        for terms in 1..100_000 {
            found.keep(place(terms, terms, 1.0, 0));
        }
        let places = found.into_candidates();
        assert!(places.len() <= SETS + 1);
        assert!(places.iter().any(|place| place.terms.count_ones() >= 15));
    }

    #[test]
    fn templates() {
        assert_eq!(template(b"job 17 took 3ms"), template(b"job 9 took 12ms"));
        assert_ne!(template(b"job 17 took 3ms"), template(b"job 17 lost 3ms"));
    }
}
